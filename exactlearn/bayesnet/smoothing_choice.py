r"""The choice of a pseudo-count by cross-validation, for models with smoothed counts.

The rows are divided into folds at random. The score of alpha is the log-likelihood of all rows,
each under parameters smoothed by alpha (Nielsen, thesis, eq. 4.15) that were estimated without the
row's fold (Algorithm 4.1, there divided by the number of folds).

For counts of complete rows, models need no refitting. With :math:`c_k` the counts of fold k,
:math:`t_k` those of all other folds, and r the number of states, the score is

.. math:: \sum_k \sum_{u,x} c_k(u,x) \log(t_k(u,x) + \alpha)
          - \sum_k \sum_u c_k(u) [\log r + \log(t_k(u) / r + \alpha)],

a weighted sum of logarithms of alpha plus a number; cells that fold k lacks do not matter.

Algorithm 4.2 assumes one maximum, and moves both ends of an interval inwards by small steps (line 7
tests u - epsilon, printed u + epsilon); with several maxima it finds the better of the two
outermost. Two are possible: a network with deterministic and with uniform families can have one at
each end. So here a grid over log alpha finds the neighbourhood of the best one, and Brent's bounded
method the maximum in it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.hash_tables import merged_weights, weight_by
from exactlearn._runtime.variable_arguments import ParentsLike
from exactlearn.bayesnet.complete_data import checked_families, table_shape
from exactlearn.data.counts import configurations
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import DataError, as_written

Floats = NDArray[np.float64]

FOLDS = 5
"""Parts that the rows are divided into."""

MIN_PSEUDO_COUNT = 0.01
MAX_PSEUDO_COUNT = 1e4
"""Between which pseudo-counts to search. Smaller ones hardly gain where all is certain, and lose
much where a row has what no other has."""

GRID = 8
"""Values of the first grid over log smoothing for each factor of 10."""

TOLERANCE = 1e-4
"""Relative error of the best smoothing."""


@dataclass(frozen=True)
class SmoothingChoice:
    """The best pseudo-count.

    Parameters
    ----------
    smoothing
        The pseudo-count.
    log_likelihood
        Of all rows, total, natural logarithm, each under the parameters of the other folds; of
        available cases in each family by itself.
    folds
        Parts that the rows were divided into.

    Examples
    --------
    >>> import exactlearn as el
    >>> table, network = el.read_dataset("asia-mnar-complete"), el.read_network("asia")
    >>> choice = el.choose_smoothing(table, network.parents)
    >>> round(choice.smoothing, 3), choice.folds
    (0.421, 5)
    """

    smoothing: float
    log_likelihood: float
    folds: int


class Folds(NamedTuple):
    """A division of weighted rows.

    Attributes
    ----------
    rows, fold, weights
        A row of the table, a fold that it is in, and its weight there; shape (entries,) each. A
        row of whole weight may be in several folds.
    n
        Number of folds.
    """

    rows: NDArray[np.int64]
    fold: NDArray[np.int64]
    weights: Floats
    n: int

    def part(self, dataset: Dataset, entries: NDArray[np.bool_]) -> Dataset:
        """Return the rows of some entries, with their weights there."""
        codes = dataset.codes[self.rows[entries]]
        return replace(dataset, codes=codes, weights=self.weights[entries])


def divisible_rows(weights: Floats) -> int:
    """Return the number of rows that :func:`divided` has for the folds.

    Where all weights are whole numbers, a row counts as that many rows, otherwise as one.
    """
    used = weights[weights > 0]
    is_whole = (used == np.floor(used)).all()
    return int(used.sum()) if is_whole else len(used)


def divided(
    weights: Floats,
    folds: int,
    seed: int,
    cure: str = "take a longer table",
) -> Folds:
    """Divide rows into folds of equal size, at random.

    Where all weights are whole numbers, a row counts as that many rows, each in a fold drawn for
    itself, so that sizes differ; otherwise a row is in one fold with its whole weight.

    Parameters
    ----------
    weights
        The weight of each row, shape (rows,); rows of weight 0 are in no fold.
    folds
        Number of folds; one for each row where there are fewer rows.
    seed
        Of the drawing.
    cure
        What the message about too few rows advises: what the caller offers instead.

    Raises
    ------
    DataError
        If there are fewer than two rows.
    """
    used = np.flatnonzero(weights > 0)
    weights = weights[used]
    total = divisible_rows(weights)
    if total < 2:
        raise DataError(
            f"cross-validation needs two rows, found {total} of positive weight: {cure}"
        )
    rng = np.random.default_rng(seed)
    folds = min(folds, total)
    # No row is repeated: the weights are one, or not all whole numbers.
    if total == len(used):
        return Folds(used, rng.permutation(len(used)) % folds, weights, folds)
    # The repetitions of a row in each fold, shape (rows, folds).
    equal = np.full(folds, 1 / folds)
    repetitions = rng.multinomial(weights.astype(np.int64), equal)
    row, fold = np.nonzero(repetitions)
    counts = repetitions[row, fold].astype(np.float64)
    return Folds(used[row], fold, counts, folds)


def as_good_as_best(log_likelihoods: Floats, weights: Floats) -> NDArray[np.bool_]:
    """Return a mask of the models that predict rows as well as the best, up to a standard error.

    Parameters
    ----------
    log_likelihoods
        Of each held-out row under each model, shape (models, rows).
    weights
        How often each row counts, shape (rows,).

    Returns
    -------
    as_good
        Whether a model's mean loss to the best is at most the standard error of that mean, by the
        losses row by row; shape (models,).
    """
    best = (log_likelihoods @ weights).argmax()
    losses = log_likelihoods[best] - log_likelihoods
    mean = np.average(losses, axis=1, weights=weights)
    squares = (losses - mean[:, None]) ** 2
    variance = np.average(squares, axis=1, weights=weights)
    standard_error = np.sqrt(variance / weights.sum())
    as_good: NDArray[np.bool_] = mean <= standard_error
    return as_good


class LogTerms(NamedTuple):
    r"""The function :math:`c + \sum_i w_i \log(x_i + \alpha)` of smoothing.

    Attributes
    ----------
    shifts, weights
        The numbers x and w, shape (terms,) each.
    constant
        The number c.
    """

    shifts: Floats
    weights: Floats
    constant: float

    def at(self, smoothings: Floats) -> Floats:
        """Return the values at some smoothings, shape (smoothings,)."""
        values = []
        for smoothing in smoothings:
            logarithms = np.log(self.shifts + smoothing)
            values.append(self.constant + self.weights @ logarithms)
        return np.array(values)

    @classmethod
    def merged(cls, parts: Sequence["LogTerms"]) -> "LogTerms":
        """Return the sum of several functions, terms of equal shift in one."""
        shifts, weights, constants = zip(*parts, strict=True)
        terms = merged_weights(np.concatenate(shifts), np.concatenate(weights))
        return cls(*terms, sum(constants))


def validation_terms(
    counts: Floats,
    units: Floats,
    distribution: NDArray[np.integer],
    totals: Floats,
) -> LogTerms:
    """Return the cross-validated log-likelihood as a function of smoothing, from counts.

    Parameters
    ----------
    counts
        Of each fold, shape (folds, cells); cells without a count in any fold may be left out.
    units
        Pseudo-count of each cell where alpha is 1, shape (cells,); without one a cell with a count
        is impossible, and does not count here.
    distribution
        The distribution that each cell is in, shape (cells,).
    totals
        Pseudo-counts of each distribution where alpha is 1, shape (distributions,): those of all
        its cells.
    """
    possible = units > 0
    counts = counts[:, possible]
    units = units[possible]
    distribution = distribution[possible]
    sums = np.array([np.bincount(distribution, c, len(totals)) for c in counts])
    # The terms of cells, and those of distributions with the opposite sign.
    constant = xlogy(counts, units).sum() - xlogy(sums, totals).sum()
    cells = _held_out_terms(counts, units)
    distributions = _held_out_terms(sums, totals)
    return LogTerms(
        shifts=np.concatenate([cells.shifts, distributions.shifts]),
        weights=np.concatenate([cells.weights, -distributions.weights]),
        constant=float(constant),
    )


def _held_out_terms(counts: Floats, units: Floats) -> LogTerms:
    """Return a term for each count of a fold: held out, beside the counts of all other folds.

    Parameters
    ----------
    counts
        Shape (folds, cells).
    units
        Pseudo-count of each cell where alpha is 1, shape (cells,).
    """
    fold, cell = np.nonzero(counts)
    held_out = counts[fold, cell]
    totals = counts.sum(axis=0)
    training = np.maximum(totals[cell] - held_out, 0.0)
    return LogTerms(training / units[cell], held_out, 0.0)


def maximised(score: Callable[[Floats], Floats], folds: int) -> SmoothingChoice:
    """Return the smoothing of the largest score.

    Parameters
    ----------
    score
        Returns the cross-validated log-likelihoods of some smoothings, shape (smoothings,).
    folds
        Parts that the rows were divided into.
    """
    from scipy.optimize import minimize_scalar  # takes long to import

    # The best value of a grid over log smoothing.
    low = np.log(MIN_PSEUDO_COUNT)
    high = np.log(MAX_PSEUDO_COUNT)
    steps = round((high - low) / np.log(10) * GRID)
    grid = np.linspace(low, high, steps + 1)
    values = score(np.exp(grid))
    top = int(values.argmax())
    # The maximum between its neighbours, by Brent's bounded method.
    lower = grid[max(0, top - 1)]
    upper = grid[min(steps, top + 1)]
    optimum = minimize_scalar(
        lambda x: -float(score(np.exp([x]))[0]),
        bounds=(lower, upper),
        options={"xatol": TOLERANCE},
    )
    best = optimum.x
    value = -optimum.fun
    if values[top] >= value:
        best = grid[top]
        value = values[top]
    return SmoothingChoice(float(np.exp(best)), float(value), folds)


@checked_arguments()
def choose_smoothing(
    dataset: DatasetLike,
    parents: ParentsLike,
    *,
    seed: int = 0,
    folds: int = FOLDS,
) -> SmoothingChoice:
    """Return the pseudo-count under which a network predicts held-out rows best.

    Rows with missing cells count for the families that they observe (available cases). For
    estimates by EM or deletion that is an approximation; it chooses better than cross-validation of
    expected counts, which a pseudo-count has smoothed already.

    Parameters
    ----------
    dataset
        Table with or without missing cells; rows count by their weights.
    parents
        As for :func:`exactlearn.fit_em`.
    seed
        Of the division into folds.
    folds
        Parts that the rows are divided into.

    Raises
    ------
    DataError
        If there are fewer than two rows, or no row observes any family.
    OptionError
        If there are fewer than two folds, or not one parent set for each variable.
    TooLargeError
        If a table would be too large to estimate.

    Examples
    --------
    >>> codes = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [30, 2, 3, 25], axis=0)
    >>> data = Dataset(codes, ("a", "b"), (("no", "yes"),) * 2)
    >>> choice = choose_smoothing(data, [(), (0,)])
    >>> 0.1 < choice.smoothing < 10
    True
    """
    families = checked_families(dataset, parents, 0.0)
    cure = f"give a number, as in {as_written('smoothing', 1)}"
    division = divided(dataset.row_weights, folds, seed, cure)
    # The held-out log-likelihood is a sum over families.
    parts = [
        _family_terms(dataset, child, family, division)
        for child, family in enumerate(families)
    ]
    score = LogTerms.merged(parts)
    if not len(score.shifts):
        raise DataError(
            "no row observes a variable with all its parents, so there is nothing to validate "
            f"on: {cure}"
        )
    return maximised(score.at, division.n)


def _family_terms(
    dataset: Dataset,
    child: int,
    parents: Sequence[int],
    folds: Folds,
) -> LogTerms:
    """Return the score of one family; configurations that no row has do not matter."""
    shape = table_shape(dataset, child, parents)
    codes = dataset.codes[:, [*parents, child]][folds.rows]
    observed = (codes >= 0).all(axis=1)
    # The cells that rows have, and their counts in each fold.
    cells, labels = np.unique(
        configurations(codes[observed], shape), return_inverse=True
    )
    size = len(cells)
    places = folds.fold[observed] * size + labels
    counts = weight_by(places, folds.weights[observed], folds.n * size)
    # The distributions that they belong to.
    seen, distribution = np.unique(cells // shape[-1], return_inverse=True)
    return validation_terms(
        counts.reshape(folds.n, size),
        np.ones(size),
        distribution,
        np.full(len(seen), float(shape[-1])),
    )
