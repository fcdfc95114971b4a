"""Best-first search over parts of the set of all networks, around any solver.

Each node is a part, described by conditions on single parent sets; a solver finds the best network
of the part. One that violates a constraint is excluded by branching on its clause (see
:mod:`exactlearn.solvers.constraints`); one that satisfies all is the best there is as soon as no
other part may hold a better one. Then the part can be taken apart once more, without that network,
for the next best (Lawler 1972, "A procedure for computing the k best solutions to discrete
optimization problems").

A part's bound is found without solving it (:mod:`exactlearn.solvers.candidate_table`), and a part
is solved over those candidates only that a network near the bound can have. If that holds no
network so good, the bound falls and the part waits for its turn with a wider window.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import Event, SearchControl

from ..candidate_table import (
    CandidateTable,
    Parents,
    Point,
    Pricing,
    arc_price,
    neighbours,
    repaired,
    total,
)
from ..component_solver import LEAST
from ..constraints import ArcTotal, Clause, Constraint
from ..implied_arcs import with_implied_arcs
from ..lp.multipliers import Multipliers
from ..lp.root import cluster_multipliers
from ..parameters import DEFAULTS
from ..problem import Problem
from ..result import TOLERANCE, Result, Status
from .subproblems import (
    NOTHING,
    Case,
    FoundNetwork,
    Node,
    between,
    parted,
    restrictions,
)

Solver = Callable[..., Result]
"""Any function that solves a problem without constraints as ``solve`` of this package does."""


@dataclass(kw_only=True)
class Partition:
    """The search.

    Parameters
    ----------
    problem
        What is solved; constraints are the problem's.
    solve
        Solves a problem without constraints.
    exclude
        Returns the cases of all networks other than one that was found, to go on after it; without
        it only the best network is sought.
    floor
        Networks that score no more than this are not wanted.
    first_only
        Any network that satisfies the constraints will do.
    control
        The control of the whole search, which reports its state.
    gap
        Relative gap that counts as none.
    on_network
        Called with the best network of a part, once it is proven.
    options
        Passed on to ``solve``.

    Attributes
    ----------
    ended
        Status of a search that ended before all that is wanted was found; ``None`` before.
    """

    problem: Problem
    solve: Solver
    exclude: Callable[[Parents], Sequence[Case]] | None = None
    floor: float = -inf
    first_only: bool = False
    control: SearchControl
    gap: float = 0.0
    start: Any = None
    on_network: Callable[[FoundNetwork], None] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    incumbent: FoundNetwork = field(default=NOTHING, init=False)
    nodes: int = field(default=0, init=False)
    solved: int = field(default=0, init=False)
    ended: Status | None = field(default=None, init=False)
    _climbed: FoundNetwork = field(default=NOTHING, init=False)
    _more: int = field(default=0, init=False)
    residual: float = field(default=-inf, init=False)

    def __post_init__(self) -> None:
        """Begin with the whole set as the only part, or with none when constraints contradict."""
        self.control.state = self._state
        self._parameters = self.options.get("parameters", DEFAULTS).partition
        implied = with_implied_arcs(self.problem)
        problem = implied or self.problem
        problem = problem.select(problem.allowed)
        bare = problem.constrained_by(())
        self._overall = self.problem.overall_constraints
        totals = [c for c in self._overall if isinstance(c, ArcTotal)]
        self._most = min((c.most for c in totals if c.most is not None), default=None)
        self._least = max((c.least for c in totals), default=0)
        self._table = CandidateTable.of(bare, Multipliers.none(bare.n_variables))
        self._priced = False
        self._first_window = inf
        self._serial = 0
        self._open: list[tuple[float, int, Node]] = []
        self._current: Node | None = None
        self._dive: Node | None = None
        if implied is not None:
            best = self._table.best(np.ones(bare.n_candidates, np.bool_))
            self._push(Node(self._table.bound(best)))

    @property
    def bound(self) -> float:
        """No wanted network that was not excluded yet scores more than this."""
        waiting = [self.residual]
        waiting += [-self._open[0][0]] if self._open else []
        waiting += [n.bound for n in (self._current, self._dive) if n is not None]
        return max(waiting)

    @property
    def table(self) -> CandidateTable:
        """The candidates that the constraints on single parent sets leave."""
        return self._table

    def advance(self) -> FoundNetwork | None:
        """Return the next best network, or ``None``: no wanted one is left, or the search ended.

        Between two calls, :meth:`go_on` must exclude the one that was returned.
        """
        while self.ended is None and (node := self._next()) is not None:
            self._current = node
            if node.best is not None and node.best.score > self.floor:
                return node.best
            if node.best is not None or self._is_unwanted(node.bound):
                self.residual = max(self.residual, node.bound)
            else:
                self._look(node)
            self._current = None
        return None

    def go_on(self) -> None:
        """Exclude the network that was returned last, to find the next one."""
        node = self._current
        assert node is not None
        assert node.best is not None
        assert node.best.parents is not None
        assert self.exclude is not None
        self._price(node, node.best.parents)
        self._branch(node, self.exclude(node.best.parents), node.best.parents)
        self._current = None

    def _next(self) -> Node | None:
        if self._dive is not None:
            node, self._dive = self._dive, None
            return node
        return heappop(self._open)[2] if self._open else None

    def _push(self, node: Node) -> None:
        self._serial += 1
        heappush(self._open, (-node.bound, self._serial, node))

    def _is_unwanted(self, bound: float) -> bool:
        wanted = max(self.floor, self._enough)
        return bound <= wanted + LEAST * max(1.0, abs(wanted))

    @property
    def _enough(self) -> float:
        """Bound at which the incumbent counts as optimal; none while others are wanted, too."""
        score = self.incumbent.score
        if self.exclude is not None or isinf(score):
            return -inf
        if self.first_only:
            return inf
        return score + self.gap * abs(score)

    def _look(self, node: Node) -> None:
        """Solve a part, and put back what is to be known of it."""
        self.nodes += 1
        if self.control.is_over:
            self._end(node, self.control.status)
            return
        self._climb()
        keep, extras = restrictions(self._table, node.steps)
        keep = self._table.limited(keep, self._least, self._most)
        node.bound = min(node.bound, self._table.bound(self._table.best(keep)))
        if node.bound == -inf or self._is_unwanted(node.bound):
            self.residual = max(self.residual, node.bound)
            return
        least = max(self.floor, self._enough)
        if least == -inf:
            least = node.bound - node.window
        near = keep if least == -inf else self._table.within(keep, least)
        self._solve(node, near, extras, least if (near != keep).any() else -inf)

    def _solve(
        self, node: Node, keep: NDArray[np.bool_], extras: Sequence[Constraint], least: float
    ) -> None:
        """Solve a part over all candidates that a network scoring more than ``least`` can have."""
        met: Parents | None = None
        for pricing in reversed(self._table.pricings):
            result = self._relax(node, keep, pricing, least)
            if self.ended is not None:
                return
            if result is None:
                break
            node.bound = min(node.bound, max(least, result.bound + pricing.refund))
            if result.parents is None or node.bound <= least:
                break
            clause = self._clause(result.parents, extras)
            if clause is not None:
                self._repair(result.parents)
                if not self._priced:
                    self._price(node, result.parents)
                    if self._is_unwanted(node.bound) or len(self._table.pricings) > 1:
                        self._push(node)  # to look again, at what is known now
                        return
                clause = between(met, result.parents) or clause
                self._branch(node, clause, result.parents)
                return
            met = result.parents
            score = result.score + pricing.price * _arcs(met)
            found = FoundNetwork(score, met)
            self._offer(found)
            if result.status == "optimal" and self._closes(node, found):
                node.best = found
                self._push(node)
                if self.on_network is not None:
                    self.on_network(found)
                return
        if node.bound > least or self._is_unwanted(node.bound):
            self.residual = max(self.residual, node.bound)
        else:
            node.window *= self._parameters.wider
            self._push(node)

    def _closes(self, node: Node, found: FoundNetwork) -> bool:
        """Return whether a network is the best of its part: without a gap, it has the bound."""
        open_gap = TOLERANCE * max(1.0, abs(found.score)) + self.gap * abs(found.score)
        if node.bound > found.score + open_gap:
            return False
        if self.gap == 0:
            node.bound = found.score
        return True

    def _relax(
        self, node: Node, keep: NDArray[np.bool_], pricing: Pricing, least: float
    ) -> Result | None:
        """Solve a part without regard to the constraints.

        ``None`` if nothing wanted is in it, or when the search ends: the node is then given back.
        """
        part = self._table.part(keep, pricing.price)
        if not part.is_feasible:
            node.bound = min(node.bound, least)
            return None
        if self._priced and part.n_variables > self._parameters.easy:
            part = self._bounded(node, part, pricing, least)
            if self._is_unwanted(node.bound):
                return None
        self.solved += 1
        with SearchControl(outer=self.control).running() as control:
            result = self.solve(
                part,
                time_limit=self.control.remaining,
                gap=self.gap,
                start=node.start or self.start,
                on_event=lambda event: self._hear(event, pricing, control),
                **self.options,
            )
        if result.status == "infeasible":
            node.bound = min(node.bound, least)
            return None
        node.bound = min(node.bound, max(least, result.bound + pricing.refund))
        if self._is_unwanted(node.bound):
            return None
        if result.status == "optimal":
            return result
        if self.control.is_over:
            self._end(node, self.control.status)
            return None
        if self.nodes >= self._parameters.heuristic_nodes and self.incumbent.parents is not None:
            self._end(node, "feasible")  # a solver that proves nothing has tried long enough
            return None
        return result

    def _bounded(self, node: Node, part: Problem, pricing: Pricing, least: float) -> Problem:
        """Bound a part by multipliers of its own, and drop what these exclude."""
        wanted = max(self.floor, self._enough) - pricing.refund
        multipliers = cluster_multipliers(part, self.control, wanted)
        bound = multipliers.bound(part) + pricing.refund
        node.bound = min(node.bound, max(least, bound))
        if least == -inf or self._is_unwanted(node.bound):
            return part
        table = CandidateTable.of(part, multipliers)
        everything = np.ones(part.n_candidates, np.bool_)
        return part.select(table.within(everything, least - pricing.refund))

    def _end(self, node: Node, status: Status) -> None:
        """End the search at a part, which stays open."""
        self.ended = status
        self._push(node)

    def _hear(self, event: Event, pricing: Pricing, control: SearchControl) -> None:
        """Take networks that a solver meets on its way, and pass on how far the search is.

        The solver is stopped once its bound shows that nothing wanted is left.
        """
        if event.parents is not None:
            score = event.score + pricing.price * _arcs(event.parents)
            if score > self.incumbent.score and not self.problem.violations(event.parents):
                self._offer(FoundNetwork(score, event.parents))
        self._more = event.nodes
        self.control.record()
        self._more = 0
        if self._is_unwanted(event.bound + pricing.refund):
            control.stop()

    def _offer(self, found: FoundNetwork) -> None:
        if found.score > self.incumbent.score + LEAST * abs(found.score):
            self.incumbent = found
            self.control.record()

    def _repair(self, met: Parents) -> None:
        """Look for an incumbent near a network that violates constraints."""
        if self.exclude is not None:
            return
        found = repaired(
            self._table,
            met,
            lambda parents: self._clause(parents, ()),
            self._parameters.most_repairs,
        )
        if found is not None:
            self._offer(FoundNetwork(total(self._table, found), found))

    def _climb(self) -> None:
        """Change the parents of one variable at a time, as long as that makes a better network."""
        if self.exclude is not None or self.first_only:
            return
        while self.incumbent is not self._climbed:
            self._climbed = now = self.incumbent
            assert now.parents is not None
            least = now.score + LEAST * abs(now.score)
            near = neighbours(
                self._table, now.parents, now.score, least, self._parameters.most_neighbours
            )
            for parents, score in near:
                if not self.problem.violations(parents):
                    self._offer(FoundNetwork(score, parents))
                    break

    def _state(self) -> Event:
        found = self.incumbent
        bound, nodes = max(found.score, self.bound), self.nodes + self._more
        seconds = self.control.seconds
        return Event(seconds, found.score, bound, nodes, found.parents)

    def _clause(self, parents: Parents, extras: Sequence[Constraint]) -> Clause | None:
        """Return the shortest clause of the constraints that a network violates."""
        clauses = [c.clause(parents) for c in (*self._overall, *extras)]
        return min((c for c in clauses if c is not None), key=len, default=None)

    def _price(self, node: Node, met: Parents) -> None:
        """Find the multipliers that bound parts without solving them, once they are needed.

        ``node`` is the first part that was solved, and ``met`` the best network there.
        """
        if self._priced:
            return
        self._priced = True
        bare = self._table.problem
        multipliers = cluster_multipliers(bare, self.control)
        self._table = CandidateTable.of(bare, multipliers)
        keep = np.ones(bare.n_candidates, np.bool_)
        loss = np.sort(self._table.loss(keep))
        near = loss[min(self._parameters.per_variable * bare.n_variables, len(loss)) - 1]
        bound = self._table.bound(self._table.best(keep))
        self._first_window = max(float(near), bound - node.bound, LEAST * max(1.0, abs(bound)))
        limit = max(self._least, _arcs(met) if self._most is None else min(_arcs(met), self._most))
        if limit != _arcs(met) and not self.first_only:
            everything = Node(node.bound, start=met)
            self._price_arcs(everything, limit)
            node.bound = min(node.bound, everything.bound)

    def _price_arcs(self, node: Node, limit: int) -> None:
        """Find the price per arc at which a limit of their number costs least."""
        bare = self._table.problem
        everything = np.ones(bare.n_candidates, np.bool_)

        def best_at(price: float) -> Point | None:
            pricing = Pricing(bare.scores, 0.0, price, price * limit)
            result = self._relax(node, everything, pricing, -inf)
            if result is None or result.parents is None:
                return None
            score = result.score + price * _arcs(result.parents)
            if not self.problem.violations(result.parents):
                self._offer(FoundNetwork(score, result.parents))
            return Point(score, _arcs(result.parents))

        beyond = best_at(0.0)
        if beyond is None:
            return
        price = arc_price(best_at, beyond, limit, self._first_window, _spread(bare))
        if price:
            multipliers = cluster_multipliers(self._table.part(everything, price), self.control)
            self._table = self._table.priced(multipliers, price, limit)

    def _branch(self, node: Node, cases: Sequence[Case], start: Parents) -> None:
        """Part a node by cases, at least one of which holds for all that is wanted of it."""
        children = []
        for child in parted(self._table, node, cases):
            if self._is_unwanted(child.bound):
                self.residual = max(self.residual, child.bound)
            else:
                child.window, child.start = self._first_window, start
                children.append(child)
        self._take(children)

    def _take(self, children: list[Node]) -> None:
        """Put children among the open parts; dive into the best one until something is found."""
        if self.exclude is None and self.incumbent.parents is None and children:
            self._dive = max(reversed(children), key=lambda child: child.bound)
            children.remove(self._dive)
        for child in children:
            self._push(child)


def _spread(problem: Problem) -> float:
    """Return the most that the scores of two networks differ by."""
    first, scores = problem.first[:-1], problem.scores
    highest, lowest = np.maximum.reduceat(scores, first), np.minimum.reduceat(scores, first)
    return float((highest - lowest).sum())


def _arcs(parents: Parents | None) -> int:
    return 0 if parents is None else sum(map(len, parents))
