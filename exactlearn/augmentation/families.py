"""Parent sets of one variable: which are allowed, how they are numbered, how their scores rise.

Parent sets are numbered by size and then colexicographically, so that subsets are found by rank.
Adding weight ``w`` to cell ``(j, k)`` of a family's table changes its score by the *increment*
``f(n_jk + w) - f(n_jk) - g(n_j + w) + g(n_j)``, with ``f(n) = lgamma(n + ess / (q r))`` and
``g(n) = lgamma(n + ess / q)`` for BDeu, and ``f = g = a n log(n)`` for the likelihood scores.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from exactlearn._runtime.kernel import kernel
from exactlearn._runtime.subsets import binomials, next_subset
from exactlearn.scoring.scores import BAYESIAN
from exactlearn.solvers.problem import Arc


@dataclass(frozen=True)
class FamilyRules:
    """Which parent sets a variable may have.

    Parameters
    ----------
    max_parents
        Largest size of a parent set.
    required, forbidden
        Arcs (parent, child) that must, or must not, be there.
    """

    max_parents: int
    required: frozenset[Arc] = frozenset()
    forbidden: frozenset[Arc] = frozenset()

    @classmethod
    def of(
        cls, max_parents: int, required: Iterable[Arc] = (), forbidden: Iterable[Arc] = ()
    ) -> "FamilyRules":
        """Build the rules from any iterables of arcs."""
        return cls(max_parents, frozenset(required), frozenset(forbidden))

    def allowed(self, child: int, members: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Tell which parent sets of a child, one a row padded with -1, the arcs permit."""
        allowed = np.ones(len(members), np.bool_)
        for parent, to in self.required:
            if to == child:
                allowed &= (members == parent).any(axis=1)
        for parent, to in self.forbidden:
            if to == child:
                allowed &= ~(members == parent).any(axis=1)
        return allowed


class ParentSets(NamedTuple):
    """All parent sets of one child up to a size.

    Attributes
    ----------
    members
        One set a row in increasing order, padded with -1, shape (sets, largest size).
    first
        The first set of each size, shape (largest size + 2,).
    choose
        Pascal's triangle.
    """

    members: NDArray[np.int32]
    first: NDArray[np.int64]
    choose: NDArray[np.int64]


def parent_sets(n: int, child: int, max_parents: int) -> ParentSets:
    """List the parent sets of a child among ``n`` variables."""
    k = min(max_parents, n - 1)
    choose = binomials(n, k + 1)
    first = np.concatenate([[0], np.cumsum(choose[n - 1, : k + 1])]).astype(np.int64)
    members = np.full((int(first[-1]), k), -1, np.int32)
    _list_parent_sets(child, first, members)
    return ParentSets(members, first, choose)


@kernel
def _list_parent_sets(child: int, first: NDArray[np.int64], members: NDArray[np.int32]) -> None:
    for size in range(1, len(first) - 1):
        chosen = np.arange(size)
        for row in range(first[size], first[size + 1]):
            for p in range(size):
                members[row, p] = chosen[p] + (1 if chosen[p] >= child else 0)
            next_subset(chosen)


@kernel
def subset_without(sets: ParentSets, row: int, size: int, dropped: int, child: int) -> int:
    """Return the row of a parent set less its member number ``dropped``."""
    rank, place = 0, 0
    for p in range(size):
        if p != dropped:
            v = sets.members[row, p]
            place += 1
            rank += sets.choose[v - (1 if v > child else 0), place]
    return int(sets.first[size - 1] + rank)


MOST_TERMS = 2**25
"""Tabulated terms, 8 bytes each, beyond which all are evaluated when needed."""


class ScoreIncrements(NamedTuple):
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


def tabulate_increments(
    compiled: tuple[int, float, float],
    n_configurations: NDArray[np.float64],
    states: int | NDArray[np.int64],
    weights: NDArray[np.float64],
) -> ScoreIncrements:
    """Tabulate the score increments of families.

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
        return ScoreIncrements(*compiled, np.zeros((1, 0)), rows)
    counts = np.arange(int(weights.sum()) + 1, dtype=np.float64)
    if kind != BAYESIAN:
        tables = np.asarray(a * xlogy(counts, counts), np.float64)[None, :]
        return ScoreIncrements(*compiled, tables, rows)
    alphas = np.concatenate([a / (n_configurations * states), a / n_configurations])
    distinct, inverse = np.unique(alphas, return_inverse=True)
    if len(distinct) * len(counts) > MOST_TERMS:
        return ScoreIncrements(*compiled, np.zeros((1, 0)), rows)
    tables = gammaln(counts + distinct[:, None]) - gammaln(distinct[:, None])
    rows = inverse.reshape(2, -1).T.astype(np.int64)
    return ScoreIncrements(*compiled, np.asarray(tables, np.float64), np.ascontiguousarray(rows))


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
