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

from exactlearn._runtime.hash_tables import WeightedRows
from exactlearn._runtime.kernel import kernel
from exactlearn.bayesnet.bucket_elimination import NO_COUNTS, NO_POSTERIOR, expect_families
from exactlearn.bayesnet.buckets import PRUNED, Buckets, blocks, space_for

MOST_CODES = 2.0**22
"""Codes of parts that are looked up together."""


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
    parts = WeightedRows(codes.shape[1], np.int16)
    of_cell, rows, of_row = ([np.empty(0, np.int64)] for _ in range(3))
    for part, cells, row in row_parts(layout, codes, parents_last):
        labels = parts.add(part, weights[row])
        of_cell.append(np.append(labels, -1)[cells])
        rows.append(row)
        of_row.append(labels.astype(np.int64))
    return MissingParts(parts.codes, parts.weights, *map(np.concatenate, (of_cell, rows, of_row)))


def row_parts(
    layout: Buckets, codes: NDArray[np.int16], parents_last: Sequence[int] = ()
) -> Iterator[tuple[NDArray[np.int16], NDArray[np.int64], NDArray[np.int64]]]:
    """Yield all parts of rows, some rows at a time.

    Parameters
    ----------
    layout, codes, parents_last
        As for :func:`missing_parts`.

    Yields
    ------
    parts
        Their codes, shape (parts, variables).
    of_cell
        The number of the part that each missing cell of these rows is in, or -1.
    rows
        The row of each part.
    """
    order = np.array(parents_last, np.int64)
    n_cells = (codes < 0).sum(axis=1)
    for some in blocks(n_cells * float(codes.shape[1]), MOST_CODES):
        parts, of_cell, rows = _split(layout, codes[some], order, int(n_cells[some].sum()))
        yield parts, of_cell, rows + some.start


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
) -> tuple[NDArray[np.int16], NDArray[np.int64], NDArray[np.int64]]:
    """Return the parts of all rows, that of each missing cell, and the row of each part."""
    n_rows, width = codes.shape
    parts, n, cell = np.zeros((n_cells, width), np.int16), 0, 0
    of_cell, rows = np.empty(n_cells, np.int64), np.empty(n_cells, np.int64)
    label, stack = np.empty(width, np.int64), np.empty(width, np.int64)
    barren = np.zeros(width, np.bool_)
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
                # The missing variables connected with this one, and what their families hold.
                label[v], stack[0], height = n, v, 1
                while height > 0:
                    height -= 1
                    connected = stack[height]
                    first, last = layout.holder_first[connected], layout.holder_first[connected + 1]
                    for t in range(first, last):
                        family = layout.holder[t]
                        if barren[family]:
                            parts[n, family] = PRUNED
                            continue
                        for k in range(
                            layout.family_first[family], layout.family_first[family + 1]
                        ):
                            u = layout.family[k]
                            parts[n, u] = codes[i, u]
                            if codes[i, u] < 0 and label[u] < 0:
                                label[u] = n
                                stack[height] = u
                                height += 1
                rows[n] = i
                n += 1
            of_cell[cell] = label[v]
            cell += 1
    return parts[:n], of_cell, rows[:n]
