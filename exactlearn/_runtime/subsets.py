"""Sets of one size: their ranks in colexicographic order, and a hash table from rank to place.

In colexicographic order consecutive sets differ in their first elements. The rank of an increasing
set ``s_1 < ... < s_k`` is the sum of ``C(s_i, i)`` (the combinatorial number system), so the ranks
of a set's subsets follow from a table of binomial coefficients.
"""

import math

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel

LARGEST_RANK = 2**63 - 1
"""The largest rank that fits into a machine word."""


def binomials(n: int, k: int) -> NDArray[np.int64]:
    """Return the binomial coefficients that ranks need, capped at the largest int64."""
    return np.array(
        [[min(math.comb(i, j), LARGEST_RANK) for j in range(k + 1)] for i in range(n + 1)], np.int64
    )


@in_place_kernel
def rank_without(
    subset: NDArray[np.int64], skip: int, skip_too: int, choose: NDArray[np.int64]
) -> int:
    """Return the rank of a set less its elements number ``skip`` and ``skip_too``."""
    rank, position = 0, 0
    for i in range(len(subset)):
        if i != skip and i != skip_too:
            position += 1
            rank += choose[subset[i], position]
    return rank


@in_place_kernel
def ranks_without_one(
    subset: NDArray[np.int64], choose: NDArray[np.int64], ranks: NDArray[np.int64]
) -> None:
    """Write, for each element of a set, the rank of the set without it."""
    before, after = 0, 0
    for i in range(1, len(subset)):
        after += choose[subset[i], i]
    for i in range(len(subset)):
        ranks[i] = before + after
        before += choose[subset[i], i + 1]
        if i + 1 < len(subset):
            after -= choose[subset[i + 1], i + 1]


@in_place_kernel
def next_subset(subset: NDArray[np.int64]) -> None:
    """Step to the next set in colexicographic order."""
    i = 0
    while i + 1 < len(subset) and subset[i] + 1 == subset[i + 1]:
        subset[i] = i
        i += 1
    subset[i] += 1


SPREAD = -7046029254386353131
"""The golden ratio as a 64-bit fraction, which scatters consecutive ranks (Knuth)."""


def index_ranks(ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the hash table of different ranks: the rank in each slot, and its place or -1."""
    slots = 2 ** (max(1, 2 * len(ranks) - 1).bit_length())
    keys, places = np.zeros(slots, np.int64), np.full(slots, -1, np.int32)
    _insert(ranks, keys, places)
    return keys, places


@in_place_kernel
def _slot(rank: int, slots: int) -> int:
    mixed = rank * SPREAD
    return (mixed ^ (mixed >> 29)) & (slots - 1)


@in_place_kernel
def _insert(ranks: NDArray[np.int64], keys: NDArray[np.int64], places: NDArray[np.int32]) -> None:
    for place in range(len(ranks)):
        slot = _slot(ranks[place], len(keys))
        while places[slot] >= 0:
            slot = (slot + 1) & (len(keys) - 1)
        keys[slot], places[slot] = ranks[place], place


@in_place_kernel
def find(rank: int, keys: NDArray[np.int64], places: NDArray[np.int32]) -> int:
    """Return the place of a rank, or -1."""
    slot = _slot(rank, len(keys))
    while places[slot] >= 0 and keys[slot] != rank:
        slot = (slot + 1) & (len(keys) - 1)
    return int(places[slot])
