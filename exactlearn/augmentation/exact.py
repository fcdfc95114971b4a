"""The exact methods: the DAG and the completion that provably maximise the score together.

Before any relaxation the complete rows alone give a bound, because a family's score never rises
with another row, whatever its states are (theorem *Complete rows*, docs/theory/augmentation.md).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, Event, SearchControl
from exactlearn.augmentation.branch_and_bound.incomplete_families import require_few_families
from exactlearn.augmentation.branch_and_bound.search import branch
from exactlearn.augmentation.enumeration.gadget import (
    artificial_names,
    by_cell_choices,
    chosen_values,
    gadget_selection,
    penalty,
    without_choices,
)
from exactlearn.augmentation.enumeration.linked_program import (
    all_completions,
    at_missing,
    completion_problem,
    place_values,
    require_enumerable,
)
from exactlearn.augmentation.incumbent import Incumbent, SolutionPool
from exactlearn.augmentation.local_search.hill_climber import best_climb, offer_sparsest
from exactlearn.augmentation.result import Augmentation, AugmentationStatus
from exactlearn.augmentation.task import Task, merge_rows
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.properties import is_convex, properties
from exactlearn.scoring.scores import Counts, Score, size_penalty
from exactlearn.solvers import Problem, Result, solve

_Outcome = tuple[AugmentationStatus, str]
_Search = Callable[[Task, Incumbent], _Outcome]
_Take = Callable[[tuple[tuple[int, ...], ...], tuple[int, ...]], None]


def augment_exact(task: Task, incumbent: Incumbent) -> Augmentation:
    """Maximise over all DAGs and all completions, linking the columns' completions directly.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    incumbent
        Where the best solution, the bound and the clock are kept.

    Raises
    ------
    OptionError
        When the solver inside knows no choices.
    TooLargeError
        When there are too many completions to enumerate.
    """
    if task.solver == "dynamic":
        raise OptionError(
            "solver 'dynamic' cannot link completions: use solver 'scip', the method 'gadget' on "
            "a tiny table, or the method 't-local'"
        )
    work = _merged(task, incumbent)
    require_enumerable(work.dataset, task.rules.max_parents)
    return _run(work, incumbent, "exact", _solve_linked)


def augment_gadget(task: Task, incumbent: Incumbent) -> Augmentation:
    """Maximise over all DAGs and all completions by the paper's reduction, cell by cell.

    The parameters and errors are those of :func:`augment_exact`; any solver will do.
    """
    require_enumerable(task.dataset, task.rules.max_parents)
    return _run(task, incumbent, "gadget", _solve_gadget)


def augment_branching(task: Task, incumbent: Incumbent) -> Augmentation:
    """Maximise over all DAGs and all completions by branching on the cells' values.

    The parameters are those of :func:`augment_exact`; any solver will do.

    Raises
    ------
    OptionError
        When the score lacks what bounds need.
    TooLargeError
        When there are too many families to list.
    """
    require_few_families(task.dataset.n_variables, task.rules.max_parents)
    if not properties(task.score, task.domain).rises:
        raise OptionError(
            f"the method 'branching' bounds a family row by row, for which the score "
            f"{task.score.name!r} lacks convexity: another row in a cell must gain the more, the "
            "more rows the cell has; use the method 'exact', 'gadget' or 't-local'"
        )
    return _run(_merged(task, incumbent), incumbent, "branching", _branch)


def _branch(task: Task, incumbent: Incumbent) -> _Outcome:
    if branch(task, SolutionPool(incumbent)):
        return "optimal", ""
    return incumbent.status, f"{incumbent.ending} before all branches were closed"


def reduction(task: Task) -> tuple[Problem, Problem]:
    """Return the problem with one choice per missing cell, and its reduction to a plain one."""
    require_enumerable(task.dataset, task.rules.max_parents)
    columns = all_completions(task.dataset)
    linked = completion_problem(task.dataset, columns, task.score, task.rules)
    by_cell = by_cell_choices(linked, columns, task.dataset)
    return by_cell, without_choices(by_cell, artificial_names(task.dataset, task.dataset.names))


def _run(task: Task, incumbent: Incumbent, method: str, search: _Search) -> Augmentation:
    if task.dataset.is_complete:
        outcome = _best_network(task, incumbent)
    else:
        outcome = _begin(task, incumbent) or search(task, incumbent)
    status, message = outcome
    if status == "optimal":
        incumbent.bound = incumbent.score
    return Augmentation.of(incumbent, status, method, message=message)


def _best_network(task: Task, incumbent: Incumbent) -> _Outcome:
    """Find the best network of a table without missing cells."""
    if not _climb(task, incumbent, 1):
        return _unbegun(task, incumbent)
    incumbent.prove(incumbent.score)
    return "optimal", ""


def _begin(task: Task, incumbent: Incumbent) -> _Outcome | None:
    """Find a bound that costs little, then a good solution in a share of the time limit."""
    if properties(task.score, task.domain).falls:
        incumbent.prove_families(bounds_without_rows(task))
        incumbent.prove_families(bounds_by_complete_rows(task, incumbent))
    with incumbent.hurried(task.branching.climbing):
        _climb(task, incumbent, None)
    return _unbegun(task, incumbent) if incumbent.is_over else None


def _climb(task: Task, incumbent: Incumbent, t: int | None) -> bool:
    """Climb from a few starts; return whether the climbs were finished."""
    best = best_climb(task, incumbent, min(task.starts, task.branching.starts), t)
    if best is not None:
        incumbent.confirm(best)
    return best is not None


def _unbegun(task: Task, incumbent: Incumbent) -> _Outcome:
    """Return the outcome of a search that was over before it began."""
    offer_sparsest(task, incumbent)
    return incumbent.status, f"{incumbent.ending} before the exact search began"


def _solve_linked(task: Task, incumbent: Incumbent) -> _Outcome:
    columns = all_completions(task.dataset)
    problem = completion_problem(task.dataset, columns, task.score, task.rules)

    def take(parents: tuple[tuple[int, ...], ...], options: tuple[int, ...]) -> None:
        values = at_missing(columns.fill(options), task.dataset)
        incumbent.offer(task.solution(parents, values))

    start = Result(
        parents=incumbent.parents,
        score=incumbent.score,
        bound=np.inf,
        status="feasible",
        solver="start",
        values=_options_of(task.dataset, incumbent.working_values),
    )
    return _solve(problem, task, incumbent, start, take, 0.0)


def _solve_gadget(task: Task, incumbent: Incumbent) -> _Outcome:
    by_cell, plain = reduction(task)
    n = task.dataset.n_variables
    offset = penalty(by_cell) * len(by_cell.options)

    def take(parents: tuple[tuple[int, ...], ...], _: tuple[int, ...]) -> None:
        dag = tuple(tuple(p for p in ps if p < n) for ps in parents[:n])
        incumbent.offer(task.solution(dag, chosen_values(by_cell, parents)))

    start = Result(
        parents=gadget_selection(by_cell, _dag(incumbent), incumbent.working_values),
        score=incumbent.score - offset,
        bound=np.inf,
        status="feasible",
        solver="start",
    )
    return _solve(plain, task, incumbent, start, take, offset)


def _solve(
    problem: Problem,
    task: Task,
    incumbent: Incumbent,
    start: Result,
    take: _Take,
    offset: float,
) -> _Outcome:
    def listen(event: Event) -> None:
        if event.parents is not None and event.score + offset > incumbent.score:
            take(event.parents, event.values)
        incumbent.prove(event.bound + offset)
        incumbent.tick(event.nodes)

    result = solve(
        problem,
        solver=task.solver,
        time_limit=incumbent.remaining,
        start=start,
        seed=task.seed,
        on_event=listen,
    )
    if result.parents is not None:
        take(result.parents, result.values)
    incumbent.prove(result.bound + offset)
    incumbent.nodes += result.nodes
    return result.status, result.message


def _dag(incumbent: Incumbent) -> tuple[tuple[int, ...], ...]:
    assert incumbent.parents is not None
    return incumbent.parents


def _merged(task: Task, incumbent: Incumbent) -> Task:
    """Merge equal rows; from now on the incumbent gets values of the merged table's cells.

    Rows with missing cells are merged if the score is convex.
    """
    dataset = task.dataset
    convex = is_convex(task.score, task.domain)
    merged = merge_rows(dataset, incomplete=convex)
    index = np.full(merged.dataset.codes.shape, -1)
    cells = merged.dataset.missing_cells
    index[cells[:, 0], cells[:, 1]] = np.arange(len(cells))
    original = task.dataset.missing_cells
    incumbent.restore = index[merged.origin[original[:, 0]], original[:, 1]]
    start = None
    if task.start is not None:
        start = np.zeros(len(cells), np.int64)
        start[incumbent.restore] = task.start
    return task.on(merged.dataset, start)


def _options_of(dataset: Dataset, values: NDArray[np.int64]) -> tuple[int, ...]:
    """Return which of :func:`all_completions`'s options each column of a completion is."""
    columns = [values[dataset.missing_cells[:, 1] == v] for v in range(dataset.n_variables)]
    return tuple(
        int(column @ place_values(len(column), int(r)))
        for column, r in zip(columns, dataset.cardinalities, strict=True)
    )


@dataclass(frozen=True)
class _OfAllRows(Score):
    """A score with the penalty of another number of rows.

    Parameters
    ----------
    score
        The score.
    total
        Weight of all rows.
    """

    name = "score of the complete rows"
    score: Score
    total: float

    def cell(self, counts: Counts, r: int, q: float) -> Counts:
        """Return what the score does."""
        return self.score.cell(counts, r, q)

    def configuration(self, counts: Counts, r: int, q: float) -> Counts:
        """Return what the score does."""
        return self.score.configuration(counts, r, q)

    def penalty(self, r: int, q: float, rows: float) -> float:
        """Return the penalty for all rows."""
        return self.score.penalty(r, q, self.total)


def bounds_without_rows(task: Task) -> NDArray[np.float64]:
    """Return what no family of each variable scores more than, whatever the rows are.

    That is the penalty alone, shape (variables,).
    """
    total = float(task.dataset.row_weights.sum())
    states = task.dataset.cardinalities.tolist()
    return np.array([0.0 - size_penalty(task.score, r, 1.0, total) for r in states])


def bounds_by_complete_rows(task: Task, control: SearchControl = UNLIMITED) -> NDArray[np.float64]:
    """Return the best score that a family of each variable has in the complete rows, shape (n,).

    Parameters
    ----------
    task
        The table, the score and the rules.
    control
        When its search is over, the bounds are those without rows.

    Raises
    ------
    InfeasibleError
        When the rules leave a variable without any parent set.
    """
    dataset = task.dataset
    kept = ~(dataset.codes == MISSING).any(axis=1)
    if not kept.any():
        return bounds_without_rows(task)
    weights = dataset.row_weights
    problem = candidate_parent_sets(
        dataset.part(kept),
        _OfAllRows(task.score, float(weights.sum())),
        max_parents=task.rules.max_parents,
        required=task.rules.required,
        forbidden=task.rules.forbidden,
        on_progress=lambda done, of: control.look(),
        control=control,
    )
    if problem.stopped:
        return bounds_without_rows(task)
    best: NDArray[np.float64] = np.maximum.reduceat(problem.scores, problem.first[:-1])
    return best
