"""The enumeration of candidate parent sets, size by size and block by block, on all cores."""

import math
from collections.abc import Callable, Generator, Iterator
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.executors import Workers, in_order
from exactlearn._runtime.hash_tables import LARGEST_RANK, binomials
from exactlearn.data.counts import distinct_rows
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.scoring.candidate_lattice import Found, Joined, Lattice, Rules, Scratch, score_sets
from exactlearn.scoring.candidate_level import (
    Kept,
    Level,
    gather,
    join_sets,
    level_of_empty_set,
    room_for,
    trim,
)
from exactlearn.scoring.scores import Score
from exactlearn.scoring.set_scores import SIZE_LIMIT, table_sizes
from exactlearn.scoring.set_tables import Rows, index_rows, new_stack
from exactlearn.scoring.terms import Terms, TermTables, value
from exactlearn.solvers.problem import Arc

OPEN_LIMIT = 2**26
"""Most open families of one size, about 16 bytes each; their sets take as much again."""
BLOCK_ROWS = 2**24
"""Rows visited at most in one block, about; a block is what one thread does at a time."""
DEEP = 5
"""Few sets of more variables are scored."""
REMEMBERED = 2**12
"""Parent sets whose sums each thread remembers, a power of two."""

LARGEST_SET = 62
"""Most elements of a set: its families are bits of a whole number."""

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class SizedCandidates:
    """Candidates of one size, by variable index of the data."""

    child: NDArray[np.int32]
    parents: NDArray[np.int32]
    scores: NDArray[np.float64]


class _Block(NamedTuple):
    """What one block found, and the share of the level that is done with it."""

    candidates: SizedCandidates
    kept: Kept
    n_open: int
    counted: int
    done: float


class _Spans(NamedTuple):
    """Blocks of one level: rows of the level below, and the second elements of their unions.

    Block ``b`` joins the rows ``start[b]`` to ``stop[b] - 1``; the second element of a union is at
    least ``low[b]`` and less than ``high[b]``. It makes at most ``unions[b]`` unions.
    """

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    unions: NDArray[np.int64]


class _LevelWork(NamedTuple):
    """What all blocks of one level need; the score's terms where all sizes of sets are known."""

    size: int
    lattice: Lattice
    spans: _Spans
    terms: Terms | None


CountingRows = tuple[NDArray[np.int32], Rows]
"""Variables in an order that suits counting, and the distinct rows by variables in that order."""


class Enumeration:
    """One pass through the lattice of variable sets, in an order that suits counting.

    The rows are those of the dataset, or ``counting``. The blocks are scored by the workers of a
    cluster, if there is one.
    """

    def __init__(
        self,
        dataset: Dataset,
        score: Score,
        max_parents: int,
        required: frozenset[Arc],
        forbidden: frozenset[Arc],
        prune: bool,
        threads: int = 1,
        counting: CountingRows | None = None,
        workers: Workers | None = None,
    ) -> None:
        self.workers = workers
        self.n, self.k, self.threads = dataset.n_variables, max_parents, threads
        self.order, self.rows = in_counting_order(dataset) if counting is None else counting
        self.tables = term_tables(score, self.rows, self.k + 1)
        self.choose = binomials(self.n, min(self.k + 1, LARGEST_SET))
        self.rules = self._rules(required, forbidden, prune)
        self.tables_counted = 0
        self.reached = 0, 0.0
        """Size of the parent sets being scored, and the share of them that is scored."""
        self.exhausted = True
        self.is_cut_short = False
        """Whether the workers of a cluster were stopped before the end."""

    def run(self, on_progress: Progress | None) -> Generator[SizedCandidates, None, None]:
        """Yield the candidates of each size until no family can have a better superset."""
        total = sum(math.comb(self.n, size + 1) for size in range(self.k + 1))
        done = 0
        level = lower = level_of_empty_set(self._empty_sums())
        for size in range(self.k + 1):
            blocks: list[Kept] = []
            still_open = held = 0
            n_sets = math.comb(self.n, size + 1)
            for block in self._level(size, Lattice(self.choose, lower, level, size == self.k)):
                self.reached = size, block.done
                yield block.candidates
                blocks.append(block.kept)
                still_open += block.n_open
                self.tables_counted += block.counted
                held += max(block.n_open, len(block.kept.ranks))
                self._require_room(size, held)
                if on_progress is not None:
                    on_progress(done + int(block.done * n_sets), total)
            if self.is_cut_short:
                return
            done += n_sets
            if size == self.k or (still_open == 0 and self.rules.prune):
                break
            self._require_ranks(size + 2)
            lower, level = level, gather(blocks, size + 1)
        if on_progress is not None and done < total:
            on_progress(total, total)

    def _level(self, size: int, lattice: Lattice) -> Iterator[_Block]:
        """Score the families with ``size`` parents, a block of sets at a time."""
        spans = _blocks(lattice.level, self.n, max(64, BLOCK_ROWS // self._n_rows))
        work = _LevelWork(size, lattice, spans, self._terms_of_level(size + 1))
        n_blocks = len(spans.start)
        if self.workers is not None:
            alone, done = self._alone(), 0
            for block in self.workers.pieces(Enumeration.alone, (alone, work), n_blocks):
                done += 1
                yield block
            self.is_cut_short = done < n_blocks
            return
        yield from in_order(
            lambda block, own: self._score(work, block, own),
            n_blocks,
            lambda: self._scratch(size),
            self.threads,
        )

    def _alone(self) -> "Enumeration":
        """Return the same for a worker, which has no cluster."""
        alone = copy(self)
        alone.workers = None
        return alone

    def alone(self, work: _LevelWork, block: int) -> _Block:
        """Score the families of one block in scratch space of its own."""
        return self._score(work, block, self._scratch(work.size))

    def _scratch(self, size: int) -> Scratch:
        """Return scratch space for families with ``size`` parents."""
        return Scratch(
            new_stack(self.rows, size + 1),
            new_stack(self.rows, max(1, size)),
            np.full(REMEMBERED, -1, np.int64),
            np.zeros((REMEMBERED, len(self.tables.forms))),
        )

    def _score(self, work: _LevelWork, block: int, own: Scratch) -> _Block:
        """Score the families of one block."""
        size, lattice, spans, of_level = work
        joined = self._join(spans, block, lattice.level)
        found = self._found(len(joined.families), size, lattice.last)
        terms = of_level or self._terms_of(joined.sets)
        score_sets(joined, self.rules, lattice, self.rows, own, terms, found)
        kept = trim(found.kept, int(found.numbers[1]), int(found.numbers[2]))
        n_open, counted = int(found.numbers[2]), int(found.numbers[3])
        return _Block(self._table(found), kept, n_open, counted, (block + 1) / len(spans.start))

    def _join(self, spans: _Spans, block: int, level: Level) -> Joined:
        """Return the sets to score that come of one block of the level below."""
        start, stop, low, high, n_sets = (int(numbers[block]) for numbers in spans)
        sets = np.empty((n_sets, level.sets.shape[1] + 1), np.int32)
        families = np.empty(n_sets, np.int64)
        count = join_sets(start, stop, low, high, self.n, level, sets, families)
        return Joined(sets[:count], families[:count])

    def _found(self, n_sets: int, size: int, last: bool) -> Found:
        families = n_sets * (size + 1)
        return Found(
            np.empty(families, np.int32),
            np.empty((families, size), np.int32),
            np.empty(families),
            room_for(0 if last else n_sets, size + 1, len(self.tables.forms)),
            np.zeros(4, np.int64),
        )

    def _require_room(self, size: int, held: int) -> None:
        """Refuse to hold more than fits into memory."""
        if held > OPEN_LIMIT and self.rules.prune:
            raise TooLargeError(
                f"more than {OPEN_LIMIT:,} families with {size} parents may have better supersets, "
                f"the most that are held in memory; set max_parents to at most {size}, or give "
                "scoring_time to identify candidates best first"
            )

    def _require_ranks(self, size: int) -> None:
        """Refuse sets whose ranks, or families, need more than 63 bits."""
        if size > LARGEST_SET or math.comb(self.n, size) > LARGEST_RANK:
            raise TooLargeError(
                f"sets of {size} of {self.n} variables are too many to number; set max_parents to "
                f"at most {size - 2}, or give scoring_time to identify candidates best first"
            )

    @property
    def _n_rows(self) -> int:
        return max(1, len(self.rows.weights))

    def _terms_of_level(self, depth: int) -> Terms | None:
        """Tabulate the score for sets of a size and one smaller, unless these are too many."""
        sizes = [table_sizes(self.rows.cardinalities, d) for d in (depth - 1, depth)]
        return self.tables.covering(np.concatenate(sizes)) if all(map(len, sizes)) else None

    def _terms_of(self, sets: NDArray[np.int32]) -> Terms:
        """Tabulate the score for sets, shape (sets, elements), and for each less an element."""
        states = self.rows.cardinalities[sets].astype(np.float64)
        sizes = states.prod(axis=1)
        smaller = sizes[:, None] / states
        return self.tables.covering(np.unique(np.concatenate([sizes, smaller.reshape(-1)])))

    def _table(self, found: Found) -> SizedCandidates:
        rows = int(found.numbers[0])
        parents = np.sort(self.order[found.parents[:rows]], axis=1)
        child = self.order[found.child[:rows]]
        return SizedCandidates(child, parents, found.scores[:rows].copy())

    def _rules(self, required: frozenset[Arc], forbidden: frozenset[Arc], prune: bool) -> Rules:
        slack = rounding_slack(self.rows.total)
        needed = self._arc_matrix(required)
        return Rules(needed, self._arc_matrix(forbidden), needed.sum(axis=0), prune, slack)

    def _arc_matrix(self, arcs: frozenset[Arc]) -> NDArray[np.bool_]:
        matrix, place = np.zeros((self.n, self.n), np.bool_), np.argsort(self.order)
        for parent, child in arcs:
            matrix[place[parent], place[child]] = True
        return matrix

    def _empty_sums(self) -> NDArray[np.float64]:
        """Return the sums over the table of the empty set: one cell with all rows."""
        terms = self.tables.covering([1.0])
        return np.array([value(terms.functions, i, self.rows.total) for i in terms.function[0]])


def term_tables(score: Score, rows: Rows, depth: int) -> TermTables:
    """Return the tables of a score for sets of up to ``depth`` variables."""
    n = len(rows.cardinalities)
    n_sets = sum(math.comb(n, size) for size in range(1, min(depth, n) + 1))
    n_sizes = sum(
        len(table_sizes(rows.cardinalities, size)) or SIZE_LIMIT
        for size in range(1, min(depth, n, DEEP) + 1)
    )
    return TermTables(
        score,
        rows.cardinalities,
        rows.weights,
        n_sizes=n_sizes,
        work=64 * n_sets,
        is_expected=rows.missing.part.size > 0,
    )


def _blocks(level: Level, n: int, aim: int) -> _Spans:
    """Part the unions of two sets of a level into blocks of about ``aim``.

    Sets that differ in their first element only are a group, whose unions are parted by their
    second element where they are too many for one block.
    """
    sets = level.sets
    if sets.shape[1] == 0:
        return _parted(np.array([0, 1]), np.array([n]), np.array([n]), aim)
    new = (sets[1:, 1:] != sets[:-1, 1:]).any(axis=1)
    group_start = np.concatenate([[0], np.flatnonzero(new) + 1, [len(sets)]])
    ends = np.full(len(group_start) - 1, n)
    if sets.shape[1] > 1:
        ends = sets[group_start[:-1], 1].astype(np.int64)
    unions = np.minimum(ends * (ends - 1) // 2, np.diff(group_start) * ends)
    return _parted(group_start, ends, unions, aim)


def _parted(
    group_start: NDArray[np.int64], ends: NDArray[np.int64], unions: NDArray[np.int64], aim: int
) -> _Spans:
    """Put small groups together and part large ones, each block of about ``aim`` unions."""
    large = unions > aim
    number = (np.cumsum(unions) - unions) // aim
    leading = np.flatnonzero((np.diff(number, prepend=-1) > 0) | large | np.roll(large, 1))
    together = np.add.reduceat(unions, leading)
    pieces = np.where(large[leading], -(-together // aim), 1)
    group = np.repeat(leading, pieces)
    piece = np.arange(len(group)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    of = np.repeat(pieces, pieces)
    stop = np.append(group_start[leading[1:]], group_start[-1])
    # Below a second element h there are about h**2 / 2 unions.
    low = np.ceil(ends[group] * np.sqrt(piece / of)).astype(np.int64)
    end = np.where(of > 1, ends[group], ends.max())
    high = np.where(piece + 1 < of, np.append(low[1:], 0), end)
    most = np.minimum(np.repeat(together, pieces), (high - low) * high)
    return _Spans(
        group_start[group],
        np.repeat(stop, pieces),
        low,
        high,
        np.where(of > 1, most, np.repeat(together, pieces)),
    )


def in_counting_order(dataset: Dataset) -> CountingRows:
    """Put the variables with the fewest rows off their common state first, where sets end.

    Returns the variables in that order, and the distinct rows by variables in that order.
    """
    codes, weights = distinct_rows(dataset)
    common = [np.bincount(column, weights, minlength=1).max() for column in codes]
    order = np.argsort(-np.array(common), kind="stable").astype(np.int32)
    columns = np.ascontiguousarray(codes[order])
    return order, index_rows(columns, weights, dataset.cardinalities[order])


def rounding_slack(total: float) -> float:
    """Return by how much rounding may change a score of data of that weight, generously."""
    return 1e-11 * (1 + total * math.log1p(total))
