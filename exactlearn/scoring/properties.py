"""What bounds need of a score's functions, checked on their values.

The checks take the functions at counts up to the rows' total weight, all small ones and then some
in geometric progression, for every number of states and some numbers of parent configurations.
docs/theory/scoring.md and docs/theory/augmentation.md prove what follows from each.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn.scoring.scores import (
    Counts,
    Score,
    cell_terms,
    configuration_terms,
    size_penalty,
)

SMALL_COUNTS = 64
RATIO = 1.1
"""All whole counts up to the first are looked at, then some in this ratio."""
CONFIGURATIONS = np.array([1.0, 2.0, 6.0, 64.0, 1e4, 1e9])
"""Numbers of parent configurations that are looked at."""
TOLERANCE = 1e-7
"""Relative difference that may be rounding."""
PAIRS = 64
"""Pairs of tables between which convexity is looked at."""


@dataclass(frozen=True)
class Properties:
    """What is known of a score on data of some weight.

    Parameters
    ----------
    rates
        By number of states, what each distinct cell adds at most to the scores of a family and of
        all its supersets (theorem *Distinct cells*); ``inf`` where that is not bounded.
    has_entropy
        Whether the score is a multiple of the log-likelihood less a penalty proportional to the
        number of configurations (theorem *Entropy*).
    has_penalty
        Whether a family without rows scores less than 0.
    falls
        Whether another row never raises a family's score, and a penalty never falls with the
        number of configurations (theorem *Complete rows*).
    rises
        Whether rows in a cell make another row there add more, and rows elsewhere in its
        configuration make it add less (theorem *Placing rows*).
    """

    rates: dict[int, float]
    has_entropy: bool
    has_penalty: bool
    falls: bool
    rises: bool


class Domain(NamedTuple):
    """What a score's functions are evaluated for on a table.

    Attributes
    ----------
    states
        The different numbers of states of its variables, increasing.
    total
        The weight of its rows.
    is_whole
        Whether all rows weigh whole numbers.
    """

    states: tuple[int, ...]
    total: float
    is_whole: bool

    @classmethod
    def of(cls, cardinalities: NDArray[np.int64], weights: NDArray[np.float64]) -> "Domain":
        """Return the domain of variables with some numbers of states and rows with some weights."""
        is_whole = bool((weights == np.round(weights)).all())
        return cls(tuple(np.unique(cardinalities).tolist()), float(weights.sum()), is_whole)


def properties(score: Score, domain: Domain) -> Properties:
    """Check a score on a domain."""
    known = _properties if _is_hashable(score) else _properties.__wrapped__
    return known(score, domain)


def is_convex(score: Score, domain: Domain) -> bool:
    """Return whether the scores of families are convex in their tables (theorem *Row classes*)."""
    known = _is_convex if _is_hashable(score) else _is_convex.__wrapped__
    return known(score, domain.states, domain.total)


def is_equivalent(score: Score, domain: Domain) -> bool:
    """Return whether Markov equivalent networks have the same score (theorem *Set values*).

    Checked is what suffices: one function serves the cells and the configurations of tables of a
    size, and the penalties of two variables do not depend on which of them is added first.
    """
    counts = _counts(domain.total, domain.is_whole)[1:]
    return all(
        _is_symmetric(score, r, s, q, domain.total)
        and np.allclose(
            cell_terms(score, counts, r, s * q),
            configuration_terms(score, counts, s, r * s * q),
            rtol=TOLERANCE,
            atol=TOLERANCE,
        )
        for r in domain.states
        for s in domain.states
        for q in CONFIGURATIONS.tolist()
    )


def _is_symmetric(score: Score, r: int, s: int, q: float, total: float) -> bool:
    """Return whether two variables lose the same by their sizes, whichever is the parent."""
    one, other = (
        size_penalty(score, a, q, total) + size_penalty(score, b, q * a, total)
        for a, b in ((r, s), (s, r))
    )
    return bool(np.isclose(one, other, rtol=TOLERANCE, atol=TOLERANCE))


def _is_hashable(score: Score) -> bool:
    """Return whether what is known of a score can be kept: not that of one that may change."""
    try:
        hash(score)
    except TypeError:
        return False
    return True


@lru_cache(maxsize=64)
def _properties(score: Score, domain: Domain) -> Properties:
    states, total, is_whole = domain
    counts = _counts(total, is_whole)
    rates = {}
    falls = True
    rises = True
    likelihood = True
    for r in states:
        rates[r] = -inf
        for q in CONFIGURATIONS.tolist():
            f = np.append(0.0, cell_terms(score, counts[1:], r, q))
            g = np.append(0.0, configuration_terms(score, counts[1:], r, q))
            shape = _Shape.of(counts, f, g)
            falls &= shape.falls
            rises &= shape.rises
            rates[r] = max(rates[r], _rate(counts, f, g) if shape.is_convex else inf)
            likelihood &= _is_likelihood(counts, f, g)
        if not _penalty_rises(score, r, total):
            rates[r] = inf
            falls = False
    penalties = [size_penalty(score, r, 4.0, total) for r in states]
    return Properties(
        rates,
        likelihood and all(_is_proportional(score, r, total) for r in states),
        any(abs(penalty) > TOLERANCE for penalty in penalties),
        falls,
        rises,
    )


def _counts(total: float, is_whole: bool) -> Counts:
    """Return the counts to look at, 0 first."""
    most = max(1.0, total)
    small = np.arange(min(SMALL_COUNTS, most) + 1)
    steps = int(np.log(most / SMALL_COUNTS) / np.log(RATIO)) if most > SMALL_COUNTS else 0
    large = np.unique(np.round(SMALL_COUNTS * RATIO ** np.arange(1, steps + 1)))
    parts = [small, large[large > SMALL_COUNTS]]
    if not is_whole:
        parts.append(np.ldexp(1.0, np.arange(-20, 0)))
    return np.unique(np.concatenate(parts))


@dataclass(frozen=True)
class _Shape:
    """How the slopes of both functions go."""

    is_convex: bool
    falls: bool
    rises: bool

    @classmethod
    def of(cls, counts: Counts, f: Counts, g: Counts) -> "_Shape":
        width = np.diff(counts)
        slope_f = np.diff(f) / width
        slope_g = np.diff(g) / width
        slack = TOLERANCE * np.maximum(np.abs(slope_f), np.abs(slope_g))
        between = (width[1:] + width[:-1]) / 2
        bend_f = np.diff(slope_f) / between
        bend_g = np.diff(slope_g) / between
        most = np.maximum.accumulate(bend_g[::-1])[::-1]  # of a configuration with as many rows
        bend_slack = slack[1:] / between
        return cls(
            bool((bend_g >= -bend_slack).all()),
            bool((bend_g >= -bend_slack).all() and (slope_f <= slope_g + slack).all()),
            bool((bend_g >= -bend_slack).all() and (bend_f >= most - bend_slack).all()),
        )


def _rate(counts: Counts, f: Counts, g: Counts) -> float:
    """Return the most that a cell adds for each of its rows, at most one."""
    most = float(((f - g)[1:] / np.minimum(1.0, counts[1:])).max())
    return min(most, 0.0) if most <= 1e-12 else inf


def _is_likelihood(counts: Counts, f: Counts, g: Counts) -> bool:
    """Return whether both functions are the same multiple of ``n log n``, not a negative one."""
    weight = f[counts == 2.0].sum() / (2 * np.log(2)) if 2.0 in counts else 0.0
    wanted = weight * xlogy(counts, counts)
    return bool(
        weight >= 0
        and np.allclose(f, wanted, rtol=1e-12, atol=1e-12)
        and np.allclose(g, wanted, rtol=1e-12, atol=1e-12)
    )


def _penalties(score: Score, r: int, total: float) -> NDArray[np.float64]:
    return np.array([size_penalty(score, r, q, total) for q in CONFIGURATIONS.tolist()])


def _penalty_rises(score: Score, r: int, total: float) -> bool:
    found = _penalties(score, r, total)
    return bool((np.diff(found) >= -1e-12 * np.abs(found[1:])).all())


def _is_proportional(score: Score, r: int, total: float) -> bool:
    found = _penalties(score, r, total)
    return bool(np.allclose(found, found[0] * CONFIGURATIONS, rtol=1e-12, atol=0.0))


@lru_cache(maxsize=64)
def _is_convex(score: Score, states: tuple[int, ...], total: float) -> bool:
    """Return whether no table scores more than the mean of two tables on either side of it."""
    rng = np.random.default_rng(0)
    most = max(2, int(min(total, SMALL_COUNTS)))
    for r in states:
        drawn = rng.integers(0, most + 1, (2, PAIRS, r)) * (rng.random((2, PAIRS, r)) < 0.7)
        first = drawn[0]
        second = first % 2 + 2 * (drawn[1] // 2)
        second = np.where(rng.random((PAIRS, r)) < 0.5, first, second)  # some cells differ
        for q in CONFIGURATIONS.tolist():
            one, middle, other = (
                cell_terms(score, n, r, q).sum(axis=1)
                - configuration_terms(score, n.sum(axis=1), r, q)
                for n in (first.astype(float), (first + second) / 2, second.astype(float))
            )
            slack = TOLERANCE * (1 + np.abs(one) + np.abs(other))
            if (one + other < 2 * middle - slack).any():
                return False
    return True
