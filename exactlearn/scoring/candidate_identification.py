"""Anytime identification of candidate parent sets: a best-first search for every child.

Every child gets the same effort, or the same share of the time that is left. The children are
searched side by side, each by one thread (:mod:`exactlearn.scoring.candidate_search`). Where the
effort allows, all pairs of parents are scored beforehand for all children at once, three families
from one table. What is found are
exact scores; sets that were never reached are missing, so an optimum is one over the candidates.
"""

import math
from collections.abc import Callable, Generator, Iterator
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import instance_of, register
from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.executors import Workers, in_order
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.scoring.candidate_enumeration import (
    Enumeration,
    Progress,
    SizedCandidates,
    in_counting_order,
    rounding_slack,
    term_tables,
)
from exactlearn.scoring.candidate_search import (
    BATCH,
    DROPPED,
    EXPANDED,
    NODES,
    QUEUED,
    SCORED,
    is_crowded,
    score_pairs,
    score_singles,
    search,
    take_pairs,
    undominated,
)
from exactlearn.scoring.candidate_tree import (
    Child,
    Queue,
    Tree,
    keep_half,
    new_queue,
    new_tree,
    taller,
)
from exactlearn.scoring.scores import Score
from exactlearn.scoring.set_tables import Stack, new_stack
from exactlearn.scoring.terms import Terms
from exactlearn.solvers.problem import Arc

QUEUE_ROOM = 2**19
"""Sets waiting at most for one child; the less promising half is given up when there are more."""
DEEPEST = 24
"""Most parents a search considers."""
PAUSE = 2**4
"""Batches between two looks at the clock."""
PAIR_SHARE = 4
"""One part in so many of the effort may go to scoring pairs."""
SHARED_VARIABLES = 256
"""Most variables whose pairs are scored for all children at once: 8 bytes for each three."""
ROWS_PER_SECOND = 2e8
"""Rows counted in a second, roughly: how much a time budget lets score beforehand."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long to search for candidate parent sets.

    Parameters
    ----------
    tables
        Contingency tables to count for each variable, about; the same data and effort give the
        same candidates.
    seconds
        Wall time for all variables together. What is found then depends on the machine's speed.

    Raises
    ------
    OptionError
        When neither is given, or one is not positive.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar-complete")
    >>> el.candidate_parent_sets(table, "bdeu", max_parents=2, budget=Budget(tables=50))
    Problem(variables=8, candidates=59)
    """

    tables: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse a budget without limit."""
        if self.tables is None and self.seconds is None:
            raise OptionError("a budget needs a number of tables or of seconds; give one")
        if self.tables is not None and self.tables < 1:
            raise OptionError(f"tables must be at least 1, found {self.tables}")
        if self.seconds is not None and not (math.isfinite(self.seconds) and self.seconds > 0):
            raise OptionError(f"seconds must be a positive number, found {self.seconds}")


class Identified(NamedTuple):
    """The candidates of one child, and whether nothing was left to be searched."""

    candidates: SizedCandidates
    exhausted: bool


class _Space(NamedTuple):
    """What one thread works in."""

    stack: Stack
    queue: Queue


class Identification:
    """The searches for the parent sets of all variables."""

    def __init__(
        self,
        dataset: Dataset,
        score: Score,
        max_parents: int,
        required: frozenset[Arc],
        forbidden: frozenset[Arc],
        budget: Budget,
        threads: int = 1,
        workers: Workers | None = None,
        is_over: Callable[[], bool] | None = None,
    ) -> None:
        self.workers = workers
        self.dataset, self.score = dataset, score
        self.n, self.budget, self.threads = dataset.n_variables, budget, threads
        self.is_over = is_over
        self.order, self.rows = in_counting_order(dataset)
        self.cut = max_parents > DEEPEST
        self.k = min(max_parents, DEEPEST)
        self.place = np.argsort(self.order)
        self.required, self.forbidden = required, forbidden
        self.tables = term_tables(score, self.rows, self.k + 1)

    def run(self, on_progress: Progress | None = None) -> Generator[Identified, None, None]:
        """Yield the candidates of each variable."""
        start = clock()
        shared = self._shared_pairs()

        def identify(variable: int, space: _Space) -> Identified:
            pairs = None if shared is None else shared[variable]
            return self._search(variable, space, self._deadline(start, variable), pairs)

        searches: Iterator[Identified]
        if self.workers is None:
            searches = in_order(identify, self.n, self.space, self.threads)
        else:
            shared_by_all = self._alone(), shared
            searches = self.workers.pieces(Identification.alone, shared_by_all, self.n)
        for done, found in enumerate(searches, 1):
            yield found
            if on_progress is not None:
                on_progress(done, self.n)

    def _alone(self) -> "Identification":
        """Return the same for a worker, which has no cluster."""
        alone = copy(self)
        alone.workers = alone.is_over = None
        return alone

    def alone(self, shared: NDArray[np.float64] | None, variable: int) -> Identified:
        """Search for one variable, in its share of the time."""
        seconds = math.inf if self.budget.seconds is None else self.budget.seconds
        share = seconds * min(1.0, self.threads / self.n)
        pairs = None if shared is None else shared[variable]
        return self._search(variable, self.space(), clock() + share, pairs)

    def space(self) -> _Space:
        """Return what one thread works in."""
        return _Space(new_stack(self.rows, self.k + 1), new_queue(self._queue_room))

    @property
    def _queue_room(self) -> int:
        return max(QUEUE_ROOM, 4 * BATCH * self.n)

    def _deadline(self, start: float, variable: int) -> float:
        """Return when the search for a variable ends: the time left, shared evenly."""
        if self.budget.seconds is None:
            return math.inf
        now = clock()
        left = max(0.0, start + self.budget.seconds - now)
        rounds = max(1.0, (self.n - variable) / self.threads)
        return now + left / rounds

    def _shared_pairs(self) -> NDArray[np.float64] | None:
        """Return the scores of all pairs of parents, by child, if there is effort enough.

        Shape (n, n, n), symmetric, not-a-number where a child may not have these parents.
        """
        if self.k < 2 or self.n > SHARED_VARIABLES or self.required:
            return None
        sets = math.comb(self.n, 3)
        if (self.budget.tables or 2**62) < PAIR_SHARE * sets // max(1, self.n):
            return None
        seconds = sets * len(self.rows.weights) / ROWS_PER_SECOND / self.threads
        if seconds * PAIR_SHARE > (self.budget.seconds or math.inf):
            return None
        enumeration = Enumeration(
            self.dataset, self.score, 2, self.required, self.forbidden, False, self.threads
        )
        shared = np.full((self.n, self.n, self.n), np.nan)
        for found in enumeration.run(None):
            if found.parents.shape[1] == 2:
                first, second = found.parents.T
                shared[found.child, first, second] = found.scores
                shared[found.child, second, first] = found.scores
        return shared

    def _search(
        self,
        variable: int,
        space: _Space,
        deadline: float,
        pairs: NDArray[np.float64] | None,
    ) -> Identified:
        stack, queue = space
        numbers = np.zeros(5, np.int64)
        child = self._child(variable)
        given = self.rows, stack, self._terms(child, self._first_spaces(child))
        tree, start = new_tree(1 + len(child.parents)), clock()
        score_singles(child, tree, *given, numbers)
        covered = len(child.parents)
        control = SearchControl.within()  # of a worker
        is_over = self.is_over or (lambda: control.is_stopped)
        if is_over():
            covered, pairs = 0, None
        elif pairs is None:
            covered = self._n_paired(covered, numbers, start, deadline)
        tree = taller(tree, len(tree.score) + covered**2 // 2 + BATCH)
        child = _strongest_first(child, tree, int(numbers[NODES]), covered)
        if pairs is None:
            score_pairs(child, tree, *given, numbers)
        else:
            places = self.order[child.parents]
            child.pair[:] = pairs[np.ix_(places, places)]
            take_pairs(child, tree, self.rows, given[2], numbers)
        limit = self.budget.tables or 2**62
        while True:
            late = clock() >= deadline or is_over()
            if not late:
                unknown = search(child, tree, *given, queue, numbers, limit, PAUSE)
                if unknown:
                    given = self.rows, stack, self._terms(child, np.array([unknown]))
            settled = numbers[EXPANDED] == numbers[NODES]
            if settled and numbers[QUEUED] == 0:
                break
            if numbers[SCORED] >= limit or late:
                break
            if is_crowded(child, queue, numbers):
                numbers[DROPPED] += numbers[QUEUED] - numbers[QUEUED] // 2
                numbers[QUEUED], child.floor[0] = keep_half(queue, int(numbers[QUEUED]))
            if numbers[NODES] + BATCH > len(tree.score):
                tree = taller(tree, 2 * len(tree.score))
        exhausted = settled and numbers[QUEUED] == 0 and numbers[DROPPED] == 0 and not self.cut
        return Identified(self._candidates(child, tree, int(numbers[NODES])), bool(exhausted))

    def _child(self, variable: int) -> Child:
        needed = [p for p, c in self.required if c == variable]
        barred = {p for p, c in self.forbidden if c == variable} | {variable, *needed}
        parents = np.sort(self.place[[p for p in range(self.n) if p not in barred]])
        return Child(
            int(self.place[variable]),
            np.sort(self.place[needed]).astype(np.int64),
            parents.astype(np.int64),
            np.full(len(parents), np.nan),
            np.zeros((0, 0)),
            np.zeros(len(parents)),
            np.zeros((0, 0)),
            np.array([-np.inf]),
            self.k,
            rounding_slack(self.rows.total),
            np.empty(1 + max(self.k, len(needed)), np.int64),
        )

    def _n_paired(self, m: int, numbers: NDArray[np.int64], start: float, deadline: float) -> int:
        """Return for how many of the first parents all pairs are scored.

        How many tables there is time for is known from those counted since ``start``.
        """
        tables = self.budget.tables or 2**62
        if deadline < math.inf:
            now = clock()
            each = max(1e-7, (now - start) / int(numbers[SCORED]))
            tables = min(tables, int(max(0.0, deadline - now) / each))
        return min(m, math.isqrt(2 * tables // PAIR_SHARE))

    def _candidates(self, child: Child, tree: Tree, n_nodes: int) -> SizedCandidates:
        """Return what no other set that was scored dominates."""
        useful = np.flatnonzero(tree.useful[:n_nodes])
        depth = int(tree.depth[useful].max()) + len(child.required)
        useful = useful[np.lexsort((tree.depth[useful], -tree.score[useful]))]
        sets = np.full((len(useful), depth), -1, np.int32)
        kept = undominated(child, tree, useful, self.n, sets)
        named = np.where(sets[kept] >= 0, self.order[sets[kept]], self.n)
        named.sort(axis=1)
        parents = np.where(named < self.n, named, -1).astype(np.int32)
        owner = np.full(int(kept.sum()), self.order[child.child], np.int32)
        return SizedCandidates(owner, parents, tree.score[useful[kept]])

    def _first_spaces(self, child: Child) -> NDArray[np.float64]:
        """Return the numbers of configurations of the required parents, and of one more."""
        needed = self.rows.cardinalities[child.required].prod(dtype=np.float64)
        return np.asarray(np.array([1.0, *self.tables.domain.states]) * needed, np.float64)

    def _terms(self, child: Child, spaces: NDArray[np.float64]) -> Terms:
        """Tabulate the score for so many configurations of parents, and for one parent more."""
        r = float(self.rows.cardinalities[child.child])
        sizes = np.outer(spaces, [1.0, *self.tables.domain.states])
        return self.tables.covering(np.unique([sizes, sizes * r]))


def _strongest_first(child: Child, tree: Tree, n_nodes: int, covered: int) -> Child:
    """Put the parents that gain most first, and those that bounds close last.

    The tree's single parents get their new places. ``covered`` is of how many parents, from the
    first on, the pairs will be scored.
    """
    order = np.argsort(-child.single, kind="stable")
    tree.place[1:n_nodes] = np.argsort(order)[tree.place[1:n_nodes]]
    return child._replace(
        parents=child.parents[order],
        single=child.single[order],
        gain=child.gain[order],
        pair=np.full((covered, covered), np.nan),
        interaction=np.zeros((covered, covered)),
    )


register(budget=instance_of(Budget, "a Budget", "pass Budget(seconds=60), say"))
