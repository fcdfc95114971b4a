import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactlearn as el
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from tests.strategies import awkward_names, datasets, incomplete_datasets

NAMES, STATES = ("a", "b"), (("no", "yes"), ("x", "y", "z"))
CODES = np.array([[0, 2], [1, -1], [-1, 0]])


def labels(dataset, hole=None):
    """Return the table as an object array of state names: the plain reading of the codes."""
    return np.array(
        [
            [
                own[c] if c >= 0 else hole
                for own, c in zip(dataset.states, row, strict=True)
            ]
            for row in dataset.codes
        ],
        dtype=object,
    ).reshape(dataset.codes.shape)


def test_fields():
    table = Dataset(CODES, NAMES, STATES)
    assert (table.n_rows, table.n_variables) == (3, 2)
    assert table.cardinalities.tolist() == [2, 3]
    assert table.missing_cells.tolist() == [[1, 1], [2, 0]]
    assert not table.is_complete
    assert table.codes.dtype == np.int8
    assert table.codes.flags.c_contiguous


def test_codes_take_two_bytes_only_when_needed():
    many = tuple(map(str, range(128)))
    assert Dataset(np.array([[127], [0]]), ("x",), (many,)).codes.dtype == np.int16
    assert Dataset(np.array([[126], [0]]), ("x",), (many[:127],)).codes.dtype == np.int8


@settings(max_examples=60)
@given(incomplete_datasets(), st.data())
def test_completion_fills_holes_only(table, data):
    columns = table.missing_cells[:, 1]
    values = [
        data.draw(st.integers(0, int(table.cardinalities[j]) - 1)) for j in columns
    ]
    full = table.complete(values)
    assert full.is_complete
    assert full.codes[tuple(table.missing_cells.T)].tolist() == values
    assert (full.codes[table.codes >= 0] == table.codes[table.codes >= 0]).all()
    assert table.codes[tuple(table.missing_cells[0])] == -1


def test_bad_completions():
    table = Dataset(CODES, NAMES, STATES)
    with pytest.raises(DataError, match="1 values for 2 missing cells"):
        table.complete([0])
    with pytest.raises(
        DataError, match=r"value 3 for .* of 'b' in row 2 \(.* has the states 0 to 2"
    ):
        table.complete([3, 0])
    with pytest.raises(
        DataError, match=r"value -1 for the missing cell of .* in row \d"
    ):
        table.complete([0, -1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"codes": CODES * 2},
            r"variable 'a', row 2 \(index 1\): code 2, expected 0 to 1, or -1",
        ),
        ({"codes": CODES - 1}, r"variable 'a', row 3 \(index 2\): code -2"),
        ({"codes": CODES.astype(float)}, "type float64, expected integers"),
        ({"codes": CODES[:, :1]}, r"shape \(3, 1\), expected \(rows, 2\)"),
        ({"codes": CODES[0]}, r"shape \(2,\)"),
        ({"names": ("a", "a")}, "two variables have the name 'a'"),
        ({"names": ("a", "")}, "variable 1: its name is ''"),
        ({"states": STATES[:1]}, "states of 1 variables for 2 names"),
        ({"states": (("no", "no"), STATES[1])}, "'a' has the state 'no' twice"),
        ({"states": ((), STATES[1])}, "'a' has 0 states"),
        ({"states": ((0, 1), STATES[1])}, "must be text"),
        ({"weights": np.ones(2)}, r"weights have the shape \(2,\)"),
        ({"weights": np.array([1, -1, 1])}, r"row 2 \(index 1\): weight -1.0"),
        ({"weights": np.array([1, 1, np.nan])}, r"row 3 \(index 2\): weight nan"),
    ],
)
def test_inconsistent_fields_are_refused(change, message):
    with pytest.raises(DataError, match=message):
        Dataset(**{"codes": CODES, "names": NAMES, "states": STATES, **change})


@settings(max_examples=60)
@given(datasets(missing=True, rows=(1, 20), names=awkward_names))
def test_frames_keep_declared_tables(table):
    symbol = "\t"
    frame = pd.DataFrame(labels(table, symbol), columns=list(table.names), dtype=object)
    declared = dict(zip(table.names, table.states, strict=True))
    again = Dataset.from_frame(frame, states=declared, missing=(symbol,))
    # Tabs are white space around nothing: the empty text is the symbol.
    assert (again.names, again.states) == (table.names, table.states)
    assert (again.codes == table.codes).all()
    array = Dataset.from_frame(
        labels(table), names=table.names, states=declared, missing=()
    )
    assert (array.codes == table.codes).all()


def test_frame_values_are_named_by_their_text():
    frame = pd.DataFrame(
        {
            "whole": [1.0, np.nan, 10.0, 9.0],
            "fraction": [0.5, 1.0, None, 0.5],
            "text": ["none", None, "NA", "yes"],
            "truth": [True, False, True, True],
            "category": pd.Categorical(["lo", "hi", None, "lo"], ["lo", "mid", "hi"]),
            7: [3, 2, 2, 3],
        }
    )
    table = Dataset.from_frame(frame)
    assert table.names == ("whole", "fraction", "text", "truth", "category", "7")
    assert table.states == (
        ("1", "9", "10"),
        ("0.5", "1"),
        ("none", "yes"),
        ("False", "True"),
        ("lo", "mid", "hi"),
        ("2", "3"),
    )
    assert table.codes.T.tolist() == [
        [0, -1, 2, 1],
        [0, 1, -1, 0],
        [0, -1, -1, 1],
        [1, 0, 1, 1],
        [0, 2, -1, 0],
        [1, 0, 0, 1],
    ]


def test_numeric_frames_are_discretised():
    frame = pd.DataFrame({"age": np.arange(100) / 4, "sex": ["f", "m"] * 50})
    with pytest.raises(
        DataError, match="column 'age': 100 different numbers, too many"
    ):
        Dataset.from_frame(frame)
    table = Dataset.from_frame(frame, discretise={"*": "frequency:4"})
    assert table.states[0] == ("<=6", "(6, 12.25]", "(12.25, 18.5]", ">18.5")
    assert np.bincount(table.codes[:, 0]).tolist() == [25] * 4


def test_frames_tell_the_row():
    frame = pd.DataFrame({"smoke": ["no", "yes", "maybe"]})
    with pytest.raises(
        DataError,
        match=r"column 'smoke', row 3 \(index 2\): the state 'maybe' is not declared",
    ):
        Dataset.from_frame(frame, states={"smoke": ["no", "yes"]})
    with pytest.raises(DataError, match="columns 1, 2 of 2 have the name 'a'"):
        Dataset.from_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match=r"shape \(0, 1\)"):
        Dataset.from_frame(pd.DataFrame({"a": []}))


def test_arrays():
    table = Dataset.from_frame(np.array([[0, 5], [2, -1], [0, 3]]))
    assert table.names == ("X0", "X1")
    assert table.states == (("0", "2"), ("3", "5"))
    assert table.codes.tolist() == [[0, 1], [1, -1], [0, 0]]
    declared = Dataset.from_frame(np.array([["b"], ["a"]]), states={0: ["b", "a", "c"]})
    assert declared.codes.ravel().tolist() == [0, 1]
    assert declared.cardinalities.tolist() == [3]


def test_bad_arrays():
    with pytest.raises(DataError, match=r"expected \(rows, variables\)"):
        Dataset.from_frame(np.arange(3))
    with pytest.raises(OptionError, match="1 names for 2 columns"):
        Dataset.from_frame(np.eye(2), names=["a"])


def test_a_part_of_the_rows_keeps_their_weights():
    table = Dataset(
        np.array([[0, 1], [1, -1], [1, 0]]),
        ("a", "b"),
        (("n", "y"),) * 2,
        np.array([1.0, 2, 3]),
    )
    assert table.complete_rows.tolist() == [True, False, True]
    found = table.part(table.complete_rows)
    assert found.codes.tolist() == [[0, 1], [1, 0]]
    assert found.weights.tolist() == [1.0, 3.0]
    assert (found.names, found.states) == (table.names, table.states)


def test_a_table_of_a_frame_keeps_its_index():
    frame = pd.DataFrame(
        {"a": ["n", "y", "n"], "b": [None, "n", "y"]}, index=["p", "q", "r"]
    )
    table = Dataset.from_frame(frame)
    assert table.complete([1]).to_frame()["b"].to_dict() == {
        "p": "y",
        "q": "n",
        "r": "y",
    }
    assert list(table.part(slice(1, 3)).to_frame().index) == ["q", "r"]
    assert table == Dataset.from_frame(frame.reset_index(drop=True))
    with pytest.raises(DataError, match=r"row 3 \(index r\): 'y' is not a number"):
        Dataset.from_frame(frame.assign(b=["1", "2", "y"]), discretise={"b": "width:2"})


def test_a_learnt_completion_fits_the_rows_of_a_filtered_frame():
    frame = pd.DataFrame(
        {"a": ["n", "y"] * 20, "b": ["n", "y"] * 20, "kept": [True, False] * 20}
    )
    frame.loc[[4, 9], "b"] = None
    some = frame[frame["a"].notna() & (frame.index > 2)].drop(columns="kept")
    completed = el.learn(some).completed.to_frame()
    assert completed.index.equals(some.index)
    assert completed.loc[4, "b"] == "n"


@pytest.mark.parametrize("weights", [[0.0, 0.0], [0, 0]])
def test_a_table_without_weight_cannot_be_resampled(weights):
    table = Dataset(
        np.array([[0], [1]]), ("a",), (("n", "y"),), np.array(weights, float)
    )
    with pytest.raises(DataError, match="none of 2 rows has weight"):
        table.resampled(np.random.default_rng(0))


def test_weights_beyond_all_counts_are_drawn_row_by_row():
    table = Dataset(
        np.array([[0], [1]]), ("a",), (("n", "y"),), np.array([1e200, 1e100])
    )
    assert table.resampled(np.random.default_rng(0)).weights.max() >= 1e100
    table = Dataset(np.array([[0], [1]]), ("a",), (("n", "y"),), np.array([0, 0.5]))
    for seed in range(5):
        assert table.resampled(np.random.default_rng(seed)).codes.tolist() == [[1]]


YES_NO = (("n", "y"),)


DAMAGED = {
    "ragged codes": lambda: Dataset([[0], [0, 1]], ("a",), YES_NO),
    "no names": lambda: Dataset([[0]], None, YES_NO),
    "no states": lambda: Dataset([[0]], ("a",), (2,)),
    "texts as weights": lambda: Dataset([[0]], ("a",), YES_NO, ["x"]),
    "texts as values": lambda: Dataset([[0]], ("a",), YES_NO).complete(["x"]),
    "texts in bins": lambda: el.discretise(["a"], "width", 2),
    "one weight": lambda: el.discretise([1, 2], "width", 2, weights=[1]),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_what_is_no_table_is_refused(what):
    with pytest.raises(DataError):
        DAMAGED[what]()
