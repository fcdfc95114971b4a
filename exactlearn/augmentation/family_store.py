"""The families of an incomplete table under a completion that moves.

For multipliers ``l`` of cluster inequalities (:mod:`exactlearn.solvers.multipliers`) a network
on the table with a change ``c`` scores at most::

    sum_i max_PA [ s_i(PA; c) + sum of l that (i, PA) satisfies ] - sum of all l

whatever the tables are. Only families that hold the changed variable have other scores than before,
so of all others one number for each child and variable is enough: the best family without it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.augmentation.families import (
    Families,
    FamilyRules,
    FamilyTerms,
    SetFamilies,
    paired_sets,
)
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.scoring.candidates import n_families
from exactlearn.scoring.incremental_tables import (
    BLOCK,
    MOST_CELLS,
    Rows,
    Sets,
    change_cells,
    forget,
    gains,
    holds,
    rows_of,
    table_cells,
    tabulate,
    values_under,
)
from exactlearn.scoring.terms import TermTables

# Families beyond which not all are looked at.
MAX_FAMILIES = 2**22


@dataclass(eq=False)
class FamilyStore:
    """Families with their tables under one completion after another.

    Parameters
    ----------
    dataset
        The incomplete table.
    families, terms
        The families, and what their scores are made of.
    rows
        The completion at hand.
    control
        When its search is over, what is counted, moved or bounded in blocks ends after the first.

    Attributes
    ----------
    sets, pairs
        The tables, and the families as pairs of them.
    """

    dataset: Dataset
    families: Families
    terms: FamilyTerms
    rows: Rows
    control: SearchControl = UNLIMITED
    sets: Sets = field(init=False)
    pairs: SetFamilies = field(init=False)

    def __post_init__(self) -> None:  # noqa: D105
        members, function, self.pairs = paired_sets(self.families, self.terms)
        self.sets = tabulate(
            self.rows, members, function, self.terms.functions, self.control
        )

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """Row and variable of each missing cell, in order of variables, shape (cells, 2)."""
        cells = self.dataset.missing_cells
        return cells[np.argsort(cells[:, 1], kind="stable")]

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        values: NDArray[np.int64],
        tables: TermTables,
        families: Families,
        control: SearchControl = UNLIMITED,
    ) -> "FamilyStore":
        """Tabulate families under a completion, with the score's functions for the table."""
        rows = rows_of(dataset, values)
        terms = FamilyTerms.of(families, tables, rows.cardinalities)
        return cls(dataset, families, terms, rows, control)

    def select(self, keep: NDArray[np.bool_]) -> "FamilyStore":
        """Return a store of some of the families, in the same order, with tables of its own."""
        rows = self.rows._replace(codes=self.rows.codes.copy())
        families = self.families.take(keep)
        terms = self.terms.take(keep)
        return replace(self, families=families, terms=terms, rows=rows)

    @property
    def values(self) -> NDArray[np.int64]:
        """The completion at hand, in the order of ``Dataset.missing_cells``."""
        cells = self.dataset.missing_cells
        return self.rows.codes[cells[:, 0], cells[:, 1]].astype(np.int64)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Score of each family under the completion at hand, shape (families,)."""
        return self._scores_of(self.sets.values)

    def move_to(self, values: NDArray[np.int64]) -> None:
        """Take over a completion: only the tables of the cells that differ are touched."""
        moves = np.column_stack([self.dataset.missing_cells, values])
        for block in self.blocks(moves[self.values != values]):
            self.change(block)

    def scores_under(self, completions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores under completions, shape (completions, families).

        Parameters
        ----------
        completions
            States in the order of ``Dataset.missing_cells``, shape (completions, cells). The last
            one is taken over; fast where each differs little from the one before.
        """
        cells = np.pad(self.dataset.missing_cells, ((0, 0), (0, 1)))
        return self._scores_of(values_under(self.sets, self.rows, cells, completions))

    def _scores_of(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores from the sums over the tables, along the last axis."""
        pairs = self.pairs
        of_families = sums[..., pairs.family] - sums[..., pairs.parents]
        return np.asarray(of_families - pairs.penalty)

    def blocks(self, moves: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Split moves, or cells, so that one pass over a part is a bounded amount of work.

        The parts end with the search.
        """
        sets = self.sets
        tables = np.diff(sets.holding_first) * (sets.members.shape[1] + 1)
        held = np.diff(self.pairs.holding_first)
        each = int((tables + held).max(initial=0)) * int(
            self.rows.cardinalities.max(initial=1)
        )
        each += len(self.families)  # of which a changed cell asks for the best
        step = max(1, BLOCK // max(1, each))
        for at in range(0, len(moves), step):
            yield moves[at : at + step]
            if not self.control.goes_on():
                break

    def change(self, moves: NDArray[np.int64]) -> None:
        """Change cells: row, variable and new state of each, shape (changes, 3)."""
        change_cells(self.sets, self.rows, moves)

    @contextmanager
    def changed(self, moves: NDArray[np.int64]) -> Iterator[None]:
        """Change cells, and back again."""
        u = moves[:, 0]
        v = moves[:, 1]
        back = np.column_stack([u, v, self.rows.codes[u, v].astype(np.int64)])
        before = self.sets.values.copy()
        self.change(moves)
        try:
            yield
        finally:
            self.change(back[::-1])
            self.sets.values[:] = before  # free of rounding

    def single_moves(self, *, distinct: bool) -> NDArray[np.int64]:
        """Return row, variable and new state of every single move, in order of variables.

        With ``distinct``, of cells in rows that do not differ only one: the tables become the same.
        """
        u, v = self.cells.T
        states = self.rows.cardinalities[v]
        at = np.repeat(np.arange(len(u)), states)
        state = np.arange(len(at)) - np.repeat(np.cumsum(states) - states, states)
        moves = np.column_stack([u[at], v[at], state])
        moves = moves[self.rows.codes[u[at], v[at]] != state]
        if not distinct:
            return np.asarray(moves, np.int64)
        # rows with the same codes and weight have the same number
        alike = np.column_stack([self.rows.codes, self.rows.weights])
        row = np.unique(alike, axis=0, return_inverse=True)[1].reshape(-1)
        key = np.column_stack([row[moves[:, 0]], moves[:, 1:]])
        first = np.unique(key, axis=0, return_index=True)[1]
        return np.asarray(moves[np.sort(first)], np.int64)

    def bound_moves(
        self, scores: NDArray[np.float64], moves: NDArray[np.int64], limit: float
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Bound single moves, see :func:`bound_moves`; the first when time is up."""
        best_scores = [np.zeros((0, self.dataset.n_variables))]
        close = np.zeros(len(scores), np.bool_)
        for block in self.blocks(moves):
            best, close_here = bound_moves(
                self.sets, self.rows, self.pairs, scores, block, limit
            )
            best_scores.append(best)
            close |= close_here
        return np.concatenate(best_scores), close

    def envelope(self, moves: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return each family's best score after any one of some moves, shape (families,)."""
        scores = self.scores
        best = np.full(len(scores), -np.inf)
        for block in self.blocks(moves):
            best = np.maximum(
                best, envelope(self.sets, self.rows, self.pairs, scores, block)
            )
        return best


def require_tabulated(dataset: Dataset, rules: FamilyRules) -> None:
    """Raise where not all families can be tabulated.

    Raises
    ------
    TooLargeError
        When there are too many families, or too large ones.
    """
    if not fits(dataset, rules):
        n = dataset.n_variables
        k = min(rules.max_parents, dataset.n_variables - 1)
        raise TooLargeError(
            f"{n_families(n, k):.3g} families of {n} variables with up to {k} parents would have "
            f"to be tabulated, and the limit is {MAX_FAMILIES:,} families with {MOST_CELLS:,} "
            "cells; allow fewer parents or merge states"
        )


def fits(dataset: Dataset, rules: FamilyRules) -> bool:
    """Return whether all families that the rules allow can be tabulated."""
    n = dataset.n_variables
    k = min(rules.max_parents, n - 1)
    return (
        n_families(n, k) <= MAX_FAMILIES
        and table_cells(dataset.cardinalities, k + 1) <= MOST_CELLS
    )


@in_place_kernel
def best_family(
    sets: Sets,
    families: SetFamilies,
    scores: NDArray[np.float64],
    child: int,
    without: int,
) -> int:
    """Return the first best family of a child that does not hold a variable, or -1."""
    best = -1
    if child == without:
        return best
    for f in range(families.first[child], families.first[child + 1]):
        highest = scores[best] if best >= 0 else -np.inf
        if scores[f] > highest and not holds(sets, families.family[f], without):
            best = f
    return best


@kernel
def bound_moves(
    sets: Sets,
    rows: Rows,
    families: SetFamilies,
    scores: NDArray[np.float64],
    moves: NDArray[np.int64],
    limit: float,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return each child's best score after each move, shape (moves, children).

    Also return the families that are in some selection whose sum is above the limit after some
    move, with some others, shape (families,).

    Parameters
    ----------
    sets, rows, families
        The tables before any move, and the families.
    scores
        Scores of the families, with what multipliers add; ``-inf`` for those left out.
    moves
        Row, variable and new state of each move, shape (moves, 3), in order of variables.
    limit
        The limit of the sum.
    """
    n = len(families.first) - 1
    without = best_without(sets, families, scores)
    change = np.zeros(len(sets.values))
    best = np.empty(n)
    best_scores = np.empty((len(moves), n))
    close = np.zeros(len(scores), np.bool_)
    # the lowest score of a family that is close and does not hold the variable changed
    lowest = np.full((n, n), np.inf)
    for c in range(len(moves)):
        # each child's best score after the move
        u = moves[c, 0]
        v = moves[c, 1]
        if c > 0 and v != moves[c - 1, 1]:
            forget(sets, moves[c - 1, 1], change)
        gains(sets, rows, u, v, moves[c, 2], change)
        for i in range(n):
            best[i] = without[v, i]
        best_after(families, scores, change, v, best)
        # families that lose no more than the sum has to spare
        spare = -limit
        for i in range(n):
            best_scores[c, i] = best[i]
            spare += best[i]
        if spare > 0.0:
            for i in range(n):
                best[i] -= spare
                lowest[v, i] = min(lowest[v, i], best[i])
            mark_close(families, scores, change, v, best, close)
    # the same of families that do not hold the changed variable
    for f in range(len(close)):
        for v in range(n):
            if scores[f] >= lowest[v, families.child[f]]:
                close[f] = close[f] or not holds(sets, families.family[f], v)
    return best_scores, close


@kernel
def best_without(
    sets: Sets, families: SetFamilies, scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the best score of each child's families that do not hold a variable.

    Shape (variables, children).
    """
    n = len(families.first) - 1
    without = np.full((n, n), -np.inf)
    for i in range(n):
        top = best_family(sets, families, scores, i, -1)
        for v in range(n):
            f = top
            if f >= 0 and holds(sets, families.family[f], v):
                f = best_family(sets, families, scores, i, v)
            if f >= 0:
                without[v, i] = scores[f]
    return without


@in_place_kernel
def mark_close(
    families: SetFamilies,
    scores: NDArray[np.float64],
    change: NDArray[np.float64],
    v: int,
    limits: NDArray[np.float64],
    close: NDArray[np.bool_],
) -> None:
    """Mark the families that hold ``v`` and reach the limit of their child after a move."""
    for at in range(families.holding_first[v], families.holding_first[v + 1]):
        f = families.holding[at]
        score = scores[f] + change[families.family[f]] - change[families.parents[f]]
        if score >= limits[families.child[f]]:
            close[f] = True


@in_place_kernel
def best_after(
    families: SetFamilies,
    scores: NDArray[np.float64],
    change: NDArray[np.float64],
    v: int,
    best: NDArray[np.float64],
) -> None:
    """Raise each child's best score to that of its families that hold ``v``, after a move."""
    child = families.child
    family = families.family
    parents = families.parents
    for at in range(families.holding_first[v], families.holding_first[v + 1]):
        f = families.holding[at]
        score = scores[f] + change[family[f]] - change[parents[f]]
        if score > best[child[f]]:
            best[child[f]] = score


@kernel
def envelope(
    sets: Sets,
    rows: Rows,
    families: SetFamilies,
    scores: NDArray[np.float64],
    moves: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return each family's best score after any one of some moves, shape (families,).

    The parameters are those of :func:`bound_moves`; there is one move at least.
    """
    child = families.child
    family = families.family
    parents = families.parents
    holding = families.holding
    change = np.zeros(len(sets.values))
    best = np.full(len(scores), -np.inf)
    n_held = np.zeros(len(child), np.int64)
    n_variables = 0
    for c in range(len(moves)):
        u = moves[c, 0]
        v = moves[c, 1]
        state = moves[c, 2]
        is_new = c == 0 or v != moves[c - 1, 1]
        if c > 0 and is_new:
            forget(sets, moves[c - 1, 1], change)
        n_variables += is_new
        gains(sets, rows, u, v, state, change)
        for at in range(families.holding_first[v], families.holding_first[v + 1]):
            f = holding[at]
            n_held[f] += is_new
            best[f] = max(best[f], scores[f] + change[family[f]] - change[parents[f]])
    for f in range(len(best)):
        if n_held[f] < n_variables:  # some change leaves it as it is
            best[f] = max(best[f], scores[f])
    return best
