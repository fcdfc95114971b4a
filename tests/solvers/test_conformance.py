"""What every component solver must do: the same cases for each entry of the registry."""

import numpy as np
import pytest

from exactlearn._runtime.control import SearchControl
from exactlearn.solvers import Problem, solve
from exactlearn.solvers.component_solver import (
    ComponentControl,
    ComponentSolver,
    Outcome,
    Progress,
    Selection,
)
from exactlearn.solvers.components import Component, split
from exactlearn.solvers.strategy import COMPONENT_SOLVERS, solve_component
from tests.brute_force import best_selection, is_acyclic
from tests.interrupts import press_ctrl_c
from tests.solvers.test_solvers import random_problem

SOLVERS = sorted(COMPONENT_SOLVERS)

HEURISTIC = ("ordering", "root")
"""The solvers that may end without a proof."""


def solve_in_arcs(
    component: Component, incumbent: Selection | None, control: ComponentControl
) -> Outcome:
    """Enumerate all selections: a solver as somebody outside of the package would write it."""
    best = -np.inf
    chosen = component.first[:-1].copy()
    last = component.first[1:] - 1
    while control.goes_on():
        members = [component.members[a:b] for a, b in _stretches(component, chosen)]
        if is_acyclic([set(own.tolist()) for own in members]):
            control.improve(chosen.copy())
            best = max(best, control.score)
        place = np.flatnonzero(chosen < last)
        if not len(place):
            return control.outcome(proven=True, bound=best)
        chosen[place[0]] += 1
        chosen[: place[0]] = component.first[: place[0]]
    return control.outcome(proven=False)


def _stretches(component: Component, chosen: np.ndarray) -> list[tuple[int, int]]:
    first = component.member_first
    return [(first[c], first[c + 1]) for c in chosen]


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register a solver from outside."""
    monkeypatch.setitem(COMPONENT_SOLVERS, "mine", ComponentSolver(solve=solve_in_arcs))


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize("seed", range(6))  # three sizes, each without and with ties
@pytest.mark.parametrize("solver", [*SOLVERS, "mine"])
def test_the_optimum_of_brute_force(solver: str, seed: int) -> None:
    problem = random_problem(
        np.random.default_rng(seed), 3 + seed % 3, kept=0.7, ties=seed % 2
    )
    best = best_selection(problem)
    result = solve(problem, solver=solver)
    result.check(problem)
    if best == -np.inf:
        assert result.status == "infeasible"
        return
    assert result.status == "optimal" or solver in HEURISTIC
    assert result.solver == "mine" or solver != "mine"
    assert result.score == pytest.approx(best, abs=1e-9)
    assert result.bound >= best - 1e-9


@pytest.mark.parametrize("solver", sorted({*SOLVERS} - {*HEURISTIC}))
def test_a_component_without_selection_is_infeasible(solver: str) -> None:
    problem = Problem.from_candidates(["a", "b"], [{(1,): -1.0}, {(0,): -2.0}])
    progress = Progress(problem, split(problem), SearchControl())
    assert solve_component(COMPONENT_SOLVERS[solver], progress, 0) == "infeasible"


@pytest.mark.parametrize("stopped", [False, True], ids=["limit", "stop"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_search_that_is_over_ends_with_a_valid_bound(
    solver: str, stopped: bool
) -> None:
    problem = random_problem(np.random.default_rng(2), 16, most_parents=3, kept=0.5)
    best = solve(problem, solver="dynamic").score
    control = SearchControl(None if stopped else 0.0)
    if stopped:
        control.stop()
    progress = Progress(problem, split(problem), control)
    for k in range(len(progress.states)):
        solve_component(COMPONENT_SOLVERS[solver], progress, k)
    assert control.seconds < 5.0
    assert progress.bound >= best - 1e-9
    assert progress.score <= best + 1e-9


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize("solver", [*SOLVERS, "mine"])
def test_ctrl_c_keeps_the_best_so_far(solver: str) -> None:
    problem = random_problem(np.random.default_rng(2), 18, most_parents=3, kept=0.5)
    result = solve(problem, solver=solver, on_event=press_ctrl_c)
    assert result.status == "interrupted"
    assert result.parents is not None
    assert result.bound >= result.score
    result.check(problem)


def test_the_relaxation_alone_says_that_it_leaves_a_gap() -> None:
    ring = [{(): -1.0, ((v + 1) % 3,): 0.0, ((v + 2) % 3,): 0.0} for v in range(3)]
    problem = Problem.from_candidates(["a", "b", "c"], ring)
    found = solve(problem, solver="root")
    assert found.score == -1.0
    assert found.status == "optimal" or "leaves a gap" in found.message
