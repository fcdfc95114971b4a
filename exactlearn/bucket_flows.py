"""Messages between the buckets of one row's missing variables.

Each missing variable has a table over its bucket: the product of the families whose first
eliminated missing variable it is, and of the messages that arrive. *Collecting* sends every
table's sum (or maximum) over its own variable on to the next bucket; what the last ones send is
the probability of the row (or of its most probable completion). *Distributing* turns the tables
into posterior distributions, by the division of Hugin propagation (Jensen, Lauritzen and Olesen
1990, "Bayesian updating in causal probabilistic networks by local computations").
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.bucket_layout import Buckets
from exactlearn.errors import TooLargeError
from exactlearn.kernel import kernel

LARGEST_ROW = 2**26
"""Most table cells (half a GiB) that the buckets of one row may have."""


class Space(NamedTuple):
    """The buckets of the row at hand, in their order of elimination.

    A bucket's cells are indexed with the axes of its members, its own variable last and fastest;
    a message lacks that axis.

    Attributes
    ----------
    missing, rank
        The missing variables in elimination order; and where each variable is among them, or -1.
    heir
        The bucket to which each one sends its message, or -1.
    member_first, members, cell_first, cells, message_first, messages
        Members, table and message of each bucket.
    passed
        What a bucket hands back to those that sent to it, laid out as ``messages``.
    places, stride
        For each cell of the bucket at hand, its place in another table; and the stride that each
        variable has there. Strides are zero between uses.
    """

    missing: NDArray[np.int64]
    rank: NDArray[np.int64]
    heir: NDArray[np.int64]
    member_first: NDArray[np.int64]
    members: NDArray[np.int64]
    cell_first: NDArray[np.int64]
    cells: NDArray[np.float64]
    message_first: NDArray[np.int64]
    messages: NDArray[np.float64]
    passed: NDArray[np.float64]
    places: NDArray[np.int64]
    stride: NDArray[np.int64]


def space_for(layout: Buckets, codes: NDArray[np.int16]) -> Space:
    """Return scratch space that is large enough for each of some rows.

    Raises
    ------
    TooLargeError
        When the tables of some row's buckets have more than `LARGEST_ROW` cells.
    """
    row, cells = most_cells(layout, codes)
    if cells > LARGEST_ROW:
        raise TooLargeError(
            f"the {int((codes[row] < 0).sum())} missing cells of one row depend on each other so "
            f"much that exact inference needs tables of {cells:.3g} cells, more than "
            f"{LARGEST_ROW:,}: use a network with fewer parents, or rows with fewer missing cells"
        )
    n, most = len(layout.order), int(cells)
    return Space(
        missing=np.zeros(n, np.int64),
        rank=np.zeros(n, np.int64),
        heir=np.zeros(n, np.int64),
        member_first=np.zeros(n + 1, np.int64),
        members=np.zeros(n + len(layout.separator), np.int64),
        cell_first=np.zeros(n + 1, np.int64),
        cells=np.zeros(most),
        message_first=np.zeros(n + 1, np.int64),
        messages=np.zeros(most),
        passed=np.zeros(most),
        places=np.zeros(most, np.int64),
        stride=np.zeros(n, np.int64),
    )


@kernel
def most_cells(layout: Buckets, codes: NDArray[np.int16]) -> tuple[int, float]:
    """Return the row whose buckets have the most cells, and how many (a float: no overflow)."""
    worst, most = 0, 0.0
    for i in range(len(codes)):
        total = 0.0
        for v in range(codes.shape[1]):
            if codes[i, v] < 0:
                size = float(layout.cardinality[v])
                for t in range(layout.separator_first[v], layout.separator_first[v + 1]):
                    if codes[i, layout.separator[t]] < 0:
                        size *= layout.cardinality[layout.separator[t]]
                total += size
        if total > most:
            worst, most = i, total
    return worst, most


@kernel
def collect(
    layout: Buckets,
    tables: NDArray[np.float64],
    row: NDArray[np.int16],
    maximise: bool,
    space: Space,
) -> tuple[int, float]:
    """Fill the buckets of a row and send all messages.

    Parameters
    ----------
    tables
        Flat conditional probabilities (`exactlearn.bucket_layout.flat_tables`).
    row
        Codes, -1 for a missing cell.
    maximise
        Whether messages are maxima instead of sums.

    Returns
    -------
    missing
        Number of missing cells.
    log_probability
        Logarithm of the sum (or maximum), over the missing variables, of the product of all
        families that hold one; ``-inf`` when that is zero, and then nothing else is of use.
    """
    m = _lay_out(layout, row, space)
    for c in range(space.cell_first[m]):
        space.cells[c] = 1.0
    total = 0.0
    for i in range(m):
        v, start = space.missing[i], space.cell_first[i]
        for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
            if is_home(layout, row, layout.holder[t], v):
                size = index_family(layout, row, layout.holder[t], i, space)
                for c in range(size):
                    space.cells[start + c] *= tables[space.places[c]]
        scale = _send(layout, i, maximise, space)
        if scale <= 0.0:
            return m, -np.inf
        total += np.log(scale)
    return m, total


@kernel
def distribute(layout: Buckets, m: int, space: Space) -> None:
    """Turn the tables of all buckets, after summing messages, into posterior distributions."""
    for i in range(m - 1, -1, -1):
        start, heir = space.cell_first[i], space.heir[i]
        first, last = space.message_first[i], space.message_first[i + 1]
        r = layout.cardinality[space.missing[i]]
        for t in range(first, last):
            space.passed[t] = 1.0 if heir < 0 else 0.0
        if heir >= 0:
            size, above = _index_message(layout, i, space), space.cell_first[heir]
            for c in range(size):
                space.passed[space.places[c]] += space.cells[above + c]
        for t in range(last - first):
            sent = space.messages[first + t]
            ratio = space.passed[first + t] / sent if sent > 0.0 else 0.0
            for h in range(r):
                space.cells[start + t * r + h] *= ratio


@kernel
def is_home(layout: Buckets, row: NDArray[np.int16], family: int, variable: int) -> bool:
    """Tell whether a variable is the one of a family's missing ones that is eliminated first."""
    for t in range(layout.family_first[family], layout.family_first[family + 1]):
        u = layout.family[t]
        if row[u] < 0 and layout.position[u] < layout.position[variable]:
            return False
    return True


@kernel
def index_family(
    layout: Buckets, row: NDArray[np.int16], family: int, bucket: int, space: Space
) -> int:
    """Write where each cell of a bucket is in a family's table; return how many cells there are."""
    offset, stride = layout.table_first[family], 1
    first, last = layout.family_first[family], layout.family_first[family + 1]
    for t in range(last - 1, first - 1, -1):
        u = layout.family[t]
        if row[u] < 0:
            space.stride[u] = stride
        else:
            offset += row[u] * stride
        stride *= layout.cardinality[u]
    size = _fill_index(layout, bucket, offset, space)
    for t in range(first, last):
        space.stride[layout.family[t]] = 0
    return size


@kernel
def _lay_out(layout: Buckets, row: NDArray[np.int16], space: Space) -> int:
    """Set the buckets of a row, all but their numbers; return how many there are."""
    m = 0
    for v in layout.order:
        space.rank[v] = -1
        if row[v] < 0:
            space.rank[v] = m
            space.missing[m] = v
            m += 1
    for i in range(m):
        v, size, member = space.missing[i], 1, space.member_first[i]
        space.heir[i] = -1
        for t in range(layout.separator_first[v], layout.separator_first[v + 1]):
            u = layout.separator[t]
            if row[u] < 0:
                space.members[member] = u
                member += 1
                size *= layout.cardinality[u]
                space.heir[i] = space.rank[u]
        space.members[member] = v
        space.member_first[i + 1] = member + 1
        space.message_first[i + 1] = space.message_first[i] + size
        space.cell_first[i + 1] = space.cell_first[i] + size * layout.cardinality[v]
    return m


@kernel
def _send(layout: Buckets, bucket: int, maximise: bool, space: Space) -> float:
    """Send a bucket's message on, with its table scaled to a largest entry of one.

    Returns what was divided by: without it, long products would underflow.
    """
    start, heir = space.cell_first[bucket], space.heir[bucket]
    first, last = space.message_first[bucket], space.message_first[bucket + 1]
    r = layout.cardinality[space.missing[bucket]]
    largest = 0.0
    for t in range(last - first):
        sent = 0.0
        for h in range(r):
            cell = space.cells[start + t * r + h]
            sent = max(sent, cell) if maximise else sent + cell
        space.messages[first + t] = sent
        largest = max(largest, sent)
    if largest <= 0.0:
        return 0.0
    for t in range(first, last):
        space.messages[t] /= largest
    for c in range(start, space.cell_first[bucket + 1]):
        space.cells[c] /= largest
    if heir >= 0:
        size, above = _index_message(layout, bucket, space), space.cell_first[heir]
        for c in range(size):
            space.cells[above + c] *= space.messages[space.places[c]]
    return largest


@kernel
def _index_message(layout: Buckets, bucket: int, space: Space) -> int:
    """Write where each cell of a bucket's heir is in the bucket's message; return their number."""
    stride = 1
    first, last = space.member_first[bucket], space.member_first[bucket + 1] - 1
    for t in range(last - 1, first - 1, -1):
        space.stride[space.members[t]] = stride
        stride *= layout.cardinality[space.members[t]]
    size = _fill_index(layout, space.heir[bucket], space.message_first[bucket], space)
    for t in range(first, last):
        space.stride[space.members[t]] = 0
    return size


@kernel
def _fill_index(layout: Buckets, bucket: int, offset: int, space: Space) -> int:
    """Write the place of every cell of a bucket by the strides of its members."""
    space.places[0] = offset
    size = 1
    first, last = space.member_first[bucket], space.member_first[bucket + 1]
    for t in range(last - 1, first - 1, -1):
        u = space.members[t]
        stride = space.stride[u]
        for c in range(size, size * layout.cardinality[u]):
            space.places[c] = space.places[c - size] + stride
        size *= layout.cardinality[u]
    return size
