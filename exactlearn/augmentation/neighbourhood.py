"""The search for a better pair within Hamming distance t of a completion.

The neighbourhood is the exact method's problem restricted to the completions near the current one
(Adel and de Campos, "Approximate algorithm"). Its completions are enumerated, but hardly any is
solved: :mod:`exactlearn.augmentation.change_search` tells how.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.change_search import ChangeSearch
from exactlearn.augmentation.family_store import FamilyStore, require_tabulated
from exactlearn.augmentation.pair import Pair
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.task import Task, require_proof
from exactlearn.solvers import Problem
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.root import Root, solve_root


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
        found = self._relax(problem, pair) if self.root is None else None
        better = self._by_variable(pair)
        if better is not None or t is None:
            return better
        if found is None:
            found = self._relax(problem, pair)
        if found.bound > pair.target:
            better = self._better_dag(problem, pair)
        for distance in range(1, min(t, len(self.store.cells)) + 1):
            if better is None:
                better = self._at_distance(pair, distance)
        return better

    def _relax(self, problem: Problem, pair: Pair) -> Root:
        """Solve the linear relaxation of the DAGs for the pair's completion."""
        clusters = None if self.root is None else self.root.counted
        found = solve_root(problem.select(problem.allowed), pair.target, clusters=clusters)
        self.root = found.multipliers
        return found

    def _better_dag(self, problem: Problem, pair: Pair) -> Pair | None:
        """Return the pair with a better DAG, or ``None`` when its own is proven the best."""
        result = self.task.solve(problem, self.incumbent, pair)
        assert result.parents is not None
        require_proof(result)
        found = self.task.pair(result.parents, pair.values)
        return found if found.score > pair.target else None

    def _by_variable(self, pair: Pair) -> Pair | None:
        """Try the changes of one variable after another together, without proofs."""
        assert self.root is not None
        search, changes = self._search(pair, self.store.single_changes(distinct=True))
        for variable in np.unique(changes[:, 1]):
            group = np.ascontiguousarray(changes[changes[:, 1] == variable])
            better = search.together(group, self.root)
            if better is not None:
                return better
        return None

    def _at_distance(self, pair: Pair, distance: int) -> Pair | None:
        """Search the completions in which just so many cells differ."""
        assert self.root is not None
        singles = self.store.single_changes(distinct=distance == 1)
        for fixed, last in _prefixes(singles, distance - 1):
            with self.store.changed(fixed):
                search, changes = self._search(pair, last)
                better = search.one_by_one(changes, self.root, self.others)
            if better is not None:
                return better
        return None

    def _search(
        self, pair: Pair, changes: NDArray[np.int64]
    ) -> tuple[ChangeSearch, NDArray[np.int64]]:
        """Return the changes that the root does not exclude, and a search of what they reach."""
        assert self.root is not None
        search = ChangeSearch(self.task, self.incumbent, pair, self.store)
        bounds, close = search.bounds(changes, self.root)
        near = replace(search, store=self.store.select(close))
        return near, np.ascontiguousarray(changes[bounds > pair.target])


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


def _prefixes(
    singles: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the changes of ``size`` cells, each with the single changes of the cells after them."""
    if size == 0:
        yield singles[:0], singles
        return
    cell = np.concatenate([[0], np.cumsum((np.diff(singles[:, :2], axis=0) != 0).any(axis=1))])
    for fixed, left in _prefixes(singles, size - 1):
        begin = len(singles) - len(left)
        for at in range(begin, len(singles)):
            after = int(np.searchsorted(cell, cell[at], side="right"))
            if after < len(singles):
                yield np.concatenate([fixed, singles[at : at + 1]]), singles[after:]
