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
from exactlearn.set_scores import Rows, Stack, Terms, set_term

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
def rank_without(
    subset: NDArray[np.int64], skip: int, skip_too: int, choose: NDArray[np.int64]
) -> int:
    """Return the colexicographic rank of a set less the elements at one or two positions."""
    rank, position = 0, 0
    for i in range(len(subset)):
        if i != skip and i != skip_too:
            position += 1
            rank += choose[subset[i], position]
    return rank


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
def _best_subset(subset: NDArray[np.int64], t: int, rules: Rules, lattice: Lattice) -> float:
    """Return the best score of an allowed proper subset of the parents of element ``t``."""
    child, best = subset[t], -np.inf
    for u in range(len(subset)):
        if u != t:
            if rules.forbidden[subset[u], child]:
                return CLOSED
            below = lattice.best[child, rank_without(subset, t, u, lattice.choose)]
            best = max(best, below)
    return best


@kernel
def _has_required(subset: NDArray[np.int64], t: int, rules: Rules) -> bool:
    found = 0
    for u in range(len(subset)):
        if rules.required[subset[u], subset[t]]:
            found += 1
    return found == rules.n_required[subset[t]]


@kernel
def _configurations(subset: NDArray[np.int64], t: int, rows: Rows) -> float:
    """Return the number of parent configurations ``q`` of element ``t``."""
    q = 1.0
    for u in range(len(subset)):
        if u != t:
            q *= rows.cardinalities[subset[u]]
    return q


@kernel
def _ceiling(subset: NDArray[np.int64], t: int, cells: int, rows: Rows, terms: Terms) -> float:
    """Bound the scores of the parents of element ``t`` and all their supersets from above.

    ``cells`` is at most the number of observed configurations of the family.
    """
    r = rows.cardinalities[subset[t]]
    if terms.kind == 0:
        return -cells * math.log(r)
    return -terms.b * _configurations(subset, t, rows) * (r - 1)


@kernel
def _entropy_closes(
    subset: NDArray[np.int64], t: int, rules: Rules, lattice: Lattice, rows: Rows, terms: Terms
) -> bool:
    """Tell whether some parent of element ``t`` has too little entropy given the others."""
    if terms.kind == 0:
        return False
    child = subset[t]
    own = lattice.terms[rank_without(subset, t, -1, lattice.choose)]
    q = _configurations(subset, t, rows)
    for u in range(len(subset)):
        if u == t or rules.required[subset[u], child]:
            continue
        r = rows.cardinalities[subset[u]]
        gain = lattice.terms_lower[rank_without(subset, t, u, lattice.choose)] - own
        cost = terms.b * (q / r) * (rows.cardinalities[child] - 1) * (r - 1)
        if gain + rules.slack <= cost:
            return True
    return False


@kernel
def _ensure_counted(
    subset: NDArray[np.int64],
    t: int,
    others: NDArray[np.int64],
    lattice: Lattice,
    rows: Rows,
    stack: Stack,
    terms: Terms,
) -> int:
    """Count the parents of element ``t`` unless done before; return the number of new tables."""
    rank = rank_without(subset, t, -1, lattice.choose)
    if not np.isnan(lattice.terms[rank]):
        return 0
    size = 0
    for u in range(len(subset)):
        if u != t:
            others[size] = subset[u]
            size += 1
    lattice.terms[rank], lattice.cells[rank] = set_term(others, rows, stack, terms)
    return 1


@kernel
def _observed(subset: NDArray[np.int64], lattice: Lattice) -> int:
    """Return the most configurations seen of any set that has one element less."""
    most = 0
    for t in range(len(subset)):
        most = max(most, lattice.cells[rank_without(subset, t, -1, lattice.choose)])
    return most


@kernel
def _emit(subset: NDArray[np.int64], t: int, score: float, found: Found) -> None:
    row, column = found.numbers[0], 0
    found.child[row], found.scores[row] = subset[t], score
    for u in range(len(subset)):
        if u != t:
            found.parents[row, column] = subset[u]
            column += 1
    found.numbers[0] += 1


@kernel
def _score(
    subset: NDArray[np.int64], t: int, term: float, lattice: Lattice, rows: Rows, terms: Terms
) -> float:
    difference = term - lattice.terms[rank_without(subset, t, -1, lattice.choose)]
    if terms.kind == 0:
        return difference
    r = rows.cardinalities[subset[t]]
    return difference - terms.b * _configurations(subset, t, rows) * (r - 1)


@kernel
def _is_wanted(
    subset: NDArray[np.int64],
    t: int,
    best: NDArray[np.float64],
    cells: int,
    others: NDArray[np.int64],
    rules: Rules,
    lattice: Lattice,
    rows: Rows,
    stack: Stack,
    terms: Terms,
    numbers: NDArray[np.int64],
) -> bool:
    """Tell whether to score element ``t`` given the rest; note ``best``, or that it is closed."""
    best[t] = _best_subset(subset, t, rules, lattice) if len(subset) > 1 else -np.inf
    if best[t] == CLOSED:
        return False
    if rules.prune and _ceiling(subset, t, cells, rows, terms) + rules.slack <= best[t]:
        best[t] = CLOSED
        return False
    if not _has_required(subset, t, rules):
        return False
    if len(subset) > 1:
        numbers[2] += _ensure_counted(subset, t, others, lattice, rows, stack, terms)
        if rules.prune and _entropy_closes(subset, t, rules, lattice, rows, terms):
            best[t] = CLOSED
            return False
    return True


@kernel
def _settle(
    subset: NDArray[np.int64],
    t: int,
    best: NDArray[np.float64],
    term: float,
    cells: int,
    rules: Rules,
    lattice: Lattice,
    rows: Rows,
    terms: Terms,
    found: Found,
) -> None:
    """Score element ``t`` given the rest, keep it unless dominated, and close it if possible."""
    score = _score(subset, t, term, lattice, rows, terms)
    if score > best[t] or not rules.prune:
        _emit(subset, t, score, found)
    best[t] = max(best[t], score)
    if rules.prune and _ceiling(subset, t, cells, rows, terms) + rules.slack <= best[t]:
        best[t] = CLOSED


@kernel
def score_block(
    subset: NDArray[np.int64],
    start: int,
    stop: int,
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
    subset
        Scratch space, shape (m + 1,): families have ``m`` parents.
    start, stop
        Range of colexicographic ranks.
    rules, lattice, rows, stack, parent_stack, terms
        See the classes; the lattice's arrays are read below and written at this size.
    found
        Receives the candidates that no subset dominates, and adds up the numbers of candidates,
        of families that are not closed, and of tables counted.
    """
    size, last = len(subset), len(lattice.terms_upper) == 0
    best, wanted = np.empty(size), np.empty(size, np.bool_)
    others = np.empty(size - 1, np.int64)
    first_subset(start, subset, lattice.choose)
    for rank in range(start, stop):
        cells = _observed(subset, lattice) if terms.kind == 0 and rules.prune else 0
        for t in range(size):
            wanted[t] = _is_wanted(
                subset,
                t,
                best,
                cells,
                others,
                rules,
                lattice,
                rows,
                parent_stack,
                terms,
                found.numbers,
            )
        if wanted.any():
            term, cells = set_term(subset, rows, stack, terms)
            found.numbers[2] += 1
            if not last:
                lattice.terms_upper[rank], lattice.cells_upper[rank] = term, cells
            for t in range(size):
                if wanted[t]:
                    _settle(subset, t, best, term, cells, rules, lattice, rows, terms, found)
        for t in range(size):
            found.numbers[1] += best[t] < CLOSED
            if not last:
                set_rank = rank_without(subset, t, -1, lattice.choose)
                lattice.best_upper[subset[t], set_rank] = best[t]
        next_subset(subset)
