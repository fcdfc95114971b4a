"""The distinct parts of the rows of a table: connected missing variables and what decides on them.

Given the observed cells of a row, missing variables that no chain of families with missing
variables connects are independent of each other, and depend on no observed variable outside of
their families. Each such group with those observed states is a *part* of the row. Few parts
differ, however many rows there are, so each is treated once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.bayesnet.bucket_elimination import NO_COUNTS, NO_POSTERIOR, expect_families
from exactlearn.bayesnet.buckets import PRUNED, Buckets, space_for
from exactlearn.data.dataset import Dataset

ROWS_AT_ONCE, CELLS_AT_ONCE = 65_536, 2**22
"""Most rows, and cells of these rows, whose parts are in memory together."""


def rows_at_once(n_variables: int) -> int:
    """Return the number of rows whose parts are in memory together."""
    return max(1, min(ROWS_AT_ONCE, CELLS_AT_ONCE // max(1, n_variables)))


@dataclass(frozen=True, eq=False)
class MissingParts:
    """The distinct parts of the rows of a table.

    Parameters
    ----------
    codes
        Codes of each part, -1 for its missing cells, shape (parts, variables); variables that do
        not matter have code 0.
    weights
        Total weight of the rows that have the part, shape (parts,).
    of_cell
        The part that each missing cell of the table is in, in row-major order, shape (cells,); -1
        for one of a barren variable that is left out.
    rows, of_row
        A row of the table and a part of it, in the order of the rows; shape (parts of rows,) each.
    """

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    of_cell: NDArray[np.int64]
    rows: NDArray[np.int64]
    of_row: NDArray[np.int64]


def missing_parts(
    layout: Buckets,
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    parents_last: Sequence[int] = (),
) -> MissingParts:
    """Return the distinct parts of the rows of a table.

    Parameters
    ----------
    layout
        The network's structure.
    codes, weights
        The table, -1 for a missing cell, shape (rows, variables), and the weight of each row.
    parents_last
        The variables, children before their parents: then the barren variables of each row, missing
        without an observed descendant, are left out. They do not change the probability of the
        observed cells. Without it, all missing variables are in some part.
    """
    order = np.array(parents_last, np.int64)
    parts, of_cell, rows, of_row = _split(layout, codes, order, int((codes < 0).sum()))
    totals = np.bincount(of_row, weights[rows], len(parts)).astype(np.float64)
    return MissingParts(parts, totals, of_cell, rows, of_row)


def part_blocks(
    layout: Buckets, dataset: Dataset, parents_last: Sequence[int] = ()
) -> Iterator[tuple[MissingParts, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the parts of the rows of positive weight, some rows at a time.

    Yields
    ------
    parts
        Distinct among these rows.
    rows, variables
        Where each missing cell of these rows is in the table, shape (cells,).
    """
    at_once = rows_at_once(dataset.n_variables)
    for first in range(0, dataset.n_rows, at_once):
        some = dataset.part(slice(first, first + at_once))
        weights = some.row_weights
        rows = np.flatnonzero((some.codes.min(axis=1) < 0) & (weights > 0))
        codes = some.codes[rows].astype(np.int16)
        own, variables = np.nonzero(codes < 0)
        parts = missing_parts(layout, codes, weights[rows], parents_last)
        yield parts, first + rows[own], variables


def log_likelihood_of_parts(
    layout: Buckets,
    tables: NDArray[np.float64],
    codes: NDArray[np.int16],
    parents_last: Sequence[int],
) -> NDArray[np.float64]:
    """Return the log probability of each row's families with missing cells, shape (rows,)."""
    parts = missing_parts(layout, codes, np.ones(len(codes)), parents_last)
    logs = np.empty(len(parts.codes))
    space = space_for(layout, parts.codes)
    expect_families(
        layout, tables, parts.codes, parts.weights, space, logs, NO_COUNTS, NO_POSTERIOR
    )
    return np.bincount(parts.rows, logs[parts.of_row], len(codes)).astype(np.float64)


@kernel
def _split(
    layout: Buckets, codes: NDArray[np.int16], parents_last: NDArray[np.int64], n_cells: int
) -> tuple[NDArray[np.int16], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct parts of all rows; that of each missing cell; rows and their parts."""
    n_rows, width = codes.shape
    parts, n = np.zeros((64, width), np.int16), 0
    hashes, slots = np.empty(64, np.uint64), np.full(256, -1, np.int64)
    masses = np.empty(64, np.int64)
    of_cell, cell = np.empty(n_cells, np.int64), 0
    rows, of_row, found = np.empty(n_cells, np.int64), np.empty(n_cells, np.int64), 0
    barren = np.zeros(width, np.bool_)
    label, stack = np.empty(width, np.int64), np.empty(width, np.int64)
    part, touched = np.zeros(width, np.int16), np.empty(width, np.int64)
    is_touched = np.zeros(width, np.bool_)
    for i in range(n_rows):
        label[:] = -1
        for v in parents_last:
            barren[v] = codes[i, v] < 0
            for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
                barren[v] &= layout.holder[t] == v or barren[layout.holder[t]]
        for v in range(width):
            if codes[i, v] >= 0:
                continue
            if label[v] < 0 and not barren[v]:
                m = _gather(
                    layout, codes[i], barren, v, found, label, stack, part, touched, is_touched
                )
                # Look the part up among those before. An equal one has equal codes where this one
                # was written, and the same sum of all codes, so that its other codes are zero.
                mixed, mass = np.uint64(1469598103934665603), 0
                for t in range(m):
                    mass += abs(int(part[touched[t]]))
                    key = np.uint64(touched[t]) * np.uint64(65536) + np.uint64(part[touched[t]] + 2)
                    mixed = (mixed ^ key) * np.uint64(1099511628211)
                    mixed ^= mixed >> np.uint64(29)
                slot = np.int64(mixed & np.uint64(len(slots) - 1))
                while slots[slot] >= 0 and not (
                    hashes[slots[slot]] == mixed
                    and masses[slots[slot]] == mass
                    and _agree(parts[slots[slot]], part, touched, m)
                ):
                    slot = (slot + 1) & (len(slots) - 1)
                if slots[slot] < 0:
                    slots[slot] = n
                    hashes[n], masses[n] = mixed, mass
                    for t in range(width):
                        parts[n, t] = part[t]
                    n += 1
                rows[found], of_row[found] = i, slots[slot]
                found += 1
                for t in range(m):
                    part[touched[t]] = 0
                    is_touched[touched[t]] = False
                # Make room for as many again.
                if n == len(parts):
                    before, hashes_before, masses_before = parts, hashes, masses
                    parts = np.zeros((2 * n, width), np.int16)
                    hashes, masses = np.empty(2 * n, np.uint64), np.empty(2 * n, np.int64)
                    slots = np.full(8 * n, -1, np.int64)
                    for k in range(n):
                        hashes[k], masses[k] = hashes_before[k], masses_before[k]
                        for t in range(width):
                            parts[k, t] = before[k, t]
                        slot = np.int64(hashes[k] & np.uint64(len(slots) - 1))
                        while slots[slot] >= 0:
                            slot = (slot + 1) & (len(slots) - 1)
                        slots[slot] = k
            of_cell[cell] = of_row[label[v]] if label[v] >= 0 else -1
            cell += 1
    return parts[:n].copy(), of_cell, rows[:found].copy(), of_row[:found].copy()


@in_place_kernel
def _agree(
    one: NDArray[np.int16], other: NDArray[np.int16], columns: NDArray[np.int64], n: int
) -> bool:
    """Return whether two rows have the same codes in the first so many of some columns."""
    t = 0
    while t < n and one[columns[t]] == other[columns[t]]:
        t += 1
    return t == n


@in_place_kernel
def _gather(
    layout: Buckets,
    row: NDArray[np.int16],
    barren: NDArray[np.bool_],
    variable: int,
    number: int,
    label: NDArray[np.int64],
    stack: NDArray[np.int64],
    part: NDArray[np.int16],
    touched: NDArray[np.int64],
    is_touched: NDArray[np.bool_],
) -> int:
    """Label the missing variables connected with one, and copy what their families hold.

    The variables of these families are listed in ``touched``; returns how many they are.
    """
    label[variable] = number
    stack[0] = variable
    height, n = 1, 0
    while height > 0:
        height -= 1
        v = stack[height]
        for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
            family = layout.holder[t]
            if barren[family]:
                if not is_touched[family]:
                    is_touched[family] = True
                    touched[n] = family
                    n += 1
                part[family] = PRUNED
                continue
            for k in range(layout.family_first[family], layout.family_first[family + 1]):
                u = layout.family[k]
                if not is_touched[u]:
                    is_touched[u] = True
                    touched[n] = u
                    n += 1
                part[u] = row[u]
                if row[u] < 0 and label[u] < 0:
                    label[u] = number
                    stack[height] = u
                    height += 1
    return n
