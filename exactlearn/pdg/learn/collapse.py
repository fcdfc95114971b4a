"""Collapsing of the nodes that no row of a dataset reaches (THESIS, section 4.6).

For each variable the nodes without data become one "garbage" node with uniform parameters. The
rows keep their probabilities; the graph gets smaller; rows unlike the data still find a
distribution.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.alignment import aligned_codes
from exactlearn.data.dataset import Dataset
from exactlearn.pdg.inference.flows import expected_counts
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble


def reached_nodes(graph: DecisionGraph, dataset: Dataset) -> NDArray[np.bool_]:
    """Return for each node whether some row reaches it, shape (nodes,).

    A row with missing cells reaches the nodes that it can reach with positive probability.

    Raises
    ------
    DataError
        If the table does not fit the graph, or a row is impossible under it.
    """
    counts = expected_counts(
        graph, aligned_codes(dataset, graph.names, graph.states), dataset.weights
    )
    reached: NDArray[np.bool_] = np.add.reduceat(counts, graph.parameter_offsets[:-1]) > 0
    return reached


def collapse_unreached(pdg: DecisionGraph, dataset: Dataset) -> DecisionGraph:
    """Return the graph with one uniform node in place of all unreached nodes of each variable.

    Its successors are the garbage nodes of the children; for a child without one, those that the
    first unreached node had.

    Parameters
    ----------
    dataset
        Rows, possibly with missing cells; matched by names.

    Raises
    ------
    DataError
        If the table does not fit the graph, or a row is impossible under it.
    """
    reached = reached_nodes(pdg, dataset)
    numbers = _renumber(pdg, reached)
    parameters, successors = {}, {}
    for variable in range(pdg.n_variables):
        first = pdg.first_nodes[variable]
        kept = reached[first : first + pdg.node_counts[variable]]
        new = numbers[pdg.successors_of(variable)]
        parameters[variable], successors[variable] = pdg.parameters_of(variable)[kept], new[kept]
        if not kept.all():
            garbage = new[~kept][:1]
            for place, child in enumerate(pdg.children[variable]):
                start = pdg.first_nodes[child]
                inside = reached[start : start + pdg.node_counts[child]]
                if not inside.all():
                    garbage[:, :, place] = inside.sum()
            r = int(pdg.cardinalities[variable])
            parameters[variable] = np.vstack((parameters[variable], np.full((1, r), 1 / r)))
            successors[variable] = np.concatenate((successors[variable], garbage))
    return assemble(pdg.names, pdg.states, pdg.forest, parameters, successors)


def _renumber(graph: DecisionGraph, reached: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return each node's new place among those of its variable; garbage comes last."""
    numbers = np.empty(graph.n_nodes, np.int32)
    for variable in range(graph.n_variables):
        nodes = slice(
            graph.first_nodes[variable],
            graph.first_nodes[variable] + graph.node_counts[variable],
        )
        places = np.cumsum(reached[nodes], dtype=np.int32) - 1
        numbers[nodes] = np.where(reached[nodes], places, reached[nodes].sum())
    return numbers
