"""Completions that climbs begin with."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.network_search import good_network
from exactlearn.augmentation.task import Task
from exactlearn.data import Dataset
from exactlearn.evaluation.completing import most_probable_completion
from exactlearn.parameters.complete import fit_complete

EFFORT = 10**6
"""Candidates that the search for a first DAG looks at, about."""


def mode_completion(dataset: Dataset) -> NDArray[np.int64]:
    """Fill each cell with the most frequent observed state of its variable; ties to the first."""
    weights = dataset.row_weights
    modes = np.zeros(dataset.n_variables, np.int64)
    for variable, r in enumerate(dataset.cardinalities):
        seen = dataset.codes[:, variable] >= 0
        counts = np.bincount(dataset.codes[seen, variable], weights=weights[seen], minlength=int(r))
        modes[variable] = int(counts.argmax())
    return modes[dataset.missing_cells[:, 1]]


def fitted_completion(task: Task, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Fill each row with its most probable states in a network fitted to another completion.

    Parameters
    ----------
    task
        The table, the score and the rules.
    values
        The completion from which a good DAG and its parameters are learned.
    """
    problem = task.families(values)
    problem.require_feasible()
    parents, _ = good_network(problem, None, effort=EFFORT, shakes=1, seed=task.seed)
    network = fit_complete(task.dataset.complete(values), parents)
    return most_probable_completion(network, task.dataset)


def random_completions(dataset: Dataset, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield completions drawn uniformly, one after the other, for ever."""
    rng = np.random.default_rng(seed)
    states = dataset.cardinalities[dataset.missing_cells[:, 1]]
    while True:
        yield rng.integers(states)
