"""The buckets of a network's variables, as the arrays that the inference kernels read.

Eliminating the variables one after the other joins each with its remaining neighbours: its
*bucket* (Dechter 1999, "Bucket elimination: a unifying framework for reasoning"). Observed
variables are constants, so a row's buckets are those of its missing variables, less what is
observed. The order serves all rows: what is left of it for a row is an elimination order of the
row's missing variables.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.graphs.dag import moral_graph
from exactlearn.graphs.triangulation import (
    best_elimination_order,
    elimination_clusters,
    elimination_order,
)


class Buckets(NamedTuple):
    """Structure of a network and an elimination order of its variables, without the parameters.

    Attributes
    ----------
    order, position
        The elimination order, and where each variable stands in it, shape (variables,).
    cardinality
        Number of states of each variable, shape (variables,).
    separator_first, separator
        The neighbours that each variable has when it is eliminated, those eliminated last first.
    family_first, family
        Each variable's parents in the order of its table's axes, then the variable itself.
    holder_first, holder
        The variables in whose families each variable is.
    table_first
        Where each variable's table begins among the flat parameters, shape (variables + 1,).
    state_first
        Where each variable's states begin in a row of posteriors, shape (variables + 1,).
    """

    order: NDArray[np.int64]
    position: NDArray[np.int64]
    cardinality: NDArray[np.int64]
    separator_first: NDArray[np.int64]
    separator: NDArray[np.int64]
    family_first: NDArray[np.int64]
    family: NDArray[np.int64]
    holder_first: NDArray[np.int64]
    holder: NDArray[np.int64]
    table_first: NDArray[np.int64]
    state_first: NDArray[np.int64]


def buckets(
    parents: Sequence[Sequence[int]],
    cardinalities: NDArray[np.int64],
    missing: Collection[int],
    trials: int = 0,
) -> Buckets:
    """Return the buckets of a DAG, eliminating the variables that some row lacks.

    Parameters
    ----------
    parents
        Parents of each variable, in the order of its table's axes.
    cardinalities
        Number of states of each variable, shape (variables,).
    missing
        The variables that may be missing; the others are constants in every row.
    trials
        How many orders to try for smaller buckets, beside those of all greedy rules; by default
        one rule gives the only order.
    """
    adjacency = [
        frozenset(u for u in neighbours if u in missing) if v in missing else frozenset[int]()
        for v, neighbours in enumerate(moral_graph(parents))
    ]
    order = (
        best_elimination_order(adjacency, cardinalities, trials=trials)
        if trials
        else elimination_order(adjacency, cardinalities)
    )
    position = np.empty(len(order), np.int64)
    position[list(order)] = np.arange(len(order))
    separators: list[list[int]] = [[] for _ in order]
    for v, cluster in zip(order, elimination_clusters(adjacency, order), strict=True):
        separators[v] = sorted(cluster - {v}, key=lambda u: -int(position[u]))
    families = [[*ps, v] for v, ps in enumerate(parents)]
    holders: list[list[int]] = [[] for _ in order]
    for v, family in enumerate(families):
        for u in family:
            holders[u].append(v)
    sizes = (int(cardinalities[family].prod()) for family in families)
    return Buckets(
        np.array(order, np.int64),
        position,
        np.asarray(cardinalities, np.int64),
        *_flat(separators),
        *_flat(families),
        *_flat(holders),
        _starts(sizes),
        _starts(cardinalities.tolist()),
    )


def flat_tables(network: BayesianNetwork) -> NDArray[np.float64]:
    """Return the conditional probabilities of all variables one after the other."""
    return np.concatenate([np.zeros(0), *(np.ravel(table) for table in network.tables)])


def _starts(lengths: Iterable[int]) -> NDArray[np.int64]:
    return np.array([0, *accumulate(lengths)], np.int64)


def _flat(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return _starts(map(len, lists)), np.array([v for one in lists for v in one], np.int64)
