"""The missing cells of a table, some of them filled, and what reading them costs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.branch_and_bound.multipliers import Prices
from exactlearn.data.dataset import Dataset


class Holes(NamedTuple):
    """An incomplete table, and what reading its holes costs.

    Attributes
    ----------
    codes
        States, -1 in the holes, shape (variables, rows).
    weights
        Weight of each row, shape (rows,).
    cardinalities
        Number of states of each variable, shape (variables,).
    number
        Number of each hole, filled ones too, -1 elsewhere, shape (variables, rows).
    variables, rows
        Where each hole is, shapes (holes,).
    prices
        What reading a hole costs.
    """

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    cardinalities: NDArray[np.int64]
    number: NDArray[np.int64]
    variables: NDArray[np.int64]
    rows: NDArray[np.int64]
    prices: Prices

    @classmethod
    def of(cls, dataset: Dataset) -> "Holes":
        """Return the missing cells of a table; reading them costs nothing."""
        rows, variables = dataset.missing_cells.T.copy()
        codes = np.ascontiguousarray(dataset.codes.T.astype(np.int16))
        number = np.full(codes.shape, -1)
        number[variables, rows] = np.arange(len(rows))
        most = int(dataset.cardinalities.max(initial=0))
        return cls(
            codes,
            dataset.row_weights,
            dataset.cardinalities,
            number,
            variables,
            rows,
            Prices.none(dataset.n_variables, len(rows), most),
        )

    @property
    def states(self) -> NDArray[np.int64]:
        """Number of states of each hole, shape (holes,)."""
        return self.cardinalities[self.variables]

    @property
    def filled(self) -> NDArray[np.int64]:
        """State of each hole, -1 where it is open, shape (holes,)."""
        return self.codes[self.variables, self.rows].astype(np.int64)

    def fill(self, values: NDArray[np.int64]) -> "Holes":
        """Return the holes with other states, -1 where they shall be open, shape (holes,)."""
        codes = self.codes.copy()
        codes[self.variables, self.rows] = values
        return self._replace(codes=codes)
