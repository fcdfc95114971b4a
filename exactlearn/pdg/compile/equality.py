"""When two numbers count as equal: when only rounding tells them apart."""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel

TOLERANCE = 1e-13
"""Relative difference up to which two parameters count as equal: rounding, nothing more."""


def equal_values(values: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the same number for values >= 0 that differ only by rounding, shape as ``values``.

    Numbers go by first appearance; a value gets the number of an earlier one within `TOLERANCE`.
    """
    return number_values(np.ascontiguousarray(values).ravel(), TOLERANCE).reshape(values.shape)


@kernel
def number_values(values: NDArray[np.float64], tolerance: float) -> NDArray[np.int32]:
    """Give a vector's values >= 0 their numbers, by cells that are wider than the tolerance."""
    n = len(values)
    bits = values.view(np.int64)
    size = 8
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, np.int32)
    seen = np.empty(n, np.int64)
    numbers = np.empty(n, np.int32)
    count = 0
    for i in range(n):
        number = -1
        cell = bits[i] >> 10
        for shift in range(3):
            near = cell + (shift + 1) % 3 - 1
            slot = _cell_slot(near, size)
            while number < 0 and slots[slot] >= 0:
                other = seen[slots[slot]]
                difference = abs(values[i] - values[other])
                if bits[other] >> 10 == near and difference <= tolerance * values[other]:
                    number = slots[slot]
                slot = (slot + 1) & (size - 1)
            if number >= 0:
                break
        if number < 0:
            slot = _cell_slot(cell, size)
            while slots[slot] >= 0:
                slot = (slot + 1) & (size - 1)
            number = count
            slots[slot] = number
            seen[number] = i
            count += 1
        numbers[i] = number
    return numbers


@kernel
def _cell_slot(cell: int, size: int) -> np.int64:
    mixed = np.uint64(cell) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed >> np.uint64(32)) & np.uint64(size - 1))
