"""How a family's score grows, row by row.

Adding weight ``w`` to cell ``(j, k)`` of a table changes the score by
``f(n_jk + w) - f(n_jk) - g(n_j + w) + g(n_j)``, with ``f(n) = lgamma(n + ess / (q r))`` and
``g(n) = lgamma(n + ess / q)`` for BDeu, and ``f = g = a n log(n)`` for the likelihood scores.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from exactlearn._runtime.kernel import kernel
from exactlearn.scoring.scores import BAYESIAN

MOST_TERMS = 2**25
"""Tabulated terms, 8 bytes each, beyond which all are evaluated when needed."""


class Growth(NamedTuple):
    """A compiled score with ``f`` and ``g`` tabulated where counts are whole numbers.

    Attributes
    ----------
    kind, a, b
        The score, see :meth:`~exactlearn.scoring.scores.Score.compiled`.
    tables
        ``f`` and ``g`` at 0, 1, ..., shape (tables, total weight + 1); of width 0 where weights are
        no whole numbers, or tables too large, which asks for direct evaluation.
    rows
        The rows of ``tables`` that hold ``f`` and ``g`` for each parent set, shape (sets, 2).
    """

    kind: int
    a: float
    b: float
    tables: NDArray[np.float64]
    rows: NDArray[np.int64]


def growth(
    compiled: tuple[int, float, float],
    n_configurations: NDArray[np.float64],
    states: int | NDArray[np.int64],
    weights: NDArray[np.float64],
) -> Growth:
    """Tabulate the growth of families.

    Parameters
    ----------
    compiled
        ``(kind, a, b)`` of the score.
    n_configurations
        Number of configurations of each parent set, shape (sets,).
    states
        Number of states of the child: of all sets, or of each, shape (sets,).
    weights
        Weights of the rows.
    """
    kind, a, _ = compiled
    rows = np.zeros((len(n_configurations), 2), np.int64)
    if (weights != np.round(weights)).any():
        return Growth(*compiled, np.zeros((1, 0)), rows)
    counts = np.arange(int(weights.sum()) + 1, dtype=np.float64)
    if kind != BAYESIAN:
        tables = np.asarray(a * xlogy(counts, counts), np.float64)[None, :]
        return Growth(*compiled, tables, rows)
    alphas = np.concatenate([a / (n_configurations * states), a / n_configurations])
    distinct, inverse = np.unique(alphas, return_inverse=True)
    if len(distinct) * len(counts) > MOST_TERMS:
        return Growth(*compiled, np.zeros((1, 0)), rows)
    tables = gammaln(counts + distinct[:, None]) - gammaln(distinct[:, None])
    rows = inverse.reshape(2, -1).T.astype(np.int64)
    return Growth(*compiled, np.asarray(tables, np.float64), np.ascontiguousarray(rows))


@kernel
def term(n: float, alpha: float, kind: int, a: float) -> float:
    """Return ``f(n)`` or ``g(n)`` up to a constant."""
    if kind == BAYESIAN:
        return math.lgamma(n + alpha)
    return a * n * math.log(n) if n > 1e-12 else 0.0


@kernel
def gain(
    n: float, w: float, table: NDArray[np.float64], alpha: float, kind: int, a: float
) -> float:
    """Return ``f(n + w) - f(n)``."""
    if len(table):
        return float(table[int(n + w + 0.5)] - table[int(n + 0.5)])
    return term(n + w, alpha, kind, a) - term(n, alpha, kind, a)
