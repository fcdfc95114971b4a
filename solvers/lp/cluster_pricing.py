"""Multipliers of clusters for a whole problem, and the price of an arc that goes with them.

The multipliers come from the linear relaxation over the candidates that could be optimal. They
bound any selection of any candidates (:mod:`exactlearn.solvers.lp.multipliers`).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..components import split
from ..problem import Problem
from ..progress import Pause, no_pause
from ..result import ROUNDING
from .multipliers import Multipliers
from .root import solve_root

MOST_STEPS = 30
"""Prices that are tried."""

WIDER = 4.0
"""Factor between two prices while none leads across the limit."""


class Point(NamedTuple):
    """Score and number of arcs of a network."""

    score: float
    arcs: int


BestAt = Callable[[float], Point]


def cluster_multipliers(
    problem: Problem, pause: Pause = no_pause, enough: float = -np.inf
) -> Multipliers:
    """Return the multipliers of the linear relaxation of a problem without constraints.

    Parameters
    ----------
    problem
        The problem; its choices are left out of account.
    pause
        Called now and then, and what it raises passes through.
    enough
        Stop when the bound is at most this.
    """
    problem = problem.without_literals()
    if not problem.is_feasible:
        return Multipliers.none(problem.n_variables)
    found = [Multipliers.none(problem.n_variables)]
    components = split(problem)
    bound = sum(component.relaxation for component in components)
    for component in components:
        if component.n_variables == 1:
            continue
        others = bound - component.relaxation
        root = solve_root(component, enough=enough - others, pause=pause)
        bound = others + root.bound
        found.append(root.multipliers.widened(component.variables, problem.n_variables))
    return Multipliers(
        np.concatenate([own.clusters for own in found]),
        np.concatenate([own.values for own in found]),
        np.concatenate([own.counts for own in found]),
    )


def arc_price(
    best_at: BestAt, beyond: Point, limit: int, step: float, steepest: float = np.inf
) -> float | None:
    """Return the price per arc with the lowest bound, found by solving at few prices.

    The best networks at two prices, one on either side of the limit, are equally good at the price
    in between where their lines cross; if none is better there, that price is the best one
    (the vertex search of a concave envelope, as in Eisner and Severance 1976, "Mathematical
    techniques for efficient record segmentation in large shared databases").

    Parameters
    ----------
    best_at
        Returns score and number of arcs of the best network at a price per arc.
    beyond
        Those of the best network without a price, which has too many or too few arcs.
    limit
        The largest, or smallest, number of arcs that is allowed.
    step
        A first price to try.
    steepest
        Difference of the scores of any two networks, at most: at a higher price the number of arcs
        alone decides, so that none beyond it leads across the limit either.

    Returns
    -------
    float or None
        Negative when there are too few arcs; ``None`` when no price leads across the limit.
    """
    sign = 1 if beyond.arcs > limit else -1
    price = sign * step
    within = best_at(price)
    for _ in range(MOST_STEPS):
        if sign * (within.arcs - limit) <= 0:
            break
        if abs(price) > steepest:
            return None
        beyond, price = within, WIDER * price
        within = best_at(price)
    else:
        return None
    for _ in range(MOST_STEPS):
        price = (beyond.score - within.score) / (beyond.arcs - within.arcs)
        found = best_at(price)
        reached = beyond.score - price * beyond.arcs
        if found.score - price * found.arcs <= reached + ROUNDING * max(1.0, abs(reached)):
            break
        if sign * (found.arcs - limit) <= 0:
            within = found
        else:
            beyond = found
    return price
