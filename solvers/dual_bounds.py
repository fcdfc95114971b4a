"""Multipliers without a linear program: dual ascent to begin with, subgradient steps to improve.

*Dual ascent* lists the candidates of low reduced cost. A cluster that none of them lets any member
leave can have its multiplier raised by the least reduced cost of the candidates that do, taken over
all members: the bound falls by just that, because no variable's best adjusted score changes. The
limit below which a reduced cost is low falls by halves, so that the largest steps come first
(clusters from reduced costs: Trösser, de Givry and Katsirelos 2021; the falling limit is the
scaling of augmenting path methods).

The *subgradient method* (Polyak 1969, "Minimization of unsmooth functionals") moves multipliers
towards a bound that is wanted: the step length follows from how far the bound is above it. A
candidate whose reduced cost exceeds the difference of bound and target is dropped, which makes the
following steps quicker: see :func:`~exactlearn.solvers.multipliers.reaching`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn._runtime.offsets import offsets, owners

from .clusters import disjoint_clusters
from .components import Candidates
from .multipliers import Multipliers
from .problem import Problem
from .satisfied_clusters import satisfied

FINEST = 1e-6
"""Limit of the reduced costs, relative to the first one, below which a dual ascent does not go."""

WORK = 2_000_000_000
"""Candidates looked at after which a dual ascent's multipliers so far are taken."""

STEPS = 300
"""Steps along subgradients after which lowering a bound is given up."""

OVERSHOOT = 0.1
"""How far below the bound that is wanted a step aims."""


def greedy_multipliers(problem: Candidates) -> Multipliers:
    """Return multipliers of clusters found one after the other; quick, and good for a start.

    Parameters
    ----------
    problem
        A component, or a problem whose candidates are all allowed. Every cluster
        must have a member with a candidate that leaves it (the problem is feasible).
    """
    first = problem.first
    child = problem.child.astype(np.int64)
    members = problem.members.astype(np.int64)
    member_first = problem.member_first
    work = WORK
    n = problem.n_variables
    sizes = np.diff(member_first)
    order = np.arange(n)
    owner = owners(member_first)
    # reduced costs, and the first limit: all candidates without parents are below it
    costs = np.maximum.reduceat(problem.scores, first[:-1])[child] - problem.scores
    limit = float(costs.max(where=sizes == 0, initial=0.0))
    finest = limit * FINEST
    clusters = [np.zeros((0, n), np.bool_)]
    values = [np.zeros(0)]
    while limit > finest and work > 0:
        # disjoint clusters that no candidate below the limit lets a member leave
        listed = np.flatnonzero(costs <= limit)
        disjoint = disjoint_clusters(listed, child, member_first, members, order)
        order = np.roll(order, -1)
        work = work - len(costs) - n * len(listed) // 8
        if not len(disjoint):
            limit *= 0.5
            continue
        # raise their multipliers as far as no variable's best changes
        cluster = np.where(disjoint.any(axis=0), disjoint.argmax(axis=0), -1)
        cluster_of = cluster[child]
        inside = np.bincount(
            owner[cluster[members] == cluster_of[owner]], minlength=len(costs)
        )
        leaving = np.flatnonzero((cluster_of >= 0) & (inside == 0))
        steps = np.full(len(disjoint), np.inf)
        np.minimum.at(steps, cluster_of[leaving], costs[leaving])
        # no candidate leaves the cluster: the problem has no selection
        if np.isinf(steps).any():
            break
        costs[leaving] -= steps[cluster_of[leaving]]
        clusters.append(disjoint)
        values.append(steps)
    return Multipliers(np.concatenate(clusters), np.concatenate(values))


class Tightened(NamedTuple):
    """The result of the subgradient method.

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


def tighten_bound(
    multipliers: Multipliers,
    problem: Problem,
    enough: float,
    target: float = -np.inf,
    steps: int = STEPS,
) -> Tightened:
    """Change multipliers until the bound of a related problem is low enough, if that works.

    Candidates that no selection above a target has are dropped on the way. The bounds that follow
    are those of the selections above the target, so a bound at the target excludes them.

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
        return Tightened(multipliers, np.ones(problem.n_candidates, np.bool_))
    clusters = multipliers.clusters
    counts = multipliers.counts
    # the clusters that each candidate satisfies
    candidate, meets = np.nonzero(satisfied(problem, clusters, counts).T)
    starts = offsets(np.bincount(candidate, minlength=problem.n_candidates))
    relative = problem.relative
    best, left = _polyak(
        relative.scores, problem.first, starts, np.ascontiguousarray(meets), counts,
        multipliers.values, enough - problem.offset, target - problem.offset, steps,
    )  # fmt: skip
    return Tightened(Multipliers(clusters, best, counts), left)


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
    n_clusters = len(values)
    n = len(first) - 1
    values = values.copy()
    best = values.copy()
    lowest = np.inf
    adjusted = np.empty(len(scores))
    excess = np.empty(n_clusters)
    # candidates, those of a child together
    left = np.arange(len(scores))
    begin = first.copy()
    for _ in range(steps):
        bound = _lagrangian(
            scores, left, begin, starts, meets, counts, values, adjusted, excess
        )
        # keep the best multipliers; drop candidates that no selection above the target has
        if bound < lowest:
            lowest = bound
            best[:] = values
            if bound > target:
                _drop(adjusted, bound - target, left, begin)
        # step against the subgradient, whose length sets that of the step
        norm = 0.0
        for k in range(n_clusters):
            if excess[k] < 0.0 or values[k] > 0.0:
                norm += excess[k] * excess[k]
        if lowest <= enough or norm == 0.0:
            break
        length = (bound - enough + OVERSHOOT) / norm
        for k in range(n_clusters):
            values[k] = max(0.0, values[k] - length * excess[k])
    is_left = np.zeros(len(scores), np.bool_)
    for at in range(begin[n]):
        is_left[left[at]] = True
    return best, is_left


@in_place_kernel
def _lagrangian(
    scores: NDArray[np.float64],
    left: NDArray[np.int64],
    begin: NDArray[np.int64],
    starts: NDArray[np.int64],
    meets: NDArray[np.int64],
    counts: NDArray[np.int64],
    values: NDArray[np.float64],
    adjusted: NDArray[np.float64],
    excess: NDArray[np.float64],
) -> float:
    """Return the Lagrangian bound of the candidates left.

    In place, the candidates' adjusted scores are computed, and a supergradient of the bound: by how
    much the best candidates satisfy each cluster in excess of its count.
    """
    # the constant: each multiplier times its count
    bound = 0.0
    for k in range(len(values)):
        bound -= counts[k] * values[k]
        excess[k] = -counts[k]
    # the best adjusted candidate of each variable
    for i in range(len(begin) - 1):
        top = -np.inf
        pick = left[begin[i]]
        for at in range(begin[i], begin[i + 1]):
            c = left[at]
            adjusted[c] = scores[c]
            for m in range(starts[c], starts[c + 1]):
                adjusted[c] += values[meets[m]]
            if adjusted[c] > top:
                top = adjusted[c]
                pick = c
        bound += top
        for m in range(starts[pick], starts[pick + 1]):
            excess[meets[m]] += 1.0
    return bound


@in_place_kernel
def _drop(
    adjusted: NDArray[np.float64],
    slack: float,
    left: NDArray[np.int64],
    begin: NDArray[np.int64],
) -> None:
    """Drop the candidates so far below the best ones of their children, in place."""
    kept = 0
    old = 0
    for i in range(len(begin) - 1):
        end = begin[i + 1]
        # the best of the child, then those within the slack of it
        top = -np.inf
        for at in range(old, end):
            top = max(top, adjusted[left[at]])
        for at in range(old, end):
            if adjusted[left[at]] + slack > top:
                left[kept] = left[at]
                kept += 1
        old = end
        begin[i + 1] = kept
