"""Multipliers without a linear program: dual ascent on minimal clusters.

The candidates of low reduced cost are listed. A cluster that none of them lets any member leave can
have its multiplier raised by the least reduced cost of the candidates that do, taken over all
members: the bound falls by just that, because no variable's best adjusted score changes. The limit
below which a reduced cost is low falls by halves, so that the largest steps come first (clusters
from reduced costs: Trösser, de Givry and Katsirelos 2021; the falling limit is the scaling of
augmenting path methods).
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel

from ..families import Candidates, families_without_choices
from .closures import disjoint_clusters, members_of
from .multipliers import Multipliers

MOST_WORK = 2_000_000_000
"""Candidates looked at after which the multipliers so far are taken."""

FINEST = 1e-6
"""Limit of the reduced costs, relative to the first one, below which it does not fall."""


def greedy_multipliers(problem: Candidates, *, work: int = MOST_WORK) -> Multipliers:
    """Return multipliers of clusters found one after the other; quick, and good for a start.

    Parameters
    ----------
    problem
        A component, or a problem whose candidates are all allowed; without choices. Every cluster
        must have a member with a candidate that leaves it (the problem is feasible).
    work
        About how many candidates to look at.
    """
    f = families_without_choices(problem)
    clusters, values = ascend(f.first, f.scores, f.child, f.member_first, f.members, FINEST, work)
    return Multipliers(clusters, values)


@kernel
def ascend(
    first: NDArray[np.int64],
    scores: NDArray[np.float64],
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    finest: float,
    work: int,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return clusters, shape (clusters, n), and their multipliers, shape (clusters,)."""
    n = len(first) - 1
    clusters = np.zeros((4 * n, n), np.bool_)
    values = np.zeros(4 * n)
    count = 0
    costs = np.empty(len(scores))
    limit = 0.0
    for v in range(n):
        best = scores[first[v] : first[v + 1]].max()
        for c in range(first[v], first[v + 1]):
            costs[c] = best - scores[c]
            if member_first[c + 1] == member_first[c]:
                limit = max(limit, costs[c])
    least = limit * finest
    turn = 0
    while limit > least and work > 0:
        listed = np.flatnonzero(costs <= limit)
        starts, parents = members_of(listed, member_first, members)
        order = (np.arange(n) + turn) % n
        turn += 1
        found = disjoint_clusters(child[listed], starts, parents, order)
        work -= len(scores) + n * len(listed) // 8
        if not len(found):
            limit = 0.5 * limit
            continue
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
    variables = np.flatnonzero(cluster)
    width = 0
    for v in variables:
        width += first[v + 1] - first[v]
    leaving = np.empty(width, np.int64)
    n_leaving = 0
    step = np.inf
    for v in variables:
        for c in range(first[v], first[v + 1]):
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
