"""The independent parts of incomplete rows: what inference in a network needs of each row.

Given the observed cells of a row, missing variables that no chain of families with missing
variables connects are independent of each other, and depend on no observed variable outside of
their families. Each such group with those observed states is a *part* of the row. Few parts
differ, however many rows there are, so each is treated once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn._runtime.row_table import group_rows
from exactlearn.bayesnet.bucket_layout import Buckets


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
        The part that each missing cell of the table is in, in row-major order, shape (cells,).
    """

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    of_cell: NDArray[np.int64]


def missing_parts(
    layout: Buckets, codes: NDArray[np.int16], weights: NDArray[np.float64]
) -> MissingParts:
    """Return the distinct parts of the rows of a table.

    Parameters
    ----------
    layout
        The network's structure.
    codes, weights
        The table, -1 for a missing cell, shape (rows, variables), and the weight of each row.
    """
    n_cells = int((codes < 0).sum())
    row_of_part, part_of_cell = np.empty(n_cells, np.int64), np.empty(n_cells, np.int64)
    parts = np.zeros((n_cells, codes.shape[1]), np.int16)
    n = _split(layout, codes, parts, row_of_part, part_of_cell)
    labels, first = group_rows(parts[:n].astype(np.int32))
    totals = np.bincount(labels, weights[row_of_part[:n]], len(first)).astype(np.float64)
    return MissingParts(parts[first], totals, labels.astype(np.int64)[part_of_cell])


@kernel
def _split(
    layout: Buckets,
    codes: NDArray[np.int16],
    parts: NDArray[np.int16],
    row_of_part: NDArray[np.int64],
    part_of_cell: NDArray[np.int64],
) -> int:
    """Write the parts of all rows; return how many there are."""
    n, cell = 0, 0
    label = np.empty(codes.shape[1], np.int64)
    stack = np.empty(codes.shape[1], np.int64)
    for i in range(len(codes)):
        label[:] = -1
        for v in range(codes.shape[1]):
            if codes[i, v] >= 0:
                continue
            if label[v] < 0:
                _gather(layout, codes[i], v, n, label, stack, parts[n])
                row_of_part[n] = i
                n += 1
            part_of_cell[cell] = label[v]
            cell += 1
    return n


@kernel
def _gather(
    layout: Buckets,
    row: NDArray[np.int16],
    variable: int,
    number: int,
    label: NDArray[np.int64],
    stack: NDArray[np.int64],
    part: NDArray[np.int16],
) -> None:
    """Label the missing variables connected with one, and copy what their families hold."""
    label[variable] = number
    stack[0] = variable
    part[variable] = -1
    height = 1
    while height > 0:
        height -= 1
        v = stack[height]
        for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
            family = layout.holder[t]
            for k in range(layout.family_first[family], layout.family_first[family + 1]):
                u = layout.family[k]
                part[u] = row[u]
                if row[u] < 0 and label[u] < 0:
                    label[u] = number
                    stack[height] = u
                    height += 1
