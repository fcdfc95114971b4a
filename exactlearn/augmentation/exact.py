"""The exact methods: the DAG and the completion that provably maximise the score together.

Before any relaxation the complete rows alone give a bound, because a family's score never rises
with another row, whatever its states are (theorem *Complete rows*, docs/theory/augmentation.md).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, Event, SearchControl
from exactlearn.augmentation.branch_and_bound.node_relaxation import require_few_families
from exactlearn.augmentation.branch_and_bound.search import branch
from exactlearn.augmentation.gadget import enumerable_families, reduced
from exactlearn.augmentation.incumbent import Incumbent, SolutionPool
from exactlearn.augmentation.local_search.hill_climber import best_climb, offer_sparsest
from exactlearn.augmentation.result import Augmentation, AugmentationStatus
from exactlearn.augmentation.task import Task, merge_rows
from exactlearn.data.codes import MISSING
from exactlearn.errors import OptionError
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.properties import is_convex, properties
from exactlearn.scoring.scores import Counts, Score, size_penalty
from exactlearn.solvers import solve

_Outcome = tuple[AugmentationStatus, str]
_Search = Callable[[Task, Incumbent], _Outcome]


def augment_exact(task: Task, incumbent: Incumbent) -> Augmentation:
    """Maximise over all DAGs and all completions: by branching where the score allows it.

    Elsewhere by the paper's reduction. The message says which. The parameters and errors are those
    of :func:`augment_branching` and :func:`augment_gadget`.
    """
    if properties(task.score, task.domain).rises:
        result, how = augment_branching(task, incumbent), "by branching"
    else:
        reason = f"by the gadget, since the score {task.score.name!r} lacks what branching needs"
        result, how = augment_gadget(task, incumbent), reason
    message = f"{how}; {result.message}" if result.message else how
    return replace(result, method="exact", message=message)


def augment_gadget(task: Task, incumbent: Incumbent) -> Augmentation:
    """Maximise over all DAGs and all completions by the paper's reduction, cell by cell.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside; any will do.
    incumbent
        Where the best solution, the bound and the clock are kept.

    Raises
    ------
    TooLargeError
        When there are too many completions to enumerate.
    """
    enumerable_families(task.dataset, task.rules)
    return _run(task, incumbent, "gadget", _solve_gadget)


def augment_branching(task: Task, incumbent: Incumbent) -> Augmentation:
    """Maximise over all DAGs and all completions by branching on the cells' values.

    The parameters are those of :func:`augment_gadget`.

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


def _solve_gadget(task: Task, incumbent: Incumbent) -> _Outcome:
    gadget = reduced(task, incumbent)
    if gadget is None or incumbent.is_over:
        return incumbent.status, f"{incumbent.ending} before all completions were scored"
    assert incumbent.parents is not None
    n, offset = task.dataset.n_variables, gadget.penalty * len(task.dataset.missing_cells)

    def take(parents: tuple[tuple[int, ...], ...]) -> None:
        dag = tuple(tuple(p for p in ps if p < n) for ps in parents[:n])
        incumbent.offer(task.solution(dag, gadget.values(parents)))

    def listen(event: Event) -> None:
        if event.parents is not None and event.score + offset > incumbent.score:
            take(event.parents)
        incumbent.prove(event.bound + offset)
        incumbent.tick(event.nodes)

    result = solve(
        gadget.problem,
        solver=task.solver,
        time_limit=incumbent.remaining,
        start=gadget.selection(incumbent.parents, incumbent.working_values),
        seed=task.seed,
        on_event=listen,
    )
    if result.parents is not None:
        take(result.parents)
    incumbent.prove(result.bound + offset)
    incumbent.nodes += result.nodes
    return result.status, result.message


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
