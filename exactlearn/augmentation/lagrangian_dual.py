"""The Lagrangian dual: multipliers for which the families' relaxation has a low bound.

If every family had its best local completion, the sum of their scores would be far above that of
any network. The Lagrangian relaxation dualises these constraints: the families of one variable
whose local completion has state v in cell c are chosen at most ``z[c, v]`` times, and so are those
that are the sink of one set of variables (theorem *Multipliers*, docs/theory/augmentation.md).

Column generation: the best multipliers are the duals of a linear program over local completions,
which enter as they are found, with cluster inequalities for acyclicity.

Subgradient method, before it where many cells are missing: the bound holds for any multipliers, and
the families' local completions are a subgradient. Steps are scaled for each multiplier by how its
slope has varied (Adam: Kingma and Ba 2015, "Adam: a method for stochastic optimization",
Algorithm 1), as multipliers of rare and of frequent states differ much. Multipliers move little in
each step, so few families' bounds need renewing: with hundreds of missing cells, dozens of steps
cost as much as one linear program. The average of late local completions is nearly a solution of
the linear program: clusters that it violates enter.
"""

from collections import deque
from collections.abc import Callable
from itertools import chain
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.node_relaxation import (
    Adjusted,
    LocalCompletion,
    NodeRelaxation,
)
from exactlearn.augmentation.restricted_master import RestrictedMaster, Solved
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.relaxation import best_candidates

# Linear programs that are solved for one node.
MAX_ROUNDS = 200
# Rounds in which such a share of the gap must be closed, at the root and elsewhere.
ROOT_STALL_LIMIT = 60
STALL_LIMIT = 10
LEAST_GAIN = 0.1
# Local completions of each child that enter between two linear programs, and the reduced cost from
# which on they do.
ENTERING = 5
LEAST_REDUCED_COST = 1e-7
# Share of the gap below which the linear program's lead must be before sink links are sought.
JOINING = 0.7
# Steps of the subgradient method for each missing cell, and the nats that a multiplier moves at
# most in the first and in the last one.
STEPS = 12
FIRST_STEP = 0.2
LAST_STEP = 0.003
# Steps over which its local completions are averaged, and after which clusters are separated.
MEMORY = 20
# Decay of the averages of slopes and of their squares, and what is added to these.
MEAN = 0.9
SQUARE = 0.98
DAMPING = 0.03


class DualBound(NamedTuple):
    """A bound of the Lagrangian dual at a node.

    Attributes
    ----------
    bound
        No network with a completion that the node allows scores more.
    multipliers
        The clusters' multipliers that go with it.
    proportions
        Proportion of each state of each missing cell in the last optimum, shape (cells, states).
    """

    bound: float
    multipliers: Multipliers
    proportions: NDArray[np.float64]


def solve_dual(
    master: RestrictedMaster,
    node: NodeRelaxation,
    multipliers: Multipliers,
    target: float,
    on_bound: Callable[[float], None] = lambda bound: None,
    *,
    stall_limit: int = STALL_LIMIT,
) -> DualBound | None:
    """Find multipliers with a low bound by column generation; the relaxation then has them.

    ``None`` when the search is over first.

    Parameters
    ----------
    master
        The local completions known.
    node
        The bounds of the families at a node.
    multipliers
        Clusters with multipliers to begin with.
    target
        Stop when the bound is at most this.
    on_bound
        Called each round with the bound so far.
    stall_limit
        Rounds in which a share of the gap must be closed.
    """
    control = node.control
    master.restrict(node)
    best = node.adjusted(multipliers).total
    best_multipliers = node.cells.multipliers
    trace = [best]
    while True:
        on_bound(best)
        solved = master.solve(control) if control.goes_on() else None
        if solved is None:
            return None
        # the duals are multipliers, which give a bound
        node.set_multipliers(solved.cell_multipliers)
        adjusted = node.adjusted(solved.multipliers)
        if adjusted.total < best:
            best = adjusted.total
            best_multipliers = solved.cell_multipliers
            multipliers = solved.multipliers
        # columns of positive reduced cost, violated clusters and, where these bring little, links
        entered = _enter(master, node, adjusted, solved)
        cuts = master.separate(solved.families)
        lead = best - solved.optimum
        gap = best - target
        if lead < JOINING * gap or not entered:
            cuts += master.add_sink_links(solved)
        trace.append(best)
        is_stalled = (
            len(trace) > stall_limit and trace[-stall_limit] - best < LEAST_GAIN * gap
        )
        is_solved = not cuts and (not entered or lead < LEAST_GAIN * gap)
        if best <= target or is_solved or is_stalled or len(trace) > MAX_ROUNDS:
            break
    node.set_multipliers(best_multipliers)
    return DualBound(best, multipliers, solved.proportions)


def _enter(
    master: RestrictedMaster, node: NodeRelaxation, adjusted: Adjusted, solved: Solved
) -> bool:
    """Add the best local completions of each child that raise the optimum; return whether any."""
    entered = False
    for number in best_candidates(
        node.families.first, adjusted.scores, ENTERING
    ).tolist():
        completion = node.best_completion(number)
        if master.reduced_cost(completion, solved) > LEAST_REDUCED_COST:
            entered |= master.add(completion)
        if not node.control.goes_on():
            break
    return entered


class _Ascent:
    """Multipliers of inequalities that never fall below 0, and Adam's averages of their slopes."""

    def __init__(self, at: NDArray[np.float64]) -> None:
        self.at = at
        self._mean = np.zeros_like(at)
        self._square = np.zeros_like(at)
        self._steps = 0

    def extend(self, k: int) -> None:
        """Add ``k`` that are 0."""
        self.at = np.pad(self.at, (0, k))
        self._mean = np.pad(self._mean, (0, k))
        self._square = np.pad(self._square, (0, k))

    def move(
        self, slope: NDArray[np.float64], step: float | NDArray[np.float64]
    ) -> None:
        """Move all along a slope, by about ``step`` where it is steady."""
        self._steps += 1
        self._mean += (1.0 - MEAN) * (slope - self._mean)
        self._square += (1.0 - SQUARE) * (slope**2 - self._square)
        mean = self._mean / (1.0 - MEAN**self._steps)
        spread = np.sqrt(self._square / (1.0 - SQUARE**self._steps)) + DAMPING
        self.at = np.maximum(0.0, self.at + step * mean / spread)


def subgradient_method(
    master: RestrictedMaster,
    node: NodeRelaxation,
    multipliers: Multipliers,
    target: float,
    on_bound: Callable[[float], None],
    steps: int,
) -> Multipliers:
    """Find multipliers with a low bound by subgradient steps; the relaxation then has them.

    The steps end with the search. The master gets the clusters and the last local completions.

    Parameters
    ----------
    master
        Its clusters are those of the multipliers.
    node
        The bounds of the families where no missing cell is fixed.
    multipliers
        Clusters with multipliers to begin with.
    target
        Stop when the bound is at most this.
    on_bound
        Called after each step with the bound so far.
    steps
        Number of steps.

    Returns
    -------
    Multipliers
        Those of the clusters.
    """
    families = node.families
    control = node.control
    charges = _Ascent(node.cells.multipliers)
    weights = _Ascent(multipliers.values)
    scale = node.cells.weights[node.cells.rows][:, None]
    best = inf
    best_at = (charges.at, multipliers)
    average = np.zeros(len(families))
    recent: deque[list[LocalCompletion]] = deque(maxlen=MEMORY)
    for k in range(steps):
        # the bound of the multipliers at hand
        counts = master.clusters.counts
        multipliers = Multipliers(master.clusters.clusters, weights.at, counts)
        node.set_multipliers(charges.at)
        adjusted = node.adjusted(multipliers)
        if adjusted.total < best:
            best = adjusted.total
            best_at = (charges.at, multipliers)
        on_bound(best)
        if best <= target or not control.goes_on():
            break
        top = families.best(adjusted.scores)
        recent.append(
            [node.best_completion(i) for i in top.tolist() if control.goes_on()]
        )
        # a subgradient: completions that are charged, less the states in the constant
        slope = np.zeros_like(charges.at) - node.constant_states
        for completion in recent[-1]:
            slope[master.paid(completion)] += 1.0
        size = FIRST_STEP * (LAST_STEP / FIRST_STEP) ** (k / steps)
        charges.move(slope, size * scale)
        satisfied = master.satisfied.columns_of(top).sum(axis=1)
        weights.move(counts - satisfied, size)
        # the average of late families is nearly a solution: clusters that it violates enter
        average *= 1.0 - 1.0 / MEMORY
        average[top] += 1.0 / MEMORY
        if k % MEMORY == MEMORY - 1:
            weights.extend(master.separate(average))
    for completion in chain.from_iterable(recent):
        if control.goes_on():
            master.add(completion)
    node.set_multipliers(best_at[0])
    return best_at[1]
