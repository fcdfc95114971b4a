"""The search for a better solution within Hamming distance t of a completion.

The neighbourhood is the exact method's problem restricted to the completions near the current one
(Adel and de Campos, "Approximate algorithm"). Its completions are enumerated, but hardly any is
solved. The proof of t-local optimality goes from cheap to dear:

1. cutting planes bound the DAGs of the current completion, and their multipliers the networks after
   each move (theorem *Moves near a completion*, docs/theory/augmentation.md);
2. the moves left are excluded in groups by their envelopes, or, of several cells where the
   relaxation is tight, one after the other (:mod:`exactlearn.augmentation.local_search.pruning`);
3. a threshold query answers what no bound excludes
   (:mod:`exactlearn.augmentation.local_search.move_search`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.compilation_notice import clock
from exactlearn.augmentation.families import Families
from exactlearn.augmentation.family_store import FamilyStore, require_tabulated
from exactlearn.augmentation.incumbent import Incumbent, Ledger, Solution
from exactlearn.augmentation.local_search.move_search import MoveSearch
from exactlearn.augmentation.local_search.moves import (
    Group,
    Moves,
    by_variable,
    grouped,
    n_moves,
    parts_of,
    prefixes,
)
from exactlearn.augmentation.local_search.pruning import prune_groups, prune_sequentially
from exactlearn.augmentation.task import Task
from exactlearn.solvers.components import families_of
from exactlearn.solvers.lp.clusters import Counted
from exactlearn.solvers.lp.multipliers import Multipliers
from exactlearn.solvers.lp.root import CuttingPlanes, no_listener


class _Reached(NamedTuple):
    """Moves that may lead to a better solution, and each child's best scores after each of them."""

    moves: Moves
    best_scores: NDArray[np.float64]


class Neighbourhood:
    """Completions near a solution's.

    What bounds those of one solution often bounds those of the next one, too.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    incumbent
        The clock.
    store
        All families.
    """

    def __init__(self, task: Task, incumbent: Incumbent, store: FamilyStore) -> None:
        self.task, self.incumbent, self.store = task, incumbent, store
        self.root: Multipliers | None = None
        self.relaxed: Solution | None = None
        self.tight = False
        self.known_multipliers: list[Multipliers] = []
        self.next_prefix: dict[int, int] = {}

    def better(self, solution: Solution, t: int | None) -> Solution | None:
        """Return a better solution; ``None`` when there is none, or the search is over.

        That there is none is proven if there is a radius, unless the search is over.

        Parameters
        ----------
        solution
            A DAG and the store's completion.
        t
            Hamming distance up to which completions are searched; without it, only what a search
            that proves nothing finds one cell away.
        """
        if t is None:
            return self._found(solution, halve=True)
        sizes = range(1, min(t, len(self.store.cells)) + 1)
        singles = [self.store.single_moves(distinct=size == 1) for size in sizes]
        ledger = Ledger(solution, sum(map(n_moves, singles, sizes)))
        self.incumbent.examine(ledger)
        better = self._found(solution, halve=False) or self._proven(solution, singles, ledger)
        no_bounds = ledger.unseen == ledger.total
        if better is None and singles and no_bounds and self.incumbent.is_over:
            self._bound_quickly(solution, singles[0], ledger)
        return better

    def _bound_quickly(
        self, solution: Solution, singles: NDArray[np.int64], ledger: Ledger
    ) -> None:
        """Quick bound: bound as many moves of single cells as a moment allows."""
        if self.root is None:
            return
        search, end = self._search(solution), clock() + self.task.climbing.grace_period
        ledger.dag = solution.target + search.gap
        for block in self.store.blocks(singles):
            if clock() > end:
                return
            _bounded(search, Moves(block[:0], block), ledger)

    def _found(self, solution: Solution, *, halve: bool) -> Solution | None:
        """Return a better solution that a search without proofs finds."""
        if self.root is None:
            self._relax(solution, self.task.climbing.rounds)
        if self.incumbent.is_over:
            return None
        singles = self.store.single_moves(distinct=True)
        groups = [(Moves(singles[:0], moves),) for moves in by_variable(singles)]
        halve = halve and not self.tight
        return prune_groups(self._search(solution), groups, prove=False, halve=halve)

    def _proven(
        self, solution: Solution, singles: list[NDArray[np.int64]], ledger: Ledger
    ) -> Solution | None:
        """Return a better solution; ``None`` when there is provably none, or the search is over.

        The moves of single cells are given for each number of cells that may differ.
        """
        if not (self.tight and self.relaxed is solution):
            self._relax(solution, self.task.climbing.most_rounds)
        if self.incumbent.is_over:
            return None
        search = self._search(solution)
        ledger.dag = solution.target + search.gap
        better = None if self.tight else search.better_dag()
        if better is not None or self.incumbent.is_over:
            return better
        ledger.dag = solution.score
        search = search.with_best_dag()
        for size, moves in enumerate(singles, 1):
            if better is None:
                better = self._at_distance(search, moves, size, ledger)
        return better

    def _relax(self, solution: Solution, rounds: int) -> None:
        """Bound the DAGs for the solution's completion by rounds of cutting planes."""
        problem = self.task.families(solution.values, control=self.incumbent)
        if self.incumbent.is_over:
            return
        problem = problem.select(problem.allowed)
        start = Counted.none(problem.n_variables) if self.root is None else self.root.counted
        planes = CuttingPlanes(
            problem,
            families_of(problem),
            None,
            start,
            no_listener,
            solution.target,
            self.incumbent,
        )
        bounds, tuning = [np.inf], self.task.climbing
        while planes.bound > solution.target and len(bounds) <= rounds:
            if not self.incumbent.goes_on() or not planes.step():
                break
            bounds.append(planes.bound)
            before = bounds[max(0, len(bounds) - tuning.tail)]
            if before - planes.bound < tuning.least_gain * (before - solution.target):
                break
        found = planes.root()
        self.relaxed = solution
        self.root, self.tight = found.multipliers, found.bound <= solution.target

    def _at_distance(
        self, search: MoveSearch, singles: NDArray[np.int64], size: int, ledger: Ledger
    ) -> Solution | None:
        """Search the completions in which just so many cells differ."""
        if self.tight and size > 1:
            return self._one_by_one(search, singles, size, ledger)
        families = np.zeros(len(search.rewards), np.bool_)
        found: list[_Reached] = []
        for fixed, last in prefixes(singles, size - 1):
            if not self.incumbent.goes_on():
                return None
            with self.store.changed(fixed):
                reached, close = _bounded(search, Moves(fixed, last), ledger)
            if len(reached.best_scores):
                families |= close
                found.append(reached)
        if not found:
            return None
        # a better solution mostly follows from what is hard to bound: that comes first
        groups = _groups(search, found)[::-1]
        return prune_groups(search.among(families), groups, ledger=ledger)

    def _one_by_one(
        self, search: MoveSearch, singles: NDArray[np.int64], size: int, ledger: Ledger
    ) -> Solution | None:
        """Exclude one move after the other, those after the last better solution first."""
        before = list(prefixes(singles, size - 1))
        begin = self.next_prefix.get(size, 0) % max(1, len(before))
        for number in [*range(begin, len(before)), *range(begin)]:
            if not self.incumbent.goes_on():
                return None
            self.next_prefix[size], (fixed, last) = number, before[number]
            with self.store.changed(fixed):
                reached, close = _bounded(search, Moves(fixed, last), ledger)
                if not len(reached.best_scores):
                    continue
                few, moves = search.among(close), reached.moves
                better = prune_sequentially(few, moves, self.known_multipliers, ledger)
            if better is not None:
                return better
        return None

    def _search(self, solution: Solution) -> MoveSearch:
        assert self.root is not None
        return MoveSearch(self.task, self.incumbent, solution, self.store, self.root)


def _bounded(
    search: MoveSearch, moves: Moves, ledger: Ledger
) -> tuple[_Reached, NDArray[np.bool_]]:
    """Bound moves; keep those that are not excluded, and note them in the ledger.

    Where the search is over, these may be the first moves only. Also return the families that a
    better solution may have, shape (families,).
    """
    best_scores, close = search.bounds(moves.last)
    bounds = best_scores.sum(axis=1) - search.multipliers.total
    left = bounds > search.solution.target
    ledger.unseen -= len(bounds)
    ledger.left.append(bounds[left])
    return _Reached(
        moves.take(np.s_[: len(best_scores)])._replace(bounds=bounds).take(left), best_scores[left]
    ), close


def _groups(search: MoveSearch, found: Sequence[_Reached]) -> list[Group]:
    """Put moves together whose envelope is hardly harder to exclude than each of them."""
    moves, tuning = [one.moves for one in found], search.task.climbing
    best_scores = np.concatenate([one.best_scores for one in found])
    order = np.argsort(best_scores.sum(axis=1), kind="stable")
    limit = search.solution.target + search.gap + search.multipliers.total
    starts = range(0, len(order), tuning.batch_size)
    batches = [order[at : at + tuning.batch_size] for at in starts]
    return [
        parts_of(moves, np.sort(batch[members]))
        for batch in batches
        for members in grouped(best_scores[batch], limit, tuning.slack * search.gap)
    ]


def better_solution(
    task: Task, incumbent: Incumbent, solution: Solution, t: int
) -> Solution | None:
    """Return a better solution near a solution; ``None`` without any, or when the search is over.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    incumbent
        The clock; gets the solution.
    solution
        A DAG and a completion.
    t
        Hamming distance up to which completions are searched.

    Raises
    ------
    TooLargeError
        When there are too many families to tabulate.
    """
    require_tabulated(task.dataset, task.rules)
    incumbent.offer(solution)
    families = Families.allowed(task.dataset.names, task.rules)
    store = FamilyStore.of(task.dataset, solution.values, task.tables, families)
    return Neighbourhood(task, incumbent, store).better(solution, t)
