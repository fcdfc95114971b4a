"""Completions of one column: the unit that families share.

A family's score depends on a completion only through the columns of its variables, so all that
families must agree on is which completion each *column* has. A column's completions are its
options.

Rows with the same observed values and the same missing cells may be merged into one weighted row
without losing the optimum over all completions: for a fixed DAG the score is convex in the counts
(a supremum of linear functions for the likelihood, a log-partition function for BDeu), the counts
are linear in how many of those rows take each completion, and a convex function over a simplex is
largest at a corner, where all of them take the same one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.option_ranks import Options
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class Rows:
    """A table whose equal rows are merged, and where each original row went.

    Parameters
    ----------
    dataset
        The merged table; every row has a weight.
    origin
        For each original row, its row in the merged table.
    """

    dataset: Dataset
    origin: NDArray[np.int64]


def merge_rows(dataset: Dataset, *, incomplete: bool) -> Rows:
    """Merge equal rows; rows with missing cells only if ``incomplete``."""
    codes = dataset.codes
    key = codes.astype(np.int32)
    if not incomplete:
        hole = (codes == MISSING).any(axis=1)
        tag = np.where(hole, np.arange(1, len(codes) + 1), 0).astype(np.int32)
        key = np.column_stack([key, tag])
    _, first, origin = np.unique(key, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # keep the order of first appearance
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    origin = rank[origin.reshape(-1)]
    weights = np.bincount(origin, weights=dataset.weights, minlength=len(order))
    merged = replace(dataset, codes=codes[first[order]], weights=weights.astype(np.float64))
    return Rows(merged, origin.astype(np.int64))


@dataclass(frozen=True, eq=False)
class Columns:
    """The completions of every column, its options, relative to a base completion.

    A column without missing cells has one option.

    Parameters
    ----------
    base
        The table filled with the base completion, shape (variables, rows), int16.
    first
        Where each variable's options begin, shape (variables + 1,).
    deviation_first, deviation_row, deviation_value
        The cells where each option differs from the base, shape (options + 1,)
        for the first and (total,) for the others.
    """

    base: NDArray[np.int16]
    first: NDArray[np.int64]
    deviation_first: NDArray[np.int64]
    deviation_row: NDArray[np.int64]
    deviation_value: NDArray[np.int16]

    @property
    def n_options(self) -> NDArray[np.int64]:
        """Number of options of each variable, shape (variables,)."""
        return np.diff(self.first).astype(np.int64)

    @property
    def options(self) -> Options:
        """What the kernels see of the options."""
        return Options(
            self.first,
            self.n_options,
            self.deviation_first,
            self.deviation_row,
            self.deviation_value,
        )

    def column(self, variable: int, option: int) -> NDArray[np.int64]:
        """Return a variable's column under one of its options."""
        column: NDArray[np.int64] = self.base[variable].astype(np.int64)
        change = slice(self.deviation_first[option], self.deviation_first[option + 1])
        column[self.deviation_row[change]] = self.deviation_value[change]
        return column

    def fill(self, options: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the table in which each variable's column has its option, (rows, variables)."""
        return np.column_stack(
            [self.column(v, int(self.first[v] + option)) for v, option in enumerate(options)]
        )


def at_missing(table: NDArray[np.int64], dataset: Dataset) -> NDArray[np.int64]:
    """Read the values of a dataset's missing cells off a filled table, (rows, variables)."""
    cells = dataset.missing_cells
    values: NDArray[np.int64] = table[cells[:, 0], cells[:, 1]]
    return values


def all_completions(dataset: Dataset) -> Columns:
    """Return every completion of every column; the base has state 0 in all missing cells."""
    base = dataset.codes.astype(np.int16)
    base[base == MISSING] = 0
    counts, rows, values = [], [], []
    for variable, r in enumerate(dataset.cardinalities):
        cells = np.flatnonzero(dataset.codes[:, variable] == MISSING)
        options = np.arange(int(r) ** len(cells))[:, None] // place_values(len(cells), int(r)) % r
        option, cell = np.nonzero(options)
        counts.append((options != 0).sum(axis=1))
        rows.append(cells[cell])
        values.append(options[option, cell])
    return Columns(
        base=np.ascontiguousarray(base.T),
        first=np.concatenate([[0], np.cumsum([len(own) for own in counts])]).astype(np.int64),
        deviation_first=np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64),
        deviation_row=np.concatenate(rows).astype(np.int64),
        deviation_value=np.concatenate(values).astype(np.int16),
    )


def place_values(cells: int, states: int) -> NDArray[np.int64]:
    """Return what each cell adds to the number of an option of :func:`all_completions`."""
    values: NDArray[np.int64] = states ** np.arange(cells - 1, -1, -1, dtype=np.int64)
    return values
