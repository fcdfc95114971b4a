"""One climb of the t-local search: up by cheap steps, then the proof, which may lead on.

The cheap steps alternate: a good DAG for the completion, then single cells, every variable free to
take other parents before it in the DAG's order
(:mod:`exactlearn.augmentation.local_search.order_ascent`). When they bring nothing more, the DAG is
made the best of all, and the completions within distance t are searched
(:mod:`exactlearn.augmentation.local_search.neighbourhood`).
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.local_search.family_store import FamilyStore
from exactlearn.augmentation.local_search.neighbourhood import Neighbourhood
from exactlearn.augmentation.primal_heuristic import good_network
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.solution import Pair
from exactlearn.augmentation.task import Task, between_blocks, pause
from exactlearn.scoring.candidate_identification import Budget
from exactlearn.scoring.scores import score_family
from exactlearn.solvers import Problem

EFFORT = 10**7
"""Candidates that a search for a good network looks at, about."""

EFFORT_EACH = 1_000
"""The same for each candidate, where there are many."""

SHAKES = 20
"""How often, for each variable, it continues from a shaken copy of its best order."""

SHAKES_AGAIN = 4
"""The same when a network that was good a moment ago is known."""

TABLES, TABLES_EACH = 1_000_000, 2
"""Tables counted where not all families can be: for all variables together, or, if more, for each
pair of a variable with another."""


def climb(task: Task, incumbent: Incumbent, values: NDArray[np.int64], t: int | None) -> Pair:
    """Climb from a completion to a t-local optimum, or by cheap steps only.

    Parameters
    ----------
    task
        The table, few variables enough to tabulate all their families.
    incumbent
        Where the best pair and the clock are kept.
    values
        The completion to begin with.
    t
        Radius of the neighbourhood; without it nothing is proven.

    Raises
    ------
    LimitReachedError
        When the time is up first.
    """
    store = FamilyStore.of_all(
        task.dataset, values, task.score, task.rules, between_blocks(incumbent)
    )
    near = Neighbourhood(task, incumbent, store)
    pair: Pair | None = None
    while True:
        pair = _rise(task, incumbent, store, pair)
        better = near.better(pair, t)
        if better is None:
            return pair
        store.move_to(better.values)
        pair = better
        incumbent.offer(pair)


def climb_in_orders(task: Task, incumbent: Incumbent, values: NDArray[np.int64]) -> Pair:
    """Climb from a completion where not all families can be tabulated, nor DAGs be proven best.

    The candidate parent sets are those that a search of bounded effort identifies. In the end, no
    other value of a single cell lets any of them that fit the DAG's order improve the score.

    The parameters and errors are those of :func:`climb`.
    """
    n = task.dataset.n_variables
    budget = Budget(tables=max(TABLES // n, TABLES_EACH * n))
    pair: Pair | None = None
    while True:
        problem = task.families(values, budget=budget, pause=between_blocks(incumbent))
        if pair is not None:
            problem = _also(problem, task, pair)
        store = FamilyStore.of_listed(
            task.dataset, values, task.score, problem, between_blocks(incumbent)
        )
        pause(incumbent)
        found = _rise_once(task, incumbent, store, pair, problem)
        if pair is not None and found.score <= pair.target:
            return max(found, pair, key=lambda p: p.score)
        values, pair = found.values, found


def _rise(
    task: Task,
    incumbent: Incumbent,
    store: FamilyStore,
    pair: Pair | None,
) -> Pair:
    """Alternate good DAGs and cells of a store until that brings nothing more."""
    while True:
        pause(incumbent)
        problem = task.families(store.values, pause=between_blocks(incumbent))
        found = _rise_once(task, incumbent, store, pair, problem)
        if pair is not None and found.score <= pair.target:
            if found.score < pair.score:
                store.move_to(pair.values)
                return pair
            return found
        pair = found


def _rise_once(
    task: Task, incumbent: Incumbent, store: FamilyStore, pair: Pair | None, problem: Problem
) -> Pair:
    """Find a good DAG for the store's completion, then change cells within its order."""
    problem.require_feasible()
    effort = max(EFFORT, EFFORT_EACH * problem.n_candidates)
    start, shakes = (None, SHAKES) if pair is None else (pair.parents, SHAKES_AGAIN)
    parents, _ = good_network(
        problem,
        start,
        effort=effort,
        shakes=shakes,
        seed=task.seed,
        pause=between_blocks(incumbent),
    )
    found = task.pair(parents, store.values)
    incumbent.offer(found)
    for dag in store.ascend(parents):
        found = task.pair(dag, store.values)
        incumbent.offer(found)
        pause(incumbent)
    return found


def _also(problem: Problem, task: Task, pair: Pair) -> Problem:
    """Add the parent sets of a pair's DAG to a problem's candidates."""
    tables: list[dict[Iterable[int], float]] = [
        dict(problem.candidates(i)) for i in range(problem.n_variables)
    ]
    complete = task.dataset.complete(pair.values)
    for child, (table, parents) in enumerate(zip(tables, pair.parents, strict=True)):
        if parents not in table:
            table[parents] = score_family(complete, child, parents, task.score)
    return replace(
        Problem.from_candidates(problem.names, tables),
        required=problem.required,
        forbidden=problem.forbidden,
        complete=problem.complete,
    )
