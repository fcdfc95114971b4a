"""Networks without what says nothing: parents that a variable does not depend on, and descendants.

A file or an expert may give a variable a parent of which no row of its table depends. The moral
graph then marries parents without need, and every clique and forest must respect it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import BayesianNetwork

TOLERANCE = 1e-13
"""Relative difference up to which two probabilities count as equal: rounding, nothing more."""


def normalised(network: BayesianNetwork) -> BayesianNetwork:
    """Return the network with every row of its tables divided by its sum."""
    tables = tuple(t / t.sum(axis=-1, keepdims=True) for t in network.tables)
    return replace(network, tables=tables)


def relevant(network: BayesianNetwork) -> BayesianNetwork:
    """Return the same distribution without arcs from parents that do not matter.

    Rows are compared as if normalised, and stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> tables = (np.array([0.5, 0.5]), np.array([[0.2, 0.8], [0.2, 0.8]]))
    >>> network = BayesianNetwork(("a", "b"), (("0", "1"),) * 2, ((), (0,)), tables)
    >>> relevant(network).parents
    ((), ())
    """
    families = [
        _reduced(parents, table)
        for parents, table in zip(network.parents, network.tables, strict=True)
    ]
    if sum(len(f[0]) for f in families) == len(network.arcs):
        return network
    return replace(
        network, parents=tuple(f[0] for f in families), tables=tuple(f[1] for f in families)
    )


def part_of(network: BayesianNetwork, variables: Sequence[int]) -> BayesianNetwork:
    """Return the distribution of some variables, in increasing order, all their parents among them.

    Variables without descendants that are asked or told of change nothing (Shachter 1986,
    "Evaluating influence diagrams": barren nodes).
    """
    number = {v: k for k, v in enumerate(variables)}
    return BayesianNetwork(
        names=tuple(network.names[v] for v in variables),
        states=tuple(network.states[v] for v in variables),
        parents=tuple(tuple(number[p] for p in network.parents[v]) for v in variables),
        tables=tuple(network.tables[v] for v in variables),
    )


def _reduced(
    parents: tuple[int, ...], table: NDArray[np.float64]
) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """Drop the parents that do not matter, the last first."""
    rows = table / table.sum(axis=-1, keepdims=True) if parents else table
    for axis in reversed(range(len(parents))):
        highest, lowest = rows.max(axis=axis), rows.min(axis=axis)
        if (highest - lowest <= TOLERANCE * highest).all():
            parents = (*parents[:axis], *parents[axis + 1 :])
            table = np.ascontiguousarray(table.take(0, axis))
            rows = rows.take(0, axis)
    return parents, table
