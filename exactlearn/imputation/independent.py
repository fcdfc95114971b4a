"""The network without arcs: what is known of each variable alone."""

import numpy as np

from exactlearn.bayesnet.complete_data import smoothed
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset


def independent(dataset: Dataset) -> BayesianNetwork:
    """Return the network without arcs that has the shares of the observed states.

    Examples
    --------
    >>> table = Dataset(np.array([[0], [1], [1], [-1]]), ("a",), (("no", "yes"),))
    >>> independent(table).tables[0].round(2).tolist()
    [0.33, 0.67]
    """
    weights = dataset.row_weights
    tables = []
    for codes, r in zip(dataset.codes.T, dataset.cardinalities.tolist(), strict=True):
        seen = codes != MISSING
        counts = np.bincount(codes[seen], weights[seen], r).astype(np.float64)
        tables.append(smoothed(counts, 0.0))
    return BayesianNetwork(
        dataset.names, dataset.states, ((),) * dataset.n_variables, tuple(tables)
    )
