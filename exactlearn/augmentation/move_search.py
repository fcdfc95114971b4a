"""The search for a better solution after one of a group of moves.

A group of moves is searched at once: where every family has the best score that any of them gives
it, a network scores at least what it scores after each of them, so no move of the group is worth a
look when no network of the group's *envelope* is above the target. Multipliers of clusters, those
of the completion's own linear relaxation, leave few families, and the order graph the few sets of
variables that matter (:mod:`exactlearn.solvers.decision`).

**Bound tightening.** Subgradient steps fit the multipliers to the query's target, and families that
no DAG above the target has are dropped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl
from exactlearn.augmentation.coordinate_ascent import scores_in_order
from exactlearn.augmentation.families import Dag
from exactlearn.augmentation.family_store import FamilyStore
from exactlearn.augmentation.solutions import Incumbent, Solution
from exactlearn.augmentation.task import Task
from exactlearn.solvers import Problem
from exactlearn.solvers.decision import best_above
from exactlearn.solvers.lp.dual_bounds import tighten_bound
from exactlearn.solvers.lp.multipliers import Multipliers, reaching

# Bounds that multipliers are tightened to, one after the other: so many gaps of the solution's own
# DAG above the target, and subgradient steps towards each.
TARGET_GAPS, TARGET_STEPS = (1.3, 0.8, 0.4, 0.0), 100

Moves = NDArray[np.int64]
"""Moves of as many cells each: row, variable and new state of each cell, shape (moves, cells, 3).

Those with the same cells but for the last one stand together, these in order of variables.
"""


def by_prefix(moves: Moves) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the cells that some moves change alike, shape (cells, 3), and each one's last."""
    differ = (np.diff(moves[:, :-1], axis=0) != 0).any(axis=(1, 2))
    for alike in np.split(moves, 1 + np.flatnonzero(differ)):
        yield alike[0, :-1], alike[:, -1]


class ThresholdQuery(NamedTuple):
    """The question whether any DAG scores more than a target.

    Attributes
    ----------
    problem
        The problem; when it has no selection at all, the outcome is no.
    multipliers
        Clusters of its variables with multipliers.
    target
        Score that a DAG must exceed.
    """

    problem: Problem
    multipliers: Multipliers
    target: float

    @property
    def is_open(self) -> bool:
        """Whether the multipliers leave room for a selection above the target."""
        return self.problem.is_feasible and self.multipliers.bound(self.problem) > self.target


def tightened(query: ThresholdQuery, goals: Sequence[float], steps: int) -> ThresholdQuery:
    """Bound tightening: lower a query's bound from goal to goal, and drop families.

    Families go that no DAG above the target has. The first goal that is not reached is the last one
    that is tried: where there is an integrality gap, steps towards a bound far below it lead
    nowhere.

    Parameters
    ----------
    query
        The query, its problem feasible.
    goals
        Bounds to reach, none above the one before it, nor below the target but the last.
    steps
        Subgradient steps for each.
    """
    problem, multipliers, target = query
    bound = multipliers.bound(problem)
    for goal in goals:
        if bound <= goal:
            continue
        multipliers, left = tighten_bound(multipliers, problem, goal, target, steps)
        problem = problem.select(left)
        if not problem.is_feasible:
            break
        bound = multipliers.bound(problem)
        if bound > goal:
            break
    return ThresholdQuery(problem, multipliers, target)


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
    """

    task: Task
    incumbent: Incumbent
    solution: Solution
    store: FamilyStore
    multipliers: Multipliers

    @cached_property
    def rewards(self) -> NDArray[np.float64]:
        """The multipliers of each family's satisfied clusters, summed, shape (families,)."""
        return self.multipliers.adjusted(self.store.families.flat)

    def among(self, keep: NDArray[np.bool_]) -> "MoveSearch":
        """Return a search among some of the families, shape (families,)."""
        return replace(self, store=self.store.select(keep))

    @cached_property
    def gap(self) -> float:
        """Bound of the networks before any move, less the target."""
        scores = self.store.scores + self.rewards
        best = np.maximum.reduceat(scores, self.store.families.first[:-1])
        return max(0.0, float(best.sum()) - self.multipliers.total - self.solution.target)

    def bounds(self, moves: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return each child's best score with multipliers after each move, shape (moves, children).

        Less the multipliers' total, their sum bounds the networks after it. Also return the
        families that a better network may have, with some others.
        """
        scores = self.store.scores + self.rewards
        return self.store.bound_moves(scores, moves, self.solution.target + self.multipliers.total)

    def look(self, moves: Moves) -> Solution | bool:
        """Return a better solution, or whether the moves' envelope leaves room for any."""
        query = self.promising(self.after(moves))
        if query is None:
            return False
        goals = [query.target + k * self.gap for k in TARGET_GAPS]
        parents = self.network_above(tightened(query, goals, TARGET_STEPS))
        if parents is None:
            return False
        return self.best_in_order(moves, parents) or len(moves) > 1

    def better_dag(self) -> Solution | None:
        """Return the solution with a better DAG, or ``None`` when its own is proven the best."""
        query = self.promising(self.store.scores)
        parents = None if query is None else self.network_above(query)
        return None if parents is None else self.task.solution(parents, self.solution.values)

    def network_above(self, query: ThresholdQuery) -> Dag | None:
        """Return a network that scores more than a query's target, or ``None`` without any.

        Where that cannot be proven, the search ends.
        """
        if not query.is_open:
            return None
        incumbent = self.incumbent
        outcome = best_above(
            query.problem,
            query.target,
            query.multipliers,
            self.solution.parents,
            seed=self.task.seed,
            control=SearchControl(
                on_event=lambda event: incumbent.tick(event.nodes), outer=incumbent
            ),
        )
        self.incumbent.count_nodes(outcome.nodes)
        if outcome.parents is None and not outcome.proven:
            self.incumbent.expire()
        return outcome.parents

    def promising(self, scores: NDArray[np.float64]) -> ThresholdQuery | None:
        """Return the threshold query of the families that a better network may have.

        Their scores are those after some moves. Return ``None`` where the bound excludes every
        network.
        """
        families, target = self.store.families, self.solution.target
        adjusted = scores + self.rewards
        best = np.maximum.reduceat(adjusted, families.first[:-1])
        bound = float(best.sum()) - self.multipliers.total
        if not bound > target:
            return None
        keep = reaching(adjusted, families.child, best, bound, target)
        problem = families.take(keep).problem(scores[keep])
        return ThresholdQuery(problem, self.multipliers, target) if problem.is_feasible else None

    def after(self, moves: Moves) -> NDArray[np.float64]:
        """Return each family's best score after any of some moves, shape (families,)."""
        return reduce(np.maximum, (self._envelope(*alike) for alike in by_prefix(moves)))

    def _envelope(self, fixed: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.float64]:
        with self.store.changed(fixed):
            return self.store.envelope(last)

    def best_in_order(self, moves: Moves, parents: Dag) -> Solution | None:
        """Return the best solution after one of some moves, within an order, if it is better."""
        store, target = self.store, self.solution.target
        for fixed, last in by_prefix(moves):
            with store.changed(fixed):
                scores = scores_in_order(store, parents)
                totals = store.bound_moves(scores, last, np.inf)[0].sum(axis=1)
                at = int(totals.argmax())
                if totals[at] > target:
                    with store.changed(last[at : at + 1]):
                        after = scores_in_order(store, parents)
                        return self.task.solution(store.network(after), store.values)
        return None
