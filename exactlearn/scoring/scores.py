"""Decomposable scores of discrete networks: BDeu, BIC, AIC and the penalised likelihood.

Every score is a sum over families; all are maximised, in natural logarithms, and use the counts
``n_jk`` of parent configuration ``j`` and child state ``k``, with ``q`` configurations and ``r``
states. No prior over structures is added.

- BDeu with equivalent sample size ``a`` (Heckerman, Geiger and Chickering 1995, eq. 28 with
  Buntine's uniform pseudo-counts ``a_jk = a / (q r)``, ``a_j = a / q``)::

      sum_j [ lgamma(a_j) - lgamma(a_j + n_j) + sum_k lgamma(a_jk + n_jk) - lgamma(a_jk) ]

- Penalised likelihood ``(1 - lambda) L - lambda q (r - 1)`` with the maximal log-likelihood
  ``L = sum_jk n_jk log(n_jk / n_j)`` summed over the rows (Nielsen, Rumi and Salmeron, eq. 9).
  ``BIC = L - log(N)/2 q (r - 1)`` and ``AIC = L - q (r - 1)`` rank networks as it does with
  ``lambda = log(N) / (2 + log(N))`` and ``lambda = 1/2``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from exactlearn._runtime.arguments import checked_arguments, family, refusal, register
from exactlearn._runtime.kernel import kernel
from exactlearn.data.counts import family_counts, n_configurations, total_weight
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError

BAYESIAN, LIKELIHOOD = 0, 1
"""The kinds of compiled scores: BDeu, and weighted log-likelihood minus weighted size."""


class Score(Protocol):
    """A decomposable score, compiled to three numbers for the kernels."""

    def compiled(self, n_rows: float) -> tuple[int, float, float]:
        """Return ``(kind, a, b)`` for data of total weight ``n_rows``.

        Kind 0 is BDeu with equivalent sample size ``a``; kind 1 is
        ``a * sum n_jk log(n_jk / n_j) - b * q * (r - 1)``.
        """
        ...


@dataclass(frozen=True)
class BDeu:
    """Bayesian Dirichlet equivalent uniform score.

    Parameters
    ----------
    ess
        Equivalent sample size, a positive number.
    """

    ess: float = 1.0

    def __post_init__(self) -> None:
        """Refuse an equivalent sample size that is not positive."""
        if not (math.isfinite(self.ess) and self.ess > 0):
            raise OptionError(f"the equivalent sample size must be positive, found {self.ess}")

    def compiled(self, n_rows: float) -> tuple[int, float, float]:
        """Return the kernels' form, see :meth:`Score.compiled`."""
        return BAYESIAN, float(self.ess), 0.0


@dataclass(frozen=True)
class BIC:
    """Bayesian information criterion: log-likelihood minus ``log(N) / 2`` per free parameter."""

    def compiled(self, n_rows: float) -> tuple[int, float, float]:
        """Return the kernels' form, see :meth:`Score.compiled`."""
        if n_rows < 1:
            raise DataError(
                f"BIC needs a total row weight of at least 1, found {n_rows}; its penalty "
                "log(N) / 2 would be a reward"
            )
        return LIKELIHOOD, 1.0, math.log(n_rows) / 2


@dataclass(frozen=True)
class AIC:
    """Akaike's information criterion: log-likelihood minus 1 per free parameter."""

    def compiled(self, n_rows: float) -> tuple[int, float, float]:
        """Return the kernels' form, see :meth:`Score.compiled`."""
        return LIKELIHOOD, 1.0, 1.0


@dataclass(frozen=True)
class PenalisedLikelihood:
    """Trade-off ``S_lambda = (1 - lambda) L - lambda size`` of total log-likelihood and size.

    Parameters
    ----------
    lambda_
        Weight of the number of free parameters, from 0 to 1.
    """

    lambda_: float

    def __post_init__(self) -> None:
        """Refuse a trade-off outside of [0, 1]."""
        if not 0 <= self.lambda_ <= 1:
            raise OptionError(f"lambda must lie between 0 and 1, found {self.lambda_}")

    def compiled(self, n_rows: float) -> tuple[int, float, float]:
        """Return the kernels' form, see :meth:`Score.compiled`."""
        return LIKELIHOOD, 1.0 - self.lambda_, float(self.lambda_)


def parse_score(name: str, *, ess: float = 1.0, lambda_: float | None = None) -> Score:
    """Return the score of a name: ``bdeu``, ``bic``, ``aic`` or ``penalised``.

    Parameters
    ----------
    name
        Name of the score, in any case.
    ess
        Equivalent sample size of BDeu.
    lambda_
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
    match name.lower():
        case "bdeu":
            return BDeu(ess)
        case "bic":
            return BIC()
        case "aic":
            return AIC()
        case "penalised":
            if lambda_ is None:
                raise OptionError("score 'penalised' needs lambda, a number between 0 and 1")
            return PenalisedLikelihood(lambda_)
    raise OptionError(f"unknown score {name!r}; expected one of bdeu, bic, aic, penalised")


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
    if hasattr(value, "compiled") and not isinstance(value, type):
        score: Score = value
        return score
    raise refusal(name, "a score", value, "pass BDeu(ess=1), BIC(), 'bdeu', 'bic' or 'aic'")


register(score=as_score)


@kernel
def observed_family_score(
    counts: NDArray[np.float64], q: float, kind: int, a: float, b: float
) -> float:
    """Score a family from the counts of its observed parent configurations.

    Parameters
    ----------
    counts
        Weights by parent configuration and child state, shape (configurations, r); configurations
        of weight 0 may be left out.
    q
        Number of all parent configurations.
    kind, a, b
        The score, see :meth:`Score.compiled`.
    """
    rows, r = counts.shape
    score: float = -b * q * (r - 1)
    for j in range(rows):
        n_j = 0.0
        for k in range(r):
            n_j += counts[j, k]
        if n_j <= 0.0:
            continue
        if kind == 0:
            score += math.lgamma(a / q) - math.lgamma(a / q + n_j)
        for k in range(r):
            n_jk = counts[j, k]
            if n_jk <= 0.0:
                continue
            if kind == 0:
                score += math.lgamma(a / (q * r) + n_jk) - math.lgamma(a / (q * r))
            else:
                score += a * n_jk * math.log(n_jk / n_j)
    return score


@kernel
def family_score(counts: NDArray[np.float64], kind: int, a: float, b: float) -> float:
    """Score a family from its full table of counts, shape (q, r); see :meth:`Score.compiled`."""
    return observed_family_score(counts, float(counts.shape[0]), kind, a, b)


@checked_arguments(parents=family)
def score_family(dataset: Dataset, child: int, parents: Sequence[int], score: Score) -> float:
    """Score one family of complete data, in plain numpy.

    Parameters
    ----------
    dataset
        Complete data; states that no row has still count in ``q`` and ``r``.
    child, parents
        Variable indices.
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
    >>> data = Dataset(np.array([[0], [1]], np.int8), ("a",), (("no", "yes"),))
    >>> round(score_family(data, 0, (), AIC()), 6) == round(2 * math.log(0.5) - 1, 6)
    True
    """
    if not all(0 <= v < dataset.n_variables for v in (child, *parents)):
        raise OptionError(
            f"family {child} given {list(parents)}: expected indices from 0 to "
            f"{dataset.n_variables - 1}"
        )
    counts = family_counts(dataset, child, parents)
    q, r = n_configurations(dataset, parents), counts.shape[1]
    kind, a, b = score.compiled(total_weight(dataset))
    n_j = counts.sum(axis=1)
    if kind == LIKELIHOOD:
        shares = counts / np.maximum(n_j, np.finfo(np.float64).tiny)[:, None]
        log_likelihood = xlogy(counts, shares).sum()
        return float(a * log_likelihood - b * q * (r - 1))
    states = gammaln(counts + a / (q * r)) - gammaln(a / (q * r))
    configurations = gammaln(n_j + a / q) - gammaln(a / q)
    return float(states.sum() - configurations.sum())
