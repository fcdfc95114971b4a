"""The one way to solve a problem: checks, pieces, incumbent, solver, check of the answer."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exactlearn._runtime.argument_kinds import as_text, instance_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.checkpoint import Checkpoint
from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn._runtime.variable_arguments import parents_by_index
from exactlearn.errors import InfeasibleError, OptionError
from exactlearn.graphs.dag import topological_order

from .candidate_table import Parents
from .component_solver import DEFAULTS, Progress, SolverOptions, SolverParameters
from .components import split
from .constrained import solve_constrained
from .iterated_local_search import INCUMBENT_SHARE, OrderSearch, search_budget
from .ordering import positions
from .problem import Problem
from .result import Result, Status, infeasible_result
from .strategy import COMPONENT_SOLVERS, Strategy, explanation

if TYPE_CHECKING:
    from .certificate import Certificate

SOLVERS = ("auto", *COMPONENT_SOLVERS)
"""Names that :func:`solve` takes, besides those registered later."""

Start = Result | Sequence[Sequence[int]]


def _as_start(value: Any, name: str) -> Any:
    """Return a start as it is, or refuse what is neither a result nor parents by index."""
    if isinstance(value, Result):
        return value
    return parents_by_index(value, name, None)


@checked_arguments(
    parameters=instance_of(SolverParameters, "SolverParameters", "leave them out"),
    scores=as_text,
    start=_as_start,
)
def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    start: Start | None = None,
    seed: int = 0,
    on_event: OnEvent | None = None,
    threads: int | None = None,
    memory_limit: int | None = None,
    certify: bool = False,
    scores: str | None = None,
    parameters: SolverParameters = DEFAULTS,
    checkpoint: str | Path | None = None,
) -> Result:
    """Choose one candidate parent set for each variable, acyclic and of maximal total score.

    Parameters
    ----------
    problem
        Candidates and constraints.
    solver
        ``scip`` (branch and cut, any size), ``order-graph`` (shortest path among the sets of
        variables placed, at most 64 variables that may form cycles with each other), ``dynamic``
        (dynamic programming, at most 22 such variables), ``ordering``
        (local search among the orders of the variables, thousands of them: proves a bound but
        seldom an optimum, and without a time limit ends by itself), ``root`` (the linear relaxation
        with cluster cuts: a bound, often an optimum, in little time) or ``auto``, which
        takes for each piece of the problem what is fastest; the result's message says which and
        why.
    time_limit
        Seconds after which the best selection so far is returned with its bound.
    gap
        Difference of bound and score, in nats, at which a selection counts as optimal. With 2.3 no
        network is more than ten times as probable as the one returned, where scores are logarithms
        of probabilities.
    start
        A selection to begin with: the parents of each variable, or an earlier result. Its order
        counts: parents that are no candidate, or not the best ones, are replaced. Under constraints
        on the whole network, one that satisfies them is kept until a better one is found.
    seed
        Seed of all random decisions; the same seed gives the same answer.
    on_event
        Called with an :class:`Event` when score or bound improve, and at least twice a second
        while SCIP or a block of dynamic programming lets us.
    threads
        Threads of ``ordering`` and of the order graph's pattern databases; as many as there are
        cores if not given.
    memory_limit
        Bytes that the states of the order graph may take; half of the memory that is free when its
        search begins if not given.
    certify
        Whether to build a certificate of the bound, which a short program verifies with exact
        fractions (:mod:`exactlearn.solvers.certificate`). It is a proof of its own, by
        cluster inequalities, built when the solver is done; of a time limit it gets half. The time
        limit or Ctrl-C may leave it unfinished (:attr:`Result.is_certified`); the status is that of
        the search all the same.
    scores
        Text of the ``.jkl`` file that the problem was read from, for the certificate: its decimals
        may be more exact than floating point.
    parameters
        Tuning constants; the defaults serve well.
    checkpoint
        Folder that keeps the results of parts that took over a second: the best selection of a
        component that is proven, and the relaxation of one, finished or ended by a limit. The same
        search goes on with them when it is called again, also after a kill; a search tree or an
        order graph that was not finished begins anew.

    Returns
    -------
    Result
        Checked by :meth:`Result.check`. Its status is ``optimal`` when proven, ``feasible`` at the
        time limit, ``interrupted`` after Ctrl-C before the proof, and ``infeasible`` with a message
        that names the constraints when they exclude every network. A proof holds up to 1e-6 nats,
        and what rounding of the totals amounts to (:mod:`exactlearn._runtime.tolerance`).

    Raises
    ------
    OptionError
        When an option is wrong, or the start is no network.
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
    _check_options(problem, solver, time_limit, gap, seed, certify)
    start_parents = _parents_of(problem, start)
    if problem.overall_constraints:
        return solve_constrained(
            problem,
            solve,
            solver=solver,
            time_limit=time_limit,
            gap=gap,
            start=start_parents,
            seed=seed,
            on_event=on_event,
            threads=threads,
            memory_limit=memory_limit,
            parameters=parameters,
            checkpoint=checkpoint,
        )
    try:
        problem.require_feasible()
    except InfeasibleError as error:
        return infeasible_result(solver, str(error))
    control = SearchControl(
        time_limit, on_event, checkpoint=Checkpoint(checkpoint).folder
    )
    relative = problem.relative
    components = split(relative)
    if solver != "auto":
        for component in components:
            COMPONENT_SOLVERS[solver].require_suitable(component)
    with control.running():
        control.stage(
            "choosing among %d parent sets of %d variables",
            problem.n_candidates,
            len(problem.names),
        )
        solving = control.part(0.5) if certify else control
        strategy = Strategy(
            progress=Progress(relative, components, solving, problem.offset),
            solver=solver,
            gap=gap,
            options=SolverOptions(
                **vars(parameters),
                seed=seed,
                threads=threads,
                memory_limit=memory_limit,
                explain=solver != "auto",
            ),
        )
        # incumbents first, then the proof of each component
        _find_incumbents(strategy, start_parents)
        status = strategy.prove()
        if status == "infeasible":
            return infeasible_result(
                solver, "no acyclic selection exists", control.seconds
            )
        certificate = (
            _certificate(problem, strategy, control, scores) if certify else None
        )
        result = _answer(strategy, status, control, time_limit, certificate)
        control.stage(
            "%s: score %.10g, bound %.10g", status, result.score, result.bound
        )
    result.check(problem)
    return result


def _check_options(
    problem: Problem,
    solver: str,
    time_limit: float | None,
    gap: float,
    seed: int,
    certify: bool,
) -> None:
    if certify and problem.overall_constraints:
        raise OptionError(
            "a certificate covers parent sets and their arcs only, no constraints on the whole "
            "network: solve without a certificate"
        )
    if certify and "" in problem.names:
        raise OptionError(
            "a certificate needs a name for every variable, but one has none"
        )


def _parents_of(problem: Problem, start: Start | None) -> Parents | None:
    """Return the parents of each variable in the start; raise where it is no network."""
    listed = start.parents if isinstance(start, Result) else start
    if listed is None:
        return None
    n = problem.n_variables
    if len(listed) != n or any(not 0 <= p < n for parents in listed for p in parents):
        raise OptionError(
            f"the start must give the parents of {n} variables as indices below {n}"
        )
    start_parents = tuple(tuple(sorted(parents)) for parents in listed)
    topological_order(start_parents)  # which refuses a cycle
    return start_parents


def _find_incumbents(strategy: Strategy, start: Parents | None) -> None:
    """Give every component a first selection, and those hard to prove a good one."""
    progress = strategy.progress
    tasks = []
    position = None if start is None else positions(start)
    for k, state in enumerate(progress.states):
        component = state.component
        if strategy.method(k) == "single":
            progress.improve(k, component.first[:1].copy())
            continue
        if strategy.is_instant(k):
            strategy.solve(strategy.method(k), k)
            continue
        search = OrderSearch(component, np.random.default_rng(strategy.options.seed))
        orders = [search.greedy_order(np.zeros(component.n_candidates))]
        if position is not None:
            orders.insert(0, np.argsort(position[component.variables]))
        for order in orders:  # at once, so that there is a selection whatever the limit
            progress.improve(k, search.improve(order, 0, 0))
        if strategy.method(k) != "dynamic":  # which proves the best one soon
            tasks += [(k, search, order) for order in orders]
    # then a part of the time for better ones
    control = progress.control.part(INCUMBENT_SHARE)
    for k, search, order in tasks:
        if control.goes_on():
            selection = search.improve(order, *search_budget(search.component), control)
            progress.improve(k, selection)


def _certificate(
    problem: Problem, strategy: Strategy, control: SearchControl, scores: str | None
) -> "Certificate | None":
    """Return the proof as far as it is built when the search is over."""
    progress = strategy.progress
    if control.is_stopped:
        progress.note("certificate unfinished: it was not begun")
    if control.is_stopped or progress.parents is None:
        return None
    from . import prover  # takes long to import

    try:
        certificate = prover.certify(
            problem,
            progress.parents,
            scores=scores,
            clusters=strategy.clusters,
            gap=strategy.gap,
            control=control,
        )
    except KeyboardInterrupt:  # the second Ctrl-C
        progress.note("certificate unfinished: it was given up")
        return None
    if not certificate.is_within(strategy.gap):
        progress.note(
            f"certificate unfinished: it proves the bound {certificate.bound}"
        )
    return certificate


def _answer(
    strategy: Strategy,
    status: Status,
    control: SearchControl,
    time_limit: float | None,
    certificate: "Certificate | None",
) -> Result:
    progress = strategy.progress
    progress.control.record()
    return Result(
        names=progress.problem.names,
        parents=progress.parents,
        score=progress.score,
        bound=progress.bound,
        status=status,
        solver="+".join(sorted(strategy.used)) or strategy.solver,
        seconds=control.seconds,
        nodes=progress.nodes,
        trace=tuple(progress.control.trace),
        gap_limit=strategy.gap,
        message=_message(strategy, status),
        certificate=certificate,
    )


def _message(strategy: Strategy, status: Status) -> str:
    progress = strategy.progress
    remarks = []
    if status == "feasible" and progress.control.left == 0:
        remarks.append("the time limit was reached")
    if status == "interrupted":
        remarks.append("interrupted")
    if status in ("feasible", "interrupted") and progress.parents is None:
        remarks.append("nothing was found yet")
    remarks += progress.notes
    if not progress.problem.complete:
        remarks.append(
            "the answer is about the candidates: not all parent sets were scored"
        )
    if strategy.solver == "auto" and (strategy.used or status == "optimal"):
        remarks += explanation(strategy.used)
    return "; ".join(remarks)
