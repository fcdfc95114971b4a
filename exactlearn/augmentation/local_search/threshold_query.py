"""Threshold queries: does any DAG score more than a target? And what makes them smaller.

**Bound tightening.** Subgradient steps fit the multipliers to the query's target, and families that
no DAG above the target has are dropped.

**Objective cut.** Let ``s`` be a network's score before some moves, ``s + d`` that after them, and
``T`` the solution's score. Once ``s <= T`` is proven of all networks, it is a cut of the objective,
with a multiplier as any other inequality: for ``0 < w <= 1``::

    s + d - T <= w (s - T) + d

so a network that scores more than ``T`` after the moves scores more than ``w T`` in the problem of
the scores ``w s + d``. There relaxations are ``w`` times as loose as before the moves. On the other
hand a family that the moves raise is that much closer to the best ones, so the weight should be low
where moves raise little.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.parameters import ClimbingParameters
from exactlearn.solvers import Problem
from exactlearn.solvers.lp.dual_bounds import tighten_bound
from exactlearn.solvers.lp.multipliers import Multipliers


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


def best_weight(
    gains: NDArray[np.float64],
    losses: NDArray[np.float64],
    first: NDArray[np.int64],
    gap: float,
    tuning: ClimbingParameters,
    beyond: float = 0.0,
) -> float:
    """Return the weight for which a search is expected to be the shortest.

    Parameters
    ----------
    gains
        By how much moves raise each family's score at most, shape (families,).
    losses
        By how much each family is below the best one of its child before them, with multipliers.
    first
        Where each child's families begin, shape (children + 1,).
    gap
        Bound of the networks before the moves, less the target.
    tuning
        The weights to choose from, and how much a high one is worth.
    beyond
        Weights up to this one are excluded, but for 1.
    """
    worth, best = np.inf, 1.0
    for weight in tuning.weights:
        if weight <= beyond and weight < 1.0:
            break
        bound = weight * gap + np.maximum.reduceat(gains - weight * losses, first[:-1]).sum()
        if bound / weight**tuning.weight_exponent < worth:
            worth, best = bound / weight**tuning.weight_exponent, weight
    return best


def refuting_weight(before: float, after: float, target: float) -> float:
    """Return the weight beyond which a network is not above the target any more.

    Parameters
    ----------
    before, after
        Its scores before and after the moves, neither above the target.
    target
        The target.
    """
    return (after - before) / (target - before) if before < target else 1.0
