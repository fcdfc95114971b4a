"""Missingness patterns: which variables are missing together, and in how many rows."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.hash_tables import index_rows
from exactlearn.data.codes import MISSING
from exactlearn.data.counts import weight_by
from exactlearn.data.dataset import DatasetLike


@dataclass(frozen=True, eq=False)
class MissingnessPatterns:
    """The different patterns of missing cells in the rows of a table, most frequent first.

    Parameters
    ----------
    names
        Variable names.
    missing
        Whether each variable is missing in each pattern, shape (patterns, variables).
    weights
        Weight of the rows with each pattern, shape (patterns,), decreasing.
    """

    names: tuple[str, ...]
    missing: NDArray[np.bool_]
    weights: NDArray[np.float64]

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weights.sum())

    @property
    def complete(self) -> float:
        """Weight of the rows without missing cells."""
        return float(self.weights[~self.missing.any(axis=1)].sum())

    @cached_property
    def rates(self) -> NDArray[np.float64]:
        """Share of the rows in which each variable is missing, shape (variables,)."""
        rates: NDArray[np.float64] = self.weights @ self.missing / max(self.total, 1e-300)
        return rates


@checked_arguments()
def missingness_patterns(dataset: DatasetLike) -> MissingnessPatterns:
    """Return the patterns of missing cells, rows counted by weight; ties by first appearance.

    Examples
    --------
    >>> from exactlearn import Dataset
    >>> table = Dataset(np.array([[0, -1], [1, 1], [1, -1]]), ("a", "b"), (("no", "yes"),) * 2)
    >>> found = missingness_patterns(table)
    >>> found.missing.tolist(), found.weights.tolist()
    ([[False, True], [False, False]], [2.0, 1.0])
    """
    missing = np.ascontiguousarray(dataset.codes == MISSING)
    labels, first, _ = index_rows(missing.view(np.int8))
    weights = weight_by(labels, dataset.row_weights, len(first))
    order = np.argsort(-weights, kind="stable")
    return MissingnessPatterns(dataset.names, missing[first[order]], weights[order])
