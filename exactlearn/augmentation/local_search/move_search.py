"""Moves (changes of missing cells), and the search for a better solution after one of a group.

A group of moves is searched at once: where every family has the best score that any of them gives
it, a network scores at least what it scores after each of them, so no move of the group is worth a
look when no network of the group's *envelope* is above the target. Multipliers of clusters, those
of the completion's own linear relaxation, leave few families, and the order graph the few sets of
variables that matter (:mod:`exactlearn.solvers.decision`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl
from exactlearn.augmentation.family_store import FamilyStore
from exactlearn.augmentation.incumbent import Incumbent, Solution
from exactlearn.augmentation.local_search.coordinate_ascent import scores_in_order
from exactlearn.augmentation.local_search.threshold_query import (
    ThresholdQuery,
    best_weight,
    refuting_weight,
    tightened,
)
from exactlearn.augmentation.starts import Dag
from exactlearn.augmentation.task import Task
from exactlearn.solvers.decision import best_above
from exactlearn.solvers.lp.multipliers import Multipliers, reaching


class Moves(NamedTuple):
    """Completions that differ in the same cells but for a last one.

    Attributes
    ----------
    fixed
        Row, variable and new state of the cells that all of them change, shape (cells, 3).
    last
        The same of the one cell that each changes besides, shape (completions, 3), in order of
        variables.
    bounds
        Bounds on the solutions with each completion, shape (completions,), or nothing.
    """

    fixed: NDArray[np.int64]
    last: NDArray[np.int64]
    bounds: NDArray[np.float64] = np.zeros(0)

    def take(self, some: NDArray[np.intp] | NDArray[np.bool_] | slice) -> "Moves":
        """Return some of the moves."""
        return Moves(self.fixed, self.last[some], self.bounds[some])


Group = tuple[Moves, ...]
"""Moves that are searched together."""


def halves(group: Group) -> list[Group]:
    """Split a group of several completions in two."""
    if len(group) > 1:
        middle = len(group) // 2
        return [group[:middle], group[middle:]]
    middle = len(group[0].last) // 2
    return [(group[0].take(np.s_[:middle]),), (group[0].take(np.s_[middle:]),)]


def parts_of(found: Sequence[Moves], chosen: NDArray[np.intp]) -> Group:
    """Return some of several moves, numbered one after the other, as a group."""
    starts = np.cumsum([0, *(len(moves.last) for moves in found)])
    owner = np.searchsorted(starts, chosen, side="right") - 1
    place = chosen - starts[owner]
    return tuple(found[k].take(place[owner == k]) for k in np.unique(owner).tolist())


def n_moves(singles: NDArray[np.int64], size: int) -> int:
    """Return the number of moves of ``size`` cells that :func:`prefixes` yields."""
    ways = [1, *[0] * size]  # to change so many of the cells seen
    _, states = np.unique(singles[:, :2], axis=0, return_counts=True)
    for others in states.tolist():
        for at in range(size, 0, -1):
            ways[at] += others * ways[at - 1]
    return ways[size]


def by_variable(moves: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Split moves, in order of variables, by variable."""
    return np.split(moves, 1 + np.flatnonzero(np.diff(moves[:, 1]))) if len(moves) else []


def gathered(tops: NDArray[np.float64], limit: float, slack: float) -> list[NDArray[np.intp]]:
    """Split moves into groups that are hardly harder to exclude than their members.

    The bound of a group's envelope is the sum over the children of the highest score that any move
    gives a child. A group begins with the move of the lowest bound left, and takes whichever raises
    its bound least, as long as that stays below a limit.

    Parameters
    ----------
    tops
        Each child's best score with multipliers after each move, shape (moves, children).
    limit
        Bound up to which groups grow; beyond it they do by a slack.
    slack
        By how much more than that of its first move a group's bound may be anyway.

    Returns
    -------
    list
        The numbers of each group's moves, increasing.
    """
    totals, left = tops.sum(axis=1), np.arange(len(tops))
    groups = []
    while len(left):
        seed = left[totals[left].argmin()]
        members, highest, most = [], tops[seed], max(limit, float(totals[seed]) + slack)
        while True:
            joins = (tops[left] <= highest).all(axis=1)
            members.append(left[joins])
            left = left[~joins]
            raised = np.maximum(tops[left], highest).sum(axis=1)
            if raised.min(initial=np.inf) > most:
                break
            highest = np.maximum(tops[left[raised.argmin()]], highest)
        groups.append(np.sort(np.concatenate(members)))
    return groups


def prefixes(
    singles: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the moves of ``size`` cells, each with the single moves of the cells after them."""
    if size == 0:
        yield singles[:0], singles
        return
    cell = np.concatenate([[0], np.cumsum((np.diff(singles[:, :2], axis=0) != 0).any(axis=1))])
    for fixed, left in prefixes(singles, size - 1):
        begin = len(singles) - len(left)
        for at in range(begin, len(singles)):
            after = int(np.searchsorted(cell, cell[at], side="right"))
            if after < len(singles):
                yield np.concatenate([fixed, singles[at : at + 1]]), singles[after:]


@dataclass(frozen=True, eq=False)
class MoveSearch:
    """A search around a completion for a solution better than a given one.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    incumbent
        The clock.
    solution
        The solution to improve on.
    store
        The completion, with families: all, or those that a better network may have.
    multipliers
        Cluster multipliers for the completion.
    before
        Each family's score under the completion, shape (families,), if the solution's DAG is proven
        the best one for it.
    """

    task: Task
    incumbent: Incumbent
    solution: Solution
    store: FamilyStore
    multipliers: Multipliers
    before: NDArray[np.float64] | None = None

    def with_best_dag(self) -> "MoveSearch":
        """Return the same search once the solution's DAG is proven the best for its completion."""
        return replace(self, before=self.store.scores)

    @cached_property
    def rewards(self) -> NDArray[np.float64]:
        """The multipliers of each family's satisfied clusters, summed, shape (families,)."""
        return self.multipliers.adjusted_families(self.store.families.flat)

    def near(self, keep: NDArray[np.bool_]) -> "MoveSearch":
        """Return a search among some of the families, shape (families,)."""
        store = self.store.select(keep)
        before = None if self.before is None else self.before[keep]
        return replace(self, store=store, before=before)

    @cached_property
    def gap(self) -> float:
        """Bound of the networks before any move, less the target."""
        return max(0.0, float(self._best.sum()) - self.multipliers.total - self.solution.target)

    @property
    def _near(self) -> float:
        """Distance from the best families within which a search without proof looks at families."""
        return self.task.climbing.family_loss_share * self.gap + self.task.climbing.family_loss

    @cached_property
    def _best(self) -> NDArray[np.float64]:
        """The best score with multipliers of each child's families before any move."""
        return np.maximum.reduceat(self.store.scores + self.rewards, self.store.families.first[:-1])

    @property
    def close(self) -> NDArray[np.bool_]:
        """The families not far below the best ones before any move, shape (families,)."""
        adjusted, child = self.store.scores + self.rewards, self.store.families.child
        return reaching(adjusted, child, self._best, self._near, 0.0)

    def bounds(self, moves: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return each child's best score with multipliers after each move, shape (moves, children).

        Less the multipliers' total, their sum bounds the networks after it. Also return the
        families that a better network may have, with some others.
        """
        scores = self.store.scores + self.rewards
        return self.store.bound_moves(scores, moves, self.solution.target + self.multipliers.total)

    def look(self, group: Group, prove: bool) -> Solution | bool:
        """Return a better solution, or whether the group's envelope leaves room for any.

        Where the search is over, nothing is excluded.
        """
        scores, beyond = self.after(group), 0.0
        tuning = self.task.climbing
        several = len(group) > 1 or len(group[0].last) > 1
        while self.incumbent.goes_on():
            weight = self._weight(scores, beyond) if prove else 1.0
            query = self.promising(scores, weight, prove)
            if query is None:
                return False
            if prove:
                targets = [query.target + weight * k * self.gap for k in tuning.target_gaps]
                query = tightened(query, targets, tuning.target_steps)
            parents = self.network_above(query, prove)
            if parents is None:
                return False
            better = self.best_in_order(group, parents)
            if better is not None or several or weight == 1.0:
                return several if better is None else better
            beyond = max(weight, self._refuting(group[0], parents))
        return True

    def _weight(self, scores: NDArray[np.float64], beyond: float) -> float:
        """Return the weight of the scores before some moves in the objective cut."""
        if self.before is None:
            return 1.0
        families = self.store.families
        losses = self._best[families.child] - self.before - self.rewards
        gains, tuning = scores - self.before, self.task.climbing
        return best_weight(gains, losses, families.first, self.gap, tuning, beyond)

    def _refuting(self, change: Moves, parents: Dag) -> float:
        """Return the weight beyond which a network is not above the target after a move."""
        before = self.task.solution(parents, self.solution.values).score
        with self.store.changed(np.concatenate([change.fixed, change.last])):
            after = self.task.solution(parents, self.store.values).score
        return refuting_weight(before, after, self.solution.target)

    def better_dag(self) -> Solution | None:
        """Return the solution with a better DAG, or ``None`` when its own is proven the best."""
        query = self.promising(self.store.scores)
        parents = None if query is None else self.network_above(query)
        return None if parents is None else self.task.solution(parents, self.solution.values)

    def network_above(self, query: ThresholdQuery, prove: bool = True) -> Dag | None:
        """Return a network that scores more than a query's target, or ``None`` without any.

        Where that is to be proven and cannot be, the search ends.
        """
        if prove and not query.is_open:
            return None
        incumbent = self.incumbent
        outcome = best_above(
            query.problem,
            query.target,
            query.multipliers,
            self.solution.parents,
            prove=prove,
            seed=self.task.seed,
            control=SearchControl(
                on_event=lambda event: incumbent.tick(event.nodes), outer=incumbent
            ),
        )
        self.incumbent.count_nodes(outcome.nodes)
        if prove and outcome.parents is None and not outcome.proven:
            self.incumbent.expire()
        return outcome.parents

    def promising(
        self, scores: NDArray[np.float64], weight: float = 1.0, prove: bool = True
    ) -> ThresholdQuery | None:
        """Return the threshold query of the families that a better network may have.

        Their scores are those after some moves. With a weight below 1, which the DAG's proof
        allows, scores before the moves count so much. Without proof, only families not far below
        the best ones are in it. Return ``None`` where the bound excludes every network.
        """
        families, multipliers = self.store.families, self.multipliers
        target = weight * self.solution.target
        if weight < 1.0:
            assert self.before is not None, "only the DAG's proof allows of weights"
            scores = scores - (1.0 - weight) * self.before
            multipliers = replace(multipliers, values=weight * multipliers.values)
        adjusted = scores + weight * self.rewards
        best = np.maximum.reduceat(adjusted, families.first[:-1])
        bound = float(best.sum()) - multipliers.total
        if not bound > target:
            return None
        limit = target if prove else max(target, bound - self._near)
        keep = reaching(adjusted, families.child, best, bound, limit)
        problem = families.take(keep).problem(scores[keep])
        return ThresholdQuery(problem, multipliers, target) if problem.is_feasible else None

    def after(self, group: Group) -> NDArray[np.float64]:
        """Return each family's best score after any of a group's moves, shape (families,)."""
        return reduce(np.maximum, map(self._envelope, group))

    def _envelope(self, moves: Moves) -> NDArray[np.float64]:
        """Return each family's best score after any of some moves, shape (families,)."""
        store = self.store
        with store.changed(moves.fixed):
            return store.envelope(moves.last)

    def best_in_order(self, group: Group, parents: Dag) -> Solution | None:
        """Return the best solution after one of some moves, within an order, if it is better."""
        store, target = self.store, self.solution.target
        for fixed, last, _ in group:
            with store.changed(fixed):
                scores = scores_in_order(store, parents)
                totals = store.bound_moves(scores, last, np.inf)[0].sum(axis=1)
                at = int(totals.argmax())
                if totals[at] > target:
                    with store.changed(last[at : at + 1]):
                        after = scores_in_order(store, parents)
                        return self.task.solution(store.network(after), store.values)
        return None
