import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.scoring.scores import AIC, BDeu, family_counts, total_weight
from exactlearn.scoring.set_sums import SetSums, distinct_rows
from exactlearn.scoring.set_tables import counting_space, index_rows


def make(codes, cardinalities, weights=None):
    names = tuple(f"v{i}" for i in range(len(cardinalities)))
    states = tuple(tuple(str(k) for k in range(r)) for r in cardinalities)
    return Dataset(np.asarray(codes, np.int8), names, states, weights)


@st.composite
def datasets(draw):
    cardinalities = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    rows = draw(
        st.lists(
            st.tuples(*(st.integers(0, r - 1) for r in cardinalities)),
            min_size=1,
            max_size=30,
        )
    )
    weight = draw(
        st.sampled_from(
            [None, st.integers(0, 3), st.floats(0, 5, allow_subnormal=False)]
        )
    )
    weights = None
    if weight is not None:
        drawn = st.lists(weight, min_size=len(rows), max_size=len(rows))
        weights = np.array(draw(drawn), np.float64)
    return make(rows, cardinalities, weights)


def test_counts_of_observed_configurations():
    data = make([[0, 1, 2], [0, 1, 0], [1, 0, 2], [0, 1, 2]], (2, 2, 3))
    np.testing.assert_array_equal(
        family_counts(data, 2, (0, 1)), [[1, 0, 2], [0, 0, 1]]
    )
    np.testing.assert_array_equal(family_counts(data, 0, ()), [[3, 1]])


@given(datasets())
def test_configurations_are_counted_in_order_of_appearance(data):
    child, parents = 0, range(1, data.n_variables)
    counted = {}
    for row, weight in zip(data.codes.tolist(), data.row_weights, strict=True):
        counts = counted.setdefault(tuple(row[1:]), np.zeros(data.cardinalities[child]))
        counts[row[child]] += weight
    np.testing.assert_array_equal(
        family_counts(data, child, parents), [*counted.values()]
    )


@given(datasets())
def test_counts_add_up_over_blocks_of_rows(data):
    child, parents = 0, range(1, data.n_variables)
    whole = family_counts(data, child, parents).sum(axis=0)
    half = data.n_rows // 2
    blocks = [slice(0, half), slice(half, None)]
    parts = [
        make(
            data.codes[b],
            data.cardinalities,
            None if data.weights is None else data.weights[b],
        )
        for b in blocks
    ]
    halves = [family_counts(part, child, ()).sum(axis=0) for part in parts]
    np.testing.assert_allclose(sum(halves), whole)


@given(datasets())
def test_distinct_rows_keep_all_weight(data):
    codes, weights = distinct_rows(data)
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(total_weight(data))
    rows = [tuple(row) for row in codes.T.tolist()]
    assert rows == sorted(set(rows))
    assert set(rows) <= {tuple(row) for row in data.codes.tolist()}


def test_cells_are_found_by_subtraction_only_where_that_is_exact():
    for weights, exact in (
        ([2.0, 1.0], True),
        ([0.5, 0.5], False),
        ([2.0**53, 1.0], False),
    ):
        codes, merged = distinct_rows(make([[0], [1]], (2,), np.array(weights)))
        assert index_rows(codes, merged, np.array([2])).subtract == exact


@given(datasets(), st.sampled_from([BDeu(1.5), AIC()]))
def test_set_sums_equal_a_count_by_configuration(data, score):
    """The kernel, whatever set came before, agrees with a dictionary of counts."""
    codes, weights = distinct_rows(data)
    rows = index_rows(codes, weights, data.cardinalities)
    sums = SetSums(
        score, np.arange(data.n_variables, dtype=np.int32), rows, data.n_variables
    )
    space = sums.space(data.n_variables)
    sets = [
        s
        for m in range(data.n_variables)
        for s in itertools.combinations(range(len(codes)), m + 1)
    ]
    for subset in sets:
        counted = {}
        for row, weight in zip(codes.T, weights, strict=True):
            key = tuple(row[list(subset)])
            counted[key] = counted.get(key, 0) + weight
        n, q = (
            np.array(list(counted.values()), np.float64),
            data.cardinalities[list(subset)].prod(),
        )
        expected = (n * np.log(n)).sum()
        if isinstance(score, BDeu):
            alpha = 1.5 / q
            counts = np.concatenate([n, np.zeros(3)])
            # An equivalent sample size above 1 takes n log(ess) from both functions of a count.
            expected = sum(_rising(c, alpha) - c * np.log(1.5) for c in counts)
        terms = sums.tables.covering([q])
        found, observed = sums.sums(np.array([subset], np.int32), terms, space)
        assert observed[0] == pytest.approx(np.minimum(n, 1).sum())
        assert found[0, 0] == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert not space.stack.table.any()


def _rising(n, alpha):
    return gammaln(n + alpha) - gammaln(alpha)


def test_many_configurations_need_memory_for_rows_only():
    codes = np.arange(6 * 40).reshape(40, 6) * 7919 % 1000
    wide = Dataset(
        codes.astype(np.int16),
        tuple("abcdef"),
        tuple(tuple(str(k) for k in range(1000)) for _ in range(6)),
    )
    codes, weights = distinct_rows(wide)
    space = counting_space(index_rows(codes, weights, wide.cardinalities), 6)
    assert sum(array.nbytes for array in space.stack) < 2**20
    assert space.entries is None


def test_incomplete_data_are_refused():
    with pytest.raises(DataError, match=r"'v0', row 2 \(index 1\): .*\(1 missing"):
        family_counts(make([[0], [-1]], (2,)), 0, ())
