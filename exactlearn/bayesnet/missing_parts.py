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
from exactlearn._runtime.kernel import in_place_kernel, kernel, overwrite
from exactlearn._runtime.offsets import offsets
from exactlearn.bayesnet.bucket_elimination import (
    add_marginal,
    collect,
    distribute,
    marginals,
)
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

MAX_CODES = 2.0**22
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
    for block in blocks(n_cells * float(codes.shape[1]), MAX_CODES):
        part, cells, row = _split(layout, codes[block], last, int(n_cells[block].sum()))
        # Equal parts of all blocks are one, with the sum of their weights.
        labels = parts.add(part, weights[block][row]).astype(np.int64)
        of_cell.append(np.append(labels, -1)[cells])
        rows.append(row + block.start)
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
    # Parts of one row are independent given its observed cells.
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
        # Labels of the row: the part of each missing variable that was visited.
        label[:] = -1
        _mark_barren(layout, codes[i], parents_last, barren)
        for v in range(width):
            if codes[i, v] >= 0:
                continue
            # A variable without a label begins a new connected part.
            if label[v] < 0 and not barren[v]:
                _write_part(layout, codes[i], v, n, barren, label, stack, parts[n])
                rows[n] = i
                n += 1
            of_cell[cell] = label[v]
            cell += 1
    return parts[:n], of_cell, rows[:n]


@in_place_kernel
def _mark_barren(
    layout: Buckets, row: Codes, parents_last: Numbers, barren: NDArray[np.bool_]
) -> None:
    """Mark the missing variables whose children are all barren."""
    for v in parents_last:
        # Children come before their parents, so that theirs are known.
        barren[v] = row[v] < 0
        for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
            barren[v] &= layout.holder[t] == v or barren[layout.holder[t]]


@in_place_kernel
def _write_part(
    layout: Buckets,
    row: Codes,
    variable: int,
    number: int,
    barren: NDArray[np.bool_],
    label: Numbers,
    stack: Numbers,
    part: Codes,
) -> None:
    """Write the part of a missing variable, and its number as the label of its variables."""
    # Depth first: a connected variable leads to the missing members of its families.
    label[variable] = number
    stack[0] = variable
    height = 1
    while height > 0:
        height -= 1
        v = stack[height]
        for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
            family = layout.holder[t]
            # A barren family sums to one, whatever its parents are.
            if barren[family]:
                part[family] = PRUNED
                continue
            for k in range(
                layout.family_first[family], layout.family_first[family + 1]
            ):
                member = layout.family[k]
                part[member] = row[member]
                if row[member] < 0 and label[member] < 0:
                    label[member] = number
                    stack[height] = member
                    height += 1


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


class _Trie(NamedTuple):
    """Scratch space: the sets of one part, node 0 the empty one.

    Attributes
    ----------
    variables, place_of
        The part's missing variables in order, and the place of each variable among them.
    parent, place, depth, size
        Of each node: the node that it extends, the place of the variable that it adds,
        which is before those of its parent, its number of variables and of configurations.
    row
        The part under one configuration of a node.
    """

    variables: Numbers
    place_of: Numbers
    parent: Numbers
    place: Numbers
    depth: Numbers
    size: Numbers
    row: Codes

    @classmethod
    def of(cls, n_variables: int, n_nodes: int) -> "_Trie":
        """Return space for parts of some variables, with at most so many nodes."""
        return cls(
            variables=np.empty(n_variables, np.int64),
            place_of=np.zeros(n_variables, np.int64),
            parent=np.zeros(n_nodes, np.int64),
            place=np.zeros(n_nodes, np.int64),
            depth=np.zeros(n_nodes, np.int64),
            size=np.ones(n_nodes, np.int64),
            row=np.empty(n_variables, np.int16),
        )


BLOCK_WORK = 2.0**23
"""Table cells of inference between two looks at the control: some tenths of a second."""


def n_subsets(
    codes: Codes, cardinalities: Numbers, max_size: int
) -> tuple[Floats, Floats]:
    """Return the number of sets of missing variables of each part, and that of their cells.

    Parameters
    ----------
    codes
        The parts, -1 for a missing cell, shape (parts, variables).
    cardinalities
        Number of states of each variable.
    max_size
        Largest size of a set.
    """
    missing = codes < 0
    n_sets = symmetric_sums(missing.astype(np.int64), max_size)
    n_cells = symmetric_sums(missing * cardinalities, max_size)
    return n_sets[:, 1:].sum(axis=1), n_cells[:, 1:].sum(axis=1)


def symmetric_sums(factors: Numbers, degree: int) -> Floats:
    """Return the elementary symmetric polynomials of rows of numbers, shape (rows, degree + 1)."""
    sums = np.zeros((len(factors), degree + 1))
    sums[:, 0] = 1.0
    for column in factors.T:
        sums[:, 1:] += sums[:, :-1] * column[:, None]
    return sums


def subset_posteriors(
    layout: Buckets,
    tables: Floats,
    codes: Codes,
    order: Numbers,
    max_size: int,
    control: SearchControl = UNLIMITED,
) -> tuple[SubsetPosteriors, int]:
    """Return the joint posteriors of all sets of up to ``max_size`` missing variables of parts.

    Parameters
    ----------
    layout, tables
        The network's structure and flat conditional probabilities.
    codes
        The parts, -1 for a missing cell, shape (parts, variables).
    order
        The variables in order.
    max_size
        Largest size of a set.
    control
        Looked at between blocks of parts; when it is over, later ones are not computed.

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
    # All sets of all parts have their places beforehand, as their sizes are known.
    nodes, cells = n_subsets(codes, layout.cardinality, max_size)
    first_cells = offsets(cells)
    first = offsets(nodes)
    posteriors = SubsetPosteriors(
        first=first,
        child=np.zeros(first[-1], np.int64),
        begin=np.zeros(first[-1], np.int64),
        probability=np.zeros(first_cells[-1]),
    )
    # Blocks of about equal work, between which the control is looked at.
    work = cells * (row_sizes(layout, codes)[:, 0] + 16)
    space = space_for(layout, codes)
    trie = _Trie.of(codes.shape[1], 1 + int(nodes.max(initial=0)))
    for block in blocks(work, BLOCK_WORK):
        if control.is_over and block.start > 0:
            break
        parts = np.arange(block.start, block.stop)
        impossible = _fill(
            layout,
            tables,
            codes,
            order,
            max_size,
            parts,
            first_cells,
            space,
            trie,
            posteriors,
        )
        if impossible >= 0:
            return posteriors, impossible
    return posteriors, -1


@in_place_kernel
def _fill(
    layout: Buckets,
    tables: Floats,
    codes: Codes,
    order: Numbers,
    max_size: int,
    parts: Numbers,
    first_cells: Numbers,
    space: Space,
    trie: _Trie,
    posteriors: SubsetPosteriors,
) -> int:
    """Write nodes and probabilities of some parts; return one of probability zero, or -1.

    Parameters
    ----------
    layout, tables, codes, order, max_size
        As for :func:`subset_posteriors`.
    parts
        The parts to fill.
    first_cells
        Where the probabilities of each part begin, shape (parts + 1,).
    space, trie
        Scratch space.
    posteriors
        Receives the nodes and probabilities.
    """
    probability = posteriors.probability
    for part in parts:
        # Node k of the trie is node above + k of all: the empty set has none.
        above = posteriors.first[part] - 1
        cell = first_cells[part]
        trie.place[0] = _list_missing(codes[part], order, trie)
        n = 1
        node = 0
        while node < n:
            # The nodes with one variable more.
            first_child = n
            begin = posteriors.begin
            n, cell = _extend(layout, trie, node, n, max_size, begin, above, cell)
            if node > 0:
                posteriors.child[above + node] = above + first_child
            # P(T, v | e) = P(T | e) P(v | T, e), one configuration of T after the other.
            for number in range(trie.size[node] if n > first_child else 0):
                given = 1.0
                if node > 0:
                    given = probability[posteriors.begin[above + node] + number]
                if given <= 0.0:
                    continue
                overwrite(trie.row, codes[part])
                _condition(layout, trie, node, number)
                n_missing, log = collect(layout, tables, trie.row, False, space)
                # An impossible prefix has no extension; an impossible part is an error.
                if log == -np.inf:
                    if node == 0:
                        return int(part)
                    continue
                distribute(layout, trie.row, n_missing, space)
                # Only variables that follow in the order have a child node.
                for b in range(n_missing):
                    v = space.missing[b]
                    child = first_child + trie.place_of[v]
                    if child < n:
                        r = layout.cardinality[v]
                        first = posteriors.begin[above + child] + number * r
                        start = space.cell_first[b]
                        stop = space.cell_first[b + 1]
                        add_marginal(
                            space.cells, start, stop, r, given, probability, first
                        )
            node += 1
    return -1


@in_place_kernel
def _list_missing(row: Codes, order: Numbers, trie: _Trie) -> int:
    """List the missing variables of a part in order; return their number."""
    n = 0
    for v in order:
        if row[v] < 0:
            trie.variables[n] = v
            trie.place_of[v] = n
            n += 1
    return n


@in_place_kernel
def _extend(
    layout: Buckets,
    trie: _Trie,
    node: int,
    n: int,
    max_size: int,
    begin: Numbers,
    above: int,
    cell: int,
) -> tuple[int, int]:
    """Extend a node by each earlier variable, behind ``n`` nodes.

    Returns the number of nodes then, and the place after their probabilities, the first of
    which have place ``cell``: the places go into ``begin``, behind ``above``.
    """
    if trie.depth[node] == max_size:
        return n, cell
    for place in range(trie.place[node]):
        trie.parent[n] = node
        trie.place[n] = place
        trie.depth[n] = trie.depth[node] + 1
        trie.size[n] = trie.size[node] * layout.cardinality[trie.variables[place]]
        begin[above + n] = cell
        cell += trie.size[n]
        n += 1
    return n, cell


@in_place_kernel
def _condition(layout: Buckets, trie: _Trie, node: int, number: int) -> None:
    """Write the configuration of a node with some number into the row."""
    while node > 0:
        v = trie.variables[trie.place[node]]
        trie.row[v] = number % layout.cardinality[v]
        number //= layout.cardinality[v]
        node = trie.parent[node]
