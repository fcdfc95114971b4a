"""Hash tables of integer rows, by open addressing, and of sets of one size, by their ranks.

The rank of an increasing set ``s_1 < ... < s_k`` in colexicographic order is the sum of
``C(s_i, i)`` (the combinatorial number system). A column of ranks is a table of rows.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel

LARGEST_RANK = 2**63 - 1
"""The largest rank that fits into a machine word."""

Keys = NDArray[np.integer[Any]]
"""Rows of integers."""


def binomials(n: int, k: int) -> NDArray[np.int64]:
    """Return the binomial coefficients that ranks need, capped at the largest int64."""
    table = np.full((n + 1, k + 1), LARGEST_RANK)
    for i, j in np.ndindex(table.shape):
        table[i, j] = min(math.comb(i, j), LARGEST_RANK)
    return table


@in_place_kernel
def _hash(keys: Keys, i: int) -> np.uint64:
    """Return the hash of the i-th of some rows, each of whose cells is mixed in by FNV-1a."""
    mixed = np.uint64(1469598103934665603)
    for j in range(keys.shape[1]):
        mixed = (mixed ^ np.uint64(np.uint32(keys[i, j]))) * np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(
            29
        )  # so that the low bits, which count, know the high ones
    return mixed


@in_place_kernel
def _slot(slots: NDArray[np.int32], table: Keys, keys: Keys, i: int) -> np.int64:
    """Return the slot of the i-th of some rows in the index of a table, a free one if new."""
    width = keys.shape[1]
    slot = np.int64(_hash(keys, i) & np.uint64(len(slots) - 1))
    while slots[slot] >= 0:
        row = slots[slot]
        j = 0
        while j < width and keys[i, j] == table[row, j]:
            j += 1
        if j == width:
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel
def index_rows(keys: Keys) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Give each different row of a table a number.

    Returns
    -------
    The number of each row, by first appearance, shape (rows,); and the first row of each number.
    """
    n = len(keys)
    # At least twice as many slots as rows, so that runs of taken slots are short.
    size = 8
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, np.int32)
    labels = np.empty(n, np.int32)
    first = np.empty(n, np.int64)
    groups = 0
    for i in range(n):
        slot = _slot(slots, keys, keys, i)
        if slots[slot] < 0:
            slots[slot] = i
            labels[i] = groups
            first[groups] = i
            groups += 1
        else:
            labels[i] = labels[slots[slot]]
    return labels, first[:groups].copy()


@kernel
def insert_rows(
    slots: NDArray[np.int32],
    table: Keys,
    totals: NDArray[np.float64],
    n: int,
    rows: Keys,
    weights: NDArray[np.float64],
) -> tuple[int, NDArray[np.int32]]:
    """Add weighted rows to a table of different rows.

    Parameters
    ----------
    slots
        Index of the table by its rows' hashes, -1 where free; a power of two, at least twice as
        many as the table will have rows.
    table, totals
        The different rows and their weights, with room for more.
    n
        How many they are.
    rows, weights
        What is added.

    Returns
    -------
    How many rows the table then has, and where in it each of those added stands.
    """
    labels = np.empty(len(rows), np.int32)
    for i in range(len(rows)):
        slot = _slot(slots, table, rows, i)
        # A row that is in the table adds its weight.
        labels[i] = slots[slot]
        if labels[i] >= 0:
            totals[labels[i]] += weights[i]
            continue
        # A row that is new.
        labels[i] = slots[slot] = n
        for j in range(rows.shape[1]):
            table[n, j] = rows[i, j]
        totals[n] = weights[i]
        n += 1
    return n, labels


def weight_by(
    labels: NDArray[np.integer],
    weights: NDArray[np.float64],
    n: int,
) -> NDArray[np.float64]:
    """Return the weight of the rows of each label below n."""
    return np.bincount(labels, weights, n).astype(np.float64, copy=False)


def merged_weights(
    values: NDArray[Any],
    weights: NDArray[np.float64],
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the distinct values, increasing, and the total weight of each.

    Examples
    --------
    >>> values, weights = merged_weights(np.array([3, 1, 3]), np.array([1.0, 2.0, 4.0]))
    >>> values.tolist(), weights.tolist()
    ([1, 3], [2.0, 5.0])
    """
    distinct, labels = np.unique(values, return_inverse=True)
    return distinct, weight_by(labels, weights, len(distinct))


class WeightedRows:
    """Different rows with their weights, to which more are added.

    Parameters
    ----------
    width
        Number of columns.
    dtype
        Type of the codes.

    Attributes
    ----------
    codes, weights
        The rows, in the order in which they came first, and the weight of each.

    Examples
    --------
    >>> rows = WeightedRows(1, np.int8)
    >>> rows.add(np.array([[0], [-1], [0]], np.int8), np.ones(3)).tolist()
    [0, 1, 0]
    >>> rows.codes.ravel().tolist(), rows.weights.tolist()
    ([0, -1], [2.0, 1.0])
    """

    def __init__(self, width: int, dtype: type[Any]) -> None:
        self.codes = np.empty((0, width), dtype)
        self.weights = np.empty(0)
        # The arrays with room for more, and the slots of the hash table.
        self._room = self.codes
        self._totals = self.weights
        self._slots = np.empty(0, np.int32)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that is sent to another process, where the index is made again."""
        state = vars(self) | {"_room": self.codes, "_totals": self.weights}
        return state | {"_slots": self._slots[:0]}

    def add(
        self,
        codes: NDArray[Any],
        weights: NDArray[np.float64],
    ) -> NDArray[np.int32]:
        """Add rows with their weights; return where each stands."""
        # Room for the case that all rows are new.
        n = len(self.weights)
        max_rows = n + len(codes)
        if max_rows > len(self._room):
            extra = len(codes) + max_rows // 2
            self._room = np.pad(self.codes, ((0, extra), (0, 0)))
            self._totals = np.pad(self.weights, (0, extra))
        # A larger hash table is filled anew.
        tables = (self._room, self._totals)
        if len(self._slots) < 2 * max_rows:
            self._slots = np.full(1 << (2 * max_rows).bit_length(), -1, np.int32)
            # Added to an empty table that they themselves lie in, the rows stay where they are.
            insert_rows(self._slots, *tables, 0, self.codes, self.weights)
        n, labels = insert_rows(self._slots, *tables, n, codes, weights)
        self.codes = self._room[:n]
        self.weights = self._totals[:n]
        return labels
