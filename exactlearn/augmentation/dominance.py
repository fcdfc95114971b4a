"""Families that no network needs: those of which a subset of the parents scores as much.

Taking the subset in their place makes no cycle, and satisfies every cluster that they do.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.augmentation.local_search.set_families import SetFamilies
from exactlearn.data.colexicographic import binomials


def smaller_sets(members: NDArray[np.int32], n: int) -> NDArray[np.int32]:
    """Return the numbers of each set's subsets of one member less, -1 for those not listed.

    Parameters
    ----------
    members
        Sets of some of ``n`` variables, by increasing size, those of a size in colexicographic
        order, each increasing and padded with -1, shape (sets, largest size).
    n
        Number of variables.
    """
    return _smaller_sets(members, binomials(n, members.shape[1]))


@kernel
def _smaller_sets(members: NDArray[np.int32], choose: NDArray[np.int64]) -> NDArray[np.int32]:
    n, width = len(choose) - 1, members.shape[1]
    first = np.zeros(width + 2, np.int64)
    for size in range(width + 1):
        first[size + 1] = first[size] + choose[n, size]
    number = np.full(first[width + 1], -1, np.int32)
    smaller = np.full(members.shape, -1, np.int32)
    for s in range(len(members)):
        size = 0
        while size < width and members[s, size] >= 0:
            size += 1
        for dropped in range(size + 1):
            rank, place = 0, 0
            for p in range(size):
                if p != dropped:
                    place += 1
                    rank += choose[members[s, p], place]
            if dropped < size:
                smaller[s, dropped] = number[first[size - 1] + rank]
            else:
                number[first[size] + rank] = s
    return smaller


@kernel
def undominated(
    smaller: NDArray[np.int32],
    families: SetFamilies,
    scores: NDArray[np.float64],
    keep: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return which of the kept families score more than any kept one within them.

    Some that do not are returned, too, where the sets between are not listed.

    Parameters
    ----------
    smaller
        What :func:`smaller_sets` has returned.
    families, scores
        The families and their scores.
    keep
        Which of them are considered, shape (families,).
    """
    width, sets = smaller.shape[1], len(smaller)
    best = np.empty(sets)
    found = np.zeros(len(scores), np.bool_)
    for i in range(len(families.first) - 1):
        f, end = families.first[i], families.first[i + 1]
        last = families.parents[end - 1]
        for s in range(last + 1):
            top = -np.inf
            for p in range(width):
                if smaller[s, p] >= 0:
                    top = max(top, best[smaller[s, p]])
            if families.parents[f] == s:
                if keep[f] and scores[f] > top:
                    found[f] = True
                    top = scores[f]
                f += 1
            best[s] = top
    return found
