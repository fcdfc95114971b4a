"""Prices that make the families of a relaxation agree on what is in the holes.

If every family may have the completion of its columns that it likes best, what they score together
is far above any network's score. Families therefore pay for what they read, and what all prices of
one state of a hole add up to is paid back once (theorem and proof:
:mod:`exactlearn.augmentation`). This is the Lagrangian relaxation of: families of k with parent i
that read a hole c in the column of i as v, and families of i with parent k that read it so,
together at most ``z[c, v]``. The best prices are the duals of a linear program over (family,
reading) pairs, which enter as they are found (column generation), with cluster inequalities for
acyclicity.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.family_bounds import Holes
from exactlearn.augmentation.open_families import OpenFamilies
from exactlearn.augmentation.optimism import Adjusted, Optimism, Reading
from exactlearn.solvers.cluster_search import FEW, violated_clusters
from exactlearn.solvers.clusters import Counted, Support
from exactlearn.solvers.counted_search import counted_clusters
from exactlearn.solvers.linear_program import LinearProgram
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.relaxation import best_candidates

MOST_ROUNDS = 200
"""Linear programs that are solved for one node."""

ENTERING = 5
"""Readings of each child that enter between two linear programs."""

LEAST_PRICE = 1e-7
"""Reduced cost from which a reading enters."""

SMOOTHING = 0.4
"""Weight of the best prices so far where the next ones are tried: the last ones jump about."""

MOST_CLUSTERS = 20
"""Clusters that enter between two linear programs."""

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
    program: "Agreement",
    optimism: Optimism,
    multipliers: Multipliers,
    target: float,
    pause: Callable[[float], None],
    *,
    patience: int = 20,
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
        solved = program.solve()
        entered = False
        for prices in (SMOOTHING * best_prices + (1.0 - SMOOTHING) * solved.prices, solved.prices):
            optimism.price(prices)
            adjusted = optimism.adjusted(solved.multipliers)
            if adjusted.total < best:
                best, best_prices, multipliers = adjusted.total, prices, solved.multipliers
            entered = _enter(program, optimism, adjusted, solved)
            if entered:
                break
        found = program.violated(solved.support)
        program.add_clusters(found)
        trace.append(best)
        if best <= target or (not entered and not len(found)) or len(trace) > MOST_ROUNDS:
            break
        if not len(found) and best - solved.optimum < LEAST_GAIN * (best - target):
            break
        if len(trace) > patience and trace[-patience] - best < LEAST_GAIN * (best - target):
            break
    optimism.price(best_prices)
    return Agreed(best, multipliers, solved.shares)


def _enter(program: "Agreement", optimism: Optimism, adjusted: Adjusted, solved: "Solved") -> bool:
    """Let the best readings of each child enter that raise the optimum; tell whether any does."""
    entered = False
    for number in best_candidates(optimism.families.first, adjusted.scores, ENTERING).tolist():
        reading = optimism.read(number)
        if program.gain(reading, solved) > LEAST_PRICE:
            entered |= program.add(reading)
    return entered


@dataclass(frozen=True, eq=False)
class Solved:
    """An optimum of the linear program.

    Parameters
    ----------
    optimum
        The objective.
    values
        Duals of the variables, shape (n,).
    prices
        Duals of the links, shape (n, holes, states).
    multipliers
        Duals of the clusters.
    shares
        How far each hole has each state, shape (holes, states).
    support
        The families chosen in part.
    """

    optimum: float
    values: NDArray[np.float64]
    prices: NDArray[np.float64]
    multipliers: Multipliers
    shares: NDArray[np.float64]
    support: Support


class Agreement:
    """The linear program over the readings so far.

    Parameters
    ----------
    families
        All families.
    holes
        The holes.
    anchor, values
        Families, one for each variable and without a cycle, and states of all holes: together they
        are a solution at every node, when the node's own states take the place of theirs.
    """

    def __init__(
        self,
        families: OpenFamilies,
        holes: Holes,
        anchor: Sequence[int],
        values: NDArray[np.int64],
    ) -> None:
        self.anchor = anchor
        self.values = values
        self.families = families
        self.states, self.variables = holes.states, holes.variables
        self._shape = holes.prices.shape
        self.clusters = Counted.none(families.n_variables)
        n, h = families.n_variables, len(self.states)
        self._lp = LinearProgram()
        self._lp.add_rows(np.ones(n), np.ones(n), np.zeros(n + 1, np.int64), _NO_ITEMS)
        # the complement of z: one less than the states of a hole are not its state
        others = (self.states - 1).astype(np.float64)
        self._lp.add_rows(others, others, np.zeros(h + 1, np.int64), _NO_ITEMS)
        columns = int(self.states.sum())
        self._lp.add_columns(
            np.zeros(columns), np.arange(columns + 1), n + np.repeat(np.arange(h), self.states)
        )
        self._lp.bound_columns(np.arange(columns), np.ones(columns))
        self._state_first = np.concatenate([[0], np.cumsum(self.states)]).astype(np.int64)
        self._n_rows = n + h
        self._links: dict[tuple[int, int, int], int] = {}
        self._cluster_rows: list[int] = []
        self._readings: list[Reading] = []
        self._known: set[tuple[int, bytes]] = set()

    def add(self, reading: Reading) -> bool:
        """Add a family with what it reads; tell whether that is new."""
        key = reading.number, reading.states.tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        child = int(self.families.child[reading.number])
        rows = [child, *(self._link(*paid) for paid in zip(*self._paid(reading), strict=True))]
        met = np.flatnonzero(self._satisfied(np.array([reading.number]))[:, 0])
        items = np.array([*rows, *(self._cluster_rows[k] for k in met)], np.int64)
        self._lp.add_columns(np.array([reading.score]), np.array([0, len(items)]), items)
        self._readings.append(reading)
        return True

    def gain(self, reading: Reading, solved: Solved) -> float:
        """Return the reduced cost of a reading."""
        child = self.families.child[reading.number]
        payer, hole, state = self._paid(reading)
        paid = float(solved.prices[payer, hole, state].sum())
        met = self._satisfied(np.array([reading.number]))[: len(solved.multipliers.values), 0]
        reward = float(solved.multipliers.values @ met)
        return reading.score - paid + reward - float(solved.values[child])

    def _paid(self, reading: Reading) -> tuple[list[int], list[int], list[int]]:
        """Return the prices of a reading: payers, holes and states."""
        child, members = self.families.child[reading.number], self.families.members[reading.number]
        parents = members[members >= 0]
        own = self.variables[reading.holes] == child
        payer = [np.full(len(own), child), np.tile(parents, own.sum())]
        hole = [reading.holes, np.repeat(reading.holes[own], len(parents))]
        state = [reading.states, np.repeat(reading.states[own], len(parents))]
        return tuple(np.concatenate(part).tolist() for part in (payer, hole, state))

    def violated(self, support: Support) -> Counted:
        """Return clusters that a solution violates."""
        n = self.families.n_variables
        plain = violated_clusters(support, n, MOST_CLUSTERS)
        if len(plain) >= FEW:
            return Counted.of(plain)
        return Counted.join(Counted.of(plain), counted_clusters(support, n, MOST_CLUSTERS))

    def _satisfied(self, number: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which clusters some families satisfy, shape (clusters, families)."""
        clusters, has = self.clusters.clusters, self.families.has[number]
        inside = clusters[:, self.families.child[number]]
        parents = clusters.astype(np.int64) @ has.T - inside
        met: NDArray[np.bool_] = inside & (parents < self.clusters.counts[:, None])
        return met

    def add_clusters(self, clusters: Counted) -> None:
        """Add the inequalities of clusters."""
        before, k = len(self.clusters), len(clusters)
        self.clusters = Counted(
            np.concatenate([self.clusters.clusters, clusters.clusters]),
            np.concatenate([self.clusters.counts, clusters.counts]),
        )
        row, column = np.nonzero(self._satisfied(self._numbers)[before:])
        starts = np.searchsorted(row, np.arange(k + 1)).astype(np.int64)
        items = column + int(self._state_first[-1])
        self._lp.add_rows(clusters.counts.astype(float), np.full(k, np.inf), starts, items)
        self._cluster_rows += range(self._n_rows, self._n_rows + k)
        self._n_rows += k

    @property
    def _numbers(self) -> NDArray[np.int64]:
        return np.array([reading.number for reading in self._readings], np.int64)

    def restrict(self, optimism: Optimism) -> None:
        """Allow the readings that a node allows."""
        filled = optimism.holes.filled
        hole = np.repeat(np.arange(len(self.states)), self.states)
        state = np.arange(len(hole)) - self._state_first[hole]
        complement = np.where(filled[hole] == state, 0.0, 1.0)
        none = np.zeros(0, np.int64)
        holes = np.concatenate([none, *(reading.holes for reading in self._readings)])
        states = np.concatenate([none, *(reading.states for reading in self._readings)])
        column = np.repeat(
            np.arange(len(self._readings)), [len(reading.holes) for reading in self._readings]
        )
        wrong = (filled[holes] >= 0) & (filled[holes] != states)
        allowed = np.bincount(column[wrong], minlength=len(self._readings)) == 0
        upper = np.concatenate([complement, np.where(allowed, np.inf, 0.0)])
        self._lp.bound_columns(np.arange(len(upper)), upper)
        common = np.where(filled >= 0, filled, self.values)
        for number in self.anchor:
            self.add(optimism.read_as(number, common))

    def solve(self) -> Solved:
        """Return an optimum over the readings that are allowed."""
        optimum, values, duals = self._lp.solve(dual=False)
        n, h, most = self._shape
        prices = np.zeros((n, h, most))
        if self._links:
            child, hole, state = np.array(list(self._links), np.int64).T
            prices[child, hole, state] = np.maximum(0.0, duals[list(self._links.values())])
        rows = np.array(self._cluster_rows, np.int64)
        weights = np.maximum(0.0, -duals[rows])
        shares = np.zeros((h, most))
        hole = np.repeat(np.arange(h), self.states)
        at = np.arange(len(hole))
        shares[hole, at - self._state_first[hole]] = 1.0 - values[at]
        return Solved(
            optimum,
            duals[:n],
            prices,
            Multipliers(self.clusters.clusters, weights, self.clusters.counts),
            shares,
            self._support(values[len(hole) :]),
        )

    def _link(self, child: int, hole: int, state: int) -> int:
        """Return the row that keeps what a child's families read below the hole's state."""
        row = self._links.get((child, hole, state))
        if row is None:
            row = self._links[child, hole, state] = self._n_rows
            self._n_rows += 1
            column = np.array([self._state_first[hole] + state], np.int64)
            self._lp.add_rows(np.full(1, -np.inf), np.ones(1), np.array([0, 1], np.int64), column)
        return row

    def _support(self, values: NDArray[np.float64]) -> Support:
        x = np.bincount(self._numbers, values, len(self.families))
        at = np.flatnonzero(x > 1e-7)
        members = self.families.members[at]
        present = members >= 0
        first = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
        return Support(
            self.families.child[at].astype(np.int64),
            x[at].astype(np.float64),
            first,
            members[present].astype(np.int64),
        )


_NO_ITEMS = np.zeros(0, np.int64)
