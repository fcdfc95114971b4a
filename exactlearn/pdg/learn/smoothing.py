"""Smoothing of a decision graph's parameters, tuned by cross-validation.

The counts of a graph's nodes take the place of a network's families
(:mod:`exactlearn.bayesnet.complete_data`; THESIS, Algorithms 4.1 and 4.2).
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.bayesnet.complete_data import (
    FOLDS,
    Folds,
    LogTerms,
    SmoothingChoice,
    as_good_as_best,
    check_smoothing,
    divided,
    maximised,
    validation_terms,
)
from exactlearn.data.dataset import Dataset, aligned_codes, check_complete
from exactlearn.pdg.inference.flows import log_likelihood_rows, node_probabilities
from exactlearn.pdg.model.decision_graph import DecisionGraph

Prior = Literal["start", "uniform"]
"""How pseudo-counts are distributed: as the start model says, or equally."""

STRENGTHS = (np.inf, 256.0, 64.0, 16.0, 4.0, None)
"""Pseudo-rows of each node that validation chooses among; ``None`` for equal pseudo-counts."""


class Smoothed(NamedTuple):
    """A smoothed graph.

    Attributes
    ----------
    graph
        With the smoothed parameters of all rows.
    smoothing
        The pseudo-count.
    validated
        Log-likelihood of all rows, each under the parameters of the other folds; NaN where
        ``smoothing`` was given.
    """

    graph: DecisionGraph
    smoothing: float
    validated: float


def pseudo_counts(graph: DecisionGraph, prior: Prior) -> NDArray[np.float64]:
    """Return the pseudo-count of each parameter where there is one for each in the mean."""
    size = len(graph.parameters)
    return np.ones(size) if prior == "uniform" else node_probabilities(graph, float(size))


def tuned_smoothing(
    graph: DecisionGraph,
    dataset: Dataset,
    *,
    smoothing: float | None = None,
    seed: int = 0,
    folds: int = FOLDS,
) -> Smoothed:
    """Return a graph with smoothed relative counts of complete data.

    Parameters
    ----------
    graph
        The structure.
    dataset
        Complete data; matched to the graph by names.
    smoothing
        Pseudo-count of every parameter; left out, tuned, or 1 where there is one row only.
    seed
        Of the division into folds.
    folds
        Parts that the rows are divided into.

    Raises
    ------
    DataError
        If a cell is missing or the table does not fit the graph.
    OptionError
        If ``smoothing`` is negative or infinite, or there are fewer than two folds.
    """
    check_smoothing(smoothing)
    check_complete(
        aligned_codes(dataset, graph.names, graph.states),
        graph.names,
        "but smoothing by counts needs complete data; refine the graph by EM instead",
    )
    chosen, validated = 1.0 if smoothing is None else smoothing, np.nan
    if smoothing is None and dataset.row_weights.sum() >= 2:
        choice = choose_graph_smoothing(graph, dataset, seed=seed, folds=folds)
        chosen, validated = choice.smoothing, choice.log_likelihood
    return Smoothed(graph.with_counts(node_counts(graph, dataset) + chosen), chosen, validated)


def choose_graph_smoothing(
    graph: DecisionGraph,
    dataset: Dataset,
    *,
    prior: Prior = "uniform",
    seed: int = 0,
    folds: int = FOLDS,
) -> SmoothingChoice:
    """Return the pseudo-count under which a graph predicts held-out rows best.

    Rows with missing cells count for the nodes that their observed cells lead to (available cases).

    Parameters
    ----------
    graph
        The structure, and with the prior ``start`` the parameters that pseudo-counts follow.
    dataset
        Table with or without missing cells; matched to the graph by names.
    prior
        Of the pseudo-counts, as for :func:`~exactlearn.pdg.learn.refine.refine`.
    seed
        Of the division into folds.
    folds
        Parts that the rows are divided into.

    Raises
    ------
    DataError
        If the table does not fit the graph.
    OptionError
        If there are fewer than two folds.

    Notes
    -----
    One pseudo-count is chosen where there is nothing to validate on: fewer than two rows, or none
    that observes a root.
    """
    weights = dataset.row_weights
    whole = (weights == np.floor(weights)).all()
    if (weights.sum() if whole else np.count_nonzero(weights)) < 2:
        return SmoothingChoice(1.0, np.nan, 0)
    score, n_folds = _validation(graph, dataset, prior, seed, folds)
    if not len(score.shifts):
        return SmoothingChoice(1.0, np.nan, n_folds)
    return maximised(score.at, n_folds)


def estimated(
    graph: DecisionGraph, dataset: Dataset, strength: float | None, seed: int = 0
) -> DecisionGraph:
    r"""Return a graph with parameters estimated from complete data.

    Parameters
    ----------
    graph
        The structure, and the parameters :math:`m` that estimates are shrunk to.
    dataset
        Complete data; matched to the graph by names.
    strength
        Pseudo-rows :math:`s` of each node: a parameter is :math:`(n + s m) / (N + s)`, of the
        counts n of the state and N of the node. Infinite, the graph's own parameters. ``None``:
        `tuned_smoothing`, which does not look at the graph's parameters.
    seed
        Of the folds of `tuned_smoothing`.
    """
    if strength is None:
        return tuned_smoothing(graph, dataset, seed=seed).graph
    if strength == np.inf:
        return graph
    return graph.with_counts(node_counts(graph, dataset) + strength * graph.parameters)


class Validation(NamedTuple):
    """What predicts held-out rows well.

    Attributes
    ----------
    strengths
        For each graph, one of `STRENGTHS`.
    smallest
        The smallest graph that predicts as well as the best one, up to a standard error.
    """

    strengths: tuple[float | None, ...]
    smallest: int

    @classmethod
    def default(cls, graphs: int) -> "Validation":
        """Return what is chosen without held-out rows: the last graph, by relative counts."""
        return cls((None,) * graphs, graphs - 1)


def cross_validated(
    learn: Callable[[Dataset], Sequence[DecisionGraph]],
    dataset: Dataset,
    graphs: int,
    *,
    seed: int = 0,
    control: SearchControl = UNLIMITED,
) -> Validation:
    """Choose among graphs and their smoothing by cross-validation of all that is learnt.

    Parameters
    ----------
    learn
        Learns the graphs from rows, each with the parameters that estimates are shrunk to.
    dataset
        Complete data.
    graphs
        Number of graphs that it learns.
    seed
        Of the division into folds.
    control
        Once it is over, `Validation.default` is returned.
    """
    if dataset.row_weights.sum() < 2:
        return Validation.default(graphs)
    parts = divided(dataset.row_weights, FOLDS, seed)
    held = np.empty((graphs, len(STRENGTHS), len(parts.rows)))
    sizes = np.zeros(graphs)
    for k in range(parts.n):
        train, test = (parts.part(dataset, own) for own in (parts.fold != k, parts.fold == k))
        found = learn(train)
        if len(found) < graphs:
            return Validation.default(graphs)
        for g, graph in enumerate(found):
            if control.is_over:
                return Validation.default(graphs)
            sizes[g] += graph.effective_size
            codes = aligned_codes(test, graph.names, graph.states)
            for j, strength in enumerate(STRENGTHS):
                model = estimated(graph, train, strength, seed)
                held[g, j, parts.fold == k] = log_likelihood_rows(model, codes)
    chosen = (held @ parts.weights).argmax(axis=1)
    rows = held[np.arange(graphs), chosen]
    smallest = int(np.where(as_good_as_best(rows, parts.weights), sizes, np.inf).argmin())
    return Validation(tuple(STRENGTHS[j] for j in chosen), smallest)


def _validation(
    graph: DecisionGraph, dataset: Dataset, prior: Prior, seed: int, n_folds: int
) -> tuple[LogTerms, int]:
    """Return the log-likelihood of held-out rows by the pseudo-count, and the number of folds."""
    folds = divided(dataset.row_weights, n_folds, seed)
    counts = _available_counts(graph, dataset, folds)
    units = pseudo_counts(graph, prior)
    nodes = np.repeat(np.arange(graph.n_nodes), np.diff(graph.parameter_offsets))
    totals = np.bincount(nodes, units, graph.n_nodes).astype(np.float64)
    return validation_terms(counts, units, nodes, totals), folds.n


def node_counts(graph: DecisionGraph, dataset: Dataset) -> NDArray[np.float64]:
    """Return the weight of the rows at each node and state, laid out as the graph's parameters."""
    rows = Folds.one(dataset.row_weights)
    counts: NDArray[np.float64] = _available_counts(graph, dataset, rows)[0]
    return counts


def _available_counts(graph: DecisionGraph, dataset: Dataset, folds: Folds) -> NDArray[np.float64]:
    """Return the counts of each fold, shape (folds, parameters).

    A row counts for a node of a variable where it observes that variable and all above it.
    """
    codes = np.ascontiguousarray(aligned_codes(dataset, graph.names, graph.states).T)
    offsets = graph.parameter_offsets
    node = np.full(codes.shape, -1, np.int64)
    counts = np.zeros((folds.n, int(offsets[-1])))
    for v in graph.order.tolist():
        above = int(graph.forest[v])
        if above < 0:
            node[v] = graph.first_nodes[v]
        else:
            reached = np.flatnonzero((node[above] >= 0) & (codes[above] >= 0))
            place = node[above, reached] - graph.first_nodes[above], codes[above, reached]
            node[v, reached] = graph.successors_of(above)[(*place, graph.children[above].index(v))]
        state = codes[v, folds.rows]
        known = (node[v, folds.rows] >= 0) & (state >= 0)
        cells = offsets[node[v, folds.rows[known]]] + state[known]
        np.add.at(counts, (folds.fold[known], cells), folds.weights[known])
    return counts
