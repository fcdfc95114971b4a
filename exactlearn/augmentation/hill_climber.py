"""The t-local hill-climber over completions.

Adel and de Campos, "Approximate algorithm": restrict the exact method to the completions within
Hamming distance ``t`` of the current one, solve it, move there, and repeat until the completion
stays (Theorem 4: the solution is then optimal among all DAGs and all completions within distance
t). Between two such steps the climber takes cheaper ones that never lower the score. They
alternate: a good DAG for the completion, then coordinate ascent over single cells within the DAG's
order. When they bring nothing more, the DAG is made the best of all, and the completions within
distance t are searched (:mod:`exactlearn.augmentation.neighbourhood`).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.executors import in_order, n_threads
from exactlearn._runtime.progress import counted
from exactlearn.augmentation.coordinate_ascent import ascend
from exactlearn.augmentation.families import Families
from exactlearn.augmentation.family_store import FamilyStore, fits
from exactlearn.augmentation.neighbourhood import Neighbourhood
from exactlearn.augmentation.solutions import (
    Augmentation,
    AugmentationStatus,
    Incumbent,
    Solution,
)
from exactlearn.augmentation.task import (
    Task,
    hard_em_completion,
    mode_completion,
    starting_completions,
    undecided_rows,
)
from exactlearn.errors import OptionError
from exactlearn.scoring.candidate_search import Budget
from exactlearn.solvers.ordering import heuristic_network

# Candidates that a search for a good network looks at, about: in all, or, if more, for each
# candidate there is.
BUDGET = 10**7
BUDGET_EACH = 1_000
# Restarts of that search, for each variable, from a perturbed copy of its best order: at first, and
# when a network is known that was good a moment ago.
PERTURBATIONS = 20
PERTURBATIONS_AGAIN = 4
# Tables counted where not all families can be: for all variables together, or, if more, for each
# pair of a variable with another.
TABLES = 1_000_000
TABLES_EACH = 2

# What holds where DAGs are not proven best.
LOCAL_IN_THE_GRAPH = (
    "the guarantee is local in the graph, too: no other value of a single cell improves the score "
    "with any identified parent sets that fit the order of the DAG's variables; the DAG is the "
    "best one found, not proven best"
)


def augment_local(task: Task, incumbent: Incumbent) -> Augmentation:
    """Climb from several completions; return the best t-local optimum.

    Parameters
    ----------
    task
        The table, the score, the rules, the solver inside, the radius and the number of starts: see
        :func:`~exactlearn.augmentation.task.starting_completions`. Starts run side by side; two
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
    t = task.t
    starts = task.starts
    if t < 1 or starts < 1:
        raise OptionError(
            f"t and starts must be at least 1, found t = {t}, starts = {starts}"
        )
    best = best_climb(task, incumbent, starts, t)
    if best is None:
        offer_sparsest(task, incumbent)
        message = f"{incumbent.ending} before t-local optimality was proven"
        return Augmentation.of(
            incumbent, incumbent.status, "t-local", t=t, message=message
        )
    status: AugmentationStatus = "t-local"
    message = ""
    if not is_tabulated(task):
        status = "heuristic"
        message = LOCAL_IN_THE_GRAPH
    elif len(undecided_rows(task.dataset, task.score)):
        message = "rows of weight above 1 are completed as one: those they stand for may score more"
    elif t >= len(task.dataset.missing_cells):
        status = "optimal"
        incumbent.bound = incumbent.score
    result = Augmentation.of(incumbent, status, "t-local", t=t, message=message)
    # of several solutions with this score, the one that is proven to be locally optimal
    return replace(result, parents=best.parents, values=best.values, score=best.score)


def is_tabulated(task: Task) -> bool:
    """Return whether all families are looked at, so that the climber can prove what it claims.

    It proves by bounds of its own: whether the solver inside is exact does not matter. The name
    ``ordering`` asks for a climb in orders, which looks at few families.
    """
    return task.solver != "ordering" and fits(task.dataset, task.rules)


def best_climb(
    task: Task, incumbent: Incumbent, starts: int, t: int | None
) -> Solution | None:
    """Climb from every start, several at once; return the first of the best solutions.

    When the search is over before all climbs are, it has the solutions, and ``None`` is returned.
    Without a radius, or where not all families are looked at, nothing is proven.
    """
    begin = list(starting_completions(task, starts, fitted=is_tabulated(task)))
    climbed: list[Solution | None] = [None] * len(begin)
    firsts: dict[bytes, int] = {}

    def climb_from(number: int, _: None) -> int:
        """Climb, unless another start leads to the same completion; return the one that does."""
        try:
            values, fitted = begin[number]
            if fitted:
                values = hard_em_completion(task, values, incumbent)
            first = firsts.setdefault(values.tobytes(), number)
            if first == number and not incumbent.is_over:
                climbed[number] = climb(task, incumbent, values, t)
        except BaseException:
            incumbent.stop()  # the other threads
            raise
        return first

    climbs_in_order = in_order(climb_from, len(begin), lambda: None, n_threads(None))
    numbers = set(counted("start", climbs_in_order, len(begin)))
    climbs = [climbed[number] for number in numbers]
    solutions = [solution for solution in climbs if solution is not None]
    is_whole = len(solutions) == len(climbs)
    return min(solutions, key=lambda solution: solution.order) if is_whole else None


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
    status: AugmentationStatus = (
        "heuristic" if result.status == "optimal" else result.status
    )
    if status == "heuristic" and task.dataset.is_complete:
        status = "optimal"
        incumbent.bound = incumbent.score
    return Augmentation.of(incumbent, status, "mode", message=result.message)


def climb(
    task: Task, incumbent: Incumbent, values: NDArray[np.int64], t: int | None
) -> Solution | None:
    """Climb from a completion to a t-local optimum, or by cheap steps only.

    Where not all families can be tabulated, nor DAGs be proven best, the candidate parent sets are
    those that a search of bounded budget identifies. In the end, no other value of a single cell
    lets any of them that fit the DAG's order improve the score.

    Parameters
    ----------
    task
        The table.
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
    if not is_tabulated(task):
        solution = (
            _rise(task, incumbent, values, None, None) if incumbent.goes_on() else None
        )
        return None if incumbent.is_over else solution
    families = Families.allowed(task.dataset.names, task.rules)
    store = FamilyStore.of(task.dataset, values, task.tables, families, incumbent)
    neighbourhood = Neighbourhood(task, incumbent, store)
    solution = None
    while incumbent.goes_on():
        solution = _rise(task, incumbent, store.values, solution, store)
        store.move_to(solution.values)
        if incumbent.is_over:
            break
        better = None if t is None else neighbourhood.better(solution, t)
        if better is None:
            return None if incumbent.is_over else solution
        incumbent.offer(better)
        store.move_to(better.values)
        solution = better
    return None


def _rise(
    task: Task,
    incumbent: Incumbent,
    values: NDArray[np.int64],
    solution: Solution | None,
    store: FamilyStore | None,
) -> Solution:
    """Alternate good DAGs for a completion with changes of cells within their order.

    Ends with the best solution when that brings nothing more. The store has all families under the
    completion; without it, those that are identified for each completion are tabulated.
    """
    n = task.dataset.n_variables
    budget = Budget(tables=max(TABLES // n, TABLES_EACH * n)) if store is None else None
    while True:
        problem = task.families(values, budget=budget, control=incumbent)
        problem.require_feasible()
        parents, _ = heuristic_network(
            problem,
            None if solution is None else solution.parents,
            budget=max(BUDGET, BUDGET_EACH * problem.n_candidates),
            perturbations=PERTURBATIONS if solution is None else PERTURBATIONS_AGAIN,
            seed=task.seed,
            control=incumbent,
        )
        candidate = task.solution(parents, values)
        incumbent.offer(candidate)
        if incumbent.goes_on():  # the tables may take longer than the network
            tabulated = store or FamilyStore.of(
                task.dataset,
                values,
                task.tables,
                Families.listed(problem, task.rules.prior),
                incumbent,
            )
            for dag in ascend(tabulated, parents):
                candidate = task.solution(dag, tabulated.values)
                incumbent.offer(candidate)
        if solution is not None and candidate.score <= solution.target:
            return max(candidate, solution, key=lambda solution: solution.score)
        solution = candidate
        values = candidate.values
        if not incumbent.goes_on():
            return candidate
