"""The best networks and classes against all networks of tiny problems."""

from dataclasses import replace
from math import exp, inf

import numpy as np
import pytest

from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.graphs.equivalence import cpdag
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import BDeu
from exactlearn.solvers import Problem
from exactlearn.solvers.constraints import ForbiddenAdjacency, RequiredAncestor
from exactlearn.solvers.enumeration import (
    Enumeration,
    ScoredNetwork,
    enumerate_networks,
)
from tests.constraint_oracle import networks, random_constraint
from tests.interrupts import press_ctrl_c
from tests.solvers.test_solvers import random_problem


def classes(problem: Problem) -> list[float]:
    """Return the best score of each equivalence class, the best first."""
    best: dict[object, float] = {}
    for score, parents in networks(problem):
        best.setdefault(cpdag(parents), score)
    return list(best.values())


def scores(found: Enumeration) -> list[float]:
    return [network.score for network in found.networks]


def assert_listed(
    problem: Problem, found: Enumeration, expected: list[float], asked: int
) -> None:
    assert found.complete
    assert scores(found) == pytest.approx(expected[:asked], abs=1e-9)
    assert len({network.parents for network in found.networks}) == len(found.networks)
    for network in found.networks:
        assert not problem.violations(network.parents)
        allowed = {
            family: score
            for v in range(problem.n_variables)
            for family, score in [*problem.candidates(v)]
        }
        assert set(network.parents) <= set(allowed)
    following = expected[asked] if asked < len(expected) else -inf
    assert found.bound >= following - 1e-9
    assert found.bound <= max(scores(found)[-1:], default=inf) + 1e-9


@pytest.mark.parametrize("solver", ["auto", "scip"])
def test_the_k_best_networks_for_every_k(solver: str) -> None:
    rng = np.random.default_rng(1)
    for round_ in range(3):
        problem = random_problem(rng, 3, kept=0.7, ties=round_ == 1, empty_sets=0.8)
        expected = [score for score, _ in networks(problem)]
        for k in range(
            1, len(expected) + 2, 1 if round_ == 0 and solver == "auto" else 7
        ):
            found = enumerate_networks(problem, k=k, solver=solver)
            assert_listed(problem, found, expected, k)


def test_all_networks_one_after_the_other() -> None:
    rng = np.random.default_rng(2)
    for n, kept in ((4, 0.4), (4, 0.5), (5, 0.15)):
        problem = random_problem(rng, n, kept=kept)
        every = networks(problem)
        found = enumerate_networks(problem, k=len(every) + 1)
        assert_listed(problem, found, [score for score, _ in every], len(every) + 1)
        assert {network.parents for network in found.networks} == {p for _, p in every}
        assert found.bound == -inf


@pytest.mark.parametrize(
    "kept", [0.6, 0.25]
)  # few candidates: parts are proven at once
def test_all_within_a_factor(kept: float) -> None:
    rng = np.random.default_rng(3)
    for round_ in range(12):
        problem = random_problem(rng, 4, kept=kept, ties=round_ % 3 == 0)
        factor = [1.0, 3.0, exp(4.0)][round_ % 3]
        every = [score for score, _ in networks(problem)]
        within = [score for score in every if score >= every[0] - np.log(factor) - 1e-9]
        found = enumerate_networks(problem, factor=factor)
        assert found.complete
        assert scores(found) == pytest.approx(within, abs=1e-9)
        assert found.ties == sum(score == pytest.approx(every[0]) for score in every)
        assert found.bound <= every[0] - np.log(factor) + 1e-9
        few = enumerate_networks(problem, factor=factor, k=2)
        assert scores(few) == pytest.approx(within[:2], abs=1e-9)


@pytest.mark.parametrize("of_classes", [False, True])
def test_k_and_a_factor_together(of_classes: bool) -> None:
    """Under constraints, parts of the search are solved before the factor's floor is known."""
    for seed in (21, 555, 866, 1172, 1511, 2620, *range(100)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 5))
        plain = random_problem(rng, n, kept=float(rng.choice([0.4, 0.7])))
        tables = [
            {family: round(score) for family, score in plain.candidates(v)}
            for v in range(n)
        ]
        constraints = [
            random_constraint(rng, n, int(rng.integers(8)))
            for _ in range(rng.integers(1, 3))
        ]
        problem = Problem.from_candidates(plain.names, tables)
        problem = replace(problem, constraints=tuple(constraints))
        every = (
            classes(problem)
            if of_classes
            else [score for score, _ in networks(problem)]
        )
        found = enumerate_networks(problem, classes=of_classes, k=2, factor=3.0)
        wanted = [score for score in every[:2] if score >= every[0] - np.log(3.0)]
        assert scores(found) == wanted
        assert found.bound >= (every[len(wanted)] if len(wanted) < len(every) else -inf)


def test_the_best_classes() -> None:
    rng = np.random.default_rng(4)
    for round_ in range(8):
        problem = random_problem(rng, 4, most_parents=3, kept=0.4, ties=round_ % 4 == 0)
        expected = classes(problem)
        k = (1, 4, 12, len(expected) + 1)[round_ % 4]
        found = enumerate_networks(problem, classes=True, k=k)
        assert found.complete
        assert scores(found) == pytest.approx(expected[:k], abs=1e-9)
        assert len({cpdag(network.parents) for network in found.networks}) == len(
            found.networks
        )


def table(rng: np.random.Generator, n: int, rows: int) -> Dataset:
    codes = rng.integers(0, 2, (rows, n)).astype(np.int8)
    codes[:, 1] = (codes[:, 0] + (rng.random(rows) < 0.2)) % 2
    return Dataset(codes, tuple(f"X{v}" for v in range(n)), (("n", "y"),) * n)


def test_members_of_a_class_tie_and_are_not_met() -> None:
    problem = candidate_parent_sets(
        table(np.random.default_rng(5), 4, 40), BDeu(), max_parents=3, prune=False
    )
    best = enumerate_networks(problem, factor=1.0)
    size = cpdag(best.networks[0].parents).size
    assert best.ties == len(best.networks) == size > 1
    found = enumerate_networks(problem, classes=True, k=6)
    assert scores(found) == pytest.approx(classes(problem)[:6], abs=1e-9)


@pytest.mark.parametrize("of_classes", [False, True])
def test_constraints_hold_for_all_that_is_listed(of_classes: bool) -> None:
    rng = np.random.default_rng(6)
    for round_ in range(10):
        problem = random_problem(rng, 4, kept=0.6, constraints=1)
        drawn = [random_constraint(rng, 4, int(kind)) for kind in rng.integers(0, 7, 2)]
        problem = replace(problem, constraints=tuple(drawn))
        every = [score for score, _ in networks(problem)]
        expected = classes(problem) if of_classes else every
        found = enumerate_networks(problem, classes=of_classes, k=5 + round_)
        assert found.complete
        assert scores(found) == pytest.approx(expected[: 5 + round_], abs=1e-9)
        assert (found.best.status == "infeasible") == (not every)


def test_a_limit_is_reported() -> None:
    problem = random_problem(np.random.default_rng(7), 8, kept=0.9)
    found = enumerate_networks(problem, k=10, time_limit=0)
    assert not found.complete
    assert len(found.networks) == 1
    all_found = enumerate_networks(problem, k=10)
    assert found.bound >= all_found.networks[0].score
    assert all_found.best.status == "optimal"
    assert all_found.best.score == all_found.networks[0].score


def test_interruption_keeps_what_was_found() -> None:
    problem = random_problem(np.random.default_rng(8), 6, kept=0.9)
    heard = []

    def interrupt(event: object) -> None:
        heard.append(event)
        if len(heard) > 40:
            press_ctrl_c()

    found = enumerate_networks(problem, k=30, on_event=interrupt)
    assert found.status == "interrupted"
    assert not found.complete
    assert 0 < len(found.networks) < 30


@pytest.mark.parametrize("of_classes", [False, True])
def test_what_is_known_is_listed_before_anything_is_proven(
    of_classes: bool,
) -> None:
    problem = random_problem(np.random.default_rng(8), 6, kept=0.9)

    def interrupt(event: object) -> None:
        if event.parents is not None:
            press_ctrl_c()

    found = enumerate_networks(problem, classes=of_classes, k=3, on_event=interrupt)
    assert (found.status, found.complete) == ("interrupted", False)
    assert [network.parents for network in found.networks] == [found.best.parents]


def test_the_first_is_the_optimum_under_constraints() -> None:
    problem = replace(
        random_problem(np.random.default_rng(9), 7, kept=0.8),
        constraints=(ForbiddenAdjacency(1, 2), RequiredAncestor(0, 6)),
    )
    found = enumerate_networks(problem, k=3)
    assert isinstance(found.networks[0], ScoredNetwork)
    assert found.best.parents == found.networks[0].parents
    assert not any(problem.violations(network.parents) for network in found.networks)


def test_what_is_refused() -> None:
    problem = random_problem(np.random.default_rng(10), 3)
    for options, message in (
        ({}, "how many networks"),
        ({"k": 0}, "'k': expected a whole number from 1, found 0"),
        ({"factor": 0.5}, "'factor': expected a finite number from 1"),
        ({"factor": inf}, "'factor': expected a finite number from 1"),
        ({"k": 1, "solver": "ordering"}, "proves nothing"),
    ):
        with pytest.raises(OptionError, match=message):
            enumerate_networks(problem, **options)
