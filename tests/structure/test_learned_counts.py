"""Expected counts under a learned network: against all its completions and all DAGs."""

import numpy as np
import pytest
from scipy.special import rel_entr

from exactlearn.bayesnet.complete_data import SMOOTHING
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness import hide
from exactlearn.errors import InfeasibleError
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.expected_counts import expected_counts
from exactlearn.scoring.scores import BIC, BDeu, total_score
from exactlearn.solvers import solve
from exactlearn.structure.learned_counts import ESS, MAX_PARENTS, learned_counts
from exactlearn.structure.structural_em import structural_em
from tests.structure.test_structural_em import best_dag_score, completions, holed_table


@pytest.mark.parametrize("score", [BIC(), BDeu(1.0)])
@pytest.mark.parametrize("seed", range(6))
def test_the_network_is_the_best_dag_on_expected_completions(seed, score):
    table = holed_table(seed)
    learned = learned_counts(table)
    expanded = completions(learned.network, table)
    problem = candidate_parent_sets(table, score, counts=learned.counts)
    found = solve(problem)
    assert found.score == pytest.approx(total_score(expanded, found.parents, score))
    assert found.score == pytest.approx(best_dag_score(expanded, score))


@pytest.mark.parametrize("seed", range(3))
def test_the_network_is_that_of_structural_em(seed):
    table = holed_table(seed)
    expected = structural_em(
        table, BDeu(ESS), max_parents=MAX_PARENTS, smoothing=SMOOTHING
    )
    learned = learned_counts(table)
    assert learned.status == expected.status == "converged"
    assert learned.network.parents == expected.parents
    for own, other in zip(learned.network.tables, expected.network.tables, strict=True):
        assert own == pytest.approx(other)


def test_arcs_are_those_of_the_rules():
    table = holed_table(0)
    arcs = [(0, 3), (1, 3), (2, 3)]
    learned = learned_counts(table, required=arcs)
    assert learned.network.parents[3] == (0, 1, 2)
    apart = [(a, b) for a in range(4) for b in range(4) if a != b]
    assert learned_counts(table, forbidden=apart).network.parents == ((),) * 4
    with pytest.raises(InfeasibleError):
        learned_counts(table, required=[(0, 1), (1, 0)])


def chain(strength: float) -> BayesianNetwork:
    """Return a chain of six binary variables."""
    first, link = (
        np.array([0.5, 0.5]),
        np.array([[strength, 1 - strength], [1 - strength, strength]]),
    )
    parents = ((), *((v,) for v in range(5)))
    return BayesianNetwork(
        tuple("abcdef"), (("0", "1"),) * 6, parents, (first, *[link] * 5)
    )


def test_arcs_that_sparse_structural_em_loses_are_kept():
    network = chain(0.68)
    losses = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        table = hide(network.sample(150, rng), "mcar:0.25", rng)
        sparse = structural_em(table, BDeu(1.0)).parents
        problem = candidate_parent_sets(
            table, BDeu(1.0), counts=learned_counts(table).counts
        )
        losses.append(sum(map(len, solve(problem).parents)) - sum(map(len, sparse)))
    assert min(losses) >= 0
    assert max(losses) > 0


def test_without_time_there_are_the_families_of_the_network():
    table = holed_table(1)
    learned = learned_counts(table, time_limit=0.0)
    assert not learned.counts.finished
    found = solve(learned.problem(table, BIC()))
    assert found.parents == learned.network.parents
    expanded = completions(learned.network, table)
    assert found.score == pytest.approx(total_score(expanded, found.parents, BIC()))


@pytest.mark.parametrize("seed", range(8))
def test_without_a_path_expected_counts_dilute_the_dependence(seed):
    rng = np.random.default_rng(seed)
    names, states = ("a", "b"), (("0", "1", "2"),) * 2
    codes = rng.integers(0, 3, (60, 2))
    codes[:, 1] = np.where(rng.random(60) < 0.4, codes[:, 0], codes[:, 1])
    both = codes[:45]
    # The rows that lack one of the two have the marginals of those that observe both.
    holed = np.concatenate([both, np.column_stack([both[:, 0], np.full(45, -1)]),
                            np.column_stack([np.full(45, -1), both[:, 1]])])  # fmt: skip
    table = Dataset(holed, names, states)
    network = fit_em(table, ((), ()), smoothing=0.0).model
    counts = expected_counts(network, table, 2).family(1, (0,))
    observed = np.zeros((3, 3))
    np.add.at(observed, tuple(both.T), 1.0)
    q = 2 / 3
    marginals = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / 45**2
    assert counts / 135 == pytest.approx((1 - q) * observed / 45 + q * marginals)
    diluted, full = (
        rel_entr(p, marginals).sum() for p in (counts / 135, observed / 45)
    )
    assert diluted <= (1 - q) * full + 1e-12


@pytest.mark.parametrize("score", [BIC(), BDeu(1.0)])
def test_without_time_families_are_scored_by_expected_counts(score):
    table = holed_table(2)
    learned = learned_counts(table)
    problem = learned.problem(table, score)
    expected = expected_counts(learned.network, table, 3)
    for child, own in enumerate(learned.network.parents):
        (found,) = problem.candidates(child)
        assert found == (
            tuple(sorted(own)),
            pytest.approx(expected.score(child, own, score)),
        )
