"""The search for a better pair within Hamming distance t of a completion.

The neighbourhood is the exact method's problem restricted to the completions near the current one
(Adel and de Campos, "Approximate algorithm"). Its completions are enumerated, but hardly any is
solved: cluster multipliers of the current completion's linear relaxation bound what each change of
a cell can bring (:func:`~exactlearn.augmentation.set_families.bound_changes`). What they cannot
exclude gets multipliers of its own, which exclude others as well, and is solved as the last resort.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.family_store import FamilyStore, require_tabulated
from exactlearn.augmentation.pair import Pair
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.set_families import (
    best_without,
    bound_changes,
    rewarded,
    selection_problem,
)
from exactlearn.augmentation.task import LimitReachedError, Task, require_proof
from exactlearn.solvers import Problem
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.root import root_multipliers

SOLVED_AT_ONCE = 14
"""Variables up to which a neighbour is solved, which is as fast as to bound it."""

MOST_TRIED = 4
"""Multipliers, the latest ones, that are tried on the families of one neighbour."""


def better_pair(
    task: Task,
    incumbent: Incumbent,
    pair: Pair,
    t: int,
    *,
    store: FamilyStore | None = None,
    multipliers: Multipliers | None = None,
) -> Pair | None:
    """Return a better pair near a pair, or ``None`` when there is provably none.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    incumbent
        The clock.
    pair
        A DAG and a completion; the DAG is optimal for the completion.
    t
        Hamming distance up to which completions are searched, at least 1.
    store
        All families, under the pair's completion; they are tabulated if not given.
    multipliers
        Multipliers to begin with, such as those of a completion nearby.

    Raises
    ------
    TooLargeError
        When there are too many families to tabulate.
    LimitReachedError
        When the time is up first.
    """
    t = min(t, len(task.dataset.missing_cells))
    if t == 0:
        return None
    if store is None:
        require_tabulated(task.dataset, task.rules)
        store = FamilyStore.of_all(task.dataset, pair.values, task.score, task.rules)
    clusters = None if multipliers is None else multipliers.counted
    found = root_multipliers(task.families(pair.values), clusters=clusters, enough=pair.target)
    search = Search(task, incumbent, pair, store)
    search.keep(found)
    for distance in range(1, t + 1):
        better = search.at_distance(distance)
        if better is not None:
            return better
    return None


@dataclass(eq=False)
class Search:
    """The search around one pair.

    Parameters
    ----------
    task, incumbent, pair
        As for :func:`better_pair`.
    store
        All families, under the pair's completion.

    Attributes
    ----------
    bounding
        What bounds the neighbours: multipliers, each with what they add to the families' scores.
        Grows as neighbours are looked at.
    """

    task: Task
    incumbent: Incumbent
    pair: Pair
    store: FamilyStore
    bounding: list[tuple[Multipliers, NDArray[np.float64]]] = field(default_factory=list)

    def keep(self, multipliers: Multipliers) -> None:
        """Bound neighbours with multipliers from now on."""
        sets, families = self.store.sets, self.store.families
        self.bounding.append((multipliers, rewarded(multipliers, sets.members, families)))

    def at_distance(self, distance: int) -> Pair | None:
        """Search the completions in which just so many cells differ."""
        singles = self.store.single_changes(distinct=distance == 1)
        for fixed, left in _prefixes(singles, distance - 1):
            self._pause()
            with self.store.changed(fixed):
                better = self._with_last_change(left)
            if better is not None:
                return better
        return None

    def _with_last_change(self, changes: NDArray[np.int64]) -> Pair | None:
        """Search the completions one of some changes away from the store's, the likeliest first."""
        bounds = np.full(len(changes), np.inf)
        for known in range(len(self.bounding)):
            bounds = np.minimum(bounds, self._bounds(changes, known))
            changes, bounds = _left(changes, bounds, self.pair.target)
        while len(changes):
            self._pause()
            at = int(bounds.argmax())
            known = len(self.bounding)
            with self.store.changed(changes[at : at + 1]):
                better = self._here()
            if better is not None:
                return better
            bounds[at] = -np.inf
            changes, bounds = _left(changes, bounds, self.pair.target)
            for new in range(known, len(self.bounding)):  # they may exclude other changes as well
                bounds = np.minimum(bounds, self._bounds(changes, new))
                changes, bounds = _left(changes, bounds, self.pair.target)
        return None

    def _bounds(self, changes: NDArray[np.int64], known: int) -> NDArray[np.float64]:
        """Return what no network scores more than after each change, by some multipliers."""
        sets, families = self.store.sets, self.store.families
        multipliers, rewards = self.bounding[known]
        scores = self.store.scores + rewards
        without = best_without(sets, families, scores)
        totals = bound_changes(sets, self.store.rows, families, scores, without, changes)
        return totals - multipliers.total

    def _here(self) -> Pair | None:
        """Return the best pair of the store's completion if it is better."""
        problem = self._promising()
        if problem is None or not problem.is_feasible:  # what may be better has a directed cycle
            return None
        if self._excluded(problem):
            return None
        result = self.task.solve(problem, self.incumbent, self.pair)
        assert result.parents is not None
        if result.score > self.pair.target:
            return self.task.pair(result.parents, self.store.values)
        require_proof(result)
        return None

    def _promising(self) -> Problem | None:
        """Return the families that a better network may have under the store's completion."""
        store, target = self.store, self.pair.target
        scores = store.scores
        keep = np.ones(len(scores), np.bool_)
        for multipliers, rewards in self.bounding[:1] + self.bounding[1:][-MOST_TRIED:]:
            adjusted = scores + rewards
            adjusted[~keep] = -np.inf
            best = np.maximum.reduceat(adjusted, store.families.first[:-1])
            slack = best.sum() - multipliers.total - target
            if not slack > 0.0:
                return None
            keep &= adjusted + slack > best[store.families.child]
        names = self.task.dataset.names
        return selection_problem(names, store.sets.members, store.families, keep, scores)

    def _excluded(self, problem: Problem) -> bool:
        """Tell whether multipliers exclude that a problem's best network is better; keep them."""
        target = self.pair.target
        if problem.n_variables <= SOLVED_AT_ONCE:
            return False
        nearby = self.bounding[-1][0]
        tighter = nearby.lowered(problem, target)
        if tighter.bound(problem) > target:
            tighter = root_multipliers(problem, clusters=nearby.counted, enough=target)
        if tighter.bound(problem) > target:
            return False
        self.keep(tighter)
        return True

    def _pause(self) -> None:
        if self.incumbent.out_of_time:
            raise LimitReachedError("feasible")


def _left(
    changes: NDArray[np.int64], bounds: NDArray[np.float64], target: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the changes whose bound exceeds the target, and their bounds."""
    kept = bounds > target
    return np.ascontiguousarray(changes[kept]), bounds[kept]


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
