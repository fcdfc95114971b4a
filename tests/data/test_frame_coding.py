"""Codings fitted to the columns of a frame, and the bins of numbers."""

from itertools import pairwise
from math import log2

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.data import coding as table_coding
from exactlearn.data.codes import find_states
from exactlearn.data.discretisation import EMPTY, discretise, entropy_edges
from exactlearn.data.frame_coding import FrameCoding
from exactlearn.errors import ColumnWarning, DataError, OptionError


def entropy(classes):
    shares = [classes.count(c) / len(classes) for c in set(classes)]
    return -sum(p * log2(p) for p in shares)


def plain_edges(pairs):
    """Cut sorted (value, class) pairs by the criterion of Fayyad and Irani, one cut at a time."""
    values = sorted({value for value, _ in pairs})
    whole = [c for _, c in pairs]
    best = (np.inf, None)
    for low, high in pairwise(values):
        left = [c for v, c in pairs if v <= low]
        right = [c for v, c in pairs if v > low]
        within = (len(left) * entropy(left) + len(right) * entropy(right)) / len(whole)
        if within < best[0] - 1e-12:
            best = (within, (low, high, left, right))
    if best[1] is None:
        return []
    low, high, left, right = best[1]
    k = len(set(whole))
    delta = log2(3**k - 2) - k * entropy(whole)
    delta += len(set(left)) * entropy(left) + len(set(right)) * entropy(right)
    gain, price = entropy(whole) - best[0], (log2(len(whole) - 1) + delta) / len(whole)
    if abs(gain - price) < 1e-9:
        return None  # decided by rounding
    if gain < price:
        return []
    parts = [plain_edges([p for p in pairs if (p[0] <= low) == side]) for side in (True, False)]
    return None if None in parts else sorted([(low + high) / 2, *parts[0], *parts[1]])


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=40))
def test_entropy_cuts_equal_the_plain_ones(pairs):
    values, classes = (np.array(column) for column in zip(*pairs, strict=True))
    expected = plain_edges(pairs)
    if expected is not None:
        assert list(entropy_edges(values, classes)) == pytest.approx(expected)


@pytest.mark.parametrize("method", ["frequency", "width"])
def test_weights_of_bins_are_repetitions(method):
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=60), rng.integers(1, 5, 60)
    classes = (values > 0.3).astype(int)
    repeated = values.repeat(weights)
    assert discretise(values, method, 4, weights=weights)[1] == discretise(repeated, method, 4)[1]
    assert entropy_edges(values, classes, weights) == entropy_edges(
        repeated, classes.repeat(weights)
    )


def test_values_of_all_kinds_are_coded():
    frame = pd.DataFrame(
        {
            "text": ["b", "a", "?", "b", None],
            "category": pd.Categorical(["x", "y", "x", None, "y"], categories=["y", "x", "z"]),
            "flag": [True, False, True, True, False],
            "maybe": pd.array([True, pd.NA, False, False, True], dtype="boolean"),
            "count": pd.array([3, 1, pd.NA, 2, 1], dtype="Int64"),
            "size": [0.5, 1.5, 2.5, np.nan, 9.5],
            "same": ["s", "s", None, "s", "s"],
            "none": [None] * 5,
        }
    )
    with pytest.warns(ColumnWarning, match="left out: 'same' .*, 'none' "):
        coding = FrameCoding.fit(frame, list(frame), "frequency:2")
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
    assert coding.coding.left_out == {
        "same": "constant, every observed cell is 's'",
        "none": EMPTY,
    }
    filled = coding.filled(frame, table, np.maximum(table.codes, 0))
    assert filled.dtypes.tolist() == frame.dtypes.tolist()
    assert filled.iloc[:, :7].notna().all().all()
    assert filled["text"].tolist() == ["b", "a", "a", "b", "a"]
    assert filled["same"].tolist() == ["s"] * 5
    assert filled["size"].tolist() == [0.5, 1.5, 2.5, 0.5, 9.5]


def test_each_column_is_read_once(monkeypatch):
    read, real = [], table_coding.labelled_column

    def counted(name, series):
        read.extend([name] * len(series))
        return real(name, series)

    monkeypatch.setattr(table_coding, "labelled_column", counted)
    frame = pd.DataFrame({"x": [0.5, None, 2.5, 9.5], "word": ["a", "b", "c", None]})
    coding = FrameCoding.fit(frame, list(frame), "frequency:2")
    assert sorted(read) == ["word"] * 4 + ["x"] * 4
    read.clear()
    table = coding.dataset(frame)
    filled = coding.filled(frame, table, np.maximum(table.codes, 0))
    assert sorted(read) == ["word"] * 5 + ["x"] * 5  # and the cells without a code once more
    assert filled.iloc[1, 0] == 0.5


def test_the_value_of_a_bin_is_its_weighted_median():
    frame = pd.DataFrame({"x": [0.1, 0.2, 0.3, 5.5, 6.5]})
    coding = FrameCoding.fit(frame, ["x"], "width:2", np.array([1.0, 1, 3, 1, 1]))
    assert coding.values["x"].tolist() == [0.3, 5.5]
    gap = FrameCoding.fit(pd.DataFrame({"x": [0.5, 9.5]}), ["x"], "width:3")
    assert np.isnan(gap.values["x"][1])


def test_later_rows_lie_in_the_fitted_bins():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=50), "word": list("ab") * 25})
    coding = FrameCoding.fit(frame, list(frame), "frequency:4")
    later = pd.DataFrame({"x": [-99, 0, 99], "word": ["a", "c", None]})
    assert coding.dataset(later).codes.T.tolist() == [
        find_states(["-99", "0", "99"], coding.coding.states["x"]).tolist(),
        [0, -1, -1],
    ]


def test_texts_that_name_rows_are_left_out():
    frame = pd.DataFrame({"name": [f"row {k}" for k in range(50)], "x": [0, 1] * 25})
    with pytest.warns(ColumnWarning, match="'name' .50 different texts in 50 cells"):
        coding = FrameCoding.fit(frame, list(frame), "frequency:2")
    assert [*coding.coding.left_out] == ["name"]
    with pytest.raises(DataError, match=r"'name': 50 different texts.*tidy=True"):
        FrameCoding.fit(frame, list(frame), "frequency:2", tidy=False)
    with pytest.raises(DataError, match=r"'nan': 1.*make the cells None"):
        FrameCoding.fit(pd.DataFrame({"x": np.array(["a", "b", np.nan])}), ["x"], "frequency:2")


def test_faults_are_named():
    with pytest.raises(DataError, match=r"column 'x', row 2 \(index 1\): expected finite"):
        FrameCoding.fit(pd.DataFrame({"x": [1.5, np.inf, 2]}), ["x"], "frequency:2")
    with pytest.raises(OptionError, match="did you mean 'frequency'"):
        FrameCoding.fit(pd.DataFrame({"x": [1.5, 2, 3]}), ["x"], "frequenzy:2")


def test_cells_without_a_hash_are_named_by_their_text():
    frame = pd.DataFrame({"x": [{"a": 1}, "b", None, {"a": 1}]})
    coding = FrameCoding.fit(frame, ["x"], "frequency:2")
    assert coding.dataset(frame).codes.ravel().tolist() == [1, 0, -1, 1]
