"""Separation: clusters whose inequality a fractional selection violates.

Three searches, from quick to thorough:

1. circuits of short length (:mod:`exactlearn.solvers.lp.clusters`), and minimal clusters that no
   larger candidate lets any member leave (:mod:`exactlearn.solvers.lp.closures`);
2. walks that move one variable at a time into or out of a cluster;
3. clusters with a count above one (Cussens 2011, "Bayesian network learning with cutting planes").
   They are few, yet they close much of what cluster inequalities leave: for three variables and
   count two, one of them at most has both others as parents. Each positive candidate with k parents
   or more gives seeds, which are its child with k of the parents; walks grow them. Where only whole
   candidates have so many, their arcs close a circuit, which plain clusters cut off.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import count_true, in_place_kernel, kernel, overwrite, true_places

from ..parameters import DEFAULTS, SeparationParameters
from .closures import disjoint_clusters, members_of
from .clusters import (
    LEAST,
    POSITIVE,
    Counted,
    Support,
    counted_violations,
    first_of_each,
    short_circuits,
    violations,
)


def separate(
    support: Support,
    n: int,
    most: int,
    rng: np.random.Generator,
    found: Counted,
    parameters: SeparationParameters = DEFAULTS.cutting_planes.separation,
) -> Counted:
    """Add violated clusters to those found: counted seeds, and where these are few all that is met.

    Parameters
    ----------
    support, n
        A fractional selection of ``n`` variables.
    most
        Clusters that each search adds at most.
    rng
        Source of randomness.
    found
        Violated clusters that are known, such as those of :func:`quick_clusters` or of a pool.
    parameters
        Tuning constants.
    """
    seeds = counted_clusters(support, n, most, parameters, walk=False)
    found = Counted.join(found, seeds)
    if len(found) >= parameters.few:
        return found
    plain = violated_clusters(support, n, most, rng, parameters)
    counted = counted_clusters(support, n, most, parameters)
    return Counted.join(found, Counted.of(plain), counted)


def violated_clusters(
    support: Support,
    n: int,
    most: int,
    rng: np.random.Generator | None = None,
    parameters: SeparationParameters = DEFAULTS.cutting_planes.separation,
) -> NDArray[np.bool_]:
    """Return clusters whose inequality is violated, the most violated first, shape (found, n)."""
    found = quick_clusters(support, n, most, rng, parameters)
    few = len(found) < parameters.few
    return slow_clusters(support, n, found, most, rng, parameters) if few else found


def quick_clusters(
    support: Support,
    n: int,
    most: int,
    rng: np.random.Generator | None = None,
    parameters: SeparationParameters = DEFAULTS.cutting_planes.separation,
) -> NDArray[np.bool_]:
    """Return what the two quicker searches find, the most violated first, shape (found, n)."""
    rng = np.random.default_rng(0) if rng is None else rng
    circuits = short_circuits(*support, n, most)
    orders = rng.permuted(np.tile(np.arange(n), (parameters.orders, 1)), axis=1)
    thresholds = np.array([POSITIVE, *parameters.thresholds])
    closed = closed_clusters(*support, orders, thresholds, most)
    return _best(np.concatenate([circuits, closed]), support, most)


def slow_clusters(
    support: Support,
    n: int,
    seeds: NDArray[np.bool_],
    most: int,
    rng: np.random.Generator | None = None,
    parameters: SeparationParameters = DEFAULTS.cutting_planes.separation,
) -> NDArray[np.bool_]:
    """Return the seeds, shape (seeds, n), and what walks from them and from variables find."""
    rng = np.random.default_rng(0) if rng is None else rng
    sources = np.sort(rng.permutation(np.unique(support.members))[: parameters.most_starts])
    walks = walk_clusters(*support, n, sources, seeds, 1)
    return _best(np.concatenate([seeds, walks]), support, most)


def _best(clusters: NDArray[np.bool_], support: Support, most: int) -> NDArray[np.bool_]:
    """Keep the most violated of the different clusters."""
    clusters = clusters[clusters.any(axis=1)]
    clusters = clusters[first_of_each(clusters)]
    violation = violations(support, clusters)
    rank = np.argsort(-violation, kind="stable")[:most]
    return clusters[rank[violation[rank] > LEAST]]


@kernel
def closed_clusters(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    orders: NDArray[np.int64],
    thresholds: NDArray[np.float64],
    most: int,
) -> NDArray[np.bool_]:
    """Return minimal clusters that no larger candidate lets anybody leave, shape (found, n).

    At most about ``most``, for all thresholds together and each of the orders, shape (orders, n).
    """
    n = orders.shape[1]
    found = np.zeros((most, n), np.bool_)
    n_found = 0
    for threshold in thresholds:
        listed = true_places(x > threshold)
        starts, parents = members_of(listed, member_first, members)
        for o in range(len(orders)):
            clusters = disjoint_clusters(child[listed], starts, parents, orders[o])
            for k in range(min(len(clusters), most - n_found)):
                overwrite(found[n_found], clusters[k])
                n_found += 1
            if not len(clusters):
                break
    return found[:n_found]


@kernel
def walk_clusters(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    n: int,
    sources: NDArray[np.int64],
    seeds: NDArray[np.bool_],
    count: int,
) -> NDArray[np.bool_]:
    """Return the best cluster met from each source, grown or peeled, and from each seed.

    Rows of sources that are in no violated cluster are empty.
    """
    whole = _hopeful(child, member_first, members, n)
    child, x, member_first, members = _among(child, x, member_first, members, whole)
    found = np.zeros((2 * len(sources) + len(seeds), n), np.bool_)
    for k in range(len(sources)):
        v = sources[k]
        if whole[v]:
            found[2 * k, v] = True
            _walk(child, x, member_first, members, found[2 * k], whole, v, 1, n, count)
            overwrite(found[2 * k + 1], whole)
            _walk(child, x, member_first, members, found[2 * k + 1], whole, v, -1, n, count)
    for k in range(len(seeds)):
        overwrite(found[2 * len(sources) + k], seeds[k])
    for k in range(len(found)):
        size = count_true(found[k])
        if size:
            steps = 12 + 2 * size
            _walk(child, x, member_first, members, found[k], whole, -1, 0, steps, count)
    return found


@kernel
def _hopeful(
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    n: int,
) -> NDArray[np.bool_]:
    """Return the variables that have, among themselves, a positive parent and a positive child.

    Others help no cluster.
    """
    whole = np.ones(n, np.bool_)
    size = n + 1
    while count_true(whole) < size:
        size = count_true(whole)
        has_parent, has_child = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        for s in range(len(child)):
            for at in range(member_first[s], member_first[s + 1]):
                if whole[child[s]] and whole[members[at]]:
                    has_parent[child[s]] = True
                    has_child[members[at]] = True
        whole = has_parent & has_child
    return whole


@kernel
def _among(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    whole: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the support without other variables; candidates without parents among them are out."""
    kept = np.empty(len(x), np.int64)
    starts = np.zeros(len(x) + 1, np.int64)
    held = np.empty(len(members), np.int64)
    count, total = 0, 0
    for s in range(len(x)):
        if whole[child[s]]:
            for at in range(member_first[s], member_first[s + 1]):
                if whole[members[at]]:
                    held[total] = members[at]
                    total += 1
            if total > starts[count]:
                kept[count] = s
                count += 1
                starts[count] = total
    rows = kept[:count]
    return child[rows], x[rows], starts[: count + 1], held[:total]


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
    count: int,
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
    # the violation of the cluster to begin with
    for v in range(n):
        if cluster[v]:
            _flip(child, x, member_first, members, current, inside, own, v, count)
    size = count_true(cluster)
    now = 1.0 * count - size
    for v in range(n):
        now += own[v] if cluster[v] else 0.0
    best = now if size > count else -1.0 * n
    since = 0
    step = 0
    while since < patience:
        step += 1
        gain = _gains(child, x, member_first, members, current, inside, own, count)
        # the best move that does not undo a recent one, unless it leads to the best cluster
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
        # move, and keep the best cluster met
        now += gain[pick]
        size += -1 if current[pick] else 1
        _flip(child, x, member_first, members, current, inside, own, pick, count)
        free_from[pick] = step + tenure
        since += 1
        if size > count and now > best + 1e-9:
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
    count: int,
) -> NDArray[np.float64]:
    """Return what each variable's move changes in the violation, shape (n,)."""
    gain = np.empty(len(current))
    for v in range(len(current)):
        gain[v] = 1.0 - own[v] if current[v] else own[v] - 1.0
    for s in range(len(x)):
        if current[child[s]] and count - 1 <= inside[s] <= count:
            for at in range(member_first[s], member_first[s + 1]):
                v = members[at]
                if inside[s] < count and not current[v]:
                    gain[v] += x[s]
                elif inside[s] == count and current[v]:
                    gain[v] -= x[s]
    return gain


@in_place_kernel
def _flip(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    current: NDArray[np.bool_],
    inside: NDArray[np.int64],
    own: NDArray[np.float64],
    moved: int,
    count: int,
) -> None:
    """Move one variable, and keep count: parents inside, and value of candidates with enough."""
    change = -1 if current[moved] else 1
    current[moved] = not current[moved]
    for s in range(len(x)):
        for at in range(member_first[s], member_first[s + 1]):
            if members[at] == moved:
                had = inside[s] >= count
                inside[s] += change
                if had != (inside[s] >= count):
                    own[child[s]] += change * x[s]
                break


def counted_clusters(
    support: Support,
    n: int,
    most: int,
    parameters: SeparationParameters = DEFAULTS.cutting_planes.separation,
    *,
    walk: bool = True,
) -> Counted:
    """Return violated clusters with counts above one, for each count the most violated.

    Without walks, these are seeds.
    """
    walks = parameters.most_walks if walk else 0
    found = [Counted.of(np.zeros((0, n), np.bool_))]
    for count in parameters.counts:
        seeds = family_seeds(*support, n, count, parameters.most_seeds)
        found.append(_with_count(support, seeds, count, most, walks))
    return Counted.join(*found)


def _with_count(
    support: Support, seeds: NDArray[np.bool_], count: int, most: int, most_walks: int
) -> Counted:
    seeds, violation = _ranked(seeds, support, count)
    none = np.zeros(0, np.int64)
    walks = walk_clusters(*support, seeds.shape[1], none, seeds[:most_walks], count)
    found = np.concatenate([seeds[violation > LEAST][:most], walks])
    found, violation = _ranked(found, support, count)
    return Counted.of(found[violation > LEAST][:most], count)


def _ranked(
    clusters: NDArray[np.bool_], support: Support, count: int
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return the clusters with their violations, the most violated first."""
    clusters = clusters[clusters.sum(axis=1) > count]
    clusters = clusters[first_of_each(clusters)]
    counts = np.full(len(clusters), count, np.int64)
    violation = counted_violations(*support, clusters, counts)
    rank = np.argsort(-violation, kind="stable")
    return clusters[rank], violation[rank]


@kernel
def family_seeds(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    n: int,
    count: int,
    most: int,
) -> NDArray[np.bool_]:
    """Return each fractional candidate's child with each choice of so many of its parents."""
    seeds = np.zeros((most, n), np.bool_)
    n_seeds = 0
    for s in range(len(x)):
        first, end = member_first[s], member_first[s + 1]
        if end - first < count or x[s] > 1.0 - LEAST:
            continue
        picks = np.arange(count)
        while n_seeds < most:
            seeds[n_seeds, child[s]] = True
            for p in picks:
                seeds[n_seeds, members[first + p]] = True
            n_seeds += 1
            at = count - 1
            while at >= 0 and picks[at] == end - first - count + at:
                at -= 1
            if at < 0:
                break
            picks[at] += 1
            for later in range(at + 1, count):
                picks[later] = picks[later - 1] + 1
    return seeds[:n_seeds]
