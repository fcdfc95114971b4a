"""Exact parent-set selection as a shortest path through the sets of placed variables.

In the *order graph* (Yuan and Malone 2013, "Learning optimal Bayesian networks: a shortest path
perspective") a path from the empty to the complete set places one variable after the other, each
with its best candidate inside what is placed. Multipliers make the length of a step the amount by
which it lies below the Lagrangian bound (:mod:`exactlearn.solvers.patterns`): only
sets matter that are reached and completed (:mod:`exactlearn.solvers.order_graph_search`) below the
difference of that bound and the incumbent. The search runs with rising thresholds: one that finds
no path proves that no selection is closer to the bound; one that does finds the best.
"""

from math import fsum, inf

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import ENGINE
from exactlearn._runtime.executors import available_memory
from exactlearn.errors import TooLargeError, as_written

from . import order_graph_search as search
from .component_solver import ComponentControl, Outcome, Selection
from .components import WORD, Component
from .multipliers import Multipliers
from .order_graph_search import Scratch, Table
from .patterns import (
    Numbered,
    OrderGraph,
    Patterns,
    coupling,
    partition,
    patterns_of,
    price,
)

SHARE = 0.5
"""Share of the free memory for states when no limit is given."""

MEMORY = 4 * 2**30
"""Bytes for states where the system does not tell what is free."""

FIRST_STATES = 1 << 12
"""States that the table holds at first."""

BLOCK = 2000
"""States expanded between two looks at the clock, a tenth of a second or so."""


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
            f"and here are {component.n_variables}: use {as_written('solver', 'scip')}"
        )
    return _Sweeps(component, control).run()


class _Sweeps:
    """Searches of one component with rising thresholds."""

    def __init__(self, component: Component, control: ComponentControl) -> None:
        self.component = component
        self.control = control
        options = control.options
        n = component.n_variables
        rows = (options.multipliers or Multipliers.none(n)).positive()
        free = available_memory()
        half = MEMORY if free is None else int(SHARE * free)
        self.memory = half if options.memory_limit is None else options.memory_limit
        self.priced = price(component, rows)
        self.nodes = 0
        # groups of a pattern database: variables tied by multipliers together
        groups = -(-n // options.pattern_group)
        self.sizes = np.diff(np.arange(groups + 1) * n // groups)
        group = partition(
            coupling(rows), self.sizes, np.random.default_rng(options.seed)
        )
        position = np.argsort(np.argsort(group, kind="stable"), kind="stable")
        self.numbered = Numbered.of(component, rows, position)

    @property
    def gap(self) -> float:
        """Difference of the Lagrangian bound and the incumbent's score."""
        incumbent = self.control.incumbent
        if incumbent is None:
            return inf
        return fsum(self.component.losses[incumbent].tolist()) - self.priced.loss

    def run(self) -> Outcome:
        """Search until the gap is at most the absolute gap."""
        self._prove(0.0)
        options = self.control.options
        tolerance = self.priced.slack
        goal = self.gap - options.absolute_gap
        # paths below the incumbent, if any may be there
        if goal > tolerance:
            keep = self.priced.reduced < self.gap
            patterns = patterns_of(
                self.numbered,
                self.priced.reduced,
                keep,
                self.sizes,
                self.control,
                options.threads,
            )
            if patterns is None or not self._sweep_all(patterns, goal - tolerance):
                return self.control.outcome(proven=False, nodes=self.nodes)
            if self.control.incumbent is None:
                return self.control.infeasible(self.nodes)
        # the threshold that was searched
        bound = self._score_at(min(goal, self.gap))
        return self.control.outcome(proven=True, bound=bound, nodes=self.nodes)

    def _sweep_all(self, patterns: Patterns, goal: float) -> bool:
        """Search below rising thresholds up to a goal; return whether that is done.

        It is when a selection is found, too: it is the best.
        """
        threshold = self.control.options.first_share * goal
        while True:
            is_done, selection = self._sweep(patterns, threshold)
            if selection is not None:
                self.control.improve(selection)
            elif is_done:
                self._prove(threshold)
            if not is_done or selection is not None or threshold >= goal:
                return is_done
            threshold = min(threshold + min(threshold, 0.25 * goal), goal)

    def _score_at(self, cost: float) -> float:
        return self.component.relaxation - self.priced.loss - cost

    def _prove(self, cost: float) -> None:
        """Take it as proven that no selection costs less."""
        self.control.prove(self._score_at(cost) + self.priced.slack, self.nodes)

    def _sweep(
        self, patterns: Patterns, threshold: float
    ) -> tuple[bool, Selection | None]:
        """Search all paths below the threshold; return whether that is done, and the cheapest."""
        # a candidate that costs more than the threshold is in no path below it
        useful = self.priced.reduced < threshold
        n = self.component.n_variables
        if len(np.unique(self.component.child[useful])) < n:
            return True, None
        listed = self._listed(useful)
        # the graph, and its table of states
        graph = self.numbered.graph(np.where(useful, self.priced.reduced, inf), listed)
        scratch = search.scratch_for(graph)
        table = search.new_table(n, FIRST_STATES, threshold)
        most_states = self.control.options.most_states
        before = self.nodes
        # blocks of states, until all are expanded or a limit ends it
        while self.control.goes_on():
            why = search.expand(graph, patterns, scratch, table, BLOCK)
            self.nodes = before + int(table.at[search.EXPANDED])
            ENGINE.debug(
                "order graph: threshold %.4f, %d states expanded, %d candidates useful",
                threshold,
                self.nodes,
                len(listed),
            )
            if most_states is not None and self.nodes > most_states:
                self._give_up(f"{self.nodes} states of the order graph did not suffice")
                break
            if why == search.DONE:
                return True, self._selection(graph, patterns, scratch, table, listed)
            if why == search.FULL:
                if not self._fits(table):
                    break
                table = search.grown(table, 2 * len(table.placed))
        return False, None

    def _listed(self, useful: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the candidates of each variable, by falling score, as far as some are of use.

        The others among them exclude worse ones nevertheless, once their parents are placed.
        """
        last = np.zeros(self.component.n_variables, np.int64)
        np.maximum.at(last, self.component.child[useful], np.flatnonzero(useful))
        listed = np.flatnonzero(np.arange(len(useful)) <= last[self.component.child])
        return listed[np.argsort(self.numbered.child[listed], kind="stable")]

    def _give_up(self, why: str) -> None:
        if self.control.options.explain:
            self.control.note(why)

    def _fits(self, table: Table) -> bool:
        """Return whether a table of twice the size fits into the memory beside this one."""
        size = len(table.placed)
        now = search.table_bytes(size)
        following = search.table_bytes(2 * size)
        fits = now + following <= self.memory
        if not fits:
            self._give_up(
                f"{table.at[search.COUNT]} states of the order graph take {now / 2**20:.0f} MiB, "
                "and their next share would exceed the memory limit of "
                f"{self.memory / 2**20:.0f} MiB"
            )
        return fits

    def _selection(
        self,
        graph: OrderGraph,
        patterns: Patterns,
        scratch: Scratch,
        table: Table,
        listed: NDArray[np.int64],
    ) -> Selection | None:
        """Return the selection along the cheapest path to the complete set, or ``None``.

        The search took the same choices, because its threshold does not change.
        """
        state = int(table.at[search.LAST])
        following = (1 << self.component.n_variables) - 1
        if state == search.FREE:
            return None
        selection = np.full(self.component.n_variables, -1, np.int64)
        while state != search.FREE:
            placed = table.placed[state]
            cost = float(table.cost[state])
            search.place_at_once(
                graph, patterns, scratch, placed, cost, float(table.costs[0])
            )
            new = following & ~int(placed)
            for v in range(len(selection)):
                if new >> v & 1:
                    selection[v] = scratch.best[v]
            state = int(table.before[state])
            following = int(placed)
        return np.sort(
            listed[selection]
        )  # the candidates stand in the order of our variables
