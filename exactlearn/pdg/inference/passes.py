"""One pass of inference over rows, by the cheapest of the compiled kernels that is exact.

Three kernels push flows through a graph, each at least 1.5 times faster than the others on a case
that users have (processor time, one core, best of five):

- `exactlearn.pdg.inference.single_flows`, one row after the other over the whole graph: few rows
  with little evidence. A belief update with a tenth of the variables observed takes 8 microseconds
  on CHILD, 12 on ALARM and 35 on INSURANCE; row by row over the nodes reached, 20, 27 and 171.
- `exactlearn.pdg.inference.block_flows`, rows side by side over the nodes that a block of them
  reaches: tables of many rows. The rows are sorted first, by their states of the variables near the
  roots, which decide what a row reaches. Expected counts of ALARM's rows take half the time of row
  by row when they are complete, a sixth with half the cells missing and a tenth with most missing.
- `exactlearn.pdg.inference.row_flows`, row by row over the nodes reached: rows of large graphs that
  reach far fewer nodes than their block. Expected counts of INSURANCE with a tenth of the cells
  missing take a fifth of the time of blocks, those of WATER a fourteenth. With logarithms it is
  exact for rows of any probability, also below the 1e-250 of the others.
"""

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.executors import in_order, n_threads
from exactlearn.bayesnet.bucket_elimination import NO_COUNTS
from exactlearn.pdg.inference.block_flows import block_flows, count_terms
from exactlearn.pdg.inference.row_flows import count_reached, row_flows
from exactlearn.pdg.inference.single_flows import single_posteriors
from exactlearn.pdg.model.layout import Layout, Plan

BLOCK = 128
"""Most rows that the block kernel puts side by side."""

BLOCK_MEMORY = 1 << 20
"""Nodes times rows side by side, at most, where there are eight rows or more."""

PIECE = 16_384
"""Rows that a thread deals with at a time."""

FEW_ROWS = 16
"""So many rows with most cells missing are answered one by one, over the whole graph."""

FEW_VISITS = 1 << 15
"""With fewer visits of nodes by rows, no choice between the kernels gains a millisecond."""

SAMPLED_ROWS, SAMPLED_BLOCKS = 32, 4
"""Rows and blocks that are sampled to decide between the kernels."""

LIKELIHOOD_ADVANTAGE, EXPECTATION_ADVANTAGE = 55, 36
"""How many terms the block kernel adds for a row while the other one visits a node; measured on
ALARM, CHILD, HAILFINDER and INSURANCE, at most a fifth more or less."""

KEYS = 1 << 16
"""Most different sort keys: with so few, numpy sorts in time linear in the rows."""


def posterior_marginals(
    layout: Layout,
    plan: Plan,
    parameters: NDArray[np.float64],
    rows: NDArray[np.int16],
    missing: int,
    posterior: NDArray[np.float64],
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Write posterior marginals into ``posterior`` (zeros), and return log-likelihoods as `expect`.

    Parameters
    ----------
    missing
        Number of missing cells.
    """
    weights = np.ones(len(rows))
    if len(rows) > FEW_ROWS or 2 * missing < rows.size:
        return expect(layout, parameters, rows, weights, NO_COUNTS, posterior, threads)
    result = np.empty(len(rows))
    if single_posteriors(plan, parameters, rows, result, posterior):
        _complete_improbable(layout, parameters, rows, weights, result, NO_COUNTS, posterior)
    return result


def expect(
    layout: Layout,
    parameters: NDArray[np.float64],
    rows: NDArray[np.int16],
    weights: NDArray[np.float64],
    counts: NDArray[np.float64],
    posterior: NDArray[np.float64],
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Add expected counts, write posterior marginals, and return log-likelihoods.

    Parameters
    ----------
    weights, counts, posterior
        As for `exactlearn.pdg.inference.block_flows.block_flows`; pass `NO_COUNTS` or
        `NO_POSTERIOR` for what is not wanted. ``posterior`` holds zeros.
    threads
        How many share the rows where there are many; all cores when left out. Results do not
        depend on it.

    Returns
    -------
    Log-likelihood of each row, shape (rows,); ``-inf`` for an impossible one.
    """
    result = np.empty(len(rows))
    if len(rows) * len(layout.variable) < FEW_VISITS:
        turns = np.arange(len(rows))
        row_flows(layout, parameters, rows, weights, turns, None, result, counts, posterior)
    else:
        turns = row_order(layout, rows)
        codes, shares = rows.take(turns, axis=0), weights.take(turns[: len(weights)])
        logs, block = np.empty(len(rows)), _block(layout, rows)
        up = counts.size == 0 and posterior.size == 0
        advantage = LIKELIHOOD_ADVANTAGE if up else EXPECTATION_ADVANTAGE
        apart = _reach_little(layout, parameters, codes, block, advantage)

        def work(piece: int, _: None) -> NDArray[np.float64]:
            own, to = np.zeros(len(counts)), slice(piece * PIECE, (piece + 1) * PIECE)
            arguments = (layout, parameters, codes[to], shares[to], turns[to])
            if apart:
                row_flows(*arguments, None, logs[to], own, posterior)
            else:
                block_flows(*arguments, block, logs[to], own, posterior)
            return own

        for own in in_order(work, -(-len(rows) // PIECE), lambda: None, n_threads(threads)):
            counts += own
        result[turns] = logs
    _complete_improbable(layout, parameters, rows, weights, result, counts, posterior)
    return result


def _block(layout: Layout, rows: NDArray[np.int16]) -> int:
    fitting = BLOCK_MEMORY // len(layout.variable)
    return max(1, min(BLOCK, len(rows), max(8, fitting)))


def _reach_little(
    layout: Layout,
    parameters: NDArray[np.float64],
    codes: NDArray[np.int16],
    block: int,
    advantage: int,
) -> bool:
    """Return whether rows one by one cost less than side by side, by a sample of them."""
    sample = codes[:: -(-len(codes) // SAMPLED_ROWS)].copy()
    reached = count_reached(layout, parameters, sample)
    starts = range(0, len(codes), block)[:: -(-len(codes) // (block * SAMPLED_BLOCKS))]
    some = np.concatenate([codes[start : start + block] for start in starts])
    terms = count_terms(layout, parameters, some, block)
    return bool(terms * len(sample) > advantage * reached * len(starts))


def _complete_improbable(
    layout: Layout,
    parameters: NDArray[np.float64],
    rows: NDArray[np.int16],
    weights: NDArray[np.float64],
    result: NDArray[np.float64],
    counts: NDArray[np.float64],
    posterior: NDArray[np.float64],
) -> None:
    """Compute with logarithms the rows that a fast kernel left out: their result is NaN."""
    rest = np.flatnonzero(np.isnan(result))
    if len(rest) == 0:
        return
    own = weights[rest] if weights.size else weights
    some, flows = np.empty(len(rest)), posterior if posterior.size == 0 else posterior[rest]
    turns = np.arange(len(rest))
    row_flows(layout, parameters, rows[rest], own, turns, True, some, counts, flows)
    result[rest] = some
    if posterior.size:
        posterior[rest] = flows


def row_order(layout: Layout, rows: NDArray[np.int16]) -> NDArray[np.int64]:
    """Return the numbers of the rows, sorted.

    Parameters
    ----------
    rows
        State numbers, -1 for a missing cell, shape (rows, variables).
    """
    key, keys, codes = np.zeros(len(rows), np.uint16), 1, rows.view(np.uint16)
    for variable, r in _deciding(layout):
        if keys * (r + 1) <= KEYS:
            keys *= r + 1
            key *= np.uint16(r + 1)
            key += codes[:, variable]
            key += np.uint16(1)  # A missing cell is 65,535 here, and becomes 0.
    return np.argsort(key, kind="stable")


def _deciding(layout: Layout) -> list[tuple[int, int]]:
    """Return the variables with children and their states, those with most below them first.

    As many as can make a key; a variable comes after its parent.
    """
    order, parents = layout.order.tolist(), layout.forest.tolist()
    children = layout.n_children.tolist()
    sizes = (layout.cardinality * layout.n_nodes * np.maximum(1, layout.n_children)).tolist()
    below: dict[int, list[int]] = {v: [] for v in [-1, *order]}
    for v in reversed(order):
        below[parents[v]].append(v)
        if parents[v] >= 0:
            sizes[parents[v]] += sizes[v]
    found: list[tuple[int, int]] = []
    waiting = [(0.0, -1)]
    while waiting and len(found) < KEYS.bit_length():
        _, v = heappop(waiting)
        if v >= 0:
            found.append((v, int(layout.cardinality[v])))
        for child in below[v]:
            if children[child] > 0:
                heappush(waiting, (-sizes[child], child))
    return found
