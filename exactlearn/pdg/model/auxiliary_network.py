"""A decision graph as a Bayesian network, with variables for the nodes that a row reaches.

THESIS, Theorem 3.5 (Jaeger 2004, Theorem 5.3): the node of a variable is a function of the node and
the state of its forest parent, and the variable depends on its node alone. The network has a clique
tree of at most the square of the graph's effective size (theorem *Networks with auxiliary
variables*, docs/theory/decision_graphs.md).
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.network import LARGEST_TABLE, BayesianNetwork
from exactlearn.errors import TooLargeError
from exactlearn.pdg.model.decision_graph import DecisionGraph


@checked_arguments()
def to_network(graph: DecisionGraph) -> BayesianNetwork:
    """Return a network whose marginal distribution of the graph's variables is the graph's.

    Parameters
    ----------
    graph
        Decision graph.

    Returns
    -------
    BayesianNetwork
        The graph's variables in its order, and behind them an auxiliary variable ``node_of_X`` for
        each variable X with several nodes, whose states are the numbers of these nodes; none where
        the state of another variable says which node is reached.

    Raises
    ------
    TooLargeError
        If the table of an auxiliary variable would be too large.

    Examples
    --------
    >>> from exactlearn import BayesianNetwork, compile_network
    >>> rows = np.array([0.5, 0.5]), np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.2, 0.8], [0.9, 0.1]]])
    >>> xor = BayesianNetwork(
    ...     ("a", "b", "c"), (("n", "y"),) * 3, ((), (), (0, 1)), (rows[0], rows[0], rows[1])
    ... )
    >>> to_network(compile_network(xor)).names
    ('a', 'b', 'c', 'node_of_c')
    """
    names, states = list(graph.names), list(graph.states)
    parents: list[tuple[int, ...]] = [()] * graph.n_variables
    tables: list[NDArray[np.float64]] = [np.empty(0)] * graph.n_variables
    # Variables of the network, and the node of each of their states: none for a single node.
    node_given: dict[int, tuple[tuple[int, ...], NDArray[np.int64]]] = {}
    for v in graph.order.tolist():
        above, successors = _successors(graph, v, node_given)
        n = int(graph.node_counts[v])
        if len(above) > 1 or np.bincount(successors.ravel(), minlength=n).max() > 1:
            if successors.size * n > LARGEST_TABLE:
                raise TooLargeError(
                    f"the auxiliary variable of {graph.names[v]!r} would have a table of"
                    f" {successors.size * n:,} cells, the limit is {LARGEST_TABLE:,}: query the"
                    " decision graph itself"
                )
            parents.append(above)
            tables.append(np.eye(n)[successors])
            first = int(graph.first_nodes[v])
            states.append(tuple(str(first + k) for k in range(n)))
            above, successors = (len(names),), np.arange(n)
            names.append(_unused(f"node_of_{graph.names[v]}", names))
        node_given[v] = above, successors
        parents[v], tables[v] = above, graph.parameters_of(v)[successors]
    return BayesianNetwork(tuple(names), tuple(states), tuple(parents), tuple(tables))


def _successors(
    graph: DecisionGraph, v: int, node_given: dict[int, tuple[tuple[int, ...], NDArray[np.int64]]]
) -> tuple[tuple[int, ...], NDArray[np.int64]]:
    """Return the variables that a variable's node depends on, and the node of their states."""
    parent = int(graph.forest[v])
    if parent < 0:
        return (), np.zeros((), np.int64)
    place = graph.children[parent].index(v)
    column = graph.successors_of(parent)[:, :, place] - graph.first_nodes[v]
    above, nodes = node_given[parent]
    found, given = column[nodes].astype(np.int64), (*above, parent)
    varying = [axis for axis in range(found.ndim) if (np.diff(found, axis=axis) != 0).any()]
    fixed = tuple(slice(None) if axis in varying else 0 for axis in range(found.ndim))
    return tuple(given[axis] for axis in varying), found[fixed]


def _unused(name: str, names: list[str]) -> str:
    while name in names:
        name += "_"
    return name
