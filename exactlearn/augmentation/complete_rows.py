"""A bound on every pair from the complete rows alone: to be had long before any relaxation.

A family's score never rises with another row, whatever its states are: see the theorem *Complete
rows* in :mod:`exactlearn.augmentation`.
"""

from dataclasses import dataclass, replace

import numpy as np

from exactlearn.augmentation.task import Task
from exactlearn.candidates import candidate_parent_sets
from exactlearn.codes import MISSING
from exactlearn.scores import Score
from exactlearn.solvers.progress import Pause, no_pause


@dataclass(frozen=True)
class _OfAllRows:
    """A score with the penalty of another number of rows.

    Parameters
    ----------
    score
        The score.
    total
        Weight of all rows.
    """

    score: Score
    total: float

    def compiled(self, n_rows: float) -> tuple[int, float, float]:
        """Return the kernels' form for all rows."""
        return self.score.compiled(self.total)


def bound_without_rows(task: Task) -> float:
    """Return what no pair scores more than, whatever the rows are: the penalties alone."""
    _, _, b = task.score.compiled(float(task.dataset.row_weights.sum()))
    return 0.0 - b * float((task.dataset.cardinalities - 1).sum())


def bound_by_complete_rows(task: Task, pause: Pause = no_pause) -> float:
    """Return the sum over the variables of the best score that a family has in the complete rows.

    Parameters
    ----------
    task
        The table, the score and the rules.
    pause
        Called between blocks of work; what it raises passes through.

    Raises
    ------
    InfeasibleError
        When the rules leave a variable without any parent set.
    """
    dataset = task.dataset
    kept = ~(dataset.codes == MISSING).any(axis=1)
    if not kept.any():
        return bound_without_rows(task)
    weights = dataset.row_weights
    problem = candidate_parent_sets(
        replace(dataset, codes=dataset.codes[kept], weights=weights[kept]),
        _OfAllRows(task.score, float(weights.sum())),
        max_parents=task.rules.max_parents,
        required=task.rules.required,
        forbidden=task.rules.forbidden,
        on_progress=lambda done, of: pause(),
    )
    return float(np.maximum.reduceat(problem.scores, problem.first[:-1]).sum())
