"""The t-local hill-climber over completions.

Adel and de Campos, "Approximate algorithm": restrict the exact method to the completions within
Hamming distance ``t`` of the current one, solve it, move there, and repeat until the completion
stays (Theorem 4: the solution is then optimal among all DAGs and all completions within distance
t). Between two such steps the climber takes cheaper ones that never lower the score. They
alternate: a good DAG for the completion, then coordinate ascent over single cells within the DAG's
order. When they bring nothing more, the DAG is made the best of all, and the completions within
distance t are searched (:mod:`exactlearn.augmentation.local_search.neighbourhood`).
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.executors import finished, n_threads
from exactlearn.augmentation.families import Families
from exactlearn.augmentation.family_store import FamilyStore, fits
from exactlearn.augmentation.incumbent import Incumbent, Ledger, Solution, Unproven
from exactlearn.augmentation.local_search.coordinate_ascent import ascend
from exactlearn.augmentation.local_search.neighbourhood import Neighbourhood
from exactlearn.augmentation.result import Augmentation, AugmentationStatus
from exactlearn.augmentation.starts import (
    Start,
    heuristic_network,
    mode_completion,
    starting_completions,
)
from exactlearn.augmentation.task import Task
from exactlearn.errors import OptionError
from exactlearn.scoring.candidate_identification import Budget
from exactlearn.scoring.scores import scored_family
from exactlearn.solvers import Problem

LOCAL_IN_THE_GRAPH = (
    "the guarantee is local in the graph, too: no other value of a single cell improves the score "
    "with any identified parent sets that fit the order of the DAG's variables; the DAG is the "
    "best one found, not proven best"
)
"""What holds where DAGs are not proven best."""


def augment_local(task: Task, incumbent: Incumbent) -> Augmentation:
    """Climb from several completions; return the best t-local optimum.

    Parameters
    ----------
    task
        The table, the score, the rules, the solver inside, the radius and the number of starts: see
        :func:`~exactlearn.augmentation.starts.starting_completions`. Starts run side by side; two
        that begin with the same completion are climbed once. With the solver ``ordering``, or
        where there are too many families to look at all, nothing is proven, which status and
        message say.
    incumbent
        Where the best solution and the clock are kept.

    Raises
    ------
    OptionError
        When ``t`` or ``starts`` is below 1.
    """
    t, starts = task.t, task.starts
    if t < 1 or starts < 1:
        raise OptionError(f"t and starts must be at least 1, found t = {t}, starts = {starts}")
    status: AugmentationStatus = "t-local"
    message = ""
    unproven: Unproven | None = None
    provable = is_tabulated(task)
    best = best_climb(task, incumbent, starts, t)
    if best is not None:
        incumbent.confirm(best)
    else:
        offer_sparsest(task, incumbent)
        status, unproven = incumbent.status, incumbent.unproven
        message = _left(incumbent.ending, unproven)
    if status == "t-local" and not provable:
        status, message = "heuristic", LOCAL_IN_THE_GRAPH
    elif status == "t-local" and t >= len(task.dataset.missing_cells):
        status, incumbent.bound = "optimal", incumbent.score
    return Augmentation.of(incumbent, status, "t-local", t=t, message=message, unproven=unproven)


def _left(how: str, unproven: Unproven | None) -> str:
    """Return a message about what a search that was stopped has left open."""
    if unproven is not None and unproven.is_nothing:
        return f"{how} before all starts were climbed; {unproven.message}"
    message = "none of its moves is bounded yet" if unproven is None else unproven.message
    return f"{how} before t-local optimality was proven: {message}"


def is_tabulated(task: Task) -> bool:
    """Return whether all families are looked at, so that the climber can prove what it claims.

    It proves by bounds of its own: whether the solver inside is exact does not matter. The name
    ``ordering`` asks for a climb in orders, which looks at few families.
    """
    return task.solver != "ordering" and fits(task.dataset, task.rules)


def best_climb(task: Task, incumbent: Incumbent, starts: int, t: int | None) -> Solution | None:
    """Climb from every start, several at once; return the first of the best solutions.

    When the search is over before all climbs are, it has the solutions, and ``None`` is returned.
    Without a radius, or where not all families are looked at, nothing is proven.
    """
    tabulated = is_tabulated(task)
    begin = list(starting_completions(task, starts, fitted=tabulated))
    if incumbent.client is not None:
        found = _climbs_on_cluster(task, incumbent, begin, t)
        return _first_best(found)
    climbing: dict[bytes, Start] = {}
    climbed: dict[bytes, Solution | None] = {}

    def work(start: Start) -> bytes:
        values = start.completion(task, incumbent)
        name = values.tobytes()
        if climbing.setdefault(name, start) is start:
            climbed[name] = None if incumbent.is_over else _climb(task, incumbent, values, t)
        return name

    with ThreadPoolExecutor(min(n_threads(None), len(begin))) as pool:
        try:
            climbs = [pool.submit(work, start) for start in begin]
            ended, _ = wait(climbs, return_when=FIRST_EXCEPTION)
            for ended_climb in ended:
                ended_climb.result()  # what it raised, before the others are stopped
            found = [climbed[c.result()] for c in climbs]
        except BaseException:
            incumbent.stop()
            pool.shutdown(cancel_futures=True)
            raise
    return _first_best(found)


def _first_best(found: Sequence[Solution | None]) -> Solution | None:
    """Return the first of the best solutions; none where a climb was not finished."""
    solutions = [solution for solution in found if solution is not None]
    whole = len(solutions) == len(found)
    return max(solutions, key=lambda solution: solution.score) if whole else None


def _climb(
    task: Task, incumbent: Incumbent, values: NDArray[np.int64], t: int | None
) -> Solution | None:
    if is_tabulated(task):
        return climb(task, incumbent, values, t)
    return climb_in_orders(task, incumbent, values)


def _climbs_on_cluster(
    task: Task, incumbent: Incumbent, begin: Sequence[Start], t: int | None
) -> list[Solution | None]:
    """Climb from each start on a worker of the cluster; what is over too soon gives nothing."""
    found: list[Solution | None] = [None] * len(begin)
    tasks, client = [(start, t) for start in begin], incumbent.client
    for number, climbed in finished(_climb_alone, tasks, client, incumbent, [task]):
        found[number] = climbed.solution
        incumbent.count_nodes(climbed.nodes)
        for best in climbed.best:
            incumbent.offer(best)
        for ledger in climbed.ledger:
            incumbent.examine(ledger)
    return found


class _Climbed(NamedTuple):
    """The end of a climb, if it got there; the best solution and its open moves, if any; nodes."""

    solution: Solution | None
    best: tuple[Solution, ...]
    ledger: tuple[Ledger, ...]
    nodes: int


def _climb_alone(task: Task, start: Start, t: int | None) -> _Climbed:
    """Climb from a start on a worker."""
    with Incumbent().running() as incumbent:
        values = start.completion(task, incumbent)
        solution = None if incumbent.is_over else _climb(task, incumbent, values, t)
    parents = incumbent.parents
    best = () if parents is None else (Solution(parents, incumbent.values, incumbent.score),)
    ledger = () if incumbent.ledger is None else (incumbent.ledger,)
    return _Climbed(solution, best, ledger, incumbent.nodes)


def offer_sparsest(task: Task, incumbent: Incumbent) -> None:
    """Offer the mode completion with the required arcs alone where there is no solution yet."""
    if incumbent.parents is None:
        incumbent.offer(task.sparsest(mode_completion(task.dataset)))


def augment_mode(task: Task, incumbent: Incumbent) -> Augmentation:
    """Fill in each variable's most frequent state, then learn the best DAG: the baseline."""
    values = mode_completion(task.dataset)
    families = task.families(values, control=incumbent)
    result = None if incumbent.is_over else task.solve(families, incumbent)
    if result is None or result.parents is None:
        offer_sparsest(task, incumbent)
        message = f"{incumbent.ending} before any search"
        return Augmentation.of(incumbent, incumbent.status, "mode", message=message)
    incumbent.offer(task.solution(result.parents, values))
    status: AugmentationStatus = "heuristic" if result.status == "optimal" else result.status
    if status == "heuristic" and task.dataset.is_complete:
        status, incumbent.bound = "optimal", incumbent.score
    return Augmentation.of(incumbent, status, "mode", message=result.message)


def climb(
    task: Task, incumbent: Incumbent, values: NDArray[np.int64], t: int | None
) -> Solution | None:
    """Climb from a completion to a t-local optimum, or by cheap steps only.

    Parameters
    ----------
    task
        The table, few variables enough to tabulate all their families.
    incumbent
        Where the best solution and the clock are kept.
    values
        The completion to begin with.
    t
        Radius of the neighbourhood; without it nothing is proven.

    Returns
    -------
    Solution or None
        ``None`` when the search is over first; the incumbent has what was found.
    """
    families = Families.allowed(task.dataset.names, task.rules)
    store = FamilyStore.of(task.dataset, values, task.tables, families, incumbent)
    neighbourhood = Neighbourhood(task, incumbent, store)
    solution: Solution | None = None
    while incumbent.goes_on():
        solution = _rise(task, incumbent, store, solution)
        if incumbent.is_over:
            break
        better = neighbourhood.better(solution, t)
        if better is None:
            return None if incumbent.is_over else solution
        incumbent.offer(better)
        store.move_to(better.values)
        solution = better
    return None


def climb_in_orders(task: Task, incumbent: Incumbent, values: NDArray[np.int64]) -> Solution | None:
    """Climb from a completion where not all families can be tabulated, nor DAGs be proven best.

    The candidate parent sets are those that a search of bounded budget identifies. In the end, no
    other value of a single cell lets any of them that fit the DAG's order improve the score.

    The parameters and the outcome are those of :func:`climb`.
    """
    n, tuning = task.dataset.n_variables, task.climbing
    budget = Budget(tables=max(tuning.tables // n, tuning.tables_each * n))
    solution: Solution | None = None
    while incumbent.goes_on():
        problem = task.families(values, budget=budget, control=incumbent)
        if solution is not None:
            problem = _also(problem, task, solution)
        listed = Families.listed(problem)
        tabulate = partial(FamilyStore.of, task.dataset, values, task.tables, listed, incumbent)
        found = _rise_once(task, incumbent, values, solution, problem, tabulate)
        if incumbent.is_over:
            break
        if solution is not None and found.score <= solution.target:
            return max(found, solution, key=lambda p: p.score)
        values, solution = found.values, found
    return None


def _rise(
    task: Task, incumbent: Incumbent, store: FamilyStore, solution: Solution | None
) -> Solution:
    """Alternate good DAGs and cells of a store until that brings nothing more."""
    while True:
        problem = task.families(store.values, control=incumbent)
        found = _rise_once(task, incumbent, store.values, solution, problem, lambda: store)
        if solution is not None and found.score <= solution.target:
            if found.score < solution.score:
                store.move_to(solution.values)
                return solution
            return found
        solution = found
        if not incumbent.goes_on():
            return found


def _rise_once(
    task: Task,
    incumbent: Incumbent,
    values: NDArray[np.int64],
    solution: Solution | None,
    problem: Problem,
    tabulate: Callable[[], FamilyStore],
) -> Solution:
    """Find a good DAG for a completion, then tabulate it, and change cells within the order."""
    problem.require_feasible()
    tuning = task.climbing
    start = None if solution is None else solution.parents
    perturbations = tuning.perturbations if start is None else tuning.perturbations_again
    parents, _ = heuristic_network(
        problem,
        start,
        budget=max(tuning.budget, tuning.budget_each * problem.n_candidates),
        perturbations=perturbations,
        seed=task.seed,
        control=incumbent,
    )
    found = task.solution(parents, values)
    incumbent.offer(found)
    if incumbent.goes_on():  # the tables may take longer than the network
        store = tabulate()
        for dag in ascend(store, parents):
            found = task.solution(dag, store.values)
            incumbent.offer(found)
    return found


def _also(problem: Problem, task: Task, solution: Solution) -> Problem:
    """Add the parent sets of a solution's DAG to a problem's candidates."""
    tables: list[dict[Iterable[int], float]] = [
        dict(problem.candidates(i)) for i in range(problem.n_variables)
    ]
    complete = task.dataset.complete(solution.values)
    for child, (table, parents) in enumerate(zip(tables, solution.parents, strict=True)):
        if parents not in table:
            table[parents] = scored_family(complete, child, parents, task.score)
    return replace(
        Problem.from_candidates(problem.names, tables),
        required=problem.required,
        forbidden=problem.forbidden,
        complete=problem.complete,
    )
