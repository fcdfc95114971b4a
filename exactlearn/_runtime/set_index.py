"""A hash table from the rank of a set to its place in a table of sets of one size."""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel

SPREAD = -7046029254386353131
"""The golden ratio as a 64-bit fraction, which scatters consecutive ranks (Knuth)."""


def index_ranks(ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the hash table of different ranks: the rank in each slot, and its place or -1."""
    slots = 2 ** (max(1, 2 * len(ranks) - 1).bit_length())
    keys, places = np.zeros(slots, np.int64), np.full(slots, -1, np.int32)
    _insert(ranks, keys, places)
    return keys, places


@kernel
def _slot(rank: int, slots: int) -> int:
    mixed = rank * SPREAD
    return (mixed ^ (mixed >> 29)) & (slots - 1)


@kernel
def _insert(ranks: NDArray[np.int64], keys: NDArray[np.int64], places: NDArray[np.int32]) -> None:
    for place in range(len(ranks)):
        slot = _slot(ranks[place], len(keys))
        while places[slot] >= 0:
            slot = (slot + 1) & (len(keys) - 1)
        keys[slot], places[slot] = ranks[place], place


@kernel
def find(rank: int, keys: NDArray[np.int64], places: NDArray[np.int32]) -> int:
    """Return the place of a rank, or -1."""
    slot = _slot(rank, len(keys))
    while places[slot] >= 0:
        if keys[slot] == rank:
            return int(places[slot])
        slot = (slot + 1) & (len(keys) - 1)
    return -1
