"""Arithmetic with pairs of doubles, whose sum has twice the digits of one.

A number stands as ``high + low`` with ``|low| <= u |high|``, where ``u = 2 ** -53``. Products split
their factors (Dekker 1971, "A floating-point technique for extending the available precision"), so
that plain Python gives the same bits. Sums are the sloppy ones of Joldes, Muller and Popescu (2017,
"Tight and rigorous error bounds for basic building blocks of double-word arithmetic"): they err by
at most ``4 u^2 (|x| + |y|)``, which is what an alternating sum needs.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel

UNIT_SQUARE = 2.0**-106
"""Square of the unit roundoff of a double."""

PRODUCT_ERROR = 8.0
"""Relative error of :func:`product` in units of :data:`UNIT_SQUARE`, at most."""

SUM_ERROR = 4.0
"""Error of :func:`add` relative to the sizes of its terms, in the same units, at most."""

_SPLITTER = 134217729.0
"""``2 ** 27 + 1``: it splits a double into two halves of 26 bits."""


@in_place_kernel
def product(
    x_high: float, x_low: float, y_high: float, y_low: float
) -> tuple[float, float]:
    """Return the product of two pairs."""
    # the product of the high parts, and its rounding error by halves
    high = x_high * y_high
    scaled = _SPLITTER * x_high
    x_top = scaled - (scaled - x_high)
    x_rest = x_high - x_top
    scaled = _SPLITTER * y_high
    y_top = scaled - (scaled - y_high)
    y_rest = y_high - y_top
    error = ((x_top * y_top - high) + x_top * y_rest + x_rest * y_top) + x_rest * y_rest
    # the mixed products, and both parts in order
    low = error + (x_high * y_low + x_low * y_high)
    upper = high + low
    return upper, low - (upper - high)


@in_place_kernel
def add(
    x_high: float, x_low: float, y_high: float, y_low: float
) -> tuple[float, float]:
    """Return the sum of two pairs."""
    # the sum of the high parts, and its rounding error
    high = x_high + y_high
    part = high - x_high
    error = (x_high - (high - part)) + (y_high - part)
    # the low parts, and both parts in order
    low = error + (x_low + y_low)
    upper = high + low
    return upper, low - (upper - high)


@in_place_kernel
def subtract_multiple(
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    step: int,
    factor_high: float,
    factor_low: float,
) -> None:
    """Subtract from the first ``step`` numbers the multiples of the next ``step`` ones."""
    for t in range(step):
        scaled_high, scaled_low = product(
            high[t + step], low[t + step], factor_high, factor_low
        )
        high[t], low[t] = add(high[t], low[t], -scaled_high, -scaled_low)


@in_place_kernel
def append_multiples(
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    step: int,
    factor_high: float,
    factor_low: float,
) -> None:
    """Write multiples of the first ``step`` numbers behind them."""
    for t in range(step):
        high[t + step], low[t + step] = product(
            high[t], low[t], factor_high, factor_low
        )


@in_place_kernel
def add_multiples(
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    term_high: NDArray[np.float64],
    term_low: NDArray[np.float64],
    scale: NDArray[np.float64],
    n_terms: int,
) -> None:
    """Add to some numbers terms times powers of two."""
    for t in range(n_terms):
        high[t], low[t] = add(
            high[t], low[t], term_high[t] * scale[t], term_low[t] * scale[t]
        )
