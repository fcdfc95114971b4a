"""The families of an incomplete table under a completion that moves."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.local_search.coordinate_ascent import in_order, sweep
from exactlearn.augmentation.local_search.set_families import (
    SetFamilies,
    all_families,
    best_family,
    bound_moves,
    envelope,
    family_scores,
    listed_families,
    padded_members,
    some_families,
    with_forms,
)
from exactlearn.augmentation.starts import Dag, positions
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.scoring.candidates import n_families
from exactlearn.scoring.incremental_tables import (
    BLOCK,
    MOST_CELLS,
    Rows,
    Sets,
    change_cells,
    rows_of,
    table_cells,
    tabulate,
)
from exactlearn.scoring.scores import Score
from exactlearn.scoring.terms import TermTables
from exactlearn.solvers import Problem

MOST_FAMILIES = 2**22
"""Families beyond which not all are looked at."""


class FamilyStore:
    """Families with their tables under one completion after another.

    Parameters
    ----------
    dataset
        The incomplete table.
    rows
        The completion at hand.
    sets
        The tables.
    families
        The families.
    control
        When its search is over, what is counted, moved or bounded in blocks ends after the first.

    Attributes
    ----------
    cells
        Row and variable of each missing cell, in order of variables, shape (cells, 2).
    """

    def __init__(
        self,
        dataset: Dataset,
        rows: Rows,
        sets: Sets,
        families: SetFamilies,
        control: SearchControl = UNLIMITED,
    ) -> None:
        self.dataset, self.rows, self.sets, self.families = dataset, rows, sets, families
        self.control = control
        cells = dataset.missing_cells
        self.cells = cells[np.argsort(cells[:, 1], kind="stable")]

    @classmethod
    def of_all(
        cls,
        dataset: Dataset,
        values: NDArray[np.int64],
        score: Score,
        rules: FamilyRules,
        control: SearchControl = UNLIMITED,
    ) -> "FamilyStore":
        """Tabulate every family that the rules allow."""
        members, families = all_families(dataset.n_variables, rules)
        return cls._tabulated(dataset, values, score, members, families, control)

    @classmethod
    def of_listed(
        cls,
        dataset: Dataset,
        values: NDArray[np.int64],
        score: Score,
        problem: Problem,
        control: SearchControl = UNLIMITED,
    ) -> "FamilyStore":
        """Tabulate the families of a problem."""
        listed = listed_families(problem.child, padded_members(problem), problem.n_variables)
        return cls._tabulated(dataset, values, score, *listed, control)

    @classmethod
    def _tabulated(
        cls,
        dataset: Dataset,
        values: NDArray[np.int64],
        score: Score,
        members: NDArray[np.int32],
        families: SetFamilies,
        control: SearchControl,
    ) -> "FamilyStore":
        rows = rows_of(dataset, values)
        tables = TermTables(score, rows.cardinalities, rows.weights)
        members, forms, terms, families = with_forms(members, families, rows.cardinalities, tables)
        sets = tabulate(rows, members, forms, terms, control)
        return cls(dataset, rows, sets, families, control)

    def select(self, keep: NDArray[np.bool_]) -> "FamilyStore":
        """Return a store of some of the families, in the same order, with tables of its own."""
        rows = self.rows._replace(codes=self.rows.codes.copy())
        sets, families = some_families(self.sets, self.families, keep)
        return FamilyStore(self.dataset, rows, sets, families, self.control)

    @property
    def values(self) -> NDArray[np.int64]:
        """The completion at hand, in the order of ``Dataset.missing_cells``."""
        cells = self.dataset.missing_cells
        return self.rows.codes[cells[:, 0], cells[:, 1]].astype(np.int64)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Score of each family under the completion at hand, shape (families,)."""
        return family_scores(self.sets, self.families)

    def parent_set(self, family: int) -> tuple[int, ...]:
        """Return the parents of a family."""
        members = self.sets.members[self.families.parents[family]]
        return tuple(members[members >= 0].tolist())

    def move_to(self, values: NDArray[np.int64]) -> None:
        """Take over a completion: only the tables of the cells that differ are touched."""
        cells = self.dataset.missing_cells
        wanted = np.column_stack([cells, values])
        for block in self.blocks(wanted[self.values != values]):
            self.change(block)
            if not self.control.goes_on():
                break

    def blocks(self, moves: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Split moves, or cells, so that one pass over a part is a bounded amount of work."""
        sets, families = self.sets, self.families
        tables = np.diff(sets.holding_first) * (sets.members.shape[1] + 1)
        held = np.diff(families.holding_first)
        each = int((tables + held).max(initial=0)) * int(self.rows.cardinalities.max(initial=1))
        each += len(families.child)  # of which a changed cell asks for the best
        step = max(1, BLOCK // max(1, each))
        return [moves[at : at + step] for at in range(0, len(moves), step)]

    def change(self, moves: NDArray[np.int64]) -> None:
        """Change cells: row, variable and new state of each, shape (changes, 3)."""
        change_cells(self.sets, self.rows, moves)

    @contextmanager
    def changed(self, moves: NDArray[np.int64]) -> Iterator[None]:
        """Change cells, and back again."""
        u, v = moves[:, 0], moves[:, 1]
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
        alike = np.column_stack([self.rows.codes, self.rows.weights])
        row = np.unique(alike, axis=0, return_inverse=True)[1].reshape(-1)
        key = np.column_stack([row[moves[:, 0]], moves[:, 1:]])
        first = np.unique(key, axis=0, return_index=True)[1]
        return np.asarray(moves[np.sort(first)], np.int64)

    def bound_moves(
        self, scores: NDArray[np.float64], moves: NDArray[np.int64], limit: float
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Bound single moves, see :func:`.set_families.bound_moves`; the first when time is up."""
        tops = [np.zeros((0, self.dataset.n_variables))]
        close = np.zeros(len(scores), np.bool_)
        for block in self.blocks(moves):
            own, near = bound_moves(self.sets, self.rows, self.families, scores, block, limit)
            tops.append(own)
            close |= near
            if not self.control.goes_on():
                break
        return np.concatenate(tops), close

    def envelope(self, moves: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return each family's best score after any one of some moves, shape (families,)."""
        scores = self.scores
        best = np.full(len(scores), -np.inf)
        for block in self.blocks(moves):
            best = np.maximum(best, envelope(self.sets, self.rows, self.families, scores, block))
            if not self.control.goes_on():
                break
        return best

    def ascend(self, parents: Dag) -> Iterator[Dag]:
        """Change single cells while that raises the best network of a network's order.

        Yields the best network of the order after each sweep over the cells; the last sweep found
        nothing more to change.
        """
        usable = in_order(self.sets, self.families, positions(parents))
        store = self.select(usable)
        scores = store.scores
        chosen = store.best_families(scores)
        changed = 1
        while changed and not self.control.is_over:
            changed = 0
            for cells in self.blocks(store.cells):
                changed += sweep(store.sets, store.rows, store.families, scores, chosen, cells)
                if not self.control.goes_on():
                    break
            self.move_to(store.values)
            yield store.network(chosen)

    def best_in_order(self, parents: Dag) -> Dag:
        """Return the best network of a network's order."""
        return self.network(self.best_families(self.scores_in_order(parents)))

    def scores_in_order(self, parents: Dag) -> NDArray[np.float64]:
        """Return the scores of the families that fit a network's order, ``-inf`` for others."""
        usable = in_order(self.sets, self.families, positions(parents))
        return np.where(usable, self.scores, -np.inf)

    def network(self, chosen: NDArray[np.int64]) -> Dag:
        """Return the network of one family of each variable."""
        return tuple(self.parent_set(f) for f in chosen.tolist())

    def best_families(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return each variable's best family."""
        n = self.dataset.n_variables
        return np.array([best_family(self.sets, self.families, scores, i, -1) for i in range(n)])


def require_tabulated(dataset: Dataset, rules: FamilyRules) -> None:
    """Raise where not all families can be tabulated.

    Raises
    ------
    TooLargeError
        When there are too many families, or too large ones.
    """
    if not fits(dataset, rules):
        n, k = dataset.n_variables, min(rules.max_parents, dataset.n_variables - 1)
        raise TooLargeError(
            f"{n_families(n, k):.3g} families of {n} variables with up to {k} parents would have "
            f"to be tabulated, and the limit is {MOST_FAMILIES:,} families with {MOST_CELLS:,} "
            "cells; allow fewer parents or merge states"
        )


def fits(dataset: Dataset, rules: FamilyRules) -> bool:
    """Return whether all families that the rules allow can be tabulated."""
    n = dataset.n_variables
    k = min(rules.max_parents, n - 1)
    return (
        n_families(n, k) <= MOST_FAMILIES
        and table_cells(dataset.cardinalities, k + 1) <= MOST_CELLS
    )
