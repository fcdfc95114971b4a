"""Search for clusters whose inequality with a count above one is violated.

Such inequalities (Cussens 2011, "Bayesian network learning with cutting planes") are few, yet they
close much of what cluster inequalities leave: for three variables and count two, one of them at
most has both others as parents. Each positive candidate with k parents or more gives seeds, which
are its child with k of the parents; walks grow them. Where only whole candidates have so many,
their arcs close a circuit, which plain clusters cut off.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel

from .cluster_search import walk_clusters
from .clusters import LEAST, Counted, Support, counted_violations, first_of_each

COUNTS = (2, 3)
"""Counts above one that are tried."""

MOST_SEEDS = 20_000
"""Seeds looked at for each count."""

MOST_WALKS = 20
"""Seeds from which walks set out, the best ones for each count."""


def counted_clusters(support: Support, n: int, most: int, *, walk: bool = True) -> Counted:
    """Return violated clusters with counts above one, for each count the most violated.

    Without walks, these are seeds.
    """
    walks = MOST_WALKS if walk else 0
    none = Counted.of(np.zeros((0, n), np.bool_))
    return Counted.join(none, *(_with_count(support, n, k, most, walks) for k in COUNTS))


def _with_count(support: Support, n: int, count: int, most: int, most_walks: int) -> Counted:
    seeds = family_seeds(*support, n, count, MOST_SEEDS)
    seeds, violation = _ranked(seeds, support, count)
    walks = walk_clusters(*support, n, np.zeros(0, np.int64), seeds[:most_walks], count)
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
