"""Drop the candidates and the values of choices that cannot be part of a better selection.

With multipliers (:mod:`exactlearn.solvers.multipliers`), every selection scores at most the sum of
its candidates' adjusted scores minus the multipliers' total. A value of a choice forces each
variable to a candidate that reads the value or does not read the choice; if even the best such
candidates do not beat the score known, the value is out. So is a candidate that does not beat it
together with the best candidates of all other variables.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.problem import Problem


def promising(
    problem: Problem,
    multipliers: Multipliers,
    score: float,
    *,
    distance: NDArray[np.int64] | None = None,
    radius: int = 0,
) -> NDArray[np.bool_]:
    """Tell which candidates may be part of a selection that scores more than ``score``.

    Parameters
    ----------
    problem
        A problem with choices.
    multipliers
        Any clusters with multipliers.
    score
        The score to beat.
    distance, radius
        Distance of each literal; only selections whose choices have at most ``radius`` together
        are of interest. Without them all are.

    Returns
    -------
    numpy.ndarray
        Shape (m,). All false when nothing beats the score.
    """
    assert problem.literal_first is not None
    keep = problem.allowed.copy()
    while True:
        value_bound, best, adjusted = _bound_all(problem, multipliers, keep, distance, radius)
        if not np.isfinite(best).all():
            return np.zeros(problem.n_candidates, np.bool_)
        others = best.sum() - best[problem.child]
        next_keep = keep & (adjusted + others > score)
        next_keep &= ~_reads_any(
            problem.literal_first, problem.literals, value_bound <= score, problem.n_candidates
        )
        if (next_keep == keep).all():
            return keep
        keep = next_keep


def value_bounds(
    problem: Problem,
    multipliers: Multipliers,
    *,
    distance: NDArray[np.int64] | None = None,
    radius: int = 0,
) -> NDArray[np.float64]:
    """Return, for each literal, an upper bound on the selections in which it holds.

    The parameters are those of :func:`promising`.
    """
    return _bound_all(problem, multipliers, problem.allowed, distance, radius)[0]


def _bound_all(
    problem: Problem,
    multipliers: Multipliers,
    keep: NDArray[np.bool_],
    distance: NDArray[np.int64] | None,
    radius: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the literals' bounds, each variable's best adjusted score, and the adjusted scores."""
    assert problem.literal_first is not None
    adjusted = multipliers.adjusted(problem) - multipliers.total / max(problem.n_variables, 1)
    if distance is None:
        distance = np.zeros(int(problem.options.sum()), np.int64)
    choice = np.repeat(np.arange(len(problem.options)), problem.options)
    value_bound, best = _bounds(
        problem.n_variables,
        problem.child,
        adjusted,
        keep,
        problem.literal_first,
        problem.literals,
        choice,
        distance,
        radius,
    )
    return value_bound, best, adjusted


@kernel
def _bounds(
    n: int,
    child: NDArray[np.int32],
    adjusted: NDArray[np.float64],
    keep: NDArray[np.bool_],
    literal_first: NDArray[np.int64],
    literals: NDArray[np.int32],
    choice: NDArray[np.int64],
    distance: NDArray[np.int64],
    radius: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a bound for each literal, and each variable's best adjusted score."""
    n_choices = choice[-1] + 1 if len(choice) else 0
    best = np.full(n, -np.inf)
    reading = np.full((n, len(choice)), -np.inf)
    # without[i, k, d]: variable i, candidates that do not read choice k and spend d at the most
    without = np.full((n, n_choices, radius + 1), -np.inf)
    reads = np.zeros(n_choices, np.bool_)
    for c in range(len(child)):
        if not keep[c]:
            continue
        i, score, spent = child[c], adjusted[c], 0
        best[i] = max(best[i], score)
        reads[:] = False
        for at in range(literal_first[c], literal_first[c + 1]):
            literal = literals[at]
            reading[i, literal] = max(reading[i, literal], score)
            reads[choice[literal]] = True
            spent += distance[literal]
        for k in range(n_choices):
            if not reads[k]:
                for d in range(spent, radius + 1):
                    without[i, k, d] = max(without[i, k, d], score)
    bound = np.zeros(len(choice))
    for literal in range(len(choice)):
        left = radius - distance[literal]
        for i in range(n):
            bound[literal] += max(reading[i, literal], without[i, choice[literal], left])
    return bound, best


@kernel
def _reads_any(
    literal_first: NDArray[np.int64],
    literals: NDArray[np.int32],
    wanted: NDArray[np.bool_],
    count: int,
) -> NDArray[np.bool_]:
    found = np.zeros(count, np.bool_)
    for c in range(count):
        for at in range(literal_first[c], literal_first[c + 1]):
            if wanted[literals[at]]:
                found[c] = True
    return found
