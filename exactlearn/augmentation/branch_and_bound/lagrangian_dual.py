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
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.branch_and_bound.multipliers import Prices
from exactlearn.augmentation.branch_and_bound.node_relaxation import Adjusted, Optimism, Reading
from exactlearn.augmentation.branch_and_bound.restricted_master import Agreement, Solved
from exactlearn.solvers.lp.multipliers import Meeting, Multipliers
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


FIRST_STEP, LAST_STEP = 0.2, 0.003
"""Nats that a price moves at most in the first and in the last step."""

MEMORY = 20
"""Steps over which readings are averaged, and after which violated clusters are sought."""

NEGLIGIBLE = 1e-3
"""Average below which a family is taken for not chosen."""


class _Moved:
    """Multipliers of inequalities that never fall below 0, and Adam's averages of their slopes."""

    MEAN, SQUARE, DAMPING = 0.9, 0.98, 0.03

    def __init__(self, at: NDArray[np.float64]) -> None:
        self.at = at
        self._mean, self._square, self._steps = np.zeros_like(at), np.zeros_like(at), 0

    def extend(self, k: int) -> None:
        """Add ``k`` that are 0."""
        none = np.zeros(k)
        self.at, self._mean, self._square = (
            np.concatenate([old, none]) for old in (self.at, self._mean, self._square)
        )

    def move(self, slope: NDArray[np.float64], step: float | NDArray[np.float64]) -> None:
        """Move all along a slope, by about ``step`` where it is steady."""
        self._steps += 1
        self._mean += (1.0 - self.MEAN) * (slope - self._mean)
        self._square += (1.0 - self.SQUARE) * (slope**2 - self._square)
        mean = self._mean / (1.0 - self.MEAN**self._steps)
        spread = np.sqrt(self._square / (1.0 - self.SQUARE**self._steps)) + self.DAMPING
        self.at = np.maximum(0.0, self.at + step * mean / spread)


class PriceDescent:
    """Prices and multipliers on their way down.

    Parameters
    ----------
    program
        Gets the clusters that are found, and readings; its clusters are those of the multipliers.
    optimism
        The bounds of the families.
    multipliers
        Clusters with multipliers to begin with.
    """

    def __init__(self, program: Agreement, optimism: Optimism, multipliers: Multipliers) -> None:
        self._program, self._optimism = program, optimism
        prices, holes = optimism.holes.prices, optimism.holes
        self._read, self._sink = _Moved(prices.read), _Moved(prices.sink)
        self._weights = _Moved(multipliers.values)
        self._meeting = self._meet()
        self._scale = holes.weights[holes.rows][:, None]
        self._chosen = np.zeros(len(optimism.families))
        self._recent: deque[tuple[Reading, ...]] = deque(maxlen=MEMORY)
        self._best, self._best_at = inf, (prices, multipliers)

    def step(self, size: float) -> float:
        """Bound at the prices, and move them; return the best bound so far."""
        program, optimism = self._program, self._optimism
        prices = Prices(self._read.at, self._sink.at)
        clusters = program.clusters
        multipliers = Multipliers(clusters.clusters, self._weights.at, clusters.counts)
        optimism.price(prices)
        adjusted = optimism.adjusted(multipliers, self._meeting.rewards(self._weights.at))
        if adjusted.total < self._best:
            self._best, self._best_at = adjusted.total, (prices, multipliers)
        tops = optimism.families.tops(adjusted.scores)
        readings = tuple(optimism.read(number) for number in tops.tolist())
        slopes = self._slopes(readings)
        optimism.families.pause()
        self._read.move(slopes.read, size * self._scale)
        self._sink.move(slopes.sink, size * self._scale)
        self._weights.move(clusters.counts - program.met(tops).sum(axis=1), size)
        self._chosen *= 1.0 - 1.0 / MEMORY
        self._chosen[tops] += 1.0 / MEMORY
        self._recent.append(readings)
        return self._best

    def _slopes(self, readings: tuple[Reading, ...]) -> Prices:
        """Return by how much each state is read more than it is given back, as steps for prices."""
        holes, sinks = self._optimism.holes, self._program.sinks
        back = self._optimism.given_back
        read = np.zeros_like(holes.prices.read) - back
        sink = np.zeros_like(holes.prices.sink) - back
        for reading in readings:
            read[self._optimism.families.child[reading.number], reading.holes, reading.states] += 1
            sink[tuple(sinks.charges(reading))] += 1.0
        filled = holes.filled >= 0
        read[:, filled] = sink[:, filled] = 0.0
        return Prices(read, sink)

    def separate(self) -> None:
        """Let the clusters that the average of the last selections violates enter."""
        average = np.where(self._chosen > NEGLIGIBLE, self._chosen, 0.0)
        violated = self._program.violated(self._optimism.families.support(average))
        self._program.add_clusters(violated)
        self._weights.extend(len(violated))
        self._meeting = self._meet()

    def _meet(self) -> Meeting:
        clusters = self._program.clusters
        return Meeting.of(self._optimism.families.flat, clusters.clusters, clusters.counts)

    def end(self) -> Multipliers:
        """Hand the last readings to the program and the best prices to the optimism."""
        for readings in self._recent:
            for reading in readings:
                self._program.add(reading)
        prices, multipliers = self._best_at
        self._optimism.price(prices)
        return multipliers


def descend(
    program: Agreement,
    optimism: Optimism,
    multipliers: Multipliers,
    target: float,
    pause: Callable[[float], None],
    steps: int,
) -> Multipliers:
    """Find prices with a low bound, which the optimism then has; return their multipliers.

    Parameters
    ----------
    program, optimism, multipliers
        Those of :class:`PriceDescent`.
    target
        Stop when the bound is at most this.
    pause
        Called after each step with the bound so far; what it raises passes through.
    steps
        Number of steps.
    """
    descent = PriceDescent(program, optimism, multipliers)
    for k in range(steps):
        best = descent.step(FIRST_STEP * (LAST_STEP / FIRST_STEP) ** (k / steps))
        pause(best)
        if best <= target:
            break
        if k % MEMORY == MEMORY - 1:
            descent.separate()
    return descent.end()
