"""What the proof that a pair's DAG is the best for its completion tells of changes of cells.

Let ``s`` be a network's score before some changes, ``s + d`` that after them, and ``T`` the pair's
score. Once ``s <= T`` is proven of all networks, it is a cut of the objective, with a multiplier as
any other inequality: for ``0 < w <= 1``::

    s + d - T <= w (s - T) + d

so a network that scores more than ``T`` after the changes scores more than ``w T`` in the problem
of the scores ``w s + d``. There relaxations are ``w`` times as loose as before the changes. On the
other hand a family that the changes raise is that much closer to the best ones, so the weight
should be low where changes raise little.
"""

import numpy as np
from numpy.typing import NDArray

WEIGHTS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18)
"""Weights of the scores before the changes, falling; with 1 the question is the original one."""

LOOSENESS = 0.5
"""Of two weights with the same bound the higher one leaves fewer families and states: a bound that
a weight is worth counts divided by this power of it."""


def best_weight(
    gains: NDArray[np.float64],
    losses: NDArray[np.float64],
    first: NDArray[np.int64],
    gap: float,
    beyond: float = 0.0,
) -> float:
    """Return the weight for which a search is expected to be the shortest.

    Parameters
    ----------
    gains
        By how much changes raise each family's score at most, shape (families,).
    losses
        By how much each family is below the best one of its child before them, with multipliers.
    first
        Where each child's families begin, shape (children + 1,).
    gap
        How far the bound of the networks before the changes is above the target.
    beyond
        Weights up to this one are out of question, but for 1.
    """
    worth, best = np.inf, 1.0
    for weight in WEIGHTS:
        if weight <= beyond and weight < 1.0:
            break
        bound = weight * gap + np.maximum.reduceat(gains - weight * losses, first[:-1]).sum()
        if bound / weight**LOOSENESS < worth:
            worth, best = bound / weight**LOOSENESS, weight
    return best


def refuting_weight(before: float, after: float, target: float) -> float:
    """Return the weight beyond which a network is not above the target any more.

    Parameters
    ----------
    before, after
        Its scores before and after the changes, neither above the target.
    target
        The target.
    """
    return (after - before) / (target - before) if before < target else 1.0
