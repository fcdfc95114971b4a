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
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork, normalised
from exactlearn.bayesnet.row_completion import eliminated, elimination_cells
from exactlearn.data.dataset import DatasetLike
from exactlearn.errors import TooLargeError
from exactlearn.pdg.inference.flows import node_probabilities
from exactlearn.pdg.learn.starts import pairwise_information
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.pdg.model.node_functions import to_network
from exactlearn.queries.posteriors import (
    Evidence,
    Model,
    ModelLike,
    as_graph,
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
        if evidence:
            return -_mean_log_probability(conditional(model, evidence))
        return -_mean_log_probability(model)
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
        counts = np.bincount(dataset.codes[is_observed, v], weights, r)
        information[v, v] = entr(counts / max(counts.sum(), 1e-300)).sum()
    return pd.DataFrame(information, list(dataset.names), list(dataset.names))


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
        return max(0.0, _mean_log_probability(p) - _expected_log_probability(p, q))
    try:
        return max(0.0, _mean_log_probability(p) - _expected_log_probability(p, q))
    except TooLargeError:
        return kl_divergence(as_graph(p), as_graph(q))


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
    one = joint_posterior(p, None, p.names)
    other = joint_posterior(q, None, q.names)
    ratios = np.where(one > 0, _log(one) - _log(other, -np.inf), 0.0)
    return max(0.0, float((one * ratios).sum()))


def _along_forest(p: DecisionGraph, q: DecisionGraph) -> float:
    """Follow both graphs together: for each variable, pairs of nodes and how often reached."""
    total = 0.0
    pairs: dict[
        int, tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
    ] = {}
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
    network, lowest = _together(_as_network(p), _as_network(q), p.n_variables)
    nothing = np.full((1, network.n_variables), -1, np.int16)
    cells = elimination_cells(network, nothing)
    if cells > MAX_CELLS:
        raise TooLargeError(
            f"the forests differ, and following both models together needs tables of {cells:,.0f}"
            f" cells; the limit is {MAX_CELLS:,}: compile both over the same forest, or estimate"
            " the divergence on sampled rows"
        )
    posterior, _ = eliminated(network, nothing)
    shares = posterior[0, -3 * p.n_variables :].reshape(-1, 3)
    return -np.inf if (shares[:, 2] > 0).any() else float(shares[:, 1] @ lowest)


def _as_network(model: Graphical) -> BayesianNetwork:
    """Return the network of a model; of a graph, with variables for the nodes behind the others."""
    return (
        normalised(model) if isinstance(model, BayesianNetwork) else to_network(model)
    )


def _together(
    p: BayesianNetwork, q: BayesianNetwork, n: int
) -> tuple[BayesianNetwork, NDArray[np.float64]]:
    """Return a network of p, the nodes of q and shares of q's logarithms, and the lowest of these.

    Parameters
    ----------
    p, q
        Networks with the same first ``n`` variables.
    n
        Number of variables that both have.
    """
    shift = p.n_variables - n
    families = [[u if u < n else u + shift for u in family] for family in q.parents]
    shares, lowest = zip(*map(_shares, q.tables[:n]), strict=True)
    tables = (*p.tables, *q.tables[n:], *shares)
    observed = ((*family, v) for v, family in enumerate(families[:n]))
    parents = (*p.parents, *map(tuple, families[n:]), *observed)
    names = tuple(map(str, range(len(tables))))
    states = tuple(tuple(map(str, range(table.shape[-1]))) for table in tables)
    return BayesianNetwork(names, states, parents, tables), np.array(lowest)


def _shares(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the distribution of the share of a table's logarithms, and the lowest of these."""
    logs = _log(table)
    lowest = float(logs.min())
    share = logs / lowest if lowest < 0 else logs
    impossible = (table <= 0).astype(np.float64)
    return np.stack((1 - share - impossible, share, impossible), axis=-1), lowest


def _log(values: NDArray[np.float64], of_zero: float = 0.0) -> NDArray[np.float64]:
    return np.log(values, out=np.full_like(values, of_zero), where=values > 0)
