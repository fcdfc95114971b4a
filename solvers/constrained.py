"""The best network under constraints that concern the whole network.

Constraints on single parent sets only drop candidates. Of the others, each network that violates
one yields a clause (:mod:`exactlearn.solvers.constraints`), which is a linear inequality: the
values of the candidates that satisfy its conditions add up to one or more. Branch and cut begins
with those of the empty network, and adds the others when a selection breaks them. The network that
is best without the constraints, by any solver, gives a first bound, and changed until it satisfies
them a first incumbent.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, Event, OnEvent, SearchControl
from exactlearn._runtime.tolerance import TOLERANCE

from .candidate_table import (
    CandidateTable,
    Parents,
    Row,
    repaired,
    simple_network,
    with_implied_arcs,
)
from .clusters import MIN_VIOLATION
from .component_solver import (
    DEFAULTS,
    ComponentControl,
    Progress,
    SolverOptions,
)
from .components import Component
from .constraints import Clause, minimal_conflict
from .multipliers import Multipliers
from .problem import Problem, Requirement
from .result import Result, infeasible_result
from .root import cluster_multipliers
from .strategy import COMPONENT_SOLVERS

if TYPE_CHECKING:
    from .branch_and_cut import Master

Solver = Callable[..., Result]
"""Any function that solves a problem without constraints as ``solve`` of this package does."""

CONFLICT = 2.0
"""Seconds after which constraints in conflict are named though fewer might be."""

THRESHOLDS = (0.5, 0.2, 0.05, 1e-6)
"""Values above which arcs count in the search for violated inequalities."""

REPAIRS = 100
"""Parent sets that are changed to make a network satisfy the constraints."""


class Demands:
    """The constraints on selections, besides acyclicity, in branch and cut.

    Parameters
    ----------
    problem
        The problem with its constraints.
    table
        The candidates; all satisfy what can be judged one by one.

    Attributes
    ----------
    floor
        Selections that score no more are not wanted.
    """

    floor = -inf

    def __init__(self, problem: Problem, table: CandidateTable) -> None:
        self.problem = problem
        self.table = table
        self.overall = problem.overall_constraints

    @property
    def rows(self) -> list[Row]:
        """Inequalities to begin with: those that the empty network violates."""
        nothing: Parents = ((),) * self.problem.n_variables
        clauses = (c.clause(nothing) for c in self.overall)
        return [self.table.row(clause) for clause in clauses if clause is not None]

    def clause(self, parents: Parents) -> Clause | None:
        """Return the shortest clause of the constraints that a network violates."""
        clauses = [c.clause(parents) for c in self.overall]
        return min((c for c in clauses if c is not None), key=len, default=None)

    def cut(self, selection: NDArray[np.int64]) -> Row | None:
        """Return an inequality that excludes an acyclic selection, if it is to be excluded."""
        clause = self.clause(self.table.problem.parent_sets(selection))
        return None if clause is None else self.table.row(clause)

    def violated(self, x: NDArray[np.float64], arcs: NDArray[np.float64]) -> list[Row]:
        """Return inequalities of the constraints that a fractional selection violates.

        Those of the graphs of all arcs that are chosen enough.

        Parameters
        ----------
        x
            Value of each candidate, shape (m,).
        arcs
            Value of each arc [parent, child], shape (n, n).
        """
        rows = []
        for threshold in THRESHOLDS if self.overall else ():
            # the graph of the arcs above a threshold, cyclic or not
            columns = (arcs > threshold).T
            graph = tuple(tuple(np.flatnonzero(column).tolist()) for column in columns)
            clauses = (c.clause(graph) for c in self.overall)
            rows += [self.table.row(clause) for clause in clauses if clause is not None]
        return [
            row
            for row in rows
            if row.weights @ x[row.candidates] < row.lower - MIN_VIOLATION
        ]

    def repaired(self, selection: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return a selection near another one that satisfies all constraints, if one is found."""
        network = repaired(
            self.table, self.table.problem.parent_sets(selection), self.clause, REPAIRS
        )
        return None if network is None else self.table.problem.selection(network)


def branch_and_cut(
    demands: Demands,
    incumbent: Parents | None,
    control: SearchControl,
    multipliers: Multipliers | None = None,
    bound: float = inf,
    offset: float = 0.0,
    **options: Any,
) -> tuple["Master", Progress]:
    """Solve the integer program of all candidates; return it, and what was found.

    Parameters
    ----------
    demands
        What selections must satisfy, and the candidates.
    incumbent
        A network that satisfies it, if one is known.
    control
        The control of the whole search.
    multipliers
        Clusters to begin with.
    bound
        No selection scores more.
    offset
        What the scores of a relative problem are short of, in reports.
    options
        As :func:`exactlearn.solvers.solve` takes them.
    """
    from .branch_and_cut import Master  # SCIP takes long to import

    table = demands.table
    problem = demands.table.problem
    component = Component(
        variables=np.arange(problem.n_variables),
        first=problem.first,
        scores=problem.scores,
        parents=table.bits,
        candidate=np.arange(problem.n_candidates),
    )
    # all variables are one component: constraints tie them together
    progress = Progress(problem, [component], control, offset)
    progress.prove(0, bound, closed=False)
    if incumbent is not None:
        progress.improve(0, table.problem.selection(incumbent))
    parameters = vars(options.pop("parameters", DEFAULTS))
    kept = {
        name: value
        for name, value in options.items()
        if name in ("absolute_gap", "seed")
    }
    solver_options = SolverOptions(**parameters, **kept, multipliers=multipliers)
    inner = ComponentControl(progress, 0, solver_options)
    # the integer program
    master = Master(component, inner.incumbent, inner, demands)
    outcome = master.optimise()
    progress.prove(0, outcome.bound, outcome.nodes, closed=outcome.proven)
    return master, progress


def near(
    table: CandidateTable,
    multipliers: Multipliers,
    floor: float,
    network: Parents | None = None,
) -> CandidateTable:
    """Return the candidates that a network which scores more may have, and a network's own."""
    reach = multipliers.reach(table.problem)
    kept = reach > floor - TOLERANCE
    if network is not None:
        kept[table.problem.selection(network)] = True
    return CandidateTable(table.problem.select(kept))


def solve_constrained(
    problem: Problem,
    solve: Solver,
    *,
    solver: str = "auto",
    time_limit: float | None = None,
    gap: float = 0.0,
    start: Parents | None = None,
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
        As in :func:`exactlearn.solvers.solve`; the solver is that of the problem without
        constraints, which comes first.

    Returns
    -------
    Result
        As of :func:`exactlearn.solvers.solve`. When no network satisfies the constraints, the
        message names a smallest set of them that contradict each other.
    """
    with SearchControl(time_limit, on_event).running() as control:
        # arcs that follow from the constraints, or a contradiction
        implied = with_implied_arcs(problem)
        if implied is None:
            return _infeasible(problem, solver, control)
        # without the constraints on the whole network: a bound, and a network to repair
        table = CandidateTable.by_score(implied.relative)
        offset = implied.offset
        relaxed = _relaxed(
            table.problem,
            solve,
            control,
            offset,
            solver=solver,
            gap=gap,
            start=start,
            **options,
        )
        if relaxed.status == "infeasible":
            return _infeasible(problem, solver, control)
        network = _first_network(problem, table, (start, relaxed.parents))
        score = -inf if network is None else table.problem.total(network)
        bound = relaxed.bound
        nodes = relaxed.nodes
        is_proven = bound <= score + gap + TOLERANCE
        control.state = lambda: Event(
            control.seconds, offset + score, offset + bound, nodes, network
        )
        control.record()
        # with them: branch and cut
        is_heuristic = solver != "auto" and not COMPONENT_SOLVERS[solver].is_exact
        is_done = is_proven or (is_heuristic and network is not None)
        if not is_done and control.goes_on():
            multipliers = cluster_multipliers(table.problem, control, score)
            demands = Demands(problem, near(table, multipliers, score, network))
            options["absolute_gap"] = gap
            _, progress = branch_and_cut(
                demands, network, control, multipliers, bound, offset, **options
            )
            is_proven = progress.states[0].closed
            bound = progress.relative_bound
            network = progress.parents
            score = progress.relative_score
            nodes += progress.states[0].nodes
        if is_proven and network is None:
            return _infeasible(problem, solver, control, nodes)
        control.record()
    # the answer, which is checked against the constraints
    result = Result(
        names=problem.names,
        parents=network,
        score=offset + score,
        bound=offset + bound,
        status="optimal" if is_proven else control.status,
        solver=solver,
        seconds=control.seconds,
        nodes=nodes,
        trace=tuple(control.trace),
        message=_message(control, network, is_proven=is_proven),
        gap_limit=gap,
    )
    result.check(problem)
    return result


def _first_network(
    problem: Problem, table: CandidateTable, networks: Sequence[Parents | None]
) -> Parents | None:
    """Return the best of some networks that satisfies the constraints, repaired if need be.

    Where none does, it is one with arcs for required ancestors, if that is found.

    Parameters
    ----------
    problem, table
        The problem with its constraints, and its candidates.
    networks
        Those of other parent sets than candidates count as not given.
    """
    clause_of = Demands(problem, table).clause
    repairs: list[Parents] = []
    for parents in networks:
        if parents is None or table.problem.total(parents) == -inf:
            continue
        near_by = repaired(table, parents, clause_of, REPAIRS)
        if near_by is not None:
            repairs.append(near_by)
    return max(repairs, key=table.problem.total) if repairs else simple_network(problem)


def _relaxed(
    problem: Problem,
    solve: Solver,
    control: SearchControl,
    offset: float,
    **options: Any,
) -> Result:
    """Solve the relative problem without the constraints on the whole network."""

    def hear(event: Event) -> None:
        bound = offset + event.bound
        control.state = lambda: Event(control.seconds, -inf, bound, event.nodes, None)
        control.look()

    return solve(problem, time_limit=control.remaining, on_event=hear, **options)


def _message(
    control: SearchControl, network: Parents | None, *, is_proven: bool
) -> str:
    remarks = ["inequalities hold the constraints on the whole network"]
    if not is_proven and control.is_over:
        remarks.insert(
            0, "interrupted" if control.is_stopped else "the time limit was reached"
        )
    if network is None:
        remarks.append("nothing was found yet")
    return "; ".join(remarks)


def _infeasible(
    problem: Problem, solver: str, control: SearchControl, nodes: int = 0
) -> Result:
    return infeasible_result(solver, conflict(problem, control), control.seconds, nodes)


def conflict(problem: Problem, control: SearchControl = UNLIMITED) -> str:
    """Return the message that some constraints contradict each other.

    If there is time, none of them can be spared.

    Parameters
    ----------
    problem
        A problem without a solution.
    control
        Ends the search for a smaller conflict, which takes two seconds at most.
    """
    if not problem.constrained_by(()).is_feasible:
        return problem.constrained_by(()).conflict_message()
    control = SearchControl(CONFLICT, outer=control)
    requirements: Sequence[Requirement] = problem.requirements
    # a contradiction that implied arcs show is made small without a search
    if with_implied_arcs(problem) is None:
        requirements = minimal_conflict(
            requirements,
            lambda some: with_implied_arcs(problem.constrained_by(some)) is not None,
        )
    # the others are tested by searches, as long as there is time
    in_time = True

    def may_be_satisfied(some: Sequence[Requirement]) -> bool:
        nonlocal in_time
        answer = is_satisfiable(problem.constrained_by(some), control)
        in_time = in_time and answer is not None
        return answer is not False  # a constraint more does no harm

    message = problem.describe_conflict(
        minimal_conflict(requirements, may_be_satisfied)
    )
    return message if in_time else f"{message} (there was no time to name fewer)"


def is_satisfiable(problem: Problem, control: SearchControl = UNLIMITED) -> bool | None:
    """Return whether any network satisfies all constraints; ``None`` when the search ends first."""
    implied = with_implied_arcs(problem)
    if implied is None:
        return False
    if not problem.overall_constraints or simple_network(problem) is not None:
        return True
    if control.is_over:
        return None
    table = CandidateTable.by_score(
        replace(implied, scores=np.zeros(implied.n_candidates))
    )
    _, progress = branch_and_cut(Demands(problem, table), None, control.aside())
    return None if not progress.states[0].closed else progress.parents is not None
