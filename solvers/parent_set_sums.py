"""The kernels of sums of parent sets inside each set of variables, and of their probabilities.

The formulas stand in :mod:`exactlearn.solvers.sums`. A number stands as a pair of doubles, relative
to a power of two that is kept for its set: ``(high + low) * 2 ** exponent``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel

from .double_double import add

SMALLEST = -1000
"""Smaller powers of two are taken for 0: nothing that is added to is smaller than 2^-20."""

NEVER = -(1 << 50)
"""Exponent of the weight 0."""

POWERS = np.concatenate([[0.0], 2.0 ** np.arange(SMALLEST + 1, 1)])
"""The powers of two from ``SMALLEST`` to 0, shape (1 - SMALLEST,)."""


class ParentSums(NamedTuple):
    """``A_i(S)`` for each variable and each set of the others, shape (n, 2 ** (n - 1)) each.

    ``A_i(S) = (high + low) * 2 ** exponent``. Sets of other variables are numbered by their bits,
    that of ``i`` taken out.
    """

    high: NDArray[np.float64]
    low: NDArray[np.float64]
    exponent: NDArray[np.int64]


@in_place_kernel
def squeezed(members: int, variable: int) -> int:
    """Return a set of other variables as a number without the bit of ``variable``."""
    below = (1 << variable) - 1
    return (members & below) | ((members >> 1) & ~below)


@in_place_kernel
def power_of_two(exponent: int, powers: NDArray[np.float64]) -> float:
    """Return ``2 ** exponent`` for an exponent up to 0; 0 where that is too small."""
    smallest = 1 - len(powers)
    return float(powers[np.uint64(max(exponent, smallest) - smallest)])


@in_place_kernel
def sum_inside(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    parents: NDArray[np.int64],
    mantissa: NDArray[np.float64],
    exponent: NDArray[np.int64],
    sums: ParentSums,
    powers: NDArray[np.float64],
) -> None:
    """Sum the weights of each variable's parent sets inside each set, by a zeta transform.

    Parameters
    ----------
    begin, end
        Where each variable's parent sets begin and end, shape (n,).
    parents
        The parent sets as bits; one that holds the variable itself is left out.
    mantissa, exponent
        Their weights.
    sums
        Where the sums are noted.
    powers
        Powers of two.
    """
    for i in range(len(begin)):
        high = sums.high[i]
        low = sums.low[i]
        largest = sums.exponent[i]
        for t in range(len(high)):
            high[t] = 0.0
            low[t] = 0.0
            largest[t] = NEVER
        # the largest exponent of a parent set inside each set
        for c in range(begin[i], end[i]):
            if not (parents[c] >> i) & 1:
                at = squeezed(parents[c], i)
                largest[at] = max(largest[at], exponent[c])
        bit = 1
        while bit < len(high):
            for larger in range(len(high)):
                if larger & bit:
                    largest[larger] = max(largest[larger], largest[larger ^ bit])
            bit <<= 1
        # weights relative to it
        for c in range(begin[i], end[i]):
            if not (parents[c] >> i) & 1:
                at = squeezed(parents[c], i)
                scale = power_of_two(exponent[c] - largest[at], powers)
                high[at] += mantissa[c] * scale
        add_subsets(high, low, largest, powers)


@in_place_kernel
def find_heaviest(
    exponent: NDArray[np.int64],
    inner: NDArray[np.int64],
    outer: NDArray[np.int64],
) -> None:
    """Note the exponents of the heaviest DAG on each set, and of its heaviest extension.

    Weights count as their powers of two; a set grows by one variable, whose parents lie inside.
    """
    n = len(exponent)
    last = (1 << n) - 1
    for members in range(last + 1):
        inner[members] = NEVER
        outer[members] = NEVER
    inner[0] = 0
    outer[last] = 0
    for members in range(last):
        for i in range(n):
            if not (members >> i) & 1:
                larger = members | (1 << i)
                heaviest = inner[members] + exponent[i, squeezed(members, i)]
                inner[larger] = max(inner[larger], heaviest)
    for members in range(last - 1, -1, -1):
        for i in range(n):
            if not (members >> i) & 1:
                larger = members | (1 << i)
                heaviest = outer[larger] + exponent[i, squeezed(members, i)]
                outer[members] = max(outer[members], heaviest)


@in_place_kernel
def note_non_descendants(
    sets: NDArray[np.int64],
    only_root: NDArray[np.float64],
    inner: NDArray[np.float64],
    non_descendants: NDArray[np.float64],
) -> None:
    """Note for some sets how probable each is as the non-descendants of each variable beyond.

    ``inner`` has the sums over the DAGs on each set, divided by the total; without the factor of
    the variable itself, ``non_descendants`` has shape (n, 2 ** (n - 1)).
    """
    for place in range(len(sets)):
        members = sets[place]
        for i in range(len(non_descendants)):
            if not (members >> i) & 1:
                probability = only_root[place, i] * inner[members]
                non_descendants[i, squeezed(members, i)] = probability


@in_place_kernel
def add_probabilities(
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    parents: NDArray[np.int64],
    mantissa: NDArray[np.float64],
    exponent: NDArray[np.int64],
    largest: NDArray[np.int64],
    non_descendants: NDArray[np.float64],
    powers: NDArray[np.float64],
    probabilities: NDArray[np.float64],
) -> None:
    """Add to each parent set its probability: that of all non-descendants that hold it.

    Parent sets stand as in :func:`sum_inside`; ``largest`` has the exponents of the sums inside
    each set. The probabilities of non-descendants are overwritten.
    """
    for i in range(len(begin)):
        add_supersets(non_descendants[i], largest[i], powers)
        for c in range(begin[i], end[i]):
            if not (parents[c] >> i) & 1:
                at = squeezed(parents[c], i)
                scale = power_of_two(exponent[c] - largest[i, at], powers)
                probabilities[c] += mantissa[c] * scale * non_descendants[i, at]


@in_place_kernel
def add_supersets(
    sums: NDArray[np.float64],
    exponent: NDArray[np.int64],
    powers: NDArray[np.float64],
) -> None:
    """Add to each number those of all supersets, which are relative to their exponents.

    Exponents never fall from a set to a larger one.
    """
    bit = 1
    while bit < len(sums):
        for smaller in range(len(sums)):
            if not smaller & bit:
                larger = smaller | bit
                shift = exponent[smaller] - exponent[larger]
                sums[smaller] += sums[larger] * power_of_two(shift, powers)
        bit <<= 1


@in_place_kernel
def add_subsets(
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    exponent: NDArray[np.int64],
    powers: NDArray[np.float64],
) -> None:
    """Add to each number those of all subsets; exponents never fall from a set to a larger one."""
    bit = 1
    while bit < len(high):
        for larger in range(len(high)):
            if larger & bit:
                smaller = larger ^ bit
                scale = power_of_two(exponent[smaller] - exponent[larger], powers)
                high[larger], low[larger] = add(
                    high[larger],
                    low[larger],
                    high[smaller] * scale,
                    low[smaller] * scale,
                )
        bit <<= 1
