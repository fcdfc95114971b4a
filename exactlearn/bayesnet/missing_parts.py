r"""The distinct parts of the rows of a table: connected missing variables and what decides on them.

Given the observed cells of a row, missing variables that no chain of families with missing
variables connects are independent of each other, and depend on no observed variable outside of
their families. Each such group with those observed states is a *part* of the row. Few parts
differ, however many rows there are, so each is treated once.

As parts are independent, the joint posterior of any variables of a row is a product over its parts.
Within a part the chain rule gives them, one conditioned inference for each configuration of a
smaller set:

.. math:: P(T, v \mid e) = P(T \mid e) \, P(v \mid T, e) .

The sets of a part form a trie: each is entered from its last variable in a given order to its
first, so that a walk along the trie takes one addition for each variable.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.hash_tables import WeightedRows
from exactlearn._runtime.kernel import kernel, overwrite
from exactlearn._runtime.offsets import offsets
from exactlearn.bayesnet.bucket_elimination import collect, distribute, marginals
from exactlearn.bayesnet.buckets import (
    PRUNED,
    Buckets,
    Space,
    blocks,
    row_sizes,
    space_for,
)

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Codes = NDArray[np.int16]

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

    codes: Codes
    weights: Floats
    of_cell: Numbers
    rows: Numbers
    of_row: Numbers


def missing_parts(
    layout: Buckets, codes: Codes, weights: Floats, parents_last: Sequence[int] = ()
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
    last = np.array(parents_last, np.int64)
    n_cells = (codes < 0).sum(axis=1)
    of_cell, rows, of_row = ([np.empty(0, np.int64)] for _ in range(3))
    for some in blocks(n_cells * float(codes.shape[1]), MOST_CODES):
        part, cells, row = _split(layout, codes[some], last, int(n_cells[some].sum()))
        labels = parts.add(part, weights[some][row]).astype(np.int64)
        of_cell.append(np.append(labels, -1)[cells])
        rows.append(row + some.start)
        of_row.append(labels)
    return MissingParts(
        parts.codes, parts.weights, *map(np.concatenate, (of_cell, rows, of_row))
    )


def log_likelihood_of_parts(
    layout: Buckets, tables: Floats, codes: Codes, parents_last: Sequence[int]
) -> Floats:
    """Return the log probability of each row's families with missing cells, shape (rows,)."""
    parts = missing_parts(layout, codes, np.ones(len(codes)), parents_last)
    _, logs = marginals(layout, tables, parts.codes, with_posterior=False)
    return np.bincount(parts.rows, logs[parts.of_row], len(codes)).astype(np.float64)


@kernel
def _split(
    layout: Buckets, codes: Codes, parents_last: Numbers, n_cells: int
) -> tuple[Codes, Numbers, Numbers]:
    """Return the parts of all rows, that of each missing cell, and the row of each part."""
    n_rows, width = codes.shape
    parts = np.zeros((n_cells, width), np.int16)
    n = 0
    cell = 0
    of_cell = np.empty(n_cells, np.int64)
    rows = np.empty(n_cells, np.int64)
    label = np.empty(width, np.int64)
    stack = np.empty(width, np.int64)
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
                label[v] = n
                stack[0] = v
                height = 1
                while height > 0:
                    height -= 1
                    connected = stack[height]
                    first = layout.holder_first[connected]
                    last = layout.holder_first[connected + 1]
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


class SubsetPosteriors(NamedTuple):
    """The joint posteriors of the sets of missing variables of some parts.

    Attributes
    ----------
    first
        The first node of each part, shape (parts + 1,): those of its single variables, in order.
    child
        Where the nodes with one variable more begin, shape (nodes,): they follow in the order of
        this variable, which is before all others of the set.
    begin
        Where the probabilities of each node begin, shape (nodes,): the variable that was added
        last has the fastest axis.
    probability
        Flat tables.
    """

    first: Numbers
    child: Numbers
    begin: Numbers
    probability: Floats


BLOCK_WORK = 2.0**23
"""Table cells of inference between two looks at the control: some tenths of a second."""


def n_subsets(codes: Codes, cardinalities: Numbers, most: int) -> tuple[Floats, Floats]:
    """Return how many sets of up to ``most`` missing variables parts have, and their cells."""
    missing = codes < 0
    n_sets = symmetric_sums(missing.astype(np.int64), most)
    n_cells = symmetric_sums(missing * cardinalities, most)
    return n_sets[:, 1:].sum(axis=1), n_cells[:, 1:].sum(axis=1)


def symmetric_sums(factors: Numbers, most: int) -> Floats:
    """Return the elementary symmetric polynomials of rows of numbers, shape (rows, most + 1)."""
    sums = np.zeros((len(factors), most + 1))
    sums[:, 0] = 1.0
    for column in factors.T:
        sums[:, 1:] += sums[:, :-1] * column[:, None]
    return sums


def subset_posteriors(
    layout: Buckets,
    tables: Floats,
    codes: Codes,
    order: Numbers,
    most: int,
    control: SearchControl = UNLIMITED,
) -> tuple[SubsetPosteriors, int]:
    """Return the joint posteriors of all sets of up to ``most`` missing variables of parts.

    Parameters
    ----------
    layout, tables
        The network's structure and flat conditional probabilities.
    codes
        The parts, -1 for a missing cell, shape (parts, variables).
    order
        The variables in order.
    most
        Largest size of a set.
    control
        Looked at between blocks of parts; when it is over, the rest is not computed.

    Returns
    -------
    posteriors
        Where the control was over, with zeros.
    impossible
        A part of probability zero, or -1.

    Raises
    ------
    TooLargeError
        When the missing variables of a part depend on each other too much for exact inference.
    """
    nodes, cells = n_subsets(codes, layout.cardinality, most)
    found = SubsetPosteriors(
        offsets(nodes),
        np.zeros(int(nodes.sum()), np.int64),
        np.zeros(int(nodes.sum()), np.int64),
        np.zeros(int(cells.sum())),
    )
    work = cells * (row_sizes(layout, codes)[:, 0] + 16)
    space = space_for(layout, codes)
    start = offsets(cells)
    for block in blocks(work, BLOCK_WORK):
        if control.is_over and block.start > 0:
            break
        begin = block.start
        end = block.stop
        first = start[begin]
        impossible = _fill(
            layout, tables, codes, order, most, space, begin, end, first, found
        )
        if impossible >= 0:
            return found, impossible
    return found, -1


@kernel
def _fill(
    layout: Buckets,
    tables: Floats,
    codes: Codes,
    order: Numbers,
    most: int,
    space: Space,
    begin: int,
    end: int,
    cells: int,
    found: SubsetPosteriors,
) -> int:
    """Write nodes and probabilities of some parts; return one of probability zero, or -1."""
    width = codes.shape[1]
    largest = 0
    for i in range(begin, end):
        largest = max(largest, found.first[i + 1] - found.first[i])
    variable = np.empty(width, np.int64)
    place = np.zeros(width, np.int64)
    nodes = np.empty((4, largest), np.int64)
    origin = nodes[0]
    member = nodes[1]
    depth = nodes[2]
    size = nodes[3]
    row = np.empty(width, np.int16)
    for i in range(begin, end):
        m = 0
        n = 0
        first = found.first[i]
        for v in order:
            if codes[i, v] < 0:
                variable[m] = v
                place[v] = m
                m += 1
        for s in range(-1, found.first[i + 1] - first):
            # The nodes with one variable more.
            limit = m if s < 0 else member[s] if depth[s] < most else 0
            if s >= 0:
                found.child[first + s] = first + n
            for q in range(limit):
                found.begin[first + n + q] = cells
                origin[n + q] = s
                member[n + q] = q
                depth[n + q] = 1 if s < 0 else depth[s] + 1
                size[n + q] = layout.cardinality[variable[q]] * (
                    1 if s < 0 else size[s]
                )
                cells += size[n + q]
            # Their probabilities, given one configuration of this node after the other.
            for x in range(1 if limit > 0 and s < 0 else size[s] if limit > 0 else 0):
                given = 1.0 if s < 0 else found.probability[found.begin[first + s] + x]
                if given <= 0.0:
                    continue
                overwrite(row, codes[i])
                t = s
                rest = x
                while t >= 0:
                    v = variable[member[t]]
                    row[v] = rest % layout.cardinality[v]
                    rest //= layout.cardinality[v]
                    t = origin[t]
                left, log = collect(layout, tables, row, False, space)
                if log == -np.inf:
                    if s < 0:
                        return i
                    continue
                distribute(layout, row, left, space)
                for b in range(left):
                    v = space.missing[b]
                    r = layout.cardinality[v]
                    if place[v] < limit:
                        at = found.begin[first + n + place[v]] + x * r
                        for c in range(space.cell_first[b], space.cell_first[b + 1], r):
                            for h in range(r):
                                found.probability[at + h] += given * space.cells[c + h]
            n += limit
    return -1
