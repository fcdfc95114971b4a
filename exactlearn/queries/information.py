"""Entropy, mutual information and Kullback-Leibler divergence under a model, in nats.

A decision graph's log-probability is a sum over the nodes that a row reaches (PDG-SEM, equation
1), so an expectation of it needs only how often each node is reached. Two graphs over the same
forest are followed together, by the pairs of nodes that some row reaches together. Over different
forests the nodes that a row reaches in two graphs form, with its states, a Bayesian network, in
which the expected log-probability of the second graph is computed by elimination (theorem
*Divergence of two graphs*, docs/theory/decision_graphs.md): one further variable a node, whose
probability of a "yes" is the share that the logarithm of the reached parameter has of the smallest
one. A network needs no graph for that: its own variables stand in place of nodes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.clique_elimination import eliminated, elimination_cells
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import LARGEST_TABLE, BayesianNetwork, normalised
from exactlearn.errors import TooLargeError
from exactlearn.pdg.inference.flows import node_probabilities
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import Evidence, Model, ModelLike, as_graph, conditional
from exactlearn.queries.posteriors import joint_posterior

Graphical = BayesianNetwork | DecisionGraph

MAX_CELLS = 100_000_000
"""Most cells of the tables that a divergence is computed with, 16 bytes each."""


@checked_arguments()
def entropy(
    model: ModelLike, evidence: Evidence | None = None, targets: str | Sequence[str] | None = None
) -> float:
    """Return the entropy of some variables given the evidence, in nats.

    Parameters
    ----------
    model, evidence
        As for :func:`~exactlearn.queries.posteriors.query`; a network is compiled.
    targets
        Any variables; all when left out, which takes one pass whatever their number except for a
        naive Bayes model.

    Raises
    ------
    OptionError, DataError, TooLargeError
        As :func:`~exactlearn.queries.posteriors.joint_posterior` does.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("asia")
    >>> round(el.queries.entropy(network, targets="lung"), 4)
    0.213
    >>> round(el.queries.entropy(network, {"smoke": "yes"}, "lung"), 4)
    0.3251
    """
    if targets is not None:
        return _entropy(joint_posterior(model, evidence, targets))
    if isinstance(model, NaiveBayes):
        return _entropy(joint_posterior(model, evidence, model.names))
    graph, _ = conditional(model, evidence)
    return -float(node_probabilities(graph) @ _log(graph.parameters))


@checked_arguments()
def mutual_information(
    model: ModelLike,
    first: str | Sequence[str],
    second: str | Sequence[str],
    given: str | Sequence[str] = (),
    *,
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

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("asia")
    >>> round(el.queries.mutual_information(network, "smoke", "dysp"), 4)
    0.028
    >>> round(el.queries.mutual_information(network, "smoke", "dysp", given=["bronc", "either"]), 4)
    0.0
    """
    table = joint_posterior(model, evidence, [*first, *second, *given])
    a, b = len(first), len(first) + len(second)
    without_first = table.sum(axis=tuple(range(a)))
    without_second = table.sum(axis=tuple(range(a, b)))
    only_given = table.sum(axis=tuple(range(b)))
    conditional_entropy = _entropy(without_second) - _entropy(only_given)
    return max(0.0, conditional_entropy - (_entropy(table) - _entropy(without_first)))


@checked_arguments()
def kl_divergence(p: ModelLike, q: ModelLike) -> float:
    """Return the exact divergence of ``q`` from ``p``, in nats; infinite where ``q`` has zeros.

    Variables and states are matched by name. Rows of tables that sum to one only nearly are
    normalised.

    Over the same forest any two graphs can be compared, at the cost of the pairs of nodes that
    rows reach together. Otherwise the families of a network, or the nodes that a row reaches in a
    graph, are followed by elimination: exact, where the tables are not too large. Where they are,
    networks are compiled, each once, and their graphs compared. With a naive Bayes model all rows
    are compared.

    Raises
    ------
    OptionError
        If the models do not have the same variables and states.
    TooLargeError
        If the forests differ and the tables would have more than a hundred million cells, or a
        network's decision graph would be too large; or if there are more than a million different
        rows and one is a naive Bayes model.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("asia")
    >>> learnt = el.fit_complete(el.read_dataset("asia-mnar-complete"), network.parents)
    >>> round(el.kl_divergence(network, learnt), 4), el.kl_divergence(network, network)
    (0.1178, 0.0)
    """
    q = q.reordered(p)
    if isinstance(p, NaiveBayes) or isinstance(q, NaiveBayes):
        return _of_all_rows(p, q)
    if isinstance(p, DecisionGraph) and isinstance(q, DecisionGraph):
        if np.array_equal(p.forest, q.forest):
            return max(0.0, _along_forest(p, q))
        return max(0.0, -entropy(p) - _expected_log_probability(p, q))
    try:
        own = _expected_log_probability(p, p) if isinstance(p, BayesianNetwork) else -entropy(p)
        return max(0.0, own - _expected_log_probability(p, q))
    except TooLargeError:
        return kl_divergence(as_graph(p), as_graph(q))


def _of_all_rows(p: Model, q: Model) -> float:
    """Return the divergence by the probabilities of all rows."""
    one, other = joint_posterior(p, None, p.names), joint_posterior(q, None, q.names)
    ratios = np.where(one > 0, _log(one) - _log(other, -np.inf), 0.0)
    return max(0.0, float((one * ratios).sum()))


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


def _expected_log_probability(p: Graphical, q: Graphical) -> float:
    """Return the expectation under ``p`` of the natural log-probability under ``q``.

    ``-inf`` where ``p`` allows what ``q`` does not.

    Parameters
    ----------
    p, q
        Models of the same variables and states; graphs over any forests.

    Raises
    ------
    TooLargeError
        If following both models together needs tables of more than a hundred million cells.
    """
    _require_cells(_link_cells(p) + _link_cells(q), p, q)
    network, lowest = _together(p, q)
    nothing = np.full((1, network.n_variables), -1, np.int16)
    _require_cells(elimination_cells(network, nothing), p, q)
    posterior, _ = eliminated(network, nothing)
    shares = posterior[0, -3 * p.n_variables :].reshape(-1, 3)
    if (shares[:, 2] > 0).any():
        return -np.inf
    return float(shares[:, 1] @ lowest)


def _require_cells(cells: float, *models: Graphical) -> None:
    if cells > MAX_CELLS:
        p, q = (m.n_nodes if isinstance(m, DecisionGraph) else m.n_variables for m in models)
        raise TooLargeError(
            f"the forests differ, and following both graphs together, of {p:,} and"
            f" {q:,} nodes, needs tables of {cells:,.0f} cells; the limit is"
            f" {MAX_CELLS:,}: compile both over the same forest, or estimate the divergence on"
            " sampled rows"
        )


def _link_cells(model: Graphical) -> int:
    """Return the cells of a graph's tables of successors: the node after each node and state."""
    if isinstance(model, BayesianNetwork):
        return 0
    counts, forest = model.node_counts, model.forest
    inner = np.flatnonzero(forest >= 0)
    above = forest[inner]
    cells = (counts[above] * model.cardinalities[above] * counts[inner]).astype(np.float64)
    return int(min(cells.sum(), float(LARGEST_TABLE) * 2**20))


def _together(p: Graphical, q: Graphical) -> tuple[BayesianNetwork, NDArray[np.float64]]:
    """Return the network of states, nodes of p, nodes of q and shares, and the lowest logs.

    A network has no nodes: its families are followed instead.
    """
    n = p.n_variables
    if isinstance(p, BayesianNetwork):
        parents, tables = list(p.parents), list(normalised(p).tables)
    else:
        nodes, links = _nodes(p, n)
        parents = [(n + v,) for v in range(n)] + nodes
        tables = [np.array(p.parameters_of(v)) for v in range(n)] + links
    if isinstance(q, BayesianNetwork):
        families = [(*family, v) for v, family in enumerate(q.parents)]
        own = list(normalised(q).tables)
    else:
        place = len(tables)
        nodes, links = _nodes(q, place)
        parents, tables = parents + nodes, tables + links
        families = [(place + v, v) for v in range(n)]
        own = [q.parameters_of(v) for v in range(n)]
    shares, lowest = _shares(own)
    every = (*tables, *shares)
    names = tuple(map(str, range(len(every))))
    states = tuple(tuple(map(str, range(table.shape[-1]))) for table in every)
    return BayesianNetwork(names, states, (*parents, *families), every), lowest


def _nodes(
    graph: DecisionGraph, place: int
) -> tuple[list[tuple[int, ...]], list[NDArray[np.float64]]]:
    """Return parents and tables of the variables that hold the nodes a row reaches.

    Parameters
    ----------
    place
        Number of the first of these variables; those of the states begin at 0.
    """
    above = graph.forest.tolist()
    parents: list[tuple[int, ...]] = [(place + u, u) if u >= 0 else () for u in above]
    return parents, [_link(graph, u, v) for v, u in enumerate(above)]


def _shares(
    tables: Sequence[NDArray[np.float64]],
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the distribution of the share of each table's logarithms, and the lowest of these."""
    shares, lowest = [], np.empty(len(tables))
    for k, table in enumerate(tables):
        logs = _log(table)
        lowest[k] = logs.min()
        share = logs / lowest[k] if lowest[k] < 0 else logs
        impossible = (table <= 0).astype(np.float64)
        shares.append(np.stack((1 - share - impossible, share, impossible), axis=-1))
    return shares, lowest


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
