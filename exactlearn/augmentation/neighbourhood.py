"""The search for a better pair within Hamming distance t of a completion.

The neighbourhood is the exact method's problem restricted to the completions near the current one
(Adel and de Campos, "Approximate algorithm"). Most of it is never searched: cluster multipliers of
the current completion's linear relaxation bound every change of a cell, and what they cannot
exclude is tried change by change (t = 1) or as one problem with choices (t > 1).
"""

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.columns import Columns, at_missing, completions_within
from exactlearn.augmentation.completions import completion_problem, require_enumerable
from exactlearn.augmentation.pair import Pair
from exactlearn.augmentation.progress import Incumbent
from exactlearn.augmentation.task import LimitReachedError, Task, require_proof
from exactlearn.data import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.solvers import Problem, Result, solve
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.reduction import promising, value_bounds
from exactlearn.solvers.root import root_multipliers

MAX_NEIGHBOURS = 20_000
"""Most completions that are solved one by one where the solver knows no choices."""


def better_pair(task: Task, incumbent: Incumbent, pair: Pair, t: int) -> Pair | None:
    """Return a better pair near a pair, or ``None`` when there is provably none.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    incumbent
        The clock.
    pair
        A DAG and a completion; the DAG is optimal for the completion.
    t
        Hamming distance up to which completions are searched, at least 1. More are searched where
        no single family sees that they are farther away.

    Raises
    ------
    TooLargeError
        When there are too many completions to enumerate.
    LimitReachedError
        When the time is up first.
    """
    dataset = task.dataset
    t = min(t, len(dataset.missing_cells))
    if t == 0:
        return None
    if t > 1 and task.solver == "dynamic":
        return _first_by_enumeration(task, incumbent, pair, t)
    require_enumerable(dataset, t, task.rules.max_parents)
    columns = completions_within(dataset, pair.values, t)
    problem = completion_problem(dataset, columns, task.score, task.rules)
    multipliers = root_multipliers(task.families(pair.values))
    keep = promising(problem, multipliers, pair.target, distance=columns.distance, radius=t)
    if not keep.any():
        return None
    if t == 1:
        problem = problem.select(keep)
        return _first_single(task, incumbent, pair, columns, problem, multipliers)
    problem = problem.select(keep | (_distances(problem, columns) == 0))
    return _best_linked(task, incumbent, pair, columns, problem)


def _first_single(
    task: Task,
    incumbent: Incumbent,
    pair: Pair,
    columns: Columns,
    problem: Problem,
    multipliers: Multipliers,
) -> Pair | None:
    """Try the changes of single cells that the multipliers leave, the most promising first."""
    bounds = value_bounds(problem, multipliers, distance=columns.distance, radius=1)
    bounds[columns.distance != 1] = -np.inf
    while bounds.max() > pair.target:
        if incumbent.out_of_time:
            raise LimitReachedError("feasible")
        literal = int(bounds.argmax())
        bounds[literal] = -np.inf
        changed = _at_literal(problem, columns, literal)
        keep = promising(changed, multipliers, pair.target)
        changed = changed.select(keep)
        if not changed.is_feasible:  # what may be better has a directed cycle
            continue
        tighter = multipliers.lowered(changed, pair.target)
        if tighter.bound(changed) > pair.target:
            tighter = root_multipliers(changed, clusters=multipliers.counted, enough=pair.target)
        if tighter.bound(changed) <= pair.target:  # these may exclude other changes as well
            also = value_bounds(problem, tighter, distance=columns.distance, radius=1)
            bounds = np.minimum(bounds, also)
            continue
        result = task.solve(changed, incumbent)
        assert result.parents is not None
        if result.score > pair.target:
            options = np.zeros(problem.n_variables, np.int64)
            variable = columns.variable_of(literal)
            options[variable] = literal - columns.first[variable]
            return task.pair(result.parents, at_missing(columns.fill(options), task.dataset))
        require_proof(result)
    return None


def _at_literal(problem: Problem, columns: Columns, literal: int) -> Problem:
    """Return the families of the table with one cell changed, as a problem without choices."""
    assert problem.literal_first is not None
    held = columns.first[:-1].copy()
    held[columns.variable_of(literal)] = literal
    wrong = ~np.isin(problem.literals, held)
    owner = np.repeat(np.arange(problem.n_candidates), np.diff(problem.literal_first))
    keep = np.bincount(owner[wrong], minlength=problem.n_candidates) == 0
    return problem.select(keep).without_literals()


def _best_linked(
    task: Task,
    incumbent: Incumbent,
    pair: Pair,
    columns: Columns,
    problem: Problem,
) -> Pair | None:
    """Solve what the multipliers leave of the neighbourhood as one problem with choices."""
    start = Result(
        parents=pair.parents,
        score=pair.score,
        bound=np.inf,
        status="feasible",
        solver="start",
        values=(0,) * problem.n_variables,
    )
    result = solve(
        problem,
        solver=task.solver,
        time_limit=incumbent.remaining,
        start=start,
        seed=task.seed,
        on_event=lambda event: incumbent.tick(event.nodes),
    )
    incumbent.nodes += result.nodes
    if result.parents is not None and result.score > pair.target:
        filled = columns.fill(result.values)
        return task.pair(result.parents, at_missing(filled, task.dataset))
    require_proof(result)
    return None


def _distances(problem: Problem, columns: Columns) -> NDArray[np.float64]:
    assert problem.literal_first is not None
    owner = np.repeat(np.arange(problem.n_candidates), np.diff(problem.literal_first))
    weights = columns.distance[problem.literals].astype(np.float64)
    return np.bincount(owner, weights, problem.n_candidates).astype(np.float64)


def _first_by_enumeration(task: Task, incumbent: Incumbent, pair: Pair, t: int) -> Pair | None:
    """Solve the completions within distance t one by one."""
    for values in _ball(task.dataset, pair.values, t):
        result = task.solve(task.families(values), incumbent, pair)
        assert result.parents is not None
        found = task.pair(result.parents, values)
        if found.score > pair.target:
            return found
        require_proof(result)
    return None


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
    for e in range(1, t + 1):
        for cells in combinations(range(len(values)), e):
            others = [[v for v in range(states[c]) if v != values[c]] for c in cells]
            for change in product(*others):
                neighbour = values.copy()
                neighbour[list(cells)] = change
                yield neighbour
