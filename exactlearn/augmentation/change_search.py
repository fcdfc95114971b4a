"""The search for a pair that is better after one of some changes of cells.

Many changes are asked of together: where every family has the best score that any of them gives it,
a network scores at least what it scores after each of them, so that no change of the group is worth
a look when no network of the group's *envelope* is above the target. Multipliers of clusters, those
of the completion's own linear relaxation, leave few families, and the order graph the few sets of
variables that matter (:mod:`exactlearn.solvers.above`). A group whose envelope allows too much is
halved.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.changes import Changes, Group, halves
from exactlearn.augmentation.family_store import FamilyStore
from exactlearn.augmentation.network_search import Dag
from exactlearn.augmentation.pair import Pair
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.set_families import (
    best_without,
    bound_changes,
    envelope,
    rewarded,
    selection_problem,
)
from exactlearn.augmentation.task import LimitReachedError, Task, pause
from exactlearn.solvers import Problem
from exactlearn.solvers.above import select_above
from exactlearn.solvers.multipliers import Multipliers, reaching
from exactlearn.solvers.progress import OutOfTime
from exactlearn.threads import in_order, n_threads

SHARE, NEAR = 0.75, 3.0
"""What a search without proof allows a family to lose: a share of the gap of the pair's own DAG,
which all families of a better network lose together, and so much more."""


Searches = tuple["ChangeSearch", "ChangeSearch"]
"""A search among few families, and one among all."""


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
    multipliers
        Multipliers for the completion.
    """

    task: Task
    incumbent: Incumbent
    pair: Pair
    store: FamilyStore
    multipliers: Multipliers

    @cached_property
    def rewards(self) -> NDArray[np.float64]:
        """What the multipliers add to each family's score, shape (families,)."""
        return rewarded(self.multipliers, self.store.sets.members, self.store.families)

    def near(self, keep: NDArray[np.bool_]) -> "ChangeSearch":
        """Return a search among some of the families, shape (families,)."""
        store = self.store.select(keep)
        return ChangeSearch(self.task, self.incumbent, self.pair, store, self.multipliers)

    @cached_property
    def _near(self) -> float:
        """How far below the best ones families may be that a search without proof looks at."""
        gap = float(self._best.sum()) - self.multipliers.total - self.pair.target
        return SHARE * max(0.0, gap) + NEAR

    @cached_property
    def _best(self) -> NDArray[np.float64]:
        """The best score with multipliers of each child's families before any change."""
        return np.maximum.reduceat(self.store.scores + self.rewards, self.store.families.first[:-1])

    @property
    def _close(self) -> NDArray[np.bool_]:
        """The families not far below the best ones before any change, shape (families,)."""
        adjusted, child = self.store.scores + self.rewards, self.store.families.child
        return reaching(adjusted, child, self._best, self._near, 0.0)

    def bounds(self, changes: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return what no network scores more than after each change of a cell.

        Also return the families that a better network may have, with some others.
        """
        store, total = self.store, self.multipliers.total
        scores = store.scores + self.rewards
        without = best_without(store.sets, store.families, scores)
        args = store.sets, store.rows, store.families, scores, without, changes
        totals, close = bound_changes(*args, self.pair.target + total)
        return totals - total, close

    def better(
        self, groups: Sequence[Group], *, prove: bool = True, halve: bool = True
    ) -> Pair | None:
        """Return a better pair, or ``None`` when there is none after any of the changes.

        Parameters
        ----------
        groups
            The changes.
        prove
            Whether to prove that. Otherwise ``None`` says nothing.
        halve
            Whether to halve groups that allow too much, which a proof needs.

        Raises
        ------
        LimitReachedError
            When the time is up first.
        """
        tables: list[Searches] = []
        while groups:
            halved: list[Group] = []
            for group, found in zip(groups, self._looks(groups, prove, tables), strict=True):
                if isinstance(found, Pair):
                    return found
                if found and halve:
                    halved += halves(group)
            groups = halved
        return None

    def _looks(
        self, groups: Sequence[Group], prove: bool, tables: list[Searches]
    ) -> Iterator[Pair | bool]:
        """Look at groups in several threads, each with tables of its own: at few families first.

        The tables are kept for the next time.
        """
        spare = iter(tables.copy())

        def space() -> Searches:
            searches = next(spare, None)
            if searches is None:
                alone = not prove or not tables
                whole = self if alone else self.near(np.ones(len(self.rewards), np.bool_))
                searches = self.near(self._close), whole
                tables.append(searches)
            return searches

        def look(number: int, searches: Searches) -> Pair | bool:
            few, whole = searches
            found = few.look(groups[number], False)
            return whole.look(groups[number], True) if prove and found is False else found

        return in_order(look, len(groups), space, n_threads(None))

    def look(self, group: Group, prove: bool) -> Pair | bool:
        """Return a better pair, or whether the group's envelope leaves room for any."""
        pause(self.incumbent)
        problem = self.promising(group, prove)
        if problem is None:
            return False
        parents = self.network_above(problem, self.multipliers, prove)
        if parents is None:
            return False
        better = self.best_in_order(group, parents)
        return len(group) > 1 or len(group[0].last) > 1 if better is None else better

    def network_above(
        self, problem: Problem, multipliers: Multipliers, prove: bool = True
    ) -> Dag | None:
        """Return a network that scores more than the pair in a problem, or ``None`` without any.

        Raises
        ------
        LimitReachedError
            When that is to be proven and cannot be in time.
        """
        try:
            answer = select_above(
                problem,
                self.pair.target,
                multipliers,
                self.pair.parents,
                prove=prove,
                time_limit=self.incumbent.remaining,
                seed=self.task.seed,
                on_event=lambda event: self.incumbent.tick(event.nodes),
            )
        except OutOfTime:
            raise LimitReachedError("feasible") from None
        self.incumbent.count_nodes(answer.nodes)
        if prove and answer.parents is None and not answer.proven:
            raise LimitReachedError("interrupted")
        return answer.parents

    def promising(self, group: Group, prove: bool = True) -> Problem | None:
        """Return the families, at their best, that a better network may have after some changes.

        Without proof, only those not far below the best ones. If there is none, return ``None``.
        """
        sets, families = self.store.sets, self.store.families
        scores = reduce(np.maximum, map(self._envelope, group))
        adjusted = scores + self.rewards
        best = np.maximum.reduceat(adjusted, families.first[:-1])
        bound, target = float(best.sum()) - self.multipliers.total, self.pair.target
        if not bound > target:
            return None
        limit = target if prove else max(target, bound - self._near)
        keep = reaching(adjusted, families.child, best, bound, limit)
        problem = selection_problem(self.task.dataset.names, sets.members, families, keep, scores)
        return problem if problem.is_feasible else None

    def _envelope(self, changes: Changes) -> NDArray[np.float64]:
        """Return each family's best score after any of some changes, shape (families,)."""
        store = self.store
        with store.changed(changes.fixed):
            return envelope(store.sets, store.rows, store.families, store.scores, changes.last)

    def best_in_order(self, group: Group, parents: Dag) -> Pair | None:
        """Return the best pair after one of some changes, within an order, if it is better."""
        store, target = self.store, self.pair.target
        for fixed, last in group:
            with store.changed(fixed):
                scores = store.scores_in_order(parents)
                without = best_without(store.sets, store.families, scores)
                args = store.sets, store.rows, store.families, scores, without, last
                totals, _ = bound_changes(*args, np.inf)
                at = int(totals.argmax())
                if totals[at] > target:
                    with store.changed(last[at : at + 1]):
                        return self.task.pair(store.best_in_order(parents), store.values)
        return None
