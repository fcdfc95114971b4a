"""Entropy and divergence of models, and mutual information of the columns of a table, in nats.

The entropy is that of THESIS, equation 4.4, where it is in bits. Mutual information is estimated by
EM from incomplete rows (PDG-SEM, Algorithm 2; :mod:`exactlearn.pdg.learn.starts`).

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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, rel_entr

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.hash_tables import merged_weights
from exactlearn.bayesnet.answers import Evidence
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork, normalised
from exactlearn.bayesnet.row_completion import eliminated, elimination_cells
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import DatasetLike
from exactlearn.errors import TooLargeError
from exactlearn.pdg.inference.flows import node_probabilities
from exactlearn.pdg.learn.starts import pairwise_information
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.pdg.model.node_functions import to_network
from exactlearn.queries.model_graphs import Model, as_graph
from exactlearn.queries.posteriors import (
    ModelLike,
    conditional,
    joint_posterior,
)

if TYPE_CHECKING:
    import pandas as pd

Graphical = BayesianNetwork | DecisionGraph

MAX_CELLS = 100_000_000
"""Most cells of the tables that a divergence is computed with, 16 bytes each."""


@checked_arguments()
def entropy(
    model: ModelLike,
    evidence: Evidence | None = None,
    targets: str | Sequence[str] | None = None,
) -> float:
    """Return the entropy of some variables given the evidence, in nats.

    Parameters
    ----------
    model, evidence
        As for :func:`exactlearn.query`.
    targets
        Any variables; left out, all, which takes no table of all their states but for a naive Bayes
        model. Of the variables given a component of that:
        :attr:`exactlearn.NaiveBayes.component_entropies`.

    Raises
    ------
    OptionError, DataError, TooLargeError
        As for :func:`exactlearn.queries.joint_posterior`.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("asia")
    >>> round(el.queries.entropy(network), 4)
    2.237
    >>> round(el.queries.entropy(network, {"smoke": "yes"}, "lung"), 4)
    0.3251
    """
    if targets is None and not isinstance(model, NaiveBayes):
        given = conditional(model, evidence) if evidence else model
        return -_mean_log_probability(given)
    names = model.names if targets is None else targets
    return float(entr(joint_posterior(model, evidence, names)).sum())


@checked_arguments()
def mutual_information(dataset: DatasetLike) -> "pd.DataFrame":
    """Estimate the mutual information of each pair of variables from rows, in nats.

    The joint distribution of each pair is estimated by EM from all rows that observe one of both
    (PDG-SEM, Algorithm 2, equation 24), so that cells may be missing at random.

    Parameters
    ----------
    dataset
        Table with or without missing cells; rows count by their weights.

    Returns
    -------
    pandas.DataFrame
        Rows and columns are the variables; on the diagonal the entropy of the observed cells of
        each, as a variable tells all about itself. A pair that no row observes together has zero.

    Examples
    --------
    >>> import exactlearn as el
    >>> information = el.queries.mutual_information(el.read_dataset("asia-mnar"))
    >>> information.loc["dysp", ["bronc", "smoke"]].round(3).tolist()
    [0.278, 0.05]
    """
    import pandas as pd

    information = pairwise_information(dataset)
    for v, r in enumerate(dataset.cardinalities.tolist()):
        is_observed = dataset.codes[:, v] >= 0
        weights = dataset.row_weights[is_observed]
        # On the diagonal, the entropy of the observed cells.
        counts = np.bincount(dataset.codes[is_observed, v], weights, r)
        probabilities = counts / max(counts.sum(), 1e-300)
        information[v, v] = entr(probabilities).sum()
    names = list(dataset.names)
    return pd.DataFrame(information, names, names)


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
    # By rows, along the forest, or by elimination in one network of both models.
    q = q.reordered(p)
    if isinstance(p, NaiveBayes) or isinstance(q, NaiveBayes):
        return _of_all_rows(p, q)
    if isinstance(p, DecisionGraph) and isinstance(q, DecisionGraph):
        if np.array_equal(p.forest, q.forest):
            return max(0.0, _along_forest(p, q))
        return _by_elimination(p, q)
    try:
        return _by_elimination(p, q)
    except TooLargeError:
        return kl_divergence(as_graph(p), as_graph(q))


def _by_elimination(p: Graphical, q: Graphical) -> float:
    """Return the divergence by elimination in one network of both models."""
    mean = _mean_log_probability(p)
    mean_under_q = _expected_log_probability(p, q)
    return max(0.0, mean - mean_under_q)


def _mean_log_probability(model: Graphical) -> float:
    """Return the expectation of the natural log-probability of a row: minus the entropy."""
    if isinstance(model, DecisionGraph):
        return float(node_probabilities(model) @ _log(model.parameters))
    try:
        return _expected_log_probability(model, model)
    except TooLargeError:
        return _mean_log_probability(as_graph(model))


def _of_all_rows(p: Model, q: Model) -> float:
    """Return the divergence by the probabilities of all rows."""
    under_p = joint_posterior(p, None, p.names)
    under_q = joint_posterior(q, None, q.names)
    return max(0.0, float(rel_entr(under_p, under_q).sum()))


def _along_forest(p: DecisionGraph, q: DecisionGraph) -> float:
    """Return the divergence of two graphs over one forest, by the pairs of nodes of rows.

    The pairs of a variable are given by the nodes in both graphs, counted from the variable's
    first ones, and the probability that a row reaches both.
    """
    total = 0.0
    # All rows reach the one node of a root in both graphs.
    node = np.zeros(1, np.int64)
    root: tuple[NDArray[Any], ...] = (node, node, np.ones(1))
    pairs = dict.fromkeys(np.flatnonzero(p.forest < 0).tolist(), root)
    for v in p.order.tolist():
        in_p, in_q, reach = pairs.pop(v)
        # The probability of each pair and state, and its term of the divergence.
        reach = reach[:, None]
        flow = reach * p.parameters_of(v)[in_p]
        flow_by_q = reach * q.parameters_of(v)[in_q]
        total += float(rel_entr(flow, flow_by_q).sum())
        if total == np.inf:
            return total
        # The pairs of each child that these pairs lead to, equal ones together.
        pair, state = np.nonzero(flow)
        masses = flow[pair, state]
        for place, child in enumerate(p.children[v]):
            nodes_p = p.successors_of(v)[in_p[pair], state, place]
            nodes_q = q.successors_of(v)[in_q[pair], state, place]
            place_p = (nodes_p - p.first_nodes[child]).astype(np.int64)
            place_q = nodes_q - q.first_nodes[child]
            width = int(q.node_counts[child])
            keys, reach = merged_weights(place_p * width + place_q, masses)
            pairs[child] = (keys // width, keys % width, reach)
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
    n = p.n_variables
    network, lowest = _joint_network(_as_network(p), _as_network(q), n)
    # One elimination without evidence gives the distribution of every variable.
    no_evidence = np.full((1, network.n_variables), MISSING, np.int16)
    cells = elimination_cells(network, no_evidence)
    if cells > MAX_CELLS:
        raise TooLargeError(
            f"the forests differ, and following both models together needs tables of {cells:,.0f}"
            f" cells; the limit is {MAX_CELLS:,}: compile both over the same forest, or estimate"
            " the divergence on sampled rows"
        )
    posterior, _ = eliminated(network, no_evidence)
    # The last variables have three states: no, yes, and impossible under q.
    of_indicators = posterior[0, -3 * n :].reshape(n, 3)
    _, yes, impossible = of_indicators.T
    if (impossible > 0).any():
        return -np.inf
    return float(yes @ lowest)


def _as_network(model: Graphical) -> BayesianNetwork:
    """Return the network of a model; of a graph, with variables for the nodes behind the others."""
    if isinstance(model, BayesianNetwork):
        return normalised(model)
    return to_network(model)


def _joint_network(
    p: BayesianNetwork,
    q: BayesianNetwork,
    n: int,
) -> tuple[BayesianNetwork, NDArray[np.float64]]:
    """Return a network of p, the nodes of q and the logarithms of q, and the lowest of these.

    Parameters
    ----------
    p, q
        Networks with the same first ``n`` variables.
    n
        Number of variables that both have.
    """
    # The nodes of q come behind those of p; the variables are the same.
    place = np.arange(q.n_variables)
    place[n:] += p.n_variables - n
    families = [tuple(place[[*family]].tolist()) for family in q.parents]
    # For each variable of q, a further one that reads off its logarithm.
    proportions, lowest = zip(*map(_proportions, q.tables[:n]), strict=True)
    tables = (
        *p.tables,
        *q.tables[n:],
        *proportions,
    )
    with_variables = [(*families[v], v) for v in range(n)]
    parents = (
        *p.parents,
        *families[n:],
        *with_variables,
    )
    # Names and states are numbers: nobody sees this network.
    names = _numbered(len(tables))
    states = tuple(_numbered(table.shape[-1]) for table in tables)
    return BayesianNetwork(names, states, parents, tables), np.array(lowest)


def _numbered(n: int) -> tuple[str, ...]:
    """Return the numbers below ``n`` as names."""
    return tuple(map(str, range(n)))


def _proportions(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return P(no), P(yes), P(impossible) for each entry of a table, and the lowest logarithm.

    P(yes) is the entry's logarithm divided by the lowest one.
    """
    logs = _log(table)
    lowest = float(logs.min())
    yes = logs / lowest if lowest < 0 else logs
    impossible = (table <= 0).astype(np.float64)
    no = 1 - yes - impossible
    return np.stack((no, yes, impossible), axis=-1), lowest


def _log(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the natural logarithms, 0 of what is zero."""
    return np.log(values, out=np.zeros_like(values), where=values > 0)
