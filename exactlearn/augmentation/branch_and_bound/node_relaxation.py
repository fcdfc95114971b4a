"""The relaxation of a node: upper bounds of all families, at Lagrange multipliers.

Bounds are renewed only where they matter: at other multipliers a bound still holds when the sum of
what the multipliers fell by is added to it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.branch_and_bound.family_bounds import complete_family
from exactlearn.augmentation.branch_and_bound.incomplete_families import IncompleteFamilies
from exactlearn.augmentation.branch_and_bound.multipliers import (
    CellMultipliers,
    MissingCells,
    sink_sums,
)
from exactlearn.solvers.lp.multipliers import Multipliers


class LocalCompletion(NamedTuple):
    """A family with the states of the missing cells in its columns.

    Attributes
    ----------
    number
        The family.
    cells, states
        The missing cells of its columns in increasing order, and the state of each, shapes (k,).
    score
        The family's score then.
    """

    number: int
    cells: NDArray[np.int64]
    states: NDArray[np.int64]
    score: float


class _Change(NamedTuple):
    """By how much the multipliers of columns fell, and where any changed, (owners, variables)."""

    fall: NDArray[np.float64]
    changed: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Adjusted:
    """Bounds of families with the multipliers of clusters, each child's best one being fresh.

    Parameters
    ----------
    scores
        Bound plus multipliers of each family, shape (m,).
    best
        The best of each child, shape (n,).
    total
        What they prove: no network with any completion that the node allows scores more.
    """

    scores: NDArray[np.float64]
    best: NDArray[np.float64]
    total: float


@dataclass(eq=False)
class NodeRelaxation:
    """Upper bounds of all families under the completions that a node allows.

    Parameters
    ----------
    families
        The families.
    cells
        The node's missing cells and their multipliers.
    free
        Bounds without multipliers, shape (m,).
    upper
        Bounds at the multipliers, shape (m,).
    fresh
        Which of these were computed at these multipliers for these fixed cells, shape (m,).
    most_nodes
        Nodes spent on each bound.
    """

    families: IncompleteFamilies
    cells: MissingCells
    free: NDArray[np.float64]
    upper: NDArray[np.float64]
    fresh: NDArray[np.bool_]
    most_nodes: int

    @classmethod
    def of(
        cls,
        families: IncompleteFamilies,
        cells: MissingCells,
        most_nodes: int,
        on_tops: Callable[[NDArray[np.float64]], None] | None = None,
    ) -> "NodeRelaxation":
        """Bound all families, child by child, until the search is over.

        ``on_tops`` is called after each with the best bounds so far, infinite where there is none,
        shape (n,).
        """
        free, tops = np.full(len(families), np.inf), np.full(families.n_variables, np.inf)
        for child, (begin, end) in enumerate(pairwise(families.first)):
            free[begin:end] = families.bounds(np.arange(begin, end), cells, most_nodes)
            if families.control.is_over:
                break
            tops[child] = free[begin:end].max()
            if on_tops is not None:
                on_tops(tops)
        return cls(families, cells, free, free.copy(), np.ones(len(families), np.bool_), most_nodes)

    def set_multipliers(self, cell_multipliers: CellMultipliers) -> None:
        """Replace the multipliers; bounds not renewed are raised by what they fell by."""
        old, n = self.cells.multipliers, self.families.n_variables
        child_change, sink_change = (
            self._change(old.child, cell_multipliers.child),
            self._change(old.sink, cell_multipliers.sink),
        )
        child, has = self.families.child, self.families.has
        fall = (child_change.fall[child] * has).sum(axis=1)
        fall += self.families.sum_over_parents(sink_sums(sink_change.fall, n))
        changed = (child_change.changed[child] & has).any(axis=1)
        changed |= (
            self.families.sum_over_parents(sink_sums(sink_change.changed.astype(float), n)) > 0.0
        )
        self.upper = np.minimum(self.upper + fall, self.free)
        self.fresh = self.fresh & ~changed
        self.cells = self.cells._replace(multipliers=cell_multipliers)

    def _change(self, old: NDArray[np.float64], new: NDArray[np.float64]) -> "_Change":
        """Return by how much multipliers fell, and where any changed.

        The largest fall over the states counts, added up over the missing cells of a column.
        """
        n, open_cells, variable = self.families.n_variables, self.open_cells, self.cells.variables
        fall, changed = np.zeros((n, len(old))), np.zeros((n, len(old)), np.bool_)
        largest = np.maximum(old - new, 0.0).max(axis=2)
        np.add.at(fall, variable[open_cells], largest[:, open_cells].T)
        np.logical_or.at(changed, variable[open_cells], (old != new).any(axis=2)[:, open_cells].T)
        return _Change(fall.T, changed.T)

    def fixed(self, cell: int, state: int) -> "NodeRelaxation":
        """Return the relaxation with a missing cell fixed, which drops its multipliers."""
        values = self.cells.filled
        values[cell] = state
        variable, cell_multipliers = self.cells.variables[cell], self.cells.multipliers
        child, has = self.families.child, self.families.has
        touched = has[:, variable]
        dropped = np.where(touched, cell_multipliers.child[child, cell, state], 0.0)
        charge = np.zeros((len(cell_multipliers.sink), has.shape[1]))
        charge[:, variable] = cell_multipliers.sink[:, cell, state]
        dropped += self.families.sum_over_parents(sink_sums(charge, has.shape[1]))
        return NodeRelaxation(
            self.families,
            self.cells.fill(values),
            self.free,
            self.upper + dropped,
            self.fresh & ~touched,
            self.most_nodes,
        )

    def take(self, keep: NDArray[np.bool_]) -> "NodeRelaxation":
        """Return the bounds of some families, shape (m,)."""
        return NodeRelaxation(
            self.families.take(keep),
            self.cells,
            self.free[keep],
            self.upper[keep],
            self.fresh[keep],
            self.most_nodes,
        )

    @property
    def open_cells(self) -> NDArray[np.int64]:
        """The missing cells that the node has not fixed."""
        return np.flatnonzero(self.cells.filled < 0)

    @property
    def _totals(self) -> NDArray[np.float64]:
        """Sum of the multipliers of each state of each open cell, shape (open, states)."""
        total = self.cells.multipliers.total[self.open_cells]
        total[np.arange(total.shape[1]) >= self.cells.states[self.open_cells, None]] = -np.inf
        return total

    @property
    def lagrangian_constant(self) -> float:
        """The Lagrangian constant: the sum over the open cells of their largest total."""
        return float(self._totals.max(axis=1, initial=-np.inf).sum())

    @property
    def constant_states(self) -> NDArray[np.float64]:
        """The states in the constant, ties in equal parts, shape (cells, states)."""
        total = self._totals
        most = total == total.max(axis=1, keepdims=True)
        back = np.zeros(self.cells.multipliers.total.shape)
        back[self.open_cells] = most / most.sum(axis=1, keepdims=True)
        return back

    def refresh(self, which: NDArray[np.int64]) -> None:
        """Renew some families' bounds."""
        found = self.families.bounds(which, self.cells, self.most_nodes)
        self.upper[which] = np.minimum(self.upper[which], found)
        self.fresh[which] = True

    def freshen(self, adjusted: NDArray[np.float64], children: Sequence[int], at_once: int) -> None:
        """Renew the bounds of the best families of some children, by their adjusted bounds."""
        first, stale = self.families.first, []
        for child in children:
            start, stop = first[child], first[child + 1]
            most = min(at_once, stop - start)
            top = start + np.argpartition(-adjusted[start:stop], most - 1)[:most]
            stale.append(top[~self.fresh[top]])
        self.refresh(np.concatenate(stale))

    def adjusted(
        self, multipliers: Multipliers, reward: NDArray[np.float64] | None = None
    ) -> Adjusted:
        """Return the bounds with the clusters' multipliers.

        Parameters
        ----------
        multipliers
            The clusters and multipliers.
        reward
            What each family's clusters add, shape (m,), where that is known.
        """
        if reward is None:
            reward = multipliers.adjusted_families(self.families.flat)
        while True:
            scores = self.upper + reward
            tops = self.families.best(scores)
            stale = np.flatnonzero(~self.fresh[tops])
            if not len(stale):
                best = scores[tops]
                return Adjusted(scores, best, multipliers.total_of(best) + self.lagrangian_constant)
            self.freshen(scores, stale.tolist(), self.families.tuning.at_once)

    def completion_with(self, number: int, values: NDArray[np.int64]) -> LocalCompletion:
        """Return a family's local completion with some states of all cells, shape (cells,)."""
        return replace(self, cells=self.cells.fill(values)).best_completion(number)

    def best_completion(self, number: int) -> LocalCompletion:
        """Return the local completion that maximises a family's score, fixed cells included."""
        child, members = int(self.families.child[number]), self.families.members[number]
        return LocalCompletion(
            number,
            *complete_family(
                number, child, members, self.cells, self.families.terms, self.most_nodes
            ),
        )
