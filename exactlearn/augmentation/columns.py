"""Completions of one column: the unit that families share.

A family's score depends on a completion only through the columns of its variables, so all that
families must agree on is which completion each *column* has. A column's completions are its
options; those of a neighbourhood are the ones within a Hamming distance of a base completion.

Rows with the same observed values and the same missing cells may be merged into one weighted row
without losing the optimum over all completions: for a fixed DAG the score is convex in the counts
(a supremum of linear functions for the likelihood, a log-partition function for BDeu), the counts
are linear in how many of those rows take each completion, and a convex function over a simplex is
largest at a corner, where all of them take the same one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.option_ranks import Options
from exactlearn.codes import MISSING
from exactlearn.data import Dataset


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
    """The options of every column, relative to a base completion.

    Option 0 of a column is its base; the options of a column are sorted by distance. A column
    without missing cells has that one option.

    Parameters
    ----------
    base
        The table filled with the base completion, shape (variables, rows), int16.
    first
        Where each variable's options begin, shape (variables + 1,).
    distance
        Distance of each option from the base as the enumeration counts it, shape (options,).
    radius
        Largest total distance of a family's options.
    deviation_first, deviation_row, deviation_value
        The cells where each option differs from the base, shape (options + 1,)
        for the first and (total,) for the others.
    """

    base: NDArray[np.int16]
    first: NDArray[np.int64]
    distance: NDArray[np.int64]
    radius: int
    deviation_first: NDArray[np.int64]
    deviation_row: NDArray[np.int64]
    deviation_value: NDArray[np.int16]

    @property
    def n_options(self) -> NDArray[np.int64]:
        """Number of options of each variable, shape (variables,)."""
        return np.diff(self.first).astype(np.int64)

    @cached_property
    def histogram(self) -> NDArray[np.int64]:
        """Number of options of each variable at each distance, shape (variables, radius + 1)."""
        owner = np.repeat(np.arange(len(self.n_options)), self.n_options)
        histogram = np.zeros((len(self.n_options), self.radius + 1), np.int64)
        np.add.at(histogram, (owner, self.distance), 1)
        return histogram

    @property
    def options(self) -> Options:
        """What the kernels see of the options."""
        return Options(
            self.first,
            self.distance,
            self.histogram,
            self.deviation_first,
            self.deviation_row,
            self.deviation_value,
        )

    def column(self, variable: int, option: int) -> NDArray[np.int64]:
        """Return a variable's column under one of its options (a row of ``distance``)."""
        column: NDArray[np.int64] = self.base[variable].astype(np.int64)
        change = slice(self.deviation_first[option], self.deviation_first[option + 1])
        column[self.deviation_row[change]] = self.deviation_value[change]
        return column

    def variable_of(self, option: int) -> int:
        """Return the variable whose column an option completes."""
        return int(np.searchsorted(self.first, option, side="right")) - 1

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
    """Return every completion of every column; none is farther than another."""
    tables = []
    for variable, r in enumerate(dataset.cardinalities):
        cells = int((dataset.codes[:, variable] == MISSING).sum())
        options = np.arange(int(r) ** cells)[:, None] // place_values(cells, int(r)) % r
        tables.append(options.astype(np.int16))
    base = dataset.codes.astype(np.int16)
    base[base == MISSING] = 0
    return _columns(dataset, base, tables, [np.zeros(len(t), np.int64) for t in tables], 0)


def completions_within(dataset: Dataset, values: NDArray[np.integer], radius: int) -> Columns:
    """Return the completions of each column at most ``radius`` cells away from ``values``.

    Parameters
    ----------
    dataset
        The incomplete table.
    values
        The base completion, one value for each of ``dataset.missing_cells``.
    radius
        Largest Hamming distance, of a column and of a family as a whole.
    """
    base = dataset.complete(values).codes.astype(np.int16)
    tables, distances = [], []
    for variable, r in enumerate(dataset.cardinalities):
        here = base[dataset.codes[:, variable] == MISSING, variable]
        options, distance = _ball(here, int(r), radius)
        tables.append(options)
        distances.append(distance)
    return _columns(dataset, base, tables, distances, radius)


def place_values(cells: int, states: int) -> NDArray[np.int64]:
    """Return what each cell adds to the number of an option of :func:`all_completions`."""
    values: NDArray[np.int64] = states ** np.arange(cells - 1, -1, -1, dtype=np.int64)
    return values


def n_options(cells: int, states: int, radius: int | None) -> int:
    """Count the completions of a column with that many missing cells, within a radius if given."""
    if radius is None:
        return int(states**cells)
    return sum(comb(cells, e) * (states - 1) ** e for e in range(min(radius, cells) + 1))


def _ball(
    here: NDArray[np.int16], states: int, radius: int
) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    options, distance = [here], [0]
    for e in range(1, min(radius, len(here)) + 1):
        for cells in combinations(range(len(here)), e):
            others = [[v for v in range(states) if v != here[c]] for c in cells]
            for change in product(*others):
                option = here.copy()
                option[list(cells)] = change
                options.append(option)
                distance.append(e)
    return np.array(options, np.int16).reshape(len(options), len(here)), np.array(distance)


def _columns(
    dataset: Dataset,
    base: NDArray[np.int16],
    tables: list[NDArray[np.int16]],
    distances: list[NDArray[np.int64]],
    radius: int,
) -> Columns:
    counts, rows, values = [], [], []
    for variable, table in enumerate(tables):
        cells = np.flatnonzero(dataset.codes[:, variable] == MISSING)
        differs = table != base[cells, variable]
        counts.append(differs.sum(axis=1))
        option, cell = np.nonzero(differs)
        rows.append(cells[cell])
        values.append(table[option, cell])
    return Columns(
        base=np.ascontiguousarray(base.T),
        first=np.concatenate([[0], np.cumsum([len(t) for t in tables])]).astype(np.int64),
        distance=np.concatenate(distances).astype(np.int64),
        radius=radius,
        deviation_first=np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64),
        deviation_row=np.concatenate(rows).astype(np.int64),
        deviation_value=np.concatenate(values).astype(np.int16),
    )
