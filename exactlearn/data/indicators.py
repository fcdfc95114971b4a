"""Indicators of the states of a table (one-hot coding), and proportions laid out alike.

A table of proportions has one column for each state, variable after variable, shape (rows, states
of all variables).
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.offsets import offsets
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset


def one_hot(dataset: Dataset) -> NDArray[np.float64]:
    """Return one column for each state: 1 in rows that have it, else 0, NaN where it is missing.

    Parameters
    ----------
    dataset
        The table.

    Returns
    -------
    indicators
        Shape (rows, states of all variables), variable after variable.

    Examples
    --------
    >>> table = Dataset(np.array([[1], [-1]]), ("a",), (("x", "y", "z"),))
    >>> one_hot(table)
    array([[ 0.,  1.,  0.],
           [nan, nan, nan]])
    """
    sizes = dataset.cardinalities
    first = offsets(sizes)[:-1]
    states = np.arange(sizes.sum()) - first.repeat(sizes)
    codes = dataset.codes.repeat(sizes, axis=1)
    return np.where(codes == MISSING, np.nan, codes == states)


def mean_proportions(dataset: Dataset) -> NDArray[np.float64]:
    """Return the share of each state among the observed cells of its variable, shape (states,).

    A variable without observed cells has equal proportions.

    Examples
    --------
    >>> table = Dataset(np.array([[0], [1], [1], [-1]]), ("a",), (("x", "y"),))
    >>> mean_proportions(table).round(2).tolist()
    [0.33, 0.67]
    """
    sizes = dataset.cardinalities
    weighted = one_hot(dataset) * dataset.row_weights[:, None]
    counts = np.nansum(weighted, axis=0)
    totals = np.add.reduceat(counts, offsets(sizes)[:-1])
    totals = totals.repeat(sizes)
    proportions: NDArray[np.float64] = 1 / sizes.repeat(sizes)
    np.divide(counts, totals, out=proportions, where=totals > 0)
    return proportions


def with_proportions(
    dataset: Dataset,
    proportions: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the indicators of all states, with proportions where the cell is missing.

    Parameters
    ----------
    dataset
        The table.
    proportions
        Shape (states,), as of :func:`mean_proportions`.

    Returns
    -------
    proportions
        Shape (rows, states), laid out as :func:`one_hot`.
    """
    indicators = one_hot(dataset)
    return np.where(np.isnan(indicators), proportions, indicators)


def states_of_cells(dataset: Dataset) -> NDArray[np.bool_]:
    """Return whether each missing cell may have each state, shape (cells, most states).

    The true entries are in the order of the entries of :func:`one_hot` that are NaN.

    Examples
    --------
    >>> states_of_cells(Dataset([[-1, -1]], ("a", "b"), (("x", "y"), ("u", "v", "w")))).tolist()
    [[True, True, False], [True, True, True]]
    """
    columns = dataset.missing_cells[:, 1]
    sizes = dataset.cardinalities[columns]
    largest = dataset.cardinalities.max(initial=1)
    return np.arange(largest) < sizes[:, None]


def cell_probabilities(
    proportions: NDArray[np.float64],
    dataset: Dataset,
) -> NDArray[np.float64]:
    """Return the distribution of each missing cell from one share per row and state.

    Parameters
    ----------
    proportions
        Shape (rows, states of all variables), laid out as :func:`one_hot`; negative ones count as
        zero, and a cell without any positive one gets the uniform distribution.
    dataset
        The table with the missing cells.

    Returns
    -------
    probabilities
        Shape (cells, most states of a variable), zero beyond a variable's states; each row sums to
        one.
    """
    is_missing = (dataset.codes == MISSING).repeat(dataset.cardinalities, axis=1)
    is_state = states_of_cells(dataset)
    of_cells = np.zeros(is_state.shape)
    of_cells[is_state] = proportions[is_missing].clip(min=0.0)
    totals = of_cells.sum(axis=1, keepdims=True)
    # A cell without any positive proportion keeps the uniform distribution.
    n_states = is_state.sum(axis=1, keepdims=True)
    probabilities: NDArray[np.float64] = is_state / n_states
    np.divide(
        of_cells,
        totals,
        out=probabilities,
        where=totals > 0,
    )
    return probabilities
