"""One pass of inference over rows: which of them stand side by side, and threads.

Rows are sorted by their states of the variables near the roots, which decide what a row reaches.
How many stand side by side is chosen by a sample: many where their neighbours reach the same nodes,
one where a row of a large graph reaches far fewer nodes than a block. Processor time of expected
counts in microseconds a row, by rows side by side: ALARM with half the cells missing 9.4 (1), 2.6
(8), 1.7 (32), 1.4 (128); WATER with a tenth missing 5.3, 10.3, 17 and 47.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.executors import in_order, n_threads
from exactlearn.pdg.inference.block_flows import Layout, block_flows, count_terms

SIZES, FEW = (1, 8, 32, 128), 16
"""Rows side by side, of which the cheapest is chosen; and how many where there is little to do."""

TERM, CELL, STATE = 30.0, 1.2, 12.0
"""Nanoseconds that each state of a node costs a block, and each row of the block then, and those
that each state of a variable costs it; measured on six networks."""

MOST_FLOWS = 1 << 22
"""Nodes times rows side by side, at most, where there are several rows."""

PIECE = 16_384
"""Rows that a thread deals with at a time."""

FEW_VISITS = 1 << 15
"""With fewer visits of nodes by rows, no choice gains a millisecond."""

SAMPLED_ROWS, SAMPLED_BLOCKS = 64, 4
"""Rows, and blocks, that are sampled at least to choose how many rows stand side by side."""

KEYS = 1 << 16
"""Most different sort keys: with so few, numpy sorts in time linear in the rows."""

NO_COUNTS, NO_POSTERIOR = np.empty(0), np.empty((1, 0))


def expect(
    layout: Layout,
    parameters: NDArray[np.float64],
    rows: NDArray[np.int16],
    weights: NDArray[np.float64] | None = None,
    counts: NDArray[np.float64] = NO_COUNTS,
    posterior: NDArray[np.float64] = NO_POSTERIOR,
    *,
    maximised: NDArray[np.bool_] | None = None,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Add expected counts, write posterior marginals, and return log-likelihoods.

    Parameters
    ----------
    weights
        Weight of each row, shape (rows,); one when left out.
    counts, posterior
        As for `exactlearn.pdg.inference.block_flows.block_flows`; left out where they are not
        wanted. ``posterior`` holds zeros.
    maximised
        Variables to maximise over, from the leaves up, where others are summed out, shape
        (variables,).
    threads
        How many share the rows where there are many; all cores when left out. Results do not
        depend on it.

    Returns
    -------
    Log-likelihood of each row, shape (rows,); ``-inf`` for an impossible one.
    """
    w = np.ones(len(rows)) if weights is None else weights
    largest = np.zeros(len(layout.order), np.bool_) if maximised is None else maximised
    if len(rows) * len(layout.variable) <= FEW_VISITS:
        turns, size = np.arange(len(rows)), min(len(rows), FEW)
    else:
        turns = row_order(layout, rows)
        size = block_size(layout, parameters, rows[turns])
    codes, shares, logs = rows[turns], w[turns], np.empty(len(rows))

    def work(piece: int, _: None) -> NDArray[np.float64]:
        own, to = np.zeros(len(counts)), slice(piece * PIECE, (piece + 1) * PIECE)
        some = (codes[to], shares[to], turns[to])
        block_flows(layout, parameters, *some, size, None, largest, logs[to], own, posterior)
        return own

    for own in in_order(work, -(-len(rows) // PIECE), lambda: None, n_threads(threads)):
        counts += own
    rest = np.flatnonzero(np.isnan(logs))
    if len(rest):  # with logarithms
        some, apart = (codes[rest], shares[rest], turns[rest]), np.empty(len(rest))
        block_flows(layout, parameters, *some, 1, True, largest, apart, counts, posterior)
        logs[rest] = apart
    result = np.empty(len(rows))
    result[turns] = logs
    return result


def block_size(layout: Layout, parameters: NDArray[np.float64], codes: NDArray[np.int16]) -> int:
    """Return how many rows should stand side by side, by a sample of them."""
    costs = {}
    for size in SIZES:
        if size > 1 and size * len(layout.variable) > MOST_FLOWS:
            break
        blocks = max(SAMPLED_BLOCKS, SAMPLED_ROWS // size)
        starts = range(0, len(codes), size)[:: -(-len(codes) // (size * blocks))]
        sample = np.concatenate([codes[start : start + size] for start in starts])
        terms = count_terms(layout, parameters, sample, size) * (TERM + CELL * size)
        costs[size] = (terms + len(starts) * STATE * layout.cardinality.sum()) / len(sample)
    return min(costs, key=costs.__getitem__)


def row_order(layout: Layout, rows: NDArray[np.int16]) -> NDArray[np.int64]:
    """Return the numbers of the rows, sorted by the variables with the largest subtrees.

    Parameters
    ----------
    rows
        State numbers, -1 for a missing cell, shape (rows, variables).
    """
    below = layout.cardinality * layout.n_nodes * np.maximum(1, layout.n_children)
    for v in layout.order[::-1]:
        if layout.forest[v] >= 0:
            below[layout.forest[v]] += below[v]
    key, keys = np.zeros(len(rows), np.uint16), 1
    for v in np.argsort(-below, kind="stable"):
        states = int(layout.cardinality[v]) + 1
        if layout.n_children[v] > 0 and keys * states <= KEYS:
            keys *= states
            key *= np.uint16(states)
            key += (rows[:, v] + 1).astype(np.uint16)
    return np.argsort(key, kind="stable")
