"""One level of the lattice: the sets of one size that some family still needs, and their unions.

A set ``S`` stands for the families ``(s, S - s)`` of its elements. Only sets that were counted, or
have a family that is open, are kept; of a family that is closed nothing is stored. So memory and
time depend on what the bounds leave, not on the number of all sets.

The sets of the next size are unions of two kept sets that differ in their first element only: the
join of frequent sets (Agrawal and Srikant 1994, "Fast algorithms for mining association rules"), in
colexicographic order. Every set of which some family is open is the union of itself without its
first element and itself without its second, and one of the two is kept.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import index_rows
from exactlearn._runtime.kernel import in_place_kernel, kernel


class Level(NamedTuple):
    """The kept sets of one size, in colexicographic order.

    Bit ``t`` of ``open`` says that the family of element ``t`` is open. The best score of an
    allowed subset of its parents then stands in ``best``, after those of the set's lower bits,
    which begin at ``first``. Terms are not-a-number, and cells 0, where not counted. ``slots``
    find a set's row by its rank, in the column ``ranks``.
    """

    sets: NDArray[np.int32]
    sums: NDArray[np.float64]
    cells: NDArray[np.float64]
    open: NDArray[np.int64]
    first: NDArray[np.int64]
    best: NDArray[np.float64]
    ranks: NDArray[np.int64]
    slots: NDArray[np.int32]


class Kept(NamedTuple):
    """The sets that one block of the level keeps; ``best`` holds the open families only."""

    ranks: NDArray[np.int64]
    sets: NDArray[np.int32]
    sums: NDArray[np.float64]
    cells: NDArray[np.float64]
    open: NDArray[np.int64]
    best: NDArray[np.float64]


def level_of_empty_set(sums: NDArray[np.float64]) -> Level:
    """Return the level below the variables: the empty set, counted."""
    one = np.ones(1, np.int64)
    empty = Kept(
        one - 1, np.zeros((1, 0), np.int32), sums[None, :], np.ones(1), one - 1, np.zeros(0)
    )
    return gather([empty], 0)


def room_for(n_sets: int, size: int, n_forms: int) -> Kept:
    """Return arrays to write up to that many sets to."""
    return Kept(
        np.empty(n_sets, np.int64),
        np.empty((n_sets, size), np.int32),
        np.empty((n_sets, n_forms)),
        np.empty(n_sets),
        np.empty(n_sets, np.int64),
        np.empty(n_sets * size),
    )


def trim(kept: Kept, n_sets: int, n_open: int) -> Kept:
    """Copy what was written."""
    return Kept(
        kept.ranks[:n_sets].copy(),
        kept.sets[:n_sets].copy(),
        kept.sums[:n_sets].copy(),
        kept.cells[:n_sets].copy(),
        kept.open[:n_sets].copy(),
        kept.best[:n_open].copy(),
    )


def gather(blocks: Sequence[Kept], size: int) -> Level:
    """Put consecutive blocks of sets of one size together."""
    ranks, sets, sums, cells, open_, best = (
        np.concatenate(arrays) for arrays in zip(*blocks, strict=True)
    )
    first = np.concatenate([[0], np.cumsum(np.bitwise_count(open_), dtype=np.int64)])
    _, _, slots = index_rows(ranks[:, None])
    return Level(sets, sums, cells, open_, first, best, ranks[:, None], slots)


@in_place_kernel
def bits_below(mask: int, position: int) -> int:
    """Return how many bits of a mask are set below a position."""
    below = mask & ((1 << position) - 1)
    count = 0
    while below:
        below &= below - 1
        count += 1
    return count


@in_place_kernel
def _open_in_both(low: int, high: int, open_: NDArray[np.int64]) -> int:
    """Return the families, by element of the union, that neither of two sets closes.

    ``low`` and ``high`` are rows of sets that differ in their first element only, or -1.
    """
    lower = 0 if low < 0 else open_[low]
    upper = 0 if high < 0 else open_[high]
    return (lower & 1) | (upper & 1) << 1 | (lower >> 1 & upper >> 1) << 2


@kernel
def join_sets(
    start: int,
    stop: int,
    least: int,
    limit: int,
    n: int,
    level: Level,
    sets: NDArray[np.int32],
    families: NDArray[np.int64],
) -> int:
    """Write the unions of sets among some rows, and their families that may be open.

    Parameters
    ----------
    start, stop
        Range of rows of the level; it parts no sets that are equal but for their first element.
        On the level of the empty set the unions are the single variables.
    least, limit
        The second element of a union, or a single variable, is at least the one and below the
        other.
    n
        Number of variables.
    level
        The kept sets of one size.
    sets, families
        Receive the unions, in colexicographic order; see :class:`Joined`.

    Returns
    -------
    int
        Number of unions.
    """
    size = sets.shape[1]
    if size == 1:
        for x in range(least, limit):
            sets[x - least, 0], families[x - least] = x, 1
        return limit - least
    row_of = np.full(n, -1, np.int64)
    row, count = start, 0
    while row < stop:
        first = row
        while row < stop and _same_tail(level.sets, first, row):
            row_of[level.sets[row, 0]] = row
            row += 1
        end = n if size == 2 else level.sets[first, 1]
        for high in range(max(1, least), min(end, limit)):
            for low in range(high):
                open_ = _open_in_both(row_of[low], row_of[high], level.open)
                if open_:
                    families[count] = open_
                    sets[count, 0], sets[count, 1] = low, high
                    for t in range(2, size):
                        sets[count, t] = level.sets[first, t - 1]
                    count += 1
        for x in range(end):
            row_of[x] = -1
    return count


@in_place_kernel
def _same_tail(sets: NDArray[np.int32], a: int, b: int) -> bool:
    different = False
    for t in range(1, sets.shape[1]):
        different |= sets[a, t] != sets[b, t]
    return not different
