"""One pass of inference over rows, by the cheapest of four compiled kernels that is exact.

Few rows of little evidence go one by one over the whole graph (`exactlearn.pdg.single_flows`).
Many rows stand side by side over the whole graph (`exactlearn.pdg.block_flows`); when most cells
are observed, rows go one by one over the nodes they can reach (`exactlearn.pdg.row_flows`); rows
whose probability is below 1e-250 go with logarithms (`exactlearn.pdg.log_flows`).
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.pdg.block_flows import block_flows
from exactlearn.pdg.layout import Layout, Plan
from exactlearn.pdg.log_flows import log_expectation
from exactlearn.pdg.row_flows import count_reached, row_expectation, row_log_likelihoods
from exactlearn.pdg.single_flows import single_posteriors

BLOCK = 128
"""Most rows that the block kernel puts side by side."""

BLOCK_MEMORY = 1 << 17
"""Flows that the block kernel holds at once in each direction: they should stay in the cache."""

SAMPLE = 16
"""Rows that are looked at to decide between the kernels."""

FEW_ROWS = 16
"""So many rows with most cells missing are answered one by one, over the whole graph."""

FEW_VISITS = 1 << 17
"""With fewer visits of nodes by rows, no choice between the kernels gains a millisecond."""

LIKELIHOOD_ADVANTAGE, EXPECTATION_ADVANTAGE = 26, 16
"""How many times cheaper the block kernel visits a node for a row, measured on ALARM, HAILFINDER
and INSURANCE."""

NO_COUNTS = np.empty(0)
NO_POSTERIOR = np.empty((1, 0))


def log_likelihoods(
    layout: Layout, parameters: NDArray[np.float64], rows: NDArray[np.int16]
) -> NDArray[np.float64]:
    """Return the log-likelihood of each row, shape (rows,); ``-inf`` for an impossible one."""
    result = np.empty(len(rows))
    if _few_reached(layout, parameters, rows, LIKELIHOOD_ADVANTAGE):
        row_log_likelihoods(layout, parameters, rows, result)
    else:
        block = _block(layout, rows)
        block_flows(layout, parameters, rows, NO_COUNTS, block, result, NO_COUNTS, NO_POSTERIOR)
    _complete_improbable(
        layout, parameters, rows, np.ones(len(rows)), result, NO_COUNTS, NO_POSTERIOR
    )
    return result


def posterior_marginals(
    layout: Layout,
    plan: Plan,
    parameters: NDArray[np.float64],
    rows: NDArray[np.int16],
    missing: int,
    posterior: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Add posterior marginals to ``posterior`` (zeros), and return log-likelihoods, as above.

    Parameters
    ----------
    missing
        Number of missing cells.
    """
    if len(rows) > FEW_ROWS or 2 * missing < rows.size:
        return expect(layout, parameters, rows, np.ones(len(rows)), NO_COUNTS, posterior)
    result = np.empty(len(rows))
    if single_posteriors(plan, parameters, rows, result, posterior):
        _complete_improbable(
            layout, parameters, rows, np.ones(len(rows)), result, NO_COUNTS, posterior
        )
    return result


def expect(
    layout: Layout,
    parameters: NDArray[np.float64],
    rows: NDArray[np.int16],
    weights: NDArray[np.float64],
    counts: NDArray[np.float64],
    posterior: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Add expected counts, write posterior marginals, and return log-likelihoods, as above.

    ``counts`` and ``posterior`` are as for `exactlearn.pdg.block_flows.block_flows`; pass
    `NO_COUNTS` or `NO_POSTERIOR` for what is not wanted. ``posterior`` holds zeros.
    """
    result = np.empty(len(rows))
    if _few_reached(layout, parameters, rows, EXPECTATION_ADVANTAGE):
        row_expectation(layout, parameters, rows, weights, result, counts, posterior)
    else:
        block = _block(layout, rows)
        block_flows(layout, parameters, rows, weights, block, result, counts, posterior)
    _complete_improbable(layout, parameters, rows, weights, result, counts, posterior)
    return result


def _block(layout: Layout, rows: NDArray[np.int16]) -> int:
    fitting = BLOCK_MEMORY // len(layout.variable)
    return max(1, min(BLOCK, len(rows), max(8, fitting)))


def _few_reached(
    layout: Layout, parameters: NDArray[np.float64], rows: NDArray[np.int16], advantage: int
) -> bool:
    """Tell whether visiting reached nodes beats visiting all of them with rows side by side.

    Parameters
    ----------
    advantage
        How many times cheaper a visit is when many rows share it.
    """
    if len(rows) * len(layout.variable) < FEW_VISITS:
        return True
    sample = np.ascontiguousarray(rows[:: max(1, len(rows) // SAMPLE)])
    reached = count_reached(layout, parameters, sample)
    return bool(reached * advantage < len(sample) * len(layout.variable))


def _complete_improbable(
    layout: Layout,
    parameters: NDArray[np.float64],
    rows: NDArray[np.int16],
    weights: NDArray[np.float64],
    result: NDArray[np.float64],
    counts: NDArray[np.float64],
    posterior: NDArray[np.float64],
) -> None:
    """Do with logarithms the rows that a fast kernel left out: their result is NaN."""
    rest = np.flatnonzero(np.isnan(result))
    if len(rest) == 0:
        return
    some, flows = np.empty(len(rest)), posterior if posterior.size == 0 else posterior[rest]
    log_expectation(layout, parameters, rows[rest], weights[rest], some, counts, flows)
    result[rest] = some
    if posterior.size:
        posterior[rest] = flows
