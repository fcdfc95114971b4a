"""Lower a bound by changing the multipliers of its clusters, without a linear program.

Steps of Polyak along subgradients (Polyak 1969, "Minimization of unsmooth functionals"): what is
wanted is any point of a convex set, and the step length that leads to it follows from how far the
bound is above the one wanted. What bounds tell of candidates makes the steps that follow quicker:
see :func:`~exactlearn.solvers.lp.multipliers.reaching`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel

from ..problem import Problem, offsets
from .multipliers import Multipliers, satisfied

MOST_STEPS = 300
"""Subgradient steps after which lowering a bound is given up, unless told otherwise."""

AIM = 0.1
"""How far below the bound that is wanted a subgradient step aims."""


class Lowered(NamedTuple):
    """What steps along subgradients have reached.

    Attributes
    ----------
    multipliers
        Those of the lowest bound met.
    left
        Candidates that a selection above the target may have, shape (m,); one of each variable at
        least.
    """

    multipliers: Multipliers
    left: NDArray[np.bool_]


def lower(
    multipliers: Multipliers,
    problem: Problem,
    enough: float,
    target: float = -np.inf,
    steps: int = MOST_STEPS,
) -> Lowered:
    """Change multipliers until the bound of a related problem is low enough, if that works.

    Candidates that no selection above a target has are dropped on the way. The bounds that follow
    are those of the selections above the target, so they tell whether there are any.

    Parameters
    ----------
    multipliers
        Those to begin with.
    problem
        A problem whose candidates are all allowed, each variable having one at least.
    enough
        The bound to reach, at most the target where there is one.
    target
        What selections in question score more than.
    steps
        Subgradient steps after which it is given up.
    """
    if not len(multipliers.values):
        return Lowered(multipliers, np.ones(problem.n_candidates, np.bool_))
    clusters, counts = multipliers.clusters, multipliers.counts
    candidate, meets = np.nonzero(satisfied(problem, clusters, counts).T)
    starts = offsets(np.bincount(candidate, minlength=problem.n_candidates))
    best, left = _polyak(
        problem.scores, problem.first, starts, np.ascontiguousarray(meets), counts,
        multipliers.values, enough, target, steps,
    )  # fmt: skip
    return Lowered(Multipliers(clusters, best, counts), left)


@kernel
def _polyak(
    scores: NDArray[np.float64],
    first: NDArray[np.int64],
    starts: NDArray[np.int64],
    meets: NDArray[np.int64],
    counts: NDArray[np.int64],
    values: NDArray[np.float64],
    enough: float,
    target: float,
    steps: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the multipliers of the lowest bound met, and which candidates are left.

    ``meets`` lists the clusters that each candidate satisfies, from ``starts`` on.
    """
    n_clusters, n = len(values), len(first) - 1
    values = values.copy()
    best, lowest = values.copy(), np.inf
    adjusted, excess = np.empty(len(scores)), np.empty(n_clusters)
    left, begin = np.arange(len(scores)), first.copy()  # candidates, those of a child together
    for _ in range(steps):
        bound, norm = 0.0, 0.0
        for k in range(n_clusters):
            bound -= counts[k] * values[k]
            excess[k] = -counts[k]
        for i in range(n):
            top = -np.inf
            pick = left[begin[i]]
            for at in range(begin[i], begin[i + 1]):
                c = left[at]
                adjusted[c] = scores[c]
                for m in range(starts[c], starts[c + 1]):
                    adjusted[c] += values[meets[m]]
                if adjusted[c] > top:
                    top, pick = adjusted[c], c
            bound += top
            for m in range(starts[pick], starts[pick + 1]):
                excess[meets[m]] += 1.0
        if bound < lowest:
            lowest = bound
            best[:] = values
            if bound > target:
                _drop(adjusted, bound - target, left, begin)
        for k in range(n_clusters):
            if excess[k] < 0.0 or values[k] > 0.0:
                norm += excess[k] ** 2
        if lowest <= enough or norm == 0.0:
            break
        length = (bound - enough + AIM) / norm
        for k in range(n_clusters):
            values[k] = max(0.0, values[k] - length * excess[k])
    is_left = np.zeros(len(scores), np.bool_)
    for at in range(begin[n]):
        is_left[left[at]] = True
    return best, is_left


@kernel
def _drop(
    adjusted: NDArray[np.float64], slack: float, left: NDArray[np.int64], begin: NDArray[np.int64]
) -> None:
    """Drop the candidates so far below the best ones of their children, in place."""
    kept, old = 0, 0
    for i in range(len(begin) - 1):
        end = begin[i + 1]
        top = -np.inf
        for at in range(old, end):
            top = max(top, adjusted[left[at]])
        for at in range(old, end):
            if adjusted[left[at]] + slack > top:
                left[kept] = left[at]
                kept += 1
        old = end
        begin[i + 1] = kept
