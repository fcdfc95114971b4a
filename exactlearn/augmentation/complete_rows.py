"""A bound on every pair from the complete rows alone: to be had long before any relaxation.

A family's score never rises with another row, whatever its states are: see the theorem *Complete
rows* in :mod:`exactlearn.augmentation`.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.task import Task
from exactlearn.data.codes import MISSING
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import Score
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


def bounds_without_rows(task: Task) -> NDArray[np.float64]:
    """Return what no family of each variable scores more than, whatever the rows are.

    That is the penalty alone, shape (variables,).
    """
    _, _, b = task.score.compiled(float(task.dataset.row_weights.sum()))
    return np.asarray(0.0 - b * (task.dataset.cardinalities - 1), np.float64)


def bounds_by_complete_rows(task: Task, pause: Pause = no_pause) -> NDArray[np.float64]:
    """Return the best score that a family of each variable has in the complete rows, shape (n,).

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
        return bounds_without_rows(task)
    weights = dataset.row_weights
    problem = candidate_parent_sets(
        replace(dataset, codes=dataset.codes[kept], weights=weights[kept]),
        _OfAllRows(task.score, float(weights.sum())),
        max_parents=task.rules.max_parents,
        required=task.rules.required,
        forbidden=task.rules.forbidden,
        on_progress=lambda done, of: pause(),
    )
    best: NDArray[np.float64] = np.maximum.reduceat(problem.scores, problem.first[:-1])
    return best
