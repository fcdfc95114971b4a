"""Configurations and weights of the rows of a table, and patterns of missing cells.

The trade-off of log-likelihood and size, for every language of models, is

    S(lambda) = (1-lambda) L - lambda size        (THESIS, 4.8 and 4.40)

L is the total log-likelihood in nats, so the same lambda weighs the size less the more rows there
are. PDG-SEM's footnote 2 and THESIS, (4.48) and Algorithm 4.9, weigh the log-likelihood per row
instead; below (4.8) the thesis prints the weight of L, 1-lambda, as that of the size.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.hash_tables import index_rows, weight_by
from exactlearn._runtime.number_arguments import NUMBERS
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import DatasetLike
from exactlearn.errors import DataError


def distinct_weighted(
    codes: NDArray[np.int16],
    weights: NDArray[np.float64] | None,
) -> tuple[NDArray[np.int16], NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct rows of positive weight, their total weights, and where each is first."""
    row_weights = np.ones(len(codes)) if weights is None else np.asarray(weights)
    used = np.flatnonzero(row_weights > 0)
    labels, first = index_rows(codes[used].astype(np.int32))
    totals = weight_by(labels, row_weights[used].astype(np.float64), len(first))
    rows = used[first]
    return codes[rows], totals, rows


def weighted_mean(values: NDArray[Any], weights: NDArray[np.float64]) -> float:
    """Return the mean of a number of each row, rows counted by weight.

    Parameters
    ----------
    values, weights
        Shape (rows,) each. Rows of weight zero do not count, even with an infinite number.

    Returns
    -------
    mean
        NaN where no row has weight.

    Examples
    --------
    >>> weighted_mean(np.array([1.0, 2.0, np.inf]), np.array([3.0, 1.0, 0.0]))
    1.25
    """
    used = weights > 0
    if not used.any():
        return math.nan
    return float(np.average(values[used], weights=weights[used]))


def configurations(
    codes: NDArray[np.integer],
    sizes: Sequence[int] | NDArray[np.int64],
    first: NDArray[np.integer] | None = None,
) -> NDArray[np.int64]:
    """Return the number of each row's configuration; a missing cell has the last state.

    Parameters
    ----------
    codes
        Shape (rows, columns).
    sizes
        Number of states of each column.
    first
        A number of each row that comes before the columns.
    """
    numbers = np.zeros(len(codes), np.int64)
    if first is not None:
        numbers += first
    for column, size in zip(codes.T, sizes, strict=True):
        numbers *= size
        numbers += np.where(column < 0, size - 1, column)
    return numbers


@checked_arguments()
def missingness_patterns(
    dataset: DatasetLike,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return the different patterns of missing cells in the rows of a table, most frequent first.

    Returns
    -------
    missing
        Whether each variable is missing in each pattern, shape (patterns, variables).
    weights
        Weight of the rows with each pattern, shape (patterns,), decreasing; ties by first row.

    Examples
    --------
    >>> from exactlearn import Dataset
    >>> table = Dataset(np.array([[0, -1], [1, 1], [1, -1]]), ("a", "b"), (("no", "yes"),) * 2)
    >>> missing, weights = missingness_patterns(table)
    >>> missing.tolist(), weights.tolist()
    ([[False, True], [False, False]], [2.0, 1.0])
    """
    missing = np.ascontiguousarray(dataset.codes == MISSING)
    labels, first = index_rows(missing.view(np.int8))
    weights = weight_by(labels, dataset.row_weights, len(first))
    order = np.argsort(-weights, kind="stable")
    return missing[first[order]], weights[order]


def bic_size_weight(total_weight: float) -> float:
    """Return the lambda of BIC for so many rows: log N / (2 + log N). That of AIC is 1/2.

    Raises
    ------
    DataError
        If there are no rows.
    """
    if not 0 < total_weight < math.inf:
        raise DataError(
            f"BIC needs rows of positive weight, found {total_weight}: no rows to fit"
        )
    return size_weight_of(max(0.0, math.log(total_weight)) / 2)


def rate_of(size_weight: float) -> float:
    """Return the log-likelihood that one cell of size must gain, in nats; infinite for lambda 1.

    Raises
    ------
    OptionError
        If lambda is not from 0 to 1.
    """
    NUMBERS["size_weight"](size_weight, "size_weight")
    return size_weight / (1 - size_weight) if size_weight < 1 else math.inf


def size_weight_of(rate: float) -> float:
    """Return the lambda under which one cell of size must gain so many nats."""
    return rate / (1 + rate)
