"""Scoring the lattice of parent sets, one size after another, without what a subset dominates.

Sets of one size are visited in colexicographic order, so that consecutive sets differ in their
first elements. A family is looked at when all those with one parent less are open
(:mod:`exactlearn.scoring.candidate_level`); branches that the bounds of
:mod:`exactlearn.scoring.set_scores` close are neither counted nor entered.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import find_row, ranks_without_one
from exactlearn._runtime.kernel import in_place_kernel, kernel, overwrite
from exactlearn.scoring.candidate_level import Kept, Level, bits_below
from exactlearn.scoring.set_scores import ceiling, lacks_entropy, set_sums
from exactlearn.scoring.set_tables import Rows, Stack, n_cells
from exactlearn.scoring.terms import Terms
from exactlearn.scoring.terms import find as find_size


class Rules(NamedTuple):
    """What is allowed, and whether to prune: arcs as (parent, child) matrices."""

    required: NDArray[np.bool_]
    forbidden: NDArray[np.bool_]
    n_required: NDArray[np.int64]
    prune: bool
    slack: float


class Lattice(NamedTuple):
    """The two levels below the sets that are scored, and whether those are the last ones."""

    choose: NDArray[np.int64]
    lower: Level
    level: Level
    last: bool


class Joined(NamedTuple):
    """Sets to be scored, and which of their families, by element, the sets joined leave open."""

    sets: NDArray[np.int32]
    families: NDArray[np.int64]


class Scratch(NamedTuple):
    """Scratch space of one thread: stacks for sets and for parent sets, and some sets' sums."""

    stack: Stack
    parent_stack: Stack
    keys: NDArray[np.int64]
    sums: NDArray[np.float64]


class Found(NamedTuple):
    """Buffers for one block: its candidates, the sets it keeps, and its numbers.

    The numbers are those of candidates, kept sets, open families and tables counted.
    """

    child: NDArray[np.int32]
    parents: NDArray[np.int32]
    scores: NDArray[np.float64]
    kept: Kept
    numbers: NDArray[np.int64]


@in_place_kernel
def _leave_out(subset: NDArray[np.int64], t: int, others: NDArray[np.int64]) -> None:
    for u in range(len(others)):
        others[u] = subset[u + (u >= t)]


@in_place_kernel
def _has_required(
    subset: NDArray[np.int64], t: int, required: NDArray[np.bool_], n_required: int
) -> bool:
    for u in range(len(subset)):
        n_required -= required[subset[u], subset[t]]
    return n_required == 0


@in_place_kernel
def _find_smaller(
    families: int,
    ranks: NDArray[np.int64],
    level: Level,
    nodes: NDArray[np.int64],
) -> int:
    """Find the rows of the set less one element; return which families none of them closes."""
    for u in range(len(ranks)):
        node = find_row(level.slots, level.ranks, ranks, u)
        nodes[u] = node
        inside = 0 if node < 0 else level.open[node]
        families &= (inside & ((1 << u) - 1)) | (inside >> u << (u + 1)) | (1 << u)
        if families == 0:
            break
    return families


@in_place_kernel
def _best_subset(
    t: int,
    nodes: NDArray[np.int64],
    open_: NDArray[np.int64],
    first: NDArray[np.int64],
    known: NDArray[np.float64],
) -> float:
    """Return the best score of an allowed proper subset of the parents of element ``t``."""
    highest = -math.inf
    for u in range(len(nodes)):
        if u != t:
            place = first[nodes[u]] + bits_below(open_[nodes[u]], t - (t > u))
            highest = max(highest, float(known[place]))
    return highest


@in_place_kernel
def _entropy_closes(
    others: NDArray[np.int64],
    own: float,
    cost: float,
    slack: float,
    required: NDArray[np.bool_],
    cardinalities: NDArray[np.int64],
    choose: NDArray[np.int64],
    lower: Level,
    ranks: NDArray[np.int64],
) -> bool:
    """Return whether one of the parents has too little entropy given the others.

    ``own`` is the parents' sum, ``required`` says which variables are required parents, and
    ``ranks`` is scratch space.
    """
    ranks_without_one(others, choose, ranks)
    for u in range(len(others)):
        if not required[others[u]]:
            node = find_row(lower.slots, lower.ranks, ranks, u)
            if node >= 0 and lacks_entropy(
                lower.sums[node, 0] - own, cost, cardinalities[others[u]], slack
            ):
                return True
    return False


@in_place_kernel
def _emit(subset: NDArray[np.int64], t: int, score: float, found: Found) -> None:
    row = found.numbers[0]
    found.child[row], found.scores[row] = subset[t], score
    for u in range(len(subset) - 1):
        found.parents[row, u] = subset[u + (u >= t)]
    found.numbers[0] += 1


@in_place_kernel
def _keep(
    subset: NDArray[np.int64],
    rank: int,
    sums: NDArray[np.float64],
    cells: float,
    families: int,
    best: NDArray[np.float64],
    kept: Kept,
    numbers: NDArray[np.int64],
) -> None:
    """Write a set to the next level."""
    row = numbers[1]
    kept.ranks[row] = rank
    kept.cells[row], kept.open[row] = cells, families
    overwrite(kept.sums[row], sums)
    for t in range(len(subset)):
        kept.sets[row, t] = subset[t]
        if families >> t & 1:
            kept.best[numbers[2]] = best[t]
            numbers[2] += 1
    numbers[1] += 1


@kernel
def score_sets(
    joined: Joined,
    rules: Rules,
    lattice: Lattice,
    rows: Rows,
    scratch: Scratch,
    terms: Terms,
    found: Found,
) -> None:
    """Score those families of the joined sets that are not closed.

    Parameters
    ----------
    joined, rules, lattice, rows, scratch, terms
        See the classes.
    found
        Receives the candidates that no subset dominates, and the sets of the next level.
    """
    required, forbidden, n_required, prune, slack = rules
    choose, lower, level, last = lattice
    sizes, cardinalities, rate, sums = (
        terms.sizes,
        rows.cardinalities,
        terms.rate,
        np.empty(terms.function.shape[1]),
    )
    numbers, size = found.numbers, joined.sets.shape[1]
    best, own = np.empty(size), np.empty(size)
    ranks, nodes = np.zeros((size, 1), np.int64), np.zeros(size, np.int64)
    subset, others = np.empty(size, np.int64), np.empty(size - 1, np.int64)
    lower_ranks = np.zeros((size, 1), np.int64)
    for row in range(len(joined.families)):
        # The families of the set that no smaller set closes.
        overwrite(subset, joined.sets[row])
        rank = ranks_without_one(subset, choose, ranks)
        families = _find_smaller(joined.families[row], ranks, level, nodes)
        if families == 0:
            continue
        size_at = find_size(sizes, n_cells(subset, cardinalities))
        cells = 0.0
        for u in range(size):
            if nodes[u] >= 0:
                cells = max(cells, float(level.cells[nodes[u]]))
        # Bounds: which of these families need the table of the set.
        wanted = 0
        for t in range(size):
            if families >> t & 1 == 0:
                continue
            child = subset[t]
            r = cardinalities[child]
            best[t] = _best_subset(t, nodes, level.open, level.first, level.best)
            if size == 2 and forbidden[subset[1 - t], child]:
                families &= ~(1 << t)
                continue
            penalty = terms.penalty[size_at, r]
            if prune and ceiling(rate[r], penalty, cells) + slack <= best[t]:
                families &= ~(1 << t)
                continue
            if n_required[child] and not _has_required(subset, t, required, n_required[child]):
                continue
            _leave_out(subset, t, others)
            node = nodes[t]
            form = terms.configuration[r]
            own[t] = level.sums[node, form] if node >= 0 else np.nan
            if np.isnan(own[t]):
                slot = ranks[t, 0] & (len(scratch.keys) - 1)
                if scratch.keys[slot] != ranks[t, 0]:
                    parents_at = find_size(sizes, n_cells(others, cardinalities))
                    set_sums(
                        others,
                        rows,
                        scratch.parent_stack,
                        terms.functions,
                        terms.function[parents_at],
                        scratch.sums[slot],
                    )
                    scratch.keys[slot] = ranks[t, 0]
                    numbers[3] += 1
                own[t] = scratch.sums[slot, form]
            if (
                prune
                and terms.has_entropy
                and _entropy_closes(
                    others,
                    own[t],
                    penalty,
                    slack,
                    required[:, child],
                    cardinalities,
                    choose,
                    lower,
                    lower_ranks,
                )
            ):
                families &= ~(1 << t)
                continue
            wanted |= 1 << t
        # Scores of those, from one table.
        cells = 0.0
        sums[:] = np.nan
        if wanted:
            functions, chosen = terms.functions, terms.function[size_at]
            cells = set_sums(subset, rows, scratch.stack, functions, chosen, sums)
            numbers[3] += 1
        for t in range(size):
            if wanted >> t & 1 == 0:
                continue
            r = cardinalities[subset[t]]
            score = sums[terms.cell[r]] - own[t] - terms.penalty[size_at, r]
            if score > best[t] or not prune:
                _emit(subset, t, score, found)
            best[t] = max(best[t], score)
            above = terms.least_penalty[size_at, r]
            if prune and ceiling(rate[r], above, cells) + slack <= best[t]:
                families &= ~(1 << t)
        # The set stays for the next level while some family is open.
        if not last and (families or wanted):
            _keep(subset, rank, sums, cells, families, best, found.kept, numbers)
