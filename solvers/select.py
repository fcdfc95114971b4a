"""The one way to solve a problem: checks, pieces, incumbent, solver, check of the answer."""

from collections.abc import Sequence
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from exactlearn.errors import InfeasibleError, OptionError
from exactlearn.graph import topological_order
from exactlearn.solvers import dynamic
from exactlearn.solvers.components import Component, split
from exactlearn.solvers.constrained import solve_constrained
from exactlearn.solvers.ordering import OrderSearch
from exactlearn.solvers.problem import Problem
from exactlearn.solvers.progress import OutOfTime, Progress
from exactlearn.solvers.result import OnEvent, Result, Status
from exactlearn.solvers.scip import solve_component
from exactlearn.suggestion import suggestion

SOLVERS = ("auto", "scip", "dynamic")
"""Names that :func:`solve` takes."""

FASTEST_DYNAMIC = 18
"""Variables of a component up to which dynamic programming surely takes a fraction of a second."""

EFFORT = 2 * 10**7
"""Candidates that the search for a first incumbent looks at, a tenth of a second or two."""

Start = Result | Sequence[Sequence[int]]


def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    start: Start | None = None,
    seed: int = 0,
    on_event: OnEvent | None = None,
) -> Result:
    """Choose one candidate parent set for each variable, acyclic and of maximal total score.

    Parameters
    ----------
    problem
        Candidates, constraints and choices.
    solver
        ``scip`` (branch and cut, any size), ``dynamic`` (dynamic programming, no choices, at most
        22 variables that may form cycles with each other) or ``auto``, which takes for each piece
        of the problem the one that is faster; the result's message says which and why.
    time_limit
        Seconds after which the best selection so far is returned with its bound.
    gap
        Relative gap ``(bound - score) / |score|`` at which a selection counts as optimal.
    start
        A selection to begin with: the parents of each variable, or an earlier result. Its order
        counts: parents that are no candidate, or not the best ones, are replaced.
    seed
        Seed of all random decisions; the same seed gives the same answer.
    on_event
        Called with an :class:`Event` when score or bound improve, and at least twice a second
        while SCIP or a block of dynamic programming lets us.

    Returns
    -------
    Result
        Checked by :meth:`Result.check`. Its status is ``optimal`` when proven, ``feasible`` at the
        time limit, ``interrupted`` after Ctrl-C, and ``infeasible`` with a message that names the
        constraints when they exclude every network. A proof holds up to floating point: ``1e-6``
        of the score.

    Raises
    ------
    OptionError
        When an option is wrong, when ``dynamic`` is asked to solve a problem with choices, or when
        the start is no network.
    TooLargeError
        When the problem is too large for ``dynamic``.
    SolverError, CheckError
        When a solver fails, or its answer does not stand the check.

    Examples
    --------
    >>> problem = Problem.from_candidates(
    ...     ["rain", "wet"], [{(): -5.0, (1,): -3.0}, {(): -7.0, (0,): -4.0}]
    ... )
    >>> result = solve(problem)
    >>> result.status, result.score, result.parents
    ('optimal', -9.0, ((), (0,)))
    """
    _check_options(problem, solver, time_limit, gap, seed)
    if problem.overall_constraints:
        return solve_constrained(
            problem,
            solve,
            solver=solver,
            time_limit=time_limit,
            gap=gap,
            start=start,
            seed=seed,
            on_event=on_event,
        )
    try:
        problem.require_feasible()
    except InfeasibleError as error:
        return _infeasible(solver, str(error), Progress(problem, (), None, None))
    components = split(problem)
    progress = Progress(problem, components, time_limit, on_event)
    plan = _plan(components, solver)
    beginning = _beginning(problem, start)
    status: Status = "optimal"
    try:
        _find_incumbents(progress, plan, beginning, seed)
        status = _prove(progress, plan, gap, seed)
    except OutOfTime:
        status = "feasible"
    except KeyboardInterrupt:
        status = "interrupted"
    if status == "infeasible":
        return _infeasible(solver, "no acyclic selection agrees on the values it reads", progress)
    result = _answer(progress, status, plan, solver, gap, time_limit)
    result.check(problem)
    return result


def _check_options(
    problem: Problem, solver: str, time_limit: float | None, gap: float, seed: int
) -> None:
    if solver not in SOLVERS:
        raise OptionError(f"there is no solver {solver!r}{suggestion(solver, SOLVERS)}")
    if time_limit is not None and not time_limit >= 0:
        raise OptionError(f"time_limit must be seconds of at least 0, not {time_limit!r}")
    if not (isfinite(gap) and gap >= 0):
        raise OptionError(f"gap must be a finite number of at least 0, not {gap!r}")
    if seed < 0:
        raise OptionError(f"seed must be at least 0, not {seed!r}")
    if solver == "dynamic" and len(problem.options):
        raise OptionError(
            f"dynamic programming cannot keep track of the problem's {len(problem.options)} "
            "choices: use solver='scip'"
        )


def _plan(components: Sequence[Component], solver: str) -> list[str]:
    """Say how each component will be solved."""
    return [_method(component, solver) for component in components]


def _method(component: Component, solver: str) -> str:
    if component.n_variables == 1 and not len(component.choices):
        return "single"
    if solver == "dynamic":
        dynamic.refuse_if_too_large(component)
    if solver != "auto":
        return solver
    small = component.n_variables <= FASTEST_DYNAMIC and not len(component.choices)
    return "dynamic" if small else "scip"


def _beginning(
    problem: Problem, start: Start | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return each variable's position in the start's order, and the start's choice values."""
    values = np.zeros(len(problem.options), np.int64)
    if isinstance(start, Result):
        if start.parents is None:
            return None
        if len(start.values) == len(values):
            values[:] = start.values
        start = start.parents
    if start is None:
        return None
    n = problem.n_variables
    if len(start) != n or any(not 0 <= p < n for parents in start for p in parents):
        raise OptionError(f"the start must give the parents of {n} variables as indices below {n}")
    if not ((values >= 0) & (values < problem.options)).all():
        raise OptionError("the start gives a choice a value that the choice does not have")
    order = np.array(topological_order(tuple(tuple(parents) for parents in start)), np.int64)
    return np.argsort(order), values


def _find_incumbents(
    progress: Progress,
    plan: Sequence[str],
    beginning: tuple[NDArray[np.int64], NDArray[np.int64]] | None,
    seed: int,
) -> None:
    """Give every component a first selection, and those left to SCIP a good one."""
    for k, (component, method) in enumerate(zip(progress.components, plan, strict=True)):
        if method == "single":
            progress.improve(k, component.first[:1].copy())
            continue
        search = OrderSearch(component, np.random.default_rng(seed))
        shakes = 100 * component.n_variables if method == "scip" else 0
        for order, values in _first_orders(search, beginning):
            found = search.improve(order, values, EFFORT, shakes)
            if found is not None:
                progress.improve(k, *found)
            progress.pause()


def _first_orders(
    search: OrderSearch, beginning: tuple[NDArray[np.int64], NDArray[np.int64]] | None
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    component = search.component
    values = np.zeros(len(component.options), np.int64)
    orders = [(search.greedy_order(values, np.zeros(component.n_candidates)), values)]
    if beginning is not None:
        position, start_values = beginning
        order = np.argsort(position[component.variables])
        orders.insert(0, (order, start_values[component.choices]))
    return orders


def _prove(progress: Progress, plan: Sequence[str], gap: float, seed: int) -> Status:
    """Solve the components in turn; stop at the first that is not solved."""
    for k, method in enumerate(plan):
        if method == "scip":
            status = solve_component(progress, k, allowance=_allowance(progress, gap), seed=seed)
            if status != "optimal":
                return status
        elif method == "dynamic":
            component = progress.components[k]
            chosen = dynamic.best_selection(component, progress.pause)
            assert chosen is not None, "an incumbent exists"
            progress.improve(k, chosen)
            progress.prove(k, progress.scores[k], 1 << component.n_variables)
        else:
            progress.prove(k, progress.scores[k])
    return "optimal"


def _allowance(progress: Progress, gap: float) -> float:
    """Return how far below its bound the next component may stay."""
    if progress.score == -inf:
        return 0.0
    used = sum(
        bound - score
        for bound, score, proven in zip(
            progress.bounds, progress.scores, progress.closed, strict=True
        )
        if proven
    )
    return max(0.0, 0.999 * gap * abs(progress.score) - used)


def _answer(
    progress: Progress,
    status: Status,
    plan: Sequence[str],
    solver: str,
    gap: float,
    time_limit: float | None,
) -> Result:
    progress.finish()
    used = sorted(set(plan) - {"single"})
    return Result(
        parents=progress.parents,
        score=progress.score,
        bound=progress.bound,
        status=status,
        solver="+".join(used) or solver,
        seconds=progress.seconds,
        nodes=sum(progress.nodes),
        values=tuple(progress.values.tolist()),
        trace=tuple(progress.trace),
        gap_limit=gap,
        message=_message(progress, status, plan, solver, time_limit),
    )


def _message(
    progress: Progress,
    status: Status,
    plan: Sequence[str],
    solver: str,
    time_limit: float | None,
) -> str:
    said = []
    if status == "feasible":
        said.append(f"the time limit of {time_limit:g} s was reached")
    if status == "interrupted":
        said.append("interrupted")
    if status in ("feasible", "interrupted") and progress.parents is None:
        said.append("nothing was found yet")
    if solver == "auto":
        said += _explanation(progress.components, plan)
    return "; ".join(said)


def _explanation(components: Sequence[Component], plan: Sequence[str]) -> list[str]:
    """Say which solver took which pieces, and why."""
    said = []
    for method, why in (
        ("dynamic", f"at most {FASTEST_DYNAMIC} variables that may form cycles with each other"),
        ("scip", f"more than {FASTEST_DYNAMIC} such variables, or choices"),
    ):
        sizes = [c.n_variables for c, m in zip(components, plan, strict=True) if m == method]
        if sizes:
            told = ", ".join(map(str, sizes[:5])) + (", ..." if len(sizes) > 5 else "")
            pieces = "a piece" if len(sizes) == 1 else f"{len(sizes)} pieces"
            said.append(f"{method} took {pieces} of {told} variables ({why})")
    return said or ["no cycle is possible: every variable takes its best candidate"]


def _infeasible(solver: str, message: str, progress: Progress) -> Result:
    return Result(
        parents=None,
        score=-inf,
        bound=-inf,
        status="infeasible",
        solver=solver,
        seconds=progress.seconds,
        message=message,
    )
