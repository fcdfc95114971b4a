"""Parent sets numbered by size and then colexicographically, so that subsets are found by rank."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel


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
    return ParentSets(*_parent_sets(n, child, min(max_parents, n - 1)))


@kernel
def _pascal(n: int, k: int) -> NDArray[np.int64]:
    """Return the binomial coefficients up to n over k, shape (n + 1, k + 1)."""
    table = np.zeros((n + 1, k + 1), np.int64)
    for i in range(n + 1):
        table[i, 0] = 1
        for j in range(1, min(i, k) + 1):
            table[i, j] = table[i - 1, j - 1] + (table[i - 1, j] if j < i else 0)
    return table


@kernel
def _next_subset(chosen: NDArray[np.int64], size: int) -> None:
    """Step to the next subset of a size in colexicographic order."""
    p = 0
    while p < size - 1 and chosen[p] + 1 == chosen[p + 1]:
        chosen[p] = p
        p += 1
    chosen[p] += 1


@kernel
def _parent_sets(
    n: int, child: int, k: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    choose = _pascal(n, k + 1)
    first = np.zeros(k + 2, np.int64)
    for size in range(k + 1):
        first[size + 1] = first[size] + choose[n - 1, size]
    members = np.full((first[k + 1], k), -1, np.int32)
    chosen = np.zeros(k + 1, np.int64)
    for size in range(1, k + 1):
        for p in range(size):
            chosen[p] = p
        for row in range(first[size], first[size + 1]):
            for p in range(size):
                members[row, p] = chosen[p] + (1 if chosen[p] >= child else 0)
            _next_subset(chosen, size)
    return members, first, choose


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
