r"""The distinct parts of the rows of a table: connected missing variables and what decides on them.

Given the observed cells of a row, missing variables that no chain of families with missing
variables connects are independent of each other, and depend on no observed variable outside of
their families. Each such group with those observed states is a *part* of the row. Few parts
differ, however many rows there are, so each is treated once.

As parts are independent, the joint posterior of any variables of a row is a product over its parts.
Within a part the chain rule gives them, one conditioned inference for each configuration of a
smaller set:

.. math:: P(T, v \mid e) = P(T \mid e) \, P(v \mid T, e) .

The sets of a part form a trie, a tree whose nodes are sets. The part's missing variables have
places 0, 1, ... in a given order, and the child of a node adds a variable whose place is below all
places of the node's set: the set with places 1 < 4 < 6 is reached by 6, 4, 1. The children of a
node stand side by side by place, so that each step is one addition: first child plus place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.hash_tables import WeightedRows, weight_by
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
"""Largest number of codes that the parts of a block of rows take before equal parts are merged, if
each missing cell is a part by itself."""


@dataclass(frozen=True, eq=False)
class MissingParts:
    """The distinct parts of the rows of a table.

    Parameters
    ----------
    codes
        Codes of each part, -1 for its missing cells, shape (parts, variables). Variables outside of
        the part's families have code 0; barren variables that were left out of these families have
        the code :data:`~exactlearn.bayesnet.buckets.PRUNED`.
    weights
        Total weight of the rows that have the part, shape (parts,).
    of_cell
        The part that each missing cell of the table is in, in row-major order, shape (cells,); -1
        for one of a barren variable that is left out.
    pair_row, pair_part
        The pairs of a row of the table and a part of that row, in the order of the rows; shape
        (pairs,) each.
    """

    codes: Codes
    weights: Floats
    of_cell: Numbers
    pair_row: Numbers
    pair_part: Numbers


def missing_parts(
    layout: Buckets,
    codes: Codes,
    weights: Floats,
    children_first: Sequence[int] = (),
) -> MissingParts:
    """Return the distinct parts of the rows of a table.

    Parameters
    ----------
    layout
        The network's structure.
    codes, weights
        The table, -1 for a missing cell, shape (rows, variables), and the weight of each row.
    children_first
        All variables, children before their parents, to leave out the barren variables of each row:
        those that are missing without an observed descendant, which do not change the probability
        of the observed cells. Empty to leave out none: all missing variables are in some part.
    """
    distinct = WeightedRows(codes.shape[1], np.int16)
    pruning_order = np.array(children_first, np.int64)
    n_missing = (codes < 0).sum(axis=1)
    # Begun with nothing, for a table without blocks.
    nothing = np.empty(0, np.int64)
    of_cell = [nothing]
    pair_row = [nothing]
    pair_part = [nothing]
    work = n_missing * float(codes.shape[1])
    for block in blocks(work, MAX_CODES):
        part_codes, cell_pair, row = _split(
            layout,
            codes[block],
            pruning_order,
            int(n_missing[block].sum()),
        )
        # Equal parts of all blocks are one, with the sum of their weights.
        part_weights = weights[block][row]
        labels = distinct.add(part_codes, part_weights).astype(np.int64)
        of_cell.append(np.append(labels, -1)[cell_pair])
        pair_row.append(row + block.start)
        pair_part.append(labels)
    return MissingParts(
        codes=distinct.codes,
        weights=distinct.weights,
        of_cell=np.concatenate(of_cell),
        pair_row=np.concatenate(pair_row),
        pair_part=np.concatenate(pair_part),
    )


def log_likelihood_rows(
    layout: Buckets,
    tables: Floats,
    codes: Codes,
    children_first: Sequence[int],
) -> Floats:
    """Return the log probability of each row's families with missing cells, shape (rows,)."""
    parts = missing_parts(layout, codes, np.ones(len(codes)), children_first)
    _, logs = marginals(layout, tables, parts.codes, with_posterior=False)
    # Parts of one row are independent given its observed cells.
    return weight_by(parts.pair_row, logs[parts.pair_part], len(codes))


@kernel
def _split(
    layout: Buckets,
    codes: Codes,
    pruning_order: Numbers,
    n_cells: int,
) -> tuple[Codes, Numbers, Numbers]:
    """Return the parts of all rows, equal ones not merged yet.

    Returns
    -------
    part_codes
        Codes of each part, shape (parts, variables).
    of_cell
        The part of each missing cell, -1 for a barren one, shape (n_cells,).
    rows
        The row of each part, shape (parts,).
    """
    n_rows, width = codes.shape
    part_codes = np.zeros((n_cells, width), np.int16)
    n_parts = 0
    cell = 0
    of_cell = np.empty(n_cells, np.int64)
    rows = np.empty(n_cells, np.int64)
    label = np.empty(width, np.int64)
    stack = np.empty(width, np.int64)
    barren = np.zeros(width, np.bool_)
    for i in range(n_rows):
        # Labels of the row: the part of each missing variable that was visited.
        label[:] = -1
        _mark_barren(layout, codes[i], pruning_order, barren)
        for v in range(width):
            if codes[i, v] >= 0:
                continue
            # A variable without a label begins a new connected part.
            if label[v] < 0 and not barren[v]:
                part = part_codes[n_parts]
                _write_part(layout, codes[i], v, n_parts, barren, label, stack, part)
                rows[n_parts] = i
                n_parts += 1
            of_cell[cell] = label[v]
            cell += 1
    return part_codes[:n_parts], of_cell, rows[:n_parts]


@in_place_kernel
def _mark_barren(
    layout: Buckets,
    row: Codes,
    pruning_order: Numbers,
    barren: NDArray[np.bool_],
) -> None:
    """Mark the missing variables whose children are all barren; none with an empty order."""
    for v in pruning_order:
        # Children come before their parents, so that theirs are known.
        barren[v] = row[v] < 0
        for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
            barren[v] &= layout.holder[t] == v or barren[layout.holder[t]]


@in_place_kernel
def _write_part(
    layout: Buckets,
    row: Codes,
    variable: int,
    new_label: int,
    barren: NDArray[np.bool_],
    label: Numbers,
    stack: Numbers,
    part: Codes,
) -> None:
    """Write the codes of a missing variable's part, and the label of its missing variables.

    Parameters
    ----------
    layout, row
        The network's structure, and the codes of the row.
    variable, new_label
        A missing variable without a label, and the number of its part.
    barren
        Mask of the variables that are left out.
    label
        Receives the number of the part at its missing variables.
    stack
        Scratch space.
    part
        Receives the codes, zero before.
    """
    # Depth first: a connected variable leads to the missing members of its families.
    label[variable] = new_label
    stack[0] = variable
    height = 1
    while height > 0:
        height -= 1
        v = stack[height]
        for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
            family = layout.holder[t]
            # The family of a barren variable sums to one, whatever its parents are: it is marked,
            # so that inference leaves it out.
            if barren[family]:
                part[family] = PRUNED
                continue
            for k in range(
                layout.family_first[family], layout.family_first[family + 1]
            ):
                member = layout.family[k]
                part[member] = row[member]
                if row[member] < 0 and label[member] < 0:
                    label[member] = new_label
                    stack[height] = member
                    height += 1


class SubsetPosteriors(NamedTuple):
    """The joint posteriors of the sets of missing variables of some parts.

    Attributes
    ----------
    first
        The first node of each part, shape (parts + 1,): those of its single variables, in order.
    child
        The first child of each node, shape (nodes,): the child that adds the variable of place k is
        k nodes behind, for each k below the places of the node's set.
    begin
        Offset of the probabilities of each node, shape (nodes,): the variable that was added last
        has the fastest axis.
    probability
        The joint posteriors of all nodes, flat, one node after the other.
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
        The part's missing variables in order, and the place of each of them in this order.
    parent, place, depth, size
        Of each node: the node that it extends; the place of the variable that it adds, which is
        below the places of its parent's set; its number of variables; its number of configurations.
    row
        The codes of the part, with the variables of a node in one of its configurations.
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
        """Return space for any part of a table, and ``n_nodes`` nodes with the empty set's."""
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


PART_OVERHEAD = 16.0
"""Work for an inference besides the cells of its buckets, in cells."""


def subset_sizes(
    part_codes: Codes,
    cardinalities: Numbers,
    max_size: int,
) -> tuple[Floats, Floats]:
    """Return the number of sets of missing variables of each part, and of their configurations.

    Parameters
    ----------
    part_codes
        The parts, -1 for a missing cell, shape (parts, variables).
    cardinalities
        Number of states of each variable.
    max_size
        Largest size of a set; the empty set does not count.

    Returns
    -------
    n_sets, n_cells
        Number of sets, and the total number of their configurations, shape (parts,) each.
    """
    missing = part_codes < 0
    n_sets = symmetric_sums(missing.astype(np.int64), max_size)
    n_cells = symmetric_sums(missing * cardinalities, max_size)
    # Without the empty set, of size 0.
    n_sets = n_sets[:, 1:].sum(axis=1)
    n_cells = n_cells[:, 1:].sum(axis=1)
    return n_sets, n_cells


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
    part_codes: Codes,
    order: Numbers,
    max_size: int,
    control: SearchControl = UNLIMITED,
) -> tuple[SubsetPosteriors, int]:
    """Return the joint posteriors of all sets of up to ``max_size`` missing variables of parts.

    Parameters
    ----------
    layout, tables
        The network's structure and flat conditional probabilities.
    part_codes
        The parts, -1 for a missing cell, shape (parts, variables).
    order
        All variables, in the order of which each part's missing ones have their places.
    max_size
        Largest size of a set.
    control
        Looked at between blocks of parts; when it is over, later ones are not computed.

    Returns
    -------
    posteriors
        Zeros for the parts that were not reached before the control was over.
    impossible
        The number of a part whose observed cells have probability zero, which ends the computation;
        -1 if there was none.

    Raises
    ------
    TooLargeError
        When the missing variables of a part depend on each other too much for exact inference.
    """
    # The numbers of sets and of their cells are known beforehand, so that each part has its stretch
    # of the flat arrays.
    n_sets, n_cells = subset_sizes(part_codes, layout.cardinality, max_size)
    first_cells = offsets(n_cells)
    first = offsets(n_sets)
    posteriors = SubsetPosteriors(
        first=first,
        child=np.zeros(first[-1], np.int64),
        begin=np.zeros(first[-1], np.int64),
        probability=np.zeros(first_cells[-1]),
    )
    # Blocks of about equal work, between which the control is looked at: a part takes at most about
    # one inference for each cell.
    work = n_cells * (row_sizes(layout, part_codes)[:, 0] + PART_OVERHEAD)
    space = space_for(layout, part_codes)
    trie = _Trie.of(part_codes.shape[1], 1 + int(n_sets.max(initial=0)))
    for block in blocks(work, BLOCK_WORK):
        if control.is_over and block.start > 0:
            break
        block_parts = np.arange(block.start, block.stop)
        impossible = _fill(
            layout,
            tables,
            part_codes,
            order,
            max_size,
            block_parts,
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
    part_codes: Codes,
    order: Numbers,
    max_size: int,
    block_parts: Numbers,
    first_cells: Numbers,
    space: Space,
    trie: _Trie,
    posteriors: SubsetPosteriors,
) -> int:
    """Write the nodes and probabilities of a block of parts.

    Parameters
    ----------
    layout, tables, part_codes, order, max_size
        As for :func:`subset_posteriors`.
    block_parts
        The numbers of the parts to fill.
    first_cells
        Offset of the probabilities of each part, shape (parts + 1,).
    space, trie
        Scratch space.
    posteriors
        Receives the nodes and probabilities.

    Returns
    -------
    impossible
        As for :func:`subset_posteriors`.
    """
    probability = posteriors.probability
    for part in block_parts:
        # Node k of the trie is node above + k of all: the empty set, node 0, is stored nowhere.
        above = posteriors.first[part] - 1
        cell = first_cells[part]
        trie.place[0] = _list_missing(part_codes[part], order, trie)
        n = 1
        node = 0
        while node < n:
            # The children of the node, which is the set T.
            first_child = n
            begin = posteriors.begin
            n, cell = _extend(layout, trie, node, n, max_size, begin, above, cell)
            if node > 0:
                posteriors.child[above + node] = above + first_child
            # P(T, v | e) = P(T | e) P(v | T, e), one configuration of T after the other.
            n_configurations = trie.size[node] if n > first_child else 0
            for configuration in range(n_configurations):
                given = 1.0
                if node > 0:
                    given = probability[posteriors.begin[above + node] + configuration]
                if given <= 0.0:
                    continue
                overwrite(trie.row, part_codes[part])
                _condition(layout, trie, node, configuration)
                n_missing, log = collect(layout, tables, trie.row, False, space)
                # An impossible prefix has no extension; an impossible part is an error.
                if log == -np.inf:
                    if node == 0:
                        return int(part)
                    continue
                distribute(layout, trie.row, n_missing, space)
                # Only variables before all of T in the order have a child node.
                for b in range(n_missing):
                    v = space.missing[b]
                    child = first_child + trie.place_of[v]
                    if child < n:
                        r = layout.cardinality[v]
                        first = posteriors.begin[above + child] + configuration * r
                        start = space.cell_first[b]
                        stop = space.cell_first[b + 1]
                        add_marginal(
                            space.cells,
                            start,
                            stop,
                            r,
                            given,
                            probability,
                            first,
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
    """Append the children of a node to a trie of ``n`` nodes; none at the largest size.

    Parameters
    ----------
    layout, max_size
        As for :func:`subset_posteriors`.
    trie, node, n
        Receives the children of the node from node ``n`` on.
    begin, above
        The offset of the probabilities of node k goes to ``begin[above + k]``.
    cell
        The offset of the first child's probabilities.

    Returns
    -------
    n, cell
        The number of nodes, and the offset behind the last child's probabilities.
    """
    if trie.depth[node] == max_size:
        return n, cell
    for place in range(trie.place[node]):
        trie.parent[n] = node
        trie.place[n] = place
        trie.depth[n] = trie.depth[node] + 1
        r = layout.cardinality[trie.variables[place]]
        trie.size[n] = trie.size[node] * r
        begin[above + n] = cell
        cell += trie.size[n]
        n += 1
    return n, cell


@in_place_kernel
def _condition(layout: Buckets, trie: _Trie, node: int, configuration: int) -> None:
    """Write the states of a configuration of a node, given by its number, into the row."""
    while node > 0:
        v = trie.variables[trie.place[node]]
        trie.row[v] = configuration % layout.cardinality[v]
        configuration //= layout.cardinality[v]
        node = trie.parent[node]
