"""A linear program that grows and shrinks by rows and columns and is solved again from its basis.

A thin layer over HiGHS: columns are nonnegative, rows hold ones only, and the sense is to maximise.
Everything goes in and out as arrays. (On the larger roots its simplex method is over ten times as
fast as the one behind SCIP's interface for linear programs.)
"""

from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.errors import SolverError

Starts = NDArray[np.int64]
"""Where each stretch of a concatenation begins, and where the last one ends."""

PAUSE = 0.05
"""Seconds between two pauses of the simplex method."""

DUAL_SIMPLEX, PRIMAL_SIMPLEX = 1, 4
"""Values of the option ``simplex_strategy``."""


class LinearProgram:
    """Maximise over nonnegative columns under rows of ones with lower and upper sides."""

    def __init__(self) -> None:
        import highspy  # takes long to import

        self._engine: Any = highspy  # its own annotations are incomplete
        # Made plainly, HiGHS 1.16 greets on standard output as it enables callbacks not used here.
        silent = {"enableCallbacks": highspy.Highs.silent}
        self._highs: Any = type("Silent", (highspy.Highs,), silent)()
        for option, value in (
            ("presolve", "off"),
            ("solver", "simplex"),
            ("parallel", "off"),
            ("threads", 1),
        ):
            self._highs.setOptionValue(option, value)
        self._highs.changeObjectiveSense(self._engine.ObjSense.kMaximize)

    def add_columns(self, costs: NDArray[np.float64], starts: Starts, rows: Starts) -> None:
        """Add columns with a one in each of their rows.

        Parameters
        ----------
        costs
            Objective of each column, shape (k,).
        starts, rows
            Rows of the columns, shapes (k + 1,) and (total,).
        """
        k = len(costs)
        self._highs.addCols(k, costs, np.zeros(k), np.full(k, np.inf), *_ones(starts, rows))

    def add_rows(
        self,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        starts: Starts,
        columns: Starts,
    ) -> None:
        """Add rows with a one in each of their columns; sides may be infinite."""
        self._highs.addRows(len(lower), lower, upper, *_ones(starts, columns))

    def delete_rows(self, rows: NDArray[np.int64]) -> None:
        """Delete rows, given in increasing order."""
        self._highs.deleteRows(len(rows), rows.astype(np.int32))

    def bound_columns(self, columns: NDArray[np.int64], upper: NDArray[np.float64]) -> None:
        """Change the upper bounds of columns."""
        k = len(columns)
        self._highs.changeColsBounds(k, columns.astype(np.int32), np.zeros(k), upper)

    def solve(
        self, *, dual: bool, control: SearchControl = UNLIMITED
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the optimum, the columns' values and the rows' duals; ``None`` when it is over.

        Parameters
        ----------
        dual
            Whether to begin with the dual simplex method (after rows were added) or the primal one.
        control
            Ends the simplex method.
        """
        highs, status = self._highs, self._engine.HighsModelStatus
        highs.setOptionValue("simplex_strategy", DUAL_SIMPLEX if dual else PRIMAL_SIMPLEX)
        if self._ended_early(control):
            return None
        if highs.getModelStatus() != status.kOptimal:
            highs.clearSolver()  # the basis may be what it stumbles over
            if self._ended_early(control):
                return None
        found = highs.getModelStatus()
        if found != status.kOptimal:
            message = highs.modelStatusToString(found)
            raise SolverError(f"the linear relaxation was not solved; its solver says {message!r}")
        solution = highs.getSolution()
        values, duals = np.array(solution.col_value), np.array(solution.row_dual)
        return float(highs.getObjectiveValue()), values, duals

    def _ended_early(self, control: SearchControl) -> bool:
        """Solve; return whether the control ended that. What a listener raises is raised then.

        The solver calls back at each iteration; an exception must not leave that call.
        """
        failures: list[BaseException] = []
        looked, is_over = monotonic(), False

        def look(kind: Any, message: str, state: Any, answer: Any, data: Any) -> None:
            nonlocal looked, is_over
            if not is_over and monotonic() - looked >= PAUSE:
                looked = monotonic()
                try:
                    is_over = not control.goes_on()
                except BaseException as failure:
                    failures.append(failure)
                    is_over = True
            answer.user_interrupt = is_over

        highs = self._highs
        highs.setCallback(look, None)
        highs.startCallback(self._engine.cb.HighsCallbackType.kCallbackSimplexInterrupt)
        if highs.run() == self._engine.HighsStatus.kError:
            # HiGHS has one pool of threads, which another user of it in this process has made
            highs.setOptionValue("threads", 0)
            highs.run()
        if failures:
            raise failures[0]
        return is_over


def _ones(
    starts: Starts, items: NDArray[np.int64]
) -> tuple[int, NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return a matrix of ones as HiGHS takes it: its size, starts, indices and values."""
    return len(items), starts[:-1].astype(np.int32), items.astype(np.int32), np.ones(len(items))
