r"""Parameters of a Bayesian network by counting the rows that observe each family.

With :math:`N_{u,x}` the weight of the rows in which the parents take the configuration :math:`u`
and the variable the state :math:`x`, and :math:`r` the number of states of the variable, the
smoothed maximum-likelihood parameters are (Nielsen, thesis, eq. 4.15)

.. math:: P(x \mid u) = \frac{N_{u,x} + \alpha}{N_u + \alpha r} .

A parent configuration that no row has gets the uniform distribution: with smoothing above zero that
is what the formula says, with smoothing zero, where it says 0/0, it is the convention here.

With missing cells the counts of a family are those of the rows in which no cell of the family is
missing (available cases, :mod:`exactlearn.bayesnet.deletion`).

The pseudo-count is chosen by cross-validation, for any model whose parameters are smoothed counts.
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
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.hash_tables import index_rows
from exactlearn._runtime.number_arguments import NUMBERS
from exactlearn._runtime.variable_arguments import ParentsLike
from exactlearn.bayesnet.network import LARGEST_TABLE, BayesianNetwork, check_parents
from exactlearn.data.counts import configurations
from exactlearn.data.dataset import Dataset, DatasetLike, require_complete
from exactlearn.errors import DataError, OptionError, TooLargeError

Floats = NDArray[np.float64]

SMOOTHING = 0.25
"""Pseudo-count of each cell where none is given.

On rows not learned from it was at least as good as 1 in nearly all of 24 cases of eight networks of
100 to 5,000 rows, complete or with missing cells (``python -m experiments smoothing``).
"""


@checked_arguments()
def fit_complete(
    dataset: DatasetLike, parents: ParentsLike, *, smoothing: float = SMOOTHING
) -> BayesianNetwork:
    """Estimate the tables of a network with given parents from complete data.

    Parameters
    ----------
    dataset
        Table without missing cells; rows count by their weights.
    parents
        Parents of each variable of the table; a mapping from variables to their parents; arcs; or a
        graph, of networkx or by :func:`exactlearn.read_graph`. Their order is that of the table's
        axes.
    smoothing
        Smoothing added to every count (eq. 4.15), finite, at least zero.

    Returns
    -------
    network
        Network over the variables and states of the table.

    Raises
    ------
    DataError
        When a cell is missing, or a variable stands among its own parents or a parent twice.
    OptionError
        When ``smoothing`` is negative or not finite, there is not one parent set of column indices
        for each variable, or the parents hold a directed cycle.
    TooLargeError
        When a table would have more than :data:`~exactlearn.bayesnet.network.LARGEST_TABLE`
        entries.

    Examples
    --------
    >>> data = Dataset(np.array([[0], [0], [1]], np.int8), ("a",), (("no", "yes"),))
    >>> fit_complete(data, [()], smoothing=1.0).tables
    (array([0.6, 0.4]),)
    """
    families = checked_families(dataset, parents, smoothing)
    require_complete(
        dataset,
        "these parameters need",
        "complete the table first ('augment'), or estimate from incomplete rows by EM",
    )
    tables = tuple(
        smoothed(full_counts(dataset, child, family), smoothing)
        for child, family in enumerate(families)
    )
    return BayesianNetwork(dataset.names, dataset.states, families, tables)


def checked_families(
    dataset: Dataset, parents: Sequence[Sequence[int]], smoothing: float
) -> tuple[tuple[int, ...], ...]:
    """Return the parents of each variable of a table, checked together with the smoothing.

    Raises
    ------
    OptionError
        When ``smoothing`` is negative or not finite, or there is not one parent set for each
        variable.
    DataError
        When a variable stands among its own parents, a parent twice, or an index is no column.
    """
    check_smoothing(smoothing)
    if len(parents) != dataset.n_variables:
        raise OptionError(
            f"{len(parents)} parent sets for {dataset.n_variables} variables: give one each"
        )
    families = tuple(tuple(int(p) for p in family) for family in parents)
    for child, family in enumerate(families):
        check_parents(dataset.names, child, family)
    return families


MIN_SMOOTHING = 1e-300
"""Least pseudo-count other than 0 of which quotients are floats."""


def check_smoothing(smoothing: float | None) -> None:
    """Raise an `OptionError` if a pseudo-count is not 0 and out of range."""
    if (
        smoothing is not None
        and 0 < NUMBERS["smoothing"](smoothing, "smoothing") < MIN_SMOOTHING
    ):
        raise OptionError(
            f"argument 'smoothing': expected 0, or a number from {MIN_SMOOTHING:g}, "
            f"found {smoothing}"
        )


def full_counts(dataset: Dataset, child: int, parents: Sequence[int]) -> Floats:
    """Count all configurations of a family, those that no row has included.

    Parameters
    ----------
    dataset
        Table; rows in which a cell of the family is missing are left out (available cases).
    child, parents
        The family, by column index.

    Returns
    -------
    counts
        Weight of the rows of each configuration: one axis per parent, the child's axis last.
    """
    shape = table_shape(dataset, child, parents)
    codes = dataset.codes[:, [*parents, child]]
    observed = (codes >= 0).all(axis=1)
    weights = dataset.weights
    if not observed.all():
        codes = codes[observed]
        weights = None if weights is None else weights[observed]
    counts = np.bincount(configurations(codes, shape), weights, prod(shape))
    return counts.reshape(shape).astype(np.float64)


def table_shape(
    dataset: Dataset, child: int, parents: Sequence[int]
) -> tuple[int, ...]:
    """Return the numbers of states of a family, the child's last.

    Raises
    ------
    TooLargeError
        When the table would have more than :data:`~exactlearn.bayesnet.network.LARGEST_TABLE`
        entries.
    """
    shape = tuple(len(dataset.states[v]) for v in (*parents, child))
    size = prod(shape)
    if size > LARGEST_TABLE:
        raise TooLargeError(
            f"the table of {dataset.names[child]!r} given {len(parents)} parents would have "
            f"{size} entries, more than {LARGEST_TABLE}: use fewer parents"
        )
    return shape


def smoothed(counts: Floats, smoothing: float) -> Floats:
    """Return the smoothed distributions along the last axis (Nielsen, thesis, eq. 4.15).

    Parameters
    ----------
    counts
        Non-negative counts, any shape; may be expected counts.
    smoothing
        Smoothing added to every count; rows without any count become uniform.

    Examples
    --------
    >>> smoothed(np.array([[3.0, 1.0], [0.0, 0.0]]), 0.0)
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    n_states = counts.shape[-1]
    raised = counts + smoothing
    totals = raised.sum(axis=-1, keepdims=True)
    seen = totals > 0
    table: Floats = np.where(seen, raised, 1.0) / np.where(seen, totals, n_states)
    return table


FOLDS = 5
"""Parts that the rows are divided into."""

SMALLEST = 0.01
LARGEST = 1e4
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

    def part(self, dataset: Dataset, chosen: NDArray[np.bool_]) -> Dataset:
        """Return the rows of some entries, with their weights there."""
        codes = dataset.codes[self.rows[chosen]]
        return replace(dataset, codes=codes, weights=self.weights[chosen])


def divided(weights: Floats, folds: int, seed: int) -> Folds:
    """Divide rows into folds of equal size, at random.

    Where all weights are whole numbers, a row counts as that many rows, each in a fold drawn for
    itself, so that sizes differ; otherwise a row is in one fold with its whole weight.

    Raises
    ------
    OptionError
        If there are fewer than two folds.
    DataError
        If there are fewer than two rows.
    """
    used = np.flatnonzero(weights > 0)
    own = weights[used]
    repeated = (weights[used] == np.floor(weights[used])).all()
    total = int(own.sum()) if repeated else len(used)
    if total < 2:
        raise DataError(
            f"cross-validation needs two rows, found {total} of positive weight: give the "
            "smoothing as a number"
        )
    rng = np.random.default_rng(seed)
    folds = min(folds, total)
    if not repeated or total == len(used):
        return Folds(used, rng.permutation(len(used)) % folds, own, folds)
    shares = rng.multinomial(own.astype(np.int64), np.full(folds, 1 / folds))
    row, fold = np.nonzero(shares)
    return Folds(used[row], fold, shares[row, fold].astype(np.float64), folds)


def as_good_as_best(log_likelihoods: Floats, weights: Floats) -> NDArray[np.bool_]:
    """Return which models predict rows as well as the best one, up to one standard error.

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
    lost = log_likelihoods[(log_likelihoods @ weights).argmax()] - log_likelihoods
    mean = np.average(lost, axis=1, weights=weights)
    spread = np.average((lost - mean[:, None]) ** 2, axis=1, weights=weights)
    as_good: NDArray[np.bool_] = mean <= np.sqrt(spread / weights.sum())
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
        return np.array(
            [self.constant + self.weights @ np.log(self.shifts + a) for a in smoothings]
        )

    @classmethod
    def merged(cls, parts: Sequence["LogTerms"]) -> "LogTerms":
        """Return the sum of several functions, terms of equal shift in one."""
        shifts, of = np.unique(
            np.concatenate([p.shifts for p in parts]), return_inverse=True
        )
        every = np.concatenate([p.weights for p in parts])
        weights = np.bincount(of, every, len(shifts)).astype(np.float64)
        return cls(shifts, weights, sum(p.constant for p in parts))


def validation_terms(
    counts: Floats, units: Floats, distribution: NDArray[np.integer], totals: Floats
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
    sums = np.array([np.bincount(distribution, own, len(totals)) for own in counts])
    weights = []
    shifts = []
    for own, unit in ((counts, units), (sums, totals)):
        fold, place = np.nonzero(own)
        held_out = own[fold, place]
        others = np.maximum(own.sum(axis=0)[place] - held_out, 0.0)
        shifts.append(others / unit[place])
        weights.append(held_out)
    constant = xlogy(counts, units).sum() - xlogy(sums, totals).sum()
    shift = np.concatenate(shifts)
    weight = np.concatenate((weights[0], -weights[1]))
    return LogTerms(shift, weight, float(constant))


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

    low = np.log(SMALLEST)
    high = np.log(LARGEST)
    steps = round((high - low) / np.log(10) * GRID)
    grid = np.linspace(low, high, steps + 1)
    values = score(np.exp(grid))
    top = int(values.argmax())
    around = grid[max(0, top - 1)], grid[min(steps, top + 1)]
    loss = lambda x: -float(score(np.exp([x]))[0])  # noqa: E731
    found = minimize_scalar(loss, bounds=around, options={"xatol": TOLERANCE})
    if values[top] >= -found.fun:
        return SmoothingChoice(float(np.exp(grid[top])), float(values[top]), folds)
    return SmoothingChoice(float(np.exp(found.x)), -float(found.fun), folds)


@checked_arguments()
def choose_smoothing(
    dataset: DatasetLike, parents: ParentsLike, *, seed: int = 0, folds: int = FOLDS
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
    division = divided(dataset.row_weights, folds, seed)
    parts = [
        _family_terms(dataset, child, own, division)
        for child, own in enumerate(families)
    ]
    score = LogTerms.merged(parts)
    if not len(score.shifts):
        raise DataError(
            "no row observes a variable with all its parents, so there is nothing to validate "
            "on: give the smoothing as a number"
        )
    return maximised(score.at, division.n)


def _family_terms(
    dataset: Dataset, child: int, parents: Sequence[int], folds: Folds
) -> LogTerms:
    """Return the score of one family; configurations that no row has do not matter."""
    shape = table_shape(dataset, child, parents)
    codes = dataset.codes[:, [*parents, child]][folds.rows]
    observed = (codes >= 0).all(axis=1)
    number = configurations(codes[observed], shape)
    labels, first = index_rows(number[:, np.newaxis])
    size = len(first)
    seen = number[first]
    cells = folds.fold[observed] * size + labels
    counts = np.bincount(cells, folds.weights[observed], folds.n * size).reshape(
        folds.n, size
    )
    distribution = np.unique(seen // shape[-1], return_inverse=True)[1]
    totals = np.full(int(distribution.max(initial=-1)) + 1, float(shape[-1]))
    return validation_terms(
        counts.astype(np.float64), np.ones(size), distribution, totals
    )
