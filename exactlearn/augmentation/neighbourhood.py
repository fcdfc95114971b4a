"""The search for a better pair within Hamming distance t of a completion.

The neighbourhood is the exact method's problem restricted to the completions near the current one
(Adel and de Campos, "Approximate algorithm"). Its completions are enumerated, but hardly any is
solved: :mod:`exactlearn.augmentation.change_search` tells how.
"""

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.change_search import ChangeSearch
from exactlearn.augmentation.changes import Changes, by_variable, prefixes
from exactlearn.augmentation.family_store import FamilyStore, require_tabulated
from exactlearn.augmentation.pair import Pair
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.sifting import sift
from exactlearn.augmentation.task import Task, pause
from exactlearn.solvers import Problem
from exactlearn.solvers.clusters import Counted
from exactlearn.solvers.families import families_without_choices
from exactlearn.solvers.multipliers import Multipliers, reaching
from exactlearn.solvers.root import CuttingPlanes, no_listener

ROUNDS = 100
"""Rounds of cutting planes for one completion: more cost more than they save afterwards."""


TOGETHER = 4
"""Variables whose changes are asked of together at first."""


class _Reached(NamedTuple):
    """Changes that may lead to a better pair, what each reaches at most, and with which families.

    The search is one of the store that has seen all of them but the last cell's.
    """

    search: ChangeSearch
    changes: Changes
    bounds: NDArray[np.float64]
    close: NDArray[np.bool_]


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
        problem = self.task.families(pair.values)
        problem = problem.select(problem.allowed)
        is_first = self.root is None
        if is_first:
            self._relax(problem, pair)
        better = self._by_variable(pair)
        if better is not None or t is None:
            return better
        if not is_first:
            self._relax(problem, pair)
        if not self.tight:
            better = self._better_dag(problem, pair)
        for distance in range(1, min(t, len(self.store.cells)) + 1):
            if better is None:
                better = self._at_distance(pair, distance)
        return better

    def _relax(self, problem: Problem, pair: Pair) -> None:
        """Bound the DAGs for the pair's completion by some rounds of cutting planes."""
        start = Counted.none(problem.n_variables) if self.root is None else self.root.counted
        planes = CuttingPlanes(
            problem, families_without_choices(problem), None, start, no_listener, pair.target
        )
        for _ in range(ROUNDS):
            pause(self.incumbent)
            if planes.bound <= pair.target or not planes.step():
                break
        found = planes.root()
        self.root, self.tight = found.multipliers, found.bound <= pair.target

    def _better_dag(self, problem: Problem, pair: Pair) -> Pair | None:
        """Return the pair with a better DAG, or ``None`` when its own is proven the best."""
        search = self._search(pair)
        adjusted = search.multipliers.adjusted(problem)
        best = np.maximum.reduceat(adjusted, problem.first[:-1])
        bound = float(best.sum()) - search.multipliers.total
        left = problem.select(reaching(adjusted, problem.child, best, bound, pair.target))
        parents = search.network_above(left, search.multipliers) if left.is_feasible else None
        return None if parents is None else self.task.pair(parents, pair.values)

    def _by_variable(self, pair: Pair) -> Pair | None:
        """Try the changes of one variable after another together, without proofs."""
        search, singles = self._search(pair), self.store.single_changes(distinct=True)
        groups = [(Changes(singles[:0], own),) for own in by_variable(singles)]
        return search.better(groups, prove=False, halve=not self.tight)

    def _at_distance(self, pair: Pair, distance: int) -> Pair | None:
        """Search the completions in which just so many cells differ."""
        with closing(self._reached(pair, distance)) as reached:
            return self._sifted(reached) if self.tight else self._grouped(pair, reached)

    def _reached(self, pair: Pair, distance: int) -> Generator[_Reached, None, None]:
        """Yield the changes that the root does not exclude, the store being changed but for one.

        Begin with those after which a better pair was found the last time.
        """
        search = self._search(pair)
        before = list(prefixes(self.store.single_changes(distinct=distance == 1), distance - 1))
        begin = self.turn.get(distance, 0) % max(1, len(before))
        for turn in [*range(begin, len(before)), *range(begin)]:
            pause(self.incumbent)
            fixed, last = before[turn]
            with self.store.changed(fixed):
                bounds, close = search.bounds(last)
                left = bounds > pair.target
                self.turn[distance] = turn
                if left.any():
                    yield _Reached(search, Changes(fixed, last[left]), bounds[left], close)

    def _sifted(self, reached: Iterator[_Reached]) -> Pair | None:
        """Look at one change after the other."""
        for search, changes, _, close in reached:
            better = sift(search.near(close), changes.last, self.others)
            if better is not None:
                return better
        return None

    def _grouped(self, pair: Pair, reached: Iterator[_Reached]) -> Pair | None:
        """Look at changes of some variables together."""
        left: list[tuple[float, Changes]] = []
        families = np.zeros(len(self.store.families.child), np.bool_)
        for _, changes, bounds, close in reached:
            families |= close
            for own in by_variable(changes.last):
                bound = bounds[changes.last[:, 1] == own[0, 1]].max()
                left.append((float(bound), Changes(changes.fixed, own)))
        if not left:
            return None
        left.sort(key=lambda bounded: bounded[0])  # what is easily excluded stands together
        groups = [
            tuple(changes for _, changes in left[at : at + TOGETHER])
            for at in range(0, len(left), TOGETHER)
        ]
        return self._search(pair).near(families).better(groups)

    def _search(self, pair: Pair) -> ChangeSearch:
        assert self.root is not None
        return ChangeSearch(self.task, self.incumbent, pair, self.store, self.root)


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
