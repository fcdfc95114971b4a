"""When two labels denote one value: one rule for all readers, evidence, models and truth tables."""

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import exactlearn as el
from exactlearn.data.labels import synonyms, value_of
from exactlearn.errors import DataError, OptionError, StateWarning
from exactlearn.evaluation.metrics import JudgedCells

FORMS = ["{}", "+{}", "{}.0", "{}.", "{}.00", "{}e0", "{}E+0"]
"""Ways to write a whole number."""

ROWS = [
    *("0 1 1 high", "1 1 1 low", "1.0 1 0 low", "1 0 1 mid", "0 0 0 high", "0 0 0 low"),
    *(
        "1.0 1 0 mid",
        "1 1 1 high",
        "0 0 0 low",
        "0 1 1 low",
        "1.0 1 0 low",
        "0 1 1 low",
    ),
]
"""Rows with 1 written in two ways."""


def frame_of(first="A"):
    """Return the rows as a frame of texts."""
    columns = [first, "B", "C", "D"]
    return pd.DataFrame([row.split() for row in ROWS], columns=columns, dtype=object)


def from_csv(frame, folder, **options):
    frame.to_csv(folder / "t.csv", index=False)
    return el.read_dataset(folder / "t.csv", **options)


def from_parquet(frame, folder, **options):
    frame.astype("category").to_parquet(folder / "t.parquet")
    return el.read_dataset(folder / "t.parquet", **options)


def from_blocks(frame, folder, **options):
    frame.to_csv(folder / "t.csv", index=False)
    blocks = el.read_blocks(folder / "t.csv", block_bytes=20, **options)
    parts = list(blocks)
    assert len(parts) > 3
    codes = np.vstack([part.codes for part in parts])
    return el.Dataset(codes, parts[0].names, parts[0].states)


READERS = {
    "csv": from_csv,
    "parquet": from_parquet,
    "blocks": from_blocks,
    "frame": lambda frame, _, **options: el.Dataset.from_frame(frame, **options),
    "string": lambda frame, _, **options: el.Dataset.from_frame(
        frame.astype("str"), **options
    ),
    "category": lambda frame, _, **options: el.Dataset.from_frame(
        frame.astype("category"), **options
    ),
    "array": lambda frame, _, **options: el.Dataset.from_frame(
        frame.to_numpy(), names=[*frame], **options
    ),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("order", [1, -1], ids=["forwards", "backwards"])
def test_labels_of_one_number_are_one_state_in_every_reader(read, order, tmp_path):
    frame = frame_of()[::order]
    plain = el.Dataset.from_frame(frame.replace("1.0", "1"))
    with pytest.warns(StateWarning, match=r"column 'A': '1', '1.0' are '1'"):
        table = read(frame, tmp_path)
    assert table.states == plain.states
    assert (table.codes == plain.codes).all()


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_declared_states_of_one_number_stay_apart(read, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read(frame_of(), tmp_path, states={"A": ["0", "1.0", "1"]})
    assert table.states[0] == ("0", "1.0", "1")
    assert np.bincount(table.codes[:, 0]).tolist() == [6, 3, 3]


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_cells_stand_for_the_declared_state_of_their_value(read, tmp_path):
    table = read(
        frame_of(), tmp_path, states={"A": ["00", "1.00"], "B": ["false", "true"]}
    )
    assert table.states[:2] == (("00", "1.00"), ("false", "true"))
    assert np.bincount(table.codes[:, 0]).tolist() == [6, 6]
    assert table.codes[:, 1].tolist() == [int(row.split()[1]) for row in ROWS]


@pytest.mark.parametrize(
    ("labels", "states"),
    [
        (["1", "1.0", "0"], ("0", "1")),
        (["True", "TRUE", "false", "true"], ("True", "false")),
        ([".3", "0.30000000000000004", "1"], ("0.3", "1")),
        (["1e3", "1000", "7"], ("7", "1000")),
        (["+1", "1", "2"], ("1", "2")),
        (["-0", "0", "-0.0", "2"], ("0", "2")),
        (
            ["9007199254740993", "9007199254740992"],
            ("9007199254740992", "9007199254740993"),
        ),
    ],
)
def test_labels_of_one_value_are_named_by_its_standard_text(labels, states):
    columns = pd.DataFrame({"x": labels, "y": ["a"] + ["b"] * (len(labels) - 1)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = {el.Dataset.from_frame(columns[::order]).states[0] for order in (1, -1)}
    assert found == {states}
    assert len(caught) == (0 if len(states) == len(labels) else 2)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_symbols_of_missing_cells_are_numbers_by_value(read, tmp_path):
    frame = frame_of().replace({"A": {"1": "-9.0", "1.0": "1"}})
    table = read(frame, tmp_path, missing=["-9"])
    assert table.states[0] == ("0", "1")
    assert np.bincount(table.codes[:, 0] + 1).tolist() == [3, 6, 3]


def test_labels_that_are_written_in_one_way_stay_as_written():
    columns = {
        "x": ["1.0", "0.0", "1.0"],
        "y": ["TRUE", "FALSE", "TRUE"],
        "z": ["07", "7x", "07"],
    }
    states = el.Dataset.from_frame(pd.DataFrame(columns)).states
    assert states == (("0.0", "1.0"), ("FALSE", "TRUE"), ("07", "7x"))


def test_codes_with_leading_zeros_differ_from_numbers():
    columns = pd.DataFrame({"zip": ["007", "7", "12", "7"], "y": list("abab")})
    with pytest.warns(
        StateWarning, match=r"leading zeros are codes.*column 'zip': '007', '7'"
    ):
        table = el.Dataset.from_frame(columns)
    assert table.states[0] == ("007", "7", "12")
    padded = el.Dataset.from_frame(
        pd.DataFrame({"zip": ["007", "012"], "y": list("ab")})
    )
    assert padded.states[0] == ("007", "012")


@given(st.integers(-(10**20), 10**20), st.sampled_from(FORMS), st.sampled_from(FORMS))
def test_whole_numbers_are_equal_by_value(value, first, second):
    value = abs(value)
    label, similar = first.format(value), second.format(value)
    assert value_of(label) == value_of(similar) == str(value)
    assert value_of(label) != value_of(second.format(value + 1))


@given(st.decimals(-1000, 1000, allow_nan=False, places=5), st.floats(-1e3, 1e3))
def test_fractions_are_equal_by_fifteen_digits(exact, computed):
    assert value_of(str(exact)) == value_of(repr(float(exact)))
    exact_value = Fraction(Decimal(value_of(repr(computed))))
    assert abs(exact_value - Fraction(computed)) <= abs(Fraction(computed)) / 10**14


def test_values_of_several_types_are_told_by_their_labels():
    """``True`` equals 1 in Python, and 1 does not equal "1": as labels it is the reverse."""
    for cells in ([True, 1, 0, "1"], ["1", 0, 1, True]):
        columns = pd.DataFrame({"x": pd.Series(cells, dtype=object), "y": list("aabb")})
        with pytest.warns(StateWarning, match="'1' as a number and as a text are '1'"):
            table = el.Dataset.from_frame(columns)
        assert table.states[0] == ("0", "1", "True")
    categories = pd.Categorical([0, "0", 1, 0], categories=[0, "0", 1])
    with pytest.warns(StateWarning, match="'0' as a number and as a text are '0'"):
        table = el.Dataset.from_frame(
            pd.DataFrame({"x": categories, "y": list("abab")})
        )
    assert (table.states[0], table.codes[:, 0].tolist()) == (("0", "1"), [0, 0, 1, 0])


def network(*states):
    """Return a network of one variable with these states."""
    uniform = np.full(len(states), 1 / len(states))
    return el.BayesianNetwork(("x",), (states,), ((),), (uniform,))


@pytest.mark.parametrize(
    ("states", "value", "expected"),
    [
        (("0.3", "1"), 0.1 + 0.2, "0.3"),
        (("0.30000000000000004", "1"), ".3", "0.30000000000000004"),
        (("FALSE", "TRUE"), "true", "TRUE"),
        (("0", "1"), True, "1"),
        (("False", "True"), 0.0, "False"),
        (("007", "012"), 7, "007"),
        (("7", "12"), "007", "7"),
        (("7", "007"), "7.0", "7"),
        (("1", "1.0"), "1.0", "1.0"),
        (("1000", "2000"), "1e3", "1000"),
    ],
)
def test_evidence_follows_the_same_rule(states, value, expected):
    assert el.query(network(*states), {"x": value}, ["x"]).posterior["x"][expected] == 1
    table = pd.DataFrame({"x": [value]})
    posterior = el.query_rows(network(*states), table).posteriors[0]
    assert posterior[0, states.index(expected)] == 1


@pytest.mark.parametrize(
    ("states", "value"),
    [(("1", "1.0"), "1.00"), (("07", "007"), 7), (("no", "yes"), True)],
)
def test_evidence_that_may_be_several_states_or_none_is_refused(states, value):
    with pytest.raises(OptionError, match="'x' has no state"):
        el.query(network(*states), {"x": value})
    with pytest.raises(DataError, match=r"'x'.*state"):
        el.query_rows(network(*states), pd.DataFrame({"x": [value]}))


def test_models_are_compared_by_the_values_of_their_states():
    first = network("1", "0").reordered(network("0.0", "1.0"))
    assert first.states == (("0.0", "1.0"),)
    with pytest.raises(OptionError, match="same states"):
        network("<=2", ">2").reordered(network("1", "3"))


def test_a_true_table_may_write_numbers_otherwise():
    incomplete = el.Dataset.from_frame(
        pd.DataFrame({"x": ["1", "0", None], "y": list("aba")})
    )
    for cells in ([1.0, 0.0, 1.0], ["1.0", "0.0", "1.0"]):
        truth = el.Dataset.from_frame(pd.DataFrame({"x": cells, "y": list("aba")}))
        assert JudgedCells.of(incomplete, [1], truth).accuracy == 1


@given(
    st.lists(
        st.sampled_from(
            ["0", "-0", "-0.0", "1e308", "-1e308", "true", "TRUE", "07", "7", "7.0"]
        )
        | st.floats(allow_nan=False, allow_infinity=False).map(repr)
        | st.tuples(st.integers(-9, 9), st.sampled_from([0.1, 0.7, 1e-9, 1e15])).map(
            lambda pair: repr(pair[0] * pair[1])
        ),
        unique=True,
    )
)
def test_synonyms_are_all_labels_of_equal_values(labels):
    expected = {}
    for label in sorted(labels):
        expected.setdefault(value_of(label), []).append(label)
    several = {
        value: tuple(group) for value, group in expected.items() if len(group) > 1
    }
    assert synonyms(labels) == several
