"""Minimal clusters that no listed candidate lets any member leave.

Variables with a listed candidate whose parents are all placed are placed; those that never are form
a cluster, every listed candidate of whose members has a parent in it. It is made minimal by placing
further members by force as long as a cluster remains (the idea of Trösser, de Givry and Katsirelos
2021, "Improved acyclicity reasoning for Bayesian network structure learning with constraint
programming"). Counts of the parents still missing make each placing linear in what it touches.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import count_true, in_place_kernel, kernel, overwrite


@kernel
def members_of(
    listed: NDArray[np.int64], member_first: NDArray[np.int64], members: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the parents of listed candidates, one after the other, and where each begins."""
    starts = np.zeros(len(listed) + 1, np.int64)
    for s in range(len(listed)):
        starts[s + 1] = starts[s] + member_first[listed[s] + 1] - member_first[listed[s]]
    parents = np.empty(starts[-1], np.int64)
    for s in range(len(listed)):
        for k in range(starts[s + 1] - starts[s]):
            parents[starts[s] + k] = members[member_first[listed[s]] + k]
    return starts, parents


@kernel
def users_of(
    member_first: NDArray[np.int64], members: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each variable the listed candidates that have it as a parent."""
    starts = np.zeros(n + 2, np.int64)
    for parent in members:
        starts[parent + 2] += 1
    for v in range(n):
        starts[v + 2] += starts[v + 1]
    users = np.empty(len(members), np.int64)
    for s in range(len(member_first) - 1):
        for at in range(member_first[s], member_first[s + 1]):
            users[starts[members[at] + 1]] = s
            starts[members[at] + 1] += 1
    return starts[: n + 1], users


@in_place_kernel
def place(
    queue: NDArray[np.int64],
    waiting: int,
    child: NDArray[np.int64],
    starts: NDArray[np.int64],
    users: NDArray[np.int64],
    missing: NDArray[np.int64],
    left: NDArray[np.bool_],
) -> int:
    """Place the variables of the queue, and all that can be then, in place; return how many.

    Parameters
    ----------
    queue, waiting
        Variables taken from ``left`` already, and their number; as long as there are variables.
    starts, users
        Candidates that have each variable as a parent.
    missing
        How many parents of each candidate are left.
    left
        Which variables are not placed.
    """
    done = 0
    while done < waiting:
        v = queue[done]
        done += 1
        for at in range(starts[v], starts[v + 1]):
            s = users[at]
            missing[s] -= 1
            if missing[s] == 0 and left[child[s]]:
                left[child[s]] = False
                queue[waiting] = child[s]
                waiting += 1
    return done


@kernel
def begin_placing(
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    starts: NDArray[np.int64],
    users: NDArray[np.int64],
    n: int,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Place all that can be; return how many parents each candidate misses, and what is left.

    Variables without a listed candidate count as placed.
    """
    left = np.zeros(n, np.bool_)
    missing = np.empty(len(child), np.int64)
    for s in range(len(child)):
        left[child[s]] = True
        missing[s] = member_first[s + 1] - member_first[s]
    queue = np.empty(n, np.int64)
    waiting = 0
    for v in range(n):
        if not left[v]:
            queue[waiting] = v
            waiting += 1
    for s in range(len(child)):
        if missing[s] == 0 and left[child[s]]:
            left[child[s]] = False
            queue[waiting] = child[s]
            waiting += 1
    place(queue, waiting, child, starts, users, missing, left)
    return missing, left


@kernel
def minimal_cluster(
    child: NDArray[np.int64],
    starts: NDArray[np.int64],
    users: NDArray[np.int64],
    missing: NDArray[np.int64],
    left: NDArray[np.bool_],
    order: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return a minimal cluster among the variables left, shape (n,); none are placed for good.

    Members are placed by force in the given order.
    """
    cluster, short = left.copy(), missing.copy()
    size = count_true(cluster)
    queue = np.empty(len(left), np.int64)
    trial, tried = cluster.copy(), short.copy()
    for v in order:
        if not cluster[v]:
            continue
        trial[v] = False
        queue[0] = v
        placed = place(queue, 1, child, starts, users, tried, trial)
        if placed < size:
            size -= placed
            overwrite(cluster, trial)
            overwrite(short, tried)
        else:
            overwrite(trial, cluster)
            overwrite(tried, short)
    return cluster


@kernel
def disjoint_clusters(
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    order: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return minimal clusters without common members, shape (found, n)."""
    n = len(order)
    starts, users = users_of(member_first, members, n)
    missing, left = begin_placing(child, member_first, starts, users, n)
    found = np.zeros((n // 2, n), np.bool_)
    n_found = 0
    queue = np.empty(n, np.int64)
    while count_true(left):
        cluster = minimal_cluster(child, starts, users, missing, left, order)
        overwrite(found[n_found], cluster)
        n_found += 1
        waiting = 0
        for v in range(n):
            if cluster[v]:
                queue[waiting] = v
                left[v] = False
                waiting += 1
        place(queue, waiting, child, starts, users, missing, left)
    return found[:n_found]
