"""Separation: clusters whose inequality a fractional selection violates.

Three searches, from quick to thorough:

1. circuits of length below one, where the arc j -> i has length ``1 - x(candidates of i with parent
   j)``, and minimal clusters that no larger candidate lets any member leave;
2. walks that move one variable at a time into or out of a cluster;
3. clusters with a count above one (Cussens 2011, "Bayesian network learning with cutting planes").
   They are few, yet they close much of what cluster inequalities leave: for three variables and
   count two, one of them at most has both others as parents. Each positive candidate with k parents
   or more gives seeds, which are its child with k of the parents; walks grow them. Where only whole
   candidates have so many, their arcs close a circuit, which plain clusters cut off.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import count_true, in_place_kernel, kernel, overwrite

from .clusters import LEAST, POSITIVE, Counted, Support, disjoint_clusters

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5)
"""Values above which candidates count in the search for minimal clusters, besides all positive."""

FORCED_ORDERS = 10
"""Orders in which members are placed by force to make clusters minimal, for each threshold."""

FEW_CLUSTERS = 5
"""Violated clusters found quickly that make walks unnecessary."""

MOST_STARTS = 30
"""Variables from which walks set out."""

COUNTS = (2, 3)
"""Counts above one that are tried."""

MOST_SEEDS = 20_000
"""Seeds looked at for each count."""

MOST_WALKS = 20
"""Seeds from which walks set out, the best ones for each count."""


def tails_off(values: Sequence[float], target: float, tail: int, least: float) -> bool:
    """Return whether the last rounds lowered a value by little of what it is above its target."""
    if len(values) <= tail:
        return False
    return values[-1 - tail] - values[-1] <= least * (values[-1] - target)


def separate(
    support: Support,
    n: int,
    most: int,
    rng: np.random.Generator,
    found: Counted,
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
    """
    found = Counted.join(found, counted_clusters(support, n, most, walk=False))
    if len(found) >= FEW_CLUSTERS:
        return found
    plain = violated_clusters(support, n, most, rng)
    return Counted.join(found, plain, counted_clusters(support, n, most))


def violated_clusters(
    support: Support,
    n: int,
    most: int,
    rng: np.random.Generator | None = None,
) -> Counted:
    """Return clusters of count one whose inequality is violated, the most violated first.

    Where the quicker searches find few, walks set out from these and from variables.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    found = quick_clusters(support, n, most, rng)
    if len(found) >= FEW_CLUSTERS:
        return found
    sources = np.sort(rng.permutation(np.unique(support.members))[:MOST_STARTS])
    walks = walk_clusters(support, n, sources, found.clusters, 1)
    return Counted.join(found, Counted.of(walks[walks.any(axis=1)])).violated(support, most)


def quick_clusters(
    support: Support,
    n: int,
    most: int,
    rng: np.random.Generator,
) -> Counted:
    """Return what the two quicker searches find, the most violated first."""
    found = [short_circuits(support, n, most)]
    orders = rng.permuted(np.tile(np.arange(n), (FORCED_ORDERS, 1)), axis=1)
    for threshold in (POSITIVE, *THRESHOLDS):
        listed = np.flatnonzero(support.x > threshold)
        for order in orders:
            closed = disjoint_clusters(
                listed, support.child, support.member_first, support.members, order
            )
            if not len(closed):
                break
            found.append(closed)
    return Counted.join(*map(Counted.of, found)).violated(support, most)


def short_circuits(support: Support, n: int, most: int) -> NDArray[np.bool_]:
    """Return the variables on circuits of length below one, shape (found, n).

    Each arc that is short enough is closed by a shortest path (Dijkstra).
    """
    from scipy.sparse import csr_array  # takes long to import
    from scipy.sparse.csgraph import dijkstra

    limit, length = 1.0 - LEAST, np.maximum(1.0 - support.arcs(n), 1e-12)
    tails, heads = np.nonzero(length < limit)
    graph = csr_array((length[tails, heads], (tails, heads)), shape=(n, n))
    distance, before = dijkstra(graph, limit=limit, return_predecessors=True)
    around = distance[heads, tails] + length[tails, heads]
    closing = np.flatnonzero(around < limit)[: 20 * most]
    found = np.zeros((len(closing), n), np.bool_)
    rows, at = np.arange(len(closing)), tails[closing]
    while len(rows):
        found[rows, at] = True
        at = before[heads[closing[rows]], at].astype(np.int64)
        rows, at = rows[at >= 0], at[at >= 0]
    return found


@kernel
def walk_clusters(
    support: Support,
    n: int,
    sources: NDArray[np.int64],
    seeds: NDArray[np.bool_],
    count: int,
) -> NDArray[np.bool_]:
    """Return the best cluster met from each source, grown or peeled, and from each seed.

    Rows of sources that are in no violated cluster are empty. Only variables that have, among
    themselves, a positive parent and a positive child help any cluster.
    """
    child, _, member_first, members = support
    useful, size = np.ones(n, np.bool_), n + 1
    while count_true(useful) < size:
        size = count_true(useful)
        has_parent, has_child = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        for s in range(len(child)):
            for at in range(member_first[s], member_first[s + 1]):
                if useful[child[s]] and useful[members[at]]:
                    has_parent[child[s]] = True
                    has_child[members[at]] = True
        useful = has_parent & has_child
    found = np.zeros((2 * len(sources) + len(seeds), n), np.bool_)
    for k in range(len(sources)):
        v = sources[k]
        if useful[v]:
            found[2 * k, v] = True
            _walk(support, found[2 * k], useful, v, 1, n, count)
            overwrite(found[2 * k + 1], useful)
            _walk(support, found[2 * k + 1], useful, v, -1, n, count)
    for k in range(len(seeds)):
        overwrite(found[2 * len(sources) + k], seeds[k])
    for k in range(len(found)):
        size = count_true(found[k])
        if size:
            _walk(support, found[k], useful, -1, 0, 12 + 2 * size, count)
    return found


@kernel
def _walk(
    support: Support,
    cluster: NDArray[np.bool_],
    useful: NDArray[np.bool_],
    kept: int,
    direction: int,
    stall_limit: int,
    count: int,
) -> None:
    """Move variables into or out of a cluster; it becomes the best one of two or more met.

    Each move is the best one that does not undo a recent one; with ``direction`` 1 or -1 variables
    only enter or leave. ``kept`` stays. The walk ends ``stall_limit`` moves after its last gain.
    """
    child, x, member_first, members = support
    n, tenure = len(cluster), 4 if direction == 0 else len(cluster)
    free_from, gain = np.zeros(n, np.int64), np.empty(n)
    inside, own = np.zeros(len(x), np.int64), np.zeros(n)
    current = np.zeros(n, np.bool_)
    # the violation of the cluster to begin with
    for v in range(n):
        if cluster[v]:
            _flip(support, current, inside, own, v, count)
    size = count_true(cluster)
    now = 1.0 * count - size
    for v in range(n):
        now += own[v] if cluster[v] else 0.0
    best = now if size > count else -1.0 * n
    since, step = 0, 0
    while since < stall_limit:
        step += 1
        # what each variable's move changes in the violation
        for v in range(n):
            gain[v] = 1.0 - own[v] if current[v] else own[v] - 1.0
        for s in range(len(x)):
            if current[child[s]] and count - 1 <= inside[s] <= count:
                for at in range(member_first[s], member_first[s + 1]):
                    v = members[at]
                    if inside[s] < count and not current[v]:
                        gain[v] += x[s]
                    elif inside[s] == count and current[v]:
                        gain[v] -= x[s]
        # the best move that does not undo a recent one, unless it leads to the best cluster
        pick = -1
        for v in range(n):
            if not useful[v] or v == kept or (current[v] and size == 1):
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
        _flip(support, current, inside, own, pick, count)
        free_from[pick] = step + tenure
        since += 1
        if size > count and now > best + 1e-9:
            best = now
            overwrite(cluster, current)
            since = 0


@in_place_kernel
def _flip(
    support: Support,
    current: NDArray[np.bool_],
    inside: NDArray[np.int64],
    own: NDArray[np.float64],
    moved: int,
    count: int,
) -> None:
    """Move one variable, and keep count: parents inside, and value of candidates with enough."""
    child, x, member_first, members = support
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
    *,
    walk: bool = True,
) -> Counted:
    """Return violated clusters with counts above one, for each count the most violated.

    Without walks, these are seeds.
    """
    found = [Counted.none(n)]
    for count in COUNTS:
        seeds = Counted.of(family_seeds(support, n, count, MOST_SEEDS), count)
        seeds = Counted.join(seeds).violated(support, MOST_SEEDS, -np.inf)
        if walk:
            begin, none = seeds.clusters[:MOST_WALKS], np.zeros(0, np.int64)
            walks = Counted.of(walk_clusters(support, n, none, begin, count), count)
            seeds = Counted.join(seeds, walks)
        found.append(seeds.violated(support, most))
    return Counted.join(*found)


def family_seeds(support: Support, n: int, count: int, most: int) -> NDArray[np.bool_]:
    """Return each fractional candidate's child with each choice of so many of its parents."""
    sizes, is_fractional = np.diff(support.member_first), support.x <= 1.0 - LEAST
    found = [np.zeros((0, count + 1), np.int64)]
    for size in np.unique(sizes[is_fractional & (sizes >= count)]).tolist():
        rows = np.flatnonzero(is_fractional & (sizes == size))
        picks = np.array(list(combinations(range(size), count)))
        parents = support.members[support.member_first[rows, None, None] + picks]
        child = np.broadcast_to(support.child[rows, None, None], (len(rows), len(picks), 1))
        found.append(np.concatenate([child, parents], axis=2).reshape(-1, count + 1))
    members = np.concatenate(found)[:most]
    seeds = np.zeros((len(members), n), np.bool_)
    np.put_along_axis(seeds, members, values=True, axis=1)
    return seeds
