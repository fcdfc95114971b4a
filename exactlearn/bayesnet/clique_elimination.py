"""Posteriors of rows under a network, by bucket elimination instead of compilation.

The method for queries of networks whose clique tree is small, or whose decision graph is large.
"""

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.bucket_elimination import NO_COUNTS, expect_families
from exactlearn.bayesnet.buckets import Buckets, buckets, flat_tables, row_sizes, space_for
from exactlearn.bayesnet.network import BayesianNetwork, normalised, without_irrelevant_parents

CELLS_A_TRIAL = 50
"""Trying an order takes as long as so many table cells, times the variables, times them again."""

LEAST_TRIALS, MOST_TRIALS = 4, 320
"""How many orders are tried, if it pays to try any."""

MOST_LAYOUTS = 8
"""How many layouts of a network are kept: for queries with the same variables observed."""

_PREPARED: WeakKeyDictionary[BayesianNetwork, BayesianNetwork] = WeakKeyDictionary()
_LAYOUTS: WeakKeyDictionary[BayesianNetwork, dict[bytes, Buckets]] = WeakKeyDictionary()
_TABLES: WeakKeyDictionary[BayesianNetwork, NDArray[np.float64]] = WeakKeyDictionary()


def prepared(network: BayesianNetwork) -> BayesianNetwork:
    """Return the network with normalised tables and without parents that do not matter.

    It is made once, as long as the network is in use.
    """
    if network not in _PREPARED:
        _PREPARED[network] = without_irrelevant_parents(normalised(network))
    return _PREPARED[network]


def elimination_cells(network: BayesianNetwork, codes: NDArray[np.int16]) -> float:
    """Return the cells of all tables that the costliest of some rows needs."""
    return _most_cells(_layout(network, codes), codes)


def eliminated(
    network: BayesianNetwork, codes: NDArray[np.int16]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return posterior marginals and log-likelihoods of rows.

    Parameters
    ----------
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.

    Returns
    -------
    posteriors
        Shape (rows, states of all variables one after the other); an observed state has 1, and an
        impossible row nothing.
    log_likelihoods
        Shape (rows,); ``-inf`` for an impossible row.

    Raises
    ------
    TooLargeError
        When the tables of some row would have too many cells.
    """
    layout, logs = _layout(network, codes), np.empty(len(codes))
    if network not in _TABLES:
        _TABLES[network] = flat_tables(network.tables)
    tables = _TABLES[network]
    posterior = np.zeros((len(codes), int(layout.state_first[-1])))
    space, ones = space_for(layout, codes), np.ones(len(codes))
    expect_families(layout, tables, codes, ones, space, logs, NO_COUNTS, posterior)
    with np.errstate(divide="ignore"):
        for variable in np.flatnonzero((codes >= 0).any(axis=0)).tolist():
            family = codes[:, [*network.parents[variable], variable]]
            rows = np.flatnonzero((family >= 0).all(axis=1))
            logs[rows] += np.log(network.tables[variable][tuple(family[rows].T)])
            seen = np.flatnonzero(codes[:, variable] >= 0)
            posterior[seen, layout.state_first[variable] + codes[seen, variable]] = 1.0
    posterior[np.isneginf(logs)] = 0.0
    # Rounding may leave 1.0000000000000002.
    return np.minimum(posterior, 1.0, out=posterior), np.minimum(logs, 0.0, out=logs)


def _layout(network: BayesianNetwork, codes: NDArray[np.int16]) -> Buckets:
    """Return the buckets of some rows; the last ones made are kept, for rows like these."""
    missing = (codes < 0).any(axis=0)
    key, known = missing.tobytes(), _LAYOUTS.setdefault(network, {})
    if key not in known:
        if len(known) == MOST_LAYOUTS:
            del known[next(iter(known))]
        known[key] = _searched(network, codes, tuple(np.flatnonzero(missing).tolist()))
    return known[key]


def _searched(
    network: BayesianNetwork, codes: NDArray[np.int16], missing: tuple[int, ...]
) -> Buckets:
    """Search for an order of elimination for a small part of the time that the tables will take."""
    parents, cardinalities = network.parents, network.cardinalities
    layout = buckets(parents, cardinalities, missing)
    cells = _most_cells(layout, codes)
    trials = int(min(MOST_TRIALS, cells / (CELLS_A_TRIAL * max(1, len(missing)) ** 2)))
    if trials < LEAST_TRIALS:
        return layout
    other = buckets(parents, cardinalities, missing, trials)
    return other if _most_cells(other, codes) < cells else layout


def _most_cells(layout: Buckets, codes: NDArray[np.int16]) -> float:
    return float(row_sizes(layout, codes)[:, 0].max(initial=0.0))
