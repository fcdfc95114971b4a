"""The missingness mechanism of each variable, learned from the table.

The indicator R_v of a missing cell of v is a variable that every row observes, and may depend on
v itself (self-masking, not at random), on one other variable (at random, where that is observed),
or on nothing. The missingness graph is that of Mohan, Pearl and Tian 2013, "Graphical models for
inference with missing data"; its arcs are chosen by what they add to the log-likelihood:

- on another variable u: half the G statistic of R_v and u, by expected counts;
- on v itself: with q_i the distribution of v in row i given the row's other cells, and p that of v
  alone, the log-likelihood of one distribution for the observed cells of v and another one for the
  missing cells, less that of the same distribution for both. For the distribution beta of missing
  cells it is ``sum_i log sum_s beta_s q_i(s) / p_s`` over the rows without v, which is concave, and
  EM climbs it: Saerens, Latinne and Decaestecker 2002, "Adjusting the outputs of a classifier to
  new a priori probabilities". Where v is observed, q_i is one for its state.

Each is less the BIC penalty of its parameters. As the variables of a table are seldom missing for
many different causes, the prior of each cause is estimated from all variables together (empirical
Bayes). The indicators then become sinks of the network, and EM fits all parameters together.

The gains are computed with networks learned without the indicators: of two variables that are
strongly dependent and both incomplete, one may be taken for the other.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from exactlearn._runtime.hash_tables import weight_by
from exactlearn._runtime.offsets import offsets
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.data.indicators import one_hot, states_of_cells
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.imputation.learning import averaged_posterior
from exactlearn.scoring.scores import total_weight

ROUNDS = 10_000
"""Most rounds of EM for the distribution of a variable's missing cells."""

TOLERANCE = 1e-5
"""Nats below the maximum that end that EM. Small changes end it far below near a boundary."""

PSEUDO_CELLS = 50.0
"""Cells of the usual distribution that are added to the missing ones of a pool: its posteriors
tell less than those of the one network that rows are drawn from. On the development sets, 500 rows,
20 % missing: accuracy .628 to .632 and log loss .782 to .771 where states have different
probabilities to be missing, and .666, .734 before and after under MCAR; without them .612, 1.16 and
.654, .900. Without the test of all variables together, of 70 with 40 %
missing (MCAR) 16 were taken for self-masking, accuracy .795 to .738."""

TEST_PSEUDO_CELLS = 5.0
"""The same in the test of all variables together."""

MIN_DEVIATIONS = 2.0
"""Standard deviations by which its statistic must exceed the mean.

The statistic is conservative: on 13 tables of UCI, three samples of 400 rows each, its median was
-2 where cells were missing at random. There it exceeded 2 in 1 of 78 samples under MCAR, 20 and
40 % missing, and in 3 of 39 under MAR, all of house-votes-84, which has missing cells of its own;
answers changed in 2, by less than .5 points of accuracy, as they did with 4 deviations. Where 40 %
of the cells of one state of each variable were missing, it exceeded 2 in 27 of 39 samples (4: 22),
where of half of the variables, in 25 of 38 (4: 19): .2 and .8 points of accuracy on the average,
.004 and .009 nats."""

PRIOR_ROUNDS = 100
"""Rounds of EM for the prior of the causes."""

NEITHER = 0
"""Column of the cells that are missing for no cause."""

ITSELF = 1
"""Column of self-masking."""

OTHERS = 2
"""First of the columns of the variables as causes."""


def learned_missingness_graph(
    dataset: Dataset, networks: Sequence[BayesianNetwork]
) -> MissingnessGraph:
    """Choose what the missing cells of each variable depend on: nothing, itself or another one.

    Parameters
    ----------
    dataset
        Table with missing cells.
    networks
        At least one that was learned from it without a missingness mechanism; the mean of
        their posteriors counts.

    Raises
    ------
    TooLargeError
        When the variables of a network depend on each other too much for exact inference.
    """
    partly = partly_missing(dataset)
    if not len(partly):
        return MissingnessGraph({})
    posterior = averaged_posterior(networks, dataset)
    marginals = averaged_posterior(networks, unobserved_row(dataset))
    # The most probable cause by what it adds to the log-likelihood.
    gains = _gains(dataset, posterior, marginals, partly)
    causes: dict[str, tuple[str, ...]] = {}
    for v, cause in zip(partly.tolist(), _likeliest_causes(gains), strict=True):
        causes[dataset.names[v]] = ()
        if cause != NEITHER:
            variable = v if cause == ITSELF else cause - OTHERS
            causes[dataset.names[v]] = (dataset.names[variable],)
    return MissingnessGraph(causes)


def unobserved_row(dataset: Dataset) -> Dataset:
    """Return a row of missing cells, whose distributions are those of the variables."""
    codes = np.full((1, dataset.n_variables), MISSING)
    return replace(dataset, codes=codes, weights=None)


def partly_missing(dataset: Dataset) -> NDArray[np.int64]:
    """Return the variables with missing and observed cells, and with several states."""
    missing = dataset.codes == MISSING
    return np.flatnonzero(
        missing.any(axis=0) & ~missing.all(axis=0) & (dataset.cardinalities > 1)
    )


class PredictedCells(NamedTuple):
    """Distributions of missing or hidden cells, each from the observed cells of its row.

    Attributes
    ----------
    columns
        Variable of each cell, shape (cells,).
    posterior
        Distribution of each, shape (cells, states).
    weights
        Weight of each cell's row, shape (cells,).
    """

    columns: NDArray[np.int64]
    posterior: NDArray[np.float64]
    weights: NDArray[np.float64]

    def of(self, variable: int) -> "PredictedCells":
        """Return the cells of a variable."""
        is_own = self.columns == variable
        return PredictedCells._make(field[is_own] for field in self)

    def weight(self, variable: int) -> float:
        """Return the weight of a variable's cells together."""
        return float(self.weights[self.columns == variable].sum())


def self_masking_ratios(
    dataset: Dataset,
    posterior: NDArray[np.float64],
    marginals: NDArray[np.float64],
    at_random: PredictedCells,
) -> dict[int, NDArray[np.float64]]:
    """Return by what the posterior of variables is multiplied that are missing by their own value.

    Distributions that are not those of one model find a reason where there is none. So cells hidden
    at random are compared with: all variables together must be significantly different from these
    (:func:`is_not_at_random`), and a variable counts only if its missing cells gain more by another
    distribution than the hidden ones do, by the BIC penalty.

    Parameters
    ----------
    dataset
        Table with missing cells.
    posterior
        Distribution of each missing cell if cells are missing at random, shape (cells, states).
    marginals
        Distribution of each variable that these begin with, shape (variables, states).
    at_random
        Cells hidden at random, to compare with.

    Returns
    -------
    ratios
        For each such variable the distribution of its missing cells, drawn to that it begins with
        by `PSEUDO_CELLS`, over that it begins with, shape (states,).
    """
    partly = partly_missing(dataset)
    rows, columns = dataset.missing_cells.T
    missing = PredictedCells(columns, posterior, dataset.row_weights[rows])
    if not len(partly) or not is_not_at_random(missing, at_random, marginals):
        return {}
    gains = _gains(dataset, posterior, marginals, partly)
    ratios: dict[int, NDArray[np.float64]] = {}
    for v, cause in zip(partly.tolist(), _likeliest_causes(gains), strict=True):
        if cause != ITSELF:
            continue
        marginal = marginals[v]
        beta, gain, _ = _drawn_shift(missing, v, marginal, PSEUDO_CELLS)
        # What as many cells hidden at random gain is no reason.
        if at_random.weight(v) > 0:
            _, usual, _ = _drawn_shift(at_random, v, marginal, PSEUDO_CELLS)
            gain -= usual * missing.weight(v) / at_random.weight(v)
        if gain > _penalty(dataset) * (int(dataset.cardinalities[v]) - 1):
            ratios[v] = _ratio(beta, marginal)
    return ratios


def _ratio(values: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values of each state, shape (..., states), over its probability; 0 where that is."""
    return np.divide(values, p, out=np.zeros(values.shape), where=p > 0)


def is_not_at_random(
    missing: PredictedCells,
    at_random: PredictedCells,
    marginals: NDArray[np.float64],
) -> bool:
    """Return whether the values of missing cells are distributed otherwise than those at random.

    Twice the logarithm of the likelihood ratio, of one distribution for the missing cells of a
    variable and another one for its cells hidden at random to one for both, has about a chi-square
    distribution where there is no difference (Wilks 1938, "The large-sample distribution of the
    likelihood ratio for testing composite hypotheses"), and so has its sum over the variables. What
    is wrong with the posteriors of both kinds of cells cancels.

    Parameters
    ----------
    missing, at_random
        Cells that are missing, and cells that were hidden at random.
    marginals
        Distribution of each variable, shape (variables, states).

    Returns
    -------
    bool
        Whether the sum exceeds its mean by `MIN_DEVIATIONS` standard deviations.
    """
    statistic = 0.0
    degrees = 0
    for v, p in enumerate(marginals):
        if missing.weight(v) > 0 and at_random.weight(v) > 0:
            # Wilks' statistic of a variable, and its degrees of freedom.
            ratio = _log_likelihood_ratio(missing, at_random, v, p, TEST_PSEUDO_CELLS)
            statistic += 2 * ratio
            degrees += int((p > 0).sum()) - 1
    return statistic > degrees + MIN_DEVIATIONS * sqrt(2 * degrees)


def _log_likelihood_ratio(
    first: PredictedCells,
    second: PredictedCells,
    v: int,
    p: NDArray[np.float64],
    pseudo_cells: float = 0.0,
) -> float:
    """Return the gain of one distribution for each of two kinds of cells over one for both."""
    first = first.of(v)
    second = second.of(v)
    pairs = zip(first, second, strict=True)
    both = PredictedCells._make(np.concatenate(pair) for pair in pairs)
    _, _, of_first = _drawn_shift(first, v, p, pseudo_cells)
    _, _, of_second = _drawn_shift(second, v, p, pseudo_cells)
    _, _, of_both = _drawn_shift(both, v, p, 2 * pseudo_cells)
    return of_first + of_second - of_both


def _drawn_shift(
    cells: PredictedCells,
    v: int,
    p: NDArray[np.float64],
    pseudo_cells: float,
) -> tuple[NDArray[np.float64], float, float]:
    """Return the distribution of a variable's cells, its gain, and its gain with the prior.

    Parameters
    ----------
    cells
        Cells of all variables.
    v, p
        The variable, and its distribution, shape (states,).
    pseudo_cells
        Cells of that distribution that are added.
    """
    of_variable = cells.columns == v
    weights = cells.weights[of_variable]
    if not weights.sum() > 0:
        return p, 0.0, 0.0
    ratios = _ratio(cells.posterior[of_variable], p)
    beta, gain = shifted(ratios, weights, p, pseudo_cells * p)
    divergence = rel_entr(pseudo_cells * p, pseudo_cells * beta).sum()
    return beta, gain, gain - float(divergence)


def _gains(
    dataset: Dataset,
    posterior: NDArray[np.float64],
    marginals: NDArray[np.float64],
    partly: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the gain of each cause: what it adds to the log-likelihood, less its BIC penalty."""
    rows, columns = dataset.missing_cells.T
    missing = PredictedCells(columns, posterior, dataset.row_weights[rows])
    gains = np.full((len(partly), OTHERS + dataset.n_variables), -np.inf)
    gains[:, NEITHER] = 0.0
    for k, v in enumerate(partly.tolist()):
        gains[k, ITSELF] = _own_gain(dataset, v, missing, marginals[v])
    is_missing = dataset.codes[:, partly] == MISSING
    gains[:, OTHERS:] = _gains_by_others(dataset, posterior, is_missing)
    gains[np.arange(len(partly)), OTHERS + partly] = -np.inf
    return gains


def shifted(
    ratios: NDArray[np.float64],
    weights: NDArray[np.float64],
    start: NDArray[np.float64],
    pseudo_counts: NDArray[np.float64] | float = 0.0,
) -> tuple[NDArray[np.float64], float]:
    """Return the distribution beta that maximises ``sum_i w_i log sum_s beta_s ratios_is``.

    Parameters
    ----------
    ratios
        Shape (rows, states).
    weights
        Shape (rows,).
    start
        A distribution without zeros, to begin with; a zero stays.
    pseudo_counts
        Of each state, shape (states,): their sum times log beta is added to what is maximised.

    Returns
    -------
    tuple
        The distribution, and the sum.

    Examples
    --------
    >>> shifted(np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([3.0, 1.0]), np.full(2, 0.5))[0]
    array([0.75, 0.25])
    """
    beta = start
    for _ in range(ROUNDS):
        # E step: beta times the derivatives are the expected counts; M step: their proportions.
        derivatives = (weights / (ratios @ beta)) @ ratios
        counts = beta * derivatives + pseudo_counts
        total = counts.sum()
        # The sum is concave in beta: its maximum is above it by what its steepest ascent to one
        # state gains at most (Frank and Wolfe 1956).
        is_possible = beta > 0
        ascent = (counts[is_possible] / beta[is_possible]).max() - total
        if ascent <= TOLERANCE:
            break
        beta = counts / total
    return beta, float(weights @ np.log(ratios @ beta))


def _own_gain(
    dataset: Dataset,
    v: int,
    missing: PredictedCells,
    p: NDArray[np.float64],
) -> float:
    """Return the gain of a dependence of a variable's missing cells on their own values.

    Parameters
    ----------
    dataset
        Table with missing cells.
    v, p
        The variable, and its distribution, shape (states,).
    missing
        The missing cells of all variables.
    """
    n_possible = np.count_nonzero(p)
    if n_possible < 2 or not missing.weight(v) > 0:
        return -np.inf
    # Weight of the observed cells with each state; the missing ones are counted first.
    states = dataset.codes[:, v].astype(np.int64)
    counts = weight_by(states + 1, dataset.row_weights, len(p) + 1)[1:]
    possible = np.flatnonzero(counts * p)
    columns = np.full(len(possible), v)
    is_state = np.eye(len(p))[possible]
    observed = PredictedCells(columns, is_state, counts[possible])
    ratio = _log_likelihood_ratio(missing, observed, v, p)
    return ratio - _penalty(dataset) * (int(dataset.cardinalities[v]) - 1)


def _gains_by_others(
    dataset: Dataset,
    posterior: NDArray[np.float64],
    missing: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return the gain of a dependence on each variable, shape (variables missing, variables)."""
    # Expected states of all cells: indicators of observed ones, posteriors of missing ones.
    states = one_hot(dataset)
    states[np.isnan(states)] = posterior[states_of_cells(dataset)]
    weights = dataset.row_weights
    weighted = states * weights[:, None]
    # Half the G statistic of each indicator and each variable.
    statistic = np.zeros((missing.shape[1], states.shape[1]))
    for indicator in (missing, ~missing):
        counts = indicator.T.astype(np.float64) @ weighted
        proportion = weights @ indicator / weights.sum()
        statistic += rel_entr(counts, proportion[:, None] * weighted.sum(axis=0))
    first = offsets(dataset.cardinalities)[:-1]
    gains: NDArray[np.float64] = np.add.reduceat(statistic, first, axis=1)
    gains -= _penalty(dataset) * (dataset.cardinalities - 1)
    gains[:, dataset.cardinalities < 2] = -np.inf
    return gains


def _penalty(dataset: Dataset) -> float:
    """Return the BIC penalty of one parameter."""
    return 0.5 * float(np.log(max(total_weight(dataset), 1.0)))


def _likeliest_causes(gains: NDArray[np.float64]) -> list[int]:
    """Return each variable's most probable cause, with a prior estimated from all variables."""
    n_others = gains.shape[1] - OTHERS
    # Nothing, the variable itself, and all others together are equally probable at first.
    prior = np.array([1 / 3, 1 / 3, *[1 / (3 * n_others)] * n_others])
    likelihoods = np.exp(gains - gains.max(axis=1, keepdims=True))
    weights = prior
    for _ in range(PRIOR_ROUNDS):
        # Empirical Bayes: the prior is the mean posterior of the causes.
        joint = likelihoods * weights
        posterior = joint / joint.sum(axis=1, keepdims=True)
        weights = (posterior.sum(axis=0) + prior) / (len(gains) + 1)
    causes: list[int] = posterior.argmax(axis=1).tolist()
    return causes
