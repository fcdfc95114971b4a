"""How far a decision graph is from the network that it was compiled from, on rows."""

import numpy as np

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.pruning import normalised
from exactlearn.data.dataset import Dataset
from exactlearn.pdg.inference.flows import log_likelihood_rows
from exactlearn.pdg.model.decision_graph import DecisionGraph

CHECK_ROWS = 1000
"""Rows of each kind on which a compilation is compared with its network."""


def max_error(
    network: BayesianNetwork, graph: DecisionGraph, rng: np.random.Generator, rows: int = CHECK_ROWS
) -> float:
    """Return the largest relative difference between the two probabilities of a row.

    The network's tables count as normalised: a file's rows may sum to one only to six digits.

    Parameters
    ----------
    rows
        How many rows to draw from the network, and again uniformly from all states.
    """
    exact = normalised(network)
    likely = exact.sample(rows, rng).codes
    uniform = rng.integers(0, exact.cardinalities, (rows, exact.n_variables)).astype(np.int16)
    codes = np.concatenate((likely, uniform)).astype(np.int16)
    expected = exact.log_likelihood_rows(Dataset(codes, exact.names, exact.states))
    found = log_likelihood_rows(graph, codes)
    possible = np.isfinite(expected)
    if (possible != np.isfinite(found)).any():
        return float("inf")
    return float(np.abs(np.expm1(found[possible] - expected[possible])).max(initial=0.0))
