"""Exact parent-set selection as a shortest path through the sets of placed variables.

In the *order graph* (Yuan and Malone 2013, "Learning optimal Bayesian networks: a shortest path
perspective") a path from the empty to the complete set places one variable after the other, each
with its best candidate inside what is placed. Multipliers make the length of a step the amount by
which it lies below the Lagrangian bound (:mod:`exactlearn.solvers.order_graph.rows`), so that only
sets matter that are reached and completed (:mod:`exactlearn.solvers.order_graph.bounds`) below the
difference of that bound and the incumbent. The search runs with rising thresholds: one that finds
no path proves that no selection is closer to the bound; one that does finds the best.
"""

from dataclasses import dataclass
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.executors import available_memory
from exactlearn.errors import TooLargeError

from ..component_solver import ComponentControl, Outcome, Selection
from ..components import Component
from ..lp.multipliers import Multipliers
from .bounds import Scratch, propagate, quick_bound, scratch_for
from .patterns import (
    coupling,
    no_patterns,
    partition,
    patterns_of,
    useful_candidates,
)
from .rows import (
    WORD,
    Numbered,
    OrderGraph,
    losses_of,
    price,
)
from .search import (
    COUNT,
    EXPANDED,
    FREE,
    FULL,
    LAST,
    WORKED,
    Table,
    expand,
    grown,
    new_table,
    table_bytes,
)

SHARE = 0.5
"""Share of the free memory for states when no limit is given."""

MEMORY = 4 * 2**30
"""Bytes for states where the system does not tell what is free."""

ROUNDING = 1e-10
"""Relative error of a cost, which is a sum of up to some hundred numbers."""


def solve_component(
    component: Component, incumbent: Selection | None, control: ComponentControl
) -> Outcome:
    """Solve a component by searches with rising thresholds.

    Without multipliers among the options the search is the classical one with the simple heuristic.
    Memory for states is half of what is free by default.

    Raises
    ------
    TooLargeError
        When there are more than 64 variables.
    """
    if component.n_variables > WORD:
        raise TooLargeError(
            f"the order graph takes at most {WORD} variables that may form cycles with each other, "
            f"and here are {component.n_variables}: use solver='scip'"
        )
    return _Sweeps(component, control).run()


@dataclass(frozen=True)
class _Swept:
    """What a search with one threshold found: states expanded, the selection if there is one."""

    expanded: int
    chosen: NDArray[np.int64] | None


class _Sweeps:
    """Searches of one component with rising thresholds."""

    def __init__(self, component: Component, control: ComponentControl) -> None:
        self.component, self.control, options = component, control, control.options
        n, kept = component.n_variables, options.kept
        self.rows = (options.multipliers or Multipliers.none(n)).positive()
        free = available_memory()
        half = MEMORY if free is None else int(SHARE * free)
        self.memory = half if options.memory_limit is None else options.memory_limit
        self.seed, self.parameters = options.seed, options.order_graph
        self.threads = options.threads
        most_states = self.parameters.most_states
        self.most_states = inf if most_states is None else most_states
        self.keep = np.ones(component.n_candidates, np.bool_) if kept is None else kept.copy()
        self.priced = price(component, self.rows)
        self.nodes = 0
        self.position = np.arange(n)
        self.numbered = Numbered.of(component, self.rows, self.position)
        self.patterns = no_patterns(n)
        self.threshold = 0.0
        self.before: tuple[float, int] | None = None

    @property
    def light(self) -> bool:
        """Whether there are patterns, next to which states' own bounds are not worth their time."""
        return len(self.patterns.starts) > 0

    @property
    def gap(self) -> float:
        """How far the incumbent lies below the Lagrangian bound."""
        known = self.control.incumbent
        if known is None:
            return inf
        return float(losses_of(self.component)[known].sum()) - self.priced.loss

    def run(self) -> Outcome:
        """Search until the gap is at most the absolute gap."""
        self._prove(0.0)
        goal = self.gap - self.control.options.absolute_gap
        tolerance = ROUNDING * (1.0 + abs(self.priced.loss))
        first_share = self.parameters.first_share
        self.threshold = first_share * goal if goal < inf else max(1.0, 0.01 * self.priced.loss)
        while goal > tolerance:
            self.threshold = min(self.threshold, goal - tolerance)
            threshold, swept = self.threshold, self._sweep()
            if swept is None:
                return self.control.outcome(proven=False, nodes=self.nodes)
            if swept.chosen is not None:
                self.control.improve(swept.chosen)
                break
            if threshold == inf:
                return self.control.infeasible(self.nodes)
            self._prove(threshold)
            if threshold >= goal - tolerance:
                break
            self._raise_threshold(swept.expanded, goal)
        bound = self._score_at(min(goal, self.gap))
        return self.control.outcome(proven=True, bound=bound, nodes=self.nodes)

    def _score_at(self, cost: float) -> float:
        return self.component.relaxation - self.priced.loss - cost

    def _prove(self, cost: float) -> None:
        """Take it as proven that no selection costs less."""
        bound = self._score_at(cost)
        bound += ROUNDING * (1.0 + abs(bound))
        self.control.prove(bound, self.nodes)

    def _raise_threshold(self, expanded: int, goal: float) -> None:
        """Choose the next threshold such that some times more states are expected."""
        threshold, before = self.threshold, self.before
        if before is None:
            step = threshold
        else:
            rate = log(max(expanded / before[1], 1.1)) / (threshold - before[0])
            step = min(log(self.parameters.growth) / rate, 2.0 * threshold)
        following = threshold + step
        if following > 0.8 * goal:
            following = inf if goal == inf else goal
        self.threshold, self.before = following, (threshold, max(1, expanded))

    def _sweep(self) -> _Swept | None:
        """Search all paths below the threshold; ``None`` when a limit ends that."""
        threshold = self.threshold
        if self.nodes > self.parameters.easy and not self.light and not self._build_patterns():
            return None
        useful = self.keep & (self.priced.reduced < threshold)
        if len(np.unique(self.component.child[useful])) < self.component.n_variables:
            return _Swept(1, None)
        costs = np.where(useful, self.priced.reduced, inf)
        keep = self._order(useful)
        graph = self.numbered.graph(costs, keep)
        scratch = scratch_for(graph)
        first = self.parameters.first_states
        table = new_table(self.component.n_variables, first, threshold)
        while self.control.goes_on():
            expanded = int(table.at[EXPANDED])
            ascents = 0 if self.light else self.parameters.ascents
            why = expand(graph, self.patterns, scratch, table, ascents, self.parameters.block)
            self.nodes += int(table.at[EXPANDED]) - expanded
            if self.nodes > self.parameters.easy and not self.light:
                return self._sweep()  # with patterns, which leave far fewer states
            if self.nodes > self.most_states:
                self._give_up(f"{self.nodes} states of the order graph did not suffice")
                return None
            if why == FULL:
                if not self._fits(table):
                    return None
                table = grown(table, 2 * len(table.placed))
            elif why != WORKED:
                chosen = self._selection(graph, scratch, table, keep)
                return _Swept(int(table.at[EXPANDED]), chosen)
        return None

    def _give_up(self, why: str) -> None:
        if self.control.options.explain:
            self.control.note(why)

    def _order(self, useful: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the candidates as the search wants them.

        Those that are of no use exclude worse ones nevertheless, once their
        parents are placed.
        """
        child = self.numbered.child
        if not self.light:
            kept = np.flatnonzero(useful)
            return kept[np.lexsort((kept, self.priced.reduced[kept], child[kept]))]
        last = np.zeros(self.component.n_variables, np.int64)
        np.maximum.at(last, self.component.child[useful], np.flatnonzero(useful))
        listed = np.flatnonzero(np.arange(len(useful)) <= last[self.component.child])
        return listed[np.lexsort((listed, child[listed]))]

    def _fits(self, table: Table) -> bool:
        """Return whether a table of twice the size fits into the memory beside this one."""
        now, following = table_bytes(len(table.placed)), table_bytes(2 * len(table.placed))
        fits = now + following <= self.memory
        if not fits:
            self._give_up(
                f"{table.at[COUNT]} states of the order graph take {now / 2**20:.0f} MiB, and "
                f"their next share would exceed the memory limit of {self.memory / 2**20:.0f} MiB"
            )
        return fits

    def _selection(
        self, graph: OrderGraph, scratch: Scratch, table: Table, keep: NDArray[np.int64]
    ) -> NDArray[np.int64] | None:
        """Return the selection along the cheapest path to the complete set, or ``None``.

        The search took the same choices, because its threshold does not change.
        """
        state, following = int(table.at[LAST]), (1 << self.component.n_variables) - 1
        if state == FREE:
            return None
        chosen = np.full(self.component.n_variables, -1, np.int64)
        while state != FREE:
            placed, cost = table.placed[state], float(table.cost[state])
            threshold = float(table.costs[0])
            if self.light:
                quick_bound(graph, self.patterns, scratch, placed, cost, threshold)
            else:
                ascents = self.parameters.ascents
                propagate(graph, self.patterns, scratch, placed, cost, threshold, ascents)
            new = following & ~int(placed)
            for v in range(len(chosen)):
                if new >> v & 1:
                    chosen[v] = scratch.best[v]
            state, following = int(table.before[state]), int(placed)
        return np.sort(keep[chosen])  # the candidates stand in the order of our variables

    def _build_patterns(self) -> bool:
        """Build the pattern databases; return whether there was time for them."""
        n = self.component.n_variables
        groups = -(-n // self.parameters.group)
        sizes = np.full(groups, n // groups, np.int64)
        sizes[: n % groups] += 1
        rng, tries = np.random.default_rng(self.seed), self.parameters.partitions
        group = partition(coupling(self.rows), sizes, rng, tries)
        self.position = np.argsort(np.argsort(group, kind="stable"), kind="stable")
        self.numbered = Numbered.of(self.component, self.rows, self.position)
        self.keep &= self.priced.reduced < self.gap
        patterns = patterns_of(self.numbered, self.keep, sizes, self.control, self.threads)
        if patterns is None:
            return False
        self.patterns = patterns
        before = np.flatnonzero(self.keep)
        rank = np.lexsort((self.priced.reduced[before], self.numbered.child[before]))
        graph = self.numbered.graph(self.priced.reduced, before[rank])
        useful = useful_candidates(patterns, graph, self.gap, self.control)
        if useful is not None:
            self.keep[before[rank]] = useful
        return useful is not None
