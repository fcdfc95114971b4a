"""Tables as Parquet files."""

import numpy as np
import pytest
from hypothesis import given, settings

from exactlearn.errors import DataError, FormatError, OptionError
from exactlearn.formats.table import read_dataset, write_dataset
from tests.command_line import fails
from tests.strategies import datasets

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def read(tmp_path):
    """Return a function that writes columns and reads them as a table."""

    def read(columns, **options):
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        pq.write_table(table, tmp_path / "t.parquet")
        return read_dataset(tmp_path / "t.parquet", **options)

    return read


@pytest.mark.filterwarnings(
    "ignore:columns that in all:exactlearn.errors.ColumnWarning"
)
@settings(max_examples=40)
@given(table=datasets(missing=True))
def test_round_trip_keeps_states_and_holes(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("round") / "t.parquet"
    write_dataset(table, path)
    again = read_dataset(path, missing=[])
    assert (again.names, again.states) == (table.names, table.states)
    np.testing.assert_array_equal(again.codes, table.codes)


def test_values_become_labels_and_holes_are_missing(read):
    table = read(
        {
            "n": [2, None, 10, 2],
            "f": [1.0, 0.5, None, 1.0],
            "b": [True, False, True, None],
            "t": ["x", "?", "y", None],
        }
    )
    assert table.states == (("2", "10"), ("0.5", "1"), ("False", "True"), ("x", "y"))
    assert table.codes.tolist() == [
        [0, 1, 1, 0],
        [-1, 0, 0, -1],
        [1, -1, 1, 1],
        [0, 1, -1, -1],
    ]


def test_a_dictionary_declares_states_in_its_order(read):
    coded = pa.DictionaryArray.from_arrays([1, 0, 1], ["low", "high", "never"])
    assert read({"a": coded, "b": [1, 2, 1]}).states[0] == ("low", "high", "never")
    declared = read({"a": coded, "b": [1, 2, 1]}, states={"a": ["high", "low"]})
    assert declared.states[0] == ("high", "low")


def test_options_hold_for_parquet(read):
    columns = {"a": ["x", "y", "x"], "w": [1.0, 2.0, 0.5], "c": ["k", "k", "k"]}
    table = read(columns, drop=["c"], weights="w")
    assert table.names == ("a",)
    assert table.weights.tolist() == [1.0, 2.0, 0.5]


@pytest.mark.parametrize(
    ("columns", "error", "printed"),
    [
        (
            {"a": ["x", "y"], "l": [[1], [2]]},
            FormatError,
            "column 'l': expected one value",
        ),
        ({"a": pa.array([], pa.string())}, FormatError, "found 0 rows of 1 columns"),
        (
            pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], ["a", "a"]),
            FormatError,
            "2 columns, 1, 2, are all named 'a'",
        ),
        ({"a": ["x", "x"]}, DataError, "t.parquet, column 'a': constant"),
    ],
)
def test_errors_name_the_column(read, columns, error, printed):
    with pytest.raises(error) as caught:
        read(columns)
    assert printed in str(caught.value)


def test_rows_are_named_from_1(read):
    with pytest.raises(
        DataError, match=r"row 2 \(index 1\), column 'w': '-2' is no weight"
    ):
        read({"a": ["x", "y"], "w": [1, -2]}, weights="w")


def test_weights_need_a_free_name(read, tmp_path):
    table = read({"a": ["x", "y"], "w": [1, 2]}, weights="w")
    with pytest.raises(OptionError, match="'a' is a variable"):
        write_dataset(table, tmp_path / "x.parquet", weights="a")
    write_dataset(table, tmp_path / "x.parquet", weights="mass")
    assert read_dataset(tmp_path / "x.parquet", weights="mass").weights.tolist() == [
        1.0,
        2.0,
    ]


def test_a_name_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"abc": ["x", "y"]}), path)
    path.write_bytes(path.read_bytes().replace(b"abc", b"a\xf2c"))
    with pytest.raises(
        FormatError, match=r"t\.parquet: not a Parquet file, or a damaged one"
    ):
        read_dataset(path)


def test_a_file_with_any_byte_changed_is_read_or_refused(tmp_path):
    path = tmp_path / "t.parquet"
    column = pa.array(["x", "y"] * 50).dictionary_encode()
    pq.write_table(pa.table({"a": column}), path, compression="none")
    whole = path.read_bytes()
    printed = []
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + b"\x1c" + whole[at + 1 :])
        try:
            read_dataset(path)
        except DataError as error:
            printed.append(str(error))
    assert any("out of bounds" in message for message in printed)


def test_more_cells_than_memory_holds_are_refused(read, monkeypatch):
    monkeypatch.setattr("exactlearn.formats.parquet.LARGEST", 6)
    assert len(read({"a": ["x", "y"], "b": ["0", "1"], "c": ["0", "1"]}).codes) == 2
    with pytest.raises(FormatError, match="at most 6 cells, found 8, in 4 rows"):
        read({"a": ["x", "y"] * 2, "b": ["0", "1"] * 2})


@pytest.mark.parametrize("command", ["augment", "impute"])
@pytest.mark.parametrize("target", ["found", "found.csv"])
def test_unwritable_names_are_refused_before_the_search(tmp_path, command, target):
    """A text file cannot keep a name with a line break."""
    table = pa.table({"a\nb": ["x", "y", "y", None], "c": ["x", "x", "y", "y"]})
    pq.write_table(table, tmp_path / "t.parquet")
    message = fails(command, tmp_path / "t.parquet", "-q", "-o", tmp_path / target)
    assert "has a line break or outer white space, which a table cannot keep" in message
    assert not (tmp_path / target).exists()
