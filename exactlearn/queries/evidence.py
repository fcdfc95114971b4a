"""Evidence by names, and models given evidence.

Evidence is a state of a variable, or a weight for each of its states: soft evidence, which Pearl
(1988, section 2.2.2) calls virtual. The weights are, up to a common factor, the probabilities of
some observation in each state of the variable.

A network is compiled to a decision graph at most once. Its first queries are faster without one. As
in the ski-rental problem, the graph is compiled when the queries so far took about as long as
compiling does: then all queries together take at most about twice the least time possible.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import label_of
from exactlearn.errors import DataError, OptionError, TooLargeError
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.flows import condition
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble

Model = BayesianNetwork | DecisionGraph | NaiveBayes
"""A model of any language."""

ModelLike = Model | Any
"""A model, or a result that has one, see :data:`~exactlearn.data.dataset.DatasetLike`."""

Evidence = Mapping[str, str | float | Mapping[str, float]]
"""For each observed variable its state, or weights of its states; a state left out has none.

A number is the state of that name, or stands for the bin that it lies in.
"""

QUERIES, QUERIES_A_VARIABLE = 20, 4
"""Number of queries, and further queries for each variable, after which a network is compiled."""

MOST_CELLS = 1_000_000
"""Largest number of cells before merging of a graph compiled because of many queries."""

LARGEST = 100_000
"""Effective size up to which a query of a graph is faster than elimination, for any evidence."""

_GRAPHS: WeakKeyDictionary[BayesianNetwork, DecisionGraph] = WeakKeyDictionary()
_N_QUERIES: WeakKeyDictionary[BayesianNetwork, int] = WeakKeyDictionary()


class CodedEvidence(NamedTuple):
    """Evidence in numbers.

    Attributes
    ----------
    codes
        State of each variable with hard evidence, -1 elsewhere, shape (variables,).
    soft
        Weights of the states of each variable with soft evidence.
    """

    codes: NDArray[np.int16]
    soft: dict[int, NDArray[np.float64]]

    def weights(self, model: Model) -> NDArray[np.float64]:
        """Return the weight of each state, variable after variable."""
        parts = []
        for v, r in enumerate(model.cardinalities.tolist()):
            state = self.codes[v] if v < len(self.codes) else -1  # a component is not observed
            parts.append(self.soft.get(v, np.ones(r)) if state < 0 else np.eye(r)[state])
        return np.concatenate(parts)

    def named(self, model: Model) -> dict[str, dict[str, float]]:
        """Return the weights by name, of hard evidence that of the observed state alone."""
        observed = np.flatnonzero(self.codes >= 0)
        hard = {model.names[v]: {model.states[v][self.codes[v]]: 1.0} for v in observed}
        soft = {
            model.names[v]: dict(zip(model.states[v], own.tolist(), strict=True))
            for v, own in self.soft.items()
        }
        return hard | soft


def coded_evidence(model: Model, evidence: Evidence | None) -> CodedEvidence:
    """Return evidence in numbers.

    Raises
    ------
    OptionError
        If a variable or state is unknown (near names are offered), or a weight is negative or not
        a number.
    """
    codes = np.full(model.n_variables, -1, np.int16)
    soft: dict[int, NDArray[np.float64]] = {}
    for name, value in (evidence or {}).items():
        variable = model.index(name)
        if isinstance(value, Mapping):
            soft[variable] = _weights(model, variable, value)
        else:
            codes[variable] = model.state_index(variable, label_of(value))
    return CodedEvidence(codes, soft)


def conditional(model: Model, evidence: Evidence | None) -> tuple[DecisionGraph, float]:
    """Return the decision graph of a model given evidence, and the logarithm of its probability.

    Parameters
    ----------
    model
        A network is compiled first, once for all queries; the graph of a naive Bayes model has the
        component as its last variable.

    Raises
    ------
    OptionError
        If a variable or state is unknown.
    DataError
        If the evidence has probability zero.
    TooLargeError
        If a network's decision graph would be too large.
    """
    found = coded_evidence(model, evidence)
    graph = as_graph(model)
    given, log_probability = condition(graph, found.weights(graph))
    if log_probability == -np.inf:
        refuse_evidence(evidence or {})
    return given, log_probability


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
    n, k, network = model.n_variables, model.n_components, model.to_network()
    below = [np.empty((k, len(states), 0), np.int32) for states in model.states]
    return assemble(
        network.names,
        network.states,
        np.array([n] * n + [-1], np.int32),
        [*network.tables[:n], model.prior[None]],
        [*below, np.repeat(np.arange(k, dtype=np.int32), n).reshape(1, k, n)],
    )


def refuse_evidence(evidence: Evidence) -> None:
    """Raise the `DataError` of evidence that has probability zero."""
    shown = ", ".join(f"{name}={_shown(value)}" for name, value in evidence.items())
    raise DataError(
        f"the evidence {shown} has probability zero under the model, so it has no posterior;"
        " correct it, or use a model with smoothed parameters"
    )


def _shown(value: str | float | Mapping[str, float]) -> str:
    """Return a piece of evidence as text: a state, or ``state:weight`` joined by ``|``."""
    if isinstance(value, Mapping):
        return "|".join(f"{s}:{w:g}" for s, w in value.items())
    return label_of(value)


def with_observations(
    network: BayesianNetwork, found: CodedEvidence
) -> tuple[BayesianNetwork, CodedEvidence]:
    """Return a network and hard evidence that stand for soft evidence.

    Each variable with soft evidence gets a child of two states, whose first is observed; its
    probability is the weight over the largest one.
    """
    if not found.soft:
        return network, found
    variables = sorted(found.soft)
    tables = [found.soft[v] / max(found.soft[v].max(), np.finfo(float).tiny) for v in variables]
    extended = replace(
        network,
        names=(*network.names, *(f"observation of {network.names[v]}" for v in variables)),
        states=(*network.states, *[("made", "not made")] * len(variables)),
        parents=(*network.parents, *((v,) for v in variables)),
        tables=(*network.tables, *(np.column_stack((t, 1 - t)) for t in tables)),
    )
    return extended, CodedEvidence(np.append(found.codes, np.zeros(len(variables), np.int16)), {})


def _weights(model: Model, variable: int, weights_of: Mapping[str, float]) -> NDArray[np.float64]:
    weights = np.zeros(int(model.cardinalities[variable]))
    known: dict[int, str] = {}
    for state, weight in weights_of.items():
        if not (isfinite(weight) and weight >= 0):
            raise OptionError(
                f"soft evidence on {model.names[variable]!r}: the weight {weight} of {state!r} is"
                " not a number of 0 or more; give the probability of what was seen in that state"
            )
        code = model.state_index(variable, label_of(state))
        if code in known:
            raise OptionError(
                f"soft evidence on {model.names[variable]!r}: {known[code]!r} and {state!r} are the"
                f" same state {model.states[variable][code]!r}; give it one weight"
            )
        known[code], weights[code] = state, weight
    return weights


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


def graph_if_faster(network: BayesianNetwork) -> DecisionGraph | None:
    """Count a query; return the network's decision graph if that answers it sooner."""
    count = _N_QUERIES[network] = _N_QUERIES.get(network, 0) + 1
    if network not in _GRAPHS and count == QUERIES + QUERIES_A_VARIABLE * network.n_variables:
        try:
            _GRAPHS[network] = compile_network(network, steps=0, max_size=MOST_CELLS)
        except TooLargeError:
            return None
    graph = _GRAPHS.get(network)
    return graph if graph is not None and graph.effective_size <= LARGEST else None
