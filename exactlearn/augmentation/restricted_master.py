"""The restricted master problem, a linear program whose duals are the best Lagrange multipliers.

Columns are families with their local completions, and ``1 - z[c, v]`` for each missing cell and
state. Links keep the families of one payer (:mod:`exactlearn.augmentation.incomplete_rows` says who
pays for a cell) whose local completions have state v in cell c below ``z[c, v]``: those of children
from the start, those of sinks, of which a DAG has one in a set at most, where a solution violates
them. Cluster inequalities keep the selection acyclic.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.offsets import offsets
from exactlearn.augmentation.families import Families
from exactlearn.augmentation.incomplete_rows import MissingCells, payers_of
from exactlearn.augmentation.node_relaxation import LocalCompletion, NodeRelaxation
from exactlearn.solvers.clusters import Counted, Support
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.relaxation import LinearProgram
from exactlearn.solvers.satisfied_clusters import SatisfiedClusters
from exactlearn.solvers.separation import (
    FEW_CLUSTERS,
    counted_clusters,
    violated_clusters,
)

# Clusters that a search yields, and sink links that enter, between two linear programs; and the
# least violation of a link, which is also the least value of a completion that counts towards one.
MAX_CLUSTERS = 20
MAX_SINKS = 200
LEAST_VIOLATION = 1e-3

Link = tuple[int, int, int]
"""A payer, a missing cell and a state."""


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
        Duals of the links, shape (payers, cells, states).
    multipliers
        Duals of the clusters.
    proportions
        Proportion of each state of each missing cell, shape (cells, states).
    completions
        Value of each local completion, shape (completions,).
    families
        Value of each family, shape (m,).
    """

    optimum: float
    values: NDArray[np.float64]
    cell_multipliers: NDArray[np.float64]
    multipliers: Multipliers
    proportions: NDArray[np.float64]
    completions: NDArray[np.float64]
    families: NDArray[np.float64]


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
        families: Families,
        cells: MissingCells,
        network: Sequence[int],
        values: NDArray[np.int64],
    ) -> None:
        self.families = families
        self.network = network
        self.values = values
        self._cells = cells
        n = families.n_variables
        h = len(cells.rows)
        states = cells.states
        self._n_rows = n + h
        self.clusters = Counted.none(n)
        self.satisfied = SatisfiedClusters.of(
            families.flat, self.clusters.clusters, self.clusters.counts
        )
        # one family for each variable; all states of a missing cell but one are not its state
        sides = np.concatenate([np.ones(n), states - 1.0])
        self._lp = LinearProgram()
        self._lp.add_rows(
            sides, sides, np.zeros(n + h + 1, np.int64), np.zeros(0, np.int64)
        )
        # the complement of z, a column for each of these
        self._cell = np.repeat(np.arange(h), states)
        self._state_first = offsets(states)
        self._state = np.arange(len(self._cell)) - self._state_first[self._cell]
        columns = np.arange(len(self._cell))
        self._lp.add_columns(
            np.zeros(len(columns)), np.arange(len(columns) + 1), n + self._cell
        )
        self._link_rows: dict[Link, int] = {}
        self._linked: defaultdict[Link, list[int]] = defaultdict(list)
        self._cluster_rows: list[int] = []
        self._completions: list[LocalCompletion] = []
        self._known: set[tuple[int, bytes]] = set()

    def take(self, keep: NDArray[np.bool_], families: Families) -> "RestrictedMaster":
        """Return the restricted master of the families that are kept, the network's among them.

        Parameters
        ----------
        keep
            Which families stay, shape (all families,).
        families
            Those, shape (m,).
        """
        number = np.cumsum(keep) - 1
        network = number[list(self.network)].tolist()
        taken = RestrictedMaster(families, self._cells, network, self.values)
        for completion in self._completions:
            if keep[completion.number]:
                taken.add(completion._replace(number=int(number[completion.number])))
        taken._add_links(self._link_rows)
        taken.add_clusters(self.clusters)
        return taken

    def add(self, completion: LocalCompletion) -> bool:
        """Add a local completion as a column; return whether it is new."""
        # each local completion once
        key = completion.number, completion.states.tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        child = int(self.families.child[completion.number])
        links = [*zip(*(part.tolist() for part in self.paid(completion)), strict=True)]
        rows = [
            child,
            *(self._link_rows[link] for link in links if link in self._link_rows),
        ]
        # the rows of clusters that the family satisfies
        satisfied = np.flatnonzero(self.satisfied.columns_of(completion.number))
        rows += [self._cluster_rows[k] for k in satisfied]
        items = np.array(rows, np.int64)
        self._lp.add_columns(
            np.array([completion.score]), np.array([0, len(items)]), items
        )
        for link in links:
            self._linked[link].append(len(self._cell) + len(self._completions))
        self._completions.append(completion)
        self._add_links(link for link in links if link[0] == child)
        return True

    def reduced_cost(self, completion: LocalCompletion, solved: Solved) -> float:
        """Return the reduced cost of a local completion: above 0 where it may raise the optimum."""
        charge = float(solved.cell_multipliers[self.paid(completion)].sum())
        satisfied = self.satisfied.columns_of(completion.number)
        reward = float(solved.multipliers.values @ satisfied)
        value = float(solved.values[self.families.child[completion.number]])
        return completion.score - charge + reward - value

    def paid(
        self, completion: LocalCompletion
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return payer, cell and state of each multiplier that a completion is charged, (k,)."""
        families = self.families
        cells = completion.cells
        states = completion.states
        members = families.members[completion.number].astype(np.int64)
        columns = np.append(families.child[completion.number], members[members >= 0])
        place = np.argmax(columns == self._cells.variables[cells][:, None], axis=1)
        payers = payers_of(self._cells.payers, columns)[place]
        which, at = np.nonzero(payers >= 0)
        return payers[which, at], cells[which], states[which]

    def _add_links(self, links: Iterable[Link]) -> None:
        """Keep the local completions of payers below the missing cells' states.

        Those that are new are added together: each addition copies the whole program.
        """
        new = [link for link in links if link not in self._link_rows]
        items = [[self._state_first[c] + v, *self._linked[s, c, v]] for s, c, v in new]
        self._link_rows |= zip(
            new, range(self._n_rows, self._n_rows + len(new)), strict=True
        )
        self._n_rows += len(new)
        columns = np.array([column for row in items for column in row], np.int64)
        starts = offsets([len(row) for row in items])
        self._lp.add_rows(
            np.full(len(new), -np.inf), np.ones(len(new)), starts, columns
        )

    def add_sink_links(self, solved: Solved) -> int:
        """Add the sink links that a solution violates most; return their number."""
        # by how much the completions of a payer with a state exceed the state's proportion
        mass = np.zeros(solved.cell_multipliers.shape)
        for k in np.flatnonzero(solved.completions > LEAST_VIOLATION).tolist():
            mass[self.paid(self._completions[k])] += solved.completions[k]
        excess = mass - solved.proportions
        worst = np.argsort(-excess, axis=None, kind="stable")[:MAX_SINKS]
        worst = worst[excess.flat[worst] > LEAST_VIOLATION]
        self._add_links(
            zip(
                *(x.tolist() for x in np.unravel_index(worst, excess.shape)),
                strict=True,
            )
        )
        return len(worst)

    def separate(self, values: NDArray[np.float64]) -> int:
        """Add clusters that a solution violates, by the values of all families; return how many."""
        support = Support.of(self.families.flat, values)
        n = self.families.n_variables
        violated = violated_clusters(support, n, MAX_CLUSTERS, np.random.default_rng(0))
        if len(violated) < FEW_CLUSTERS:
            violated = Counted.join(
                violated, counted_clusters(support, n, MAX_CLUSTERS)
            )
        self.add_clusters(violated)
        return len(violated)

    def add_clusters(self, clusters: Counted) -> None:
        """Add the inequalities of clusters."""
        before = len(self.clusters)
        k = len(clusters)
        self.clusters = self.clusters.append(clusters)
        added = SatisfiedClusters.of(
            self.families.flat, clusters.clusters, clusters.counts
        )
        self.satisfied = self.satisfied.append(added, before)
        row, column = np.nonzero(added.columns_of(self._numbers))
        starts = np.searchsorted(row, np.arange(k + 1)).astype(np.int64)
        lower = clusters.counts.astype(float)
        self._lp.add_rows(lower, np.full(k, np.inf), starts, column + len(self._cell))
        self._cluster_rows += range(self._n_rows, self._n_rows + k)
        self._n_rows += k

    @property
    def _numbers(self) -> NDArray[np.int64]:
        return np.array(
            [completion.number for completion in self._completions], np.int64
        )

    def restrict(self, node: NodeRelaxation) -> None:
        """Bar the local completions that contradict a node, and add those of the network."""
        # fixed cells have their state; completions that contradict them are barred
        filled = node.cells.filled
        complement = np.where(filled[self._cell] == self._state, 0.0, 1.0)
        allowed = [
            ((filled[c.cells] < 0) | (filled[c.cells] == c.states)).all()
            for c in self._completions
        ]
        upper = np.concatenate([complement, np.where(allowed, np.inf, 0.0)])
        self._lp.bound_columns(np.arange(len(upper)), upper)
        # the network's best completions, so that the program is feasible
        common = node.cells.fill(np.where(filled >= 0, filled, self.values))
        for number in self.network:
            self.add(replace(node, cells=common).best_completion(number))
            if not node.control.goes_on():
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
        shape = self._cells.multipliers.shape
        cell_multipliers = np.zeros(shape)
        proportions = np.zeros(shape[1:])
        # duals of the links are the multipliers of states, those of clusters have the other sign
        links = np.array([*self._link_rows], np.int64).reshape(-1, 3)
        cell_multipliers[tuple(links.T)] = np.maximum(
            0.0, duals[[*self._link_rows.values()]]
        )
        weights = np.maximum(0.0, -duals[np.array(self._cluster_rows, np.int64)])
        proportions[self._cell, self._state] = 1.0 - values[: len(self._cell)]
        completions = values[len(self._cell) :]
        return Solved(
            optimum,
            duals[: self.families.n_variables],
            cell_multipliers,
            Multipliers(self.clusters.clusters, weights, self.clusters.counts),
            proportions,
            completions,
            np.bincount(self._numbers, completions, len(self.families)).astype(float),
        )
