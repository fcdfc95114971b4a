"""Expected counts against the full joint distribution."""

import itertools

import numpy as np
import pytest

from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.expected_counts import expected_counts
from exactlearn.scoring.scores import AIC, BIC, BDeu
from exactlearn.scoring.set_tables import counting_space
from tests.bayesnet.test_completing import row_posterior, table_with_holes
from tests.network_oracle import joint, random_network


def completed_weights(network, table):
    """Return the expected weight of each configuration of all variables."""
    full, expected = joint(network), np.zeros(tuple(table.cardinalities))
    for row, weight in zip(table.codes, table.row_weights, strict=True):
        where = tuple(slice(None) if code < 0 else code for code in row)
        expected[where] += weight * row_posterior(full, row)
    return expected


def drawn_case(seed, n=None, rows=12):
    rng = np.random.default_rng(seed)
    network = random_network(rng, int(rng.integers(1, 7)) if n is None else n)
    table = table_with_holes(network, rng, rows)
    weights = rng.random(rows) if seed % 2 else None
    return network, Dataset(table.codes, table.names, table.states, weights=weights)


@pytest.mark.parametrize("seed", range(20))
def test_counts_of_all_families_are_those_of_the_full_joint(seed):
    network, table = drawn_case(seed)
    n, most = table.n_variables, 1 + seed % 4
    full, found = (
        completed_weights(network, table),
        expected_counts(network, table, most),
    )
    assert found.drawn_rows == 0
    for size in range(1, min(n, most) + 1):
        for members in itertools.permutations(range(n), size):
            others = tuple(set(range(n)) - set(members))
            order = np.argsort(np.argsort(members))
            expected = full.sum(axis=others).transpose(order)
            np.testing.assert_allclose(
                found.family(members[-1], members[:-1]), expected, atol=1e-12
            )


@pytest.mark.parametrize("score", [BIC(), AIC(), BDeu()])
@pytest.mark.parametrize("seed", range(8))
def test_candidates_are_those_of_all_weighted_completions(seed, score):
    network, table = drawn_case(seed, 5, 30)
    weights = completed_weights(network, table)
    codes = np.argwhere(weights > 0)
    completions = Dataset(
        codes, table.names, table.states, weights=weights[tuple(codes.T)]
    )
    expected = candidate_parent_sets(completions, score, max_parents=3)
    counts = expected_counts(network, table, 4)
    found = candidate_parent_sets(table, score, max_parents=3, counts=counts)
    for v in range(5):
        assert dict(found.candidates(v)) == pytest.approx(dict(expected.candidates(v)))


def test_rows_whose_parts_need_too_much_are_drawn():
    rng = np.random.default_rng(0)
    network = random_network(rng, 5)
    table = table_with_holes(network, rng, 20)
    exact = expected_counts(network, table, 2).family(1, (0,))
    found = expected_counts(network, table, 2, most_cells=60, seed=3)
    assert 0 < found.drawn_rows < 20
    assert found.family(1, (0,)).sum() == pytest.approx(20)
    draws = [
        expected_counts(network, table, 2, most_cells=60, seed=k) for k in range(40)
    ]
    mean = sum(one.family(1, (0,)) for one in draws) / 40
    np.testing.assert_allclose(mean, exact, atol=0.15)


def test_what_has_no_expected_counts_is_refused():
    network = random_network(np.random.default_rng(1), 3)
    with pytest.raises(OptionError, match="expected two models of the same variables"):
        expected_counts(network, Dataset(np.array([[0]]), ("z",), (("n", "y"),)), 1)
    states = (("n", "y"),) * 2
    sure = fit_complete(
        Dataset(np.array([[1, 0]]), ("a", "b"), states), [(), (0,)], smoothing=0
    )
    with pytest.raises(DataError, match="probability zero"):
        expected_counts(sure, Dataset(np.array([[-1, 1]]), ("a", "b"), states), 2)


def test_a_row_with_many_completions_is_counted():
    """All cells of a family are positive then, more than the smaller sets have entries."""
    network = BayesianNetwork(
        ("a", "b", "c"), (("0", "1"),) * 3, ((),) * 3, (np.array([0.25, 0.75]),) * 3
    )
    table = Dataset(np.array([[-1, -1, -1]], np.int8), network.names, network.states)
    counts = expected_counts(network, table, 3)
    assert len(counting_space(counts.rows, 3).stack.counts) >= 8
    problem = candidate_parent_sets(
        table, BIC(), max_parents=2, counts=counts, prune=False
    )
    for child in range(3):
        for parents, score in problem.candidates(child):
            assert score == pytest.approx(counts.score(child, parents, BIC()))
