"""Multipliers of clusters for a whole problem, and the price of an arc that goes with them.

The multipliers come from the linear relaxation over the candidates that could be optimal. They
bound any selection of any candidates (:mod:`exactlearn.solvers.multipliers`).
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.solvers.components import split
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.problem import Problem
from exactlearn.solvers.root import Pause, no_pause, solve_root

ROUNDS = 2
"""Times that price and multipliers are fitted to each other."""

HALVINGS = 50
"""Steps of the search for the best price."""

GOLDEN = (5**0.5 - 1) / 2


def no_multipliers(problem: Problem) -> Multipliers:
    """Return no clusters at all: each variable's best score is its bound."""
    return Multipliers(np.zeros((0, problem.n_variables), np.bool_), np.zeros(0))


def cluster_multipliers(problem: Problem, pause: Pause = no_pause) -> Multipliers:
    """Return the multipliers of the linear relaxation of a problem without constraints.

    ``pause`` is called now and then, and what it raises passes through.
    """
    problem = problem.without_literals()
    if not problem.is_feasible:
        return no_multipliers(problem)
    clusters, values = [no_multipliers(problem).clusters], [np.zeros(0)]
    for component in split(problem):
        if component.n_variables == 1:
            continue
        found = solve_root(component, pause=pause).multipliers
        wide = np.zeros((len(found.values), problem.n_variables), np.bool_)
        wide[:, component.variables] = found.clusters
        clusters.append(wide)
        values.append(found.values)
    return Multipliers(np.concatenate(clusters), np.concatenate(values))


def arc_price(
    problem: Problem,
    multipliers: Multipliers,
    arcs: int,
    sign: int,
    pause: Pause = no_pause,
) -> tuple[float, Multipliers]:
    """Return the price per arc with the lowest bound, and multipliers that suit it.

    Parameters
    ----------
    problem
        A problem without constraints.
    multipliers
        Those without a price.
    arcs
        Number of arcs that are allowed, or wanted.
    sign
        1 to have at most so many arcs, -1 to have at least so many; the sign of the price.
    pause
        Called now and then, and what it raises passes through.
    """
    sizes = np.diff(problem.member_first)
    price = 0.0
    for _ in range(ROUNDS):
        price = sign * _lowest(problem, multipliers.adjusted(problem), sign * sizes, sign * arcs)
        priced = replace(problem, scores=problem.scores - price * sizes)
        multipliers = cluster_multipliers(priced, pause)
    return price, multipliers


def _lowest(
    problem: Problem, adjusted: NDArray[np.float64], sizes: NDArray[np.int64], arcs: int
) -> float:
    """Return the price of at least 0 where the bound, a convex function, is lowest."""
    first = problem.first[:-1]

    def bound(price: float) -> float:
        return float(np.maximum.reduceat(adjusted - price * sizes, first).sum()) + price * arcs

    high = 1.0
    for _ in range(HALVINGS):
        if bound(2 * high) >= bound(high):
            break
        high *= 2
    low, high = 0.0, 2 * high
    for _ in range(HALVINGS):
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        if bound(a) <= bound(b):
            high = b
        else:
            low = a
    return (low + high) / 2
