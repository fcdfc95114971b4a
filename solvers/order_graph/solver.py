"""Exact parent-set selection as a shortest path through the sets of placed variables.

In the *order graph* (Yuan and Malone 2013, "Learning optimal Bayesian networks: a shortest path
perspective") a path from the empty to the complete set places one variable after the other, each
with its best candidate inside what is placed. Multipliers make the length of a step the amount by
which it lies below the Lagrangian bound (:mod:`exactlearn.solvers.order_graph.rows`), so that only
sets matter that are reached and completed (:mod:`exactlearn.solvers.order_graph.bounds`) below the
difference of that bound and the incumbent. The search runs with rising thresholds: one that finds
no path proves that no selection is closer to the bound; one that does finds the best.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from exactlearn.errors import OptionError, TooLargeError

from ..components import Component
from ..lp.multipliers import Multipliers
from ..progress import Progress
from ..result import Status
from .bounds import Scratch, glance, scratch_for, settle
from .patterns import (
    coupling,
    no_patterns,
    partition,
    patterns_of,
    useful_candidates,
)
from .rows import (
    WORD,
    CountedClusters,
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

MEMORY = 4 * 2**30
"""Bytes for states when no limit is given."""

WORK = 2000
"""States expanded between two looks at the clock, a tenth of a second or so."""

BEGINNING = 1 << 12
"""States that the table holds at first."""

ASCENTS = 60
"""Clusters at most by which one state's bound is raised."""

EASY = 3000
"""States after which pattern databases are built."""

GROUP = 19
"""Most variables of one group; its table takes 4 MiB."""

FIRST_SHARE = 0.125
"""The first threshold's share of the difference that is to be closed."""

GROWTH = 5.0
"""How many times more states the next threshold is to reach."""

ROUNDING = 1e-10
"""Relative error of a cost, which is a sum of up to some hundred numbers."""


Tell = Callable[[str], None]
"""Takes a sentence about why a search ended."""


class _GivenUp(Exception):  # noqa: N818  (a signal between our own functions, not an error)
    """Raised when there are more states than a limit allows; its text says so."""


def refuse_unsuitable(component: Component) -> None:
    """Raise when a component has choices or too many variables for the order graph.

    Raises
    ------
    OptionError
        When candidates read choices.
    TooLargeError
        When there are more than 64 variables.
    """
    if len(component.choices):
        raise OptionError(
            "the order graph cannot keep track of the problem's "
            f"{len(component.choices)} choices: use solver='scip'"
        )
    if component.n_variables > WORD:
        raise TooLargeError(
            f"the order graph takes at most {WORD} variables that may form cycles with each other, "
            f"and here are {component.n_variables}: use solver='scip'"
        )


def solve_component(
    progress: Progress,
    k: int,
    *,
    multipliers: Multipliers | None = None,
    keep: NDArray[np.bool_] | None = None,
    allowance: float = 0.0,
    memory_limit: int | None = None,
    seed: int = 0,
    tell: Tell | None = None,
    most_states: int | None = None,
    easy: int = EASY,
    first_share: float = FIRST_SHARE,
) -> Status:
    """Solve the component number ``k`` of the progress, which holds incumbent and bound.

    Parameters
    ----------
    progress
        Holds the component, and takes its incumbents and bounds.
    k
        Number of the component.
    multipliers
        Clusters of the component's variables with multipliers; the closer their bound, the fewer
        states. Without them the search is the classical one with the simple heuristic.
    keep
        Candidates that may be part of a selection better than the incumbent, shape (m,).
    allowance
        Difference of bound and score that counts as proven.
    memory_limit
        Bytes for the states, 4 GiB by default.
    seed
        Seed of the partition into groups.
    tell
        Called with the reason when the status is ``feasible``.
    most_states
        States to be expanded after which the search gives up.
    easy
        States to be expanded after which pattern databases are built.
    first_share
        The first threshold's share of the difference that is to be closed: all of it where a
        selection better than the incumbent is not expected.

    Returns
    -------
    Status
        ``optimal``; ``infeasible`` when every selection has a cycle; ``feasible`` when a
        limit was reached, with the bound so far in the progress.

    Raises
    ------
    OutOfTime
        At the time limit, as all solvers that watch no clock of their own.
    OptionError, TooLargeError
        When the component has choices, or more than 64 variables.
    """
    refuse_unsuitable(progress.components[k])
    rows = CountedClusters.of(multipliers or Multipliers.none(progress.components[k].n_variables))
    memory = MEMORY if memory_limit is None else memory_limit
    try:
        sweeps = _Sweeps(progress, k, rows, keep, memory, seed, most_states, easy)
        return sweeps.run(allowance, first_share)
    except _GivenUp as stop:
        if tell is not None:
            tell(str(stop))
        return "feasible"


@dataclass(frozen=True)
class _Swept:
    """What a search with one threshold found: states expanded, the selection if there is one."""

    expanded: int
    chosen: NDArray[np.int64] | None


class _Sweeps:
    """Searches of one component with rising thresholds."""

    def __init__(
        self,
        progress: Progress,
        k: int,
        rows: CountedClusters,
        keep: NDArray[np.bool_] | None,
        memory: int,
        seed: int,
        most_states: int | None,
        easy: int,
    ) -> None:
        self.progress, self.k = progress, k
        self.component = component = progress.components[k]
        self.rows, self.memory, self.seed = rows, memory, seed
        self.most_states = inf if most_states is None else most_states
        self.keep = np.ones(component.n_candidates, np.bool_) if keep is None else keep.copy()
        self.priced = price(component, rows)
        self.easy, self.nodes = easy, 0
        self.position = np.arange(component.n_variables)
        self.numbered = Numbered.of(component, rows, self.position)
        self.patterns = no_patterns(component.n_variables)

    @property
    def light(self) -> bool:
        """Whether there are patterns, next to which states' own bounds are not worth their time."""
        return len(self.patterns.starts) > 0

    @property
    def gap(self) -> float:
        """How far the incumbent lies below the Lagrangian bound."""
        component = self.component
        if self.progress.scores[self.k] == -inf:
            return inf
        chosen = self.progress.selected[self.k]
        return float(losses_of(component)[chosen].sum()) - self.priced.loss

    def run(self, allowance: float, first_share: float) -> Status:
        """Search until the gap is at most the allowance."""
        self._prove(0.0)
        goal = self.gap - allowance
        tolerance = ROUNDING * (1.0 + abs(self.priced.loss))
        threshold = first_share * goal if goal < inf else max(1.0, 0.01 * self.priced.loss)
        before: tuple[float, int] | None = None
        while goal > tolerance:
            threshold = min(threshold, goal - tolerance)
            swept = self._sweep(threshold)
            if swept.chosen is not None:
                self.progress.improve(self.k, swept.chosen)
                break
            if threshold == inf:
                return "infeasible"
            self._prove(threshold)
            if threshold >= goal - tolerance:
                break
            threshold, before = self._next(threshold, swept.expanded, before, goal)
        closed = max(self.progress.scores[self.k], self._score_at(min(goal, self.gap)))
        self.progress.prove(self.k, closed, self.nodes)
        return "optimal"

    def _score_at(self, cost: float) -> float:
        return self.component.relaxation - self.priced.loss - cost

    def _prove(self, cost: float) -> None:
        """Take it as proven that no selection costs less."""
        bound = self._score_at(cost)
        bound += ROUNDING * (1.0 + abs(bound))
        self.progress.prove(self.k, bound, self.nodes, closed=False)

    def _next(
        self, threshold: float, expanded: int, before: tuple[float, int] | None, goal: float
    ) -> tuple[float, tuple[float, int]]:
        """Choose the next threshold such that some times more states are expected."""
        if before is None:
            step = threshold
        else:
            rate = log(max(expanded / before[1], 1.1)) / (threshold - before[0])
            step = min(log(GROWTH) / rate, 2.0 * threshold)
        following = threshold + step
        if following > 0.8 * goal:
            following = inf if goal == inf else goal
        return following, (threshold, max(1, expanded))

    def _sweep(self, threshold: float) -> _Swept:
        """Search all paths below the threshold."""
        if self.nodes > self.easy and not len(self.patterns.starts):
            self._build_patterns()
        useful = self.keep & (self.priced.reduced < threshold)
        if len(np.unique(self.component.child[useful])) < self.component.n_variables:
            return _Swept(1, None)
        costs = np.where(useful, self.priced.reduced, inf)
        keep = self._order(useful)
        graph = self.numbered.graph(costs, keep)
        scratch = scratch_for(graph)
        table = new_table(self.component.n_variables, BEGINNING, threshold)
        while True:
            self.progress.pause()
            expanded = int(table.at[EXPANDED])
            why = expand(graph, self.patterns, scratch, table, 0 if self.light else ASCENTS, WORK)
            self.nodes += int(table.at[EXPANDED]) - expanded
            if self.nodes > self.easy and not self.light:
                return self._sweep(threshold)  # with patterns, which leave far fewer states
            if self.nodes > self.most_states:
                raise _GivenUp(f"{self.nodes} states of the order graph did not suffice")
            if why == FULL:
                table = self._grown(table)
            elif why != WORKED:
                break
        return _Swept(int(table.at[EXPANDED]), self._selection(graph, scratch, table, keep))

    def _order(self, useful: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the candidates as the search wants them.

        Those that are of no use tell nevertheless that worse ones are of none, either, once their
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

    def _grown(self, table: Table) -> Table:
        capacity = 2 * len(table.placed)
        if table_bytes(capacity) + table_bytes(len(table.placed)) > self.memory:
            raise _GivenUp(
                f"{table.at[COUNT]} states of the order graph take "
                f"{table_bytes(len(table.placed)) / 2**20:.0f} MiB, and their next share would "
                f"exceed the memory limit of {self.memory / 2**20:.0f} MiB"
            )
        return grown(table, capacity)

    def _selection(
        self, graph: OrderGraph, scratch: Scratch, table: Table, keep: NDArray[np.int64]
    ) -> NDArray[np.int64] | None:
        """Settle the states on the cheapest path to the complete set again, and note the choices.

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
                glance(graph, self.patterns, scratch, placed, cost, threshold)
            else:
                settle(graph, self.patterns, scratch, placed, cost, threshold, ASCENTS)
            new = following & ~int(placed)
            for v in range(len(chosen)):
                if new >> v & 1:
                    chosen[v] = scratch.best[v]
            state, following = int(table.before[state]), int(placed)
        return np.sort(keep[chosen])  # the candidates stand in the order of our variables

    def _build_patterns(self) -> None:
        n = self.component.n_variables
        groups = -(-n // GROUP)
        sizes = np.full(groups, n // groups, np.int64)
        sizes[: n % groups] += 1
        group = partition(coupling(self.rows, n), sizes, np.random.default_rng(self.seed))
        self.position = np.argsort(np.argsort(group, kind="stable"), kind="stable")
        self.numbered = Numbered.of(self.component, self.rows, self.position)
        self.keep &= self.priced.reduced < self.gap
        self.patterns = patterns_of(self.numbered, self.keep, sizes, self.progress.pause)
        before = np.flatnonzero(self.keep)
        rank = np.lexsort((self.priced.reduced[before], self.numbered.child[before]))
        graph = self.numbered.graph(self.priced.reduced, before[rank])
        useful = useful_candidates(self.patterns, graph, self.gap, self.progress.pause)
        self.keep[before[rank]] = useful
