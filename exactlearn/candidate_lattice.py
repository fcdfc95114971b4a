"""Scoring the lattice of parent sets, one size after another, without what a subset dominates.

Sets of variables of one size are visited in colexicographic order, so that their rank is their
place in an array and consecutive sets differ in their first elements. Branches that the bounds of
:mod:`exactlearn.candidate_pruning` close are neither counted nor entered.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.candidate_pruning import ceiling, entropy_closes, observed
from exactlearn.colexicographic import first_subset, next_subset, rank_without
from exactlearn.kernel import kernel
from exactlearn.set_scores import Terms, set_term
from exactlearn.set_tables import Rows, Stack, n_cells

CLOSED = math.inf
"""Stands in place of the best score of a closed family; nothing exceeds it."""


class Rules(NamedTuple):
    """What is allowed, and whether to prune: arcs as (parent, child) matrices."""

    required: NDArray[np.bool_]
    forbidden: NDArray[np.bool_]
    n_required: NDArray[np.int64]
    prune: bool
    slack: float


class Lattice(NamedTuple):
    """Results for the sets of a few consecutive sizes, by colexicographic rank.

    With ``m`` the current number of parents: ``terms_lower`` belongs to sets of ``m - 1``
    variables, ``terms`` and ``cells`` to ``m`` (not-a-number and 0 where not counted),
    ``terms_upper`` and ``cells_upper`` to ``m + 1``. ``best`` and ``best_upper`` hold, by child,
    the best score of an allowed subset of each parent set of size ``m - 1`` and ``m``. The upper
    arrays are empty at the last level.
    """

    choose: NDArray[np.int64]
    terms_lower: NDArray[np.float64]
    terms: NDArray[np.float64]
    cells: NDArray[np.int64]
    terms_upper: NDArray[np.float64]
    cells_upper: NDArray[np.int64]
    best: NDArray[np.float64]
    best_upper: NDArray[np.float64]


class Found(NamedTuple):
    """Buffers for the candidates of one block, and its numbers (candidates, open, counted)."""

    child: NDArray[np.int32]
    parents: NDArray[np.int32]
    scores: NDArray[np.float64]
    numbers: NDArray[np.int64]


@kernel
def _rank_smaller(
    subset: NDArray[np.int64],
    choose: NDArray[np.int64],
    less_one: NDArray[np.int64],
    less_two: NDArray[np.int64],
) -> None:
    for t in range(len(subset)):
        less_one[t] = rank_without(subset, t, t, choose)
        for u in range(t):
            less_two[t, u] = less_two[u, t] = rank_without(subset, t, u, choose)


@kernel
def _best_subset(
    subset: NDArray[np.int64],
    t: int,
    forbidden: NDArray[np.bool_],
    best: NDArray[np.float64],
    less_two: NDArray[np.int64],
) -> float:
    """Return the best score of an allowed proper subset of the parents of element ``t``."""
    child = subset[t]
    highest = -math.inf
    for u in range(len(subset)):
        if u != t:
            if forbidden[subset[u], child]:
                return CLOSED
            highest = max(highest, float(best[child, less_two[t, u]]))
    return highest


@kernel
def _has_required(
    subset: NDArray[np.int64], t: int, required: NDArray[np.bool_], n_required: int
) -> bool:
    for u in range(len(subset)):
        n_required -= required[subset[u], subset[t]]
    return n_required == 0


@kernel
def _without(subset: NDArray[np.int64], t: int) -> NDArray[np.int64]:
    others = np.empty(len(subset) - 1, np.int64)
    for u in range(len(others)):
        others[u] = subset[u + (u >= t)]
    return others


@kernel
def _emit(subset: NDArray[np.int64], t: int, score: float, found: Found) -> None:
    row = found.numbers[0]
    found.child[row], found.scores[row] = subset[t], score
    for u in range(len(subset) - 1):
        found.parents[row, u] = subset[u + (u >= t)]
    found.numbers[0] += 1


@kernel
def score_block(
    start: int,
    stop: int,
    size: int,
    rules: Rules,
    lattice: Lattice,
    rows: Rows,
    stack: Stack,
    parent_stack: Stack,
    terms: Terms,
    found: Found,
) -> None:
    """Score all families of the sets of one size with ranks ``start`` to ``stop - 1``.

    Parameters
    ----------
    start, stop
        Range of colexicographic ranks.
    size
        Number of variables of each set: families have one parent less.
    rules, lattice, rows, stack, parent_stack, terms
        See the classes; the lattice's arrays are read below and written at this size.
    found
        Receives the candidates that no subset dominates, and adds up the numbers of candidates,
        of families that are not closed, and of tables counted.
    """
    required, forbidden, n_required, prune, slack = rules
    choose, terms_lower, set_terms, set_cells, terms_upper, cells_upper, lower, upper = lattice
    cardinalities, kind, b = rows.cardinalities, terms.kind, terms.b
    numbers = found.numbers
    last = len(terms_upper) == 0
    subset = np.empty(size, np.int64)
    best, wanted = np.empty(size), np.empty(size, np.bool_)
    less_one, less_two = np.zeros(size, np.int64), np.zeros((size, size), np.int64)
    first_subset(start, subset, choose)
    for rank in range(start, stop):
        _rank_smaller(subset, choose, less_one, less_two)
        cells = observed(less_one, set_cells)
        space = n_cells(subset, cardinalities)
        needed = False
        for t in range(size):
            child = subset[t]
            r = cardinalities[child]
            wanted[t], best[t] = False, -np.inf
            if size > 1:
                best[t] = _best_subset(subset, t, forbidden, lower, less_two)
            if best[t] == CLOSED:
                continue
            if prune and ceiling(kind, b, space / r, r, cells) + slack <= best[t]:
                best[t] = CLOSED
                continue
            if n_required[child] and not _has_required(subset, t, required, n_required[child]):
                continue
            own = less_one[t]
            if np.isnan(set_terms[own]):
                others = _without(subset, t)
                set_terms[own], set_cells[own] = set_term(others, rows, parent_stack, terms)
                numbers[2] += 1
            if prune and kind == 1:
                cost = b * (space / r) * (r - 1)
                if entropy_closes(
                    subset,
                    t,
                    set_terms[own],
                    cost,
                    slack,
                    required,
                    cardinalities,
                    terms_lower,
                    less_two,
                ):
                    best[t] = CLOSED
                    continue
            wanted[t] = needed = True
        if needed:
            term, cells = set_term(subset, rows, stack, terms)
            numbers[2] += 1
            if not last:
                terms_upper[rank], cells_upper[rank] = term, cells
            for t in range(size):
                if not wanted[t]:
                    continue
                r = cardinalities[subset[t]]
                score = term - set_terms[less_one[t]]
                if kind == 1:
                    score -= b * (space / r) * (r - 1)
                if score > best[t] or not prune:
                    _emit(subset, t, score, found)
                best[t] = max(best[t], score)
                if prune and ceiling(kind, b, space / r, r, cells) + slack <= best[t]:
                    best[t] = CLOSED
        for t in range(size):
            numbers[1] += best[t] < CLOSED
            if not last:
                upper[subset[t], less_one[t]] = best[t]
        next_subset(subset)
