"""Score every family under every completion of its columns, and keep what is not dominated.

A candidate ``(X, PA, Z)`` is useless when some ``PA'`` inside ``PA``, with the completion ``Z``
restricted to the columns of ``X`` and ``PA'``, scores at least as well: swapping it in keeps the
graph acyclic and every cell's value (theorem *Dominance*, docs/theory/augmentation.md). Completions
are combinations of the columns' options, the last column's option running fastest. A completion
costs only the rows in which it differs from the base completion.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.augmentation.families import FamilyTerms, ParentSets, increment, subset_without


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
    columns: NDArray[np.int64], count: int, digits: NDArray[np.int64], options: Options
) -> bool:
    """Step to the next combination; tell whether there is one."""
    for p in range(count - 1, -1, -1):
        if digits[p] + 1 < options.counts[columns[p]]:
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


class Table(NamedTuple):
    """The base completion (variables, rows), the weights of the rows, the numbers of states."""

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    cardinalities: NDArray[np.int64]


class Family(NamedTuple):
    """The columns of one family, child first, with what its rows count in.

    Attributes
    ----------
    columns, strides
        Variables, and what each parent's state adds to the configuration's number.
    """

    columns: NDArray[np.int64]
    strides: NDArray[np.int64]


class Counts(NamedTuple):
    """The contingency table of a family and where each row stands in it.

    Attributes
    ----------
    cells, sums
        Weight of each (configuration, state) and of each configuration.
    configuration
        Each row's configuration under the base completion.
    moved, moved_state
        The same, and the child's state, under the completion at hand, for the rows in ``touched``.
    touched, is_touched
        The rows that the completion at hand changes.
    """

    cells: NDArray[np.float64]
    sums: NDArray[np.float64]
    configuration: NDArray[np.int64]
    moved: NDArray[np.int64]
    moved_state: NDArray[np.int64]
    touched: NDArray[np.int64]
    is_touched: NDArray[np.bool_]


@in_place_kernel
def _lay_out(
    f: int, child: int, sets: ParentSets, table: Table, terms: FamilyTerms, family: Family
) -> tuple[int, float]:
    """Fill in a family's columns; return their number and the score of no rows at all."""
    count, q = 1, 1
    family.columns[0] = child
    while count <= sets.members.shape[1] and sets.members[f, count - 1] >= 0:
        v = sets.members[f, count - 1]
        family.columns[count] = v
        family.strides[count] = q
        q *= table.cardinalities[v]
        count += 1
    return count, -terms.penalty[f]


@in_place_kernel
def _add_row(
    j: int,
    state: int,
    w: float,
    r: int,
    f: int,
    counts: Counts,
    terms: FamilyTerms,
) -> float:
    """Add a row's weight (or take it away, if negative); return the change of the score."""
    cell = j * r + state
    cell_function, configuration_function = terms.rows[f, 0], terms.rows[f, 1]
    change = increment(
        terms.functions,
        cell_function,
        configuration_function,
        counts.cells[cell],
        counts.sums[j],
        w,
    )
    counts.cells[cell] += w
    counts.sums[j] += w
    return change


@in_place_kernel
def _count_base(
    f: int, count: int, family: Family, table: Table, counts: Counts, terms: FamilyTerms
) -> float:
    """Count all rows under the base completion; return the score they add."""
    child = family.columns[0]
    r = table.cardinalities[child]
    score = 0.0
    for u in range(len(table.weights)):
        j = 0
        for p in range(1, count):
            j += family.strides[p] * table.codes[family.columns[p], u]
        counts.configuration[u] = j
        score += _add_row(j, table.codes[child, u], table.weights[u], r, f, counts, terms)
    return score


@in_place_kernel
def _clear(child: int, table: Table, counts: Counts) -> None:
    r = table.cardinalities[child]
    for u in range(len(table.weights)):
        j = counts.configuration[u]
        counts.cells[j * r + table.codes[child, u]] = 0.0
        counts.sums[j] = 0.0


@in_place_kernel
def _move_rows(
    count: int,
    digits: NDArray[np.int64],
    family: Family,
    table: Table,
    counts: Counts,
    options: Options,
) -> int:
    """Find the rows that a combination of options changes and where they go; return how many."""
    changed = 0
    for p in range(count):
        v = family.columns[p]
        o = options.first[v] + digits[p]
        for d in range(options.deviation_first[o], options.deviation_first[o + 1]):
            u = options.deviation_row[d]
            if not counts.is_touched[u]:
                counts.is_touched[u] = True
                counts.touched[changed] = u
                changed += 1
                counts.moved[u] = counts.configuration[u]
                counts.moved_state[u] = table.codes[family.columns[0], u]
            if p == 0:
                counts.moved_state[u] = options.deviation_value[d]
            else:
                step = options.deviation_value[d] - table.codes[v, u]
                counts.moved[u] += family.strides[p] * step
    return changed


@in_place_kernel
def _score_moved(
    f: int, changed: int, family: Family, table: Table, counts: Counts, terms: FamilyTerms
) -> float:
    """Return the change of the score when the touched rows move; leave the counts as they were."""
    child = family.columns[0]
    r = table.cardinalities[child]
    change = 0.0
    for t in range(changed):
        u = counts.touched[t]
        w, state = table.weights[u], table.codes[child, u]
        change += _add_row(counts.configuration[u], state, -w, r, f, counts, terms)
        change += _add_row(counts.moved[u], counts.moved_state[u], w, r, f, counts, terms)
    for t in range(changed):
        u = counts.touched[t]
        w = table.weights[u]
        counts.cells[counts.moved[u] * r + counts.moved_state[u]] -= w
        counts.sums[counts.moved[u]] -= w
        counts.cells[counts.configuration[u] * r + table.codes[child, u]] += w
        counts.sums[counts.configuration[u]] += w
        counts.is_touched[u] = False
    return change


@kernel
def score_completions(
    table: Table,
    child: int,
    sets: ParentSets,
    allowed: NDArray[np.bool_],
    terms: FamilyTerms,
    options: Options,
    combination_first: NDArray[np.int64],
    largest: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Score all parent sets of one child under all combinations of their columns' options.

    Parameters
    ----------
    table
        The base completion.
    child, sets, allowed
        The child, its parent sets, and which of them may be candidates.
    terms
        The score.
    options
        The columns' options.
    combination_first
        Where each parent set's combinations begin, shape (sets + 1,).
    largest
        Number of cells of the largest family's table.

    Returns
    -------
    scores, keep
        Score of every combination, and whether it is allowed and not dominated.
    """
    rows, width = len(table.weights), sets.members.shape[1] + 1
    total = combination_first[len(sets.members)]
    scores, best, keep = np.empty(total), np.empty(total), np.zeros(total, np.bool_)
    family = Family(np.zeros(width, np.int64), np.zeros(width, np.int64))
    counts = Counts(
        np.zeros(largest), np.zeros(largest), np.zeros(rows, np.int64), np.zeros(rows, np.int64),
        np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.bool_),
    )  # fmt: skip
    digits = np.zeros(width, np.int64)
    subset = np.zeros(width, np.int64)
    for f in range(len(sets.members)):
        # the score under the base completion, and the subsets that may dominate
        count, base = _lay_out(f, child, sets, table, terms, family)
        base += _count_base(f, count, family, table, counts, terms)
        for p in range(1, count):
            subset[p] = subset_without(sets, f, count - 1, p - 1, child)
        # every other completion by the rows that it moves
        digits[:] = 0
        more, index = True, combination_first[f]
        while more:
            changed = _move_rows(count, digits, family, table, counts, options)
            score = base + _score_moved(f, changed, family, table, counts, terms)
            beaten = -np.inf
            for p in range(1, count):
                rank = rank_without(p, count, family.columns, digits, options)
                beaten = max(beaten, best[combination_first[subset[p]] + rank])
            scores[index] = score
            keep[index] = allowed[f] and score > beaten + TIE
            best[index] = max(beaten, score) if allowed[f] else beaten
            index += 1
            more = next_combination(family.columns, count, digits, options)
        _clear(child, table, counts)
    return scores, keep
