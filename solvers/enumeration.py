"""The k best networks, the k best equivalence classes, and all within a factor of the best.

One branch and cut meets them all: a network that it meets is noted and excluded by an inequality,
a class by one of its adjacencies and v-structures (:mod:`exactlearn.graphs.equivalence`), so that
its other members are never met. Whatever scores no more than the k-th best one noted so far is
cut off.

The answer is over the candidates of the problem. Where dominated parent sets were dropped from
these, networks that have them are not counted, although they may be among the best.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import combinations
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn._runtime.display import Displayed
from exactlearn._runtime.tolerance import TOLERANCE, rounding
from exactlearn.errors import OptionError, as_written
from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.partially_directed import PartiallyDirectedGraph, v_structures

from .candidate_table import CandidateTable, Parents, Row, neighbours, with_implied_arcs
from .constrained import Demands, branch_and_cut, near
from .constraints import Condition, ForbiddenAdjacency
from .problem import Problem
from .result import Result, Status
from .root import cluster_multipliers
from .select import solve
from .strategy import COMPONENT_SOLVERS

SLACK = 1e-4
"""How far below a factor's least score networks are met: SCIP may leave out those at its limit."""


class ScoredNetwork(NamedTuple):
    """A network and its score; of an equivalence class, its best member."""

    parents: Parents
    score: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Enumeration(Displayed, shown="status networks best bound seconds"):
    """Networks, or classes, in the order of their scores.

    Parameters
    ----------
    networks
        What was found, the best first; equal scores in the order of the parents. Where a limit
        came before the first one was proven to be the best, the best one known.
    best
        The result of looking for the best one only.
    status
        ``optimal`` when all that was wanted is proven to be there, ``feasible`` after a limit or
        where a gap was allowed and stayed, ``interrupted`` after Ctrl-C, ``infeasible`` when no
        network satisfies the constraints.
    bound
        No other network (or class) of the candidates scores more; ``-inf`` when there is none.
    seconds
        Wall time.
    nodes
        Nodes of the search trees.
    """

    networks: tuple[ScoredNetwork, ...]
    best: Result
    status: Status
    bound: float
    seconds: float
    nodes: int

    @property
    def complete(self) -> bool:
        """Whether all that was wanted is proven to be there."""
        return self.status in ("optimal", "infeasible")

    @property
    def ties(self) -> int:
        """Number of those found that have the best score, up to 1e-6 nats and rounding."""
        best = self.networks[0].score
        threshold = best - TOLERANCE - rounding(best, best)
        return sum(network.score >= threshold for network in self.networks)


@checked_arguments()
def enumerate_networks(
    problem: Problem,
    *,
    k: int | None = None,
    factor: float | None = None,
    classes: bool = False,
    solver: str = "auto",
    time_limit: float | None = None,
    on_event: OnEvent | None = None,
    **options: Any,
) -> Enumeration:
    """Return the best networks, or Markov equivalence classes, over the candidates of a problem.

    Parameters
    ----------
    problem
        A problem, with any constraints.
    k
        How many.
    factor
        All whose probability is at least that of the best one divided by this: scores are
        logarithms. 1 gives all networks that tie for the best score.
    classes
        Return the best equivalence classes, each by its best network over the candidates.
        Constraints hold for the networks that are returned, not for all members of their classes.
    solver, time_limit, on_event, options
        As in :func:`exactlearn.solvers.solve`; the solver, which must be exact, finds the best one.
        A gap is allowed for a single network only: that of several, and of classes, is always 0.

    Raises
    ------
    OptionError
        When neither ``k`` nor ``factor`` is given, or one is none.

    Examples
    --------
    >>> problem = Problem.from_candidates("ab", [{(): -2.0, (1,): -1.0}, {(): -2.0, (0,): -1.5}])
    >>> [(found.parents, found.score) for found in enumerate_networks(problem, k=2).networks]
    [(((1,), ()), -3.0), (((), (0,)), -3.5)]
    >>> len(enumerate_networks(problem, k=2, classes=True).networks)
    2
    """
    _check(k, factor, solver)
    is_single = k == 1 and not classes
    if not is_single:
        options["gap"] = 0.0
    with SearchControl(time_limit, on_event).running() as control:
        # the best network first: it may be all that is asked for
        best = solve(
            problem,
            solver=solver,
            time_limit=control.remaining,
            on_event=on_event,
            **options,
        )
        status = best.status
        if is_single and status == "optimal" and best.gap > 0.0:
            status = "feasible"
        if best.parents is None:
            return _answer(control, best, [], status, best.bound, 0)
        if is_single or status != "optimal":
            first = [ScoredNetwork(best.parents, best.score)]
            return _answer(control, best, first, status, best.bound, 0)
        # candidates that no network above the floor has leave
        listing = Listing(problem, best.parents, control, k, factor, classes=classes)
        multipliers = cluster_multipliers(listing.table.problem, control)
        listing.table = near(listing.table, multipliers, listing.floor, best.parents)
        # branch and cut meets all the others
        master, progress = branch_and_cut(
            listing,
            best.parents,
            control,
            multipliers,
            best.bound - listing.offset,
            listing.offset,
            **options,
        )
        # what is proven to be the best so far
        bound = listing.offset + (
            listing.bound if progress.states[0].closed else master.bound
        )
        networks = listing.ranked
        status = control.status
        if progress.states[0].closed:
            status = "optimal"
        else:
            proven = [network for network in networks if network.score >= bound]
            networks = proven or networks[:1]
        return _answer(control, best, networks, status, bound, progress.states[0].nodes)


def _check(k: int | None, factor: float | None, solver: str) -> None:
    if k is None and factor is None:
        raise OptionError(
            "say how many networks are wanted (k), or within which factor (factor)"
        )
    if solver in COMPONENT_SOLVERS and not COMPONENT_SOLVERS[solver].is_exact:
        raise OptionError(
            f"the best networks cannot be distinguished from others by {solver!r}, which proves "
            f"nothing but a bound: use {as_written('solver', 'auto')}"
        )


def _answer(
    control: SearchControl,
    best: Result,
    networks: Sequence[ScoredNetwork],
    status: Status,
    bound: float,
    nodes: int,
) -> Enumeration:
    return Enumeration(
        networks=tuple(networks),
        best=best,
        status=status,
        bound=bound,
        seconds=control.seconds,
        nodes=best.nodes + nodes,
    )


class Listing(Demands):
    """Notes and excludes all networks, or classes, that branch and cut meets.

    Parameters
    ----------
    problem, best
        The problem, and its best network.
    control
        Is told of each network.
    k, factor, classes
        As in :func:`enumerate_networks`.

    Attributes
    ----------
    offset
        What the scores of the table are short of: they are relative.
    """

    def __init__(
        self,
        problem: Problem,
        best: Parents,
        control: SearchControl,
        k: int | None,
        factor: float | None,
        *,
        classes: bool,
    ) -> None:
        implied = with_implied_arcs(problem)
        assert implied is not None
        super().__init__(problem, CandidateTable.by_score(implied.relative))
        self.offset = implied.offset
        self.k = k
        self.control = control
        self.classes = classes
        self.bound = self.least = -inf
        if factor is not None:
            self.bound = self.least = (
                self.table.problem.total(best) - log(factor) - TOLERANCE
            )
        self.floor = self.least - SLACK
        self._known: dict[Hashable, ScoredNetwork] = {}
        self._met: set[Hashable] = set()
        self._learn(best)

    @property
    def ranked(self) -> list[ScoredNetwork]:
        """The best ones known, as many as are wanted."""
        scored = [
            network for network in self._known.values() if network.score > self.least
        ]
        ranked = sorted(scored, key=lambda network: (-network.score, network.parents))
        return [
            ScoredNetwork(network.parents, self.problem.total(network.parents))
            for network in ranked[: self.k]
        ]

    def cut(self, selection: NDArray[np.int64]) -> Row | None:
        """Return an inequality that excludes what was met: it violates a constraint or is known."""
        row = super().cut(selection)
        if row is not None:
            return row
        parents = self.table.problem.parent_sets(selection)
        self._learn(parents)
        return self.table.row(
            _other_class(parents) if self.classes else _other_network(parents)
        )

    def repaired(self, selection: NDArray[np.int64]) -> None:
        """Return nothing: no network is better than those noted."""

    def _learn(self, parents: Parents) -> None:
        """Take note of a network and its neighbours."""
        kind = self._kind(parents)
        if kind in self._met:
            return
        self._met.add(kind)
        self._note(self._best_member(parents) if self.classes else parents)
        # its neighbours raise the floor early
        for parents_near, _ in neighbours(self.table, parents, self.floor, self.k or 0):
            if not self.problem.violations(parents_near):
                self._note(parents_near)
        self._raise()
        self.control.record()

    def _kind(self, parents: Parents) -> Hashable:
        return cpdag(parents) if self.classes else parents

    def _note(self, parents: Parents) -> None:
        kind = self._kind(parents)
        score = self.table.problem.total(parents)
        if kind not in self._known or score > self._known[kind].score:
            self._known[kind] = ScoredNetwork(parents, score)

    def _raise(self) -> None:
        """Cut off what scores no more than the k-th best one."""
        if self.k is not None and len(self._known) >= self.k:
            best = nlargest(self.k, (network.score for network in self._known.values()))
            self.floor = self.bound = max(self.least, best[-1])

    def _best_member(self, parents: Parents) -> Parents:
        """Return the best network of a class: a bonus for each arc ensures that all are there."""
        table = self.table
        keep = np.ones(self.table.problem.n_candidates, np.bool_)
        for case in _other_class(parents):
            if isinstance(case, Condition):
                keep[table.rows(case.variable)] &= ~table.holds(case)
        part = replace(table.problem.select(keep), constraints=self.overall)
        bonus = 1.0 + np.ptp(part.scores) * part.n_variables
        result = solve(
            replace(part, scores=part.scores + bonus * np.diff(part.member_first))
        )
        return (
            result.parents if result.status == "optimal" and result.parents else parents
        )


def _other_network(parents: Parents) -> list[Condition | ForbiddenAdjacency]:
    """Return the cases of all networks but one: some variable has other parents."""
    return [
        Condition(v, "other", frozenset(family)) for v, family in enumerate(parents)
    ]


def _other_class(parents: Parents) -> list[Condition | ForbiddenAdjacency]:
    """Return the cases of all networks that are not equivalent to one.

    Some variable has a parent that it is not adjacent to here; or some adjacency is missing; or,
    with the same adjacencies, some v-structure is new or missing.
    """
    graph = PartiallyDirectedGraph.of(parents)
    structures = v_structures(parents)
    links = graph.skeleton
    variables = frozenset(range(len(parents)))
    # a parent that is not adjacent here
    strangers = [variables - around - {v} for v, around in enumerate(graph.adjacencies)]
    cases: list[Condition | ForbiddenAdjacency] = [
        Condition(v, "any", unrelated) for v, unrelated in enumerate(strangers)
    ]
    # a missing adjacency
    cases += [ForbiddenAdjacency(a, b) for a, b in sorted(links)]
    for child, around in enumerate(graph.adjacencies):
        # a v-structure that is new, or missing
        for a, b in combinations(sorted(around), 2):
            if (a, b) not in links:
                collides = (a, child, b) in structures
                case = Condition(child, "all", frozenset({a, b}))
                cases.append(case.opposite if collides else case)
    return cases
