"""Wilcoxon's signed-rank test of paired samples, and what many such tests come to."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import wilcoxon

SIGNIFICANCE = 0.05
"""Of the tests that are counted (PDG-SEM, section 6.1)."""


def signed_rank(
    ours: Sequence[float],
    theirs: Sequence[float],
    alternative: Literal["two-sided", "greater"] = "two-sided",
) -> float:
    """Return the probability of such ranks where neither of two is better; 1 for equal samples.

    Parameters
    ----------
    ours, theirs
        Paired samples.
    alternative
        What is tested: that they differ, or that ours are greater.

    Examples
    --------
    >>> signed_rank([2.0, 3.0, 4.0, 6.0], [1.0, 1.0, 1.0, 1.0], "greater")
    0.0625
    """
    difference = np.subtract(ours, theirs)
    difference = difference[difference != 0]
    return float(wilcoxon(difference, alternative=alternative).pvalue) if len(difference) else 1.0


class Tally(NamedTuple):
    """In how many settings the method under test is better, not told apart, and worse."""

    better: int
    level: int
    worse: int


def tally(pairs: Iterable[tuple[Sequence[float], Sequence[float]]]) -> Tally:
    """Count the settings in which a two-sided test tells ours from theirs."""
    found = [0, 0, 0]
    for ours, theirs in pairs:
        told = signed_rank(ours, theirs) < SIGNIFICANCE
        found[(2 if np.mean(ours) < np.mean(theirs) else 0) if told else 1] += 1
    return Tally(*found)
