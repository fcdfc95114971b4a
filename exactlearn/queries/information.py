"""Entropy, mutual information and Kullback-Leibler divergence under a model, in nats.

A decision graph's log-probability is a sum over the nodes that a row reaches (PDG-SEM, equation
1), so an expectation of it needs only how often each node is reached. Two graphs over the same
forest are followed together, by the pairs of nodes that some row reaches together. Over different
forests the nodes that a row reaches in two graphs form, with its states, a Bayesian network, in
which the expected log-probability of the second graph is computed by elimination (theorem
*Divergence of two graphs*, docs/theory/decision_graphs.md): one further variable a node, whose
probability of a "yes" is the share that the logarithm of the reached parameter has of the smallest
one. Two networks need no graphs: each of their families gets such a variable beside those of the
first network.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.buckets import LARGEST_ROW
from exactlearn.bayesnet.clique_elimination import eliminated, elimination_cells
from exactlearn.bayesnet.network import LARGEST_TABLE, BayesianNetwork, normalised
from exactlearn.errors import TooLargeError
from exactlearn.pdg.inference.flows import node_probabilities
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import Evidence, Model, as_graph, conditional
from exactlearn.queries.posteriors import joint_posterior

MAX_CELLS = 100_000_000
"""Most cells of the tables that a divergence is computed with, 16 bytes each."""


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
    return -float(node_probabilities(graph) @ _log(graph.parameters))


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

    Variables and states are matched by name. Rows of tables that sum to one only nearly are
    normalised.

    Two networks are compared by eliminating the variables of the first one, with the families of
    the second among its cliques. Where that takes too large tables, and for a network and a graph,
    networks are compiled, each once. Over the same forest any two graphs can be compared, at the
    cost of the pairs of nodes that rows reach together. Over different forests the nodes that a row
    reaches in both are followed by elimination: exact, where the tables are not too large.

    Raises
    ------
    OptionError
        If the models do not have the same variables and states.
    TooLargeError
        If the forests differ and the tables would have more than a hundred million cells, or a
        network's decision graph would be too large.
    """
    q = q.reordered(p)
    if isinstance(p, BayesianNetwork) and isinstance(q, BayesianNetwork):
        found = _between_networks(p, q)
        if found is not None:
            return max(0.0, found)
    ours, others = as_graph(p), as_graph(q)
    if np.array_equal(ours.forest, others.forest):
        return max(0.0, _along_forest(ours, others))
    return max(0.0, -entropy(ours) - _expected_log_probability(ours, others))


def _between_networks(p: BayesianNetwork, q: BayesianNetwork) -> float | None:
    """Return the divergence by elimination, ``None`` where its tables are too large."""
    p, q = normalised(p), normalised(q)
    families = [(*own, v) for n in (p, q) for v, own in enumerate(n.parents)]
    extended, lowest = _with_shares(p, families, [*p.tables, *q.tables])
    if elimination_cells(extended, _nothing(extended)) > min(MAX_CELLS, LARGEST_ROW):
        return None
    lowest[: p.n_variables] *= -1  # log q - log p, in place of their sum
    return -_expected_log(extended, lowest)


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


def _expected_log_probability(p: DecisionGraph, q: DecisionGraph) -> float:
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
    _require_cells(_link_cells(p) + _link_cells(q), p, q)
    network, lowest = _together(p, q)
    _require_cells(elimination_cells(network, _nothing(network)), p, q)
    return _expected_log(network, lowest)


def _nothing(network: BayesianNetwork) -> NDArray[np.int16]:
    """Return the row without an observed cell."""
    return np.full((1, network.n_variables), -1, np.int16)


def _expected_log(network: BayesianNetwork, lowest: NDArray[np.float64]) -> float:
    """Return the expected sum of the logarithms that the shares, the last variables, stand for."""
    posterior, _ = eliminated(network, _nothing(network))
    shares = posterior[0, -3 * len(lowest) :].reshape(-1, 3)
    return -np.inf if (shares[:, 2] > 0).any() else float(shares[:, 1] @ lowest)


def _require_cells(cells: float, p: DecisionGraph, q: DecisionGraph) -> None:
    if cells > MAX_CELLS:
        raise TooLargeError(
            f"the forests differ, and following both graphs together, of {p.n_nodes:,} and"
            f" {q.n_nodes:,} nodes, needs tables of {cells:,.0f} cells; the limit is"
            f" {MAX_CELLS:,}: compile both over the same forest, or estimate the divergence on"
            " sampled rows"
        )


def _link_cells(graph: DecisionGraph) -> int:
    """Return the cells of the tables of successors: the node after each node and state."""
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
    names = tuple(f"{kind}{v}" for kind in ("state", "p", "q") for v in range(n))
    reached = BayesianNetwork(names, _numbered(tables), tuple(parents), tuple(tables))
    families = [(2 * n + v, v) for v in range(n)]
    return _with_shares(reached, families, [q.parameters_of(v) for v in range(n)])


def _with_shares(
    network: BayesianNetwork,
    families: Sequence[tuple[int, ...]],
    tables: Sequence[NDArray[np.float64]],
) -> tuple[BayesianNetwork, NDArray[np.float64]]:
    """Return the network with a share for each of some tables, and their lowest logarithms.

    Parameters
    ----------
    families, tables
        Variables of the network, and for each configuration of them a probability.
    """
    shares, lowest = [], np.empty(len(tables))
    for k, table in enumerate(tables):
        logs = _log(table)
        lowest[k] = logs.min()
        share = logs / lowest[k] if lowest[k] < 0 else logs
        impossible = (table <= 0).astype(np.float64)
        shares.append(np.stack((1 - share - impossible, share, impossible), axis=-1))
    every = (*network.tables, *shares)
    names = tuple(map(str, range(len(every))))
    parents = (*network.parents, *families)
    return BayesianNetwork(names, _numbered(every), parents, every), lowest


def _numbered(tables: Sequence[NDArray[np.float64]]) -> tuple[tuple[str, ...], ...]:
    """Return the states of variables with some tables."""
    return tuple(tuple(map(str, range(table.shape[-1]))) for table in tables)


def _link(graph: DecisionGraph, above: int, v: int) -> NDArray[np.float64]:
    """Return the distribution of a variable's node given its parent's node and state."""
    nodes = int(graph.node_counts[v])
    if above < 0:
        return np.ones(1)
    place = graph.children[above].index(v)
    after = graph.successors_of(above)[:, :, place] - graph.first_nodes[v]
    table = np.zeros((*after.shape, nodes))
    np.put_along_axis(table, after[..., None], 1.0, axis=-1)
    return table


def _entropy(table: NDArray[np.float64]) -> float:
    return -float((table * _log(table)).sum())


def _log(values: NDArray[np.float64], of_zero: float = 0.0) -> NDArray[np.float64]:
    return np.log(values, out=np.full_like(values, of_zero), where=values > 0)
