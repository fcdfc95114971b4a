"""Expected counts, posteriors, most probable and drawn completions of rows, by bucket elimination.

Only the families that hold a missing variable of a row matter here: the others are constant. Each
missing variable has a table over its bucket: the product of the families whose first eliminated
missing variable it is, and of the messages that arrive. *Collecting* sends every table's sum (or
maximum) over its own variable on to the next bucket; what the last ones send is the probability of
the row (or of its most probable completion), but for the constant families. *Distributing* turns
the tables into posterior distributions, by the division of Hugin propagation (Jensen, Lauritzen and
Olesen 1990, "Bayesian updating in causal probabilistic networks by local computations").
"""

from math import log

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, overwrite
from exactlearn.bayesnet.buckets import PRUNED, Buckets, Space, space_for

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Codes = NDArray[np.int16]

NO_COUNTS = np.empty(0)
NO_POSTERIOR = np.empty((1, 0))
"""Passed for counts and posteriors that are not wanted."""

SMALL = 2.0**-300
"""Cells below it are multiplied by its inverse, and the more they are, the more often. A product
with an entry of a table above 2^-722 then never underflows, however long it becomes."""

LOG_SMALL = log(SMALL)


def marginals(
    layout: Buckets,
    tables: Floats,
    codes: Codes,
    *,
    with_posterior: bool = True,
) -> tuple[Floats, Floats]:
    """Return posteriors of missing variables, and log-probabilities of the families that hold one.

    Posteriors of observed variables are 0; families without a missing variable count nowhere.

    Raises
    ------
    TooLargeError
        When the tables of some row would have too many cells.
    """
    n_states = int(layout.state_first[-1])
    posterior = np.zeros((len(codes), n_states)) if with_posterior else NO_POSTERIOR
    logs = np.empty(len(codes))
    space = space_for(layout, codes)
    expect_families(
        layout,
        tables,
        codes,
        np.ones(len(codes)),
        space,
        logs,
        NO_COUNTS,
        posterior,
    )
    return posterior, logs


@in_place_kernel
def expect_families(
    layout: Buckets,
    tables: Floats,
    codes: Codes,
    weights: Floats,
    space: Space,
    logs: Floats,
    counts: Floats,
    posterior: Floats,
) -> None:
    """Add expected counts of the families with missing variables, and posteriors, to arrays.

    Parameters
    ----------
    layout, tables
        The network.
    codes, weights
        Rows, -1 for a missing cell, shape (rows, variables), and their weights.
    space
        Scratch space for these rows.
    logs
        Receives the log-probability of each row's such families, shape (rows,); ``-inf`` for an
        impossible row, which adds nothing.
    counts
        Gains the weight of each row times the posterior probability of each configuration of each
        such family, laid out as ``tables``; may be empty.
    posterior
        Gains the marginals of the missing variables, shape (rows, states of all variables); other
        entries stay. May be empty.
    """
    for i in range(len(codes)):
        row = codes[i]
        m, logs[i] = collect(layout, tables, row, False, space)
        if logs[i] == -np.inf or (counts.size == 0 and posterior.size == 0):
            continue
        distribute(layout, row, m, space)
        # Marginals and family counts from the posterior of each bucket.
        for b in range(m):
            v = space.missing[b]
            start = space.cell_first[b]
            stop = space.cell_first[b + 1]
            if posterior.size > 0:
                r = layout.cardinality[v]
                first = layout.state_first[v]
                add_marginal(space.cells, start, stop, r, 1.0, posterior[i], first)
            for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
                family = layout.holder[t]
                if counts.size > 0 and is_assigned(layout, row, family, v):
                    find_family(layout, row, family, b, space)
                    for c in range(stop - start):
                        counts[space.places[c]] += weights[i] * space.cells[start + c]


@in_place_kernel
def add_marginal(
    cells: Floats,
    start: int,
    stop: int,
    r: int,
    weight: float,
    sums: Floats,
    first: int,
) -> None:
    """Add the weighted marginal of a bucket's variable to sums.

    Parameters
    ----------
    cells, start, stop
        The bucket's posterior, and the part of the cells that it takes.
    r
        Number of states of the variable.
    weight
        The factor.
    sums, first
        Where they are added, and the place of the first state there.
    """
    for c in range(start, stop, r):
        for h in range(r):
            sums[first + h] += weight * cells[c + h]


@in_place_kernel
def _multiply_cells(
    space: Space,
    start: int,
    stop: int,
    table: Floats,
) -> None:
    """Multiply cells by those at the places of a table, each with its own power of two."""
    for c in range(start, stop):
        product = space.cells[c] * table[space.places[c - start]]
        if 0.0 < product < SMALL:
            product /= SMALL
            space.growths[c] += 1
        space.cells[c] = product


@in_place_kernel
def _align_cells(space: Space, start: int, stop: int) -> int:
    """Give the cells of a bucket one power of two, that of the largest; return how often it grew.

    Cells that are smaller by more than all that a double spans become 0.
    """
    lowest = -1
    for c in range(start, stop):
        growth = space.growths[c]
        if space.cells[c] > 0.0 and (lowest < 0 or growth < lowest):
            lowest = growth
    for c in range(start, stop):
        for _ in range(lowest, space.growths[c]):
            space.cells[c] *= SMALL
    return max(lowest, 0)


@in_place_kernel
def fill_cells(
    layout: Buckets,
    tables: Floats,
    codes: Codes,
    source: NDArray[np.int64],
    uniform: Floats,
    space: Space,
    filled: Codes,
) -> int:
    """Fill the missing cells of rows by their most probable joint states, or by drawn ones.

    Parameters
    ----------
    layout, tables, codes, space
        As for `expect_families`.
    source
        The row of ``codes`` that each row of ``filled`` completes, not falling, shape (filled,).
    uniform
        Numbers in [0, 1), shape (filled, variables), with which to draw from the joint posterior;
        empty for the most probable states; of equally probable ones the first state of the variable
        that is eliminated last, and so on backwards.
    filled
        Receives the completed rows, shape (filled, variables).

    Returns
    -------
    The first row of ``codes`` that is impossible, after which none is filled, or -1.
    """
    maximise = uniform.size == 0
    last = -1
    m = 0
    for i in range(len(source)):
        row = codes[source[i]]
        if source[i] != last:
            m, log = collect(layout, tables, row, maximise, space)
            last = int(source[i])
            if log == -np.inf:
                return last
        overwrite(filled[i], row)
        # Last eliminated first: its bucket's other members have their states by then.
        for b in range(m - 1, -1, -1):
            v = space.missing[b]
            place = 0
            r = layout.cardinality[v]
            for t in range(space.member_first[b], space.member_first[b + 1] - 1):
                u = space.members[t]
                place = place * layout.cardinality[u] + filled[i, u]
            start = space.cell_first[b] + place * r
            if maximise:
                filled[i, v] = _most_probable(space.cells, start, r)
            else:
                filled[i, v] = _drawn(space.cells, start, r, uniform[i, v])
    return -1


@in_place_kernel
def _most_probable(cells: Floats, start: int, r: int) -> int:
    """Return the first of the most probable states."""
    best = 0
    for h in range(1, r):
        if cells[start + h] > cells[start + best]:
            best = h
    return best


@in_place_kernel
def _drawn(cells: Floats, start: int, r: int, uniform: float) -> int:
    """Return a state drawn in proportion to its cell, by a number in [0, 1).

    States of probability zero are never drawn, not even by rounding.
    """
    level = 0.0
    for h in range(r):
        level += cells[start + h]
    level *= uniform
    passed = 0.0
    state = -1
    for h in range(r):
        cell = cells[start + h]
        if cell > 0.0 and (state < 0 or passed <= level):
            state = h
        passed += cell
    return state


@in_place_kernel
def collect(
    layout: Buckets,
    tables: Floats,
    row: Codes,
    maximise: bool,
    space: Space,
) -> tuple[int, float]:
    """Fill the buckets of a row and send all messages.

    Parameters
    ----------
    tables
        Flat conditional probabilities (`exactlearn.bayesnet.buckets.flat_tables`).
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
    # The missing variables in elimination order.
    m = 0
    for v in layout.order:
        space.rank[v] = -1
        if row[v] < 0:
            space.rank[v] = m
            space.missing[m] = v
            m += 1
    # The members of each bucket: what is missing of the separator, then its own variable.
    for i in range(m):
        v = space.missing[i]
        size = 1
        member = space.member_first[i]
        space.parent[i] = -1
        for t in range(layout.separator_first[v], layout.separator_first[v + 1]):
            u = layout.separator[t]
            if row[u] < 0:
                space.members[member] = u
                member += 1
                size *= layout.cardinality[u]
                space.parent[i] = space.rank[u]
        space.members[member] = v
        space.member_first[i + 1] = member + 1
        space.message_first[i + 1] = space.message_first[i] + size
        space.cell_first[i + 1] = space.cell_first[i] + size * layout.cardinality[v]
    for c in range(space.cell_first[m]):
        space.cells[c] = 1.0
        space.growths[c] = 0
    # First eliminated first: the families of each bucket, then its message.
    total = 0.0
    cells = space.cells
    for i in range(m):
        v = space.missing[i]
        start = space.cell_first[i]
        stop = space.cell_first[i + 1]
        for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
            if is_assigned(layout, row, layout.holder[t], v):
                find_family(layout, row, layout.holder[t], i, space)
                _multiply_cells(space, start, stop, tables)
        total += LOG_SMALL * _align_cells(space, start, stop)
        r = layout.cardinality[v]
        first = space.message_first[i]
        largest = _send(cells, start, stop, r, maximise, space.messages, first)
        if largest <= 0.0:
            return m, -np.inf
        space.scale[i] = largest
        total += log(largest)
        parent = space.parent[i]
        if parent >= 0:
            find_message(layout, row, i, space)
            start = space.cell_first[parent]
            stop = space.cell_first[parent + 1]
            _multiply_cells(space, start, stop, space.messages)
    return m, total


@in_place_kernel
def _send(
    cells: Floats,
    start: int,
    stop: int,
    r: int,
    maximise: bool,
    messages: Floats,
    first: int,
) -> float:
    """Write the message of a bucket, and return its largest entry.

    Entries are divided by it unless it is zero.

    Parameters
    ----------
    cells, start, stop, r
        As for :func:`add_marginal`.
    maximise
        Whether an entry is a maximum instead of a sum.
    messages, first
        Where the message is written, and the place of its first entry.
    """
    largest = 0.0
    last = first
    # One entry for each run of r cells: the states of the eliminated variable.
    for c in range(start, stop, r):
        entry = 0.0
        for h in range(r):
            cell = cells[c + h]
            entry = max(entry, cell) if maximise else entry + cell
        messages[last] = entry
        last += 1
        largest = max(largest, entry)
    # Relative to the largest one.
    if largest > 0.0:
        for t in range(first, last):
            messages[t] /= largest
    return largest


@in_place_kernel
def distribute(layout: Buckets, row: Codes, m: int, space: Space) -> None:
    """Turn the tables of all buckets, after summing messages, into posterior distributions."""
    # Last eliminated first: what a bucket gets back over what it sent (division of Hugin).
    for i in range(m - 1, -1, -1):
        start = space.cell_first[i]
        parent = space.parent[i]
        first = space.message_first[i]
        last = space.message_first[i + 1]
        r = layout.cardinality[space.missing[i]]
        for t in range(first, last):
            space.passed[t] = 1.0 if parent < 0 else 0.0
        # The marginal of the parent bucket over the separator.
        if parent >= 0:
            find_message(layout, row, i, space)
            above = space.cell_first[parent]
            for c in range(space.cell_first[parent + 1] - above):
                space.passed[space.places[c]] += space.cells[above + c]
        for t in range(last - first):
            # 0 / 0 = 0: what was impossible before stays so.
            sent = space.messages[first + t] * space.scale[i]
            ratio = space.passed[first + t] / sent if sent > 0.0 else 0.0
            for h in range(r):
                space.cells[start + t * r + h] *= ratio


@in_place_kernel
def is_assigned(layout: Buckets, row: Codes, family: int, variable: int) -> bool:
    """Return whether no missing member of a family is eliminated before a variable that it holds.

    A pruned family is in none.
    """
    if row[family] == PRUNED:
        return False
    for t in range(layout.family_first[family], layout.family_first[family + 1]):
        u = layout.family[t]
        if row[u] < 0 and layout.position[u] < layout.position[variable]:
            return False
    return True


@in_place_kernel
def find_family(
    layout: Buckets,
    row: Codes,
    family: int,
    bucket: int,
    space: Space,
) -> None:
    """Write the places of a bucket's cells in a family's table."""
    variables = layout.family[
        layout.family_first[family] : layout.family_first[family + 1]
    ]
    find_places(layout, row, variables, layout.table_first[family], bucket, space)


@in_place_kernel
def find_message(layout: Buckets, row: Codes, bucket: int, space: Space) -> None:
    """Write where the cells of a bucket's parent are in the message of the bucket."""
    variables = space.members[
        space.member_first[bucket] : space.member_first[bucket + 1] - 1
    ]
    first = space.message_first[bucket]
    parent = space.parent[bucket]
    find_places(layout, row, variables, first, parent, space)


@in_place_kernel
def find_places(
    layout: Buckets,
    row: Codes,
    variables: NDArray[np.int64],
    first: int,
    bucket: int,
    space: Space,
) -> None:
    """Write the places of a bucket's cells in a table of some variables that begins somewhere."""
    # The place for the observed states, and the strides of missing variables.
    stride = 1
    for t in range(len(variables) - 1, -1, -1):
        u = variables[t]
        if row[u] < 0:
            space.stride[u] = stride
        else:
            first += row[u] * stride
        stride *= layout.cardinality[u]
    # The places for the first states of all members but the last ones, then for all states.
    space.places[0] = first
    size = 1
    for t in range(
        space.member_first[bucket + 1] - 1,
        space.member_first[bucket] - 1,
        -1,
    ):
        u = space.members[t]
        next_size = size * layout.cardinality[u]
        for c in range(size, next_size):
            space.places[c] = space.places[c - size] + space.stride[u]
        size = next_size
    for u in variables:
        space.stride[u] = 0
