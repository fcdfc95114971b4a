"""The relaxation, what it leaves, and who searches that, against dynamic programming."""

from collections.abc import Callable
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from exactlearn.solvers import (
    Problem,
    acyclicity,
    branch_and_cut,
    dual_bounds,
    relaxation,
    root,
    separation,
    solve,
    strategy,
)
from exactlearn.solvers.component_solver import SolverParameters
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.strategy import COMPONENT_SOLVERS
from tests.solvers.test_solvers import random_problem


def hard_problem(rng: np.random.Generator, n: int) -> Problem:
    """Draw a problem that the relaxation seldom closes."""
    return random_problem(rng, n, most_parents=3, kept=0.3)


@pytest.fixture
def relaxed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Leave nothing to dynamic programming, and change other constants of the choice."""

    def change(**constants: float) -> None:
        for name, value in ({"FASTEST_DYNAMIC": 1} | constants).items():
            monkeypatch.setattr(strategy, name, value)

    return change


@pytest.mark.parametrize("seed", range(12))
def test_what_the_relaxation_leaves_holds_the_optimum(
    seed: int, relaxed: Callable[..., None]
) -> None:
    relaxed()
    rng = np.random.default_rng(seed)
    problem = hard_problem(rng, 6 + seed % 5)
    found = solve(problem, solver="auto")
    assert found.status == "optimal"
    assert found.score == pytest.approx(
        solve(problem, solver="dynamic").score, abs=1e-9
    )
    assert found.bound == pytest.approx(found.score, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_branch_and_cut_takes_over_from_the_order_graph(
    seed: int, relaxed: Callable[..., None]
) -> None:
    relaxed(FEW_PLACED=0, FEW_CANDIDATES=0, MOST_STATES=0)
    problem = hard_problem(np.random.default_rng(100 + seed), 10)
    found = solve(problem, solver="auto")
    assert found.score == pytest.approx(
        solve(problem, solver="dynamic").score, abs=1e-9
    )


def test_the_explanation_names_who_took_what(relaxed: Callable[..., None]) -> None:
    problem = hard_problem(np.random.default_rng(3), 9)
    assert "dynamic took a piece of 9 variables" in solve(problem).message
    relaxed(WORD=0)
    message = solve(problem).message
    assert "scip took" in message or "root took" in message


@pytest.mark.parametrize("solver", ["auto", *COMPONENT_SOLVERS])
@pytest.mark.parametrize("seed", range(3))
def test_tuning_constants_change_no_answer(
    solver: str,
    seed: int,
    relaxed: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    relaxed(FEW_PLACED=0, FEW_CANDIDATES=10**6 * seed, SHRUNK=0.0)
    odd_constants: dict[ModuleType, dict[str, object]] = {
        separation: {
            "THRESHOLDS": (), "FORCED_ORDERS": 1, "FEW_CLUSTERS": 1, "MOST_STARTS": 1,
            "COUNTS": (),
        },
        root: {"MOST_IDLE": 3},
        dual_bounds: {"WORK": 0},
        relaxation: {"BEGINNING": 1, "MOST_PRICED": 1},
        acyclicity: {"MOST_CUTS": 1, "TAIL": 1},
        branch_and_cut: {"ROUNDING_BUDGET": 0, "MANY_CANDIDATES": 0, "LARGE_LOSS": 0.0},
    }  # fmt: skip
    for module, constants in odd_constants.items():
        for name, value in constants.items():
            monkeypatch.setattr(module, name, value)
    few = root.RoundLimits(most_cuts=1, tail=3)
    monkeypatch.setattr(root, "solve_root", partial(root.solve_root, limits=few))
    odd = SolverParameters(pattern_group=3, first_share=1.0, least_order_budget=10**5)
    problem = hard_problem(np.random.default_rng(seed), 9)
    best = solve(problem, solver="dynamic").score
    found = solve(problem, solver=solver, parameters=odd)
    assert found.score <= best + 1e-9
    assert found.bound >= best - 1e-9
    if solver == "auto" or COMPONENT_SOLVERS[solver].is_exact:
        assert found.status == "optimal"
        assert found.score == pytest.approx(best, abs=1e-9)


def test_ordering_bounds_what_it_finds() -> None:
    problem = hard_problem(np.random.default_rng(4), 9)
    best = solve(problem, solver="dynamic").score
    found = solve(problem, solver="ordering")
    assert found.score <= best + 1e-9
    assert found.bound >= best - 1e-9
    assert found.score == pytest.approx(best)


def test_a_part_inherits_its_share_of_the_clusters() -> None:
    rng = np.random.default_rng(5)
    clusters = rng.random((8, 7)) < 0.5
    multipliers = Multipliers(clusters, rng.random(8), rng.integers(1, 4, 8))
    part = np.array([1, 3, 4])
    within = strategy.within(multipliers, part)
    assert within.clusters.any(axis=1).all()
    assert (within.counts <= within.clusters.sum(axis=1)).all()
    problem = random_problem(rng, 3)
    assert within.bound(problem) >= solve(problem, solver="dynamic").score - 1e-9


@pytest.mark.parametrize(
    ("n", "candidates", "asked", "left", "name"),
    [
        (1, 3, "scip", None, "single"),
        (9, 50, "auto", None, "dynamic"),
        (9, 50, "scip", None, "root"),
        (30, 500, "auto", None, "root"),
        (30, 500, "auto", 400, "order-graph"),
        (50, 500, "auto", 400, "scip"),
        (50, 5000, "auto", 1400, "scip"),
        (50, 5000, "auto", 4000, "order-graph"),
        (70, 5000, "auto", 4000, "scip"),
        (70, 5000, "order-graph", 4000, "order-graph"),
        (30, 500, "ordering", None, "ordering"),
    ],
)
@pytest.mark.parametrize("max_parents", [1, 3])
def test_the_choice_follows_from_the_figures(
    n: int, candidates: int, asked: str, left: int | None, name: str, max_parents: int
) -> None:
    if max_parents == 1 and asked == "auto" and n > 9:
        name = "arborescence"
    figures = SimpleNamespace(
        n_variables=n, n_candidates=candidates, max_parents=max_parents
    )
    choice = strategy.choose(figures, asked, left=left)  # type: ignore[arg-type]
    assert choice.name == name
    assert choice.reason
