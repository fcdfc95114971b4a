"""Smoothing of a decision graph's parameters, tuned by cross-validation.

THESIS, Algorithms 4.1 and 4.2: the pseudo-count ``alpha`` of every parameter is the one whose
parameters, estimated without each fold in turn, make the fold most probable. That is taken to
have one maximum in ``alpha``; the search narrows an interval of log ``alpha``.
"""

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.dataset import Dataset, aligned_codes
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.inference.flows import expect_counts, log_likelihood_rows
from exactlearn.pdg.model.decision_graph import DecisionGraph

FOLDS = 5
"""Folds of the cross-validation."""

SMALLEST, LARGEST, STEPS = 1e-4, 100.0, 24
"""Between which pseudo-counts to search, and evaluations after the first two."""


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
    folds: int = FOLDS,
    seed: int = 0,
) -> Smoothed:
    """Return a graph with smoothed relative counts of complete data.

    Parameters
    ----------
    graph
        The structure.
    dataset
        Complete data; matched to the graph by names.
    alpha
        Pseudo-count of every parameter; left out, tuned.
    folds
        Parts that the rows are divided into, at random.
    seed
        Of the division.

    Raises
    ------
    DataError
        If a cell is missing or the table does not fit the graph.
    OptionError
        If ``alpha`` is negative or infinite, or there are fewer than two folds.
    """
    if alpha is not None:
        check_alpha(alpha)
    if folds < 2:
        raise OptionError(f"{folds} folds: give 2 or more")
    codes = aligned_codes(dataset, graph.names, graph.states)
    if (codes < 0).any():
        raise DataError(
            "smoothing by counts needs complete data; refine the graph with `alpha` by EM instead"
        )
    weights = np.ascontiguousarray(dataset.row_weights)
    parts = np.random.default_rng(seed).permutation(len(codes)) % folds
    counts = [_counts(graph, codes[parts == k], weights[parts == k]) for k in range(folds)]
    total = np.sum(counts, axis=0)
    if alpha is not None or len(codes) < folds:
        chosen = 1.0 if alpha is None else alpha
        return Smoothed(smoothed_graph(graph, total, chosen), chosen, np.nan)

    def validated(log_alpha: float) -> float:
        value = 0.0
        for k in range(folds):
            model = smoothed_graph(graph, total - counts[k], float(np.exp(log_alpha)))
            rows = log_likelihood_rows(model, codes[parts == k])
            value += float(rows @ weights[parts == k])
        return value

    best, value = _narrowed(validated, float(np.log(SMALLEST)), float(np.log(LARGEST)))
    chosen = float(np.exp(best))
    return Smoothed(smoothed_graph(graph, total, chosen), chosen, value)


def check_alpha(alpha: float) -> None:
    """Raise an `OptionError` if a pseudo-count is negative or not finite."""
    if not 0 <= alpha < inf:
        raise OptionError(f"alpha must be 0 or more and finite, got {alpha}")


def smoothed_graph(
    graph: DecisionGraph, counts: NDArray[np.float64], alpha: float
) -> DecisionGraph:
    """Return a graph with the relative counts of its nodes, ``alpha`` added to each count.

    THESIS, equation 4.15. A node without counts keeps its parameters where ``alpha`` is 0.
    """
    offsets = graph.parameter_offsets
    raised = counts + alpha
    totals = np.repeat(np.add.reduceat(raised, offsets[:-1]), np.diff(offsets))
    parameters = graph.parameters.copy()
    np.divide(raised, totals, out=parameters, where=totals > 0)
    return graph.with_parameters(parameters)


def _counts(
    graph: DecisionGraph, codes: NDArray[np.int16], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the counts of complete rows, also of those that the parameters exclude."""
    possible = np.repeat(1 / graph.cardinalities[graph.variable], np.diff(graph.parameter_offsets))
    rows = np.ascontiguousarray(codes)
    return expect_counts(graph.layout, possible, rows, np.ascontiguousarray(weights)).counts


def _narrowed(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return where a function with one maximum has it, and the maximum, by golden section."""
    share = (np.sqrt(5.0) - 1) / 2
    points = [high - share * (high - low), low + share * (high - low)]
    values = [function(p) for p in points]
    for _ in range(STEPS):
        if values[0] >= values[1]:
            high = points[1]
            points = [high - share * (high - low), points[0]]
            values = [function(points[0]), values[0]]
        else:
            low = points[0]
            points = [points[1], low + share * (high - low)]
            values = [values[1], function(points[1])]
    best = int(values[1] > values[0])
    return points[best], values[best]
