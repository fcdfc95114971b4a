from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.complete_data import fit_complete, full_counts
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError, TooLargeError
from tests.network_oracle import random_network

SEEDS = st.integers(0, 10**6)


def counted_by_hand(
    data: Dataset, child: int, family: tuple[int, ...], smoothing: float
):
    """Eq. 4.15 row by row."""
    shape = tuple(len(data.states[v]) for v in (*family, child))
    counts = np.zeros(shape)
    for row, codes in enumerate(data.codes):
        weight = 1.0 if data.weights is None else data.weights[row]
        counts[tuple(codes[v] for v in (*family, child))] += weight
    table = np.empty(shape)
    for where in np.ndindex(shape[:-1]):
        total = counts[where].sum() + smoothing * shape[-1]
        table[where] = (counts[where] + smoothing) / total if total else 1 / shape[-1]
    return table


@given(
    SEEDS,
    st.integers(1, 5),
    st.integers(0, 30),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.booleans(),
)
@settings(max_examples=80)
def test_tables_follow_the_formula(seed, n, rows, smoothing, weighted):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n)
    data = network.sample(rows, rng)
    if weighted:
        data = replace(data, weights=rng.integers(0, 4, rows).astype(float))
    fitted = fit_complete(data, network.parents, smoothing=smoothing)
    assert (fitted.names, fitted.states, fitted.parents) == (
        network.names,
        network.states,
        network.parents,
    )
    for child, family in enumerate(network.parents):
        expected = counted_by_hand(data, child, family, smoothing)
        np.testing.assert_allclose(fitted.tables[child], expected, rtol=1e-14)


@given(SEEDS)
@settings(max_examples=30)
def test_weights_repeat_rows(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 4)
    data = network.sample(12, rng)
    times = rng.integers(0, 3, 12)
    repeated = replace(data, codes=np.repeat(data.codes, times, axis=0))
    weighted = replace(data, weights=times.astype(float))
    first = fit_complete(repeated, network.parents)
    second = fit_complete(weighted, network.parents)
    for a, b in zip(first.tables, second.tables, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


@given(SEEDS)
@settings(max_examples=20)
def test_without_smoothing_no_tables_are_likelier(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 4)
    data = network.sample(40, rng)
    best = fit_complete(data, network.parents, smoothing=0.0).log_likelihood(data)
    assert best >= network.log_likelihood(data) - 1e-9
    assert (
        best
        >= fit_complete(data, network.parents, smoothing=0.3).log_likelihood(data)
        - 1e-9
    )


def test_many_rows_give_back_the_network():
    rng = np.random.default_rng(0)
    network = random_network(rng, 5, most_parents=1)
    fitted = fit_complete(network.sample(200_000, rng), network.parents)
    likelihoods = [
        m.log_likelihood(network.sample(1000, rng)) for m in (network, fitted)
    ]
    assert np.isfinite(likelihoods).all()
    for v, family in enumerate(network.parents):
        if not family:
            np.testing.assert_allclose(fitted.tables[v], network.tables[v], atol=0.01)


def data(codes) -> Dataset:
    return Dataset(np.array(codes), ("a", "b"), (("n", "y"), ("0", "1", "2")))


def test_unseen_parent_configurations_are_uniform():
    rows = data([[0, 0], [0, 1]])
    assert fit_complete(rows, [(), (0,)], smoothing=0).tables[1].tolist() == [
        [0.5, 0.5, 0.0],
        [1 / 3, 1 / 3, 1 / 3],
    ]


def test_counts_keep_the_order_of_the_parents():
    rows = data([[0, 2], [1, 2], [1, 2], [1, 0]])
    assert full_counts(rows, 1, (0,)).tolist() == [[0, 0, 1], [1, 0, 2]]
    assert full_counts(rows, 0, (1,)).tolist() == [[0, 1], [0, 0], [1, 2]]


@pytest.mark.parametrize(
    ("rows", "parents", "smoothing", "kind", "message"),
    [
        (
            data([[0, -1]]),
            [(), ()],
            1.0,
            DataError,
            r"'b', row 1 \(index 0\): .* missing .* by EM",
        ),
        (
            data([[0, 1]]),
            [(), ()],
            -1.0,
            OptionError,
            "'smoothing': expected a number from 0",
        ),
        (
            data([[0, 1]]),
            [(), ()],
            float("nan"),
            OptionError,
            "'smoothing': expected a number from 0",
        ),
        (data([[0, 1]]), [()], 1.0, OptionError, "1 parent sets for 2 variables"),
        (data([[0, 1]]), [(), (2,)], 1.0, DataError, r"'b': parents \(2,\) must be"),
        (data([[0, 1]]), [(), (-1,)], 1.0, DataError, "indices from 0 to 1"),
        (data([[0, 1]]), [(), (1,)], 1.0, DataError, "other than its own"),
        (data([[0, 1]]), [(1,), (0,)], 1.0, OptionError, "directed cycle"),
    ],
)
def test_unusable_input_is_refused(rows, parents, smoothing, kind, message):
    with pytest.raises(kind, match=message):
        fit_complete(rows, parents, smoothing=smoothing)


def test_a_table_beyond_memory_is_refused():
    n = 31
    rows = Dataset(
        np.zeros((1, n), np.int8), tuple(f"x{v}" for v in range(n)), (("n", "y"),) * n
    )
    parents = [() for _ in range(n - 1)] + [tuple(range(n - 1))]
    with pytest.raises(TooLargeError, match="2147483648 entries"):
        fit_complete(rows, parents)
