"""Posteriors under a network without compiling it: by elimination along its clique tree.

This is what a network is asked by where the clique tree is small, or the decision graph is not.
"""

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from exactlearn.bucket_layout import Buckets, buckets, flat_tables
from exactlearn.bucket_rows import expect_families
from exactlearn.bucket_space import most_cells, space_for
from exactlearn.network import BayesianNetwork
from exactlearn.pdg.passes import NO_COUNTS
from exactlearn.relevance import normalised, relevant

_PREPARED: WeakKeyDictionary[BayesianNetwork, BayesianNetwork] = WeakKeyDictionary()
_TABLES: WeakKeyDictionary[BayesianNetwork, NDArray[np.float64]] = WeakKeyDictionary()


def prepared(network: BayesianNetwork) -> BayesianNetwork:
    """Return the network with normalised tables and without parents that do not matter.

    It is made once, as long as the network is in use.
    """
    if network not in _PREPARED:
        _PREPARED[network] = relevant(normalised(network))
    return _PREPARED[network]


def elimination_cells(network: BayesianNetwork, codes: NDArray[np.int16]) -> float:
    """Return the cells of all tables that the costliest of some rows needs."""
    return most_cells(_layout(network, codes), codes)[1]


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
        _TABLES[network] = flat_tables(network)
    tables = _TABLES[network]
    posterior = np.zeros((len(codes), int(layout.state_first[-1])))
    space, ones = space_for(layout, codes), np.ones(len(codes))
    expect_families(layout, tables, codes, ones, space, logs, NO_COUNTS, posterior)
    for variable, (parents, table) in enumerate(zip(network.parents, network.tables, strict=True)):
        family = codes[:, [*parents, variable]]
        rows = np.flatnonzero((family >= 0).all(axis=1))
        with np.errstate(divide="ignore"):
            logs[rows] += np.log(table[tuple(family[rows].T)])
        seen = np.flatnonzero(codes[:, variable] >= 0)
        posterior[seen, layout.state_first[variable] + codes[seen, variable]] = 1.0
    posterior[np.isneginf(logs)] = 0.0
    return posterior, logs


def _layout(network: BayesianNetwork, codes: NDArray[np.int16]) -> Buckets:
    missing = np.flatnonzero((codes < 0).any(axis=0)).tolist()
    return buckets(network.parents, network.cardinalities, missing)
