"""The search for a better pair within Hamming distance t of a completion.

The neighbourhood is the exact method's problem restricted to the completions near the current one
(Adel and de Campos, "Approximate algorithm"). Its completions are enumerated, but hardly any is
solved. Cluster multipliers of the current completion's linear relaxation bound what each change of
a cell can bring (:func:`~exactlearn.augmentation.set_families.bound_changes`). Changes that are
left are taken together: where every family has the best score that any of them gives it, a network
scores at least what it scores after each of them. If even the best network of these scores is no
better than the pair, none of the changes is; otherwise they are halved. What excludes a group has
multipliers that may exclude others.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.family_store import FamilyStore, require_tabulated
from exactlearn.augmentation.network_search import Dag, good_network
from exactlearn.augmentation.pair import Pair
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.set_families import (
    best_without,
    bound_changes,
    envelope,
    rewarded,
    selection_problem,
)
from exactlearn.augmentation.task import LimitReachedError, Task, require_proof
from exactlearn.solvers import Problem
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.root import solve_root

SOLVED_AT_ONCE = 14
"""Variables up to which a group is solved, which is as fast as to bound it."""

EFFORT = 10**6
"""Candidates that the search for a group's network looks at, about."""

MOST_TRIED = 4
"""Multipliers, the latest ones, that are tried on one group of changes."""


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
    problem = task.families(pair.values)
    found = solve_root(problem.select(problem.allowed), pair.target, clusters=clusters)
    search = Search(task, incumbent, pair, store, found.bound <= pair.target)
    search.keep(found.multipliers)
    for distance in range(1, t + 1):
        better = search.at_distance(distance)
        if better is not None:
            return better
    return None


def quick_better_pair(
    task: Task, incumbent: Incumbent, pair: Pair, store: FamilyStore
) -> Pair | None:
    """Return a better pair one cell away if a search that proves nothing finds one.

    The parameters and errors are those of :func:`better_pair`.
    """
    return Search(task, incumbent, pair, store, False).by_variable()


@dataclass(eq=False)
class Search:
    """The search around one pair.

    Parameters
    ----------
    task, incumbent, pair
        As for :func:`better_pair`.
    store
        All families, under the pair's completion.
    is_tight
        Whether the linear relaxation proves that the pair's DAG is optimal: where it does not, it
        will hardly exclude neighbours.

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
    is_tight: bool
    bounding: list[tuple[Multipliers, NDArray[np.float64]]] = field(default_factory=list)

    def keep(self, multipliers: Multipliers) -> None:
        """Bound neighbours with multipliers from now on."""
        sets, families = self.store.sets, self.store.families
        self.bounding.append((multipliers, rewarded(multipliers, sets.members, families)))

    def by_variable(self) -> Pair | None:
        """Try the changes of one variable after another together, without proofs."""
        singles = self.store.single_changes(distinct=True)
        for variable in np.unique(singles[:, 1]):
            self._pause()
            changes = np.ascontiguousarray(singles[singles[:, 1] == variable])
            problem = self._promising(changes)
            assert problem is not None, "nothing bounds it"
            parents, score = self._good_network(problem)
            better = self._best_in_order(changes, parents) if score > self.pair.target else None
            if better is not None:
                return better
        return None

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
        """Search the completions one of some changes away from the store's."""
        bounds = np.full(len(changes), np.inf)
        groups = [(changes, bounds, 0)]
        while groups:
            self._pause()
            changes, bounds, known = groups.pop()
            for new in range(max(known, len(self.bounding) - MOST_TRIED), len(self.bounding)):
                bounds = np.minimum(bounds, self._bounds(changes, new))
                changes, bounds = _left(changes, bounds, self.pair.target)
            if not len(changes):
                continue
            problem = self._promising(changes)
            if problem is None or not problem.is_feasible:  # what may be better has a cycle
                continue
            parents, excluded = self._better_network(problem, patient=len(changes) == 1)
            if excluded:
                continue
            better = None if parents is None else self._best_in_order(changes, parents)
            if better is not None:
                return better
            known = len(self.bounding)
            groups += [(changes[half], bounds[half], known) for half in _halves(changes, bounds)]
        return None

    def _bounds(self, changes: NDArray[np.int64], known: int) -> NDArray[np.float64]:
        """Return what no network scores more than after each change, by some multipliers."""
        sets, families = self.store.sets, self.store.families
        multipliers, rewards = self.bounding[known]
        scores = self.store.scores + rewards
        without = best_without(sets, families, scores)
        totals = bound_changes(sets, self.store.rows, families, scores, without, changes)
        return totals - multipliers.total

    def _promising(self, changes: NDArray[np.int64]) -> Problem | None:
        """Return the families, at their best, that a better network may have after some changes."""
        store, target = self.store, self.pair.target
        scores = envelope(store.sets, store.rows, store.families, store.scores, changes)
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

    def _better_network(self, problem: Problem, *, patient: bool) -> tuple[Dag | None, bool]:
        """Return a network that scores more than the pair, if found, and whether there is none.

        What multipliers show on the way is kept. Only with patience, or where the relaxation does
        not help, the problem is solved as the last resort.
        """
        task, target = self.task, self.pair.target
        parents, score = self._good_network(problem)
        if score > target:
            return parents, False
        if problem.n_variables > SOLVED_AT_ONCE:
            if self._excluded(problem):
                return None, True
            if self.is_tight and not patient:
                return None, False
        result = task.solve(problem, self.incumbent, self.pair)
        if result.score > target:
            return result.parents, False
        require_proof(result)
        return None, True

    def _good_network(self, problem: Problem) -> tuple[Dag, float]:
        """Return a good network of a problem, from the pair's order on, and its score."""
        return good_network(
            problem, self.pair.parents, effort=EFFORT, shakes=1, seed=self.task.seed
        )

    def _excluded(self, problem: Problem) -> bool:
        """Tell whether multipliers exclude that a problem's best network is better; keep them."""
        target, nearby = self.pair.target, self.bounding[-1][0]
        tighter = nearby.lowered(problem, target)
        if tighter.bound(problem) > target and self.is_tight:
            tighter = solve_root(problem, target, clusters=nearby.counted).multipliers
        if tighter.bound(problem) > target:
            return False
        self.keep(tighter)
        return True

    def _best_in_order(self, changes: NDArray[np.int64], parents: Dag) -> Pair | None:
        """Return the best pair after one of some changes, within an order, if it is better."""
        store = self.store
        scores = store.scores_in_order(parents)
        without = best_without(store.sets, store.families, scores)
        args = store.sets, store.rows, store.families
        totals = bound_changes(*args, scores, without, changes)
        at = int(totals.argmax())
        if not totals[at] > self.pair.target:
            return None
        with store.changed(changes[at : at + 1]):
            return self.task.pair(store.best_in_order(parents), store.values)

    def _pause(self) -> None:
        if self.incumbent.out_of_time:
            raise LimitReachedError("feasible")


def _left(
    changes: NDArray[np.int64], bounds: NDArray[np.float64], target: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the changes whose bound exceeds the target, and their bounds."""
    kept = bounds > target
    return np.ascontiguousarray(changes[kept]), bounds[kept]


def _halves(changes: NDArray[np.int64], bounds: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Split changes by variable, those of one variable by bound; the more promising half last."""
    if len(changes) == 1:
        return []
    variable = changes[:, 1]
    order = np.arange(len(changes)) if variable[0] != variable[-1] else np.argsort(bounds)
    middle = len(changes) // 2
    if variable[0] != variable[-1]:  # where a variable begins, close to the middle
        starts = np.flatnonzero(np.diff(variable)) + 1
        middle = int(starts[np.abs(starts - middle).argmin()])
    halves = [order[:middle], order[middle:]]
    return sorted(halves, key=lambda half: float(bounds[half].max()))


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
