"""Counts along the edges of a decision graph: expected counts, and those of available cases.

PDG-SEM, equation 23, needs for each edge into a node the expected weight of the rows that take
the edge and have a state at the node. These are the expected counts (equation 22) of a graph with
one copy of each node for each of its incoming edges (theorem *Counts along edges*,
docs/theory/decision_graphs.md). Summed over the edges they are those of the nodes.

A row is an available case at a node when its variable is observed and the row reaches this node of
the variable whatever its missing cells are (PDG-SEM, section 3).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.pdg.inference.block_flows import Layout, block_space, enter_evidence, reach
from exactlearn.pdg.inference.flows import expect_counts, refuse_impossible
from exactlearn.pdg.learn.populated_graph import structure_of
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble

EdgeTables = dict[int, NDArray[np.float64]]
"""For each variable, the weight of its states along each edge into it, shape (edges, states).

The edges of a variable go by the node, then by the state of the parent that they leave; a root
has one edge, of all rows.
"""


class EdgeCounts(NamedTuple):
    """Counts along all edges.

    Attributes
    ----------
    tables
        Counts along the edges.
    log_likelihood
        Of the observed cells, or of the available cases, total, natural logarithm.
    """

    tables: EdgeTables
    log_likelihood: float


def copied_by_edges(graph: DecisionGraph) -> DecisionGraph:
    """Return a graph of the same distribution in which one edge leads to each node."""
    structure = structure_of(graph)
    parameters, successors = {}, {}
    for v in range(graph.n_variables):
        origin = heads_into(graph, structure, v)
        r, n_children = int(graph.cardinalities[v]), len(graph.children[v])
        edges = origin[:, None].astype(np.int64) * r + np.arange(r)
        parameters[v] = graph.parameters_of(v)[origin]
        successors[v] = np.repeat(edges[:, :, None], n_children, axis=2).astype(np.int32)
    return assemble(graph.names, graph.states, graph.forest, parameters, successors)


def heads_into(
    graph: DecisionGraph, structure: dict[int, NDArray[np.int32]], variable: int
) -> NDArray[np.int32]:
    """Return the node that each edge into a variable leads to, shape (edges,)."""
    parent = int(graph.forest[variable])
    if parent < 0:
        return np.zeros(1, np.int32)
    place = graph.children[parent].index(variable)
    return np.ascontiguousarray(structure[parent][:, :, place].ravel())


def expected_edge_counts(
    graph: DecisionGraph,
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    threads: int | None = None,
) -> EdgeCounts:
    """Return the expected counts of all edges (PDG-SEM, equations 20 to 23).

    Parameters
    ----------
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.
    weights
        Of the rows, shape (rows,).
    threads
        How many share the rows where there are many; all cores when left out.

    Raises
    ------
    DataError
        If a row is impossible under the graph.
    """
    copied = copied_by_edges(graph)
    counts, rows = expect_counts(copied.layout, copied.parameters, codes, weights, threads)
    refuse_impossible(rows)
    return EdgeCounts(_by_variable(copied, counts), float(weights @ rows))


def available_edge_counts(
    graph: DecisionGraph, codes: NDArray[np.int16], weights: NDArray[np.float64]
) -> EdgeCounts:
    """Return the counts of available cases along all edges, and their log-likelihood."""
    copied = copied_by_edges(graph)
    counts = available_counts(copied.layout, codes, weights)
    own = available_counts(graph.layout, codes, weights)
    some = own > 0
    likelihood = float(own[some] @ np.log(graph.parameters[some]))
    return EdgeCounts(_by_variable(copied, counts), likelihood)


def _by_variable(graph: DecisionGraph, flat: NDArray[np.float64]) -> EdgeTables:
    """Return numbers laid out as a graph's parameters, variable by variable."""
    laid = graph.with_parameters(flat)
    return {v: laid.parameters_of(v) for v in range(graph.n_variables)}


@kernel
def available_counts(
    layout: Layout, codes: NDArray[np.int16], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of the rows that are certain to reach a node and have a state there.

    Parameters
    ----------
    layout
        The structure; parameters play no role.
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.
    weights
        Of the rows, shape (rows,).

    Returns
    -------
    Counts laid out as the parameters.
    """
    counts = np.zeros(layout.parameter[-1])
    possible, block = np.ones(len(counts)), block_space(layout, 1)
    node_of, n_nodes = np.empty(len(layout.order), np.int64), np.empty(len(layout.order), np.int64)
    none = np.zeros(len(layout.order), np.bool_)
    for d in range(len(codes)):
        # The nodes that the row may reach, whatever its missing cells are.
        n_nodes[:] = 0
        enter_evidence(layout, codes, d, 1, None, none, block)
        for i in range(reach(layout, possible, d, True, block)):
            variable = np.int64(layout.variable[block.queue[i]])
            n_nodes[variable] += 1
            node_of[variable] = block.queue[i]
        # A row counts where it reaches one node for certain.
        for v in range(len(n_nodes)):
            if n_nodes[v] == 1 and codes[d, v] >= 0:
                counts[layout.parameter[node_of[v]] + codes[d, v]] += weights[d]
    return counts
