"""Loopy belief propagation against exact inference, and EM with it."""

import numpy as np
import pytest

from exactlearn.bayesnet.em import NetworkEM, fit_em
from exactlearn.bayesnet.loopy_propagation import LoopyParameters
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, TooLargeError
from tests.bayesnet.test_completing import table_with_holes
from tests.network_oracle import random_network

ALWAYS = LoopyParameters(largest_exact=0)


def flat(network: BayesianNetwork) -> np.ndarray:
    return np.concatenate([table.ravel() for table in network.tables])


def positive(network: BayesianNetwork) -> BayesianNetwork:
    """Return a network without probabilities of zero."""
    tables = tuple((t + 0.1) / (t + 0.1).sum(axis=-1, keepdims=True) for t in network.tables)
    return BayesianNetwork(network.names, network.states, network.parents, tables)


def grid(side: int, rng: np.random.Generator) -> BayesianNetwork:
    """Return a network of binary variables on a square, each with its neighbours to the left and up
    as parents."""
    parents = [
        tuple(v - d for d, there in ((1, v % side > 0), (side, v >= side)) if there)
        for v in range(side * side)
    ]
    tables = tuple(rng.dirichlet(np.ones(2), (2,) * len(ps)) for ps in parents)
    names = tuple(f"x{v}" for v in range(side * side))
    return BayesianNetwork(names, (("0", "1"),) * side**2, tuple(parents), tables)


def hidden(network: BayesianNetwork, share: float, rows: int, rng: np.random.Generator) -> Dataset:
    codes = network.sample(rows, rng).codes.copy()
    codes[rng.random(codes.shape) < share] = -1
    return Dataset(codes, network.names, network.states)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("leaves_out", [True, False])
def test_it_is_exact_on_trees(seed, leaves_out):
    rng = np.random.default_rng(seed)
    network = random_network(rng, int(rng.integers(2, 9)), most_parents=1)
    table = table_with_holes(network, rng, 25)
    exact, loopy = (
        NetworkEM(table, network.parents, leaves_out_barren=leaves_out, loopy=how)
        for how in (None, ALWAYS)
    )
    a, b = (em.e_step(0, flat(network)) for em in (exact, loopy))
    np.testing.assert_allclose(b.counts, a.counts, atol=1e-6)
    assert b.log_likelihood == pytest.approx(a.log_likelihood, abs=1e-6)
    assert loopy.approximation is None or loopy.approximation.unconverged == 0.0


def test_with_loops_its_counts_are_nearly_exact():
    """On 20 small networks: half of the counts within 2 %, their mean error within 5 %."""
    errors, logs = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        network = positive(random_network(rng, 8, most_parents=3))
        table = table_with_holes(network, rng, 40)
        exact, loopy = (NetworkEM(table, network.parents, loopy=how) for how in (None, ALWAYS))
        a, b = (em.e_step(0, flat(network)) for em in (exact, loopy))
        own = a.counts - exact.available
        errors.append(np.abs(b.counts - a.counts)[own > 0.5] / own[own > 0.5])
        logs.append((b.log_likelihood - a.log_likelihood) / table.n_rows)
    relative = np.concatenate(errors)
    assert relative.max() > 1e-6  # there are loops
    assert np.median(relative) < 0.02
    assert relative.mean() < 0.05
    assert np.abs(logs).max() < 0.05


def test_small_parts_stay_exact():
    rng = np.random.default_rng(3)
    network = grid(5, rng)
    table = hidden(network, 0.4, 60, rng)
    exact = NetworkEM(table, network.parents)
    some, none = (
        NetworkEM(table, network.parents, loopy=LoopyParameters(largest_exact=limit))
        for limit in (100, 10**6)
    )
    a, b, c = (em.e_step(0, flat(network)) for em in (exact, some, none))
    np.testing.assert_array_equal(a.counts, c.counts)
    assert (none.approximation, none.is_approximate) == (None, False)
    assert 0 < some.approximation.rows < 1
    assert 0 < np.abs(a.counts - b.counts).max() < 1.0


def test_em_where_exact_inference_is_too_large():
    rng = np.random.default_rng(4)
    network = grid(40, rng)
    table = hidden(network, 0.75, 3, rng)
    with pytest.raises(TooLargeError, match="missing cells of one row"):
        fit_em(table, network.parents)
    found = fit_em(table, network.parents, loopy=LoopyParameters(), iterations=4)
    assert found.approximation.rows == 1.0
    assert np.isfinite(found.objectives).all()
    assert found.objectives[-1] > found.objectives[0]
    again = fit_em(table, network.parents, loopy=LoopyParameters(), iterations=4)
    assert again.objectives == found.objectives


def test_em_with_it_on_trees_is_em():
    rng = np.random.default_rng(5)
    network = random_network(rng, 7, most_parents=1)
    table = table_with_holes(network, rng, 80)
    exact, loopy = (
        fit_em(table, network.parents, loopy=how, tolerance=1e-9, starts=1)
        for how in (None, ALWAYS)
    )
    assert loopy.objectives[-1] == pytest.approx(exact.objectives[-1], abs=1e-4)
    assert loopy.converged


def test_an_impossible_row_is_refused():
    names, states = ("a", "b", "c"), (("0", "1"),) * 3
    same = np.eye(2)
    half = np.array([0.5, 0.5])
    network = BayesianNetwork(names, states, ((), (0,), (1,)), (half, same, same))
    table = Dataset(np.array([[0, -1, 0], [0, -1, 1]]), names, states)
    with pytest.raises(DataError, match=r"row 2 \(index 1\), around the missing cell of 'b'"):
        fit_em(table, network.parents, start=network, loopy=ALWAYS)
