"""Codings fitted to the columns of a frame, and the bins of numbers."""

from itertools import chain, pairwise
from math import log2

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.data.codes import find_states
from exactlearn.data.discretisation import EMPTY, discretise
from exactlearn.data.frame_coding import FrameCoding, entropy_edges
from exactlearn.errors import ColumnWarning, DataError, OptionError, StateWarning


def entropy(classes):
    shares = [classes.count(c) / len(classes) for c in set(classes)]
    return -sum(p * log2(p) for p in shares)


def plain_edges(pairs, n, least):
    """Cut sorted (value, class) pairs, one cut at a time; nothing where rounding decides."""
    values, whole, cuts = (
        sorted({value for value, _ in pairs}),
        [c for _, c in pairs],
        [],
    )
    for low, high in pairwise(values):
        parts = ([c for v, c in pairs if (v <= low) == side] for side in (True, False))
        within = sum(len(part) * entropy(part) for part in parts)
        cuts.append(((len(whole) * entropy(whole) - within) / n, low, high))
    gain, low, high = max(cuts, default=(0, 0, 0))
    if cuts and abs(gain - least) > 1e-9 > gain - least:
        return []
    if sum(cut[0] > gain - 1e-9 for cut in cuts) != 1 or abs(gain - least) < 1e-9:
        return [] if not cuts else None
    below, above = (
        [p for p in pairs if (p[0] <= low) == side] for side in (True, False)
    )
    found = [
        plain_edges(below, n, least),
        [(low + high) / 2],
        plain_edges(above, n, least),
    ]
    return None if None in found else sorted(chain.from_iterable(found))


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=2, max_size=40)
)
def test_entropy_cuts_equal_the_plain_ones(pairs):
    values, classes = (np.array(column, float) for column in zip(*pairs, strict=True))
    n = len(pairs)
    least = (log2(n - 1) + log2(3 ** len(set(classes)) - 2)) / n if n > 1 else 0
    expected = plain_edges(pairs, n, least)
    if expected is not None:
        assert list(entropy_edges(values, classes.astype(int), np.ones(n))) == expected


@pytest.mark.parametrize("method", ["frequency", "width"])
def test_weights_of_bins_are_repetitions(method):
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=60), rng.integers(1, 5, 60)
    classes = (values > 0.3).astype(int)
    repeated = values.repeat(weights)
    assert (
        discretise(values, method, 4, weights=weights)[1]
        == discretise(repeated, method, 4)[1]
    )
    expected = entropy_edges(repeated, classes.repeat(weights), np.ones(weights.sum()))
    assert entropy_edges(values, classes, weights.astype(float)) == expected


def test_values_of_all_kinds_are_coded():
    frame = pd.DataFrame(
        {
            "text": ["b", "a", "?", "b", None],
            "category": pd.Categorical(
                ["x", "y", "x", None, "y"], categories=["y", "x", "z"]
            ),
            "flag": [True, False, True, True, False],
            "maybe": pd.array([True, pd.NA, False, False, True], dtype="boolean"),
            "count": pd.array([3, 1, pd.NA, 2, 1], dtype="Int64"),
            "size": [0.5, 1.5, 2.5, np.nan, 9.5],
            "same": ["s", "s", None, "s", "s"],
            "none": [None] * 5,
        }
    )
    with pytest.warns(ColumnWarning, match="left out: 'same' .*, 'none' "):
        coding = FrameCoding.fit_frame(frame, list(frame), "frequency:2")
    table = coding.dataset(frame)
    assert table.names == ("text", "category", "flag", "maybe", "count", "size")
    assert table.states[:5] == (
        ("a", "b"),
        ("x", "y"),
        ("False", "True"),
        ("False", "True"),
        ("1", "2", "3"),
    )
    assert table.codes.T.tolist() == [
        [1, 0, -1, 1, -1],
        [0, 1, 0, -1, 1],
        [1, 0, 1, 1, 0],
        [1, -1, 0, 0, 1],
        [2, 0, -1, 1, 0],
        [0, 0, 1, -1, 1],
    ]
    assert coding.left_out == {
        "same": "constant, every observed cell is 's'",
        "none": EMPTY,
    }
    filled = coding.filled(frame, np.maximum(table.codes, 0))
    assert filled.dtypes.tolist() == frame.dtypes.tolist()
    assert filled.iloc[:, :7].notna().all().all()
    assert filled["text"].tolist() == ["b", "a", "a", "b", "a"]
    assert filled["same"].tolist() == ["s"] * 5
    assert filled["size"].tolist() == [0.5, 1.5, 2.5, 0.5, 9.5]


def test_the_value_of_a_bin_is_its_median():
    frame = pd.DataFrame({"x": [0.1, 0.2, 0.3, 5.5, 6.5]})
    coding = FrameCoding.fit_frame(frame, ["x"], "width:2")
    assert coding.values["x"].tolist() == [0.2, 5.5]


@pytest.mark.parametrize("kind", ["int64", "Int64", "float32", "str", "category"])
def test_an_empty_bin_has_the_nearest_value_of_the_fitted_type(kind):
    numbers = np.r_[np.arange(15), np.arange(300, 315)].repeat(2)
    frame = pd.DataFrame({"x": numbers}).astype(kind)
    coding = FrameCoding.fit_frame(frame, ["x"], "width:5")
    values = coding.values["x"]
    assert values.dtype == frame["x"].dtype
    assert [*map(float, values)] == [7, 14, 14, 300, 307]


def test_later_rows_lie_in_the_fitted_bins():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=50), "word": list("ab") * 25})
    coding = FrameCoding.fit_frame(frame, list(frame), "frequency:4")
    later = pd.DataFrame({"x": [-99, 0, 99], "word": ["a", "c", None]})
    with pytest.raises(DataError, match=r"'word': 'c' \(1\).*unseen='missing'"):
        coding.dataset(later, unseen="refuse")
    with pytest.warns(StateWarning, match=r"column 'word': 'c' \(1\)$"):
        table = coding.dataset(later)
    assert table.codes.T.tolist() == [
        find_states(["-99", "0", "99"], coding.states["x"]).tolist(),
        [0, -1, -1],
    ]


def test_texts_that_name_rows_are_left_out():
    frame = pd.DataFrame({"name": [f"row {k}" for k in range(50)], "x": [0, 1] * 25})
    with pytest.warns(ColumnWarning, match="'name' .50 different texts in 50 cells"):
        coding = FrameCoding.fit_frame(frame, list(frame), "frequency:2")
    assert [*coding.left_out] == ["name"]
    with pytest.raises(DataError, match=r"'name': 50 different texts.*tidy=True"):
        FrameCoding.fit_frame(frame, list(frame), "frequency:2", tidy=False)
    with pytest.raises(DataError, match=r"'nan': 1.*make the cells None"):
        FrameCoding.fit_frame(
            pd.DataFrame({"x": np.array(["a", "b", np.nan])}), ["x"], "frequency:2"
        )


def test_faults_are_named():
    with pytest.raises(DataError, match=r"'x' \('inf': 1\).*make the cells None"):
        FrameCoding.fit_frame(
            pd.DataFrame({"x": [1.5, np.inf, 2]}), ["x"], "frequency:2"
        )
    with pytest.raises(OptionError, match=r"'frequenzy:2': .* with frequency or width"):
        FrameCoding.fit_frame(pd.DataFrame({"x": [1.5, 2, 3]}), ["x"], "frequenzy:2")


def test_cells_without_a_hash_are_named_by_their_text():
    frame = pd.DataFrame({"x": [{"a": 1}, "b", None, {"a": 1}]})
    coding = FrameCoding.fit_frame(frame, ["x"], "frequency:2")
    assert coding.dataset(frame).codes.ravel().tolist() == [1, 0, -1, 1]
