"""Bounds by cluster multipliers, and what they exclude, against all selections."""

from itertools import combinations, product

import numpy as np
import pytest

from exactlearn.augmentation import FamilyRules
from exactlearn.augmentation.columns import completions_within
from exactlearn.augmentation.completions import completion_problem
from exactlearn.formats.jkl import read_jkl
from exactlearn.scores import BDeu
from exactlearn.solvers import Problem
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.reduction import promising, value_bounds
from exactlearn.solvers.root import root_multipliers
from tests.augmentation_oracle import random_table
from tests.brute_force import agree, best_selection, is_acyclic


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
    found = root_multipliers(problem)
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
        found = root_multipliers(problem)
        if not found.values.any():
            continue
        start = Multipliers(found.clusters, np.zeros(len(found.values)))
        enough = found.bound(problem) + 0.2
        reached += start.lowered(problem, enough).bound(problem) <= enough + 1e-9
    assert reached >= 20


def test_the_root_bound_is_near_the_optimum_of_public_instances(data_dir):
    for name, optimum in (("child-5000", -62059.5035), ("survey-5000", -19710.916)):
        problem = read_jkl(data_dir / "bnsl" / f"{name}.jkl.gz")
        bound = root_multipliers(problem).bound(problem)
        assert optimum - 1e-6 <= bound <= optimum + 2e-3 * abs(optimum)


def selections(problem):
    """Yield every acyclic selection whose candidates agree on the choices, with its score."""
    for chosen in product(
        *(range(a, b) for a, b in zip(problem.first, problem.first[1:], strict=False))
    ):
        parents = tuple(problem.parent_set(c) for c in chosen)
        if is_acyclic(parents) and agree([problem.reads(c) for c in chosen]):
            yield chosen, float(problem.scores[list(chosen)].sum())


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("radius", [1, 2])
def test_nothing_that_could_be_better_is_excluded(seed, radius):
    rng = np.random.default_rng(seed)
    data = random_table(rng, 3, 10, 3, states=2)
    values = rng.integers(data.cardinalities[data.missing_cells[:, 1]])
    columns = completions_within(data, values, radius)
    problem = completion_problem(data, columns, BDeu(1.0), FamilyRules(1))
    base = completion_problem(
        data.complete(values), completions_within(data.complete(values), values[:0], 0),
        BDeu(1.0), FamilyRules(1),
    )  # fmt: skip
    within = []
    for chosen, score in selections(problem):
        literals = {k: v for c in chosen for k, v in problem.reads(c).items()}
        spent = sum(columns.distance[columns.first[k] + v] for k, v in literals.items())
        if spent <= radius:
            within.append((chosen, score, literals))
    scores = np.array([score for _, score, _ in within])
    for multipliers in (root_multipliers(base), random_multipliers(rng, 3)):
        bounds = value_bounds(problem, multipliers, distance=columns.distance, radius=radius)
        for _, score, literals in within:
            for choice, value in literals.items():
                assert bounds[problem.option_first[choice] + value] >= score - 1e-9
        for target in np.quantile(scores, [0.5, 0.95]):
            keep = promising(
                problem, multipliers, float(target), distance=columns.distance, radius=radius
            )
            for chosen, score, _ in within:
                assert score <= target + 1e-9 or keep[list(chosen)].all()
