"""Smoothing of a decision graph's parameters, tuned by cross-validation.

THESIS, Algorithms 4.1 and 4.2: the pseudo-count ``alpha`` of every parameter (4.15) is the one
whose parameters, estimated without each fold in turn, make the fold most probable. That is taken to
have one maximum in ``alpha``; Brent's method searches for it over log ``alpha``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.complete_data import check_alpha
from exactlearn.data.dataset import Dataset, aligned_codes
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.inference.flows import expect_counts, log_likelihood_rows
from exactlearn.pdg.model.decision_graph import DecisionGraph

FOLDS = 5
"""Folds of the cross-validation."""

SMALLEST, LARGEST, TOLERANCE = 1e-4, 100.0, 1e-4
"""Between which pseudo-counts to search, and relative error of the best one."""


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
        return Smoothed(graph.with_counts(total + chosen), chosen, np.nan)

    def validated(log_alpha: float) -> float:
        value = 0.0
        for k in range(folds):
            model = graph.with_counts(total - counts[k] + np.exp(log_alpha))
            rows = log_likelihood_rows(model, codes[parts == k])
            value += float(rows @ weights[parts == k])
        return value

    from scipy.optimize import minimize_scalar  # takes long to import

    bounds = np.log(SMALLEST), np.log(LARGEST)
    best = minimize_scalar(lambda x: -validated(x), bounds=bounds, options={"xatol": TOLERANCE})
    chosen = float(np.exp(best.x))
    return Smoothed(graph.with_counts(total + chosen), chosen, -float(best.fun))


def _counts(
    graph: DecisionGraph, codes: NDArray[np.int16], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the counts of complete rows, also of those that the parameters exclude."""
    possible = np.repeat(1 / graph.cardinalities[graph.variable], np.diff(graph.parameter_offsets))
    rows = np.ascontiguousarray(codes)
    return expect_counts(graph.layout, possible, rows, np.ascontiguousarray(weights)).counts
