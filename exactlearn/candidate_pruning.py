"""Scoring the lattice of parent sets level by level, skipping what a subset dominates.

A parent set is *dominated* when a proper subset scores at least as well: it never needs to be
chosen. It is *closed* when every allowed superset is dominated too; closed branches are never
counted. A family ``(x, P)`` is found closed by any of these bounds. Let ``best`` be the highest
score of an allowed subset of ``P``.

Penalty (de Campos and Ji 2011, "Efficient structure learning of Bayesian networks using
constraints", Lemma 3 for BIC and AIC). Log-likelihoods are at most 0 and ``q`` grows with the
parents, so every superset scores at most ``-b q_P (r_x - 1)``; closed if that is at most ``best``.

Entropy (de Campos, Scanagatta, Corani and Zaffalon 2018, "Entropy-based pruning for learning
Bayesian networks using BIC"). For ``y`` in ``P`` and ``P' = P - y``, adding ``y`` to any superset
``Q`` of ``P'`` gains ``N I(x; y | Q) <= N H(y | Q) <= N H(y | P')`` of log-likelihood and costs at
least ``b q_P' (r_x - 1) (r_y - 1)``. If the cost is at least the gain, any superset of ``P`` is
dominated by itself without ``y``, which is allowed unless the arc from ``y`` is required.

Distinct cells (de Campos and Ji 2011 with distinct parent configurations; Correia, Cussens and
de Campos 2020, "On pruning for score-based Bayesian network structure learning", with distinct
family configurations). BDeu is the log-probability of the child's sequence under a Polya urn for
each parent configuration. There, the first draw of a state after ``i`` others has probability
``(alpha / r) / (alpha + i) <= 1 / r``, and no draw's exceeds 1: a family with ``K`` observed
configurations of ``P + x`` scores at most ``-K log r_x``. ``K`` only grows with ``P``, and is at
least the ``K`` of every set inside ``P + x``.

Comparisons with a bound leave ``slack`` for rounding, so pruning changes nothing but the time.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel
from exactlearn.set_scores import Rows, Stack, Terms, n_cells, set_term

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
def _rank_without(
    subset: NDArray[np.int64], skip: int, skip_too: int, choose: NDArray[np.int64]
) -> int:
    rank, position = 0, 0
    for i in range(len(subset)):
        if i != skip and i != skip_too:
            position += 1
            rank += choose[subset[i], position]
    return rank


@kernel
def _rank_smaller(
    subset: NDArray[np.int64],
    choose: NDArray[np.int64],
    less_one: NDArray[np.int64],
    less_two: NDArray[np.int64],
) -> None:
    for t in range(len(subset)):
        less_one[t] = _rank_without(subset, t, t, choose)
        for u in range(t):
            less_two[t, u] = less_two[u, t] = _rank_without(subset, t, u, choose)


@kernel
def first_subset(rank: int, subset: NDArray[np.int64], choose: NDArray[np.int64]) -> None:
    """Write the set of a colexicographic rank."""
    top = choose.shape[0] - 1
    for position in range(len(subset), 0, -1):
        while choose[top, position] > rank:
            top -= 1
        subset[position - 1] = top
        rank -= choose[top, position]


@kernel
def next_subset(subset: NDArray[np.int64]) -> None:
    """Step to the next set in colexicographic order."""
    i = 0
    while i + 1 < len(subset) and subset[i] + 1 == subset[i + 1]:
        subset[i] = i
        i += 1
    subset[i] += 1


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
def _ceiling(kind: int, b: float, q: float, r: int, cells: int) -> float:
    """Bound the scores of a family and of all its supersets from above.

    ``cells`` is at most the number of observed configurations of the family.
    """
    return -cells * math.log(r) if kind == 0 else -b * q * (r - 1)


@kernel
def _entropy_closes(
    subset: NDArray[np.int64],
    t: int,
    own: float,
    cost: float,
    slack: float,
    required: NDArray[np.bool_],
    cardinalities: NDArray[np.int64],
    terms_lower: NDArray[np.float64],
    less_two: NDArray[np.int64],
) -> bool:
    """Tell whether some parent has too little entropy given the others.

    ``own`` is the parents' term and ``cost`` the penalty of the family.
    """
    for u in range(len(subset)):
        if u != t and not required[subset[u], subset[t]]:
            r = cardinalities[subset[u]]
            gain = terms_lower[less_two[t, u]] - own
            if gain + slack <= cost * (r - 1) / r:
                return True
    return False


@kernel
def _without(subset: NDArray[np.int64], t: int) -> NDArray[np.int64]:
    others = np.empty(len(subset) - 1, np.int64)
    others[:t], others[t:] = subset[:t], subset[t + 1 :]
    return others


@kernel
def _observed(less_one: NDArray[np.int64], cells: NDArray[np.int64]) -> int:
    """Return the most configurations seen of any set that has one element less."""
    most = 0
    for t in range(len(less_one)):
        most = max(most, int(cells[less_one[t]]))
    return most


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
        cells = _observed(less_one, set_cells)
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
            if prune and _ceiling(kind, b, space / r, r, cells) + slack <= best[t]:
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
                if _entropy_closes(
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
                if prune and _ceiling(kind, b, space / r, r, cells) + slack <= best[t]:
                    best[t] = CLOSED
        for t in range(size):
            numbers[1] += best[t] < CLOSED
            if not last:
                upper[subset[t], less_one[t]] = best[t]
        next_subset(subset)
