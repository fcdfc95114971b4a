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

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.executors import in_order, n_threads
from exactlearn.augmentation.families import Families, FamilyTerms
from exactlearn.augmentation.family_bounds import WORK, best_placement, bound_families
from exactlearn.augmentation.incomplete_rows import MissingCells, family_charges
from exactlearn.augmentation.task import Task
from exactlearn.errors import TooLargeError
from exactlearn.scoring.candidates import n_families
from exactlearn.solvers.multipliers import Multipliers

# Most families that are bounded.
MAX_FAMILIES = 5_000_000

# Nodes spent on a family's bound: on all families once, then where it matters.
FIRST_NODE_BUDGET = 20
NODE_BUDGET = 8_000
# Families of a child that are bounded anew together with its best.
AT_ONCE = 8
# Least families that are worth threads, and the most that one bounds at a time.
SHARED = 16
PIECE = 1024
# Cells that one thread looks at, at most, before the time limit is looked at again, about.
BLOCK = 2**22


def require_few_families(n: int, max_parents: int) -> None:
    """Raise where there are more families than can be listed.

    Raises
    ------
    TooLargeError
        When ``n`` variables have more than ``MAX_FAMILIES``.
    """
    total = n_families(n, max_parents)
    if total > MAX_FAMILIES:
        raise TooLargeError(
            f"{n} variables have {total:,} families of up to {max_parents} parents, and the limit "
            f"is {MAX_FAMILIES:,}; allow fewer parents, or use the method 't-local'"
        )


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


class Adjusted(NamedTuple):
    """Bounds of families with the multipliers of clusters, each child's best one being fresh.

    Attributes
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
    families, terms
        The families, and what their scores are made of.
    cells
        The node's missing cells and their multipliers.
    free
        Bounds without multipliers, shape (m,).
    upper
        Bounds at the multipliers of open cells, shape (m,).
    fresh
        Which of these were computed at these multipliers for these fixed cells, shape (m,).
    control
        When its search is over, families are left without a bound.
    """

    families: Families
    terms: FamilyTerms
    cells: MissingCells
    free: NDArray[np.float64]
    upper: NDArray[np.float64]
    fresh: NDArray[np.bool_]
    control: SearchControl = UNLIMITED

    @classmethod
    def of(
        cls,
        task: Task,
        control: SearchControl = UNLIMITED,
        on_bounds: Callable[[NDArray[np.float64]], None] = lambda best: None,
    ) -> "NodeRelaxation":
        """Bound all families that the rules allow, child by child, until the search is over.

        ``on_bounds`` is called after each with the best bounds so far, shape (n,), infinite where
        there is none.
        """
        families = Families.allowed(task.dataset.names, task.rules)
        terms = FamilyTerms.of(families, task.tables, task.dataset.cardinalities)
        free = np.full(len(families), np.inf)
        best = np.full(families.n_variables, np.inf)
        stale = np.zeros(len(families), np.bool_)
        node = cls(
            families, terms, MissingCells.of(task.dataset), free, free, stale, control
        )
        for child, (begin, end) in enumerate(pairwise(families.first)):
            free[begin:end] = node.bounds(np.arange(begin, end), FIRST_NODE_BUDGET)
            if control.is_over:
                break
            best[child] = free[begin:end].max()
            on_bounds(best)
        return replace(node, upper=free.copy())

    def bounds(self, which: NDArray[np.int64], max_nodes: int) -> NDArray[np.float64]:
        """Bound the scores of some families, less their open cells' multipliers, shape (which,).

        Where the search is over, the bounds that are left are infinite.
        """
        cells = self.cells
        terms = self.terms
        # cells that one family looks at, at most
        n_missing = len(cells.rows)
        states = int(cells.cardinalities.max(initial=1))
        looks = len(cells.weights) * terms.columns.shape[1] + n_missing * states**2
        looks += min(WORK, n_missing * states) * max_nodes
        # pieces that are short beside the time limit, and enough for all threads
        threads = n_threads(None) if len(which) >= SHARED else 1
        size = max(1, min(PIECE, BLOCK // looks, len(which) // (2 * threads)))
        pieces = [which[begin : begin + size] for begin in range(0, len(which), size)]
        bounds = np.full(len(which), np.inf)

        def bound(piece: int, _: None) -> NDArray[np.float64]:
            return bound_families(pieces[piece], cells, terms, max_nodes)

        for k, bounded in enumerate(
            in_order(bound, len(pieces), lambda: None, threads)
        ):
            bounds[k * size : (k + 1) * size] = bounded
            if not self.control.goes_on():
                break
        return bounds

    def set_multipliers(self, multipliers: NDArray[np.float64]) -> None:
        """Replace the multipliers; bounds not renewed are raised by what they fell by.

        The largest fall over the states counts, added up over the open cells of a column.
        """
        old = self.cells.multipliers
        is_open = self.cells.filled < 0
        falls = np.maximum(old - multipliers, 0.0).max(axis=2, initial=0.0)
        changes = (old != multipliers).any(axis=2)
        self.upper = np.minimum(self.upper + self._charges(falls * is_open), self.free)
        self.fresh = self.fresh & (self._charges(changes * is_open) == 0.0)
        self.cells = self.cells._replace(multipliers=multipliers)

    def _charges(self, of_cells: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of each family's charges over the missing cells of its columns, (m,).

        Charges of payers are given for each cell, shape (payers, cells).
        """
        charges = of_cells @ np.eye(self.families.n_variables)[self.cells.variables]
        return family_charges(self.terms, self.cells.payers, charges)

    def fixed(self, cell: int, state: int) -> "NodeRelaxation":
        """Return the relaxation with a missing cell fixed, its multipliers as they are."""
        values = self.cells.filled
        values[cell] = state
        is_fixed = np.arange(len(values)) == cell
        charges = self._charges(self.cells.multipliers[:, :, state] * is_fixed)
        return replace(
            self,
            cells=self.cells.fill(values),
            upper=self.upper + charges,
            fresh=self.fresh & ~self.families.has[:, self.cells.variables[cell]],
        )

    def take(self, keep: NDArray[np.bool_]) -> "NodeRelaxation":
        """Return the bounds of some families, shape (m,)."""
        return replace(
            self,
            families=self.families.take(keep),
            terms=self.terms.take(keep),
            free=self.free[keep],
            upper=self.upper[keep],
            fresh=self.fresh[keep],
        )

    @property
    def open_cells(self) -> NDArray[np.int64]:
        """The missing cells that the node has not fixed."""
        return np.flatnonzero(self.cells.filled < 0)

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """Which states the node allows each missing cell, shape (cells, states)."""
        filled = self.cells.filled[:, None]
        state = np.arange(self.cells.multipliers.shape[2])
        return np.where(filled < 0, state < self.cells.states[:, None], state == filled)

    @property
    def _totals(self) -> NDArray[np.float64]:
        """Sum of the multipliers of each state allowed, else -inf, shape (cells, states)."""
        return np.where(self.allowed, self.cells.multipliers.sum(axis=0), -np.inf)

    @property
    def fixed_multipliers(self) -> NDArray[np.float64]:
        """The multipliers of fixed cells' states, 0 for open cells, shape (payers, cells)."""
        filled = self.cells.filled
        multipliers: NDArray[np.float64] = self.cells.multipliers[
            :, np.arange(len(filled)), filled
        ]
        return multipliers * (filled >= 0)

    @property
    def lagrangian_constant(self) -> float:
        """The Lagrangian constant: the sum over the open cells of their largest total."""
        largest = self._totals.max(axis=1, initial=-np.inf)
        return float(largest[self.cells.filled < 0].sum())

    def state_bounds(self, bound: float) -> NDArray[np.float64]:
        """Return the bound on solutions with each state of each missing cell.

        ``bound`` is what the multipliers prove of all solutions (theorem *Fixing cells*), which no
        state has that the node does not allow. Shape (cells, states).
        """
        total = self._totals
        lead: NDArray[np.float64] = total.max(axis=1, keepdims=True) - total
        return bound - lead

    @property
    def constant_states(self) -> NDArray[np.float64]:
        """The states in the constant, ties in equal parts, shape (cells, states)."""
        is_largest = self._totals == self._totals.max(axis=1, keepdims=True)
        ties = is_largest.sum(axis=1, keepdims=True)
        proportions: NDArray[np.float64] = is_largest / ties
        return proportions

    def refresh(self, which: NDArray[np.int64]) -> None:
        """Renew some families' bounds."""
        self.upper[which] = np.minimum(
            self.upper[which], self.bounds(which, NODE_BUDGET)
        )
        self.fresh[which] = True

    def freshen(
        self, adjusted: NDArray[np.float64], children: Sequence[int], at_once: int
    ) -> None:
        """Renew the bounds of the best families of some children, by their adjusted bounds."""
        first = self.families.first
        stale = []
        for child in children:
            of_child = slice(first[child], first[child + 1])
            left = first[child] + np.flatnonzero(~self.fresh[of_child])
            # the best of those that are not fresh
            count = min(at_once, len(left))
            best = np.argpartition(-adjusted[left], count - 1)[:count]
            stale.append(left[best])
        self.refresh(np.concatenate(stale))

    def adjusted(self, multipliers: Multipliers) -> Adjusted:
        """Return the bounds with the multipliers of clusters and of fixed cells.

        With the latter a child's bound is never above its parent's (theorem *Fixing cells*).
        """
        fixed = self.fixed_multipliers
        reward = multipliers.adjusted(self.families.flat) - self._charges(fixed)
        constant = self.lagrangian_constant + float(fixed.sum())
        while True:
            scores = self.upper + reward
            numbers = self.families.best(scores)
            stale = np.flatnonzero(~self.fresh[numbers])
            if not len(stale):
                best = scores[numbers]
                return Adjusted(scores, best, multipliers.total_of(best) + constant)
            self.freshen(scores, stale.tolist(), AT_ONCE)

    def best_completion(self, number: int) -> LocalCompletion:
        """Return the local completion that maximises a family's score, fixed cells included."""
        cells = self.cells
        terms = self.terms
        placement = best_placement(number, cells, terms, NODE_BUDGET, True)
        columns = terms.columns[number, : terms.size[number]]
        codes = cells.codes[columns]
        numbers = cells.number[columns]
        shape = tuple(cells.cardinalities[columns].tolist())
        codes[:, placement.rows] = np.unravel_index(placement.cells, shape, order="F")
        missing = numbers[numbers >= 0]
        states = codes[numbers >= 0].astype(np.int64)
        order = np.argsort(missing)
        score = placement.score + placement.charge
        return LocalCompletion(number, missing[order], states[order], score)
