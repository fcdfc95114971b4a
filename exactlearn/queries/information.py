"""Entropy, mutual information and Kullback-Leibler divergence under a model, in nats.

A decision graph's log-probability is a sum over the nodes that a row reaches (PDG-SEM, equation
1), so an expectation of it needs only how often each node is reached. Two graphs over the same
forest are followed together: their divergence is the sum, over pairs of nodes that some row
reaches together, of how often it does so times the divergence of the two local distributions.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.errors import OptionError
from exactlearn.pdg.inference.flows import expected_counts
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.divergence import expected_log_probability
from exactlearn.queries.evidence import Evidence, Model, as_graph, conditional
from exactlearn.queries.posteriors import joint_posterior


@checked_arguments()
def entropy(
    model: Model, variables: str | Sequence[str] | None = None, evidence: Evidence | None = None
) -> float:
    """Return the entropy of some variables given the evidence, in nats.

    Parameters
    ----------
    model, evidence
        As for :func:`~exactlearn.queries.posteriors.query`; a network is compiled.
    variables
        Any variables; all when left out, which takes one pass whatever their number.

    Raises
    ------
    OptionError, DataError, TooLargeError
        As :func:`~exactlearn.queries.posteriors.joint_posterior` does.
    """
    if variables is not None:
        return _entropy(joint_posterior(model, variables, evidence))
    graph, _ = conditional(model, evidence)
    nothing = np.full((1, graph.n_variables), -1, np.int16)
    reach = expected_counts(graph, nothing)
    return -float(reach @ _log(graph.parameters))


@checked_arguments()
def mutual_information(
    model: Model,
    first: str | Sequence[str],
    second: str | Sequence[str],
    given: str | Sequence[str] = (),
    evidence: Evidence | None = None,
) -> float:
    """Return the mutual information of two sets of variables, in nats.

    Parameters
    ----------
    model, evidence
        As for :func:`~exactlearn.queries.posteriors.query`; a network is compiled.
    first, second
        Variables, each named once.
    given
        Variables whose states are known when the information is taken; it is averaged over them.

    Raises
    ------
    OptionError, DataError, TooLargeError
        As :func:`~exactlearn.queries.posteriors.joint_posterior` does.
    """
    table = joint_posterior(model, [*first, *second, *given], evidence)
    a, b = len(first), len(first) + len(second)
    without_first = table.sum(axis=tuple(range(a)))
    without_second = table.sum(axis=tuple(range(a, b)))
    only_given = table.sum(axis=tuple(range(b)))
    information = (
        _entropy(without_second) + _entropy(without_first) - _entropy(table) - _entropy(only_given)
    )
    return max(0.0, information)


@checked_arguments()
def kl_divergence(p: Model, q: Model) -> float:
    """Return the exact divergence of ``q`` from ``p``, in nats; infinite where ``q`` has zeros.

    Networks are compiled, each once.

    Over the same forest any two graphs can be compared, at the cost of the pairs of nodes that
    rows reach together. Over different forests the nodes that a row reaches in both are followed
    by elimination (`exactlearn.queries.divergence`): exact, where the tables are not too large.

    Raises
    ------
    OptionError
        If the models do not have the same variables and states in the same order.
    TooLargeError
        If the forests differ and the tables would have more than a hundred million cells, or a
        network's decision graph would be too large.
    """
    if p.names != q.names or p.states != q.states:
        raise OptionError(
            "the divergence of two models needs the same variables and states in the same"
            " order: convert both from the same network or learn both from the same table"
        )
    ours, others = as_graph(p), as_graph(q)
    if np.array_equal(ours.forest, others.forest):
        return max(0.0, _along_forest(ours, others))
    return max(0.0, -entropy(ours) - expected_log_probability(ours, others))


def _along_forest(p: DecisionGraph, q: DecisionGraph) -> float:
    """Follow both graphs together: for each variable, pairs of nodes and how often reached."""
    total = 0.0
    pairs: dict[int, tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = {}
    for v in p.order.tolist():
        if p.forest[v] < 0:
            pairs[v] = np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1)
        one, other, mass = pairs.pop(v)
        flow = mass[:, None] * p.parameters_of(v)[one]
        ratio = _log(p.parameters_of(v))[one] - _log(q.parameters_of(v), -np.inf)[other]
        total += float((flow * np.where(flow > 0, ratio, 0.0)).sum())
        if total == np.inf:
            return total
        row, state = np.nonzero(flow)
        for place, child in enumerate(p.children[v]):
            ones = p.successors_of(v)[one[row], state, place] - p.first_nodes[child]
            others = q.successors_of(v)[other[row], state, place] - q.first_nodes[child]
            width = int(q.node_counts[child])
            keys = ones.astype(np.int64) * width + others
            distinct, of = np.unique(keys, return_inverse=True)
            masses = np.bincount(of, flow[row, state], len(distinct)).astype(np.float64)
            pairs[child] = distinct // width, distinct % width, masses
    return total


def _entropy(table: NDArray[np.float64]) -> float:
    return -float((table * _log(table)).sum())


def _log(values: NDArray[np.float64], of_zero: float = 0.0) -> NDArray[np.float64]:
    return np.log(values, out=np.full_like(values, of_zero), where=values > 0)
