"""Decimal commas, categorical numbers and columns without a name, in all readers."""

import numpy as np
import pandas as pd
import pytest

import exactlearn as el
from exactlearn.data.blocks import merge_rows
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from tests.command_line import invoke, run_json

RNG = np.random.default_rng(5)
GROUP = RNG.integers(0, 2, 60)
HEIGHT = np.round(GROUP + RNG.normal(size=60), 3)
YEAR = 1990 + RNG.integers(0, 30, 60)
COMMAS = [f"{x}".replace(".", ",") for x in HEIGHT]


def table_text(separator, *columns):
    return (
        "\n".join(separator.join(map(str, row)) for row in zip(*columns, strict=True))
        + "\n"
    )


@pytest.fixture
def spreadsheet(tmp_path):
    """Return a table with a decimal comma, as a spreadsheet writes it."""
    path = tmp_path / "t.csv"
    path.write_text(table_text(";", ["g", *GROUP], ["h", *COMMAS]))
    return path


@pytest.mark.filterwarnings("ignore::exactlearn.errors.ColumnWarning")
def test_decimal_commas_are_read_as_points(spreadsheet, tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_text(table_text(",", ["g", *GROUP], ["h", *HEIGHT]))
    bins = {"h": "frequency:3"}
    expected = el.read_dataset(plain, discretise=bins)
    assert el.read_dataset(spreadsheet, decimal=",", discretise=bins) == expected
    frame = pd.DataFrame({"g": GROUP, "h": COMMAS})
    assert Dataset.from_frame(frame, decimal=",", discretise=bins) == expected
    tidied = el.read_dataset(plain, tidy=True)
    blocks = el.read_blocks(spreadsheet, decimal=",", tidy=True, block_bytes=100)
    assert merge_rows(blocks) == merge_rows([tidied])


@pytest.mark.filterwarnings("ignore::exactlearn.errors.ColumnWarning")
def test_a_decimal_comma_separates_no_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(table_text(";", COMMAS, COMMAS[::-1]))
    table = el.read_dataset(path, header=False, decimal=",", tidy=True)
    assert table.names == ("X0", "X1")


def test_weights_may_have_a_decimal_comma(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("g;w\n0;0,5\n1;1,5\n")
    assert el.read_dataset(path, decimal=",", weights="w").weights.tolist() == [
        0.5,
        1.5,
    ]


@pytest.mark.parametrize("tidy", [False, True])
def test_decimal_commas_are_refused_with_the_cure(spreadsheet, tidy):
    message = r"column 'h'.* are numbers with a decimal comma; say so \(decimal=','\)"
    with pytest.raises(DataError, match=message):
        el.read_dataset(spreadsheet, tidy=tidy)
    with pytest.raises(DataError, match=message):
        merge_rows(el.read_blocks(spreadsheet, tidy=tidy))
    frame = pd.DataFrame({"g": GROUP, "h": COMMAS})
    with pytest.raises(DataError, match=message):
        Dataset.from_frame(frame, tidy=tidy)
    words = ["solve", spreadsheet, *(["--tidy"] if tidy else [])]
    assert "say so (--decimal ,)" in invoke(*words, status=2).stderr
    record = run_json("solve", spreadsheet, "--decimal", ",", "--tidy", "--json")
    assert record["parents"].keys() == {"g", "h"}


def test_another_decimal_mark_is_refused(spreadsheet):
    with pytest.raises(OptionError, match=r"decimal ';': expected '\.' or ','"):
        el.read_dataset(spreadsheet, decimal=";")


@pytest.fixture
def years(tmp_path):
    """Return a table with a column of many whole numbers."""
    path = tmp_path / "years.csv"
    path.write_text(table_text(",", ["g", *GROUP], ["year", *YEAR]))
    return path


def test_whole_numbers_are_categories_where_that_is_declared(years):
    expected = tuple(map(str, sorted({*YEAR.tolist()})))
    with pytest.raises(
        DataError, match=r"keep each number as a state \(states={'year': '\*'}\)"
    ):
        el.read_dataset(years)
    frame = pd.DataFrame({"g": GROUP, "year": YEAR})
    tables = [
        el.read_dataset(years, states={"year": "*"}),
        el.read_dataset(years, states={"year": "*"}, tidy=True),
        el.read_dataset(years, states={"year": "*"}, discretise={"*": "width:3"}),
        Dataset.from_frame(frame, states={"year": "*"}),
        Dataset.from_frame(frame.astype({"year": "category"})),
        merge_rows(el.read_blocks(years, states={"year": "*"}, block_bytes=50)),
        merge_rows(
            el.read_blocks(years, states={"year": "*"}, variables=["g", "year"])
        ),
    ]
    assert [table.states[1] for table in tables] == [expected] * len(tables)


def test_the_command_line_keeps_numbers_as_categories(years):
    shown = invoke("solve", years, status=2).stderr
    assert "keep each number as a state (--categorical 'year')" in shown
    kept = run_json("solve", years, "--json", "--categorical", "year")
    table = el.read_dataset(years, states={"year": ["*"]})
    assert kept["score"] == pytest.approx(el.learn(table).score)
    declared = run_json("solve", years, "--json", "--states", "year=*")
    assert declared["score"] == kept["score"]


def test_a_categorical_column_still_needs_two_values(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,0\n1,1\n")
    with pytest.raises(DataError, match="'a': constant"):
        el.read_dataset(path, states={"a": "*"})


NAMELESS = [None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT")]


@pytest.mark.parametrize("label", NAMELESS, ids=repr)
def test_a_column_without_a_label_has_no_name(label):
    frame = pd.DataFrame({"a": ["0", "1"] * 30, "b": ["0", "0", "1"] * 20})
    frame.columns = pd.Index(["a", label], dtype=object)
    with pytest.raises(DataError, match="column '': a column without a name"):
        el.learn(frame)
    with pytest.warns(el.errors.ColumnWarning, match="without a name"):
        assert el.learn(frame, tidy=True).names == ("a",)
    assert el.learn(frame, drop=[""]).names == ("a",)
    frame.columns = pd.Index([label, label], dtype=object)
    with pytest.raises(DataError, match="columns 1, 2 of 2 have no name; rename them"):
        el.learn(frame)


def test_estimators_leave_columns_without_a_label_out():
    from exactlearn.sklearn import ExactImputer

    frame = pd.DataFrame({"a": ["0", "1"] * 30, "b": ["0", "0", "1"] * 20})
    frame.columns = [1, None]
    with pytest.warns(el.errors.ColumnWarning, match="without a name"):
        imputer = ExactImputer().fit(frame)
    assert imputer.left_out_.keys() == {""}


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", " "])
def test_a_frame_that_was_read_by_another_separator_is_refused(mark):
    name = mark.join(["a", "b", "c"])
    cells = [mark.join(["0", "1", "x"]), mark.join(["1", "1", "y"])] * 5
    with pytest.raises(
        DataError, match=r"the only column, .* seem to be several columns"
    ):
        el.learn(pd.DataFrame({name: cells}))
    assert el.learn(pd.DataFrame({"a": cells})).names == ("a",)
