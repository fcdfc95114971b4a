"""The restricted master problem, a linear program whose duals are the best Lagrange multipliers.

Columns are families with their local completions, and ``z[c, v]`` for each missing cell and state.
Links keep the families of one variable whose local completions have state v in cell c below
``z[c, v]``; where a solution violates them, sink links do so for all families that are the sink of
a set of variables with the column of c in it: a DAG has at most one. Cluster inequalities keep the
selection acyclic.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.branch_and_bound.incomplete_families import OpenFamilies
from exactlearn.augmentation.branch_and_bound.multipliers import (
    Charges,
    Holes,
    Prices,
    charges,
    others_members,
    others_numbers,
)
from exactlearn.augmentation.branch_and_bound.node_relaxation import Optimism, Reading
from exactlearn.solvers.lp.clusters import Counted, Support
from exactlearn.solvers.lp.linear_program import LinearProgram
from exactlearn.solvers.lp.multipliers import Multipliers
from exactlearn.solvers.lp.separation import FEW, counted_clusters, violated_clusters
from exactlearn.solvers.progress import Pause, no_pause

Link = tuple[int, int, int]
"""A variable, or a set of others, a hole and a state."""

LEAST_VIOLATION = 1e-3
"""Violation from which a sink link enters."""


class SinkLinks:
    """Rows of links that keep all who are the sink of one set below the state of a hole.

    Parameters
    ----------
    families
        All families.
    variables
        The column of each hole, shape (holes,).
    """

    def __init__(self, families: OpenFamilies, variables: NDArray[np.int64]) -> None:
        self._families = families
        self._variables = variables
        self._number = others_numbers(families.n_variables)
        self._others = others_members(families.n_variables)
        self.rows: dict[Link, int] = {}

    def __len__(self) -> int:
        """Return the number of sets besides the column of a hole."""
        return len(self._others)

    def charges(self, reading: Reading) -> Charges:
        """Return the sets that a reading is the sink of."""
        members = self._families.members[reading.number]
        return charges(
            self._number,
            int(self._families.child[reading.number]),
            members[members >= 0],
            self._variables[reading.holes],
            reading.holes,
            reading.states,
        )

    def rows_of(self, reading: Reading) -> list[int]:
        """Return the rows that a reading is part of."""
        if not self.rows:
            return []
        links = zip(*(part.tolist() for part in self.charges(reading)), strict=True)
        return [self.rows[link] for link in links if link in self.rows]

    def violated(
        self,
        readings: Sequence[Reading],
        chosen: NDArray[np.float64],
        shares: NDArray[np.float64],
        most: int,
    ) -> list[Link]:
        """Return the new links that a solution violates most.

        Parameters
        ----------
        readings, chosen
            The readings and how far each is chosen, shape (readings,).
        shares
            How far each hole has each state, shape (holes, states).
        most
            Most links to return.
        """
        mass = np.zeros((len(self), *shares.shape))
        for k in np.flatnonzero(chosen > LEAST_VIOLATION).tolist():
            mass[tuple(self.charges(readings[k]))] += chosen[k]
        excess = mass - shares
        excess[tuple(np.array(list(self.rows), np.int64).reshape(-1, 3).T)] = 0.0
        worst = np.argsort(-excess, axis=None, kind="stable")[:most]
        worst = worst[excess.flat[worst] > LEAST_VIOLATION]
        s, hole, state = (part.tolist() for part in np.unravel_index(worst, excess.shape))
        return list(zip(s, hole, state, strict=True))

    def members(self, link: Link) -> NDArray[np.bool_]:
        """Return the members of a link's set, the hole's column among them, shape (n,)."""
        others, hole, _ = link
        members: NDArray[np.bool_] = self._others[others].copy()
        members[self._variables[hole]] = True
        return members

    def sinks(self, link: Link, numbers: Iterable[int], readings: Sequence[Reading]) -> list[int]:
        """Return those of some readings whose families are the sink of a link's set."""
        members = self.members(link)
        return [k for k in numbers if self._families.has[readings[k].number][members].all()]


MOST_CLUSTERS = 20
"""Clusters that enter between two linear programs."""

MOST_SINKS = 200
"""Sink links that enter between two linear programs."""


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
        Duals of the links.
    multipliers
        Duals of the clusters.
    shares
        How far each hole has each state, shape (holes, states).
    chosen
        How far each reading is chosen, shape (readings,).
    support
        The families chosen in part.
    """

    optimum: float
    values: NDArray[np.float64]
    prices: Prices
    multipliers: Multipliers
    shares: NDArray[np.float64]
    chosen: NDArray[np.float64]
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
        self._holes = holes
        self.states, self.variables = holes.states, holes.variables
        self._shape = holes.prices.read.shape
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
        self._links: dict[Link, int] = {}
        self.sinks = SinkLinks(families, self.variables)
        self._readers: defaultdict[Link, list[int]] = defaultdict(list)
        self._cluster_rows: list[int] = []
        self._readings: list[Reading] = []
        self._known: set[tuple[int, bytes]] = set()

    def take(self, keep: NDArray[np.bool_], families: OpenFamilies) -> "Agreement":
        """Return the program of some of the families, the anchor's among them.

        Parameters
        ----------
        keep
            Which families, shape (m,).
        families
            These families.
        """
        number = np.cumsum(keep) - 1
        taken = Agreement(families, self._holes, number[list(self.anchor)].tolist(), self.values)
        for reading in self._readings:
            if keep[reading.number]:
                taken.add(reading._replace(number=int(number[reading.number])))
        for link in self.sinks.rows:
            taken._add_sink(link)
        taken.add_clusters(self.clusters)
        return taken

    def add(self, reading: Reading) -> bool:
        """Add a family with what it reads; tell whether that is new."""
        key = reading.number, reading.states.tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        child = int(self.families.child[reading.number])
        reads = zip(reading.holes.tolist(), reading.states.tolist(), strict=True)
        rows = [child, *(self._link(child, *read) for read in reads), *self.sinks.rows_of(reading)]
        met = np.flatnonzero(self.met(np.array([reading.number]))[:, 0])
        items = np.array([*rows, *(self._cluster_rows[k] for k in met)], np.int64)
        self._lp.add_columns(np.array([reading.score]), np.array([0, len(items)]), items)
        for read in zip(reading.holes.tolist(), reading.states.tolist(), strict=True):
            self._readers[child, *read].append(len(self._readings))
        self._readings.append(reading)
        return True

    def gain(self, reading: Reading, solved: Solved) -> float:
        """Return the reduced cost of a reading."""
        child = self.families.child[reading.number]
        paid = float(solved.prices.read[child, reading.holes, reading.states].sum())
        paid += float(solved.prices.sink[tuple(self.sinks.charges(reading))].sum())
        met = self.met(np.array([reading.number]))[: len(solved.multipliers.values), 0]
        reward = float(solved.multipliers.values @ met)
        return reading.score - paid + reward - float(solved.values[child])

    def violated(self, support: Support) -> Counted:
        """Return clusters that a solution violates."""
        n = self.families.n_variables
        plain = violated_clusters(support, n, MOST_CLUSTERS)
        if len(plain) >= FEW:
            return Counted.of(plain)
        return Counted.join(Counted.of(plain), counted_clusters(support, n, MOST_CLUSTERS))

    def met(self, number: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which clusters some families satisfy, shape (clusters, families)."""
        clusters, has = self.clusters.clusters, self.families.has[number]
        inside = clusters[:, self.families.child[number]]
        parents = clusters.astype(np.int64) @ has.T - inside
        met: NDArray[np.bool_] = inside & (parents < self.clusters.counts[:, None])
        return met

    def join(self, solved: Solved) -> int:
        """Add the sink links that a solution violates most; return their number."""
        links = self.sinks.violated(self._readings, solved.chosen, solved.shares, MOST_SINKS)
        for link in links:
            self._add_sink(link)
        return len(links)

    def _add_sink(self, link: Link) -> None:
        """Keep those who read a hole and are the sink of a set below the hole's state."""
        _, hole, state = link
        children = np.flatnonzero(self.sinks.members(link)).tolist()
        able = (k for child in children for k in self._readers[child, hole, state])
        readers = self.sinks.sinks(link, able, self._readings)
        column = int(self._state_first[hole] + state)
        items = np.array([column, *(k + self._state_first[-1] for k in readers)], np.int64)
        self.sinks.rows[link] = self._n_rows
        self._n_rows += 1
        self._lp.add_rows(np.full(1, -np.inf), np.ones(1), np.array([0, len(items)]), items)

    def add_clusters(self, clusters: Counted) -> None:
        """Add the inequalities of clusters."""
        before, k = len(self.clusters), len(clusters)
        self.clusters = Counted(
            np.concatenate([self.clusters.clusters, clusters.clusters]),
            np.concatenate([self.clusters.counts, clusters.counts]),
        )
        row, column = np.nonzero(self.met(self._numbers)[before:])
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

    def solve(self, pause: Pause = no_pause) -> Solved:
        """Return an optimum over the readings that are allowed.

        What ``pause`` raises now and then passes through.
        """
        # fewer steps than the primal simplex takes, though columns enter
        optimum, values, duals = self._lp.solve(dual=True, pause=pause)
        n, h, most = self._shape
        prices = Prices(
            self._duals(n, self._links, duals),
            self._duals(len(self.sinks), self.sinks.rows, duals),
        )
        rows = np.array(self._cluster_rows, np.int64)
        weights = np.maximum(0.0, -duals[rows])
        shares = np.zeros((h, most))
        hole = np.repeat(np.arange(h), self.states)
        at = np.arange(len(hole))
        shares[hole, at - self._state_first[hole]] = 1.0 - values[at]
        chosen = np.bincount(self._numbers, values[len(hole) :], len(self.families))
        return Solved(
            optimum,
            duals[:n],
            prices,
            Multipliers(self.clusters.clusters, weights, self.clusters.counts),
            shares,
            values[len(hole) :],
            self.families.support(np.where(chosen > 1e-7, chosen, 0.0)),
        )

    def _duals(
        self, payers: int, links: dict[Link, int], duals: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the duals of links, shape (payers, holes, states)."""
        prices = np.zeros((payers, *self._shape[1:]))
        if links:
            at = tuple(np.array(list(links), np.int64).T)
            prices[at] = np.maximum(0.0, duals[list(links.values())])
        return prices

    def _link(self, child: int, hole: int, state: int) -> int:
        """Return the row that keeps what a child's families read below the hole's state."""
        row = self._links.get((child, hole, state))
        if row is None:
            row = self._links[child, hole, state] = self._n_rows
            self._n_rows += 1
            column = np.array([self._state_first[hole] + state], np.int64)
            self._lp.add_rows(np.full(1, -np.inf), np.ones(1), np.array([0, 1], np.int64), column)
        return row


_NO_ITEMS = np.zeros(0, np.int64)
