"""Messages between the buckets of one row's missing variables.

Each missing variable has a table over its bucket: the product of the families whose first
eliminated missing variable it is, and of the messages that arrive. *Collecting* sends every
table's sum (or maximum) over its own variable on to the next bucket; what the last ones send is
the probability of the row (or of its most probable completion). *Distributing* turns the tables
into posterior distributions, by the division of Hugin propagation (Jensen, Lauritzen and Olesen
1990, "Bayesian updating in causal probabilistic networks by local computations").
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.bayesnet.bucket_layout import Buckets
from exactlearn.bayesnet.bucket_space import (
    Space,
    add_up,
    index_family,
    index_message,
    lay_out,
    multiply,
)


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
        Flat conditional probabilities (`exactlearn.bayesnet.bucket_layout.flat_tables`).
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
    m = lay_out(layout, row, space)
    for c in range(space.cell_first[m]):
        space.cells[c] = 1.0
    total = 0.0
    for i in range(m):
        v, start = space.missing[i], space.cell_first[i]
        for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
            if is_home(layout, row, layout.holder[t], v):
                outer, inner = index_family(layout, row, layout.holder[t], i, space)
                multiply(space.cells, start, outer, inner, space.places, tables)
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
            outer, inner = index_message(layout, i, space)
            above = space.cell_first[heir]
            add_up(space.cells, above, outer, inner, space.places, 1.0, space.passed)
        for t in range(last - first):
            sent = space.messages[first + t] * space.scale[i]
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
def _send(layout: Buckets, bucket: int, maximise: bool, space: Space) -> float:
    """Send a bucket's message on, scaled to a largest entry of one.

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
    space.scale[bucket] = largest
    if heir >= 0:
        outer, inner = index_message(layout, bucket, space)
        above = space.cell_first[heir]
        multiply(space.cells, above, outer, inner, space.places, space.messages)
    return largest
