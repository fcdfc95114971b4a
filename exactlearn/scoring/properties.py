"""The properties of a score's functions that bounds need, checked on their values.

The checks take the functions at counts up to the rows' total weight, all small ones and then some
in geometric progression, for every number of states and some numbers of parent configurations.
docs/theory/scoring.md and docs/theory/augmentation.md prove what follows from each.
"""

from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

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
    """The properties of a score on data of some weight.

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
    """The numbers of states and rows of a table, on which a score's functions are evaluated.

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
    def of(
        cls,
        cardinalities: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> "Domain":
        """Return the domain of variables with some numbers of states and rows with some weights."""
        is_whole = weights == np.round(weights)
        return cls(
            states=tuple(np.unique(cardinalities).tolist()),
            total=float(weights.sum()),
            is_whole=bool(is_whole.all()),
        )


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


def _is_symmetric(
    score: Score,
    r: int,
    s: int,
    q: float,
    total: float,
) -> bool:
    """Return whether two variables lose the same by their sizes, whichever is the parent."""

    def loss_of_both(first: int, second: int) -> float:
        as_parent = size_penalty(score, first, q, total)
        as_child = size_penalty(score, second, q * first, total)
        return as_parent + as_child

    return bool(
        np.isclose(
            loss_of_both(r, s),
            loss_of_both(s, r),
            rtol=TOLERANCE,
            atol=TOLERANCE,
        )
    )


def properties(score: Score, domain: Domain) -> Properties:
    """Check a score on a domain."""
    states, total, is_whole = domain
    counts = _counts(total, is_whole)
    rates = {}
    falls = True
    rises = True
    likelihood = True
    for r in states:
        rates[r] = -inf
        # What holds for a score holds at every number of configurations.
        for q in CONFIGURATIONS.tolist():
            f = cell_terms(score, counts, r, q)
            g = configuration_terms(score, counts, r, q)
            is_convex, slopes_fall, bends_rise = _shape(counts, f, g)
            falls &= slopes_fall
            rises &= bends_rise
            rates[r] = max(rates[r], _rate(counts, f, g) if is_convex else inf)
            likelihood &= _is_likelihood(counts, f, g)
        # A penalty that falls in supersets bounds none of them.
        if not _penalty_rises(score, r, total):
            rates[r] = inf
            falls = False
    penalties = [size_penalty(score, r, 4.0, total) for r in states]
    is_proportional = all(_is_proportional(score, r, total) for r in states)
    return Properties(
        rates=rates,
        has_entropy=likelihood and is_proportional,
        has_penalty=any(abs(penalty) > TOLERANCE for penalty in penalties),
        falls=falls,
        rises=rises,
    )


def _counts(total: float, is_whole: bool) -> Counts:
    """Return the counts to look at, 0 first."""
    largest = max(1.0, total)
    # All small counts, then counts in a geometric sequence.
    small = np.arange(min(SMALL_COUNTS, largest) + 1)
    factor = max(1.0, largest / SMALL_COUNTS)
    steps = int(np.log(factor) / np.log(RATIO))
    powers = RATIO ** np.arange(1, steps + 1)
    large = np.round(SMALL_COUNTS * powers)
    parts = [small, large[large > SMALL_COUNTS]]
    # Expected counts may be below 1.
    if not is_whole:
        parts.append(np.ldexp(1.0, np.arange(-20, 0)))
    return np.unique(np.concatenate(parts))


def _shape(counts: Counts, f: Counts, g: Counts) -> tuple[bool, bool, bool]:
    """Return whether g is convex, and then f slopes below g, and bends at least as much as g."""
    width = np.diff(counts)
    slope_f = np.diff(f) / width
    slope_g = np.diff(g) / width
    slack = TOLERANCE * np.maximum(np.abs(slope_f), np.abs(slope_g))
    between = (width[1:] + width[:-1]) / 2
    bend_f = np.diff(slope_f) / between
    bend_g = np.diff(slope_g) / between
    # The largest bend of g at as many rows, or more.
    largest_bend = np.maximum.accumulate(bend_g[::-1])[::-1]
    bend_slack = slack[1:] / between
    is_convex = bool((bend_g >= -bend_slack).all())
    falls = is_convex and bool((slope_f <= slope_g + slack).all())
    rises = is_convex and bool((bend_f >= largest_bend - bend_slack).all())
    return is_convex, falls, rises


def _rate(counts: Counts, f: Counts, g: Counts) -> float:
    """Return the most that a cell adds for each of its rows, at most one."""
    added = (f - g)[1:]
    rows = np.minimum(1.0, counts[1:])
    rate = float((added / rows).max())
    return min(rate, 0.0) if rate <= 1e-12 else inf


def _is_likelihood(counts: Counts, f: Counts, g: Counts) -> bool:
    """Return whether both functions are the same multiple of ``n log n``, not a negative one."""
    # The multiple, read off at a count of two.
    at_two = f[counts == 2.0].sum()
    weight = at_two / (2 * np.log(2))
    likelihood = weight * xlogy(counts, counts)
    is_same = np.allclose([f, g], likelihood, rtol=1e-12, atol=1e-12)
    return bool(weight >= 0 and is_same)


def _penalties(score: Score, r: int, total: float) -> NDArray[np.float64]:
    return np.array([size_penalty(score, r, q, total) for q in CONFIGURATIONS.tolist()])


def _penalty_rises(score: Score, r: int, total: float) -> bool:
    penalties = _penalties(score, r, total)
    slack = 1e-12 * np.abs(penalties[1:])
    return bool((np.diff(penalties) >= -slack).all())


def _is_proportional(score: Score, r: int, total: float) -> bool:
    penalties = _penalties(score, r, total)
    proportional = penalties[0] * CONFIGURATIONS
    return bool(np.allclose(penalties, proportional, rtol=1e-12, atol=0.0))


def is_convex(score: Score, domain: Domain) -> bool:
    """Return whether the scores of families are convex in their tables (theorem *Row classes*).

    Then no table scores more than the mean of two tables on either side of it.
    """
    rng = np.random.default_rng(0)
    largest = max(2, int(min(domain.total, SMALL_COUNTS)))
    for r in domain.states:
        # Pairs of tables whose mean is whole; some cells do not differ.
        shape = (2, PAIRS, r)
        drawn = rng.integers(0, largest + 1, shape)
        drawn[rng.random(shape) >= 0.7] = 0
        first = drawn[0]
        second = first % 2 + 2 * (drawn[1] // 2)
        is_equal = rng.random((PAIRS, r)) < 0.5
        second = np.where(is_equal, first, second)
        middle = (first + second) / 2
        for q in CONFIGURATIONS.tolist():
            low = _table_scores(score, first, q)
            high = _table_scores(score, second, q)
            mean = _table_scores(score, middle, q)
            slack = TOLERANCE * (1 + np.abs(low) + np.abs(high))
            if (low + high < 2 * mean - slack).any():
                return False
    return True


def _table_scores(score: Score, tables: NDArray[Any], q: float) -> Counts:
    """Return the scores of configurations with some counts, shape (tables, r)."""
    r = tables.shape[1]
    counts = tables.astype(float)
    cells = cell_terms(score, counts, r, q).sum(axis=1)
    configurations = configuration_terms(score, counts.sum(axis=1), r, q)
    return np.asarray(cells - configurations)
