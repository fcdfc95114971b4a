import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from exactlearn.data.codes import find_states
from exactlearn.data.discretisation import discretise, interval_names, parse_rule
from exactlearn.data.labels import interval
from exactlearn.errors import DataError, OptionError

methods = st.sampled_from(["frequency", "width"])
numbers = arrays(
    np.float64,
    st.integers(2, 60),
    elements=st.one_of(
        st.integers(-5, 5).map(float),
        st.floats(-1e6, 1e6),
        st.just(np.nan),
        st.just(1e-300),
    ),
).filter(lambda v: len(np.unique(v[~np.isnan(v)])) >= 2)


@settings(max_examples=60)
@given(numbers, methods, st.integers(2, 8))
def test_bins_order_values_and_keep_holes(values, method, bins):
    codes, edges, names = discretise(values, method, bins)
    seen = ~np.isnan(values)
    assert (codes[~seen] == -1).all()
    assert len(names) == len(edges) + 1 == len(set(names)) <= bins
    assert list(edges) == sorted(set(edges))
    # The plain definition, bin by bin.
    low, high = np.array([-np.inf, *edges]), np.array([*edges, np.inf])
    for value, code in zip(values[seen], codes[seen], strict=True):
        assert low[code] < value <= high[code]
    assert len(np.unique(codes[seen])) >= 2


@settings(max_examples=60)
@given(numbers, st.integers(2, 8))
def test_every_equal_frequency_bin_holds_a_value(values, bins):
    codes, edges, _ = discretise(values, "frequency", bins)
    assert set(codes[codes >= 0]) == set(range(len(edges) + 1))
    assert set(edges) <= set(values)


@settings(max_examples=60)
@given(st.integers(2, 9), st.integers(1, 20), st.randoms(use_true_random=False))
def test_equal_frequency_is_equal_without_ties(bins, per_bin, random):
    values = list(range(bins * per_bin))
    random.shuffle(values)
    codes, _, _ = discretise(values, "frequency", bins)
    assert np.bincount(codes).tolist() == [per_bin] * bins


def test_ties_give_fewer_bins():
    codes, edges, names = discretise(
        [0] * 91 + [5, 6, 7, 8, 9, 10, 11, 12, 13], "frequency", 5
    )
    assert (edges, names) == ((0.0,), ("<=0", ">0"))
    assert np.bincount(codes).tolist() == [91, 9]
    # The heavy value may as well be the largest.
    assert discretise([1] + [2] * 99, "frequency", 5)[1] == (1.0,)


def test_equal_width_edges():
    codes, edges, names = discretise([0.0, 10.0, 2.0, 2.5, np.nan], "width", 5)
    assert edges == (2.0, 4.0, 6.0, 8.0)
    assert names == ("<=2", "(2, 4]", "(4, 6]", "(6, 8]", ">8")
    assert codes.tolist() == [0, 4, 0, 1, -1]


@settings(max_examples=60)
@given(numbers, methods, st.integers(2, 8))
def test_names_of_bins_tell_their_order(values, method, bins):
    _, edges, names = discretise(values, method, bins)
    starts = [interval(name)[0] for name in names]
    assert starts == sorted(starts)
    assert starts == pytest.approx([-np.inf, *edges], rel=1e-5)


@settings(max_examples=60)
@given(numbers, methods, st.integers(2, 8))
def test_names_of_bins_hold_the_values_of_their_bins(values, method, bins):
    """Six digits, rounded down, left the largest value of a bin outside of it."""
    codes, _, names = discretise(values, method, bins)
    seen = ~np.isnan(values)
    found = find_states([repr(v) for v in values[seen].tolist()], names)
    assert found.tolist() == codes[seen].tolist()


def test_edges_too_near_for_six_digits_are_written_out():
    assert interval_names((0.1234561, 0.1234562)) == (
        "<=0.1234561",
        "(0.1234561, 0.1234562]",
        ">0.1234562",
    )


def test_new_values_lie_in_the_bins_of_their_names():
    names = interval_names((1.0, 2.0))
    assert find_states(["1.0", "2.0", "99.0", "no"], names).tolist() == [0, 1, 2, -1]


@pytest.mark.parametrize(
    "name",
    ["no", "<=x", ">", "(2,1]", "(a, b]", "", "1", "<5+", "[1]", "(1, 2, 3]", "5-12"],
)
def test_other_names_are_no_bins(name):
    assert np.isnan(interval(name)[0])


@settings(max_examples=60)
@given(numbers, methods, st.integers(2, 8))
def test_intervals_of_pandas_are_bins(values, method, bins):
    """The oracle is pandas, which says itself whether an interval holds a number."""
    _, edges, _ = discretise(values, method, bins)
    breaks = [-np.inf, *edges, np.inf]
    for closed in ("left", "right"):
        cut = pd.IntervalIndex.from_breaks(breaks, closed=closed)
        names = list(map(str, cut))
        for value in [*edges, *values[np.isfinite(values)].tolist()]:
            assert (
                find_states([repr(value)], names)
                == np.flatnonzero(cut.contains(value))[0]
            )


def test_bins_of_r_and_pyagrum_hold_their_numbers():
    assert find_states(["1", "1.5", "2", "-7"], ["(-Inf,1]", "(1,2]"]).tolist() == [
        0,
        1,
        1,
        0,
    ]
    assert find_states(["0", "1", "2.5", "3"], ["[0;1[", "[1;2.5]"]).tolist() == [
        0,
        1,
        1,
        -1,
    ]
    assert find_states(["7.5", "7.4"], ["<7.5", ">=7.5"]).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("frequency", "expected METHOD:BINS"),
        ("frequency:", "expected METHOD:BINS"),
        ("frequency:-2", "expected METHOD:BINS"),
        ("frequency:1", "with frequency or width, and 2 to 32767 bins"),
        ("freqency:4", "with frequency or width"),
    ],
)
def test_bad_rules(rule, message):
    with pytest.raises(OptionError, match=message):
        parse_rule(rule)


def test_unusable_values():
    with pytest.raises(DataError, match="1 different values"):
        discretise([3.0, 3.0, np.nan], "width", 2)
    with pytest.raises(DataError, match="0 different values"):
        discretise([np.nan], "frequency", 2)
    with pytest.raises(
        DataError, match=r"row 2 \(index 1\): cannot bin an infinite value"
    ):
        discretise([3.0, np.inf], "width", 2)
