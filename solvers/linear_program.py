"""A linear program that grows and shrinks by rows and columns and is solved again from its basis.

A thin layer over the linear programming interface of SCIP: columns are nonnegative, rows hold ones
only, and the sense is to maximise. Everything goes in and out as arrays.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyscipopt import LP

from exactlearn.errors import SolverError

Starts = NDArray[np.int64]
"""Where each stretch of a concatenation begins, and where the last one ends."""


class LinearProgram:
    """Maximise over nonnegative columns under rows of ones with lower and upper sides."""

    def __init__(self) -> None:
        self._lp: Any = LP("relaxation", "maximize")
        self._infinity = self._lp.infinity()

    def add_columns(self, costs: NDArray[np.float64], starts: Starts, rows: Starts) -> None:
        """Add columns with a one in each of their rows.

        Parameters
        ----------
        costs
            Objective of each column, shape (k,).
        starts, rows
            Rows of the columns, shapes (k + 1,) and (total,).
        """
        self._lp.addCols(_entries(starts, rows), costs.tolist())

    def add_rows(
        self,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        starts: Starts,
        columns: Starts,
    ) -> None:
        """Add rows with a one in each of their columns; sides may be infinite."""
        sides = (np.clip(side, -self._infinity, self._infinity).tolist() for side in (lower, upper))
        self._lp.addRows(_entries(starts, columns), *sides)

    def delete_rows(self, rows: NDArray[np.int64]) -> None:
        """Delete rows, given in increasing order."""
        ends = np.flatnonzero(np.diff(rows, append=-2) != 1)
        begins = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
        for begin, end in zip(rows[begins][::-1], rows[ends][::-1], strict=True):
            self._lp.delRows(int(begin), int(end))

    def bound_columns(self, columns: NDArray[np.int64], upper: NDArray[np.float64]) -> None:
        """Change the upper bounds of columns."""
        for column, bound in zip(columns.tolist(), upper.tolist(), strict=True):
            self._lp.chgBound(column, 0.0, min(bound, self._infinity))

    def solve(self, *, dual: bool) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return the optimum, the columns' values and the rows' duals.

        Parameters
        ----------
        dual
            Whether to begin with the dual simplex method (after rows were added) or the primal one.
        """
        optimum = self._lp.solve(dual)
        if not self._lp.isOptimal():
            raise SolverError("the linear relaxation was not solved: its solver gave up")
        return optimum, np.array(self._lp.getPrimal()), np.array(self._lp.getDual())


def _entries(starts: Starts, items: NDArray[np.int64]) -> list[list[tuple[int, float]]]:
    pairs = [(item, 1.0) for item in items.tolist()]
    return [pairs[a:b] for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
