"""A coded categorical table with missing cells."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exactlearn.errors import DataError

MISSING = -1
"""Code of a missing cell."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows of discrete observations; a missing cell has the code -1.

    Parameters
    ----------
    codes
        State indices, shape (rows, variables), int8 or int16; -1 for a missing cell.
    names
        Variable names, all different.
    states
        State names of each variable, in the order of their codes; may hold states that no row has.
    weights
        Weight of each row, shape (rows,), or ``None`` when every row counts once.
    edges
        For discretised variables, by name: the increasing inner bin edges.
    """

    codes: NDArray[np.int8] | NDArray[np.int16]
    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    weights: NDArray[np.float64] | None = None
    edges: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[0])

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.names)

    @cached_property
    def cardinalities(self) -> NDArray[np.int64]:
        """Number of states of each variable, shape (variables,)."""
        return np.array([len(s) for s in self.states], np.int64)

    @cached_property
    def missing_cells(self) -> NDArray[np.int64]:
        """The missing cells as (row, variable), in row-major order, shape (cells, 2)."""
        return np.argwhere(self.codes == MISSING).astype(np.int64)

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        return len(self.missing_cells) == 0

    def complete(self, values: Sequence[int] | NDArray[np.integer]) -> "Dataset":
        """Return the table with its missing cells filled, one value for each missing cell."""
        if len(values) != len(self.missing_cells):
            raise DataError(
                f"{len(values)} values for {len(self.missing_cells)} missing cells: give one each"
            )
        codes = self.codes.copy()
        codes[self.missing_cells[:, 0], self.missing_cells[:, 1]] = values
        return replace(self, codes=codes)
