"""Models of any language, and the decision graphs that answer for them."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.model.decision_graph import DecisionGraph, as_model, assemble
from exactlearn.structure.averaged_prediction import NetworkMixture
from exactlearn.structure.structure_posterior import StructurePosterior

Model = BayesianNetwork | DecisionGraph | NaiveBayes
"""A model of any language."""

Answering = Model | NetworkMixture
"""What answers queries: a model, or an average over networks."""

GRAPHS: WeakKeyDictionary[BayesianNetwork, DecisionGraph] = WeakKeyDictionary()
"""The decision graph of each network that was compiled, as long as the network is kept."""


def as_answering(value: Any, name: str) -> Any:
    """Return a model; a posterior over networks stands for the average over drawn ones."""
    if isinstance(value, StructurePosterior):
        return value.mixture()
    return value if isinstance(value, NetworkMixture) else as_model(value, name)


def as_graph(model: Model) -> DecisionGraph:
    """Return a decision graph as it is, and that of a network, made once.

    The graph of a naive Bayes model has the component as its last variable, the root, and a node of
    each other variable for each component.

    Raises
    ------
    TooLargeError
        If a network's decision graph would be too large.
    """
    if isinstance(model, NaiveBayes):
        return _with_component(model)
    return model if isinstance(model, DecisionGraph) else compiled_once(model)


def _with_component(model: NaiveBayes) -> DecisionGraph:
    """Return the decision graph of a naive Bayes model, whose root is the component."""
    n = model.n_variables
    k = model.n_components
    network = model.to_network()
    # State k of the root leads to node k of every other variable.
    leaves = [np.empty((k, len(states), 0), np.int32) for states in model.states]
    components = np.arange(k, dtype=np.int32)
    root = np.repeat(components, n).reshape(1, k, n)
    forest = np.array([n] * n + [-1], np.int32)
    return assemble(
        network.names,
        network.states,
        forest,
        [*network.tables[:n], model.prior[None]],
        [*leaves, root],
    )


def compiled_once(network: BayesianNetwork) -> DecisionGraph:
    """Return the network's decision graph, made once and kept as long as the network.

    Raises
    ------
    TooLargeError
        If the graph would be too large.
    """
    if network not in GRAPHS:
        GRAPHS[network] = compile_network(network)
    return GRAPHS[network]
