"""Separation: clusters whose inequality a fractional selection violates.

Three searches, from quick to thorough:

1. circuits of length below one, where the arc j -> i has length ``1 - x(candidates of i with parent
   j)``, and minimal clusters that no larger candidate lets any member leave;
2. walks that move one variable after the other into a cluster, or out of one;
3. clusters with a count above one (Cussens 2011, "Bayesian network learning with cutting planes").
   They are few, yet they close much of what cluster inequalities leave: for three variables and
   count two, one of them at most has both others as parents. Each positive candidate with k parents
   or more gives seeds, which are its child with k of the parents. Where only whole candidates have
   so many, their arcs close a circuit, which plain clusters cut off.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import count_true, in_place_kernel, kernel, overwrite
from exactlearn._runtime.offsets import offsets

from .clusters import MIN_VIOLATION, POSITIVE, Counted, Support, disjoint_clusters

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


def tails_off(
    values: Sequence[float], target: float, tail: int, fraction: float
) -> bool:
    """Return whether the last rounds lowered a value by little of what it is above its target."""
    if len(values) <= tail:
        return False
    return values[-1 - tail] - values[-1] <= fraction * (values[-1] - target)


def separate(
    support: Support,
    n: int,
    limit: int,
    rng: np.random.Generator,
    violated: Counted,
    quick: Counted | None = None,
) -> Counted:
    """Add violated clusters to those found: counted seeds, and where these are few all that is met.

    Parameters
    ----------
    support, n
        A fractional selection of ``n`` variables.
    limit
        Clusters that each search adds at most.
    rng
        Source of randomness.
    violated
        Violated clusters that are known, such as those of a pool.
    quick
        What :func:`quick_clusters` returns, if that is among them.
    """
    violated = Counted.join(violated, counted_clusters(support, n, limit))
    if len(violated) >= FEW_CLUSTERS:
        return violated
    return Counted.join(violated, violated_clusters(support, n, limit, rng, quick))


def violated_clusters(
    support: Support,
    n: int,
    limit: int,
    rng: np.random.Generator,
    quick: Counted | None = None,
) -> Counted:
    """Return clusters of count one whose inequality is violated, the most violated first.

    Where the quicker searches find few, walks set out from these and from variables.
    """
    violated = quick_clusters(support, n, limit, rng) if quick is None else quick
    if len(violated) >= FEW_CLUSTERS:
        return violated
    sources = np.sort(rng.permutation(np.unique(support.members))[:MOST_STARTS])
    walks = walk_clusters(support, n, sources)
    return Counted.join(violated, Counted.of(walks[walks.any(axis=1)])).violated(
        support, limit
    )


def quick_clusters(
    support: Support,
    n: int,
    limit: int,
    rng: np.random.Generator,
) -> Counted:
    """Return the clusters that the two quicker searches find, the most violated first."""
    clusters = [short_circuits(support, n, limit)]
    orders = rng.permuted(np.tile(np.arange(n), (FORCED_ORDERS, 1)), axis=1)
    # minimal clusters of the candidates above several thresholds
    for threshold in (POSITIVE, *THRESHOLDS):
        listed = np.flatnonzero(support.x > threshold)
        for order in orders:
            closed = disjoint_clusters(
                listed, support.child, support.member_first, support.members, order
            )
            if not len(closed):
                break
            clusters.append(closed)
    return Counted.join(Counted.of(np.concatenate(clusters))).violated(support, limit)


def short_circuits(support: Support, n: int, limit: int) -> NDArray[np.bool_]:
    """Return the variables on circuits of length below one, shape (circuits, n).

    Each arc that is short enough is closed by a shortest path (Dijkstra).
    """
    from scipy.sparse import csr_array  # takes long to import
    from scipy.sparse.csgraph import dijkstra

    max_length = 1.0 - MIN_VIOLATION
    # a graph of the arcs, which are the shorter the larger their value is
    arcs = support.arcs(n)
    tails, heads = np.nonzero(arcs > MIN_VIOLATION)
    length = np.maximum(1.0 - arcs[tails, heads], 1e-12)
    sizes = np.bincount(tails, minlength=n)
    graph = csr_array((length, heads, offsets(sizes)), shape=(n, n))
    distance, before = dijkstra(graph, limit=max_length, return_predecessors=True)
    # circuits through each arc
    around = distance[heads, tails] + length
    closing = np.flatnonzero(around < max_length)[: 20 * limit]
    circuits = np.zeros((len(closing), n), np.bool_)
    rows = np.arange(len(closing))
    at = tails[closing]
    # along the predecessors back to the head
    while len(rows):
        circuits[rows, at] = True
        at = before[heads[closing[rows]], at].astype(np.int64)
        rows = rows[at >= 0]
        at = at[at >= 0]
    return circuits


@kernel
def walk_clusters(
    support: Support, n: int, sources: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the best clusters met as variables enter, or leave, one by one, two for each source.

    The first grows from the source, the second shrinks to it. Rows of sources that are in no
    violated cluster are empty. Only variables that have, among themselves, a positive parent and a
    positive child help any cluster.
    """
    child, _, member_first, members = support
    # variables without a useful parent or child leave, until none does
    useful = np.ones(n, np.bool_)
    size = n + 1
    while count_true(useful) < size:
        size = count_true(useful)
        has_parent = np.zeros(n, np.bool_)
        has_child = np.zeros(n, np.bool_)
        for s in range(len(child)):
            for at in range(member_first[s], member_first[s + 1]):
                if useful[child[s]] and useful[members[at]]:
                    has_parent[child[s]] = True
                    has_child[members[at]] = True
        useful = has_parent & has_child
    # two walks from each source
    clusters = np.zeros((2 * len(sources), n), np.bool_)
    for k in range(len(sources)):
        v = sources[k]
        if useful[v]:
            clusters[2 * k, v] = True
            _walk(support, clusters[2 * k], useful, v, True)
            overwrite(clusters[2 * k + 1], useful)
            _walk(support, clusters[2 * k + 1], useful, v, False)
    return clusters


@kernel
def _walk(
    support: Support,
    cluster: NDArray[np.bool_],
    useful: NDArray[np.bool_],
    kept: int,
    grows: bool,
) -> None:
    """Let variables enter a cluster, or leave it, the best one first; ``kept`` stays.

    The cluster becomes the best one of two or more met.
    """
    current = cluster.copy()
    gain = np.empty(len(cluster))
    best = -1.0 * len(cluster)
    while True:
        # keep the best cluster met
        violation = _gains(support, current, grows, gain)
        if violation > best + 1e-9 and count_true(current) > 1:
            best = violation
            overwrite(cluster, current)
        # then move the variable whose move gains most
        pick = _best_move(gain, useful, current, kept, grows)
        if pick < 0:
            break
        current[pick] = grows


@in_place_kernel
def _best_move(
    gain: NDArray[np.float64],
    useful: NDArray[np.bool_],
    current: NDArray[np.bool_],
    kept: int,
    grows: bool,
) -> int:
    """Return the variable whose move gains most, the first of those that tie; -1 without any."""
    pick = -1
    for v in range(len(gain)):
        may_move = useful[v] and v != kept and current[v] != grows
        if may_move and (pick < 0 or gain[v] > gain[pick] + 1e-12):
            pick = v
    return pick


@in_place_kernel
def _gains(
    support: Support, current: NDArray[np.bool_], grows: bool, gain: NDArray[np.float64]
) -> float:
    """Return a cluster's violation; compute, in place, what each variable's move adds to it."""
    child, x, member_first, members = support
    sign = 1.0 if grows else -1.0
    # the variable itself: its candidates with a parent inside, less one
    for v in range(len(gain)):
        gain[v] = -sign
    violation = 1.0 - count_true(current)
    for s in range(len(x)):
        inside = 0
        for at in range(member_first[s], member_first[s + 1]):
            inside += current[members[at]]
        if inside > 0:
            gain[child[s]] += sign * x[s]
            violation += x[s] if current[child[s]] else 0.0
        # candidates of members for which it is the only parent inside
        if current[child[s]] and inside == (0 if grows else 1):
            for at in range(member_first[s], member_first[s + 1]):
                if current[members[at]] != grows:
                    gain[members[at]] += sign * x[s]
    return violation


def counted_clusters(support: Support, n: int, limit: int) -> Counted:
    """Return violated clusters with counts above one, for each count the most violated seeds."""
    clusters = [Counted.none(n)]
    for count in COUNTS:
        seeds = Counted.of(family_seeds(support, n, count, MOST_SEEDS), count)
        clusters.append(Counted.join(seeds).violated(support, limit))
    return Counted.join(*clusters)


def family_seeds(support: Support, n: int, count: int, limit: int) -> NDArray[np.bool_]:
    """Return each fractional candidate's child with each choice of so many of its parents."""
    sizes = np.diff(support.member_first)
    is_fractional = support.x <= 1.0 - MIN_VIOLATION
    families = [np.zeros((0, count + 1), np.int64)]
    for size in np.unique(sizes[is_fractional & (sizes >= count)]).tolist():
        rows = np.flatnonzero(is_fractional & (sizes == size))
        # each choice of the parents
        picks = np.array(list(combinations(range(size), count)))
        parents = support.members[support.member_first[rows, None, None] + picks]
        child = np.broadcast_to(
            support.child[rows, None, None], (len(rows), len(picks), 1)
        )
        families.append(np.concatenate([child, parents], axis=2).reshape(-1, count + 1))
    members = np.concatenate(families)[:limit]
    seeds = np.zeros((len(members), n), np.bool_)
    np.put_along_axis(seeds, members, values=True, axis=1)
    return seeds
