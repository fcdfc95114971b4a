"""Networks that structural EM starts from.

Structural EM ends at a network that is the best for its own expected counts, of which there are
many. From the network without arcs it hardly moves: by its posteriors missing cells are independent
of all others, and their share of the counts speaks against every arc.
"""

from collections.abc import Callable

import numpy as np

from exactlearn._runtime.control import SearchControl
from exactlearn.augmentation.solutions import Incumbent
from exactlearn.augmentation.task import Task, mode_completion
from exactlearn.errors import DataError
from exactlearn.scoring.candidates import candidate_parent_sets, n_families
from exactlearn.scoring.deletion_enumeration import DeletionCounts
from exactlearn.solvers.problem import Problem

MOST_PARENTS = 2
"""Most parents of the start by deletion: the estimates of larger families cost most of its time."""

MOST_FAMILIES = 50_000
"""Most families that the start by deletion estimates; where there are more, it is that by pairs."""

MOST_ROWS = 10_000
"""Most rows of a start by deletion, drawn from more: a start need not be exact."""

MOST_TIME = 0.3
"""Most of the time that is left for the counts of a start."""

Parents = tuple[tuple[int, ...], ...]
"""Parents of each variable."""


def without_arcs(task: Task, incumbent: Incumbent) -> Parents:
    """Return the DAG of the required arcs alone."""
    return task.sparsest(task.dataset.missing_cells[:, 1] * 0).parents


def from_counts(task: Task, incumbent: Incumbent) -> Parents | None:
    """Return the best DAG, with few parents, by counts that deletion estimates (``f-mcar``).

    Nothing where some variable is never observed, or when it takes much of the time.
    """
    is_large = n_families(task.dataset.n_variables, MOST_PARENTS) > MOST_FAMILIES
    return _best(task, incumbent, 1 if is_large else MOST_PARENTS)


def from_pairs(task: Task, incumbent: Incumbent) -> Parents | None:
    """Return the best DAG with at most one parent a variable, by the counts of pairs."""
    return _best(task, incumbent, 1)


def _best(task: Task, incumbent: Incumbent, max_parents: int) -> Parents | None:
    required = [child for _, child in task.rules.required]
    least = max((required.count(child) for child in required), default=0)
    dataset = task.dataset.drawn(MOST_ROWS, np.random.default_rng(task.seed))
    try:
        problem = candidate_parent_sets(
            dataset,
            task.score,
            max_parents=min(max(max_parents, least), task.rules.max_parents),
            required=task.rules.required,
            forbidden=task.rules.forbidden,
            counts=DeletionCounts("f-mcar"),
            control=incumbent.part(MOST_TIME),
        )
    except DataError:
        return None
    return _solved(task, incumbent, problem)


def from_mode(task: Task, incumbent: Incumbent) -> Parents | None:
    """Return the best DAG of the table completed with the most frequent states."""
    values = mode_completion(task.dataset)
    return _solved(task, incumbent, task.families(values, control=SearchControl(outer=incumbent)))


def _solved(task: Task, incumbent: Incumbent, problem: Problem) -> Parents | None:
    return None if problem.stopped else task.solve(problem, incumbent).parents


STARTS: tuple[Callable[[Task, Incumbent], Parents | None], ...] = (
    from_counts,
    from_mode,
    from_pairs,
    without_arcs,
)
"""What the starts begin with, the most accurate first; random completions follow."""
