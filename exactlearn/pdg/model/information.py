"""The log-likelihood that counts have at its maximum."""

import numpy as np
from numpy.typing import NDArray


def information(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest log-likelihood of the counts of each node (THESIS, 4.39).

    Parameters
    ----------
    counts
        Weights of states, shape (..., states).

    Returns
    -------
    Sum over states of n log(n / total), shape (...), in nats, never positive.
    """
    states: NDArray[np.float64] = _x_log_x(counts).sum(axis=-1)
    return states - _x_log_x(counts.sum(axis=-1))


def _x_log_x(x: NDArray[np.float64]) -> NDArray[np.float64]:
    product: NDArray[np.float64] = x * np.log(np.where(x > 0, x, 1.0))
    return product
