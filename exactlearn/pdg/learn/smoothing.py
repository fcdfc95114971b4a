"""Smoothing of a decision graph's parameters, tuned by cross-validation.

The counts of a graph's nodes take the place of a network's families
(:mod:`exactlearn.bayesnet.smoothing_choice`; THESIS, Algorithms 4.1 and 4.2).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.complete_data import check_alpha
from exactlearn.bayesnet.smoothing_choice import (
    DEFAULTS,
    SmoothingParameters,
    divided,
    maximised,
    validation_terms,
)
from exactlearn.data.dataset import Dataset, aligned_codes
from exactlearn.errors import DataError
from exactlearn.pdg.inference.flows import expect_counts
from exactlearn.pdg.model.decision_graph import DecisionGraph


class Smoothed(NamedTuple):
    """A smoothed graph.

    Attributes
    ----------
    graph
        With the smoothed parameters of all rows.
    alpha
        The pseudo-count.
    validated
        Log-likelihood of all rows, each under the parameters of the other folds; NaN where
        ``alpha`` was given.
    """

    graph: DecisionGraph
    alpha: float
    validated: float


def tuned_smoothing(
    graph: DecisionGraph,
    dataset: Dataset,
    *,
    alpha: float | None = None,
    seed: int = 0,
    parameters: SmoothingParameters = DEFAULTS,
) -> Smoothed:
    """Return a graph with smoothed relative counts of complete data.

    Parameters
    ----------
    graph
        The structure.
    dataset
        Complete data; matched to the graph by names.
    alpha
        Pseudo-count of every parameter; left out, tuned, or 1 where there is one row only.
    seed
        Of the division into folds.
    parameters
        Folds and tuning constants.

    Raises
    ------
    DataError
        If a cell is missing or the table does not fit the graph.
    OptionError
        If ``alpha`` is negative or infinite, or there are fewer than two folds.
    """
    check_alpha(alpha)
    codes = aligned_codes(dataset, graph.names, graph.states)
    if (codes < 0).any():
        raise DataError(
            "smoothing by counts needs complete data; refine the graph with `alpha` by EM instead"
        )
    weights = dataset.row_weights
    if alpha is not None or weights.sum() < 2:
        chosen = 1.0 if alpha is None else alpha
        return Smoothed(graph.with_counts(_counts(graph, codes, weights) + chosen), chosen, np.nan)
    parts = divided(weights, parameters.folds, seed)
    counts = np.array(
        [
            _counts(graph, codes[parts.rows[own]], parts.weights[own])
            for own in (parts.fold == k for k in range(parts.n))
        ]
    )
    nodes = np.repeat(np.arange(graph.n_nodes), np.diff(graph.parameter_offsets))
    states = graph.cardinalities[graph.variable].astype(np.float64)
    choice = maximised(validation_terms(counts, nodes, states).at, parts.n, parameters)
    smoothed = graph.with_counts(counts.sum(axis=0) + choice.alpha)
    return Smoothed(smoothed, choice.alpha, choice.log_likelihood)


def _counts(
    graph: DecisionGraph, codes: NDArray[np.int16], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the counts of complete rows, also of those that the parameters exclude."""
    possible = np.repeat(1 / graph.cardinalities[graph.variable], np.diff(graph.parameter_offsets))
    rows = np.ascontiguousarray(codes)
    return expect_counts(graph.layout, possible, rows, np.ascontiguousarray(weights)).counts
