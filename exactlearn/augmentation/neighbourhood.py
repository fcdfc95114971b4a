"""The search for a better solution within Hamming distance t of a completion.

The neighbourhood is the exact method's problem restricted to the completions near the current one
(Adel and de Campos, "Approximate algorithm"). Its completions are enumerated, but hardly any is
solved. The proof of t-local optimality goes from cheap to dear:

1. cutting planes bound the DAGs of the current completion, and their multipliers the networks after
   each move (theorem *Moves near a completion*, docs/theory/augmentation.md);
2. the moves left are excluded in groups, which are halved if need be: where every family has the
   best score that any move of a group gives it, their *envelope*, a network scores at least what it
   scores after each of them. Moves of several cells are excluded one after the other where the
   relaxation is tight;
3. *bound tightening*: subgradient steps fit the multipliers to the target, and families that no DAG
   above the target has are dropped;
4. the order graph answers what no bound excludes (:mod:`exactlearn.augmentation.threshold_query`).

*Sequential pruning* takes the most promising move alone. Mostly a few subgradient steps
(:mod:`exactlearn.solvers.dual_bounds`) give multipliers that exclude it, and these exclude
others. With 3 % of SPECT hidden and t = 2 that takes 27 seconds, groups take 51
(benchmarks/ablation.md); single cells are excluded sooner in groups.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import count

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.executors import in_order, n_threads
from exactlearn.augmentation.coordinate_ascent import scores_in_order
from exactlearn.augmentation.families import Dag
from exactlearn.augmentation.family_store import FamilyStore
from exactlearn.augmentation.solutions import Incumbent, Solution
from exactlearn.augmentation.task import Task
from exactlearn.augmentation.threshold_query import best_above
from exactlearn.solvers import Problem
from exactlearn.solvers.dual_bounds import tighten_bound
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.root import RoundLimits, solve_root

# Limits of the cutting planes: more rounds, or rounds that close less of the gap, cost more than
# they save.
LIMITS = RoundLimits(most_rounds=400, tail=40, least_gain=0.03)
# By how much the bound of a group of moves may be higher than that of one: a share of the gap of
# the solution's own DAG; moves that are split into groups at once.
SLACK = 0.35
BATCH_SIZE = 2048
# Bounds that a group's multipliers are tightened to, one after the other: so many gaps of the
# solution's own DAG above the target, and subgradient steps towards each.
TARGET_GAPS = (1.3, 0.8, 0.4, 0.0)
TARGET_STEPS = 100
# In sequential pruning, how much lower than necessary bounds are made, so that they exclude other
# moves, too, and the steps; the share of the families that may be left when the others are dropped;
# the latest multipliers that are tried on moves not seen before.
MARGIN = 0.5
MARGIN_STEPS = 300
SHRINKING_SHARE = 0.5
MAX_TRIED = 4

Moves = NDArray[np.int64]
"""Moves of as many cells each: row, variable and new state of each cell, shape (moves, cells, 3).

Those with the same cells but for the last one stand together, these in order of variables.
"""


def by_prefix(moves: Moves) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the cells that some moves change alike, shape (cells, 3), and each one's last."""
    differ = (np.diff(moves[:, :-1], axis=0) != 0).any(axis=(1, 2))
    for alike in np.split(moves, 1 + np.flatnonzero(differ)):
        yield alike[0, :-1], alike[:, -1]


@dataclass(frozen=True, eq=False)
class MoveSearch:
    """A search around a completion for a solution better than a given one.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    incumbent
        The clock.
    solution
        The solution to improve on.
    store
        The completion, with families: all, or those that a better network may have.
    multipliers
        Cluster multipliers for the completion.
    """

    task: Task
    incumbent: Incumbent
    solution: Solution
    store: FamilyStore
    multipliers: Multipliers

    @cached_property
    def rewards(self) -> NDArray[np.float64]:
        """The multipliers of each family's satisfied clusters, summed, shape (families,)."""
        return self.multipliers.adjusted(self.store.families.flat)

    def among(self, keep: NDArray[np.bool_]) -> "MoveSearch":
        """Return a search among some of the families, shape (families,)."""
        return replace(self, store=self.store.select(keep))

    @cached_property
    def gap(self) -> float:
        """Bound of the networks before any move, less the target."""
        bound = float(self.reach(self.store.scores).max())
        return max(0.0, bound - self.solution.target)

    def reach(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the bound on networks with each family, by their scores, shape (families,)."""
        adjusted = scores + self.rewards
        return self.multipliers.reach_of(self.store.families.flat, adjusted)

    def bounds(
        self, moves: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return each child's best score with multipliers after each move, shape (moves, children).

        Less the multipliers' total, their sum bounds the networks after it. Also return the
        families that a better network may have, with some others.
        """
        scores = self.store.scores + self.rewards
        return self.store.bound_moves(
            scores, moves, self.solution.target + self.multipliers.total
        )

    def look(
        self, moves: Moves, goals: Sequence[float], steps: int
    ) -> Solution | Multipliers | None:
        """Return a better solution after one of some moves, or multipliers that exclude any.

        Return ``None`` where the moves' envelope leaves room, though no move that was looked at is
        better. The goals and steps are those of :meth:`tightened`.
        """
        problem = self.promising(self.after(moves))
        if problem is None:
            return self.multipliers
        problem, multipliers = self.tightened(problem, goals, steps)
        parents = self.network_above(problem, multipliers)
        return multipliers if parents is None else self.best_in_order(moves, parents)

    def better_dag(self) -> Solution | None:
        """Return the solution with a better DAG, or ``None`` when its own is proven the best."""
        problem = self.promising(self.store.scores)
        parents = (
            None if problem is None else self.network_above(problem, self.multipliers)
        )
        return (
            None
            if parents is None
            else self.task.solution(parents, self.solution.values)
        )

    def promising(self, scores: NDArray[np.float64]) -> Problem | None:
        """Return the families that a better network may have, with their scores after some moves.

        Return ``None`` where the bound excludes every network.
        """
        families = self.store.families
        keep = self.reach(scores) > self.solution.target
        if not keep.any():
            return None
        problem = families.take(keep).problem(scores[keep])
        return problem if problem.is_feasible else None

    def tightened(
        self, problem: Problem, goals: Sequence[float], steps: int
    ) -> tuple[Problem, Multipliers]:
        """Bound tightening: lower a problem's bound from goal to goal, and drop families.

        Families go that no DAG above the target has. The first goal that is not reached is the last
        one that is tried: where there is an integrality gap, steps towards a bound far below it
        lead nowhere.

        Parameters
        ----------
        problem
            A feasible problem.
        goals
            Bounds to reach, relative to the target, none above the one before it.
        steps
            Subgradient steps for each.
        """
        multipliers = self.multipliers
        target = self.solution.target
        bound = multipliers.bound(problem)
        for goal in goals:
            if bound <= target + goal:
                continue
            multipliers, left = tighten_bound(
                multipliers, problem, target + goal, target, steps
            )
            problem = problem.select(left)
            if not problem.is_feasible:
                break
            bound = multipliers.bound(problem)
            if bound > target + goal:
                break
        return problem, multipliers

    def network_above(self, problem: Problem, multipliers: Multipliers) -> Dag | None:
        """Return a network that scores more than the target, or ``None`` without any.

        Where that cannot be proven, the search ends.
        """
        target = self.solution.target
        incumbent = self.incumbent
        if not problem.is_feasible or multipliers.bound(problem) <= target:
            return None
        outcome = best_above(
            problem,
            target,
            multipliers,
            self.solution.parents,
            seed=self.task.seed,
            control=SearchControl(
                on_event=lambda event: incumbent.tick(event.nodes), outer=incumbent
            ),
        )
        incumbent.count_nodes(outcome.nodes)
        if outcome.parents is None and not outcome.proven:
            incumbent.expire()
        return outcome.parents

    def after(self, moves: Moves) -> NDArray[np.float64]:
        """Return each family's best score after any of some moves, shape (families,)."""
        best = np.full(len(self.rewards), -np.inf)
        for fixed, last in by_prefix(moves):
            with self.store.changed(fixed):
                best = np.maximum(best, self.store.envelope(last))
        return best

    def best_in_order(self, moves: Moves, parents: Dag) -> Solution | None:
        """Return the best solution after one of some moves, within an order, if it is better."""
        store = self.store
        target = self.solution.target
        for fixed, last in by_prefix(moves):
            with store.changed(fixed):
                scores = scores_in_order(store, parents)
                totals = store.bound_moves(scores, last, np.inf)[0].sum(axis=1)
                at = int(totals.argmax())
                if totals[at] > target:
                    with store.changed(last[at : at + 1]):
                        best = store.families.best(scores_in_order(store, parents))
                        dag = store.families.flat.parent_sets(best)
                        return self.task.solution(dag, store.values)
        return None


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
        self.task = task
        self.incumbent = incumbent
        self.store = store
        self.root: Multipliers | None = None
        self.relaxed: Solution | None = None
        self.tight = False
        self.nearby_multipliers: list[Multipliers] = []
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
        target = solution.target - problem.offset
        root = solve_root(
            problem.select(problem.allowed).relative,
            target,
            clusters=None if self.root is None else self.root.counted,
            control=self.incumbent,
            limits=LIMITS,
        )
        self.relaxed = solution
        self.root = root.multipliers
        self.tight = root.bound <= target

    def _at_distance(self, search: MoveSearch, size: int) -> Solution | None:
        """Search the completions in which just so many cells differ."""
        close = np.zeros(len(search.rewards), np.bool_)
        moves = []
        best_scores = []
        before = list(prefixes(self.store.single_moves(distinct=size == 1), size - 1))
        # those after the last better solution come first
        begin = self.next_prefix.get(size, 0) % max(1, len(before))
        for number in [*range(begin, len(before)), *range(begin)]:
            if not self.incumbent.goes_on():
                return None
            self.next_prefix[size] = number
            fixed, last = before[number]
            with self.store.changed(fixed):
                each, families = search.bounds(last)
                bounds = each.sum(axis=1) - search.multipliers.total
                left = np.flatnonzero(bounds > search.solution.target)
                if not len(left):
                    continue
                if self.tight and size > 1:
                    better = prune_sequentially(
                        search.among(families),
                        last[left],
                        bounds[left],
                        self.nearby_multipliers,
                    )
                    if better is not None:
                        return better
                    continue
            close |= families
            moves.append(with_prefix(fixed, last[left]))
            best_scores.append(each[left])
        if not moves:
            return None
        # a better solution mostly follows from what is hard to bound: that comes first
        groups = _groups(search, np.concatenate(moves), np.concatenate(best_scores))
        return prune_groups(search.among(close), groups[::-1])


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
    cell = np.concatenate(
        [[0], np.cumsum((np.diff(singles[:, :2], axis=0) != 0).any(axis=1))]
    )
    for fixed, left in prefixes(singles, size - 1):
        begin = len(singles) - len(left)
        for at in range(begin, len(singles)):
            after = int(np.searchsorted(cell, cell[at], side="right"))
            if after < len(singles):
                yield np.concatenate([fixed, singles[at : at + 1]]), singles[after:]


def _groups(
    search: MoveSearch, moves: Moves, best_scores: NDArray[np.float64]
) -> list[Moves]:
    """Put moves together whose envelope is hardly harder to exclude than each of them."""
    order = np.argsort(best_scores.sum(axis=1), kind="stable")
    limit = search.solution.target + search.gap + search.multipliers.total
    groups: list[Moves] = []
    for begin in range(0, len(order), BATCH_SIZE):
        batch = order[begin : begin + BATCH_SIZE]
        batch_groups = grouped(best_scores[batch], limit, SLACK * search.gap)
        groups += [moves[np.sort(batch[members])] for members in batch_groups]
    return groups


def grouped(
    best_scores: NDArray[np.float64], limit: float, slack: float
) -> list[NDArray[np.intp]]:
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
    totals = best_scores.sum(axis=1)
    left = np.arange(len(best_scores))
    groups = []
    while len(left):
        seed = left[totals[left].argmin()]
        members = []
        highest = best_scores[seed]
        max_bound = max(limit, float(totals[seed]) + slack)
        while True:
            joins = (best_scores[left] <= highest).all(axis=1)
            members.append(left[joins])
            left = left[~joins]
            raised = np.maximum(best_scores[left], highest).sum(axis=1)
            if raised.min(initial=np.inf) > max_bound:
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
        return (
            search.among(np.ones(len(search.rewards), np.bool_)) if thread else search
        )

    def look(number: int, tabulated: MoveSearch) -> Solution | Multipliers | None:
        return tabulated.look(groups[number], goals, TARGET_STEPS)

    goals = [k * search.gap for k in TARGET_GAPS]
    while groups and search.incumbent.goes_on():
        halved: list[Moves] = []
        spaces = map(tables, count())
        looks = in_order(look, len(groups), spaces.__next__, n_threads(None))
        for group, outcome in zip(groups, looks, strict=True):
            if isinstance(outcome, Solution):
                return outcome
            if search.incumbent.is_over:
                return None
            if outcome is None and len(group) > 1:
                halved += [group[: len(group) // 2], group[len(group) // 2 :]]
        groups = halved
    return None


def prune_sequentially(
    search: MoveSearch,
    moves: NDArray[np.int64],
    bounds: NDArray[np.float64],
    nearby: list[Multipliers],
) -> Solution | None:
    """Return a better solution; ``None`` when no move leads to any, or the search is over.

    Parameters
    ----------
    search
        A search around the completion, with multipliers.
    moves, bounds
        Moves of one cell, and the bounds that follow from the search's multipliers.
    nearby
        Multipliers of completions nearby; those that are found go there.
    """
    candidates = [search.multipliers, *nearby[-MAX_TRIED:]]
    tried = 1
    nearest = np.zeros(len(moves), np.int64)
    while search.incumbent.goes_on():
        # bounds by the latest multipliers, which exclude moves and families
        while tried < len(candidates) and len(moves):
            search = replace(search, multipliers=candidates[tried])
            best_scores, close = search.bounds(moves)
            if search.incumbent.is_over:
                return None
            lower = best_scores.sum(axis=1) - candidates[tried].total
            if close.mean() < SHRINKING_SHARE:
                search = search.among(close)
            nearest[lower < bounds] = tried
            bounds = np.minimum(lower, bounds)
            left = np.flatnonzero(bounds > search.solution.target)
            moves = moves[left]
            bounds = bounds[left]
            nearest = nearest[left]
            tried += 1
        if not len(moves):
            return None
        # the most promising move alone
        at = int(bounds.argmax())
        nearest_search = replace(search, multipliers=candidates[nearest[at]])
        outcome = nearest_search.look(moves[at : at + 1, None], [-MARGIN], MARGIN_STEPS)
        if isinstance(outcome, Solution):
            return outcome
        if outcome is not None and outcome is not nearest_search.multipliers:
            candidates.append(outcome)
            nearby.append(outcome)
        # the move is excluded, by multipliers or by the order graph
        moves = np.delete(moves, at, axis=0)
        bounds = np.delete(bounds, at)
        nearest = np.delete(nearest, at)
    return None
