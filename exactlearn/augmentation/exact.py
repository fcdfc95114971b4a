"""The exact methods: the DAG and the completion that maximise the score together, and the k best.

Before any relaxation the penalties alone are a bound, because a family's score never rises with
another row, whatever its states are (theorem *Complete rows*, docs/theory/augmentation.md).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import Event, OnEvent
from exactlearn._runtime.display import Displayed
from exactlearn._runtime.variable_arguments import ArcsLike
from exactlearn.augmentation.branching import branch
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.gadget import enumerable_families, reduced
from exactlearn.augmentation.hill_climber import (
    augment_mode,
    best_climb,
    offer_sparsest,
)
from exactlearn.augmentation.node_relaxation import require_few_families
from exactlearn.augmentation.solutions import (
    Augmentation,
    AugmentationStatus,
    Incumbent,
    Solution,
    SolutionPool,
)
from exactlearn.augmentation.task import Task, merge_rows, undecided_rows
from exactlearn.data.dataset import DatasetLike, require_weight
from exactlearn.errors import DataError, OptionError
from exactlearn.scoring.properties import is_convex, properties
from exactlearn.scoring.scores import ScoreLike, size_penalty
from exactlearn.solvers import solve

# Most starts of the climber that finds the first incumbent, and the share of a time limit after
# which it leaves the rest to bounds.
STARTS = 3
CLIMBING = 0.6

_Outcome = tuple[AugmentationStatus, str]
_Search = Callable[[Task, Incumbent], _Outcome]


def augment_exact(task: Task, incumbent: Incumbent) -> Augmentation:
    """Maximise over all DAGs and all completions: by branching where the score allows it.

    Elsewhere by the paper's reduction. The message says which. The parameters and errors are those
    of :func:`augment_branching` and :func:`augment_gadget`.
    """
    if properties(task.score, task.domain).rises:
        remark = "by branching"
        result = augment_branching(task, incumbent)
    else:
        remark = f"by the gadget, since the score {task.score.name!r} lacks what branching needs"
        result = augment_gadget(task, incumbent)
    message = f"{remark}; {result.message}" if result.message else remark
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
    DataError
        When an incomplete row stands for several, and the score is not convex.
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
    if branch(task, SolutionPool(incumbent, tolerance=task.tolerance)):
        return "optimal", ""
    return incumbent.status, f"{incumbent.ending} before all branches were closed"


def _run(
    task: Task, incumbent: Incumbent, method: str, search: _Search
) -> Augmentation:
    """Find a bound that costs little, a good solution in a share of the time limit, then search."""
    if task.dataset.is_complete:
        return replace(augment_mode(task, incumbent), method=method)
    for row in undecided_rows(task.dataset, task.score)[:1].tolist():
        raise DataError(
            f"{task.dataset.row_place(row)} has the weight {task.dataset.row_weights[row]:g}, and "
            f"the score {task.score.name!r} is not convex: the rows that it stands for may have "
            "different best completions; write the rows out (Dataset.written_out()), or use the "
            "method 't-local', which proves nothing of them"
        )
    if properties(task.score, task.domain).falls:
        rows = float(task.dataset.row_weights.sum())
        states = task.dataset.cardinalities.tolist()
        penalties = [size_penalty(task.score, r, 1.0, rows) for r in states]
        incumbent.prove_families(0.0 - np.array(penalties))
    with incumbent.hurried(CLIMBING):
        best_climb(task, incumbent, min(task.starts, STARTS), None)
    if incumbent.is_over:
        offer_sparsest(task, incumbent)
        status: AugmentationStatus = incumbent.status
        message = f"{incumbent.ending} before the exact search began"
    else:
        status, message = search(task, incumbent)
    if status == "optimal":
        incumbent.bound = incumbent.score
    return Augmentation.of(incumbent, status, method, message=message)


def _solve_gadget(task: Task, incumbent: Incumbent) -> _Outcome:
    gadget = reduced(task, incumbent)
    if gadget is None or incumbent.is_over:
        return (
            incumbent.status,
            f"{incumbent.ending} before all completions were scored",
        )
    n = task.dataset.n_variables
    offset = gadget.penalty * len(task.dataset.missing_cells)

    def take(parents: tuple[tuple[int, ...], ...]) -> None:
        # without artificial variables, which come last
        dag = []
        for parent_set in parents[:n]:
            dag.append(tuple(p for p in parent_set if p < n))
        incumbent.offer(task.solution(tuple(dag), gadget.values(parents)))

    def listen(event: Event) -> None:
        if event.parents is not None and event.score + offset > incumbent.score:
            take(event.parents)
        incumbent.prove(event.bound + offset)
        incumbent.tick(event.nodes)

    result = solve(
        gadget.problem,
        solver=task.solver,
        time_limit=incumbent.remaining,
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
    incomplete = is_convex(task.score, task.domain)
    merged, origin = merge_rows(task.dataset, incomplete=incomplete)
    cells = merged.missing_cells
    rows, variables = task.dataset.missing_cells.T
    index = np.full(merged.codes.shape, -1)
    index[tuple(cells.T)] = np.arange(len(cells))
    incumbent.restore = index[origin[rows], variables]
    start = None
    if task.start is not None:
        start = np.zeros(len(cells), np.int64)
        start[incumbent.restore] = task.start
    return replace(task, dataset=merged, start=start)


Distinct = Literal["solutions", "completions"]
"""What two answers must differ in."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Ranking(Displayed, shown="status solutions seconds"):
    """The best solutions, in the order of their scores.

    Parameters
    ----------
    solutions
        The best first; equal scores in the order of parents and values.
    status
        ``optimal`` when no other solution scores more than the last one, ``feasible`` after a limit
        and ``interrupted`` after Ctrl-C: there may be better ones then.
    seconds
        Wall time.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar").part(slice(10))
    >>> ranking = el.best_solutions(table, "bdeu", 3, max_parents=1)
    >>> ranking.status, [round(each.score, 2) for each in ranking.solutions]
    ('optimal', [-28.5, -28.87, -28.87])
    """

    solutions: tuple[Solution, ...]
    status: AugmentationStatus
    seconds: float


@checked_arguments(distinct=one_of(("solutions", "completions")))
def best_solutions(
    dataset: DatasetLike,
    score: ScoreLike,
    k: int,
    *,
    distinct: Distinct = "solutions",
    max_parents: int = 3,
    starts: int = 3,
    solver: str = "auto",
    time_limit: float | None = None,
    seed: int = 0,
    required: ArcsLike = (),
    forbidden: ArcsLike = (),
    best: Augmentation | None = None,
    on_event: OnEvent | None = None,
) -> Ranking:
    """Return the k best solutions of a DAG and a completion of the missing cells.

    The search is that of the method ``branching``, closing only what cannot score more than the
    k-th best solution, and listing the best networks of each completion that is left. Rows with
    missing cells are not merged: what is merged loses no optimum, but solutions below it. So a row
    with a weight is completed as one row.

    Parameters
    ----------
    dataset, score, max_parents, starts, solver, time_limit, seed, required, forbidden, on_event
        As for :func:`exactlearn.augmentation.augment`; the solver must be exact.
    k
        How many; fewer are returned where there are not as many.
    distinct
        ``solutions`` (two may have the same completion, or equivalent DAGs) or ``completions``
        (each completion once, with its best DAG).
    best
        The best solution, where it is known already and proven.

    Raises
    ------
    OptionError
        When ``k`` is below 1 or an option is unknown.
    TooLargeError
        When there are too many families.
    InfeasibleError
        When the constraints exclude every network.

    Examples
    --------
    >>> import numpy as np
    >>> from exactlearn.scoring.scores import BDeu
    >>> from exactlearn.data.dataset import Dataset
    >>> table = Dataset(np.array([[0, 0], [1, 1], [1, -1]]), ("a", "b"), (("no", "yes"),) * 2)
    >>> ranked = best_solutions(table, BDeu(1.0), 2, distinct="completions")
    >>> [(round(solution.score, 3), solution.values.tolist()) for solution in ranked.solutions]
    [(-4.341, [1]), (-5.545, [0])]
    """
    require_weight(dataset)
    rules = FamilyRules.of(max_parents, required, forbidden)
    task = Task(dataset, score, rules, solver, seed, starts=starts)
    spent = 0.0
    if best is None:
        with Incumbent(time_limit, on_event).running() as incumbent:
            best = augment_branching(task, incumbent)
        spent = best.seconds
    task = replace(task, dataset=merge_rows(dataset, incomplete=False)[0])
    left = None if time_limit is None else max(0.0, time_limit - spent)
    status = best.status
    with Incumbent(left, on_event).running() as incumbent:
        pool = SolutionPool(incumbent, k, distinct == "completions", task.tolerance)
        if best.parents is not None:
            pool.take(task.solution(best.parents, best.values))
        if status == "optimal":
            status = "optimal" if branch(task, pool) else incumbent.status
    return Ranking(
        solutions=pool.ranked, status=status, seconds=spent + incumbent.seconds
    )
