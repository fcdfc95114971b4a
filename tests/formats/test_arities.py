"""Data files of GOBNILP, pygobnilp and blip: the line after the names holds numbers of states."""

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import exactlearn as el
from exactlearn.data.blocks import merge_rows
from exactlearn.data.dataset import Dataset
from exactlearn.errors import ColumnWarning, DataError, FormatError, OptionError
from exactlearn.formats.table import read_dataset, write_dataset
from exactlearn.formats.table_blocks import read_blocks
from tests.command_line import invoke, run_json


def text_of(lines, separator=" "):
    return "".join(separator.join(map(str, line)) + "\n" for line in lines)


def read_merged(path, **options):
    return merge_rows(read_blocks(path, **options))


@st.composite
def coded_tables(draw, min_rows=20):
    """Draw arities and at least so many rows, of which some cells may be missing."""
    arities = draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))
    cells = [st.integers(-1, arity - 1) for arity in arities]
    rows = draw(st.lists(st.tuples(*cells), min_size=min_rows, max_size=30))
    return arities, np.array(rows).reshape(-1, len(arities))


@settings(max_examples=60)
@given(
    table=coded_tables(),
    separator=st.sampled_from(" ,;"),
    block=st.sampled_from([None, 40]),
)
def test_a_line_of_arities_declares_the_states(
    tmp_path_factory, table, separator, block
):
    arities, codes = table
    names = [f"v{k}" for k in range(len(arities))]
    n_seen = sum(len({*column} - {-1}) for column in codes.T)
    assume(2 * n_seen >= sum(arities))
    labels = np.where(codes < 0, "?", codes.astype(str))
    path = tmp_path_factory.mktemp("arities") / "table.dat"
    path.write_text(text_of([names, arities, *labels], separator))
    read = read_dataset if block is None else partial(read_merged, block_bytes=block)
    with pytest.warns(ColumnWarning, match="line 2 holds the numbers of states"):
        found = read(path)
    expected = Dataset(
        codes, names, [tuple(map(str, range(arity))) for arity in arities]
    )
    assert found == (expected if block is None else merge_rows([expected]))


@settings(max_examples=100)
@given(table=coded_tables(min_rows=1), header=st.booleans(), data=st.data())
def test_a_row_is_never_taken_for_arities_in_silence(
    tmp_path_factory, table, header, data
):
    arities, codes = table
    first = data.draw(st.tuples(*(st.integers(0, arity) for arity in arities)))
    rows = [first, *np.abs(codes).tolist()]
    names = [f"v{k}" for k in range(len(arities))] if header else None
    path = tmp_path_factory.mktemp("rows") / "table.csv"
    path.write_text(text_of([names, *rows] if header else rows, ","))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            table = read_dataset(path, header=header)
        except DataError:  # constant columns, or a line that may be both
            return
    assert table.n_rows == len(rows) or [
        w for w in caught if "numbers of states" in str(w.message)
    ]


@settings(max_examples=60)
@given(table=coded_tables(min_rows=1))
def test_what_is_written_is_read_with_all_its_rows(tmp_path_factory, table):
    arities, codes = table
    states = [tuple(map(str, range(arity + 1))) for arity in arities]
    names = [f"v{k}" for k in range(len(arities))]
    dataset = Dataset([arities, *codes.tolist()], names, states)
    path = tmp_path_factory.mktemp("written") / "table.csv"
    write_dataset(dataset, path)
    assert read_dataset(path, states=dict(zip(names, states, strict=True))) == dataset


ROWS = "0 0\n1 2\n" * 10
WORDS = "no a\nyes b\n" * 10


@pytest.mark.parametrize(
    ("text", "options", "states"),
    [
        ("x y\n2 4\n" + ROWS, {}, (("0", "1"), ("0", "1", "2", "3"))),
        ("2 4\n" + ROWS, {"header": False}, (("0", "1"), ("0", "1", "2", "3"))),
        ("x y\n2 2\n" + WORDS, {}, (("no", "yes"), ("a", "b"))),
        (
            "x y\n2 3\n" + WORDS,
            {"states": {"y": [*"abc"]}},
            (("no", "yes"), ("a", "b", "c")),
        ),
        ("x y\n2 4\n0 0\n1 2\n", {"arities": True}, (("0", "1"), ("0", "1", "2", "3"))),
    ],
)
@pytest.mark.filterwarnings("ignore::exactlearn.errors.ColumnWarning")
def test_arities_are_read(tmp_path, text, options, states):
    path = tmp_path / "t.dat"
    path.write_text(text)
    blocks = read_merged(path, block_bytes=20, **options)
    assert read_dataset(path, **options).states == blocks.states == states


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "x y\n2 4\n0 0\n1 2\n",
            {},
            "line 2: '2 4' may be a row, or .*arities=False.*arities=True",
        ),
        ("x y\n2 40\n" + ROWS, {}, "line 2: '2 40' may be a row"),
        (
            "x y\n2 z\n" + ROWS,
            {"arities": True},
            "line 2: expected the number of states of each",
        ),
        (
            "x y\n2 3\n" + WORDS,
            {},
            "column 'y': 2 states, but the line of arities says 3",
        ),
        (
            "x y\n2 2\n" + ROWS,
            {"arities": True, "states": {"y": [*"0123"]}},
            "4 states are declared",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::exactlearn.errors.ColumnWarning")
def test_arities_that_do_not_hold_are_refused(tmp_path, text, options, message):
    path = tmp_path / "t.dat"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_dataset(path, **options)
    with pytest.raises(DataError, match=message):
        read_merged(path, block_bytes=20, **options)


@pytest.mark.filterwarnings(
    "ignore:columns that in all:exactlearn.errors.ColumnWarning"
)
@pytest.mark.parametrize(
    "first", ["2 2", "2 1", "1 1", "0 1", "2.0 3", "02 3"], ids=lambda text: text
)
def test_rows_that_do_not_fit_stay_rows(tmp_path, first):
    path = tmp_path / "t.dat"
    path.write_text(f"x y\n{first}\n" + ROWS)
    assert read_dataset(path).n_rows == 21


def test_a_later_row_contradicts_the_arities(tmp_path):
    path = tmp_path / "t.dat"
    path.write_text("x y\n2 3\n" + f"0{' ' * 2000}0\n1 2\n" * 600 + "2 3\n")
    with (
        pytest.warns(ColumnWarning),
        pytest.raises(DataError, match=r"says 2; declare all .*arities=False"),
    ):
        read_dataset(path)
    with pytest.warns(ColumnWarning, match="are equal"):
        assert read_dataset(path, arities=False).n_rows == 1202


def test_the_command_line_reads_arities_and_says_so(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, [2, 2, 3], (60, 3))
    codes[:, 1] = np.where(rng.random(60) < 0.9, codes[:, 0], codes[:, 1])
    path = tmp_path / "t.dat"
    path.write_text(text_of([[*"ABC"], [2, 2, 4], *codes]))
    table = Dataset(codes, [*"ABC"], [("0", "1"), ("0", "1"), ("0", "1", "2", "3")])
    best = el.solve(el.candidate_parent_sets(table, "bdeu"))
    assert run_json("solve", path, "--json")["score"] == pytest.approx(best.score)
    assert "line 2 holds the numbers of states" in invoke("solve", path).stderr
    assert run_json("solve", path, "--json", "--no-arities")["score"] != pytest.approx(
        best.score
    )
    assert "numbers of states" not in invoke("solve", path, "--no-arities").stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arities": True}, "header, separator, arities"),
        ({"block_bytes": 10}, "block_bytes: each partition"),
    ],
)
def test_a_dask_frame_has_no_options_of_files(options, message):
    class Frame:
        def to_delayed(self):
            return []

    with pytest.raises(OptionError, match=message):
        read_blocks(Frame(), **options)


def test_blanks_in_place_of_commas_part_the_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("A B\n0 1\n1 0\n1 1\n")
    with pytest.warns(ColumnWarning, match="found white space in each line"):
        assert read_dataset(path).names == ("A", "B")


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("t.csv", "A  B\n0 1\n1  0\n", ("A", "B")),
        ("t.tsv", "A,B\n0,1\n1,0\n", ("A", "B")),
        ("t.tab", "A;B;C\n0;1;1\n1;0;0\n", ("A", "B", "C")),
        ("t.tsv", "A|B\n0|1\n1|0\n", ("A", "B")),
        ("t.tsv", "A B\n0 1\n1 0\n", ("A", "B")),
    ],
)
def test_separators_that_the_suffix_does_not_mean_are_found(
    tmp_path, name, text, names
):
    (tmp_path / name).write_text(text)
    with pytest.warns(ColumnWarning, match="as .* means, found .* in each line"):
        assert read_dataset(tmp_path / name).names == names


def test_one_column_of_words_needs_no_separator(tmp_path):
    """A blank that is not in every line separates nothing."""
    path = tmp_path / "t.csv"
    path.write_text("colour\ndark red\nblue\n")
    assert read_dataset(path).states == (("blue", "dark red"),)


def test_an_ambiguous_single_column_is_refused(tmp_path):
    """It seems to hold several columns; giving its separator is the cure."""
    path = tmp_path / "t.csv"
    path.write_text("favourite colour\nlight blue\nvery dark red\n")
    with pytest.raises(
        FormatError, match=r"each line holds white space.*separator=','"
    ):
        read_dataset(path)
    assert read_dataset(path, separator=",").n_variables == 1


def test_one_column_with_blanks_is_written_so_that_it_is_read(tmp_path):
    table = Dataset([[0], [1]], ["the name"], [("a b", "c d")])
    write_dataset(table, tmp_path / "t.csv")
    assert read_dataset(tmp_path / "t.csv") == table
