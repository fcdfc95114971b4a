"""Stretches of a concatenation: where each begins, and which one each item is in."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def offsets(lengths: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    """Return where each of several stretches of those lengths begins, and where the last ends.

    Examples
    --------
    >>> offsets([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def owners(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the stretch that each item of a concatenation is in, shape (items,).

    Parameters
    ----------
    starts
        Where each stretch begins, and where the last ends (:func:`offsets`).

    Examples
    --------
    >>> owners(np.array([0, 2, 2, 5])).tolist()
    [0, 0, 2, 2, 2]
    """
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def places_within(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each item of a concatenation within its stretch, shape (items,).

    Parameters
    ----------
    starts
        Where each stretch begins, and where the last ends (:func:`offsets`).

    Examples
    --------
    >>> places_within(np.array([0, 2, 2, 5])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(starts[-1]) - starts[owners(starts)]
