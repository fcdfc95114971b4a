r"""Joint posteriors of all small sets of missing variables in the parts of incomplete rows.

Parts of a row are independent given its observed cells
(:mod:`exactlearn.bayesnet.row_completion`), so the joint posterior of any variables of the row is a
product over its parts. Within a part the chain rule gives them, one conditioned inference for each
configuration of a smaller set:

.. math:: P(T, v \mid e) = P(T \mid e) \, P(v \mid T, e) .

The sets of a part form a trie: each is entered from its last variable in a given order to its
first, so that a walk along the trie takes one addition for each variable.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import kernel, overwrite
from exactlearn.bayesnet.bucket_elimination import collect, distribute
from exactlearn.bayesnet.buckets import Buckets, Space, blocks, row_sizes, space_for


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

    first: NDArray[np.int64]
    child: NDArray[np.int64]
    begin: NDArray[np.int64]
    probability: NDArray[np.float64]


NO_POSTERIORS = SubsetPosteriors(
    np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
)
"""Those of no part."""

BLOCK_WORK = 2.0**23
"""Table cells of inference between two looks at the control: some tenths of a second."""


def n_subsets(
    codes: NDArray[np.int16], cardinalities: NDArray[np.int64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how many sets of up to ``most`` missing variables parts have, and their cells."""
    missing = codes < 0
    n_sets = _symmetric_sums(missing.astype(np.int64), most)
    n_cells = _symmetric_sums(missing * cardinalities, most)
    return n_sets[:, 1:].sum(axis=1), n_cells[:, 1:].sum(axis=1)


def _symmetric_sums(factors: NDArray[np.int64], most: int) -> NDArray[np.float64]:
    """Return the elementary symmetric polynomials of rows of numbers, shape (rows, most + 1)."""
    sums = np.zeros((len(factors), most + 1))
    sums[:, 0] = 1.0
    for column in factors.T:
        sums[:, 1:] += sums[:, :-1] * column[:, None]
    return sums


def subset_posteriors(
    layout: Buckets,
    tables: NDArray[np.float64],
    codes: NDArray[np.int16],
    order: NDArray[np.int64],
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
        np.concatenate([[0], np.cumsum(nodes)]).astype(np.int64),
        np.zeros(int(nodes.sum()), np.int64),
        np.zeros(int(nodes.sum()), np.int64),
        np.zeros(int(cells.sum())),
    )
    work = cells * (row_sizes(layout, codes)[:, 0] + 16)
    space, start = space_for(layout, codes), np.concatenate([[0], np.cumsum(cells)])
    for block in blocks(work, BLOCK_WORK):
        if control.is_over and block.start > 0:
            break
        begin, end = block.start, block.stop
        first = int(start[begin])
        impossible = _fill(layout, tables, codes, order, most, space, begin, end, first, found)
        if impossible >= 0:
            return found, impossible
    return found, -1


@kernel
def _fill(
    layout: Buckets,
    tables: NDArray[np.float64],
    codes: NDArray[np.int16],
    order: NDArray[np.int64],
    most: int,
    space: Space,
    begin: int,
    end: int,
    cells: int,
    found: SubsetPosteriors,
) -> int:
    """Write nodes and probabilities of some parts; return one of probability zero, or -1."""
    width, largest = codes.shape[1], 0
    for i in range(begin, end):
        largest = max(largest, found.first[i + 1] - found.first[i])
    variable, place = np.empty(width, np.int64), np.zeros(width, np.int64)
    origin, member, depth, size = (
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
        np.empty(largest, np.int64),
    )
    row = np.empty(width, np.int16)
    for i in range(begin, end):
        m, n, first = 0, 0, found.first[i]
        for v in order:
            if codes[i, v] < 0:
                variable[m], place[v] = v, m
                m += 1
        for s in range(-1, found.first[i + 1] - first):
            # The nodes with one variable more.
            limit = m if s < 0 else member[s] if depth[s] < most else 0
            if s >= 0:
                found.child[first + s] = first + n
            for q in range(limit):
                found.begin[first + n + q] = cells
                origin[n + q], member[n + q] = s, q
                depth[n + q] = 1 if s < 0 else depth[s] + 1
                size[n + q] = layout.cardinality[variable[q]] * (1 if s < 0 else size[s])
                cells += size[n + q]
            # Their probabilities, given one configuration of this node after the other.
            for x in range(1 if limit > 0 and s < 0 else size[s] if limit > 0 else 0):
                given = 1.0 if s < 0 else found.probability[found.begin[first + s] + x]
                if given <= 0.0:
                    continue
                overwrite(row, codes[i])
                t, rest = s, x
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
                distribute(layout, left, space)
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
