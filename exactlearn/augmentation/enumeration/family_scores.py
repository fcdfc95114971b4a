"""Score every family under every completion of its columns, and keep what is not dominated.

A candidate ``(X, PA, Z)`` is useless when some ``PA'`` inside ``PA``, with the completion ``Z``
restricted to the columns of ``X`` and ``PA'``, scores at least as well: swapping it in keeps the
graph acyclic and every cell's value (theorem *Dominance*, docs/theory/augmentation.md). Completions
are combinations of the columns' options, the last column's option running fastest.

A family's score is a difference of two sums, over the tables of the set of all its variables and of
its parents (:mod:`exactlearn.scoring.incremental_tables`). So these sums are found once for each
set and completion, which costs only the rows in which it differs from the base completion.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.augmentation.families import ParentSets, subset_without
from exactlearn.scoring.incremental_tables import Rows, Sets, cell_of, tabulate
from exactlearn.scoring.terms import Terms, rise
from exactlearn.solvers.problem import offsets


class Options(NamedTuple):
    """The options of all columns as arrays, see :class:`.linked_program.Columns`.

    Attributes
    ----------
    first, counts
        Where each variable's options begin, and their number.
    deviation_first, deviation_row, deviation_value
        The cells where each option differs from the base.
    """

    first: NDArray[np.int64]
    counts: NDArray[np.int64]
    deviation_first: NDArray[np.int64]
    deviation_row: NDArray[np.int64]
    deviation_value: NDArray[np.int16]


@in_place_kernel
def rank_without(
    dropped: int,
    count: int,
    columns: NDArray[np.int64],
    digits: NDArray[np.int64],
    options: Options,
) -> int:
    """Rank a combination, one column left out, among those of the smaller family."""
    rank = 0
    for p in range(count):
        if p != dropped:
            rank = rank * options.counts[columns[p]] + digits[p]
    return rank


@in_place_kernel
def next_combination(
    columns: NDArray[np.integer], digits: NDArray[np.int64], options: Options
) -> bool:
    """Step to the next combination for columns padded with -1; return whether there is one."""
    for p in range(len(columns) - 1, -1, -1):
        if columns[p] >= 0 and digits[p] + 1 < options.counts[columns[p]]:
            digits[p] += 1
            return True
        digits[p] = 0
    return False


@kernel
def combinations_at(
    ranks: NDArray[np.int64],
    child: int,
    members: NDArray[np.int32],
    combination_first: NDArray[np.int64],
    options: Options,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the parent set and the options (ranks, largest size + 1) of combinations; -1 pads.

    ``ranks`` are increasing and count through all parent sets of the child.
    """
    k = members.shape[1]
    sets = np.zeros(len(ranks), np.int64)
    found = np.full((len(ranks), k + 1), -1, np.int64)
    f = 0
    for c in range(len(ranks)):
        while ranks[c] >= combination_first[f + 1]:
            f += 1
        sets[c] = f
        rest = ranks[c] - combination_first[f]
        for p in range(k, -1, -1):
            v = members[f, p - 1] if p else child
            if v >= 0:
                found[c, p] = options.first[v] + rest % options.counts[v]
                rest //= options.counts[v]
    return sets, found


TIE = 1e-10
"""A subset within this of a set's score dominates it: sums in another order differ by less."""


AT_ONCE = 2**22
"""Cells of the tables of several sets that are counted together, about."""


class Completed(NamedTuple):
    """Sums over the tables of sets under all combinations of their columns' options.

    Attributes
    ----------
    first, sums
        Where each set's combinations begin, shape (sets + 1,), and the sum of each.
    """

    first: NDArray[np.int64]
    sums: NDArray[np.float64]


def sums_of_completions(
    rows: Rows,
    members: NDArray[np.int32],
    forms: NDArray[np.int64],
    terms: Terms,
    options: Options,
) -> Completed:
    """Sum the score's functions over the tables of sets under all completions.

    Parameters
    ----------
    rows, members, forms, terms
        As :func:`.incremental_tables.tabulate` takes them; the rows have the base completion.
    options
        The columns' options.
    """
    present = members >= 0
    first = offsets(np.where(present, options.counts[members], 1).prod(axis=1))
    cells = np.where(present, rows.cardinalities[members], 1).prod(axis=1)
    piece = np.cumsum(cells) // AT_ONCE
    sums = np.empty(int(first[-1]))
    for own in np.split(np.arange(len(members)), np.flatnonzero(np.diff(piece)) + 1):
        sets = tabulate(rows, members[own], forms[own], terms)
        _sum_completions(sets, rows, options, sums[first[own[0]] : first[own[-1] + 1]])
    return Completed(first, sums)


class Moved(NamedTuple):
    """The rows that a completion changes, and the cells that all rows are in before and after.

    Attributes
    ----------
    rows, is_moved
        These rows, and whether each row is one of them, shapes (rows,).
    before, after
        The cell of each, shapes (rows,).
    """

    rows: NDArray[np.int64]
    is_moved: NDArray[np.bool_]
    before: NDArray[np.int64]
    after: NDArray[np.int64]


@kernel
def _sum_completions(sets: Sets, rows: Rows, options: Options, sums: NDArray[np.float64]) -> None:
    """Fill in the sum over each set's table under each combination of its columns' options."""
    n, at = len(rows.weights), 0
    moved = Moved(
        np.zeros(n, np.int64), np.zeros(n, np.bool_), np.zeros(n, np.int64), np.zeros(n, np.int64)
    )
    digits = np.zeros(sets.members.shape[1], np.int64)
    for s in range(len(sets.members)):
        more = True
        while more:
            n_moved = _move_rows(sets, s, rows, digits, options, moved)
            sums[at] = sets.values[s] + _rise_moved(sets, s, rows, n_moved, moved)
            at += 1
            more = next_combination(sets.members[s], digits, options)


@in_place_kernel
def _move_rows(
    sets: Sets, s: int, rows: Rows, digits: NDArray[np.int64], options: Options, moved: Moved
) -> int:
    """Find the rows that a combination of options changes and where they go; return how many."""
    count = 0
    for p in range(len(digits)):
        v = sets.members[s, p]
        if v < 0:
            break
        o = options.first[v] + digits[p]
        for d in range(options.deviation_first[o], options.deviation_first[o + 1]):
            u = options.deviation_row[d]
            if not moved.is_moved[u]:
                moved.rows[count], moved.is_moved[u] = u, True
                moved.before[u] = moved.after[u] = cell_of(sets, s, rows.codes, u)
                count += 1
            moved.after[u] += sets.strides[s, p] * (options.deviation_value[d] - rows.codes[u, v])
    return count


@in_place_kernel
def _rise_moved(sets: Sets, s: int, rows: Rows, count: int, moved: Moved) -> float:
    """Return by how much a set's sum rises when rows move; leave the table as it was."""
    change, cells, f = 0.0, sets.cells, sets.function[s]
    for t in range(count):
        u = moved.rows[t]
        w, here, there = rows.weights[u], moved.before[u], moved.after[u]
        change += rise(sets.functions, f, cells[here], -w)
        cells[here] -= w
        change += rise(sets.functions, f, cells[there], w)
        cells[there] += w
    for t in range(count):
        u = moved.rows[t]
        cells[moved.after[u]] -= rows.weights[u]
        cells[moved.before[u]] += rows.weights[u]
        moved.is_moved[u] = False
    return change


class ChildFamilies(NamedTuple):
    """The families of one child, in the order of its parent sets.

    Attributes
    ----------
    child, sets
        The child and its parent sets.
    family, parents
        The set of all variables of each, and that of its parents, in :class:`Completed`.
    penalty, allowed
        The penalty of each, and whether it may be a candidate.
    """

    child: int
    sets: ParentSets
    family: NDArray[np.int32]
    parents: NDArray[np.int32]
    penalty: NDArray[np.float64]
    allowed: NDArray[np.bool_]


@in_place_kernel
def _lay_out(
    families: ChildFamilies,
    f: int,
    options: Options,
    columns: NDArray[np.int64],
    places: NDArray[np.int64],
) -> int:
    """Fill in a family's columns, child first, and return their number.

    ``places`` receives what each column's option adds to the number of the set's combination: the
    set's columns increase.
    """
    members = families.sets.members
    columns[:] = -1
    columns[0], count = families.child, 1
    while count < len(columns) and members[f, count - 1] >= 0:
        columns[count] = members[f, count - 1]
        count += 1
    for p in range(count):
        places[p] = 1
        for o in range(count):
            if columns[o] > columns[p]:
                places[p] *= options.counts[columns[o]]
    return count


@kernel
def score_completions(
    families: ChildFamilies,
    completed: Completed,
    options: Options,
    combination_first: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Score all parent sets of one child under all combinations of their columns' options.

    Parameters
    ----------
    families
        The child's families.
    completed
        The sums over their sets' tables.
    options
        The columns' options.
    combination_first
        Where each parent set's combinations begin, shape (sets + 1,).

    Returns
    -------
    scores, keep
        Score of every combination, and whether it is allowed and not dominated.
    """
    child, sets, allowed = families.child, families.sets, families.allowed
    width, total = sets.members.shape[1] + 1, combination_first[len(sets.members)]
    scores, best, keep = np.empty(total), np.empty(total), np.zeros(total, np.bool_)
    columns, digits = np.zeros(width, np.int64), np.zeros(width, np.int64)
    places, subset = np.zeros(width, np.int64), np.zeros(width, np.int64)
    for f in range(len(sets.members)):
        # the subsets that may dominate
        count = _lay_out(families, f, options, columns, places)
        for p in range(1, count):
            subset[p] = subset_without(sets, f, count - 1, p - 1, child)
        more, index = True, combination_first[f]
        while more:
            # the score, from the sums over two sets
            number = completed.first[families.family[f]]
            for p in range(count):
                number += digits[p] * places[p]
            others = rank_without(0, count, columns, digits, options)
            own = completed.sums[completed.first[families.parents[f]] + others]
            score = completed.sums[number] - own - families.penalty[f]
            # the best of the subsets
            beaten = -np.inf
            for p in range(1, count):
                rank = rank_without(p, count, columns, digits, options)
                beaten = max(beaten, best[combination_first[subset[p]] + rank])
            scores[index] = score
            keep[index] = allowed[f] and score > beaten + TIE
            best[index] = max(beaten, score) if allowed[f] else beaten
            index += 1
            more = next_combination(columns, digits, options)
    return scores, keep
