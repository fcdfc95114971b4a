"""The search for a better solution within Hamming distance t of a completion.

The neighbourhood is the exact method's problem restricted to the completions near the current one
(Adel and de Campos, "Approximate algorithm"). Its completions are enumerated, but hardly any is
solved. The proof of t-local optimality goes from cheap to dear:

1. cutting planes bound the DAGs of the current completion, and their multipliers the networks after
   each move (theorem *Moves near a completion*, docs/theory/augmentation.md);
2. the moves left are excluded in groups by their envelopes, which are halved if need be, or, of
   several cells where the relaxation is tight, one after the other;
3. a threshold query answers what no bound excludes
   (:mod:`exactlearn.augmentation.move_search`).

*Sequential pruning* takes the most promising move alone. Mostly a few subgradient steps
(:mod:`exactlearn.solvers.lp.dual_bounds`) give multipliers that exclude it, and these exclude
others; else its problem, which is small, is solved. With 3 % of SPECT hidden and t = 2 that takes
38 seconds, groups take 68 (benchmarks/ablation.md); single cells are excluded sooner in groups.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.executors import in_order, n_threads
from exactlearn.augmentation.families import Families
from exactlearn.augmentation.family_store import FamilyStore, require_tabulated
from exactlearn.augmentation.move_search import Moves, MoveSearch, tightened
from exactlearn.augmentation.solutions import Incumbent, Solution
from exactlearn.augmentation.task import Task
from exactlearn.solvers.lp.clusters import Counted
from exactlearn.solvers.lp.dual_bounds import STEPS
from exactlearn.solvers.lp.multipliers import Multipliers
from exactlearn.solvers.lp.root import CuttingPlanes

# Rounds of cutting planes, and those in which such a share of the gap must be closed: else more
# cost more than they save.
MAX_ROUNDS, TAIL, LEAST_GAIN = 400, 40, 0.03
# By how much the bound of a group of moves may be higher than that of one: a share of the gap of
# the solution's own DAG; moves that are split into groups at once.
SLACK, BATCH_SIZE = 0.35, 2048
# Share of the families that may be left when sequential pruning drops the others; multipliers, the
# latest ones, that it tries on moves not seen before.
SHRINKING_SHARE, MAX_TRIED = 0.5, 4
# Rounds of its subgradient steps, each on the candidates that the one before leaves; and how much
# lower than necessary bounds are made, so that they exclude other moves, too.
TIGHTENING_ROUNDS, MARGIN = 2, 0.5


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

    def better(self, solution: Solution, t: int) -> Solution | None:
        """Return a better solution; ``None`` when there is provably none, or the search is over.

        Parameters
        ----------
        solution
            A DAG and the store's completion.
        t
            Hamming distance up to which completions are searched.
        """
        if not (self.tight and self.relaxed is solution):
            self._relax(solution)
        if self.incumbent.is_over:
            return None
        assert self.root is not None
        search = MoveSearch(self.task, self.incumbent, solution, self.store, self.root)
        better = None if self.tight else search.better_dag()
        if better is not None or self.incumbent.is_over:
            return better
        for size in range(1, min(t, len(self.store.cells)) + 1):
            if better is None:
                better = self._at_distance(search, size)
        return better

    def _relax(self, solution: Solution) -> None:
        """Bound the DAGs for the solution's completion by rounds of cutting planes."""
        problem = self.task.families(solution.values, control=self.incumbent)
        if self.incumbent.is_over:
            return
        problem = problem.select(problem.allowed)
        start = Counted.none(problem.n_variables) if self.root is None else self.root.counted
        planes = CuttingPlanes(problem, solution.target, clusters=start, control=self.incumbent)
        bounds = [np.inf]
        while planes.bound > solution.target and len(bounds) <= MAX_ROUNDS:
            if not self.incumbent.goes_on() or not planes.step():
                break
            bounds.append(planes.bound)
            before = bounds[max(0, len(bounds) - TAIL)]
            if before - planes.bound < LEAST_GAIN * (before - solution.target):
                break
        found = planes.root()
        self.relaxed = solution
        self.root, self.tight = found.multipliers, found.bound <= solution.target

    def _at_distance(self, search: MoveSearch, size: int) -> Solution | None:
        """Search the completions in which just so many cells differ."""
        close = np.zeros(len(search.rewards), np.bool_)
        moves, best_scores = [], []
        before = list(prefixes(self.store.single_moves(distinct=size == 1), size - 1))
        # those after the last better solution come first
        begin = self.next_prefix.get(size, 0) % max(1, len(before))
        for number in [*range(begin, len(before)), *range(begin)]:
            if not self.incumbent.goes_on():
                return None
            self.next_prefix[size], (fixed, last) = number, before[number]
            with self.store.changed(fixed):
                each, families = search.bounds(last)
                bounds = each.sum(axis=1) - search.multipliers.total
                left = np.flatnonzero(bounds > search.solution.target)
                if not len(left):
                    continue
                if self.tight and size > 1:
                    some, known = search.among(families), self.known_multipliers
                    better = prune_sequentially(some, last[left], bounds[left], known)
                    if better is not None:
                        return better
                    continue
            close |= families
            moves.append(with_prefix(fixed, last[left]))
            best_scores.append(each[left])
        if not moves:
            return None
        # a better solution mostly follows from what is hard to bound: that comes first
        groups = _groups(search, np.concatenate(moves), np.concatenate(best_scores))[::-1]
        return prune_groups(search.among(close), groups)


def with_prefix(fixed: NDArray[np.int64], last: NDArray[np.int64]) -> Moves:
    """Return the moves of some cells, shape (cells, 3), and each of some others, shape (k, 3)."""
    alike = np.broadcast_to(fixed, (len(last), *fixed.shape))
    return np.concatenate([alike, last[:, None]], axis=1)


def prefixes(
    singles: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the moves of ``size`` cells, each with the single moves of the cells after them."""
    if size == 0:
        yield singles[:0], singles
        return
    cell = np.concatenate([[0], np.cumsum((np.diff(singles[:, :2], axis=0) != 0).any(axis=1))])
    for fixed, left in prefixes(singles, size - 1):
        begin = len(singles) - len(left)
        for at in range(begin, len(singles)):
            after = int(np.searchsorted(cell, cell[at], side="right"))
            if after < len(singles):
                yield np.concatenate([fixed, singles[at : at + 1]]), singles[after:]


def _groups(search: MoveSearch, moves: Moves, best_scores: NDArray[np.float64]) -> list[Moves]:
    """Put moves together whose envelope is hardly harder to exclude than each of them."""
    order = np.argsort(best_scores.sum(axis=1), kind="stable")
    limit = search.solution.target + search.gap + search.multipliers.total
    starts = range(0, len(order), BATCH_SIZE)
    return [
        moves[np.sort(batch[members])]
        for batch in (order[at : at + BATCH_SIZE] for at in starts)
        for members in grouped(best_scores[batch], limit, SLACK * search.gap)
    ]


def grouped(best_scores: NDArray[np.float64], limit: float, slack: float) -> list[NDArray[np.intp]]:
    """Split moves into groups that are hardly harder to exclude than their members.

    The bound of a group's envelope is the sum over the children of the highest score that any move
    gives a child. A group begins with the move of the lowest bound left, and takes whichever raises
    its bound least, as long as that stays below a limit.

    Parameters
    ----------
    best_scores
        Each child's best score with multipliers after each move, shape (moves, children).
    limit
        Bound up to which groups grow; beyond it they do by a slack.
    slack
        By how much more than that of its first move a group's bound may be anyway.

    Returns
    -------
    list
        The numbers of each group's moves, increasing.
    """
    totals, left = best_scores.sum(axis=1), np.arange(len(best_scores))
    groups = []
    while len(left):
        seed = left[totals[left].argmin()]
        members, highest, most = [], best_scores[seed], max(limit, float(totals[seed]) + slack)
        while True:
            joins = (best_scores[left] <= highest).all(axis=1)
            members.append(left[joins])
            left = left[~joins]
            raised = np.maximum(best_scores[left], highest).sum(axis=1)
            if raised.min(initial=np.inf) > most:
                break
            highest = np.maximum(best_scores[left[raised.argmin()]], highest)
        groups.append(np.sort(np.concatenate(members)))
    return groups


def prune_groups(search: MoveSearch, groups: Sequence[Moves]) -> Solution | None:
    """Return a better solution; ``None`` when no move leads to any, or the search is over.

    Groups whose envelopes allow too much are halved. They are searched in several threads, each
    with tables of its own.

    Parameters
    ----------
    search
        A search around the completion.
    groups
        The moves.
    """

    @cache
    def tables(thread: int) -> MoveSearch:
        return search.among(np.ones(len(search.rewards), np.bool_)) if thread else search

    def look(number: int, tabulated: MoveSearch) -> Solution | bool:
        return tabulated.look(groups[number])

    while groups and search.incumbent.goes_on():
        halved, spaces = list[Moves](), map(tables, count())
        looks = in_order(look, len(groups), spaces.__next__, n_threads(None))
        for group, found in zip(groups, looks, strict=True):
            if isinstance(found, Solution):
                return found
            if search.incumbent.is_over:
                return None
            if found:
                halved += [group[: len(group) // 2], group[len(group) // 2 :]]
        groups = halved
    return None


def prune_sequentially(
    search: MoveSearch,
    moves: NDArray[np.int64],
    bounds: NDArray[np.float64],
    known_multipliers: list[Multipliers],
) -> Solution | None:
    """Return a better solution; ``None`` when no move leads to any, or the search is over.

    Parameters
    ----------
    search
        A search around the completion, with multipliers.
    moves, bounds
        Moves of one cell, and the bounds that follow from the search's multipliers.
    known_multipliers
        Multipliers of completions nearby; those that are found go there.
    """
    known, tried = [search.multipliers, *known_multipliers[-MAX_TRIED:]], 1
    nearest = np.zeros(len(moves), np.int64)
    while search.incumbent.goes_on():
        while tried < len(known) and len(moves):
            search = replace(search, multipliers=known[tried])
            best_scores, close = search.bounds(moves)
            if search.incumbent.is_over:
                return None
            lower = best_scores.sum(axis=1) - known[tried].total
            if close.mean() < SHRINKING_SHARE:
                search = search.among(close)
            nearest[lower < bounds] = tried
            bounds = np.minimum(lower, bounds)
            left = bounds > search.solution.target
            moves, bounds, nearest = moves[left], bounds[left], nearest[left]
            tried += 1
        if not len(moves):
            return None
        at = int(bounds.argmax())
        found = _look(replace(search, multipliers=known[nearest[at]]), moves[at : at + 1, None])
        if isinstance(found, Solution):
            return found
        if found is not None:
            known.append(found)
            known_multipliers.append(found)
        others = np.arange(len(moves)) != at
        moves, bounds, nearest = moves[others], bounds[others], nearest[others]
    return None


def _look(search: MoveSearch, move: Moves) -> Solution | Multipliers | None:
    """Return a better solution after a move; if there is none, multipliers if that needs them."""
    query = search.promising(search.after(move))
    if query is None:
        return None
    for _ in range(TIGHTENING_ROUNDS):
        if query.problem.is_feasible:
            query = tightened(query, [query.target - MARGIN], STEPS)
    parents = search.network_above(query)
    better = None if parents is None else search.best_in_order(move, parents)
    return query.multipliers if better is None else better


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
