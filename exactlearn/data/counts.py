"""Contingency tables of complete categorical data, and patterns of missing cells.

The counts ``n_jk`` of a family (a child and its parents) say how much weight the rows have whose
parents are in configuration ``j`` and whose child is in state ``k``. They are sums over rows, so
tables of blocks of rows add up, and a table over more variables contains the smaller ones as its
marginals.

The trade-off of log-likelihood and size, for every language of models, is

    S(lambda) = (1-lambda) L - lambda size        (THESIS, 4.8 and 4.40)

L is the total log-likelihood in nats, so the same lambda weighs the size less the more rows there
are. PDG-SEM's footnote 2 and THESIS, (4.48) and Algorithm 4.9, weigh the log-likelihood per row
instead; below (4.8) the thesis prints the weight of L, 1-lambda, as that of the size.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.hash_tables import index_rows
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike, require_complete
from exactlearn.errors import DataError, OptionError, TooLargeError


def total_weight(dataset: Dataset) -> float:
    """Return the number of observations N: the total weight of the rows."""
    return float(dataset.row_weights.sum())


def n_configurations(dataset: Dataset, variables: Sequence[int]) -> float:
    """Return the number of joint configurations of some variables, seen in the data or not.

    Raises
    ------
    TooLargeError
        When the number exceeds what a float can hold.
    """
    number = math.prod(float(dataset.cardinalities[v]) for v in variables)
    if math.isinf(number):
        raise TooLargeError(
            f"{len(variables)} variables have more than 1e308 configurations; score smaller "
            "parent sets"
        )
    return number


def family_counts(dataset: Dataset, child: int, parents: Sequence[int]) -> NDArray[np.float64]:
    """Count a family, leaving out parent configurations that no row has.

    Parameters
    ----------
    dataset
        Complete data.
    child, parents
        Variable indices.

    Returns
    -------
    NDArray[np.float64]
        Weights of the observed parent configurations (in the order of the rows that have them
        first) by child state, shape (observed configurations, r).

    Raises
    ------
    DataError
        When a cell is missing.
    """
    require_complete(dataset)
    labels, first = index_rows(dataset.codes[:, list(parents)].astype(np.int32))
    shape = len(first), int(dataset.cardinalities[child])
    cells = labels * shape[1] + dataset.codes[:, child]
    return weight_by(cells, dataset.row_weights, math.prod(shape)).reshape(shape)


def distinct_rows(dataset: Dataset) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Merge equal rows of complete data into one row each, in lexicographic order.

    Returns
    -------
    tuple
        The codes, shape (variables, distinct rows), and the weight of each distinct row. Rows of
        weight 0 are left out.

    Raises
    ------
    DataError
        When a cell is missing.
    """
    require_complete(dataset)
    codes, weights, _ = distinct_weighted(dataset.codes.astype(np.int16), dataset.weights)
    order = np.lexsort(codes.T[::-1])
    return np.ascontiguousarray(codes[order].T), weights[order]


def distinct_weighted(
    codes: NDArray[np.int16], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.int16], NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct rows of positive weight, their total weights, and where each is first."""
    w = np.ones(len(codes)) if weights is None else np.asarray(weights, np.float64)
    used = np.flatnonzero(w > 0)
    labels, first = index_rows(codes[used].astype(np.int32))
    return codes[used[first]], weight_by(labels, w[used], len(first)), used[first].astype(np.int64)


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
    numbers = np.zeros(len(codes), np.int64) if first is None else first.astype(np.int64)
    for column, size in zip(codes.T, sizes, strict=True):
        numbers *= size
        numbers += np.where(column < 0, size - 1, column)
    return numbers


def weight_by(
    labels: NDArray[np.integer], weights: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """Return the weight of the rows of each label below n."""
    return np.bincount(labels, weights, n).astype(np.float64, copy=False)


@checked_arguments()
def missingness_patterns(dataset: DatasetLike) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
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
        raise DataError(f"BIC needs rows of positive weight, found {total_weight}: no rows to fit")
    return size_weight_of(max(0.0, math.log(total_weight)) / 2)


def check_size_weight(size_weight: float) -> None:
    """Raise an `OptionError` if lambda is not from 0 to 1."""
    if not 0 <= size_weight <= 1:
        raise OptionError(f"size_weight {size_weight}: give a number from 0 to 1")


def rate_of(size_weight: float) -> float:
    """Return the log-likelihood that one cell of size must gain, in nats; infinite for lambda 1.

    Raises
    ------
    OptionError
        If lambda is not from 0 to 1.
    """
    check_size_weight(size_weight)
    return size_weight / (1 - size_weight) if size_weight < 1 else math.inf


def size_weight_of(rate: float) -> float:
    """Return the lambda under which one cell of size must gain so many nats."""
    return rate / (1 + rate)
