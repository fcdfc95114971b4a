"""The restricted master problem, a linear program whose duals are the best Lagrange multipliers.

Columns are families with their local completions, and ``z[c, v]`` for each missing cell and state.
Links keep the families of one variable whose local completions have state v in cell c below
``z[c, v]``; where a solution violates them, sink links do so for all families that are the sink of
a set of variables with the column of c in it: a DAG has at most one. Cluster inequalities keep the
selection acyclic.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.augmentation.branch_and_bound.multipliers import (
    CellMultipliers,
    MissingCells,
    SinkTerms,
    columns_of,
    set_members,
    sink_sets,
)
from exactlearn.augmentation.branch_and_bound.node_relaxation import (
    IncompleteFamilies,
    LocalCompletion,
    NodeRelaxation,
)
from exactlearn.solvers.lp.clusters import Counted, Support
from exactlearn.solvers.lp.linear_program import LinearProgram
from exactlearn.solvers.lp.multipliers import Multipliers
from exactlearn.solvers.lp.separation import counted_clusters, violated_clusters
from exactlearn.solvers.parameters import SeparationParameters

Link = tuple[int, int, int]
"""A variable, or a set of others, a missing cell and a state."""


@dataclass(frozen=True, eq=False)
class Solved:
    """An optimum of the restricted master problem.

    Parameters
    ----------
    optimum
        The objective.
    values
        Duals of the variables, shape (n,).
    cell_multipliers
        Duals of the links.
    multipliers
        Duals of the clusters.
    shares
        Share of each state of each missing cell, shape (cells, states).
    chosen
        Value of each local completion, shape (completions,).
    support
        The families chosen in part.
    """

    optimum: float
    values: NDArray[np.float64]
    cell_multipliers: CellMultipliers
    multipliers: Multipliers
    shares: NDArray[np.float64]
    chosen: NDArray[np.float64]
    support: Support


class RestrictedMaster:
    """The linear program over the local completions so far.

    Parameters
    ----------
    families
        All families.
    cells
        The missing cells.
    network, values
        Families, one for each variable and without a cycle, and states of all missing cells:
        together they are a solution at every node, when the node's fixed states take the place of
        theirs.
    """

    def __init__(
        self,
        families: IncompleteFamilies,
        cells: MissingCells,
        network: Sequence[int],
        values: NDArray[np.int64],
    ) -> None:
        self.network = network
        self.values = values
        self.families = families
        self._cells = cells
        self.states, self.variables = cells.states, cells.variables
        self._shape = cells.multipliers.child.shape
        self.clusters = Counted.none(families.n_variables)
        n, h = families.n_variables, len(self.states)
        self._lp = LinearProgram()
        self._lp.add_rows(np.ones(n), np.ones(n), np.zeros(n + 1, np.int64), _NO_ITEMS)
        # the complement of z: one less than the states of a missing cell are not its state
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
        self._others = set_members(n)
        self._sink_rows: dict[Link, int] = {}
        self._linked: defaultdict[Link, list[int]] = defaultdict(list)
        self._cluster_rows: list[int] = []
        self._completions: list[LocalCompletion] = []
        self._known: set[tuple[int, bytes]] = set()

    def take(self, keep: NDArray[np.bool_], families: IncompleteFamilies) -> "RestrictedMaster":
        """Return the restricted master of some of the families, the network's among them.

        Parameters
        ----------
        keep
            Which families, shape (m,).
        families
            These families.
        """
        number = np.cumsum(keep) - 1
        taken = RestrictedMaster(
            families, self._cells, number[list(self.network)].tolist(), self.values
        )
        for completion in self._completions:
            if keep[completion.number]:
                taken.add(completion._replace(number=int(number[completion.number])))
        for link in self._sink_rows:
            taken._add_sink(link)
        taken.add_clusters(self.clusters)
        return taken

    def add(self, completion: LocalCompletion) -> bool:
        """Add a local completion as a column; return whether it is new."""
        key = completion.number, completion.states.tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        child = int(self.families.child[completion.number])
        rows = [child, *self._links_of(child, completion)]
        if self._sink_rows:
            links = zip(*(part.tolist() for part in self.sink_terms(completion)), strict=True)
            rows += [self._sink_rows[link] for link in links if link in self._sink_rows]
        met = np.flatnonzero(self.met(np.array([completion.number]))[:, 0])
        items = np.array([*rows, *(self._cluster_rows[k] for k in met)], np.int64)
        self._lp.add_columns(np.array([completion.score]), np.array([0, len(items)]), items)
        for state in zip(completion.cells.tolist(), completion.states.tolist(), strict=True):
            self._linked[child, *state].append(len(self._completions))
        self._completions.append(completion)
        return True

    def reduced_cost(self, completion: LocalCompletion, solved: Solved) -> float:
        """Return the reduced cost of a local completion."""
        child = self.families.child[completion.number]
        multipliers = float(
            solved.cell_multipliers.child[child, completion.cells, completion.states].sum()
        )
        multipliers += float(solved.cell_multipliers.sink[tuple(self.sink_terms(completion))].sum())
        met = self.met(np.array([completion.number]))[: len(solved.multipliers.values), 0]
        reward = float(solved.multipliers.values @ met)
        return completion.score - multipliers + reward - float(solved.values[child])

    def violated(self, support: Support) -> Counted:
        """Return clusters that a solution violates."""
        n, most = self.families.n_variables, self.families.tuning.most_clusters
        plain = violated_clusters(support, n, most)
        if len(plain) >= SeparationParameters.few:
            return Counted.of(plain)
        return Counted.join(Counted.of(plain), counted_clusters(support, n, most))

    def met(self, number: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which clusters some families satisfy, shape (clusters, families)."""
        clusters, has = self.clusters.clusters, self.families.has[number]
        inside = clusters[:, self.families.child[number]]
        parents = clusters.astype(np.int64) @ has.T - inside
        met: NDArray[np.bool_] = inside & (parents < self.clusters.counts[:, None])
        return met

    def sink_terms(self, completion: LocalCompletion) -> SinkTerms:
        """Return the sets that a local completion is the sink of, for each of its cells."""
        families, cells, states = self.families, completion.cells, completion.states
        members = families.members[completion.number]
        columns = columns_of(families.child[completion.number], members)
        place = np.argmax(columns == self.variables[cells][:, None], axis=1)
        sets = sink_sets(self._cells.sets, columns)[place]
        which, at = np.nonzero(sets >= 0)
        return SinkTerms(sets[which, at], cells[which], states[which])

    def add_sink_links(self, solved: Solved) -> int:
        """Add the sink links that a solution violates most; return their number."""
        tuning = self.families.tuning
        mass = np.zeros((len(self._others), *solved.shares.shape))
        for k in np.flatnonzero(solved.chosen > tuning.least_violation).tolist():
            mass[tuple(self.sink_terms(self._completions[k]))] += solved.chosen[k]
        excess = mass - solved.shares
        excess[tuple(np.array(list(self._sink_rows), np.int64).reshape(-1, 3).T)] = 0.0
        worst = np.argsort(-excess, axis=None, kind="stable")[: tuning.most_sinks]
        worst = worst[excess.flat[worst] > tuning.least_violation]
        for s, cell, state in np.transpose(np.unravel_index(worst, excess.shape)).tolist():
            self._add_sink((s, cell, state))
        return len(worst)

    def _add_sink(self, link: Link) -> None:
        """Keep local completions of the sinks of a set below the missing cell's state."""
        others, cell, state = link
        members = self._others[others].copy()
        members[self.variables[cell]] = True
        column = int(self._state_first[cell] + state)
        items = [column]
        for child in np.flatnonzero(members).tolist():
            for k in self._linked[child, cell, state]:
                if self.families.has[self._completions[k].number][members].all():
                    items.append(int(k + self._state_first[-1]))
        self._sink_rows[link] = self._n_rows
        self._n_rows += 1
        starts = np.array([0, len(items)])
        self._lp.add_rows(np.full(1, -np.inf), np.ones(1), starts, np.array(items, np.int64))

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
        return np.array([completion.number for completion in self._completions], np.int64)

    def restrict(self, relaxation: NodeRelaxation) -> None:
        """Allow the local completions that a node allows; the network's own may be missing."""
        filled = relaxation.cells.filled
        cell = np.repeat(np.arange(len(self.states)), self.states)
        state = np.arange(len(cell)) - self._state_first[cell]
        complement = np.where(filled[cell] == state, 0.0, 1.0)
        none = np.zeros(0, np.int64)
        cells = np.concatenate([none, *(completion.cells for completion in self._completions)])
        states = np.concatenate([none, *(completion.states for completion in self._completions)])
        column = np.repeat(
            np.arange(len(self._completions)),
            [len(completion.cells) for completion in self._completions],
        )
        wrong = (filled[cells] >= 0) & (filled[cells] != states)
        allowed = np.bincount(column[wrong], minlength=len(self._completions)) == 0
        upper = np.concatenate([complement, np.where(allowed, np.inf, 0.0)])
        self._lp.bound_columns(np.arange(len(upper)), upper)
        common = np.where(filled >= 0, filled, self.values)
        for number in self.network:
            self.add(relaxation.completion_with(number, common))
            if not relaxation.families.control.goes_on():
                break

    def solve(self, control: SearchControl = UNLIMITED) -> Solved | None:
        """Return an optimum over the local completions that are allowed.

        ``None`` when the control ends the search for it.
        """
        # fewer steps than the primal simplex takes, though columns enter
        solved = self._lp.solve(dual=True, control=control)
        if solved is None:
            return None
        optimum, values, duals = solved
        n, h, most = self._shape
        cell_multipliers = CellMultipliers(
            self._duals(n, self._links, duals),
            self._duals(len(self._others), self._sink_rows, duals),
        )
        rows = np.array(self._cluster_rows, np.int64)
        weights = np.maximum(0.0, -duals[rows])
        shares = np.zeros((h, most))
        cell = np.repeat(np.arange(h), self.states)
        at = np.arange(len(cell))
        shares[cell, at - self._state_first[cell]] = 1.0 - values[at]
        chosen = np.bincount(self._numbers, values[len(cell) :], len(self.families))
        return Solved(
            optimum,
            duals[:n],
            cell_multipliers,
            Multipliers(self.clusters.clusters, weights, self.clusters.counts),
            shares,
            values[len(cell) :],
            self.families.support(np.where(chosen > 1e-7, chosen, 0.0)),
        )

    def _duals(
        self, payers: int, links: dict[Link, int], duals: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the duals of links, shape (payers, missing cells, states)."""
        cell_multipliers = np.zeros((payers, *self._shape[1:]))
        if links:
            at = tuple(np.array(list(links), np.int64).T)
            cell_multipliers[at] = np.maximum(0.0, duals[list(links.values())])
        return cell_multipliers

    def _links_of(self, child: int, completion: LocalCompletion) -> list[int]:
        """Return the rows that keep a child's local completions below the missing cells' states.

        Those that are new are added together: each addition copies the whole program.
        """
        rows, columns = [], []
        for cell, state in zip(completion.cells.tolist(), completion.states.tolist(), strict=True):
            row = self._links.setdefault((child, cell, state), self._n_rows)
            if row == self._n_rows:
                self._n_rows += 1
                columns.append(int(self._state_first[cell] + state))
            rows.append(row)
        k = len(columns)
        new = np.array(columns, np.int64)
        self._lp.add_rows(np.full(k, -np.inf), np.ones(k), np.arange(k + 1), new)
        return rows


_NO_ITEMS = np.zeros(0, np.int64)
