"""The enumeration of candidate parent sets, size by size and block by block."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn.candidate_lattice import Found, Lattice, Rules, score_block
from exactlearn.colexicographic import binomials
from exactlearn.counts import distinct_rows, total_weight
from exactlearn.data import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.scores import BAYESIAN, Score
from exactlearn.set_scores import Terms, empty_set_term, table_sizes, tabulate_terms
from exactlearn.set_tables import index_rows, new_stack
from exactlearn.solvers.problem import Arc

LATTICE_LIMIT = 2**27
"""Most best scores held in memory at once, 8 bytes each."""
TERM_LIMIT = 2**22
"""Most tabulated terms, 8 bytes each."""
BLOCK_ROWS = 2**24
"""Rows visited at most between two reports of progress, about."""

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class SizedCandidates:
    """Candidates of one size, by variable index of the data."""

    child: NDArray[np.int32]
    parents: NDArray[np.int32]
    scores: NDArray[np.float64]


class Enumeration:
    """One pass through the lattice of variable sets, in an order that suits counting."""

    def __init__(
        self,
        dataset: Dataset,
        score: Score,
        max_parents: int,
        required: frozenset[Arc],
        forbidden: frozenset[Arc],
        prune: bool,
    ) -> None:
        codes, weights = distinct_rows(dataset)
        self.n, self.k = dataset.n_variables, max_parents
        self.order = _deviant_order(codes, weights)
        self.rows = index_rows(
            np.ascontiguousarray(codes[self.order]), weights, dataset.cardinalities[self.order]
        )
        self.compiled = score.compiled(total_weight(dataset))
        self.choose = binomials(self.n, self.k + 1)
        self.rules = self._rules(required, forbidden, prune)
        self.tables_counted = 0

    def run(self, on_progress: Progress | None) -> Iterator[SizedCandidates]:
        """Yield the candidates of each size until no family can have a better superset."""
        total = sum(math.comb(self.n, size + 1) for size in range(self.k + 1))
        done = 0
        lattice = self._first_level()
        for size in range(self.k + 1):
            parts, still_open = [], 0
            for found, stop in self._level(size, lattice):
                parts.append(self._table(found))
                still_open += int(found.numbers[1])
                self.tables_counted += int(found.numbers[2])
                if on_progress is not None:
                    on_progress(done + stop, total)
            done += math.comb(self.n, size + 1)
            yield from parts
            if still_open == 0:
                break
            if size < self.k:
                lattice = self._next_level(size + 1, lattice)
        if on_progress is not None and done < total:
            on_progress(total, total)

    def _level(self, size: int, lattice: Lattice) -> Iterator[tuple[Found, int]]:
        """Score all families with ``size`` parents, a block of variable sets at a time."""
        n_sets = math.comb(self.n, size + 1)
        block = max(16, min(2**13, n_sets, BLOCK_ROWS // max(1, self.rows.codes.shape[1])))
        stacks = new_stack(self.rows, size + 1), new_stack(self.rows, max(1, size))
        terms = self._terms(size, n_sets)
        for start in range(0, n_sets, block):
            stop = min(n_sets, start + block)
            found = Found(
                np.empty((stop - start) * (size + 1), np.int32),
                np.empty(((stop - start) * (size + 1), size), np.int32),
                np.empty((stop - start) * (size + 1)),
                np.zeros(3, np.int64),
            )
            score_block(
                start, stop, size + 1, self.rules, lattice, self.rows, *stacks, terms, found
            )
            yield found, stop

    def _terms(self, size: int, n_sets: int) -> Terms:
        """Tabulate terms as far as that costs less than it saves."""
        sizes = np.zeros(1)
        if self.compiled[0] == BAYESIAN:
            depths = range(max(1, size), size + 2)
            sizes = np.unique([s for d in depths for s in table_sizes(self.rows.cardinalities, d)])
        length = min(TERM_LIMIT, 64 * n_sets) // max(1, len(sizes))
        length = int(min(self.rows.total + 1, length))
        return tabulate_terms(self.compiled, self.rows.total, sizes, length)

    def _table(self, found: Found) -> SizedCandidates:
        rows = int(found.numbers[0])
        parents = np.sort(self.order[found.parents[:rows]], axis=1)
        child = self.order[found.child[:rows]]
        return SizedCandidates(child, parents, found.scores[:rows].copy())

    def _rules(self, required: frozenset[Arc], forbidden: frozenset[Arc], prune: bool) -> Rules:
        slack = 1e-11 * (1 + self.rows.total * math.log1p(self.rows.total))
        needed = self._arc_matrix(required)
        return Rules(needed, self._arc_matrix(forbidden), needed.sum(axis=0), prune, slack)

    def _arc_matrix(self, arcs: frozenset[Arc]) -> NDArray[np.bool_]:
        matrix = np.zeros((self.n, self.n), np.bool_)
        for parent, child in arcs:
            matrix[parent, child] = True
        return np.ascontiguousarray(matrix[np.ix_(self.order, self.order)])

    def _empty_term(self) -> float:
        terms = tabulate_terms(self.compiled, self.rows.total, np.zeros(0), 0)
        return empty_set_term(self.rows, terms)

    def _first_level(self) -> Lattice:
        return Lattice(
            self.choose,
            np.zeros(0),
            np.array([self._empty_term()]),
            np.ones(1, np.int64),
            *self._uncounted(0),
            np.zeros((self.n, 0)),
            self._unset(0),
        )

    def _next_level(self, size: int, lattice: Lattice) -> Lattice:
        return Lattice(
            self.choose,
            lattice.terms,
            lattice.terms_upper,
            lattice.cells_upper,
            *self._uncounted(size),
            lattice.best_upper,
            self._unset(size),
        )

    def _uncounted(self, size: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return room for the tables of families with ``size`` parents; none at the last size."""
        n_sets = math.comb(self.n, size + 1) if size < self.k else 0
        return np.full(n_sets, np.nan), np.zeros(n_sets, np.int64)

    def _unset(self, size: int) -> NDArray[np.float64]:
        """Return room for the best scores of families with ``size`` parents."""
        if size == self.k:
            return np.zeros((self.n, 0))
        entries = self.n * math.comb(self.n, size)
        if entries > LATTICE_LIMIT:
            raise TooLargeError(
                f"{entries:,} best scores of parent sets of size {size} are more than the limit "
                f"of {LATTICE_LIMIT:,}; set max_parents to at most {size}"
            )
        return np.empty((self.n, math.comb(self.n, size)))


def _deviant_order(codes: NDArray[np.int16], weights: NDArray[np.float64]) -> NDArray[np.int32]:
    """Put the variables with the fewest rows off their common state first, where sets end."""
    common = [np.bincount(column, weights, minlength=1).max() for column in codes]
    return np.argsort(-np.array(common), kind="stable").astype(np.int32)
