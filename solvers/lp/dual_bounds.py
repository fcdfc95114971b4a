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
following steps quicker: see :func:`~exactlearn.solvers.lp.multipliers.reaching`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel, true_places

from ..components import Candidates, families_of
from ..problem import Problem, offsets
from .clusters import disjoint_clusters
from .multipliers import Multipliers, satisfied

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
    f = families_of(problem)
    costs = np.maximum.reduceat(f.scores, f.first[:-1])[f.child] - f.scores
    limit = float(costs.max(where=np.diff(f.member_first) == 0, initial=0.0))
    clusters, values = ascend(
        f.first, costs, f.child, f.member_first, f.members, limit, FINEST, WORK
    )
    return Multipliers(clusters, values)


@kernel
def ascend(
    first: NDArray[np.int64],
    costs: NDArray[np.float64],
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    limit: float,
    finest: float,
    work: int,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return clusters, shape (clusters, n), and their multipliers, shape (clusters,).

    Reduced costs fall in place; the limit begins where all variables can be parentless.
    """
    n = len(first) - 1
    clusters = np.zeros((4 * n, n), np.bool_)
    values = np.zeros(4 * n)
    count = 0
    least = limit * finest
    turn = 0
    while limit > least and work > 0:
        # clusters that no candidate below the limit lets a member leave
        listed = true_places(costs <= limit)
        order = (np.arange(n) + turn) % n
        turn += 1
        found = disjoint_clusters(listed, child, member_first, members, order)
        work -= len(costs) + n * len(listed) // 8
        if not len(found):
            limit = 0.5 * limit
            continue
        # raise their multipliers, in room that doubles
        for cluster in found:
            step = raise_multiplier(first, member_first, members, cluster, costs)
            if step == np.inf:
                return clusters[:count], values[:count]
            if count == len(values):
                clusters = np.concatenate((clusters, np.zeros((count, n), np.bool_)))
                values = np.concatenate((values, np.zeros(count)))
            for v in range(n):
                clusters[count, v] = cluster[v]
            values[count] = step
            count += 1
    return clusters[:count], values[:count]


@kernel
def raise_multiplier(
    first: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    cluster: NDArray[np.bool_],
    costs: NDArray[np.float64],
) -> float:
    """Raise a cluster's multiplier as far as no variable's best changes; return the step.

    The reduced costs of the candidates that satisfy the cluster fall by it, in place.
    """
    width = 0
    for v in range(len(cluster)):
        width += first[v + 1] - first[v] if cluster[v] else 0
    leaving = np.empty(width, np.int64)
    n_leaving = 0
    step = np.inf
    for v in range(len(cluster)):
        for c in range(first[v], first[v + 1] if cluster[v] else first[v]):
            leaves = True
            for at in range(member_first[c], member_first[c + 1]):
                if cluster[members[at]]:
                    leaves = False
                    break
            if leaves:
                leaving[n_leaving] = c
                n_leaving += 1
                step = min(step, costs[c])
    for k in range(n_leaving):
        costs[leaving[k]] -= step
    return step


class Tightened(NamedTuple):
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


def tighten_bound(
    multipliers: Multipliers,
    problem: Problem,
    enough: float,
    target: float = -np.inf,
    steps: int = STEPS,
    overshoot: float = OVERSHOOT,
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
    overshoot
        How far below the bound to reach a step aims.
    """
    if not len(multipliers.values):
        return Tightened(multipliers, np.ones(problem.n_candidates, np.bool_))
    clusters, counts = multipliers.clusters, multipliers.counts
    candidate, meets = np.nonzero(satisfied(problem, clusters, counts).T)
    starts = offsets(np.bincount(candidate, minlength=problem.n_candidates))
    best, left = _polyak(
        problem.scores, problem.first, starts, np.ascontiguousarray(meets), counts,
        multipliers.values, enough, target, steps, overshoot,
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
    overshoot: float,
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
        # the bound, and its subgradient: how far each cluster is from being satisfied
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
        # keep the best multipliers; drop candidates that no selection above the target has
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
        # step against the subgradient
        length = (bound - enough + overshoot) / norm
        for k in range(n_clusters):
            values[k] = max(0.0, values[k] - length * excess[k])
    is_left = np.zeros(len(scores), np.bool_)
    for at in range(begin[n]):
        is_left[left[at]] = True
    return best, is_left


@in_place_kernel
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
