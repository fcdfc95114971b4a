"""The buckets of a network's variables, and those of one row, as arrays for the inference kernels.

Eliminating the variables one after the other joins each with its remaining neighbours: its
*bucket* (Dechter 1999, "Bucket elimination: a unifying framework for reasoning"). Observed
variables are constants, so a row's buckets are those of its missing variables, less what is
observed. The order serves all rows: what is left of it for a row is an elimination order of the
row's missing variables.

A bucket's cells are indexed with the axes of its members, its own variable last and fastest; a
message lacks that axis.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn._runtime.offsets import offsets
from exactlearn.bayesnet.triangulation import elimination_clusters, elimination_order
from exactlearn.errors import TooLargeError
from exactlearn.graphs.dag import children, moral_graph

Floats = NDArray[np.float64]


class Buckets(NamedTuple):
    """Structure of a network and an elimination order of its variables, without the parameters.

    Attributes
    ----------
    order, position
        The elimination order, and where each variable stands in it, shape (variables,).
    cardinality
        Number of states of each variable, shape (variables,).
    separator_first, separator
        The neighbours that each variable has when it is eliminated, those eliminated last first.
    family_first, family
        Each variable's parents in the order of its table's axes, then the variable itself.
    holder_first, holder
        The variables in whose families each variable is.
    table_first
        Where each variable's table begins among the flat parameters, shape (variables + 1,).
    state_first
        Where each variable's states begin in a row of posteriors, shape (variables + 1,).
    """

    order: NDArray[np.int64]
    position: NDArray[np.int64]
    cardinality: NDArray[np.int64]
    separator_first: NDArray[np.int64]
    separator: NDArray[np.int64]
    family_first: NDArray[np.int64]
    family: NDArray[np.int64]
    holder_first: NDArray[np.int64]
    holder: NDArray[np.int64]
    table_first: NDArray[np.int64]
    state_first: NDArray[np.int64]


def buckets(
    parents: Sequence[Sequence[int]],
    cardinalities: NDArray[np.int64],
    codes: NDArray[np.integer],
) -> Buckets:
    """Return the buckets of a DAG, eliminating the variables that some row lacks.

    Parameters
    ----------
    parents
        Parents of each variable, in the order of its table's axes.
    cardinalities
        Number of states of each variable, shape (variables,).
    codes
        The rows, -1 for a missing cell, shape (rows, variables).
    """
    is_missing = (codes < 0).any(axis=0)
    missing = {*np.flatnonzero(is_missing).tolist()}
    # Variables that all rows observe cut the moral graph.
    adjacency = [
        neighbours & missing if v in missing else frozenset[int]()
        for v, neighbours in enumerate(moral_graph(parents))
    ]
    order = elimination_order(adjacency, cardinalities)
    position = np.empty(len(order), np.int64)
    position[list(order)] = np.arange(len(order))
    # A bucket sends its message over its cluster, the last eliminated first.
    separators: list[list[int]] = [[] for _ in order]
    clusters = elimination_clusters(adjacency, order)
    for v, cluster in zip(order, clusters, strict=True):
        separator = sorted(cluster - {v}, key=position.__getitem__)
        separators[v] = separator[::-1]
    families = [[*ps, v] for v, ps in enumerate(parents)]
    sizes = [cardinalities[family].prod() for family in families]
    return Buckets(
        np.array(order, np.int64),
        position,
        np.asarray(cardinalities, np.int64),
        *_flat(separators),
        *_flat(families),
        *_flat(children(families)),
        offsets(sizes),
        offsets(cardinalities),
    )


def flat_tables(tables: Iterable[Floats]) -> Floats:
    """Return the conditional probabilities of all variables one after the other."""
    return np.concatenate([np.zeros(0), *map(np.ravel, tables)])


def tables_of(flat: Floats, shapes: Sequence[tuple[int, ...]]) -> list[Floats]:
    """Return a view of each variable's table among flat probabilities (:func:`flat_tables`)."""
    first = offsets([*map(prod, shapes)])
    parts = np.split(flat, first[1:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _flat(
    lists: Sequence[Sequence[int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each list begins in their concatenation, and the concatenation."""
    first = offsets([*map(len, lists)])
    return first, np.array([*chain(*lists)], np.int64)


PRUNED = 2**15 - 1
"""Code of a variable in a row that its family is left out of: missing, with no descendant observed.

Such a *barren* variable says nothing on the others. Being no family's member but its own and those
of other barren variables, it is never looked up."""

LARGEST_ROW = 2**26
"""Most table cells (half a GiB) that the buckets of one row may have."""


class Space(NamedTuple):
    """The buckets of the row at hand, in their order of elimination.

    Attributes
    ----------
    missing, rank
        The missing variables in elimination order; and where each variable is among them, or -1.
    parent
        The bucket that receives each one's message, or -1.
    member_first, members, cell_first, cells, message_first, messages
        Members, table and message of each bucket.
    growths
        How often each cell was multiplied by a power of two, lest a long product underflow.
    passed
        The message that each bucket gets back from its parent, laid out as ``messages``.
    scale
        By how much the numbers of each bucket's message were divided.
    places, stride
        Where the cells of the bucket at hand are in another table, and the stride that each
        variable has there. Strides are zero between uses.
    """

    missing: NDArray[np.int64]
    rank: NDArray[np.int64]
    parent: NDArray[np.int64]
    member_first: NDArray[np.int64]
    members: NDArray[np.int64]
    cell_first: NDArray[np.int64]
    cells: Floats
    growths: NDArray[np.int64]
    message_first: NDArray[np.int64]
    messages: Floats
    passed: Floats
    scale: Floats
    places: NDArray[np.int64]
    stride: NDArray[np.int64]


def space_for(layout: Buckets, codes: NDArray[np.int16]) -> Space:
    """Return scratch space that is large enough for each of some rows.

    Raises
    ------
    TooLargeError
        When the tables of some row's buckets have more than `LARGEST_ROW` cells.
    """
    sizes = row_sizes(layout, codes)
    cells, sent, largest = sizes.max(axis=0, initial=0.0)
    if cells > LARGEST_ROW:
        row = codes[int(sizes[:, 0].argmax())]
        raise TooLargeError(
            f"the {int((row < 0).sum())} missing cells of one row depend on each other so "
            f"much that exact inference needs tables of {cells:.3g} cells, more than "
            f"{LARGEST_ROW:,}: use a network with fewer parents, or rows with fewer missing cells"
        )
    # One space serves all rows: each array is as large as its largest row needs.
    n = len(layout.order)
    entries = int(sent)
    return Space(
        missing=np.zeros(n, np.int64),
        rank=np.zeros(n, np.int64),
        parent=np.zeros(n, np.int64),
        member_first=np.zeros(n + 1, np.int64),
        members=np.zeros(n + len(layout.separator), np.int64),
        cell_first=np.zeros(n + 1, np.int64),
        cells=np.zeros(int(cells)),
        growths=np.zeros(int(cells), np.int64),
        message_first=np.zeros(n + 1, np.int64),
        messages=np.zeros(entries),
        passed=np.zeros(entries),
        scale=np.zeros(n),
        places=np.zeros(int(largest) + 1, np.int64),
        stride=np.zeros(n, np.int64),
    )


@kernel
def row_sizes(layout: Buckets, codes: NDArray[np.int16]) -> Floats:
    """Return the cells of each row's buckets, of its messages, and of its largest bucket.

    Shape (rows, 3), as floats, which do not overflow.
    """
    sizes = np.zeros((len(codes), 3))
    for i in range(len(codes)):
        for v in range(codes.shape[1]):
            if codes[i, v] < 0:
                # The message ranges over the missing variables of the separator.
                sent = 1.0
                for t in range(
                    layout.separator_first[v], layout.separator_first[v + 1]
                ):
                    if codes[i, layout.separator[t]] < 0:
                        sent *= layout.cardinality[layout.separator[t]]
                cells = sent * layout.cardinality[v]
                sizes[i, 0] += cells
                sizes[i, 1] += sent
                sizes[i, 2] = max(sizes[i, 2], cells)
    return sizes


def blocks(work: Floats, max_work: float) -> Iterator[slice]:
    """Yield slices of as many items as do not take more than some work, or one item."""
    steps = np.cumsum(work) // max_work
    last = np.flatnonzero(np.diff(steps))
    ends = [*(last + 1).tolist(), len(work)]
    for first, end in zip([0, *ends], ends, strict=False):
        if end > first:
            yield slice(first, end)
