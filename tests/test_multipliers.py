"""Bounds by cluster multipliers, and what they exclude, against all selections."""

from itertools import combinations

import numpy as np
import pytest

from exactlearn.formats.jkl import read_jkl
from exactlearn.solvers import Problem
from exactlearn.solvers.cluster_pricing import cluster_multipliers
from exactlearn.solvers.multipliers import Multipliers
from tests.brute_force import best_selection


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    tables = []
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [s for k in range(3) for s in combinations(others, k)]
        tables.append({s: -10 * float(rng.random()) + 2 * len(s) for s in sets})
    return Problem.from_candidates([f"x{i}" for i in range(n)], tables)


def random_multipliers(rng, n):
    clusters = rng.random((6, n)) < 0.6
    return Multipliers(clusters[clusters.any(axis=1)], 3 * rng.random(clusters.any(axis=1).sum()))


@pytest.mark.parametrize("seed", range(60))
def test_any_multipliers_bound_every_network(seed):
    problem, rng = random_problem(seed), np.random.default_rng(seed)
    best = best_selection(problem)
    anyhow = random_multipliers(rng, problem.n_variables)
    found = cluster_multipliers(problem)
    for multipliers in (anyhow, found, anyhow.lowered(problem, best), found.lowered(problem, best)):
        assert (multipliers.values >= 0).all()
        assert multipliers.bound(problem) >= best - 1e-9
    assert anyhow.lowered(problem, best).bound(problem) <= anyhow.bound(problem) + 1e-12
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
        reached += start.lowered(problem, enough).bound(problem) <= enough + 1e-9
    assert reached >= 20


def test_the_root_bound_is_near_the_optimum_of_public_instances(data_dir):
    for name, optimum in (("child-5000", -62059.5035), ("survey-5000", -19710.916)):
        problem = read_jkl(data_dir / "bnsl" / f"{name}.jkl.gz")
        bound = cluster_multipliers(problem).bound(problem)
        assert optimum - 1e-6 <= bound <= optimum + 2e-3 * abs(optimum)
