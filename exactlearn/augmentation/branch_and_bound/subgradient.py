"""Prices and multipliers by subgradient steps, from which the linear programs go on.

The bound is the Lagrangian relaxation's at any prices, and families' readings at these prices are a
subgradient: a state of a hole that is read more often than it is given back becomes dearer. Steps
are scaled for each price by how its slope has varied (Adam: Kingma and Ba 2015, "Adam: a method for
stochastic optimization", Algorithm 1), as prices of rare and of frequent readings differ much.
Prices move little in each step, so that few families' bounds need renewing: with hundreds of holes,
dozens of steps cost what one linear program does. The average of late readings is nearly a solution
of the linear program: clusters that it violates enter.
"""

from collections import deque
from collections.abc import Callable
from math import inf

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.branch_and_bound.multipliers import Prices
from exactlearn.augmentation.branch_and_bound.node_relaxation import Optimism, Reading
from exactlearn.augmentation.branch_and_bound.restricted_master import Agreement
from exactlearn.solvers.lp.cluster_rewards import Meeting
from exactlearn.solvers.lp.multipliers import Multipliers

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
