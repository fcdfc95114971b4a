"""The one way to solve a problem: checks, pieces, incumbent, solver, and the check of the answer."""

from dataclasses import replace
from difflib import get_close_matches
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from exactlearn.errors import InfeasibleError, OptionError
from exactlearn.solvers import dynamic
from exactlearn.solvers.components import Component, split
from exactlearn.solvers.ordering import OrderSearch
from exactlearn.solvers.problem import Problem
from exactlearn.solvers.progress import OutOfTime, Progress
from exactlearn.solvers.result import OnEvent, Result, Status

SOLVERS = ("auto", "scip", "dynamic")
EFFORT = 10**7


def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    start: Result | tuple[tuple[int, ...], ...] | None = None,
    seed: int = 0,
    on_event: OnEvent | None = None,
) -> Result:
    progress = Progress(problem, (), time_limit, on_event)
    try:
        problem.require_feasible()
    except InfeasibleError as error:
        return _infeasible(str(error), solver)
    components = split(problem)
    progress = Progress(problem, components, time_limit, on_event)
    status: Status = "optimal"
    try:
        for k, component in enumerate(components):
            search = OrderSearch(component, np.random.default_rng(seed))
            values = np.zeros(len(component.options), np.int64)
            order = search.greedy_order(values, np.zeros(component.n_candidates))
            found = search.improve(order, values, EFFORT, 10**6 if component.n_variables > 1 else 0)
            if found:
                progress.improve(k, *found)
        for k, component in enumerate(components):
            if component.n_variables==1: progress.prove(k, progress.scores[k],0)
            elif solver == "dynamic":
                chosen = dynamic.best_selection(component, progress.pause)
                progress.improve(k, chosen)
                progress.prove(k, progress.scores[k], 1 << component.n_variables)
            else:
                from exactlearn.solvers.scip import solve_component
                s = solve_component(component, k, progress, gap, seed)
                if s != "optimal": status = s
    except OutOfTime:
        status = "feasible"
    except KeyboardInterrupt:
        status = "interrupted"
    result = Result(
        parents=progress.parents,
        score=progress.score,
        bound=progress.bound,
        status=status,
        solver="dynamic",
        seconds=progress.seconds,
        nodes=sum(progress.nodes),
        values=tuple(progress.values.tolist()),
        trace=tuple(progress.trace),
    )
    result.check(problem)
    return result


def _infeasible(message: str, solver: str) -> Result:
    inf = float("inf")
    return Result(
        parents=None, score=-inf, bound=-inf, status="infeasible", solver=solver, message=message
    )
