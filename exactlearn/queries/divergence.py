"""What one decision graph expects of another over a different forest, by elimination.

Which node of each variable a row reaches is a function of its parent variable's node and state
(PDG-SEM, Definition 2.1). So the nodes that a row reaches in two graphs, with its states, form a
Bayesian network, in which the expected log-probability of the second graph is a sum of marginals:
one further variable a node, whose probability of a "yes" is the share that the logarithm of the
reached parameter has of the smallest one.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.clique_elimination import eliminated, elimination_cells
from exactlearn.bayesnet.network import LARGEST_TABLE, BayesianNetwork
from exactlearn.errors import TooLargeError
from exactlearn.pdg.model.decision_graph import DecisionGraph

MAX_CELLS = 100_000_000
"""Most cells of the tables that a divergence is computed with, 16 bytes each."""


def expected_log_probability(p: DecisionGraph, q: DecisionGraph) -> float:
    """Return the expectation under ``p`` of the natural log-probability under ``q``.

    ``-inf`` where ``p`` allows what ``q`` does not.

    Parameters
    ----------
    p, q
        Graphs of the same variables and states, over any forests.

    Raises
    ------
    TooLargeError
        If following both graphs together needs tables of more than a hundred million cells.
    """
    _refuse(_link_cells(p) + _link_cells(q), p, q)
    network, lowest = _together(p, q)
    nothing = np.full((1, network.n_variables), -1, np.int16)
    _refuse(elimination_cells(network, nothing), p, q)
    posterior, _ = eliminated(network, nothing)
    shares = posterior[0, -3 * p.n_variables :].reshape(-1, 3)
    if (shares[:, 2] > 0).any():
        return -np.inf
    return float(shares[:, 1] @ lowest)


def _refuse(cells: float, p: DecisionGraph, q: DecisionGraph) -> None:
    if cells > MAX_CELLS:
        raise TooLargeError(
            f"the forests differ, and following both graphs together, of {p.n_nodes:,} and"
            f" {q.n_nodes:,} nodes, needs tables of {cells:,.0f} cells; the limit is"
            f" {MAX_CELLS:,}: compile both over the same forest, or estimate the divergence on"
            " sampled rows"
        )


def _link_cells(graph: DecisionGraph) -> int:
    """Return the cells of the tables that tell the node after each node and state."""
    counts, forest = graph.node_counts, graph.forest
    inner = np.flatnonzero(forest >= 0)
    above = forest[inner]
    cells = (counts[above] * graph.cardinalities[above] * counts[inner]).astype(np.float64)
    return int(min(cells.sum(), float(LARGEST_TABLE) * 2**20))


def _together(p: DecisionGraph, q: DecisionGraph) -> tuple[BayesianNetwork, NDArray[np.float64]]:
    """Return the network of states, nodes of p, nodes of q and shares, and the lowest logs."""
    n = p.n_variables
    parents: list[tuple[int, ...]] = [(n + v,) for v in range(n)]
    tables = [np.array(p.parameters_of(v)) for v in range(n)]
    for place, graph in ((n, p), (2 * n, q)):
        for v in range(n):
            above = int(graph.forest[v])
            parents.append((place + above, above) if above >= 0 else ())
            tables.append(_link(graph, above, v))
    lowest = np.empty(n)
    for v in range(n):
        parameters = q.parameters_of(v)
        logs = np.log(parameters, out=np.zeros_like(parameters), where=parameters > 0)
        lowest[v] = logs.min()
        share = logs / lowest[v] if lowest[v] < 0 else logs
        impossible = (parameters <= 0).astype(np.float64)
        parents.append((2 * n + v, v))
        tables.append(np.stack((1 - share - impossible, share, impossible), axis=-1))
    names = tuple(f"{kind}{v}" for kind in ("state", "p", "q", "share") for v in range(n))
    states = tuple(tuple(map(str, range(table.shape[-1]))) for table in tables)
    return BayesianNetwork(names, states, tuple(parents), tuple(tables)), lowest


def _link(graph: DecisionGraph, above: int, v: int) -> NDArray[np.float64]:
    """Return which node of a variable comes after each node and state of its parent."""
    nodes = int(graph.node_counts[v])
    if above < 0:
        return np.ones(1)
    place = graph.children[above].index(v)
    after = graph.successors_of(above)[:, :, place] - graph.first_nodes[v]
    table = np.zeros((*after.shape, nodes))
    np.put_along_axis(table, after[..., None], 1.0, axis=-1)
    return table
