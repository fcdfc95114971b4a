"""Bounds by cluster multipliers, and what they exclude, against all selections."""

from itertools import combinations

import numpy as np
import pytest

from exactlearn.augmentation import threshold_query
from exactlearn.formats.scores import read_jkl
from exactlearn.graphs.dag import topological_order
from exactlearn.solvers import Problem, dynamic
from exactlearn.solvers.dual_bounds import tighten_bound
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.root import cluster_multipliers
from exactlearn.solvers.satisfied_clusters import satisfied
from tests.brute_force import best_selection


def random_problem(seed, least=2):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(least, 5))
    tables = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for k in range(3) for s in combinations(others, k)]
        tables.append({s: -10 * float(rng.random()) + 2 * len(s) for s in sets})
    return Problem.from_candidates([f"x{i}" for i in range(n)], tables)


def random_multipliers(rng, n):
    clusters = rng.random((6, n)) < 0.6
    return Multipliers(
        clusters[clusters.any(axis=1)], 3 * rng.random(clusters.any(axis=1).sum())
    )


def rewarded_one_by_one(problem, multipliers):
    """Return what each candidate's clusters give it, by the definition."""
    total = np.zeros(problem.n_candidates)
    for c in range(problem.n_candidates):
        for cluster, count, value in zip(
            multipliers.clusters, multipliers.counts, multipliers.values, strict=True
        ):
            inside = sum(cluster[p] for p in problem.parent_set(c))
            total[c] += value * (cluster[problem.child[c]] and inside < count)
    return total


@pytest.mark.parametrize("seed", range(12))
def test_candidates_have_the_rewards_of_satisfied_clusters(seed):
    problem, rng = random_problem(seed), np.random.default_rng(seed)
    n, k = problem.n_variables, int(rng.integers(1, 30))
    clusters = rng.random((k, n)) < 0.7
    values = np.where(rng.random(k) < 0.2, 0.0, rng.random(k))
    multipliers = Multipliers(clusters, values, rng.integers(1, 4, k))
    expected = rewarded_one_by_one(problem, multipliers)
    np.testing.assert_allclose(
        multipliers.adjusted(problem), problem.scores + expected, atol=1e-12
    )
    meets = satisfied(problem, clusters, multipliers.counts)
    np.testing.assert_allclose(values @ meets, expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_bound_tightening_keeps_selections_above_the_target(seed):
    problem, rng = random_problem(seed), np.random.default_rng(seed)
    best = best_selection(problem)
    multipliers = random_multipliers(rng, problem.n_variables)
    target = best - float(rng.choice([-1e-6, 1e-6, 1.0, 4.0]))
    tightened, left = tighten_bound(multipliers, problem, target - 0.5, target)
    assert len(np.unique(problem.child[left])) == problem.n_variables
    for c in np.flatnonzero(~left):
        child = problem.child[c]
        alone = problem.select((problem.child != child) | (np.arange(len(left)) == c))
        assert best_selection(alone) <= target
    assert (tightened.bound(problem.select(left)) >= best - 1e-9) or best <= target


@pytest.mark.parametrize("seed", range(60))
def test_any_multipliers_bound_every_network(seed):
    problem, rng = random_problem(seed), np.random.default_rng(seed)
    best = best_selection(problem)
    anyhow = random_multipliers(rng, problem.n_variables)
    found = cluster_multipliers(problem)
    for multipliers in (
        anyhow,
        found,
        tighten_bound(anyhow, problem, best)[0],
        tighten_bound(found, problem, best)[0],
    ):
        assert (multipliers.values >= 0).all()
        assert multipliers.bound(problem) >= best - 1e-9
    assert (
        tighten_bound(anyhow, problem, best)[0].bound(problem)
        <= anyhow.bound(problem) + 1e-12
    )
    nothing = Multipliers(np.zeros((0, problem.n_variables), np.bool_), np.zeros(0))
    assert found.bound(problem) <= nothing.bound(problem) + 1e-9


def test_lowering_reaches_a_bound_that_exists():
    reached = 0
    for seed in range(60):
        problem = random_problem(seed)
        found = cluster_multipliers(problem)
        if not found.values.any():
            continue
        start = Multipliers(found.clusters, np.zeros(len(found.values)))
        enough = found.bound(problem) + 0.2
        reached += (
            tighten_bound(start, problem, enough)[0].bound(problem) <= enough + 1e-9
        )
    assert reached >= 20


def test_the_root_bound_is_near_the_optimum_of_public_instances(data_dir):
    for name, optimum in (("child-5000", -62059.5035), ("survey-5000", -19710.916)):
        problem = read_jkl(data_dir / "bnsl" / f"{name}.jkl.gz")
        bound = cluster_multipliers(problem).bound(problem)
        assert optimum - 1e-6 <= bound <= optimum + 2e-3 * abs(optimum)


@pytest.mark.parametrize("seed", range(24))
def test_a_selection_above_a_target_is_found_or_there_is_none(seed, monkeypatch):
    problem, rng = random_problem(seed, least=4), np.random.default_rng(seed)
    best = best_selection(problem)
    multipliers = random_multipliers(rng, problem.n_variables)
    start = [()] * problem.n_variables
    if seed % 3:  # these problems are so small that dynamic programming comes first
        monkeypatch.setattr(dynamic, "is_instant", lambda component: False)
    if seed % 3 == 2:
        monkeypatch.setattr(threshold_query, "WORD", 0)
    for target in (best - 2.0, best - 1e-4, best + 1e-4, best + 3.0):
        found = threshold_query.best_above(problem, target, multipliers, start)
        assert (found.parents is None) == found.proven == (best < target)
        if found.parents is not None:
            tables = [dict(problem.candidates(i)) for i in range(problem.n_variables)]
            score = sum(t[ps] for t, ps in zip(tables, found.parents, strict=True))
            assert target < score <= best + 1e-9
            assert len(topological_order(found.parents)) == problem.n_variables
