"""The t-local hill-climber over completions.

Adel and de Campos, "Approximate algorithm": restrict the exact method to the completions within
Hamming distance ``t`` of the current one, solve it, move there, and repeat until the completion
stays (Theorem 4: the pair is then optimal among all DAGs and all completions within distance t).

Between two such steps the climber alternates, which is cheaper and never lowers the score: the best
DAG for the completion, then single cells for the DAG.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.neighbourhood import better_pair
from exactlearn.augmentation.pair import Pair
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.result import Augmentation, AugmentationStatus
from exactlearn.augmentation.settle import settle
from exactlearn.augmentation.task import LimitReachedError, Task, require_proof
from exactlearn.data import Dataset
from exactlearn.errors import OptionError
from exactlearn.interrupts import interruptible


def augment_local(task: Task, incumbent: Incumbent, *, t: int, starts: int) -> Augmentation:
    """Climb from the mode completion and random ones; return the best t-local optimum.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    incumbent
        Where the best pair and the clock are kept.
    t
        Radius of the neighbourhood, at least 1.
    starts
        Number of starts: the mode completion and ``starts - 1`` random ones.

    Raises
    ------
    OptionError
        When ``t`` or ``starts`` is below 1.
    TooLargeError
        When a neighbourhood has too many completions to enumerate.
    """
    if t < 1 or starts < 1:
        raise OptionError(f"t and starts must be at least 1, found t = {t}, starts = {starts}")
    status: AugmentationStatus = "t-local"
    message = ""
    seen: set[bytes] = set()
    try:
        with interruptible():
            for start in starting_completions(task, starts):
                _climb(task, incumbent, start, t, seen)
    except LimitReachedError as limit:
        status, message = limit.status, "stopped before t-local optimality was proven"
    except KeyboardInterrupt:
        status, message = "interrupted", "interrupted before t-local optimality was proven"
    if status == "t-local" and t >= len(task.dataset.missing_cells):
        status, incumbent.bound = "optimal", incumbent.score
    return Augmentation.of(incumbent, status, "t-local", t=t, message=message)


def augment_mode(task: Task, incumbent: Incumbent) -> Augmentation:
    """Fill in each variable's most frequent state, then learn the best DAG: the baseline."""
    values = mode_completion(task.dataset)
    try:
        result = task.solve(task.families(values), incumbent)
    except LimitReachedError as limit:
        return Augmentation.of(incumbent, limit.status, "mode", message="no network was found")
    assert result.parents is not None
    incumbent.offer(task.pair(result.parents, values))
    status: AugmentationStatus = "heuristic" if result.status == "optimal" else result.status
    if status == "heuristic" and task.dataset.is_complete:
        status, incumbent.bound = "optimal", incumbent.score
    return Augmentation.of(incumbent, status, "mode", message=result.message)


def _climb(
    task: Task, incumbent: Incumbent, values: NDArray[np.int64], t: int, seen: set[bytes]
) -> None:
    """Climb from a completion to a t-local optimum, or to where an earlier climb has been."""
    pair = alternate(task, incumbent, values)
    while pair.values.tobytes() not in seen:
        seen.add(pair.values.tobytes())
        if incumbent.out_of_time:
            raise LimitReachedError("feasible")
        better = better_pair(task, incumbent, pair, t)
        if better is None:
            incumbent.confirm(pair)
            return
        incumbent.offer(better)
        pair = alternate(task, incumbent, better.values)


def alternate(task: Task, incumbent: Incumbent, values: NDArray[np.int64]) -> Pair:
    """Alternate the best DAG for the completion and single cells for the DAG until both stay."""
    pair: Pair | None = None
    while True:
        result = task.solve(task.families(values), incumbent, pair)
        assert result.parents is not None
        settled = settle(task.dataset, values, result.parents, task.score)
        found = task.pair(result.parents, settled)
        incumbent.offer(found)
        require_proof(result)
        stays = np.array_equal(settled, values)
        if stays or (pair is not None and found.score <= pair.target):
            return found if stays else _optimal_for(task, incumbent, found)
        values, pair = settled, found


def mode_completion(dataset: Dataset) -> NDArray[np.int64]:
    """Fill each cell with the most frequent observed state of its variable; ties to the first."""
    weights = np.ones(dataset.n_rows) if dataset.weights is None else dataset.weights
    modes = np.zeros(dataset.n_variables, np.int64)
    for variable, r in enumerate(dataset.cardinalities):
        seen = dataset.codes[:, variable] >= 0
        counts = np.bincount(dataset.codes[seen, variable], weights=weights[seen], minlength=int(r))
        modes[variable] = int(counts.argmax())
    return modes[dataset.missing_cells[:, 1]]


def starting_completions(task: Task, starts: int) -> Iterator[NDArray[np.int64]]:
    """Yield the mode completion and then random ones."""
    dataset = task.dataset
    yield mode_completion(dataset)
    rng = np.random.default_rng(task.seed)
    states = dataset.cardinalities[dataset.missing_cells[:, 1]]
    for _ in range(starts - 1 if len(states) else 0):
        yield rng.integers(states)


def _optimal_for(task: Task, incumbent: Incumbent, pair: Pair) -> Pair:
    """Return the pair of a completion with its proven best DAG."""
    result = task.solve(task.families(pair.values), incumbent, pair)
    assert result.parents is not None
    require_proof(result)
    found = task.pair(result.parents, pair.values)
    incumbent.offer(found)
    return found
