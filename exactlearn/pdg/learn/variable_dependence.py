"""Which pairs of variables depend on each other within the parts of a partition of the rows.

Pearson's statistic is summed over the parts (THESIS, 4.51), with the count that independence
within a part leads to expect, N_h N_l / N (4.52, as corrected). Degrees of freedom are parts x
(states - 1) x (states - 1), less one for each cell that no row has, but one at least: a logical
relation leaves many cells empty. Where there are fewer than five rows per parameter no test is
made, and the variables pass for independent.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from exactlearn._runtime.kernel import kernel

ROWS_PER_PARAMETER = 5
"""Fewer rows per degree of freedom (before empty cells are taken off) are too few for a test."""


def dependence_graph(
    columns: NDArray[np.int64],
    weights: NDArray[np.float64],
    cardinalities: Sequence[int],
    parts: NDArray[np.int64],
    significance: float,
) -> NDArray[np.bool_]:
    """Return which pairs of variables test as dependent, shape (variables, variables).

    Parameters
    ----------
    columns
        State numbers of the variables, shape (variables, rows).
    weights
        Of the rows, shape (rows,).
    cardinalities
        Number of states of each variable.
    parts
        The part of each row, shape (rows,).
    significance
        Pairs are dependent when independence leads to such a statistic with at most this
        probability.
    """
    r = np.asarray(cardinalities, np.int64)
    used = np.unique(parts, return_inverse=True)
    n_parts = len(used[0])
    statistics, empty = pair_statistics(columns, weights, r, used[1].astype(np.int64), n_parts)
    freedom = n_parts * np.multiply.outer(r - 1, r - 1)
    enough = (weights.sum() >= ROWS_PER_PARAMETER * freedom) & (freedom > 0)
    probability = np.where(enough, chi2.sf(statistics, np.maximum(freedom - empty, 1)), np.inf)
    np.fill_diagonal(probability, np.inf)
    dependent: NDArray[np.bool_] = probability <= significance
    return dependent


@kernel
def pair_statistics(
    columns: NDArray[np.int64],
    weights: NDArray[np.float64],
    cardinalities: NDArray[np.int64],
    parts: NDArray[np.int64],
    n_parts: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return Pearson's statistic of each pair of variables, and how many cells are empty.

    Both of shape (variables, variables), symmetric.
    """
    n = len(columns)
    statistics = np.zeros((n, n))
    empty = np.zeros((n, n), np.int64)
    widest = cardinalities.max()
    table = np.empty((n_parts, widest, widest))
    row_sums, column_sums = np.empty(widest), np.empty(widest)
    for i in range(n):
        for j in range(i):
            ri, rj = cardinalities[i], cardinalities[j]
            table[:] = 0.0
            for d in range(len(weights)):
                table[parts[d], columns[i, d], columns[j, d]] += weights[d]
            for b in range(n_parts):
                row_sums[:] = 0.0
                column_sums[:] = 0.0
                total = 0.0
                for h in range(ri):
                    for k in range(rj):
                        row_sums[h] += table[b, h, k]
                        column_sums[k] += table[b, h, k]
                        total += table[b, h, k]
                        if table[b, h, k] == 0.0:
                            empty[i, j] += 1
                for h in range(ri):
                    for k in range(rj):
                        expected = row_sums[h] * column_sums[k] / total
                        if expected > 0.0:
                            statistics[i, j] += (table[b, h, k] - expected) ** 2 / expected
            statistics[j, i] = statistics[i, j]
            empty[j, i] = empty[i, j]
    return statistics, empty
