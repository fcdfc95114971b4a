"""Search for clusters whose inequality a fractional selection violates.

Three searches: circuits of short length; variables left over when all that can be placed are
placed; and walks that move one variable at a time into or out of a cluster. They are quick and
miss little; :mod:`exactlearn.solvers.cluster_program` misses nothing.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel, overwrite
from exactlearn.solvers.clusters import LEAST, POSITIVE, Support, short_circuits, violations

MANY_VARIABLES, ENOUGH = 100, 20
"""With more variables, this many violated clusters make the slower search unnecessary."""

MOST_SOURCES = 30
"""Variables from which left-over clusters are shrunk, for each threshold."""


def violated_clusters(support: Support, n: int, most: int) -> NDArray[np.bool_]:
    """Return clusters whose inequality is violated, the most violated first, shape (found, n)."""
    circuits = short_circuits(*support, n, most)
    closed = closed_clusters(*support, n, most)
    quick = _best(np.concatenate([circuits, closed]), support, most)
    if n > MANY_VARIABLES and len(quick) > ENOUGH:
        return quick
    seeds = np.unique(np.concatenate([quick, closed]), axis=0)[:n]
    return _best(np.concatenate([quick, walk_clusters(*support, n, seeds)]), support, most)


def _best(clusters: NDArray[np.bool_], support: Support, most: int) -> NDArray[np.bool_]:
    """Keep the most violated of the different clusters."""
    clusters = np.unique(clusters[clusters.any(axis=1)], axis=0)
    violation = violations(*support, clusters)
    rank = np.argsort(-violation, kind="stable")[:most]
    return clusters[rank[violation[rank] > LEAST]]


@kernel
def closed_clusters(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    n: int,
    most: int,
) -> NDArray[np.bool_]:
    """Return minimal clusters that no larger candidate lets anybody leave, shape (found, n).

    For some thresholds the candidates below it are left out of account. Variables with a candidate
    inside what is placed are placed; those that never are form a cluster whose members have all
    their larger candidates' parents meet it. It is shrunk by placing further members by force as
    long as a cluster remains (the idea of Trösser, de Givry and Katsirelos 2021, "Improved
    acyclicity reasoning for Bayesian network structure learning with constraint programming").
    """
    thresholds = (POSITIVE, 0.1, 0.2, 0.3, 0.4)
    found = np.zeros((most, n), np.bool_)
    n_found = 0
    start = np.zeros(n, np.bool_)
    for threshold in thresholds:
        whole = left_over(child, x, member_first, members, start, threshold)
        for source in range(0, n, 1 + n // MOST_SOURCES):
            if n_found == most or not whole.any():
                break
            if whole[source]:
                smaller = _shrink(child, x, member_first, members, whole, source, threshold)
                overwrite(found[n_found], smaller)
                n_found += 1
    return found[:n_found]


@kernel
def left_over(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    placed: NDArray[np.bool_],
    threshold: float,
) -> NDArray[np.bool_]:
    """Return the variables that cannot be placed after the given ones, shape (n,)."""
    left = ~placed
    moved = True
    while moved:
        moved = False
        for s in range(len(x)):
            if x[s] > threshold and left[child[s]]:
                free = True
                for at in range(member_first[s], member_first[s + 1]):
                    if left[members[at]]:
                        free = False
                        break
                if free:
                    left[child[s]] = False
                    moved = True
    return left


@kernel
def _shrink(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    whole: NDArray[np.bool_],
    source: int,
    threshold: float,
) -> NDArray[np.bool_]:
    """Place members by force, beginning after the source, as long as some cannot be placed."""
    n = len(whole)
    cluster = whole.copy()
    for step in range(1, n):
        v = (source + step) % n
        if cluster[v]:
            placed = ~cluster
            placed[v] = True
            smaller = left_over(child, x, member_first, members, placed, threshold)
            if smaller.any():
                cluster = smaller
    return cluster


@kernel
def walk_clusters(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    n: int,
    seeds: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return the best cluster met from each variable, grown or peeled, and from each seed.

    Rows of variables that are in no violated cluster are empty.
    """
    whole = _hopeful(child, x, member_first, members, n)
    found = np.zeros((2 * n + len(seeds), n), np.bool_)
    for v in range(n):
        if whole[v]:
            found[2 * v, v] = True
            _walk(child, x, member_first, members, found[2 * v], whole, v, 1, n)
            overwrite(found[2 * v + 1], whole)
            _walk(child, x, member_first, members, found[2 * v + 1], whole, v, -1, n)
    for k in range(len(seeds)):
        overwrite(found[2 * n + k], seeds[k])
    for k in range(len(found)):
        if found[k].any():
            steps = 12 + 2 * int(found[k].sum())
            _walk(child, x, member_first, members, found[k], whole, -1, 0, steps)
    return found


@kernel
def _hopeful(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    n: int,
) -> NDArray[np.bool_]:
    """Return the variables with a positive parent and a positive child: others help no cluster."""
    has_parent, has_child = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for s in range(len(x)):
        for at in range(member_first[s], member_first[s + 1]):
            has_parent[child[s]] = True
            has_child[members[at]] = True
    return has_parent & has_child


@kernel
def _walk(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    cluster: NDArray[np.bool_],
    whole: NDArray[np.bool_],
    kept: int,
    direction: int,
    patience: int,
) -> None:
    """Move variables into or out of a cluster; it becomes the best one of two or more met.

    Each move is the best one that does not undo a recent one; with ``direction`` 1 or -1 variables
    only enter or leave. ``kept`` stays. The walk ends ``patience`` moves after its last gain.
    """
    n, tenure = len(cluster), 4 if direction == 0 else len(cluster)
    free_from = np.zeros(n, np.int64)
    inside = np.zeros(len(x), np.int64)
    own = np.zeros(n)
    current = np.zeros(n, np.bool_)
    for v in range(n):
        if cluster[v]:
            _flip(child, x, member_first, members, current, inside, own, v)
    size = int(cluster.sum())
    now = 1.0 - size
    for v in range(n):
        now += own[v] if cluster[v] else 0.0
    best = now if size > 1 else -1.0 * n
    since = 0
    step = 0
    while since < patience:
        step += 1
        gain = _gains(child, x, member_first, members, current, inside, own)
        pick = -1
        for v in range(n):
            if not whole[v] or v == kept or (current[v] and size == 1):
                continue
            if direction != 0 and current[v] != (direction < 0):
                continue
            if free_from[v] > step and now + gain[v] <= best + LEAST:
                continue
            if pick < 0 or gain[v] > gain[pick] + 1e-12:
                pick = v
        if pick < 0:
            break
        now += gain[pick]
        size += -1 if current[pick] else 1
        _flip(child, x, member_first, members, current, inside, own, pick)
        free_from[pick] = step + tenure
        since += 1
        if size > 1 and now > best + 1e-9:
            best = now
            overwrite(cluster, current)
            since = 0


@kernel
def _gains(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    current: NDArray[np.bool_],
    inside: NDArray[np.int64],
    own: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return what each variable's move changes in the violation, shape (n,)."""
    gain = np.empty(len(current))
    for v in range(len(current)):
        gain[v] = 1.0 - own[v] if current[v] else own[v] - 1.0
    for s in range(len(x)):
        if current[child[s]] and inside[s] <= 1:
            for at in range(member_first[s], member_first[s + 1]):
                v = members[at]
                if inside[s] == 0:
                    gain[v] += x[s]
                elif current[v]:
                    gain[v] -= x[s]
    return gain


@kernel
def _flip(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    current: NDArray[np.bool_],
    inside: NDArray[np.int64],
    own: NDArray[np.float64],
    moved: int,
) -> None:
    """Move one variable, and keep count: parents inside, and value of candidates with any."""
    change = -1 if current[moved] else 1
    current[moved] = not current[moved]
    for s in range(len(x)):
        for at in range(member_first[s], member_first[s + 1]):
            if members[at] == moved:
                had = inside[s] > 0
                inside[s] += change
                if had != (inside[s] > 0):
                    own[child[s]] += change * x[s]
                break
