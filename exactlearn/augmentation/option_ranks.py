"""Number the combinations of the options of a family's columns.

Only combinations whose distances sum to at most the radius count. They are ordered
lexicographically by column, the options of a column being sorted by distance, so a combination's
rank follows from the number of ways to complete each prefix.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel


class Options(NamedTuple):
    """The options of all columns as arrays; see :class:`~exactlearn.augmentation.columns.Columns`.

    Attributes
    ----------
    first, distance
        Where each variable's options begin, and each option's distance.
    histogram
        Number of options of each variable at each distance, shape (variables, radius + 1).
    deviation_first, deviation_row, deviation_value
        The cells where each option differs from the base.
    """

    first: NDArray[np.int64]
    distance: NDArray[np.int64]
    histogram: NDArray[np.int64]
    deviation_first: NDArray[np.int64]
    deviation_row: NDArray[np.int64]
    deviation_value: NDArray[np.int16]


@kernel
def combination_counts(
    members: NDArray[np.int32], child: int, histogram: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Count the combinations of each family, in floating point: they may be astronomically many."""
    n_sets, k = members.shape
    radius = histogram.shape[1] - 1
    counts = np.zeros(n_sets)
    within = np.zeros(radius + 1)
    for f in range(n_sets):
        within[:] = 1.0
        for p in range(-1, k):
            v = child if p < 0 else members[f, p]
            if v < 0:
                break
            for d in range(radius, -1, -1):
                total = 0.0
                for e in range(d + 1):
                    total += histogram[v, e] * within[d - e]
                within[d] = total
        counts[f] = within[radius]
    return counts


@kernel
def fill_completions_left(
    columns: NDArray[np.int64], count: int, histogram: NDArray[np.int64], left: NDArray[np.int64]
) -> None:
    """Fill ``left[p, d]``: combinations of columns p, p + 1, ... with distances of at most d."""
    radius = histogram.shape[1] - 1
    left[count, : radius + 1] = 1
    for p in range(count - 1, -1, -1):
        for d in range(radius + 1):
            total = 0
            for e in range(d + 1):
                total += histogram[columns[p], e] * left[p + 1, d - e]
            left[p, d] = total


@kernel
def rank_without(
    dropped: int,
    count: int,
    columns: NDArray[np.int64],
    digits: NDArray[np.int64],
    options: Options,
    left: NDArray[np.int64],
) -> int:
    """Rank a combination, one column left out, among those of the smaller family.

    ``left`` belongs to the smaller family, see :func:`fill_completions_left`.
    """
    remaining = options.histogram.shape[1] - 1
    rank, place = 0, 0
    for p in range(count):
        if p == dropped:
            continue
        v = columns[p]
        spent = options.distance[options.first[v] + digits[p]]
        place += 1
        before = 0
        for closer in range(spent):
            rank += options.histogram[v, closer] * left[place, remaining - closer]
            before += options.histogram[v, closer]
        rank += (digits[p] - before) * left[place, remaining - spent]
        remaining -= spent
    return rank


@kernel
def next_combination(
    columns: NDArray[np.int64], count: int, digits: NDArray[np.int64], spent: int, options: Options
) -> int:
    """Step to the next combination; return the distance it spends, or -1 after the last."""
    radius = options.histogram.shape[1] - 1
    for p in range(count - 1, -1, -1):
        v = columns[p]
        o = options.first[v] + digits[p]
        spent -= options.distance[o]
        if o + 1 < options.first[v + 1] and spent + options.distance[o + 1] <= radius:
            digits[p] += 1
            return int(spent + options.distance[o + 1])
        digits[p] = 0
    return -1


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
    radius = options.histogram.shape[1] - 1
    sets = np.zeros(len(ranks), np.int64)
    found = np.full((len(ranks), k + 1), -1, np.int64)
    columns = np.zeros(k + 1, np.int64)
    left = np.zeros((k + 2, radius + 1), np.int64)
    columns[0] = child
    f, count = -1, 0
    for c in range(len(ranks)):
        if f < 0 or ranks[c] >= combination_first[f + 1]:
            f = max(f, 0)
            while ranks[c] >= combination_first[f + 1]:
                f += 1
            count = 1
            while count <= k and members[f, count - 1] >= 0:
                columns[count] = members[f, count - 1]
                count += 1
            fill_completions_left(columns, count, options.histogram, left)
        sets[c] = f
        rest, remaining = ranks[c] - combination_first[f], radius
        for p in range(count):
            v, o, e = columns[p], options.first[columns[p]], 0
            while rest >= options.histogram[v, e] * left[p + 1, remaining - e]:
                rest -= options.histogram[v, e] * left[p + 1, remaining - e]
                o += options.histogram[v, e]
                e += 1
            found[c, p] = o + rest // left[p + 1, remaining - e]
            rest %= left[p + 1, remaining - e]
            remaining -= e
    return sets, found
