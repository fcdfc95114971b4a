"""The enumeration of candidate parent sets, size by size, without what a subset dominates.

A set ``S`` stands for the families ``(s, S - s)`` of its elements. A parent set is *dominated* when
a proper subset scores at least as well: it never needs to be chosen. It is *closed* when every
allowed superset is dominated too. A family is scored when all those with one parent less are open.
Only sets that were scored, or have an open family, are kept; so memory and time depend on what the
bounds leave, not on the number of all sets.

The sets of the next size are unions of two kept sets that differ in their first element only: the
join of frequent sets (Agrawal and Srikant 1994, "Fast algorithms for mining association rules").
Every set of which some family is open is the union of itself without its first element and itself
without its second, and one of the two is kept. Sets are numbered, and visited, in colexicographic
order (:mod:`exactlearn._runtime.hash_tables`): a set without its first element has the rank of the
set less that element, and consecutive sets share tables.
"""

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.executors import Workers, in_order
from exactlearn._runtime.hash_tables import LARGEST_RANK, binomials
from exactlearn._runtime.offsets import offsets, owners, places_within
from exactlearn.errors import TooLargeError
from exactlearn.solvers.problem import Arc

HELD_LIMIT = 2**27
"""Most families of one size that are held, about 12 bytes each."""
LARGEST_SET = 62
"""Most elements of a set whose ranks are looked up."""

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class SizedCandidates:
    """Candidates of one size, by variable index of the data."""

    child: NDArray[np.int32]
    parents: NDArray[np.int32]
    scores: NDArray[np.float64]


class Level(NamedTuple):
    """The kept sets of one size, in colexicographic order.

    Attributes
    ----------
    ranks, sets
        Shapes (sets,) and (sets, size).
    best
        By element, the best score of an allowed subset of the others as its parents, not-a-number
        where the family is closed. Here and below a last row stands for all sets that are not kept,
        shape (sets + 1, size).
    sums
        The sums over the table of each set, not-a-number where not counted, (sets + 1, forms).
    cells
        Number of observed configurations, 0 where not counted, shape (sets + 1,).
    entropy
        Penalty of a family from which on one of these parents has too little entropy given the
        others, infinite where not known, shape (sets + 1,).
    """

    ranks: NDArray[np.int64]
    sets: NDArray[np.int32]
    best: NDArray[np.float64]
    sums: NDArray[np.float64]
    cells: NDArray[np.float64]
    entropy: NDArray[np.float64]

    def part(self, rows: NDArray[Any]) -> "Level":
        """Return some of the sets."""
        return Level(*(array[rows] for array in self))

    def find(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of sets by their ranks, -1 for those that are not kept."""
        row = np.searchsorted(self.ranks, ranks)
        row = np.minimum(row, len(self.ranks) - 1)
        is_kept = self.ranks[row] == ranks
        return np.where(is_kept, row, -1).astype(np.int64)


class Joined(NamedTuple):
    """Sets to be scored, in colexicographic order.

    By element, ``without`` holds the rank of the set less the element, ``nodes`` its row in the
    level below, and ``best`` what that of :class:`Level` does, all of shape (sets, size).
    """

    sets: NDArray[np.int32]
    ranks: NDArray[np.int64]
    without: NDArray[np.int64]
    nodes: NDArray[np.int64]
    best: NDArray[np.float64]

    def part(self, rows: NDArray[Any]) -> "Joined":
        """Return some of the sets."""
        return Joined(*(array[rows] for array in self))


class Scored(NamedTuple):
    """Scores of the families of joined sets, not-a-number where not scored, and their bounds.

    ``ceilings`` bounds the scores of all supersets of a family; the other columns are as those of
    :class:`Level`.
    """

    scores: NDArray[np.float64]
    ceilings: NDArray[np.float64]
    sums: NDArray[np.float64]
    cells: NDArray[np.float64]
    entropy: NDArray[np.float64]


class FamilyScorer(Protocol):
    """Scores the families of joined sets, places of variables in an order that suits it."""

    order: NDArray[np.int32]
    exhausted: bool
    """Whether all families could be scored."""
    block: int
    """Sets that one thread scores at a time."""

    @property
    def of_empty_set(self) -> NDArray[np.float64]:
        """The sums over the table of the empty set, shape (forms,)."""

    def space(self, size: int) -> Any:
        """Return scratch space of one thread for sets of a size."""

    def score(
        self,
        joined: Joined,
        level: Level,
        is_scored: NDArray[np.bool_],
        space: Any,
    ) -> Scored:
        """Score the families ``is_scored``, and close those that bounds close, in ``best``."""


class _LevelWork(NamedTuple):
    """The work on one level; block ``b`` starts at row ``starts[b]`` of the level."""

    level: Level
    starts: NDArray[np.int64]
    is_last: bool

    @property
    def size(self) -> int:
        """Number of variables of the sets to be scored: one more than those of the level."""
        return int(self.level.sets.shape[1]) + 1


class Enumeration:
    """One pass through the lattice of sets of variables.

    Parameters
    ----------
    scorer
        Scores families.
    max_parents
        Largest size of a parent set.
    required, forbidden
        Arcs that every, or no, network must have.
    prune
        Whether to drop the parent sets that a proper subset dominates.

    Attributes
    ----------
    reached
        Size of the parent sets being scored, and the part of them that is scored.
    is_cut_short
        Whether the workers of a cluster were stopped before the end.
    """

    def __init__(
        self,
        scorer: FamilyScorer,
        max_parents: int,
        required: frozenset[Arc],
        forbidden: frozenset[Arc],
        prune: bool,
    ) -> None:
        self.scorer = scorer
        self.k = max_parents
        self.prune = prune
        self.n = len(scorer.order)
        self.choose = binomials(self.n, min(self.k + 1, LARGEST_SET))
        self.required = _arc_matrix(scorer.order, required)
        self.forbidden = _arc_matrix(scorer.order, forbidden)
        self.reached = (0, 0.0)
        self.is_cut_short = False

    @property
    def exhausted(self) -> bool:
        """Whether all families could be scored, so far."""
        return self.scorer.exhausted

    @property
    def has_enough(self) -> bool:
        """Whether each variable has its parent set of size 0, where that is allowed."""
        return self.reached >= (0, 1.0)

    @property
    def how_far(self) -> str:
        """The progress of the enumeration, in a sentence."""
        size, scored = self.reached
        return f"{100 * scored:.0f} % of the parent sets of size {size} were scored"

    def run(
        self,
        on_progress: Progress | None,
        threads: int = 1,
        workers: Workers | None = None,
    ) -> Generator[SizedCandidates, None, None]:
        """Yield the candidates of each size until no family can have a better superset.

        The workers of a cluster score, if there is one.

        Raises
        ------
        TooLargeError
            When more is to be held than fits into memory.
        """
        # Progress is measured in sets: those of size + 1 hold child and parents.
        set_counts = [math.comb(self.n, size) for size in range(1, self.k + 2)]
        total = sum(set_counts)
        done = 0
        level = _level_of_empty_set(self.scorer.of_empty_set)
        for size, n_sets in enumerate(set_counts):
            kept: list[Level] = []
            n_held = 0
            starts = _starts(level, self.n, self.scorer.block)
            work = _LevelWork(level, starts, is_last=size == self.k)
            n_blocks = len(starts) - 1
            for candidates, sets in self._blocks(work, n_blocks, threads, workers):
                kept.append(sets)
                scored = len(kept) / n_blocks
                self.reached = size, scored
                yield candidates
                n_held += sets.sets.size
                self._require_room(size, n_held)
                if on_progress is not None:
                    on_progress(done + int(scored * n_sets), total)
            # With blocks left out, the next level would lack subsets.
            self.is_cut_short = len(kept) < n_blocks
            if self.is_cut_short:
                return
            done += n_sets
            # No family is open: none of a larger size can be a candidate.
            if size == self.k or all(np.isnan(sets.best).all() for sets in kept):
                break
            self._require_ranks(size + 2)
            level = _gathered(kept)
        if on_progress is not None and done < total:
            on_progress(total, total)

    def _blocks(
        self,
        work: _LevelWork,
        n_blocks: int,
        threads: int,
        workers: Workers | None,
    ) -> Iterator[tuple[SizedCandidates, Level]]:
        """Score the families of one level, a block of sets at a time."""
        if workers is not None:
            return workers.pieces(Enumeration.alone, (self, work), n_blocks)
        score = partial(self._score, work)
        space = partial(self.scorer.space, work.size)
        return in_order(score, n_blocks, space, threads)

    def alone(self, work: _LevelWork, block: int) -> tuple[SizedCandidates, Level]:
        """Score the families of one block in scratch space of its own, for a worker."""
        space = self.scorer.space(work.size)
        return self._score(work, block, space)

    def _score(
        self,
        work: _LevelWork,
        block: int,
        space: Any,
    ) -> tuple[SizedCandidates, Level]:
        """Return the candidates of one block, and the sets that stay for the next level."""
        start, stop = work.starts[block : block + 2].tolist()
        joined = _join(work.level, start, stop, self.n, self.choose)
        scored = self.scorer.score(
            joined,
            work.level,
            self._allowed(joined),
            space,
        )
        scores = scored.scores
        best = joined.best
        has_score = ~np.isnan(scores)
        is_candidate = scores > best if self.prune else has_score
        # The best score of a subset may be this one; a family whose ceiling it reaches is closed.
        best = np.fmax(best, scores)
        best[scored.ceilings <= best] = np.nan
        level = Level(
            ranks=joined.ranks,
            sets=joined.sets,
            best=best,
            sums=scored.sums,
            cells=scored.cells,
            entropy=scored.entropy,
        )
        # A set stays for the next level while a family of it is open, or its table is counted.
        is_kept = (~np.isnan(best) | has_score).any(axis=1)
        kept = np.flatnonzero(is_kept & (not work.is_last))
        candidates = self._candidates(joined.sets, is_candidate, scores)
        return candidates, level.part(kept)

    def _allowed(self, joined: Joined) -> NDArray[np.bool_]:
        """Return a mask of the open families with all required arcs; close forbidden ones."""
        sets = joined.sets
        best = joined.best
        # A forbidden arc closes the pair, and with it all supersets.
        if sets.shape[1] == 2:
            partners = sets[:, ::-1]
            is_forbidden = self.forbidden[partners, sets]
            best[is_forbidden] = np.nan
        allowed = ~np.isnan(best)
        # Families that lack a required parent are held for their supersets alone.
        if self.required.any():
            parents = sets[:, :, None]
            children = sets[:, None, :]
            n_present = self.required[parents, children].sum(axis=1)
            n_required = self.required.sum(axis=0)[sets]
            allowed &= n_present == n_required
        return allowed

    def _candidates(
        self,
        sets: NDArray[np.int32],
        is_candidate: NDArray[np.bool_],
        scores: NDArray[np.float64],
    ) -> SizedCandidates:
        """Return families by the index of their variables."""
        row, t = np.nonzero(is_candidate)
        variables = self.scorer.order[sets]
        parents = less_one(variables, row, t)
        return SizedCandidates(
            child=variables[row, t],
            parents=np.sort(parents, axis=1),
            scores=scores[row, t],
        )

    def _require_room(self, size: int, held: int) -> None:
        """Refuse to hold more than fits into memory."""
        if held > HELD_LIMIT and self.prune:
            raise TooLargeError(
                f"more than {HELD_LIMIT:,} families with {size} parents are to be held for their "
                f"supersets, the most that fit into memory; set max_parents to at most {size}, or "
                "give scoring_time to identify candidates best first"
            )

    def _require_ranks(self, size: int) -> None:
        """Refuse sets whose ranks need more than 63 bits."""
        if size > LARGEST_SET or math.comb(self.n, size) > LARGEST_RANK:
            raise TooLargeError(
                f"sets of {size} of {self.n} variables are too many to number; set max_parents to "
                f"at most {size - 2}, or give scoring_time to identify candidates best first"
            )


def required_parents(child: int, required: frozenset[Arc]) -> list[int]:
    """Return the parents that a variable must have, in increasing order."""
    return sorted(p for p, c in required if c == child)


def less_one(
    sets: NDArray[np.int32],
    rows: NDArray[np.int64],
    t: NDArray[np.int64],
) -> NDArray[np.int32]:
    """Return some of the sets, each less one element, shape (rows, size - 1)."""
    size = sets.shape[1]
    is_left = np.arange(size) != t[:, None]
    remaining: NDArray[np.int32] = sets[rows][is_left]
    return remaining.reshape(len(rows), size - 1)


def _arc_matrix(order: NDArray[np.int32], arcs: frozenset[Arc]) -> NDArray[np.bool_]:
    """Return arcs as a matrix, by the places of parent and child in the order, shape (n, n)."""
    place = np.argsort(order)
    matrix = np.zeros((len(order), len(order)), np.bool_)
    for parent, child in arcs:
        matrix[place[parent], place[child]] = True
    return matrix


def _level_of_empty_set(sums: NDArray[np.float64]) -> Level:
    """Return the level that holds the empty set alone."""
    level = Level(
        ranks=np.zeros(1, np.int64),
        sets=np.zeros((1, 0), np.int32),
        best=np.zeros((1, 0)),
        sums=sums[None, :],
        cells=np.ones(1),
        entropy=np.full(1, np.inf),
    )
    return _gathered([level])


def _gathered(blocks: list[Level]) -> Level:
    """Put the kept sets of one size together, and a row for those that are not kept."""
    columns = zip(*blocks, strict=True)
    level = Level(*map(np.concatenate, columns))
    level = level.part(np.argsort(level.ranks, kind="stable"))
    return level._replace(
        best=_with_row(level.best, np.nan),
        sums=_with_row(level.sums, np.nan),
        cells=_with_row(level.cells, 0.0),
        entropy=_with_row(level.entropy, np.inf),
    )


def _with_row(array: NDArray[np.float64], value: float) -> NDArray[np.float64]:
    """Return an array with one more row of a value."""
    last = np.full((1, *array.shape[1:]), value)
    return np.concatenate([array, last])


def _n_first_elements(sets: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """Return the number of first elements that each set's other ones allow, shape (sets,)."""
    if sets.shape[1] > 1:
        return sets[:, 1].astype(np.int64)
    return np.full(len(sets), n)


def _starts(level: Level, n: int, aim: int) -> NDArray[np.int64]:
    """Part the unions of a level into blocks of about ``aim``; return where blocks start and end.

    A block is a range of rows of the level; on that of the empty set, of variables.
    """
    if level.sets.shape[1] == 0:
        n_unions = np.ones(n, np.int64)
    else:
        n_unions = _n_first_elements(level.sets, n)
    block = offsets(n_unions)[:-1] // aim
    is_start = np.diff(block, prepend=-1)
    return np.append(np.flatnonzero(is_start), len(n_unions))


def _join(
    level: Level,
    start: int,
    stop: int,
    n: int,
    choose: NDArray[np.int64],
) -> Joined:
    """Return the unions of some sets with those that differ in the first element only.

    A union is found from the one of its two sets with the larger first element, or from the other
    one where that is not kept.

    Parameters
    ----------
    level, start, stop
        The kept sets, and a range of them; of variables on the level of the empty set.
    n, choose
        Number of variables, and binomial coefficients.
    """
    if level.sets.shape[1] == 0:
        singles = np.arange(start, stop, dtype=np.int64)[:, None]
        nothing = np.zeros_like(singles)
        return Joined(
            sets=singles.astype(np.int32),
            ranks=singles[:, 0],
            without=nothing,
            nodes=nothing,
            best=np.full(singles.shape, -np.inf),
        )
    # The first element is replaced by each that may stand before the second one.
    unions = offsets(_n_first_elements(level.sets[start:stop], n))
    row = start + owners(unions)
    added = places_within(unions)
    first = level.sets[row, 0]
    # The set with the added variable as its first element, and each union once.
    partner = level.find(level.ranks[row] - first + added)
    is_new = (added < first) | ((added > first) & (partner < 0))
    first_two = np.column_stack([first, added])[is_new]
    first_two = np.sort(first_two, axis=1)
    later = level.sets[row[is_new], 1:]
    sets = np.column_stack([first_two, later]).astype(np.int32)
    size = sets.shape[1]
    # Ranks: an element after the one that is left out moves one place down.
    moved = choose[sets, np.arange(size)]
    kept = choose[sets, np.arange(1, size + 1)]
    rank_before = np.cumsum(kept, axis=1) - kept
    rank_after = moved.sum(axis=1, keepdims=True) - np.cumsum(moved, axis=1)
    joined = Joined(
        sets=sets,
        ranks=kept.sum(axis=1),
        without=rank_before + rank_after,
        nodes=np.empty(sets.shape, np.int64),
        best=np.full(sets.shape, -np.inf),
    )
    joined = joined.part(np.argsort(joined.ranks, kind="stable"))
    # Each element's best subset, over all sets with one element less.
    for u in range(size):
        joined.nodes[:, u] = level.find(joined.without[:, u])
        inside = level.best[joined.nodes[:, u]]
        # A set without element u has the later ones a place further down.
        before = joined.best[:, :u]
        after = joined.best[:, u + 1 :]
        np.maximum(before, inside[:, :u], out=before)
        np.maximum(after, inside[:, u:], out=after)
    has_open_family = (~np.isnan(joined.best)).any(axis=1)
    return joined.part(np.flatnonzero(has_open_family))
