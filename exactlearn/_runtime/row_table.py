"""Tables of integer rows with an index of them, by open addressing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel


@kernel
def index_rows(
    keys: NDArray[np.integer[Any]],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Give each different row of a table a number.

    Returns
    -------
    The number of each row, by first appearance, shape (rows,); the first row of each number; and
    the slots that `find_row` takes together with the table of first rows.
    """
    n = len(keys)
    size = 8
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, np.int32)
    labels = np.empty(n, np.int32)
    first = np.empty(n, np.int64)
    groups = 0
    for i in range(n):
        slot = _slot(keys, i, size)
        while slots[slot] >= 0 and not _equal(keys, i, keys, first[slots[slot]]):
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = groups
            first[groups] = i
            groups += 1
        labels[i] = slots[slot]
    return labels, first[:groups].copy(), slots


@in_place_kernel
def find_row(
    slots: NDArray[np.int32],
    table: NDArray[np.integer[Any]],
    keys: NDArray[np.integer[Any]],
    i: int,
) -> np.int64:
    """Return where in a table of different rows the i-th of some rows stands, -1 if nowhere."""
    size = len(slots)
    slot = _slot(keys, i, size)
    while slots[slot] >= 0 and not _equal(keys, i, table, slots[slot]):
        slot = (slot + 1) & (size - 1)
    return np.int64(slots[slot])


@in_place_kernel
def insert_rows(
    slots: NDArray[np.int32],
    table: NDArray[np.integer[Any]],
    totals: NDArray[np.float64],
    n: int,
    rows: NDArray[np.integer[Any]],
    weights: NDArray[np.float64],
    labels: NDArray[np.int32],
) -> np.int64:
    """Add weighted rows to a table of different rows; return how many the table then has.

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
    labels
        Where each of the rows stands then in the table is written here.
    """
    size = len(slots)
    for i in range(len(rows)):
        slot = _slot(rows, i, size)
        while slots[slot] >= 0 and not _equal(rows, i, table, slots[slot]):
            slot = (slot + 1) & (size - 1)
        labels[i] = slots[slot]
        if labels[i] >= 0:
            totals[labels[i]] += weights[i]
            continue
        labels[i] = slots[slot] = n
        for j in range(rows.shape[1]):
            table[n, j] = rows[i, j]
        totals[n] = weights[i]
        n += 1
    return np.int64(n)


def group_rows(keys: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Group equal rows: the group of each row, by first appearance, and each group's first row."""
    labels, first, _ = index_rows(keys)
    return labels, first


@in_place_kernel
def _slot(keys: NDArray[np.integer[Any]], row: int, size: int) -> np.int64:
    mixed = np.uint64(1469598103934665603)
    for j in range(keys.shape[1]):
        mixed = (mixed ^ np.uint64(np.uint32(keys[row, j]))) * np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed & np.uint64(size - 1))


@in_place_kernel
def _equal(a: NDArray[np.integer[Any]], i: int, b: NDArray[np.integer[Any]], k: int) -> bool:
    width: int = a.shape[1]
    j = 0
    while j < width and a[i, j] == b[k, j]:
        j += 1
    return j == width


class WeightedRows:
    """Different rows with their weights, to which more are added.

    Parameters
    ----------
    width
        Number of columns.
    dtype
        Type of the codes.

    Examples
    --------
    >>> rows = WeightedRows(1, np.int8)
    >>> rows.add(np.array([[0], [-1], [0]], np.int8), np.ones(3)).tolist()
    [0, 1, 0]
    >>> rows.codes.ravel().tolist(), rows.weights.tolist()
    ([0, -1], [2.0, 1.0])
    """

    def __init__(self, width: int, dtype: type[Any]) -> None:
        self.n = 0
        self._codes, self._weights = np.empty((0, width), dtype), np.empty(0)
        self._slots = np.empty(0, np.int32)
        self._is_shared = False

    @property
    def codes(self) -> NDArray[Any]:
        """The rows in the order in which they came first, shape (rows, columns)."""
        self._freeze()
        return self._codes

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each row, shape (rows,)."""
        self._freeze()
        return self._weights

    def __getstate__(self) -> dict[str, Any]:
        """Return what is sent to another process, where the index is made again."""
        own = {"_codes": self.codes, "_weights": self.weights, "_slots": np.empty(0, np.int32)}
        return {**self.__dict__, **own}

    def add(self, codes: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.int32]:
        """Add rows with their weights; return where each stands."""
        most = self.n + len(codes)
        if most > len(self._codes) or self._is_shared:
            self._make_room(most + most // 8)
        if len(self._slots) < 2 * most:
            del self._slots
            self._slots = np.full(1 << (2 * most).bit_length(), -1, np.int32)
            # Added to an empty table that they themselves lie in, the rows stay where they are.
            self._insert(0, self._codes[: self.n], self._weights[: self.n])
        self.n, labels = self._insert(self.n, codes, weights)
        return labels

    def _insert(
        self, n: int, codes: NDArray[Any], weights: NDArray[np.float64]
    ) -> tuple[int, NDArray[np.int32]]:
        labels = np.empty(len(codes), np.int32)
        n = int(insert_rows(self._slots, self._codes, self._weights, n, codes, weights, labels))
        return n, labels

    def _freeze(self) -> None:
        """Cut the table to its rows, which then change no more."""
        if not self._is_shared:
            self._make_room(self.n)
            self._is_shared = True

    def _make_room(self, rows: int) -> None:
        """Lengthen, or cut, the table; memory that can grow in place is not copied."""
        if self._is_shared:
            self._codes, self._weights = self._codes.copy(), self._weights.copy()
            self._is_shared = False
        self._codes.resize((rows, self._codes.shape[1]), refcheck=False)
        self._weights.resize(rows, refcheck=False)
