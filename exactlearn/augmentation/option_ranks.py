"""Number the combinations of the options of a family's columns, the last column's fastest."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel


class Options(NamedTuple):
    """The options of all columns as arrays; see :class:`~exactlearn.augmentation.columns.Columns`.

    Attributes
    ----------
    first, counts
        Where each variable's options begin, and their number.
    deviation_first, deviation_row, deviation_value
        The cells where each option differs from the base.
    """

    first: NDArray[np.int64]
    counts: NDArray[np.int64]
    deviation_first: NDArray[np.int64]
    deviation_row: NDArray[np.int64]
    deviation_value: NDArray[np.int16]


@kernel
def rank_without(
    dropped: int,
    count: int,
    columns: NDArray[np.int64],
    digits: NDArray[np.int64],
    options: Options,
) -> int:
    """Rank a combination, one column left out, among those of the smaller family."""
    rank = 0
    for p in range(count):
        if p != dropped:
            rank = rank * options.counts[columns[p]] + digits[p]
    return rank


@kernel
def next_combination(
    columns: NDArray[np.int64], count: int, digits: NDArray[np.int64], options: Options
) -> bool:
    """Step to the next combination; tell whether there is one."""
    for p in range(count - 1, -1, -1):
        if digits[p] + 1 < options.counts[columns[p]]:
            digits[p] += 1
            return True
        digits[p] = 0
    return False


@kernel
def combinations_at(
    ranks: NDArray[np.int64],
    child: int,
    members: NDArray[np.int32],
    combination_first: NDArray[np.int64],
    options: Options,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the parent set and the options (ranks, largest size + 1) of combinations; -1 pads.

    ``ranks`` are increasing and count through all parent sets of the child.
    """
    k = members.shape[1]
    sets = np.zeros(len(ranks), np.int64)
    found = np.full((len(ranks), k + 1), -1, np.int64)
    f = 0
    for c in range(len(ranks)):
        while ranks[c] >= combination_first[f + 1]:
            f += 1
        sets[c] = f
        rest = ranks[c] - combination_first[f]
        for p in range(k, -1, -1):
            v = members[f, p - 1] if p else child
            if v >= 0:
                found[c, p] = options.first[v] + rest % options.counts[v]
                rest //= options.counts[v]
    return sets, found
