"""Nominal states as numbers for methods that know numbers only: one column for each state."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset


def first_states(cardinalities: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each variable's columns begin, and the end, shape (variables + 1,)."""
    return np.concatenate(([0], np.cumsum(cardinalities))).astype(np.int64)


def one_hot(dataset: Dataset, variables: Sequence[int] | None = None) -> NDArray[np.float64]:
    """Return one column for each state: 1 in rows that have it, else 0, NaN where it is missing.

    Parameters
    ----------
    dataset
        The table.
    variables
        Columns to code, all when left out.

    Returns
    -------
    indicators
        Shape (rows, states of all these variables), variable after variable.

    Examples
    --------
    >>> table = Dataset(np.array([[1], [-1]]), ("a",), (("x", "y", "z"),))
    >>> one_hot(table)
    array([[ 0.,  1.,  0.],
           [nan, nan, nan]])
    """
    blocks = [np.empty((dataset.n_rows, 0))]
    for variable in range(dataset.n_variables) if variables is None else variables:
        codes = dataset.codes[:, variable]
        block = (codes[:, None] == np.arange(dataset.cardinalities[variable])).astype(np.float64)
        block[codes == MISSING] = np.nan
        blocks.append(block)
    return np.concatenate(blocks, axis=1)


def cell_probabilities(shares: NDArray[np.float64], dataset: Dataset) -> NDArray[np.float64]:
    """Return the distribution of each missing cell from one share per row and state.

    Parameters
    ----------
    shares
        Shape (rows, states of all variables), laid out as :func:`one_hot`; negative shares count
        as zero, and a cell without any share gets the uniform distribution.
    dataset
        The table with the missing cells.

    Returns
    -------
    probabilities
        Shape (cells, most states of a variable), zero beyond a variable's states; each row sums to
        one.
    """
    rows, variables = dataset.missing_cells.T
    states = np.arange(int(dataset.cardinalities.max(initial=1)))
    real = states < dataset.cardinalities[variables][:, None]
    columns = first_states(dataset.cardinalities)[variables][:, None] + states
    found = np.where(real, shares[rows[:, None], np.where(real, columns, 0)], 0.0).clip(min=0.0)
    totals = found.sum(axis=1, keepdims=True)
    uniform = real / real.sum(axis=1, keepdims=True)
    probabilities: NDArray[np.float64] = np.divide(found, totals, out=uniform, where=totals > 0)
    return probabilities


def likeliest(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return each cell's most probable state, shape (cells,); ties go to the first."""
    states: NDArray[np.int64] = probabilities.argmax(axis=1).astype(np.int64)
    return states
