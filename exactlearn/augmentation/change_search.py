"""The search for a pair that is better after one of some changes of a cell.

Cluster multipliers bound what each change can bring
(:func:`~exactlearn.augmentation.set_families.bound_changes`): those of the completion's own linear
relaxation exclude many changes, and leave few families that any other change can bring into a
better network. Then the most promising change is looked at alone. Mostly a few subgradient steps
give multipliers that exclude it, and these exclude others; else its problem, which is small, is
solved.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.family_store import FamilyStore
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
from exactlearn.solvers.lowering import lower
from exactlearn.solvers.multipliers import Multipliers, reaching
from exactlearn.solvers.root import solve_root

SOLVED_AT_ONCE = 14
"""Variables up to which problems are solved, many changes together, rather than bounded."""

SHRINKS = 0.5
"""Share of the families that may be left when the others are dropped."""

EFFORT = 10**6
"""Candidates that the search for a good network looks at, about."""

MOST_TRIED = 4
"""Multipliers, the latest ones, that are tried on changes not seen before."""

MARGIN = 0.5
"""How much lower than necessary bounds are made, so that they exclude others, too."""

ROUNDS = 2
"""Rounds of subgradient steps, each on the families that the one before leaves."""


@dataclass(frozen=True, eq=False)
class ChangeSearch:
    """A search around a completion for a pair better than a given one.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    incumbent
        The clock.
    pair
        The pair to improve on.
    store
        The completion, with families: all, or those that a better network may have.
    """

    task: Task
    incumbent: Incumbent
    pair: Pair
    store: FamilyStore

    def one_by_one(
        self, changes: NDArray[np.int64], root: Multipliers, others: list[Multipliers]
    ) -> Pair | None:
        """Return a better pair, or ``None`` when there is none after any of the changes.

        Parameters
        ----------
        changes
            Row, variable and new state of each change, shape (changes, 3), in order of variables.
        root
            Multipliers of a completion nearby.
        others
            Multipliers of some others; those that are found go there.

        Raises
        ------
        LimitReachedError
            When the time is up first.
        """
        if self.task.dataset.n_variables <= SOLVED_AT_ONCE:
            return self._by_halves(changes, root)
        near, target = self, self.pair.target
        known, tried = [root, *others[-MOST_TRIED:]], 0
        bounds, nearest = np.full(len(changes), np.inf), np.zeros(len(changes), np.int64)
        while True:
            while tried < len(known) and len(changes):
                new, close = near.bounds(changes, known[tried])
                if close.mean() < SHRINKS:
                    near = replace(near, store=near.store.select(close))
                nearest[new < bounds] = tried
                bounds = np.minimum(new, bounds)
                left = bounds > target
                changes, bounds, nearest = changes[left], bounds[left], nearest[left]
                tried += 1
            if not len(changes):
                return None
            at = int(bounds.argmax())
            found = near._after(changes[at : at + 1], known[nearest[at]])
            if isinstance(found, Pair):
                return found
            if found is not None:
                known.append(found)
                others.append(found)
            bounds, nearest = np.delete(bounds, at), np.delete(nearest, at)
            changes = np.delete(changes, at, axis=0)

    def _by_halves(self, changes: NDArray[np.int64], nearby: Multipliers) -> Pair | None:
        """Return the same as :meth:`one_by_one` by solving problems of many changes together.

        Where every family has the best score that any of the changes gives it, a network scores at
        least what it scores after each of them.
        """
        groups = [changes] if len(changes) else []
        while groups:
            self._pause()
            changes = groups.pop()
            problem = self._promising(changes, nearby)
            if problem is None:
                continue
            parents, score = self._good_network(problem)
            if score <= self.pair.target:
                result = self.task.solve(problem, self.incumbent, self.pair)
                if result.parents is None or result.score <= self.pair.target:
                    require_proof(result)
                    continue
                parents = result.parents
            better = self._best_in_order(changes, parents)
            if better is not None:
                return better
            if len(changes) > 1:  # of one change, the network found is better, but for rounding
                middle = len(changes) // 2
                groups += [changes[:middle], changes[middle:]]
        return None

    def _after(self, change: NDArray[np.int64], nearby: Multipliers) -> Pair | Multipliers | None:
        """Return a better pair after a change; if there is none, multipliers if that needs them."""
        self._pause()
        problem = self._promising(change, nearby)
        if problem is None:
            return None
        found = self._above_target(problem, nearby)
        if isinstance(found, Multipliers):
            return found
        with self.store.changed(change):
            return self.task.pair(found, self.store.values)

    def together(self, changes: NDArray[np.int64], nearby: Multipliers) -> Pair | None:
        """Try changes together: return a better pair if a search that proves nothing finds one.

        Where every family has the best score that any of the changes gives it, a good network
        suggests an order for the pairs after each of them.
        """
        self._pause()
        problem = self._promising(changes, nearby)
        if problem is None:
            return None
        parents, score = self._good_network(problem)
        return self._best_in_order(changes, parents) if score > self.pair.target else None

    def bounds(
        self, changes: NDArray[np.int64], multipliers: Multipliers
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return what no network scores more than after each change, by some multipliers.

        Also return the families that a better network may have, with some others.
        """
        store = self.store
        scores = store.scores + rewarded(multipliers, store.sets.members, store.families)
        without = best_without(store.sets, store.families, scores)
        limit = self.pair.target + multipliers.total
        args = store.sets, store.rows, store.families, scores, without, changes
        totals, close = bound_changes(*args, limit)
        return totals - multipliers.total, close

    def _promising(self, changes: NDArray[np.int64], nearby: Multipliers) -> Problem | None:
        """Return the families, at their best, that a better network may have after some changes."""
        store = self.store
        scores = envelope(store.sets, store.rows, store.families, store.scores, changes)
        sets, families = store.sets, store.families
        adjusted = scores + rewarded(nearby, sets.members, families)
        best = np.maximum.reduceat(adjusted, families.first[:-1])
        bound = float(best.sum()) - nearby.total
        if not bound > self.pair.target:
            return None
        keep = reaching(adjusted, families.child, best, bound, self.pair.target)
        problem = selection_problem(self.task.dataset.names, sets.members, families, keep, scores)
        return problem if problem.is_feasible else None

    def _above_target(self, problem: Problem, nearby: Multipliers) -> Dag | Multipliers:
        """Return a network that scores more than the pair, or multipliers when there is none."""
        target, tighter = self.pair.target, nearby
        for _ in range(ROUNDS):
            tighter, left = lower(tighter, problem, target - MARGIN, target)
            problem = problem.select(left)
            if not problem.is_feasible or tighter.bound(problem) <= target:
                return tighter
        parents, score = self._good_network(problem)
        if score > target:
            return parents
        root = solve_root(problem, target, clusters=tighter.counted)
        if root.bound <= target:
            return root.multipliers
        result = self.task.solve(problem, self.incumbent, self.pair)
        if result.parents is not None and result.score > target:
            return result.parents
        require_proof(result)
        return tighter

    def _good_network(self, problem: Problem) -> tuple[Dag, float]:
        """Return a good network of a problem, from the pair's order on, and its score."""
        start, seed = self.pair.parents, self.task.seed
        return good_network(problem, start, effort=EFFORT, shakes=1, seed=seed)

    def _best_in_order(self, changes: NDArray[np.int64], parents: Dag) -> Pair | None:
        """Return the best pair after one of some changes, within an order, if it is better."""
        store = self.store
        scores = store.scores_in_order(parents)
        without = best_without(store.sets, store.families, scores)
        args = store.sets, store.rows, store.families, scores, without, changes
        totals, _ = bound_changes(*args, np.inf)
        at = int(totals.argmax())
        if not totals[at] > self.pair.target:
            return None
        with store.changed(changes[at : at + 1]):
            return self.task.pair(store.best_in_order(parents), store.values)

    def _pause(self) -> None:
        if self.incumbent.out_of_time:
            raise LimitReachedError("feasible")
