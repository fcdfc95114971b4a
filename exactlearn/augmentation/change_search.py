"""The search for a pair that is better after one of some changes of cells.

Many changes are asked of together: where every family has the best score that any of them gives it,
a network scores at least what it scores after each of them, so that no change of the group is worth
a look when no network of the group's *envelope* is above the target. Multipliers of clusters, those
of the completion's own linear relaxation, leave few families, and the order graph the few sets of
variables that matter (:mod:`exactlearn.solvers.above`).
"""

from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.changes import Changes, Group
from exactlearn.augmentation.dominance import smaller_sets, undominated
from exactlearn.augmentation.family_store import FamilyStore
from exactlearn.augmentation.network_search import Dag
from exactlearn.augmentation.pair import Pair
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.set_families import (
    envelope,
    rewarded,
    selection_problem,
)
from exactlearn.augmentation.task import LimitReachedError, Task, pause
from exactlearn.solvers import Problem
from exactlearn.solvers.above import select_above
from exactlearn.solvers.lowering import lower
from exactlearn.solvers.multipliers import Multipliers, reaching
from exactlearn.solvers.progress import OutOfTime

SHARE, NEAR = 0.75, 3.0
"""What a search without proof allows a family to lose: a share of the gap of the pair's own DAG,
which all families of a better network lose together, and so much more."""

WIDER = 1.4
"""How much wider than the gap of the pair's own DAG that of a group may be to be searched."""

ROUNDS = 2
"""Rounds of subgradient steps, each on the candidates that the one before leaves."""


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

    @cached_property
    def _smaller(self) -> NDArray[np.int32]:
        """The number of each set less one of its members, shape (sets, largest size)."""
        return smaller_sets(self.store.sets.members, self.store.dataset.n_variables)

    def near(self, keep: NDArray[np.bool_]) -> "ChangeSearch":
        """Return a search among some of the families, shape (families,)."""
        store = self.store.select(keep)
        return ChangeSearch(self.task, self.incumbent, self.pair, store, self.multipliers)

    @cached_property
    def gap(self) -> float:
        """How far the bound of the networks before any change is above the pair."""
        return max(0.0, float(self._best.sum()) - self.multipliers.total - self.pair.target)

    @property
    def enough(self) -> float:
        """The bound up to which a group's networks are searched without more ado."""
        return self.pair.target + WIDER * self.gap

    @property
    def _near(self) -> float:
        """How far below the best ones families may be that a search without proof looks at."""
        return SHARE * self.gap + NEAR

    @cached_property
    def _best(self) -> NDArray[np.float64]:
        """The best score with multipliers of each child's families before any change."""
        return np.maximum.reduceat(self.store.scores + self.rewards, self.store.families.first[:-1])

    @property
    def close(self) -> NDArray[np.bool_]:
        """The families not far below the best ones before any change, shape (families,)."""
        adjusted, child = self.store.scores + self.rewards, self.store.families.child
        return reaching(adjusted, child, self._best, self._near, 0.0)

    def bounds(self, changes: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return each child's best score with multipliers after each change, (changes, children).

        Less the multipliers' total, their sum bounds the networks after it. Also return the
        families that a better network may have, with some others.
        """
        scores = self.store.scores + self.rewards
        return self.store.bound_changes(scores, changes, self.pair.target + self.multipliers.total)

    def look(self, group: Group, prove: bool) -> Pair | bool:
        """Return a better pair, or whether the group's envelope leaves room for any."""
        pause(self.incumbent)
        problem = self.promising(group, prove)
        if problem is None:
            return False
        multipliers = self.multipliers
        if prove and multipliers.bound(problem) > self.enough:
            multipliers, problem = self.tighter(problem, self.enough)
            if not problem.is_feasible:
                return False
        parents = self.network_above(problem, multipliers, prove)
        if parents is None:
            return False
        better = self.best_in_order(group, parents)
        return len(group) > 1 or len(group[0].last) > 1 if better is None else better

    def tighter(self, problem: Problem, enough: float) -> tuple[Multipliers, Problem]:
        """Change the multipliers to lower a problem's bound to one that is enough, if that works.

        Also return what it leaves of the problem, which may have no network any more.
        """
        multipliers = self.multipliers
        for _ in range(ROUNDS):
            multipliers, left = lower(multipliers, problem, enough, self.pair.target)
            problem = problem.select(left)
            if not problem.is_feasible or multipliers.bound(problem) <= enough:
                break
        return multipliers, problem

    def better_dag(self) -> Pair | None:
        """Return the pair with a better DAG, or ``None`` when its own is proven the best.

        Raises
        ------
        LimitReachedError
            When the time is up first.
        """
        problem = self.promising(())
        parents = None if problem is None else self.network_above(problem, self.multipliers)
        return None if parents is None else self.task.pair(parents, self.pair.values)

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
        scores = reduce(np.maximum, map(self._envelope, group)) if group else self.store.scores
        adjusted = scores + self.rewards
        best = np.maximum.reduceat(adjusted, families.first[:-1])
        bound, target = float(best.sum()) - self.multipliers.total, self.pair.target
        if not bound > target:
            return None
        limit = target if prove else max(target, bound - self._near)
        keep = reaching(adjusted, families.child, best, bound, limit)
        keep = undominated(self._smaller, families, scores, keep)
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
        for fixed, last, _ in group:
            with store.changed(fixed):
                scores = store.scores_in_order(parents)
                totals = store.bound_changes(scores, last, np.inf)[0].sum(axis=1)
                at = int(totals.argmax())
                if totals[at] > target:
                    with store.changed(last[at : at + 1]):
                        return self.task.pair(store.best_in_order(parents), store.values)
        return None
