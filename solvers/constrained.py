"""The best network under constraints that concern the whole network, with any solver.

Constraints on single parent sets only drop candidates. The others are enforced by taking the set of
all networks apart (:mod:`exactlearn.solvers.enumeration.partition`): every bound on the way is
valid, so that a limit leaves the best network so far with an honest gap.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from exactlearn._runtime.control import UNLIMITED, OnEvent, SearchControl

from .constraints import ArcTotal, minimal_conflict
from .enumeration.partition import Partition, Solver
from .implied_arcs import simple_network, with_implied_arcs
from .problem import Problem, Requirement
from .result import TOLERANCE, Result, Status

CONFLICT = 2.0
"""Seconds after which constraints in conflict are named though fewer might be."""


def solve_constrained(
    problem: Problem,
    solve: Solver,
    *,
    solver: str = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    start: Any = None,
    on_event: OnEvent | None = None,
    **options: Any,
) -> Result:
    """Solve a problem with declared constraints.

    Parameters
    ----------
    problem
        The problem, with constraints.
    solve
        Solves problems without constraints.
    solver, time_limit, gap, start, on_event, options
        As in :func:`exactlearn.solvers.solve`.

    Returns
    -------
    Result
        As of :func:`exactlearn.solvers.solve`. When no network satisfies the constraints, the
        message names a smallest set of them that contradict each other.
    """
    with SearchControl(time_limit, on_event).running() as control:
        search = Partition(
            problem=problem,
            solve=solve,
            control=control,
            gap=gap,
            start=start,
            options={"solver": solver, **options},
        )
        search.advance()
        status: Status = search.ended or "optimal"
        if status == "optimal" and search.incumbent.parents is None:
            return _infeasible(problem, search, solve, solver)
    result = answer(search, status)
    result.check(problem)
    return result


def answer(search: Partition, status: Status, bound: float | None = None) -> Result:
    """Return what a search knows of the best network.

    Parameters
    ----------
    search
        The search.
    status
        How it ended.
    bound
        Bound on the best network, where the search went on after it.
    """
    found = search.incumbent
    bound = max(search.bound if bound is None else bound, found.score)
    open_gap = TOLERANCE * max(1.0, abs(found.score)) + search.gap * abs(found.score)
    if status == "optimal" and bound - found.score > open_gap:
        status = "feasible"
    said = [f"{search.solved} problems without constraints on the whole network were solved"]
    if status == "feasible" and search.control.left == 0:
        said.insert(0, "the time limit was reached")
    if status == "interrupted":
        said.insert(0, "interrupted")
    if found.parents is None:
        said.append("nothing was found yet")
    return Result(
        names=search.problem.names,
        parents=found.parents,
        score=found.score,
        bound=bound,
        status=status,
        solver=str(search.options.get("solver", "auto")),
        seconds=search.control.seconds,
        nodes=search.nodes,
        trace=tuple(search.control.trace),
        message="; ".join(said),
        gap_limit=search.gap,
    )


def _infeasible(problem: Problem, search: Partition, solve: Solver, solver: str) -> Result:
    return Result(
        parents=None,
        score=-inf,
        bound=-inf,
        status="infeasible",
        solver=solver,
        seconds=search.control.seconds,
        nodes=search.nodes,
        message=conflict(problem, solve, search.control),
    )


def conflict(problem: Problem, solve: Solver, control: SearchControl = UNLIMITED) -> str:
    """Say which constraints contradict each other, none of which can be spared if there is time.

    Parameters
    ----------
    problem
        A problem without a solution.
    solve
        Solves problems without constraints.
    control
        Ends the search for a smaller conflict, which takes two seconds at most.
    """
    if not problem.constrained_by(()).is_feasible:
        return problem.constrained_by(()).conflict_message()
    control = SearchControl(CONFLICT, outer=control)
    requirements: Sequence[Requirement] = problem.requirements
    if with_implied_arcs(problem) is None:
        requirements = minimal_conflict(
            requirements, lambda some: with_implied_arcs(problem.constrained_by(some)) is not None
        )
    in_time = True

    def may_be_satisfied(some: Sequence[Requirement]) -> bool:
        nonlocal in_time
        answer = is_satisfiable(problem.constrained_by(some), solve, control)
        in_time = in_time and answer is not None
        return answer is not False  # a constraint more does no harm

    if not may_be_satisfied(()):
        return "no acyclic selection of the candidates exists"
    message = problem.describe_conflict(minimal_conflict(requirements, may_be_satisfied))
    return message if in_time else f"{message} (there was no time to name fewer)"


def is_satisfiable(
    problem: Problem, solve: Solver, control: SearchControl = UNLIMITED
) -> bool | None:
    """Return whether any network satisfies all constraints; ``None`` when the search ends first."""
    if with_implied_arcs(problem) is None:
        return False
    if not problem.overall_constraints:
        return True
    if simple_network(problem) is not None:
        return True
    totals = [c for c in problem.overall_constraints if isinstance(c, ArcTotal)]
    towards = -1.0 if any(c.most is not None for c in totals) else 1.0 if totals else 0.0
    sizes = np.diff(problem.member_first).astype(np.float64)
    aimed = replace(problem, scores=towards * sizes)
    search = Partition(problem=aimed, solve=solve, control=control.aside(), first_only=True)
    search.advance()
    found = search.incumbent.parents is not None
    return None if search.ended is not None and not found else found
