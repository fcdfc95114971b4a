"""When two scores count as equal: an absolute tolerance in nats, and a bound on rounding.

A share of ``|score|`` is no tolerance: with a million rows, a millionth of the score is ten nats,
which make one network 22,000 times as probable as another one. So engines compare *losses*, the
scores relative to those of each variable's best candidate, and what is left of rounding is bounded
by :func:`rounding`.
"""

from math import inf

EPSILON = 2.0**-52
"""Distance of 1 and the next larger number; a number is rounded by half of its share at most."""

TOLERANCE = 1e-6
"""Difference in nats below which scores count as equal.

Two networks that far apart differ by a millionth in their probabilities. It is the feasibility
tolerance of the linear programs, whose duals all bounds come from; losses seldom need a finer one.
"""


def rounding(*sizes: float) -> float:
    """Return a bound on the rounding of numbers of some sizes, and of their :func:`math.fsum`.

    Each number, and the sum, is off by at most half a unit in the last place of its size (Higham
    2002, "Accuracy and stability of numerical algorithms", theorem 2.2).

    Examples
    --------
    >>> rounding(1.0) == EPSILON, rounding(1e8, -1e8) < 1e-7
    (True, True)
    """
    return EPSILON * sum(map(abs, sizes))


def gap_between(score: float, bound: float) -> float:
    """Return ``bound - score`` in nats; infinite while nothing was found.

    A bound within the tolerance, or within rounding, of the score leaves no gap.

    Examples
    --------
    >>> gap_between(-100.0, -99.0), gap_between(-1e8, -1e8 + 1e-7), gap_between(-inf, inf)
    (1.0, 0.0, inf)
    """
    if score == -inf or bound == inf:
        return inf
    difference = bound - score
    return difference if difference > TOLERANCE + rounding(score, bound) else 0.0
