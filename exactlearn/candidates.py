"""Candidate parent sets of complete data: every set up to a size, less the dominated ones.

All sets of variables of one size after another are tabulated; each table yields the score of every
variable in it given the others (:mod:`exactlearn.set_scores`). Parent sets that a subset dominates
are dropped, and branches that bounds close are skipped (:mod:`exactlearn.candidate_pruning`).
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn.candidate_pruning import Found, Lattice, Rules, score_block
from exactlearn.counts import distinct_rows, total_weight
from exactlearn.data import Dataset
from exactlearn.errors import InfeasibleError, OptionError, TooLargeError
from exactlearn.scores import Score
from exactlearn.set_scores import (
    Terms,
    empty_set_term,
    index_rows,
    new_stack,
    table_sizes,
    tabulate_terms,
)
from exactlearn.solvers.problem import Arc, Problem

FAMILY_LIMIT = 2**30
"""Most families that may have to be looked at when dominated ones are dropped."""
LISTED_LIMIT = 2**25
"""Most families that may be returned when none is dropped."""
LATTICE_LIMIT = 2**27
"""Most best scores held in memory at once, 8 bytes each."""
TERM_LIMIT = 2**22
"""Most tabulated terms, 8 bytes each."""
BLOCK_ROWS = 2**24
"""Rows visited at most between two reports of progress, about."""

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class _Table:
    """Candidates of one size, by variable index of the data."""

    child: NDArray[np.int32]
    parents: NDArray[np.int32]
    scores: NDArray[np.float64]


def candidate_parent_sets(
    dataset: Dataset,
    score: Score,
    *,
    max_parents: int | None = 3,
    required: Iterable[Arc] = (),
    forbidden: Iterable[Arc] = (),
    prune: bool = True,
    on_progress: Progress | None = None,
) -> Problem:
    """Score the parent sets of every variable and keep those that could be optimal.

    Parameters
    ----------
    dataset
        Complete data; row weights count as repetitions.
    score
        The score.
    max_parents
        Largest size of a parent set, or ``None`` for no limit.
    required, forbidden
        Arcs ``(parent, child)`` that every, or no, network must have. Only parent sets that
        respect them are returned, and only those can dominate others.
    prune
        Whether to drop the parent sets that score no better than one of their proper subsets.
    on_progress
        Called now and then with the numbers of variable sets done and of all.

    Returns
    -------
    Problem
        The candidates of each variable by falling score, ties by size, then lexicographically.

    Raises
    ------
    DataError
        When a cell is missing or a weight is unusable.
    OptionError
        When ``max_parents`` or an arc is none.
    InfeasibleError
        When an arc is both required and forbidden, or more are required than ``max_parents``.
    TooLargeError
        When there are too many parent sets to enumerate.

    Examples
    --------
    >>> from exactlearn.scores import BDeu
    >>> rows = np.array([[0, 0], [1, 1], [0, 0], [1, 1]], np.int8)
    >>> data = Dataset(rows, ("a", "b"), (("n", "y"), ("n", "y")))
    >>> problem = candidate_parent_sets(data, BDeu())
    >>> [parents for parents, _ in problem.candidates(0)]
    [(1,), ()]
    """
    constraints = frozenset(required), frozenset(forbidden)
    k = _checked_size(dataset, max_parents, prune)
    _check_arcs(dataset, *constraints, k)
    tables = list(_Enumeration(dataset, score, k, *constraints, prune).run(on_progress))
    return _problem(dataset.names, tables, *constraints)


class _Enumeration:
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
        self.choose = _binomials(self.n, self.k + 1)
        self.rules = self._rules(required, forbidden, prune)
        self.tables_counted = 0

    def run(self, on_progress: Progress | None) -> Iterator[_Table]:
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
        block = min(n_sets, max(16, min(2**13, BLOCK_ROWS // max(1, self.rows.codes.shape[1]))))
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
        sizes = table_sizes(self.rows.cardinalities, size + 1)
        if size:
            sizes = np.union1d(sizes, table_sizes(self.rows.cardinalities, size))
        budget = min(TERM_LIMIT, 64 * n_sets) // len(sizes)
        return tabulate_terms(self.compiled, sizes, int(min(self.rows.total + 1, budget)))

    def _table(self, found: Found) -> _Table:
        rows = int(found.numbers[0])
        parents = np.sort(self.order[found.parents[:rows]], axis=1)
        child = self.order[found.child[:rows]]
        return _Table(child, parents, found.scores[:rows].copy())

    def _rules(self, required: frozenset[Arc], forbidden: frozenset[Arc], prune: bool) -> Rules:
        slack = 1e-11 * (1 + abs(self._empty_term()))
        needed = self._arc_matrix(required)
        return Rules(needed, self._arc_matrix(forbidden), needed.sum(axis=0), prune, slack)

    def _arc_matrix(self, arcs: frozenset[Arc]) -> NDArray[np.bool_]:
        matrix = np.zeros((self.n, self.n), np.bool_)
        for parent, child in arcs:
            matrix[parent, child] = True
        return np.ascontiguousarray(matrix[np.ix_(self.order, self.order)])

    def _empty_term(self) -> float:
        return empty_set_term(self.rows, tabulate_terms(self.compiled, np.ones(1), 1))

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


def _deviant_order(
    codes: NDArray[np.int16], weights: NDArray[np.int64] | NDArray[np.float64]
) -> NDArray[np.int32]:
    """Put the variables with the fewest rows off their common state first, where sets end."""
    common = [np.bincount(column, weights, minlength=1).max() for column in codes]
    return np.argsort(-np.array(common), kind="stable").astype(np.int32)


def _binomials(n: int, k: int) -> NDArray[np.int64]:
    """Return the binomial coefficients that ranks need, capped at the largest int64."""
    return np.array(
        [[min(math.comb(i, j), 2**63 - 1) for j in range(k + 1)] for i in range(n + 1)], np.int64
    )


def _checked_size(dataset: Dataset, max_parents: int | None, prune: bool) -> int:
    """Return the largest size of a parent set, or refuse what could not be enumerated."""
    n = dataset.n_variables
    if max_parents is not None and max_parents < 0:
        raise OptionError(f"max_parents must be at least 0, found {max_parents}")
    k = max(0, n - 1) if max_parents is None else min(max_parents, max(0, n - 1))
    limit = FAMILY_LIMIT if prune else LISTED_LIMIT
    families = n_families(n, k)
    if families > limit and (max_parents is not None or not prune):
        fitting = max(m for m in range(k + 1) if n_families(n, m) <= limit or m == 0)
        raise TooLargeError(
            f"{n} variables with up to {k} parents have {families:,} families, more than the "
            f"limit of {limit:,}; set max_parents to at most {fitting}"
            + ("" if prune else ", or let dominated parent sets be dropped")
        )
    return k


def n_families(n_variables: int, max_parents: int) -> int:
    """Return the number of families of ``n_variables`` variables with up to ``max_parents``.

    Examples
    --------
    >>> n_families(37, 3)
    288859
    """
    return n_variables * sum(math.comb(n_variables - 1, m) for m in range(max_parents + 1))


def _check_arcs(
    dataset: Dataset, required: frozenset[Arc], forbidden: frozenset[Arc], max_parents: int
) -> None:
    n, names = dataset.n_variables, dataset.names
    for parent, child in sorted(required | forbidden):
        if not (0 <= parent < n and 0 <= child < n) or parent == child:
            raise OptionError(
                f"the constraint on arc {parent} -> {child} names no arc between two of the "
                f"{n} variables"
            )
    for parent, child in sorted(required & forbidden):
        raise InfeasibleError(
            f"the arc {names[parent]} -> {names[child]} is both required and forbidden; drop one"
        )
    for child in range(n):
        wanted = sorted(p for p, c in required if c == child)
        if len(wanted) > max_parents:
            raise InfeasibleError(
                f"variable {names[child]!r} is required to have {len(wanted)} parents "
                f"({', '.join(names[p] for p in wanted)}) but may have at most {max_parents}; "
                "raise max_parents or require fewer arcs"
            )


def _problem(
    names: tuple[str, ...],
    tables: list[_Table],
    required: frozenset[Arc],
    forbidden: frozenset[Arc],
) -> Problem:
    """Sort the candidates by variable, score, size and parents into one problem."""
    widest = max((t.parents.shape[1] for t in tables), default=0)
    child = np.concatenate([np.zeros(0, np.int32), *(t.child for t in tables)])
    scores = np.concatenate([np.zeros(0), *(t.scores for t in tables)])
    parents = np.full((len(child), widest), -1, np.int32)
    row = 0
    for table in tables:
        parents[row : row + len(table.child), : table.parents.shape[1]] = table.parents
        row += len(table.child)
    sizes = (parents >= 0).sum(axis=1)
    order = np.lexsort((*parents.T[::-1], sizes, -scores, child))
    members = parents[order]
    return Problem(
        names=names,
        first=np.searchsorted(child[order], np.arange(len(names) + 1)).astype(np.int64),
        scores=scores[order],
        member_first=np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.int64),
        members=members[members >= 0],
        required=required,
        forbidden=forbidden,
    )
