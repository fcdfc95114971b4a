"""Decision graphs of networks that are asked again and again, made once for each network.

The first queries to a network are answered sooner without one. As with skis, which are best bought
once the rents paid come to their price, the graph is made when the queries so far took about as
long as that takes: then all queries together take at most about twice the least time possible.
"""

from weakref import WeakKeyDictionary

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import TooLargeError
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.model.decision_graph import DecisionGraph

QUERIES, QUERIES_A_VARIABLE = 20, 4
"""After how many queries, and how many more for each variable, compiling has paid."""

MOST_CELLS = 1_000_000
"""Most cells before merging of a graph that is made because many queries were asked."""

LARGEST = 100_000
"""Effective size up to which a query of a graph is faster than elimination, whatever is known."""

_GRAPHS: WeakKeyDictionary[BayesianNetwork, DecisionGraph] = WeakKeyDictionary()
_ASKED: WeakKeyDictionary[BayesianNetwork, int] = WeakKeyDictionary()


def compiled_once(network: BayesianNetwork) -> DecisionGraph:
    """Return the network's decision graph, made once and kept as long as the network.

    Raises
    ------
    TooLargeError
        If the graph would be too large.
    """
    if network not in _GRAPHS:
        _GRAPHS[network] = compile_network(network)
    return _GRAPHS[network]


def asked_often(network: BayesianNetwork) -> DecisionGraph | None:
    """Count a query; return the network's graph if there is one that answers sooner."""
    asked = _ASKED[network] = _ASKED.get(network, 0) + 1
    if network not in _GRAPHS and asked == QUERIES + QUERIES_A_VARIABLE * network.n_variables:
        try:
            _GRAPHS[network] = compile_network(network, steps=0, max_size=MOST_CELLS)
        except TooLargeError:
            return None
    graph = _GRAPHS.get(network)
    return graph if graph is not None and graph.effective_size <= LARGEST else None
