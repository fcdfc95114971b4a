"""Parent sets numbered by size and then colexicographically, so that subsets are found by rank."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.data.colexicographic import binomials, next_subset


class ParentSets(NamedTuple):
    """All parent sets of one child up to a size.

    Attributes
    ----------
    members
        One set a row in increasing order, padded with -1, shape (sets, largest size).
    first
        The first set of each size, shape (largest size + 2,).
    choose
        Pascal's triangle.
    """

    members: NDArray[np.int32]
    first: NDArray[np.int64]
    choose: NDArray[np.int64]


def parent_sets(n: int, child: int, max_parents: int) -> ParentSets:
    """List the parent sets of a child among ``n`` variables."""
    k = min(max_parents, n - 1)
    choose = binomials(n, k + 1)
    first = np.concatenate([[0], np.cumsum(choose[n - 1, : k + 1])]).astype(np.int64)
    members = np.full((int(first[-1]), k), -1, np.int32)
    _list_parent_sets(child, first, members)
    return ParentSets(members, first, choose)


@kernel
def _list_parent_sets(child: int, first: NDArray[np.int64], members: NDArray[np.int32]) -> None:
    for size in range(1, len(first) - 1):
        chosen = np.arange(size)
        for row in range(first[size], first[size + 1]):
            for p in range(size):
                members[row, p] = chosen[p] + (1 if chosen[p] >= child else 0)
            next_subset(chosen)


@kernel
def subset_without(sets: ParentSets, row: int, size: int, dropped: int, child: int) -> int:
    """Return the row of a parent set less its member number ``dropped``."""
    rank, place = 0, 0
    for p in range(size):
        if p != dropped:
            v = sets.members[row, p]
            place += 1
            rank += sets.choose[v - (1 if v > child else 0), place]
    return int(sets.first[size - 1] + rank)
