"""Tables in blocks: codes, states and errors are those of the whole table read at once."""

import gzip
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn import fit_deletion, fit_em, read_blocks
from exactlearn.data import blocks as table_blocks
from exactlearn.data.blocks import merge_rows
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, ExactlearnError, OptionError
from exactlearn.formats.table import read_dataset, write_dataset
from tests.strategies import datasets

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".parquet")


def merged_by_definition(table):
    """Return distinct rows in order of first appearance, with their weights."""
    weights = {}
    for row, weight in zip(
        table.codes.tolist(), table.row_weights.tolist(), strict=True
    ):
        weights[tuple(row)] = weights.get(tuple(row), 0.0) + weight
    return [list(row) for row in weights], list(weights.values())


def declared(table):
    return dict(zip(table.names, table.states, strict=True))


def check_blocks(blocks, table):
    """Compare blocks with the whole table: row by row, and merged."""
    parts = list(blocks)
    assert {(part.names, part.states) for part in parts} == {
        (table.names, table.states)
    }
    codes = np.concatenate([part.codes for part in parts])
    assert codes.dtype == table.codes.dtype
    assert codes.tobytes() == table.codes.tobytes()
    weights = np.concatenate([part.row_weights for part in parts])
    assert weights.tolist() == table.row_weights.tolist()
    merged = merge_rows(blocks)
    rows, weights = merged_by_definition(table)
    assert merged.codes.dtype == table.codes.dtype
    assert merged.codes.tolist() == rows
    np.testing.assert_allclose(merged.weights, weights, rtol=1e-12)


# A table that is drawn may have a column that determines another one.
@pytest.mark.filterwarnings(
    "ignore:columns that in all:exactlearn.errors.ColumnWarning"
)
@settings(max_examples=80)
@given(
    table=datasets(missing=True),
    weights=st.booleans(),
    size=st.sampled_from([1, 7, 40, 10**6]),
    suffix=st.sampled_from(SUFFIXES),
    are_declared=st.booleans(),
)
def test_blocks_of_any_size_are_the_whole(
    tmp_path_factory, table, weights, size, suffix, are_declared
):
    path = tmp_path_factory.mktemp("blocks") / f"t{suffix}"
    own = np.arange(table.n_rows) / 3 if weights else None
    write_dataset(Dataset(table.codes, table.names, table.states, own), path)
    options = {"weights": "weight" if weights else None}
    if are_declared:
        options["states"] = declared(table)
    blocks = read_blocks(path, block_bytes=size, **options)
    try:
        whole = read_dataset(path, **options)
    except DataError as error:  # a column is constant
        fault = str(error)
    else:
        check_blocks(blocks, whole)
        return
    with pytest.raises(DataError) as raised:
        list(blocks)
    assert str(raised.value) == fault


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_lines_of_any_kind_stand_in_blocks(tmp_path, size, end):
    text = end.join(["", 'a;"b;c"', "", "x;1", ' y;"1"', "", "x ;2", "?;1"])
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    whole = read_dataset(tmp_path / "t.csv")
    check_blocks(read_blocks(tmp_path / "t.csv", block_bytes=size), whole)


def test_a_file_without_names_and_of_white_space(tmp_path):
    (tmp_path / "t.txt").write_text("a  1\nb 2\n\n a 2\n" * 9)
    options = {"header": False, "names": ["x", "y"]}
    whole = read_dataset(tmp_path / "t.txt", **options)
    check_blocks(read_blocks(tmp_path / "t.txt", block_bytes=6, **options), whole)


def test_chosen_variables_in_their_order_and_others_ignored(tmp_path):
    (tmp_path / "t.csv").write_text("id,a,b,same\n1,x,1,k\n2,y,2,k\n3,x,2,k\n")
    states = {"a": ["y", "x"], "b": ["<=1.5", ">1.5"]}
    blocks = read_blocks(
        tmp_path / "t.csv", states=states, variables=["b", "a"], block_bytes=1
    )
    assert [block.codes.tolist() for block in blocks] == [[[0, 1]], [[1, 0]], [[1, 1]]]


def test_several_files_a_pattern_and_a_folder_are_one_table(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\nx,1\ny,2\n")
    (tmp_path / "2.csv").write_text("b,a\n1,z\n1,x\n")
    for source in (
        [tmp_path / "1.csv", str(tmp_path / "2.csv")],
        str(tmp_path / "?.csv"),
    ):
        table = merge_rows(read_blocks(source))
        assert table.states == (("x", "y", "z"), ("1", "2"))
        assert table.codes.tolist() == [[0, 0], [1, 1], [2, 0]]
        assert table.weights.tolist() == [2.0, 1.0, 1.0]
    for k in (1, 2):
        whole = read_dataset(
            tmp_path / f"{k}.csv", states={"a": [*"xyz"], "b": ["1", "2"]}
        )
        write_dataset(whole, tmp_path / f"{k}.parquet")
    again = merge_rows(read_blocks(tmp_path))
    assert (again.codes.tolist(), again.states) == (table.codes.tolist(), table.states)


FAULTS = {
    "state": ("a,b\nx,1\n\ny,1\nz,2\n", {"states": {"a": ["x", "y"]}}),
    "fields": ("a,b\nx,1\n\ny\n", {}),
    "quote": ('a,b\nx,1\n\n"y,2\n', {}),
    "weight": ("a,w\nx,1\ny,1\ny,k\n", {"weights": "w"}),
    "constant": ("a,b\nx,1\nx,2\nx,?\n", {}),
    "missing": ("a,b\n?,1\n?,2\n", {}),
    "empty": ("\n\n", {}),
    "names only": ("a,b\n", {}),
    "no column": ("a,b\nx,1\ny,2\n", {"states": {"c": ["0", "1"]}}),
    "no weights": ("a,b\nx,1\ny,2\n", {"weights": "w"}),
    "drop": ("a,b\nx,1\ny,2\n", {"drop": ["c"]}),
    "numbers": ("a\n" + "".join(f"{k % 30}\n" for k in range(90)), {}),
    "identifiers": ("a\n" + "".join(f"n{k}\n" for k in range(90)), {}),
    "a word among numbers": (
        "a\n" + "".join(f"{k}\n" for k in range(90)) + "none\n",
        {},
    ),
    "not UTF-8": (b"a,b\nx,1\ny,2\n\xe9,1\n", {}),
    "zero byte": (b"a,b\nx,1\ny,2\n\0,1\n", {}),
    "twice": ("a,a\nx,1\ny,2\n", {}),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("size", [1, 20, 1000])
def test_errors_are_those_of_the_whole_file(tmp_path, fault, size):
    text, options = FAULTS[fault]
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ExactlearnError) as whole:
        read_dataset(path, **options)
    with pytest.raises(ExactlearnError) as blocks:
        list(read_blocks(path, block_bytes=size, **options))
    assert type(blocks.value) is type(whole.value)
    # Labels are counted without their lines in a first pass.
    assert str(blocks.value) in (
        str(whole.value),
        str(whole.value).replace(" line 92,", ""),
    )


def test_a_file_that_lacks_a_column_is_named(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\nx,1\ny,2\n")
    (tmp_path / "2.csv").write_text("a,c\nx,1\ny,2\n")
    with pytest.raises(DataError, match=r"2\.csv, column 'b': there is no such column"):
        list(read_blocks(str(tmp_path / "*.csv")))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("none*.csv", r"none\*.csv names no file"),
        ("none.csv", r"none\.csv names no file"),
        (["none.csv"], r"none\.csv names no file"),
        ([], r"\[\] names no file"),
        (".", "folder"),
    ],
)
def test_sources_that_are_none(tmp_path, monkeypatch, source, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match=message):
        read_blocks(source)


def test_columns_with_too_many_values_are_refused_early(tmp_path, monkeypatch):
    monkeypatch.setattr(table_blocks, "LARGEST", 20)
    (tmp_path / "t.csv").write_text(
        "a,b\n" + "".join(f"{k},{k % 2}\n" for k in range(99))
    )
    with pytest.raises(
        DataError, match=r"t.csv, column 'a': more than 20 .*drop=\['a'\]"
    ):
        merge_rows(read_blocks(tmp_path / "t.csv", block_bytes=50))
    declared = read_blocks(
        tmp_path / "t.csv", block_bytes=50, states={"a": ["<=9", ">9"]}
    )
    assert merge_rows(declared).weights.tolist() == [5.0, 5.0, 45.0, 44.0]


def test_a_damaged_gzip_file_is_named(tmp_path):
    packed = gzip.compress(b"a,b\nx,1\ny,2\n" * 1000)
    (tmp_path / "t.csv.gz").write_bytes(packed[:-20])
    with pytest.raises(ExactlearnError, match=r"t\.csv\.gz: damaged gzip file"):
        list(read_blocks(tmp_path / "t.csv.gz"))


@settings(max_examples=30)
@given(
    table=datasets(missing=True, variables=(2, 4)), cuts=st.lists(st.integers(0, 30))
)
def test_merged_tables_are_those_of_the_definition(table, cuts):
    edges = sorted({0, table.n_rows, *(min(cut, table.n_rows) for cut in cuts)})
    rows = np.arange(table.n_rows)
    blocks = [table.part((rows >= a) & (rows < b)) for a, b in pairwise(edges)]
    merged = merge_rows(blocks)
    assert [merged.codes.tolist(), merged.weights.tolist()] == [
        *merged_by_definition(table)
    ]
    parents = [(), *([(0,)] * (table.n_variables - 1))]
    for method in ("cca", "d-mcar", "f-mcar", "d-mar", "f-mar"):
        one, other = (fit_deletion(t, parents, method=method) for t in (table, merged))
        for a, b in zip(one.model.tables, other.model.tables, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
    one, other = (fit_em(t, parents) for t in (table, merged))
    for a, b in zip(one.model.tables, other.model.tables, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


def test_merging_again_leaves_an_earlier_table_as_it_was():
    from exactlearn.data.blocks import DistinctRows

    table = Dataset(np.array([[0], [1], [0]]), ("a",), (("x", "y"),))
    rows = DistinctRows(table.names, table.states)
    rows.add(table)
    before = rows.dataset()
    rows.add(table)
    assert before.weights.tolist() == [2.0, 1.0]
    assert rows.dataset().weights.tolist() == [4.0, 2.0]


def test_blocks_of_frames_and_of_other_tables():
    frame = pd.DataFrame(
        {"a": pd.Categorical(["x", "y"]), "b": pd.Categorical(["u", "v"])}
    )
    assert merge_rows([frame, frame]).weights.tolist() == [2.0, 2.0]
    with pytest.raises(DataError, match="same variables with the same states"):
        merge_rows([frame, frame.rename(columns={"a": "c"})])
    with pytest.raises(DataError, match="no blocks"):
        merge_rows([])
    with pytest.raises(OptionError, match="cluster"):
        merge_rows([frame], cluster="local")
