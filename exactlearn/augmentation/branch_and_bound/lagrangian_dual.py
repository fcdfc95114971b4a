"""Prices that make the families of a relaxation agree on what is in the holes.

If every family may have the completion of its columns that it likes best, what they score together
is far above any network's score. Families therefore pay for what they read, and what all prices of
one state of a hole add up to is paid back once (theorem and proof:
:mod:`exactlearn.augmentation`). This is the Lagrangian relaxation of: families of one variable that
read a hole c as v at most ``z[c, v]``, and families that are the sink of one set of variables, and
read it so, at most ``z[c, v]``. The best prices are the duals of a linear program over (family,
reading) pairs, which enter as they are found (column generation), with cluster inequalities for
acyclicity.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.branch_and_bound.node_relaxation import Adjusted, Optimism
from exactlearn.augmentation.branch_and_bound.restricted_master import Agreement, Solved
from exactlearn.solvers.lp.multipliers import Multipliers
from exactlearn.solvers.lp.relaxation import best_candidates

MOST_ROUNDS = 200
"""Linear programs that are solved for one node."""

ENTERING = 5
"""Readings of each child that enter between two linear programs."""

LEAST_PRICE = 1e-7
"""Reduced cost from which a reading enters."""

SMOOTHING = 0.5
"""Most weight of the best prices so far where the next ones are tried: the last ones jump about."""

JOINING = 0.7
"""Part of the gap below which the linear program's lead must be before sink links are sought."""

LEAST_GAIN = 0.1
"""Part of the gap that is worth going on for."""


@dataclass(frozen=True, eq=False)
class Agreed:
    """What the linear program says of a node.

    Parameters
    ----------
    bound
        No network with a completion that the node allows scores more.
    multipliers
        The clusters' multipliers that go with it.
    shares
        How far each hole has each state in the last optimum, shape (holes, states).
    """

    bound: float
    multipliers: Multipliers
    shares: NDArray[np.float64]


def agree(
    program: Agreement,
    optimism: Optimism,
    multipliers: Multipliers,
    target: float,
    pause: Callable[[float], None],
    *,
    patience: int = 10,
) -> Agreed:
    """Find prices with a low bound, which the optimism then has.

    Parameters
    ----------
    program
        The readings known.
    optimism
        The bounds of the families at a node.
    multipliers
        Clusters with multipliers to begin with.
    target
        Stop when the bound is at most this.
    pause
        Called each round with the bound so far; what it raises passes through.
    patience
        Rounds in which a tenth of the gap must be closed.
    """
    program.restrict(optimism)
    best, best_prices = optimism.adjusted(multipliers).total, optimism.holes.prices
    trace = [best]
    while True:
        pause(best)
        solved = program.solve(optimism.families.pause)
        entered = False
        closed = 1.0 - min(1.0, (best - solved.optimum) / max(best - target, LEAST_PRICE))
        weight = SMOOTHING * max(0.0, closed)
        for prices in (best_prices.blend(solved.prices, weight), solved.prices):
            optimism.price(prices)
            adjusted = optimism.adjusted(solved.multipliers)
            if adjusted.total < best:
                best, best_prices, multipliers = adjusted.total, prices, solved.multipliers
            entered = _enter(program, optimism, adjusted, solved)
            if entered:
                break
        found = program.violated(solved.support)
        program.add_clusters(found)
        lead = best - solved.optimum
        joined = program.join(solved) if lead < JOINING * (best - target) or not entered else 0
        trace.append(best)
        if best <= target or not (entered or len(found) or joined) or len(trace) > MOST_ROUNDS:
            break
        if not len(found) and not joined and lead < LEAST_GAIN * (best - target):
            break
        if len(trace) > patience and trace[-patience] - best < LEAST_GAIN * (best - target):
            break
    optimism.price(best_prices)
    return Agreed(best, multipliers, solved.shares)


def _enter(program: Agreement, optimism: Optimism, adjusted: Adjusted, solved: Solved) -> bool:
    """Let the best readings of each child enter that raise the optimum; tell whether any does."""
    entered = False
    for number in best_candidates(optimism.families.first, adjusted.scores, ENTERING).tolist():
        reading = optimism.read(number)
        if program.gain(reading, solved) > LEAST_PRICE:
            entered |= program.add(reading)
    return entered
