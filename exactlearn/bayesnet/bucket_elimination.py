"""Expected counts, posteriors, most probable and all completions of rows, by bucket elimination.

Only the families that hold a missing variable of a row matter here: the others are constant. Each
missing variable has a table over its bucket: the product of the families whose first eliminated
missing variable it is, and of the messages that arrive. *Collecting* sends every table's sum (or
maximum) over its own variable on to the next bucket; what the last ones send is the probability of
the row (or of its most probable completion). *Distributing* turns the tables into posterior
distributions, by the division of Hugin propagation (Jensen, Lauritzen and Olesen 1990, "Bayesian
updating in causal probabilistic networks by local computations").
"""

from math import log

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, overwrite
from exactlearn.bayesnet.buckets import PRUNED, Buckets, Space, space_for

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]

NO_COUNTS = np.empty(0)
NO_POSTERIOR = np.empty((1, 0))
"""Passed to kernels of inference, here and in decision graphs, for what is not wanted."""


def marginals(
    layout: Buckets, tables: Floats, codes: Codes, *, with_posterior: bool = True
) -> tuple[Floats, Floats]:
    """Return marginals and log-probabilities of rows, as `expect_families` writes them.

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
        layout, tables, codes, np.ones(len(codes)), space, logs, NO_COUNTS, posterior
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
    """Add expected counts of the families with missing variables, and write posteriors.

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
        Receives the marginals of the missing variables, shape (rows, states of all variables);
        other entries stay. May be empty.
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
            first = layout.state_first[v]
            r = layout.cardinality[v]
            for c in range(start, stop if posterior.size > 0 else start, r):
                for h in range(r):
                    posterior[i, first + h] += space.cells[c + h]
            for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
                family = layout.holder[t]
                if counts.size > 0 and is_assigned(layout, row, family, v):
                    find_family(layout, row, family, b, space)
                    for c in range(stop - start):
                        counts[space.places[c]] += weights[i] * space.cells[start + c]


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
        empty for the most probable states, of equally probable ones the first.
    filled
        Receives the completed rows, shape (filled, variables).

    Returns
    -------
    The first row of ``codes`` that is impossible, or -1.
    """
    maximise = uniform.size == 0
    last = -1
    m = 0
    log = 0.0
    for i in range(len(source)):
        row = codes[source[i]]
        if source[i] != last:
            m, log = collect(layout, tables, row, maximise, space)
            last = int(source[i])
            if log == -np.inf:
                return last
        overwrite(filled[i], row)
        for b in range(m - 1, -1, -1):
            v = space.missing[b]
            # Where the states of the variable begin, given those of the others in its bucket.
            place = 0
            r = layout.cardinality[v]
            for t in range(space.member_first[b], space.member_first[b + 1] - 1):
                u = space.members[t]
                place = place * layout.cardinality[u] + filled[i, u]
            start = space.cell_first[b] + place * r
            level = 0.0
            passed = 0.0
            best = -1
            if not maximise:
                for h in range(r):
                    level += space.cells[start + h]
                level *= uniform[i, v]
            for h in range(r):
                cell = space.cells[start + h]
                if maximise:
                    if best < 0 or cell > space.cells[start + best]:
                        best = h
                # States of probability zero are never drawn, not even by rounding.
                elif cell > 0.0 and (best < 0 or passed <= level):
                    best = h
                passed += cell
            filled[i, v] = best
    return -1


@in_place_kernel
def collect(
    layout: Buckets, tables: Floats, row: Codes, maximise: bool, space: Space
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
    # First eliminated first: the families of each bucket, then its message, scaled to a largest
    # entry of one, as long products would underflow.
    total = 0.0
    for i in range(m):
        v = space.missing[i]
        start = space.cell_first[i]
        parent = space.parent[i]
        for t in range(layout.holder_first[v], layout.holder_first[v + 1]):
            if is_assigned(layout, row, layout.holder[t], v):
                find_family(layout, row, layout.holder[t], i, space)
                for c in range(space.cell_first[i + 1] - start):
                    space.cells[start + c] *= tables[space.places[c]]
        r = layout.cardinality[v]
        largest = 0.0
        for t in range(space.message_first[i], space.message_first[i + 1]):
            sent = 0.0
            for c in range(start, start + r):
                cell = space.cells[c]
                sent = max(sent, cell) if maximise else sent + cell
            start += r
            space.messages[t] = sent
            largest = max(largest, sent)
        if largest <= 0.0:
            return m, -np.inf
        for t in range(space.message_first[i], space.message_first[i + 1]):
            space.messages[t] /= largest
        space.scale[i] = largest
        total += log(largest)
        if parent >= 0:
            above = space.cell_first[parent]
            find_message(layout, row, i, space)
            for c in range(space.cell_first[parent + 1] - above):
                space.cells[above + c] *= space.messages[space.places[c]]
    return m, total


@in_place_kernel
def distribute(layout: Buckets, row: Codes, m: int, space: Space) -> None:
    """Turn the tables of all buckets, after summing messages, into posterior distributions."""
    for i in range(m - 1, -1, -1):
        start = space.cell_first[i]
        parent = space.parent[i]
        first = space.message_first[i]
        last = space.message_first[i + 1]
        r = layout.cardinality[space.missing[i]]
        for t in range(first, last):
            space.passed[t] = 1.0 if parent < 0 else 0.0
        if parent >= 0:
            above = space.cell_first[parent]
            find_message(layout, row, i, space)
            for c in range(space.cell_first[parent + 1] - above):
                space.passed[space.places[c]] += space.cells[above + c]
        for t in range(last - first):
            sent = space.messages[first + t] * space.scale[i]
            ratio = space.passed[first + t] / sent if sent > 0.0 else 0.0
            for h in range(r):
                space.cells[start + t * r + h] *= ratio


@in_place_kernel
def is_assigned(layout: Buckets, row: Codes, family: int, variable: int) -> bool:
    """Return whether a family is in the bucket of a variable, its first missing one eliminated.

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
    layout: Buckets, row: Codes, family: int, bucket: int, space: Space
) -> None:
    """Write the places of a bucket's cells in a family's table."""
    variables = layout.family[
        layout.family_first[family] : layout.family_first[family + 1]
    ]
    find_places(layout, row, variables, layout.table_first[family], bucket, space)


@in_place_kernel
def find_message(layout: Buckets, row: Codes, bucket: int, space: Space) -> None:
    """Write the places of the cells of a bucket's parent in its message."""
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
    stride = 1
    for t in range(len(variables) - 1, -1, -1):
        u = variables[t]
        if row[u] < 0:
            space.stride[u] = stride
        else:
            first += row[u] * stride
        stride *= layout.cardinality[u]
    space.places[0] = first
    size = 1
    for t in range(
        space.member_first[bucket + 1] - 1, space.member_first[bucket] - 1, -1
    ):
        u = space.members[t]
        more = size * layout.cardinality[u]
        for c in range(size, more):
            space.places[c] = space.places[c - size] + space.stride[u]
        size = more
    for u in variables:
        space.stride[u] = 0
