"""Exact distributions of what incomplete rows show, by enumeration of all variables and cells."""

from dataclasses import replace
from itertools import product

import numpy as np

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import INDICATOR, MissingnessGraph


def with_indicators(
    network: BayesianNetwork, graph: MissingnessGraph, rng: np.random.Generator
) -> BayesianNetwork:
    """Return a network with the indicators of a graph, each with random probabilities."""
    parents = graph.parents(network.names)
    sizes = [*(len(s) for s in network.states), *[2] * len(parents)]
    shapes = [[sizes[p] for p in family] for family in parents]
    missing = [
        rng.choice([0.1, 0.5], shape) + rng.uniform(0, 0.2, shape) for shape in shapes
    ]
    return replace(
        network,
        names=(*network.names, *(f"{INDICATOR}{name}" for name in graph.variables)),
        states=(*network.states, *[("no", "yes")] * len(parents)),
        parents=(*network.parents, *parents),
        tables=(*network.tables, *(np.stack([1 - m, m], axis=-1) for m in missing)),
    )


def observed_rows(
    rows: Dataset, network: BayesianNetwork, graph: MissingnessGraph
) -> Dataset:
    """Return the rows of a network as the indicators behind its variables let them be seen."""
    n = len(network.names)
    codes = rows.codes[:, :n].copy()
    for k, name in enumerate(graph.variables):
        codes[rows.codes[:, n + k] == 1, network.names.index(name)] = MISSING
    return Dataset(codes, network.names, network.states)


def exact_rows(
    network: BayesianNetwork, graph: MissingnessGraph, extended: BayesianNetwork
) -> Dataset:
    """Return all rows that incomplete data can have, weighted by their exact probabilities."""
    n = len(network.names)
    columns = [network.names.index(name) for name in graph.variables]
    rows, weights = [], []
    for cells in product(*(range(len(s)) for s in extended.states)):
        row = list(cells[:n])
        for column, missing in zip(columns, cells[n:], strict=True):
            if missing:
                row[column] = MISSING
        rows.append(row)
        weights.append(
            np.prod(
                [
                    table[(*(cells[p] for p in family), cells[v])]
                    for v, (family, table) in enumerate(
                        zip(extended.parents, extended.tables, strict=True)
                    )
                ]
            )
        )
    return Dataset(np.array(rows), network.names, network.states, np.array(weights))
