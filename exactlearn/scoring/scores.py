"""Decomposable scores of discrete networks: BDeu, BIC, AIC and the penalised likelihood.

Every score is a sum over families; all are maximised, in natural logarithms. With ``q`` parent
configurations, ``r`` states of the child and counts ``n_jk`` of configuration ``j`` and state
``k``, a family scores::

    sum_jk f(n_jk) - sum_j g(n_j) - penalty

with functions ``f`` and ``g`` that may depend on ``r`` and ``q``. No prior over structures is
added.

- BDeu with equivalent sample size ``a`` (Heckerman, Geiger and Chickering 1995, eq. 28 with
  Buntine's uniform pseudo-counts): ``f(n) = lgamma(n + a / (q r)) - lgamma(a / (q r))`` and
  ``g(n) = lgamma(n + a / q) - lgamma(a / q)``, without penalty. Where ``a`` is above 1, both are
  less ``n log(a)``, which cancels in each configuration: so no large number is left in them.
- Penalised likelihood ``(1 - lambda) L - lambda q (r - 1)`` with the maximal log-likelihood
  ``L = sum_jk n_jk log(n_jk / n_j)`` summed over the rows (Nielsen, Rumi and Salmeron, eq. 9), so
  that ``f(n) = g(n) = (1 - lambda) n log n``.
  ``BIC = L - log(N)/2 q (r - 1)`` and ``AIC = L - q (r - 1)`` rank networks as it does with
  ``lambda = log(N) / (2 + log(N))`` and ``lambda = 1/2``.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from exactlearn._runtime.argument_kinds import refusal
from exactlearn._runtime.arguments import (
    check_fields,
    checked_arguments,
    named,
    register,
)
from exactlearn._runtime.hash_tables import index_rows, weight_by
from exactlearn._runtime.number_arguments import POSITIVE
from exactlearn._runtime.tolerance import TOLERANCE, rounding
from exactlearn._runtime.variable_arguments import (
    VariableLike,
    VariablesLike,
    variables_by_index,
)
from exactlearn.data.dataset import Dataset, DatasetLike, require_complete
from exactlearn.errors import DataError, OptionError, as_written

Counts = NDArray[np.float64]
"""Weights of rows, none negative; whole numbers where the rows' weights are."""


class Score(ABC):
    """A decomposable score; a subclass is a new one.

    A family of a child with ``r`` states and parents with ``q`` configurations scores
    ``sum_jk cell(n_jk) - sum_j configuration(n_j) - penalty``, summed over all configurations and
    states, seen or not.

    Examples
    --------
    The score of Cooper and Herskovits (1992), K2:

    >>> class K2(Score):
    ...     name = "k2"
    ...
    ...     def cell(self, counts, r, q):
    ...         return gammaln(counts + 1)
    ...
    ...     def configuration(self, counts, r, q):
    ...         return gammaln(counts + r) - gammaln(r)
    >>> from exactlearn.data.dataset import Dataset
    >>> data = Dataset(np.array([[0], [1]], np.int8), ("a",), (("no", "yes"),))
    >>> round(math.exp(score_family(data, 0, (), K2())), 6) == round(1 / 2 * 1 / 3, 6)
    True
    >>> K2().cell(np.array([0.0, 2.0]), 2, 1).round(3).tolist(), K2().penalty(2, 4, 100.0)
    ([0.0, 0.693], 0.0)
    >>> K2().configuration(np.array([2.0]), 2, 1).round(3).tolist()
    [1.792]
    """

    name: ClassVar[str]
    """The name of the score in messages."""

    @abstractmethod
    def cell(self, counts: Counts, r: int, q: float) -> Counts:
        """Return the terms that counts ``n_jk`` of cells add to the score, of the same shape."""

    @abstractmethod
    def configuration(self, counts: Counts, r: int, q: float) -> Counts:
        """Return the terms that counts ``n_j`` of configurations take away, of the same shape."""

    def penalty(self, r: int, q: float, rows: float) -> float:
        """Return the loss of a family by its size, in data of total weight ``rows``."""
        return 0.0


@dataclass(frozen=True)
class BDeu(Score):
    """Bayesian Dirichlet equivalent uniform score.

    Parameters
    ----------
    ess
        Equivalent sample size, a positive number.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar-complete")
    >>> round(el.score_family(table, 3, [2], el.BDeu(ess=1.0)), 3)
    -19.092
    >>> score = el.BDeu(ess=1.0)
    >>> score.cell(np.array([0.0, 2.0]), 2, 1).round(3).tolist()
    [0.0, -0.288]
    >>> score.configuration(np.array([2.0]), 2, 1).round(3).tolist()
    [0.693]
    """

    name = "bdeu"
    ess: float = 1.0

    def __post_init__(self) -> None:
        """Refuse an equivalent sample size that is not positive."""
        check_fields(self, ess=POSITIVE)

    def cell(self, counts: Counts, r: int, q: float) -> Counts:
        """Return the logarithms of the rising factorials of ``ess / (q r)``, less ``n log(ess)``.

        The latter where ``ess`` is above 1.
        """
        return _log_rising(self.ess, q * r, counts)

    def configuration(self, counts: Counts, r: int, q: float) -> Counts:
        """Return the logarithms of the rising factorials of ``ess / q``, less ``n log(ess)``.

        The latter where ``ess`` is above 1.
        """
        return _log_rising(self.ess, q, counts)


LARGE_START = 16.0
"""From where on Stirling's series has the logarithm of the gamma function to 16 digits."""

SMALL_START = 1e-40
"""Below, a start is nothing beside the smallest count, and may be too small for a float."""


def _log_rising(ess: float, size: float, counts: Counts) -> Counts:
    """Return the logarithms of the rising factorials of ``a = ess / size``.

    They are ``lgamma(n + a) - lgamma(a)``. Where ``ess`` is above 1, they are less ``n log(ess)``.
    A difference of two gamma functions of large arguments loses all digits. Their series of
    Stirling are subtracted term by term instead::

        (n + a - 1/2) log(1 + n / a) - n + n log(a) + s(n + a) - s(a)
    """
    start = ess / size
    log_shift = math.log(max(ess, 1.0))
    if start >= LARGE_START:
        ratio_terms = (counts + (start - 0.5)) * np.log1p(counts / start) - counts
        corrections = _stirling(counts + start) - _stirling(np.array(start))
        # The first two logarithms cancel exactly.
        slope = math.log(ess) - log_shift - math.log(size)
        return ratio_terms + corrections + slope * counts
    if start < SMALL_START:
        # lgamma(n + a) - lgamma(a) is about log(a) + lgamma(n) for a near zero.
        log_start = math.log(ess) - math.log(size)
        positive = np.where(counts > 0, counts, 1.0)
        of_positive = log_start + gammaln(positive) - log_shift * counts
        return np.where(counts > 0, of_positive, 0.0)
    rising: Counts = gammaln(counts + start) - gammaln(start)
    return rising - log_shift * counts


def _stirling(x: Counts) -> Counts:
    """Return the terms of Stirling's series of ``lgamma`` that vanish for large arguments."""
    inverse = 1.0 / x
    square = inverse * inverse  # x * x may be infinite
    series: Counts = np.full_like(inverse, 1 / 1188)
    for coefficient in (-1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = series * square + coefficient
    return series * inverse


class _Likelihood(Score):
    """A score whose counts enter by the maximal log-likelihood of the rows."""

    def cell(self, counts: Counts, r: int, q: float) -> Counts:
        """Return ``n log n``."""
        return np.asarray(xlogy(counts, counts), np.float64)

    def configuration(self, counts: Counts, r: int, q: float) -> Counts:
        """Return ``n log n``."""
        return self.cell(counts, r, q)


@dataclass(frozen=True)
class BIC(_Likelihood):
    """Bayesian information criterion: log-likelihood minus ``log(N) / 2`` per free parameter.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar-complete")
    >>> round(el.score_family(table, 3, [2], el.BIC()), 3)
    -19.632
    >>> round(BIC().penalty(2, 4, 100.0), 3)
    9.21
    """

    name = "bic"

    def penalty(self, r: int, q: float, rows: float) -> float:
        """Return ``log(N) / 2`` for each free parameter.

        Raises
        ------
        DataError
            When the total weight is less than 1.
        """
        if rows < 1:
            raise DataError(
                f"BIC needs a total row weight of at least 1, found {rows}; its penalty "
                "log(N) / 2 would be a reward"
            )
        return math.log(rows) / 2 * q * (r - 1)


@dataclass(frozen=True)
class AIC(_Likelihood):
    """Akaike's information criterion: log-likelihood minus 1 per free parameter.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar-complete")
    >>> round(el.score_family(table, 3, [2], el.AIC()), 3)
    -17.027
    >>> AIC().penalty(2, 4, 100.0)  # r - 1 parameters in each of q configurations
    4
    """

    name = "aic"

    def penalty(self, r: int, q: float, rows: float) -> float:
        """Return the number of free parameters."""
        return q * (r - 1)


@dataclass(frozen=True)
class PenalisedLikelihood(_Likelihood):
    """Trade-off ``S_lambda = (1 - lambda) L - lambda size`` of total log-likelihood and size.

    Parameters
    ----------
    size_weight
        Weight of the number of free parameters, from 0 to 1.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar-complete")
    >>> score = el.PenalisedLikelihood(0.5)
    >>> round(el.score_family(table, 3, [2], score), 3)
    -8.513
    >>> score.penalty(2, 4, 100.0)
    2.0
    >>> score.cell(np.array([0.0, 2.0]), 2, 1).round(3).tolist()
    [0.0, 0.693]
    """

    name = "penalised"
    size_weight: float

    def __post_init__(self) -> None:
        """Refuse a trade-off outside of [0, 1]."""
        check_fields(self)

    def cell(self, counts: Counts, r: int, q: float) -> Counts:
        """Return ``(1 - lambda) n log n``."""
        return (1 - self.size_weight) * super().cell(counts, r, q)

    def penalty(self, r: int, q: float, rows: float) -> float:
        """Return lambda for each free parameter."""
        return self.size_weight * q * (r - 1)


def _penalised(ess: float, size_weight: float | None) -> Score:
    if size_weight is None:
        raise OptionError(
            "score 'penalised' needs the weight lambda of the size, a number from 0 to 1: give "
            f"{as_written('size_weight', 0.1)}"
        )
    return PenalisedLikelihood(size_weight)


CRITERIA: dict[str, Callable[[float, float | None], Score]] = {
    "bdeu": lambda ess, size_weight: BDeu(ess),
    "bic": lambda ess, size_weight: BIC(),
    "aic": lambda ess, size_weight: AIC(),
    "penalised": _penalised,
}
"""The registry of scores with a name, such as that of the option ``--score``.

Each function returns a score for an equivalent sample size and a trade-off (``None``: not given).
"""


def parse_score(
    name: str,
    *,
    ess: float = 1.0,
    size_weight: float | None = None,
) -> Score:
    """Return the score of a name in :data:`CRITERIA`, such as ``bdeu`` or ``bic``.

    Parameters
    ----------
    name
        Name of the score, in any case.
    ess
        Equivalent sample size of BDeu.
    size_weight
        Trade-off of the penalised likelihood, which needs it.

    Raises
    ------
    OptionError
        When the name is unknown or a parameter is out of range.

    Examples
    --------
    >>> parse_score("bdeu", ess=10)
    BDeu(ess=10)
    """
    criterion = CRITERIA.get(name.lower())
    if criterion is None:
        raise OptionError(
            f"unknown score {name!r}; expected one of {', '.join(CRITERIA)}"
        )
    return criterion(ess, size_weight)


ScoreLike = Score | Any
"""A score, or its name: the type of parameters that are made a :class:`Score`, as
:data:`~exactlearn.data.dataset.DatasetLike` of tables."""


def as_score(value: Any, name: str = "score") -> Score:
    """Return a score, also by its name.

    Raises
    ------
    ArgumentError
        When it is neither.
    OptionError
        When there is no score of that name, or it needs parameters.
    """
    if isinstance(value, str):
        return parse_score(value)
    if isinstance(value, Score):
        return value
    raise refusal(
        name,
        "a score",
        value,
        "pass BDeu(ess=1), BIC(), 'bdeu', 'bic', 'aic' or an instance of a subclass of Score",
    )


register(score=as_score)


def cell_terms(
    score: Score,
    counts: Counts,
    r: int,
    q: float,
) -> Counts:
    """Return the terms that counts of cells add to a family's score, 0 for an empty cell.

    Raises
    ------
    OptionError
        When the score of some count is no number.
    """
    return _above_zero(score, "cell", score.cell, counts, r, q)


def configuration_terms(
    score: Score,
    counts: Counts,
    r: int,
    q: float,
) -> Counts:
    """Return the terms that counts of configurations take from a family's score, 0 for 0.

    Raises
    ------
    OptionError
        When the score of some count is no number.
    """
    return _above_zero(score, "configuration", score.configuration, counts, r, q)


def _above_zero(
    score: Score,
    name: str,
    function: Callable[[Counts, int, float], Counts],
    counts: Counts,
    r: int,
    q: float,
) -> Counts:
    """Return the values of a function at counts, less its value at 0, of the counts' shape."""
    with_zero = np.append(0.0, counts)
    values = np.asarray(function(with_zero, r, q), np.float64)
    if values.shape != with_zero.shape or not np.isfinite(values).all():
        raise OptionError(
            f"score {score.name!r}: {name}(counts, r={r}, q={q:g}) must return a finite number for "
            f"each of the counts, an array of shape {with_zero.shape}; found "
            f"shape {values.shape}, {np.count_nonzero(~np.isfinite(values))} values not finite"
        )
    terms: Counts = values[1:] - values[0]
    return terms.reshape(counts.shape)


def size_penalty(
    score: Score,
    r: int,
    q: float,
    rows: float,
) -> float:
    """Return the loss of a family without any rows: the penalty, less the terms of empty cells."""
    zero = np.zeros(1)
    (empty_cell,) = score.cell(zero, r, q)
    (empty_configuration,) = score.configuration(zero, r, q)
    empty_terms = q * (r * empty_cell - empty_configuration)
    return float(score.penalty(r, q, rows) - empty_terms)


def family_score(
    counts: Counts,
    q: float,
    score: Score,
    rows: float,
) -> float:
    """Return the score of a family from its counts.

    Parameters
    ----------
    counts
        Weights by parent configuration and child state, shape (configurations, r); configurations
        of weight 0 may be left out.
    q
        Number of all parent configurations.
    score
        The score.
    rows
        Total weight of the data.
    """
    r = counts.shape[1]
    cells = cell_terms(score, counts.reshape(-1), r, q).sum()
    configurations = configuration_terms(score, counts.sum(axis=1), r, q).sum()
    return float(cells - configurations) - size_penalty(score, r, q, rows)


@checked_arguments(parents=named(variables_by_index))
def score_family(
    dataset: DatasetLike,
    child: VariableLike,
    parents: VariablesLike,
    score: ScoreLike,
) -> float:
    """Score one family of complete data, in plain numpy.

    Parameters
    ----------
    dataset
        Complete data; states that no row has still count in ``q`` and ``r``.
    child, parents
        Variables, by name or by index.
    score
        The score.

    Raises
    ------
    DataError
        When a cell is missing.
    OptionError
        When there is no variable of an index.

    Examples
    --------
    >>> from exactlearn.data.dataset import Dataset
    >>> data = Dataset(np.array([[0], [1]], np.int8), ("a",), (("no", "yes"),))
    >>> round(score_family(data, 0, (), AIC()), 6) == round(2 * math.log(0.5) - 1, 6)
    True
    """
    return scored_family(dataset, child, parents, score)


def scored_family(
    dataset: Dataset,
    child: int,
    parents: Sequence[int],
    score: Score,
) -> float:
    """Score a family as :func:`score_family` does, for variables by index alone."""
    counts = family_counts(dataset, child, parents)
    # In floats, as a product of many integers would overflow.
    states = dataset.cardinalities[list(parents)].astype(np.float64)
    q = math.prod(states.tolist())
    return family_score(counts, q, score, total_weight(dataset))


FUNCTION_ERROR = 8.0
"""Units in the last place by which a function of a count, as the log-gamma one, is off at most."""


def total_score(
    dataset: Dataset,
    parents: Sequence[Sequence[int]],
    score: Score,
) -> float:
    """Return the score of a DAG on complete data: the sum over its families."""
    return sum(
        scored_family(dataset, child, tuple(family), score)
        for child, family in enumerate(parents)
    )


def score_tolerance(n_variables: int, rows: float) -> float:
    """Return the difference of two networks' scores, in nats, that counts as none.

    It is the tolerance of proofs and a bound on rounding: a family adds up a function of the counts
    of its cells and takes away that of its configurations, the sizes of which sum to at most
    ``N log(N + 1)`` each for N rows.

    Examples
    --------
    >>> f"{score_tolerance(10, 1e3):.8f} {score_tolerance(10, 1e7):.8f}"
    '0.00000100 0.00000673'
    """
    size = rows * math.log1p(rows)
    return TOLERANCE + 2.0 * n_variables * FUNCTION_ERROR * rounding(size)


def total_weight(dataset: Dataset) -> float:
    """Return the number of observations N: the total weight of the rows."""
    return float(dataset.row_weights.sum())


def family_counts(
    dataset: Dataset,
    child: int,
    parents: Sequence[int],
) -> NDArray[np.float64]:
    """Count a family, leaving out parent configurations that no row has.

    Parameters
    ----------
    dataset
        Complete data.
    child, parents
        Variable indices.

    Returns
    -------
    NDArray[np.float64]
        Weights of the observed parent configurations (in the order of the rows that have them
        first) by child state, shape (observed configurations, r).

    Raises
    ------
    DataError
        When a cell is missing.
    """
    require_complete(dataset)
    parent_codes = dataset.codes[:, list(parents)]
    labels, first = index_rows(parent_codes.astype(np.int32))
    q = len(first)
    r = int(dataset.cardinalities[child])
    cells = labels * r + dataset.codes[:, child]
    weights = weight_by(cells, dataset.row_weights, q * r)
    return weights.reshape(q, r)
