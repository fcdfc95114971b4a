"""Smoothing of a decision graph's parameters, tuned by cross-validation.

The counts of a graph's nodes take the place of a network's families
(:mod:`exactlearn.bayesnet.complete_data`; THESIS, Algorithms 4.1 and 4.2).

A row is an available case at a node when its variable is observed and the row reaches this node of
the variable whatever its missing cells are (PDG-SEM, section 3).
"""

from collections.abc import Callable, Sequence
from math import nan
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import kernel
from exactlearn.bayesnet.complete_data import (
    FOLDS,
    SmoothingChoice,
    as_good_as_best,
    check_smoothing,
    divided,
    maximised,
    validation_terms,
)
from exactlearn.data.dataset import Dataset, aligned_codes, require_complete
from exactlearn.pdg.inference.block_flows import Layout, block_space, enter_evidence, reach
from exactlearn.pdg.inference.flows import log_likelihood_rows, node_probabilities
from exactlearn.pdg.model.decision_graph import DecisionGraph

Prior = Literal["start", "uniform"]
"""How pseudo-counts are distributed: as the start model says, or equally."""

STRENGTHS = (np.inf, 256.0, 64.0, 16.0, 4.0, None)
"""Pseudo-rows of each node that validation chooses among; ``None`` for equal pseudo-counts."""


def pseudo_counts(graph: DecisionGraph, prior: Prior) -> NDArray[np.float64]:
    """Return the pseudo-count of each parameter where there is one for each in the mean."""
    size = len(graph.parameters)
    return np.ones(size) if prior == "uniform" else node_probabilities(graph, float(size))


def tuned_smoothing(
    graph: DecisionGraph, dataset: Dataset, *, smoothing: float | None = None, seed: int = 0
) -> DecisionGraph:
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

    Raises
    ------
    DataError
        If a cell is missing or the table does not fit the graph.
    OptionError
        If ``smoothing`` is negative or infinite.
    """
    check_smoothing(smoothing)
    instead = "refine the graph by EM instead"
    require_complete(dataset, "smoothing by counts needs", instead, graph.names)
    if smoothing is None:
        smoothing = choose_graph_smoothing(graph, dataset, seed=seed).smoothing
    return graph.with_counts(node_counts(graph, dataset) + smoothing)


def choose_graph_smoothing(
    graph: DecisionGraph, dataset: Dataset, *, prior: Prior = "uniform", seed: int = 0
) -> SmoothingChoice:
    """Return the pseudo-count under which a graph predicts held-out rows best.

    Rows with missing cells count for the nodes that they are certain to reach (available cases).

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

    Raises
    ------
    DataError
        If the table does not fit the graph.

    Notes
    -----
    One pseudo-count is chosen where there is nothing to validate on: fewer than two rows, or none
    that is an available case anywhere.
    """
    weights = dataset.row_weights
    whole = (weights == np.floor(weights)).all()
    if (weights.sum() if whole else np.count_nonzero(weights)) < 2:
        return SmoothingChoice(1.0, nan, 0)
    folds = divided(weights, FOLDS, seed)
    codes, units = aligned_codes(dataset, graph.names, graph.states), pseudo_counts(graph, prior)
    own = [
        (codes[folds.rows[k]], folds.weights[k]) for k in folds.fold == np.arange(folds.n)[:, None]
    ]
    counts = np.array([available_counts(graph.layout, *part) for part in own])
    nodes = np.repeat(np.arange(graph.n_nodes), np.diff(graph.parameter_offsets))
    totals = np.bincount(nodes, units, graph.n_nodes).astype(np.float64)
    score = validation_terms(counts, units, nodes, totals)
    return maximised(score.at, folds.n) if len(score.shifts) else SmoothingChoice(1.0, nan, folds.n)


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
        return tuned_smoothing(graph, dataset, seed=seed)
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


def node_counts(graph: DecisionGraph, dataset: Dataset) -> NDArray[np.float64]:
    """Return the weight of the rows at each node and state, laid out as the graph's parameters."""
    codes = aligned_codes(dataset, graph.names, graph.states)
    counts: NDArray[np.float64] = available_counts(graph.layout, codes, dataset.row_weights)
    return counts


@kernel
def available_counts(
    layout: Layout, codes: NDArray[np.int16], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of the rows that are certain to reach a node and have a state there.

    Parameters
    ----------
    layout
        The structure; parameters play no role.
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.
    weights
        Of the rows, shape (rows,).

    Returns
    -------
    Counts laid out as the parameters.
    """
    counts = np.zeros(layout.parameter[-1])
    possible, block = np.ones(len(counts)), block_space(layout, 1)
    node_of, n_nodes = np.empty(len(layout.order), np.int64), np.empty(len(layout.order), np.int64)
    none = np.zeros(len(layout.order), np.bool_)
    for d in range(len(codes)):
        # The nodes that the row may reach, whatever its missing cells are.
        n_nodes[:] = 0
        enter_evidence(layout, codes, d, 1, None, none, block)
        for i in range(reach(layout, possible, d, True, block)):
            variable = np.int64(layout.variable[block.queue[i]])
            n_nodes[variable] += 1
            node_of[variable] = block.queue[i]
        # A row counts where it reaches one node for certain.
        for v in range(len(n_nodes)):
            if n_nodes[v] == 1 and codes[d, v] >= 0:
                counts[layout.parameter[node_of[v]] + codes[d, v]] += weights[d]
    return counts
