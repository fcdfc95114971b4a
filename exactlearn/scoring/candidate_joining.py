"""The sets of the next size: unions of two kept sets that differ in their first element only.

The join of frequent sets (Agrawal and Srikant 1994, "Fast algorithms for mining association
rules"), in colexicographic order: every set of which some family is open is the union of itself
without its first element and itself without its second, and one of the two is kept.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.scoring.candidate_level import Level


@kernel
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
        for x in range(n):
            sets[x, 0], families[x] = x, 1
        return n
    row_of = np.full(n, -1, np.int64)
    row, count = start, 0
    while row < stop:
        first = row
        while row < stop and _same_tail(level.sets, first, row):
            row_of[level.sets[row, 0]] = row
            row += 1
        end = n if size == 2 else level.sets[first, 1]
        for high in range(1, end):
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


@kernel
def _same_tail(sets: NDArray[np.int32], a: int, b: int) -> bool:
    different = False
    for t in range(1, sets.shape[1]):
        different |= sets[a, t] != sets[b, t]
    return not different
