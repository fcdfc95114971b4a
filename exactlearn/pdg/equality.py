"""When two numbers count as equal: when only rounding tells them apart."""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel

TOLERANCE = 1e-13
"""Relative difference up to which two parameters count as equal: rounding, nothing more."""


def equal_values(values: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the same number for values >= 0 that differ only by rounding, shape as ``values``.

    Numbers go up with the values.
    """
    flat = values.ravel()
    order = np.argsort(flat, kind="stable")
    numbers = np.empty(len(flat), np.int32)
    numbers[order] = _number_sorted(flat[order], TOLERANCE)
    return numbers.reshape(values.shape)


@kernel
def _number_sorted(values: NDArray[np.float64], tolerance: float) -> NDArray[np.int32]:
    """Give sorted values group numbers; no group reaches further than the tolerance."""
    numbers = np.empty(len(values), np.int32)
    number, smallest = 0, values[0] if len(values) else 0.0
    for i in range(len(values)):
        if values[i] > smallest * (1.0 + tolerance):
            number += 1
            smallest = values[i]
        numbers[i] = number
    return numbers
