"""The k best solutions of DAG and completion, proven."""

from dataclasses import dataclass
from typing import Literal

from exactlearn._runtime.arguments import ArcsLike, checked_arguments
from exactlearn._runtime.control import OnEvent
from exactlearn._runtime.display import Displayed
from exactlearn.augmentation.augment import augment
from exactlearn.augmentation.branch_and_bound.search import branch
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.incumbent import Incumbent, Solution, SolutionPool
from exactlearn.augmentation.result import Augmentation, AugmentationStatus
from exactlearn.augmentation.task import Task, merge_rows
from exactlearn.data.dataset import DatasetLike
from exactlearn.errors import OptionError, did_you_mean
from exactlearn.scoring.scores import ScoreLike
from exactlearn.solvers.enumeration.networks import enumerate_networks

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
    >>> found = el.best_solutions(table, "bdeu", 3, max_parents=1)
    >>> found.status, [round(each.score, 2) for each in found.solutions]
    ('optimal', [-28.5, -28.87, -28.87])
    """

    solutions: tuple[Solution, ...]
    status: AugmentationStatus
    seconds: float


@checked_arguments()
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
    missing cells are not merged: what is merged loses no optimum, but solutions below it.

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
    if k < 1:
        raise OptionError(f"k must be at least 1, found {k}")
    if distinct not in ("solutions", "completions"):
        raise OptionError(
            f"distinct must be 'solutions' or 'completions', found {distinct!r}"
            f"{did_you_mean(distinct, ('solutions', 'completions'))}"
        )
    spent = 0.0
    if best is None:
        best = augment(
            dataset,
            score,
            method="branching",
            max_parents=max_parents,
            starts=starts,
            solver=solver,
            time_limit=time_limit,
            seed=seed,
            required=required,
            forbidden=forbidden,
            on_event=on_event,
        )
        spent = best.seconds
    rules = FamilyRules.of(max_parents, required, forbidden)
    task = Task(merge_rows(dataset, incomplete=False).dataset, score, rules, solver, seed)
    left = None if time_limit is None else max(0.0, time_limit - spent)
    status = best.status
    with Incumbent(left, on_event).running() as incumbent:
        pool = SolutionPool(incumbent, k, distinct == "completions")
        if best.parents is not None:
            pool.take(task.solution(best.parents, best.values))
        if status == "optimal":
            status = _rank(task, pool)
    return Ranking(solutions=pool.ranked, status=status, seconds=spent + pool.incumbent.seconds)


def _rank(task: Task, pool: SolutionPool) -> AugmentationStatus:
    _take_neighbours(task, pool)
    return "optimal" if branch(task, pool) else pool.incumbent.status


def _take_neighbours(task: Task, pool: SolutionPool) -> None:
    """Take solutions near the best one, so that the search has something to beat."""
    incumbent = pool.incumbent
    values = incumbent.working_values.copy()
    if not pool.by_completion:
        found = enumerate_networks(
            task.families(values, control=incumbent),
            k=pool.k,
            solver=task.solver,
            time_limit=incumbent.remaining,
            seed=task.seed,
        )
        for network in found.networks:
            pool.take(task.solution(network.parents, values))
        return
    states = task.dataset.cardinalities[task.dataset.missing_cells[:, 1]]
    for cell, r in enumerate(states):
        for state in range(int(r)):
            changed = values.copy()
            changed[cell] = state
            result = task.solve(task.families(changed, control=incumbent), incumbent)
            if result.parents is None or not incumbent.goes_on():
                return
            pool.take(task.solution(result.parents, changed))
