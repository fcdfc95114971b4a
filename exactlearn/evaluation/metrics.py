"""How well missing cells were completed, and methods of completion side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from exactlearn.alignment import aligned_codes
from exactlearn.augmentation import Augmentation
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
        When the tables have different rows, variables, bins or observed cells, or the truth
        misses a cell.
    """
    cells = incomplete.missing_cells
    _require_same_table(incomplete, truth)
    if not len(cells):
        return nan
    true = _true_states(incomplete, truth)
    given = [incomplete.states[v][int(x)] for (_, v), x in zip(cells, values, strict=True)]
    return float(np.mean([a == b for a, b in zip(given, true, strict=True)]))


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
        known = truth is not None and learned.parents is not None
        return cls(
            method=learned.method,
            status=learned.status,
            accuracy=imputation_accuracy(dataset, learned.values.tolist(), truth)
            if truth is not None and known
            else nan,
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
    for name, edges in incomplete.edges.items():
        if truth.edges.get(name, edges) != edges:
            raise DataError(
                f"column {name!r} has other bins in the true table than in the incomplete one; "
                "discretise the complete table first, and hide cells then"
            )
    observed = aligned_codes(incomplete, truth.names, _joined_states(incomplete, truth))
    known = aligned_codes(truth, truth.names, _joined_states(incomplete, truth))
    wrong = np.argwhere((observed >= 0) & (known != observed))
    if len(wrong):
        row, v = (int(k) for k in wrong[0])
        raise DataError(
            f"row {row}, column {truth.names[v]!r}: the true table differs from an observed cell "
            "of the incomplete one; expected the same rows in the same order"
        )


def _joined_states(incomplete: Dataset, truth: Dataset) -> list[tuple[str, ...]]:
    """Return the states of each variable of the truth that either table knows."""
    own = dict(zip(incomplete.names, incomplete.states, strict=True))
    return [
        tuple(dict.fromkeys((*states, *own.get(name, ()))))
        for name, states in zip(truth.names, truth.states, strict=True)
    ]


def _true_states(incomplete: Dataset, truth: Dataset) -> list[str]:
    column: dict[str, int] = {name: j for j, name in enumerate(truth.names)}
    cells: NDArray[np.int64] = incomplete.missing_cells
    states = []
    for row, v in cells.tolist():
        name = incomplete.names[v]
        if name not in column:
            raise DataError(f"the true table has no column {name!r}")
        code = int(truth.codes[row, column[name]])
        if code < 0:
            raise DataError(
                f"row {row}, column {name!r}: the cell is missing in the true table too"
            )
        states.append(truth.states[column[name]][code])
    return states
