"""Decision graphs with a node for each configuration of each variable's context.

THESIS, Algorithms 4.13 to 4.17, build such a graph from a clique tree: a clique's new variables get
a node for each configuration of what separates them from the cliques above.
"""

from math import prod

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import BayesianNetwork, without_irrelevant_parents
from exactlearn.errors import TooLargeError
from exactlearn.graphs.dag import moral_graph
from exactlearn.pdg.compile.compile import MAX_SIZE
from exactlearn.pdg.compile.variable_forest import forest_over
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble


def expanded_graph(network: BayesianNetwork, compiled: DecisionGraph) -> DecisionGraph:
    """Return the fully expanded graph of a network over the forest of its compiled graph.

    Parameters
    ----------
    network
        The network.
    compiled
        Its graph, whose equivalent nodes are merged.

    Raises
    ------
    TooLargeError
        If the graph would have more than `MAX_SIZE` cells.
    """
    moral = moral_graph(without_irrelevant_parents(network).parents)
    forest = forest_over(moral, compiled.forest.tolist(), compiled.order.tolist())
    r, contexts = compiled.cardinalities.tolist(), forest.contexts
    if (size := forest.expanded_size(r)) > MAX_SIZE:
        raise TooLargeError(
            f"the expanded graph would have {size:,} cells, the limit is {MAX_SIZE:,}: begin with"
            " the compiled one"
        )
    # Of each configuration of a context: the compiled graph's node, and whether it is possible.
    nodes = {v: np.zeros(1, np.int64) for v in compiled.order.tolist()}
    possible = {v: np.ones(1, np.bool_) for v in nodes}
    parameters, successors = {}, {}
    for v in nodes:
        own, after = compiled.parameters_of(v)[nodes[v]], compiled.successors_of(v)[nodes[v]]
        reached = ((own > 0) & possible[v][:, None]).ravel()
        last = np.argsort(reached, kind="stable")  # so that a possible way decides on the node
        parameters[v], successors[v] = own, after.copy()
        for place, child in enumerate(compiled.children[v]):
            into = _configurations((*contexts[v], v), contexts[child], r)
            node = after[:, :, place].ravel() - compiled.first_nodes[child]
            count = prod(r[u] for u in contexts[child])
            nodes[child], possible[child] = np.empty(count, np.int64), np.empty(count, np.bool_)
            nodes[child][into[last]], possible[child][into[last]] = node[last], reached[last]
            successors[v][:, :, place] = into.reshape(own.shape)
    return assemble(compiled.names, compiled.states, compiled.forest, parameters, successors)


def _configurations(
    given: tuple[int, ...], kept: tuple[int, ...], r: list[int]
) -> NDArray[np.int64]:
    """Return the number of each configuration of some variables among those of a few of them."""
    numbers = np.zeros([r[u] for u in given], np.int64)
    for u in kept:
        numbers = numbers * r[u] + np.arange(r[u]).reshape([-1 if w == u else 1 for w in given])
    return numbers.ravel()
