"""The t-local hill-climber over completions.

Adel and de Campos, "Approximate algorithm": restrict the exact method to the completions within
Hamming distance ``t`` of the current one, solve it, move there, and repeat until the completion
stays (Theorem 4: the pair is then optimal among all DAGs and all completions within distance t).

Between two such steps the climber alternates, which is cheaper and never lowers the score: the best
DAG for the completion, then single cells for the DAG.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.columns import completions_within
from exactlearn.augmentation.completions import (
    FamilyRules,
    completion_problem,
    require_enumerable,
)
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.result import Augmentation, AugmentationStatus, Method, total_score
from exactlearn.augmentation.settle import settle
from exactlearn.candidates import candidate_parent_sets
from exactlearn.data import Dataset
from exactlearn.errors import InfeasibleError, OptionError, TooLargeError
from exactlearn.scores import Score
from exactlearn.solvers import Result, solve
from exactlearn.solvers.result import Event, OnEvent

IMPROVEMENT = 1e-7
"""Least improvement, relative to the score, that a step must bring: less is rounding."""

MAX_NEIGHBOURS = 20_000
"""Most completions that are solved one by one where the solver knows no choices."""


@dataclass(frozen=True, eq=False)
class Task:
    """What an augmentation is asked: the table, the score, the rules and the solver inside."""

    dataset: Dataset
    score: Score
    rules: FamilyRules
    solver: str
    seed: int


@dataclass(frozen=True, eq=False)
class Pair:
    """A DAG and a completion with their score."""

    parents: tuple[tuple[int, ...], ...]
    values: NDArray[np.int64]
    score: float

    def beats(self, score: float) -> bool:
        """Whether the pair is better by more than rounding."""
        return self.score > score + IMPROVEMENT * max(1.0, abs(score))


class LimitReachedError(Exception):
    """Raised inside when the time is up; carries whether the user interrupted."""

    def __init__(self, status: AugmentationStatus) -> None:
        super().__init__(status)
        self.status = status


def augment_local(
    task: Task, incumbent: Incumbent, *, t: int, starts: int, first: NDArray[np.int64] | None = None
) -> Augmentation:
    """Climb from the mode start and random starts; return the best t-local optimum.

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
    first
        A completion to start from instead of the mode.

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
    try:
        for start in starting_completions(task, starts, first):
            _climb(task, incumbent, start, t)
    except LimitReachedError as limit:
        status = limit.status
        message = "stopped before t-local optimality was proven"
    except KeyboardInterrupt:
        status, message = "interrupted", "interrupted before t-local optimality was proven"
    if incumbent.parents is None:
        raise InfeasibleError("no network was found before the limit: allow more time")
    if status == "t-local" and t >= len(task.dataset.missing_cells):
        status, incumbent.bound = "optimal", incumbent.score
    return finished(incumbent, status, "t-local", t=t, message=message)


def augment_mode(task: Task, incumbent: Incumbent) -> Augmentation:
    """Fill in each variable's most frequent state, then learn the best DAG: the baseline."""
    status: AugmentationStatus = "heuristic"
    message = ""
    values = mode_completion(task.dataset)
    result = best_network(task, incumbent, values, None)
    assert result.parents is not None
    total = total_score(task.dataset.complete(values), result.parents, task.score)
    incumbent.offer(result.parents, values, total)
    if result.status != "optimal":
        status, message = result.status, "stopped before the best network was proven"
    elif task.dataset.is_complete:
        status, incumbent.bound = "optimal", incumbent.score
    return finished(incumbent, status, "mode", message=message)


def finished(
    incumbent: Incumbent,
    status: AugmentationStatus,
    method: Method,
    *,
    t: int | None = None,
    message: str = "",
) -> Augmentation:
    """Turn the incumbent into the answer."""
    return Augmentation(
        parents=incumbent.parents,
        values=incumbent.values,
        score=incumbent.score,
        bound=incumbent.bound,
        status=status,
        method=method,
        t=t,
        seconds=incumbent.seconds,
        nodes=incumbent.nodes,
        trace=tuple(incumbent.trace),
        message=message,
    )


def mode_completion(dataset: Dataset) -> NDArray[np.int64]:
    """Fill each cell with the most frequent observed state of its variable; ties to the first."""
    weights = np.ones(dataset.n_rows) if dataset.weights is None else dataset.weights
    modes = np.zeros(dataset.n_variables, np.int64)
    for variable, r in enumerate(dataset.cardinalities):
        seen = dataset.codes[:, variable] >= 0
        counts = np.bincount(dataset.codes[seen, variable], weights=weights[seen], minlength=int(r))
        modes[variable] = int(counts.argmax())
    return modes[dataset.missing_cells[:, 1]]


def alternate(task: Task, incumbent: Incumbent, values: NDArray[np.int64]) -> Pair:
    """Alternate the best DAG for the completion and single cells for the DAG until both stay."""
    pair: Pair | None = None
    while True:
        result = best_network(task, incumbent, values, pair)
        assert result.parents is not None
        settled = settle(task.dataset, values, result.parents, task.score)
        score = total_score(task.dataset.complete(settled), result.parents, task.score)
        found = Pair(result.parents, settled, score)
        incumbent.offer(found.parents, found.values, found.score)
        if result.status != "optimal":
            raise LimitReachedError("interrupted" if result.status == "interrupted" else "feasible")
        if np.array_equal(settled, values) or (pair is not None and not found.beats(pair.score)):
            return found
        values, pair = settled, found


def best_network(
    task: Task, incumbent: Incumbent, values: NDArray[np.int64], pair: Pair | None
) -> Result:
    """Learn the best DAG for a completion."""
    rules = task.rules
    problem = candidate_parent_sets(
        task.dataset.complete(values),
        task.score,
        max_parents=rules.max_parents,
        required=rules.required,
        forbidden=rules.forbidden,
    )
    result = solve(
        problem,
        solver=task.solver,
        time_limit=incumbent.remaining,
        seed=task.seed,
        on_event=_ticker(incumbent),
    )
    incumbent.nodes += result.nodes
    if result.parents is None:
        raise InfeasibleError(result.message or "no network satisfies the constraints")
    return result


def best_neighbour(
    pair: Pair | Augmentation,
    dataset: Dataset,
    score: Score,
    rules: FamilyRules,
    t: int,
    *,
    solver: str = "auto",
    seed: int = 0,
    incumbent: Incumbent | None = None,
) -> Augmentation:
    """Return the best pair within distance ``t`` of a completion, proven if the time allows.

    The neighbourhood holds at least all completions within distance ``t``; it holds more where no
    single family sees the difference (the transformation restricts each family by itself).
    """
    assert pair.parents is not None
    incumbent = Incumbent() if incumbent is None else incumbent
    task = Task(dataset, score, rules, solver, seed)
    if solver == "dynamic":
        return _best_by_enumeration(pair, task, incumbent, t)
    require_enumerable(dataset, t, rules.max_parents)
    columns = completions_within(dataset, pair.values, t)
    problem = completion_problem(dataset, columns, score, rules)
    result = solve(
        problem,
        solver=solver,
        time_limit=incumbent.remaining,
        start=Result(
            parents=pair.parents,
            score=pair.score,
            bound=np.inf,
            status="feasible",
            solver="start",
            values=(0,) * dataset.n_variables,
        ),
        seed=seed,
        on_event=_ticker(incumbent),
    )
    incumbent.nodes += result.nodes
    assert result.parents is not None
    cells = dataset.missing_cells
    values = columns.fill(result.values)[cells[:, 0], cells[:, 1]]
    total = total_score(dataset.complete(values), result.parents, score)
    return Augmentation(
        parents=result.parents,
        values=values,
        score=total,
        bound=result.bound,
        status=result.status,
        method="t-local",
        t=t,
        message=result.message,
    )


def _climb(task: Task, incumbent: Incumbent, values: NDArray[np.int64], t: int) -> None:
    if incumbent.out_of_time:
        raise LimitReachedError("feasible")
    pair = alternate(task, incumbent, values)
    while len(task.dataset.missing_cells):
        best = best_neighbour(
            pair, task.dataset, task.score, task.rules, t,
            solver=task.solver, seed=task.seed, incumbent=incumbent,
        )  # fmt: skip
        assert best.parents is not None
        found = Pair(best.parents, best.values, best.score)
        incumbent.offer(found.parents, found.values, found.score)
        if best.status != "optimal":
            raise LimitReachedError(best.status)
        if not found.beats(pair.score):
            return
        pair = alternate(task, incumbent, found.values)


def _best_by_enumeration(
    pair: Pair | Augmentation, task: Task, incumbent: Incumbent, t: int
) -> Augmentation:
    assert pair.parents is not None
    best = Pair(pair.parents, pair.values, pair.score)
    for values in _ball(task.dataset, pair.values, t):
        result = best_network(task, incumbent, values, None)
        assert result.parents is not None
        score = total_score(task.dataset.complete(values), result.parents, task.score)
        if score > best.score:
            best = Pair(result.parents, values, score)
        if result.status != "optimal":
            raise LimitReachedError("interrupted" if result.status == "interrupted" else "feasible")
    return Augmentation(
        parents=best.parents, values=best.values, score=best.score, bound=best.score,
        status="optimal", method="t-local", t=t,
    )  # fmt: skip


def _ball(dataset: Dataset, values: NDArray[np.int64], t: int) -> Iterator[NDArray[np.int64]]:
    states = dataset.cardinalities[dataset.missing_cells[:, 1]]
    counts = np.zeros(t + 1)
    counts[0] = 1.0
    for r in states:
        counts[1:] += counts[:-1] * (r - 1)
    if counts.sum() > MAX_NEIGHBOURS:
        raise TooLargeError(
            f"{counts.sum():.3g} completions lie within distance {t}, and solver 'dynamic' must "
            f"solve each by itself (limit {MAX_NEIGHBOURS:,}); use solver 'scip' or a smaller t"
        )
    for e in range(1, min(t, len(values)) + 1):
        for cells in combinations(range(len(values)), e):
            for change in product(
                *([v for v in range(states[c]) if v != values[c]] for c in cells)
            ):
                neighbour = values.copy()
                neighbour[list(cells)] = change
                yield neighbour


def starting_completions(
    task: Task, starts: int, first: NDArray[np.int64] | None = None
) -> Iterator[NDArray[np.int64]]:
    """Yield the mode completion (or the one given) and then random ones."""
    dataset = task.dataset
    yield mode_completion(dataset) if first is None else first
    rng = np.random.default_rng(task.seed)
    states = dataset.cardinalities[dataset.missing_cells[:, 1]]
    for _ in range(starts - 1 if len(states) else 0):
        yield rng.integers(states)


def _ticker(incumbent: Incumbent) -> OnEvent:
    def tick(event: Event) -> None:
        incumbent.tick(event.nodes)

    return tick
