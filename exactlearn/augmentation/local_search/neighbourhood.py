"""The search for a better pair within Hamming distance t of a completion.

The neighbourhood is the exact method's problem restricted to the completions near the current one
(Adel and de Campos, "Approximate algorithm"). Its completions are enumerated, but hardly any is
solved: :mod:`exactlearn.augmentation.local_search.move_search` tells how.
"""

from collections.abc import Generator, Iterator
from contextlib import closing
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.incumbent import Incumbent, Ledger, Pair
from exactlearn.augmentation.local_search.family_store import FamilyStore, require_tabulated
from exactlearn.augmentation.local_search.move_search import (
    Changes,
    ChangeSearch,
    Group,
    by_variable,
    gathered,
    n_changes,
    parts_of,
    prefixes,
)
from exactlearn.augmentation.local_search.pruning import better_in_groups, sift
from exactlearn.augmentation.task import LimitReachedError, Task, between_blocks, pause
from exactlearn.solvers.components import families_without_choices
from exactlearn.solvers.lp.clusters import Counted
from exactlearn.solvers.lp.multipliers import Multipliers
from exactlearn.solvers.lp.root import CuttingPlanes, no_listener
from exactlearn.solvers.progress import no_pause

ROUNDS, MOST_ROUNDS = 100, 400
"""Rounds of cutting planes for the first completion, and for one around which there is proof."""

TAIL, LEAST_GAIN = 40, 0.03
"""Rounds in which so much of the gap must be closed: else more cost more than they save."""

SLACK = 0.35
"""By how much the bound of changes that are asked of together may be higher than one's: a share of
the gap of the pair's own DAG."""

TOGETHER = 2048
"""Changes that are taken apart into groups at once."""


MOMENT = 0.5
"""Seconds for bounds of changes after a search has been stopped."""


class _Reached(NamedTuple):
    """Changes that may lead to a better pair, with which families, and each child's best scores.

    The search is one of the store that has seen all of them but the last cell's.
    """

    search: ChangeSearch
    changes: Changes
    close: NDArray[np.bool_]
    tops: NDArray[np.float64]


class Neighbourhood:
    """Completions near a pair's.

    What bounds those of one pair often bounds those of the next one, too.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    incumbent
        The clock.
    store
        All families.
    """

    def __init__(self, task: Task, incumbent: Incumbent, store: FamilyStore) -> None:
        self.task, self.incumbent, self.store = task, incumbent, store
        self.root: Multipliers | None = None
        self.relaxed: Pair | None = None
        self.others: list[Multipliers] = []
        self.tight = False
        self.turn: dict[int, int] = {}

    def better(self, pair: Pair, t: int | None) -> Pair | None:
        """Return a better pair; or ``None`` when there is none, proven if there is a radius.

        Parameters
        ----------
        pair
            A DAG and the store's completion.
        t
            Hamming distance up to which completions are searched; without it, only what a search
            that proves nothing finds one cell away.

        Raises
        ------
        LimitReachedError
            When the time is up first.
        """
        if t is None:
            return self._found(pair, halve=True)
        sizes = range(1, min(t, len(self.store.cells)) + 1)
        singles = [self.store.single_changes(distinct=size == 1) for size in sizes]
        ledger = Ledger(pair, sum(map(n_changes, singles, sizes)))
        self.incumbent.examine(ledger)
        try:
            return self._found(pair, halve=False) or self._proven(pair, singles, ledger)
        except (LimitReachedError, KeyboardInterrupt):
            if self.root is not None and singles and ledger.unseen == ledger.total:
                search = self._search(pair)
                ledger.dag = pair.target + search.gap
                self._bound_quickly(search, singles[0], ledger)
            raise

    def _bound_quickly(
        self, search: ChangeSearch, singles: NDArray[np.int64], ledger: Ledger
    ) -> None:
        """Bound as many changes of single cells as a moment allows, so that they are told."""
        blocks, end = self.store.blocks(singles), monotonic() + MOMENT
        self.store.pause = no_pause
        for block in blocks:
            if monotonic() > end:
                return
            _bounded(search, Changes(block[:0], block), ledger)

    def _found(self, pair: Pair, *, halve: bool) -> Pair | None:
        """Return a better pair that a search without proofs finds."""
        if self.root is None:
            self._relax(pair, ROUNDS)
        singles = self.store.single_changes(distinct=True)
        groups = [(Changes(singles[:0], own),) for own in by_variable(singles)]
        halve = halve and not self.tight
        return better_in_groups(self._search(pair), groups, prove=False, halve=halve)

    def _proven(self, pair: Pair, singles: list[NDArray[np.int64]], ledger: Ledger) -> Pair | None:
        """Return a better pair, or ``None`` when there is provably none.

        The changes of single cells are given for each number of cells that may differ.
        """
        if not (self.tight and self.relaxed is pair):
            self._relax(pair, MOST_ROUNDS)
        search = self._search(pair)
        ledger.dag = pair.target + search.gap
        better = None if self.tight else search.better_dag()
        if better is None:
            ledger.dag = pair.score
            search = search.with_best_dag()
        for size, own in enumerate(singles, 1):
            if better is None:
                better = self._at_distance(search, own, size, ledger)
        return better

    def _relax(self, pair: Pair, rounds: int) -> None:
        """Bound the DAGs for the pair's completion by rounds of cutting planes, at most so many."""
        problem = self.task.families(pair.values, pause=between_blocks(self.incumbent))
        problem = problem.select(problem.allowed)
        start = Counted.none(problem.n_variables) if self.root is None else self.root.counted
        planes = CuttingPlanes(
            problem,
            families_without_choices(problem),
            None,
            start,
            no_listener,
            pair.target,
            between_blocks(self.incumbent),
        )
        bounds = [np.inf]
        while planes.bound > pair.target and len(bounds) <= rounds:
            pause(self.incumbent)
            if not planes.step():
                break
            bounds.append(planes.bound)
            before = bounds[max(0, len(bounds) - TAIL)]
            if before - planes.bound < LEAST_GAIN * (before - pair.target):
                break
        found = planes.root()
        self.relaxed = pair
        self.root, self.tight = found.multipliers, found.bound <= pair.target

    def _at_distance(
        self, search: ChangeSearch, singles: NDArray[np.int64], size: int, ledger: Ledger
    ) -> Pair | None:
        """Search the completions in which just so many cells differ."""
        with closing(self._reached(search, singles, size, ledger)) as reached:
            if self.tight:
                return self._sifted(reached, ledger)
            return self._grouped(search, reached, ledger)

    def _reached(
        self, search: ChangeSearch, singles: NDArray[np.int64], size: int, ledger: Ledger
    ) -> Generator[_Reached, None, None]:
        """Yield the changes that the root does not exclude, the store being changed but for one.

        Begin with those after which a better pair was found the last time.
        """
        before = list(prefixes(singles, size - 1))
        begin = self.turn.get(size, 0) % max(1, len(before))
        for turn in [*range(begin, len(before)), *range(begin)]:
            pause(self.incumbent)
            fixed, last = before[turn]
            with self.store.changed(fixed):
                reached = _bounded(search, Changes(fixed, last), ledger)
                self.turn[size] = turn
                if len(reached.tops):
                    yield reached

    def _sifted(self, reached: Iterator[_Reached], ledger: Ledger) -> Pair | None:
        """Look at one change after the other."""
        for search, changes, close, _ in reached:
            better = sift(search.near(close), changes, self.others, ledger)
            if better is not None:
                return better
        return None

    def _grouped(
        self, search: ChangeSearch, reached: Iterator[_Reached], ledger: Ledger
    ) -> Pair | None:
        """Look at many changes together."""
        found = list(reached)
        if not found:
            return None
        families = np.logical_or.reduce([one.close for one in found])
        tops = np.concatenate([one.tops for one in found])
        order = np.argsort(tops.sum(axis=1), kind="stable")
        limit = search.pair.target + search.gap + search.multipliers.total
        changes = [one.changes for one in found]
        groups: list[Group] = []
        for at in range(0, len(order), TOGETHER):
            batch = order[at : at + TOGETHER]
            for members in gathered(tops[batch], limit, SLACK * search.gap):
                groups.append(parts_of(changes, np.sort(batch[members])))
        # a better pair mostly follows from what is hard to bound: that comes first
        return better_in_groups(search.near(families), groups[::-1], ledger=ledger)

    def _search(self, pair: Pair) -> ChangeSearch:
        assert self.root is not None
        return ChangeSearch(self.task, self.incumbent, pair, self.store, self.root)


def _bounded(search: ChangeSearch, changes: Changes, ledger: Ledger) -> _Reached:
    """Bound changes; keep those that are not excluded, and take note of them."""
    tops, close = search.bounds(changes.last)
    bounds = tops.sum(axis=1) - search.multipliers.total
    left = bounds > search.pair.target
    ledger.unseen -= len(bounds)
    ledger.left.append(bounds[left])
    return _Reached(search, changes._replace(bounds=bounds).take(left), close, tops[left])


def better_pair(task: Task, incumbent: Incumbent, pair: Pair, t: int) -> Pair | None:
    """Return a better pair near a pair, or ``None`` when there is provably none.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    incumbent
        The clock.
    pair
        A DAG and a completion.
    t
        Hamming distance up to which completions are searched.

    Raises
    ------
    TooLargeError
        When there are too many families to tabulate.
    LimitReachedError
        When the time is up first.
    """
    require_tabulated(task.dataset, task.rules)
    store = FamilyStore.of_all(task.dataset, pair.values, task.score, task.rules)
    return Neighbourhood(task, incumbent, store).better(pair, t)
