"""How well missing cells were completed, and methods of completion side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from exactlearn.alignment import aligned_codes
from exactlearn.augmentation import Augmentation
from exactlearn.codes import MISSING
from exactlearn.data import Dataset
from exactlearn.errors import DataError


def imputation_accuracy(incomplete: Dataset, values: Sequence[int], truth: Dataset) -> float:
    """Return the share of missing cells that were given their true state.

    Parameters
    ----------
    incomplete
        The table with missing cells.
    values
        State of each missing cell, in the order of ``incomplete.missing_cells``.
    truth
        The same rows without missing cells; variables and states are matched by name.

    Returns
    -------
    accuracy
        From 0 to 1; NaN when no cell is missing.

    Raises
    ------
    DataError
        When the tables have different rows, bins or observed cells, or the truth misses a
        variable or a cell.
    """
    _require_same_table(incomplete, truth)
    true = _true_codes(incomplete, truth)
    _require_same_cells(incomplete, true)
    if incomplete.is_complete:
        return nan
    rows, columns = incomplete.missing_cells.T
    return float(np.mean(true[rows, columns] == np.asarray(values)))


@dataclass(frozen=True)
class Comparison:
    """One method's completion of one table.

    Parameters
    ----------
    method, status
        The method and how its search ended.
    accuracy
        Share of missing cells given their true state; NaN when the truth is not known.
    score, bound, gap
        Score reached, proven bound, and their relative gap.
    seconds
        Wall time.
    """

    method: str
    status: str
    accuracy: float
    score: float
    bound: float
    gap: float
    seconds: float

    @classmethod
    def of(cls, dataset: Dataset, learned: Augmentation, truth: Dataset | None) -> "Comparison":
        """Judge an augmentation of a table."""
        accuracy = nan
        if truth is not None and learned.parents is not None:
            accuracy = imputation_accuracy(dataset, learned.values.tolist(), truth)
        return cls(
            method=learned.method,
            status=learned.status,
            accuracy=accuracy,
            score=learned.score,
            bound=learned.bound,
            gap=learned.gap,
            seconds=learned.seconds,
        )


@dataclass(frozen=True)
class Mean:
    """A mean over repetitions with its standard error.

    Parameters
    ----------
    value, error
        Mean and standard error of the finite entries; NaN when there are none, and the error also
        when there is only one.
    """

    value: float
    error: float

    @classmethod
    def of(cls, entries: Iterable[float]) -> "Mean":
        """Return the mean of the finite entries.

        Examples
        --------
        >>> Mean.of([1.0, 3.0])
        Mean(value=2.0, error=1.0)
        """
        finite = np.array([x for x in entries if isfinite(x)])
        if not len(finite):
            return cls(nan, nan)
        error = float(finite.std(ddof=1)) / sqrt(len(finite)) if len(finite) > 1 else nan
        return cls(float(finite.mean()), error)


def _require_same_table(incomplete: Dataset, truth: Dataset) -> None:
    if truth.n_rows != incomplete.n_rows:
        raise DataError(
            f"the true table has {truth.n_rows} rows, the incomplete one {incomplete.n_rows}; "
            "expected the same rows in the same order"
        )
    for name in incomplete.names:
        if name not in truth.names:
            raise DataError(f"the true table has no column {name!r}; expected the same columns")
    for name, edges in incomplete.edges.items():
        if truth.edges.get(name, edges) != edges:
            raise DataError(
                f"column {name!r} has other bins in the true table than in the incomplete one; "
                "discretise the complete table first, and hide cells then"
            )


def _true_codes(incomplete: Dataset, truth: Dataset) -> NDArray[np.int16]:
    """Return the true states as codes of the incomplete table, states it lacks coming last."""
    own = dict(zip(truth.names, truth.states, strict=True))
    states = [
        tuple(dict.fromkeys((*known, *own[name])))
        for name, known in zip(incomplete.names, incomplete.states, strict=True)
    ]
    return aligned_codes(truth, incomplete.names, states)


def _require_same_cells(incomplete: Dataset, true: NDArray[np.int16]) -> None:
    """Refuse another state in an observed cell, and none in a missing one."""
    differs = (true != incomplete.codes) & (incomplete.codes != MISSING)
    for row, v in np.argwhere(differs).tolist():
        raise DataError(
            f"row {row}, column {incomplete.names[v]!r}: the true table differs from an observed "
            "cell of the incomplete one; expected the same rows in the same order"
        )
    for row, v in np.argwhere(true == MISSING).tolist():
        raise DataError(
            f"row {row}, column {incomplete.names[v]!r}: the cell is missing in the true table too"
        )
