"""The relaxation of a node: upper bounds of all families, at Lagrange multipliers.

Bounds are renewed only where they matter: at other multipliers a bound still holds when the sum of
what the multipliers fell by is added to it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.executors import in_order, n_threads
from exactlearn.augmentation.branch_and_bound.family_bounds import (
    WORK,
    bound_families,
    complete_family,
)
from exactlearn.augmentation.branch_and_bound.incomplete_rows import FamilyTerms
from exactlearn.augmentation.branch_and_bound.multipliers import (
    CellMultipliers,
    MissingCells,
    family_charges,
)
from exactlearn.augmentation.families import Families
from exactlearn.augmentation.task import BranchingParameters, Task
from exactlearn.errors import InfeasibleError, TooLargeError
from exactlearn.scoring.candidates import n_families
from exactlearn.scoring.incremental_tables import set_sizes
from exactlearn.solvers.lp.clusters import Support
from exactlearn.solvers.lp.multipliers import Multipliers
from exactlearn.solvers.problem import offsets

MAX_FAMILIES = 5_000_000
"""Most families that are bounded."""

LEAST_SECONDS, PIECE = 5e-4, 1024
"""Least work that is worth a thread, and the most families that one bounds at a time."""

BLOCK = 2**22
"""Cells that one thread looks at, at most, before the time limit is looked at again, about."""


@dataclass(frozen=True, eq=False)
class IncompleteFamilies(Families):
    """The families that the rules allow, children in order.

    Parameters
    ----------
    terms
        What their scores are made of.
    control
        When its search is over, families are left without a bound.
    tuning
        Tuning constants of the search.
    """

    terms: FamilyTerms
    control: SearchControl = UNLIMITED
    tuning: BranchingParameters = field(default_factory=BranchingParameters)

    @classmethod
    def of(cls, task: Task, control: SearchControl = UNLIMITED) -> "IncompleteFamilies":
        """List the families of a task whose table has weights.

        Raises
        ------
        InfeasibleError
            When the rules leave a variable without any.
        """
        names, states = task.dataset.names, task.dataset.cardinalities
        families = Families.allowed(names, task.rules)
        child, members = families.child, families.members
        if not (counts := np.diff(families.first)).all():
            raise InfeasibleError(
                f"no parent set of {names[counts.argmin()]!r} satisfies the constraints"
            )
        terms = FamilyTerms.of(task.tables, set_sizes(states, members), states[child])
        return cls(names, child, members, terms, control, task.branching)

    def take(self, keep: NDArray[np.bool_]) -> "IncompleteFamilies":
        """Return some of the families, shape (m,); every child must keep one."""
        child, members = self.child[keep], self.members[keep]
        return replace(self, child=child, members=members, terms=self.terms.take(keep))

    def support(self, chosen: NDArray[np.float64]) -> Support:
        """Return the families that are chosen in part, ``chosen`` having shape (m,)."""
        at = np.flatnonzero(chosen)
        members = self.members[at]
        present = members >= 0
        return Support(
            self.child[at].astype(np.int64),
            chosen[at],
            offsets(present.sum(axis=1)),
            members[present].astype(np.int64),
        )

    def bounds(
        self, which: NDArray[np.int64], cells: MissingCells, most_nodes: int
    ) -> NDArray[np.float64]:
        """Bound the scores of some families, less their multipliers, shape (which,).

        Where the search is over, the bounds that are left are infinite.
        """

        def bound(own: NDArray[np.int64]) -> NDArray[np.float64]:
            return bound_families(own, self.child, self.members, cells, self.terms, most_nodes)

        found, threads, started = np.full(len(which), np.inf), n_threads(None), perf_counter()
        found[:1] = bound(which[:1])
        least = int(LEAST_SECONDS / (perf_counter() - started)) + 1
        rest = which[1:]
        size = max(least, min(PIECE, -(-len(rest) // (2 * threads))))
        size = max(1, min(size, BLOCK // self._looks(cells, most_nodes)))

        def work(piece: int, _: None) -> NDArray[np.float64]:
            return bound(rest[piece * size : (piece + 1) * size])

        pieces = in_order(work, -(-len(rest) // size), lambda: None, threads)
        for piece, bounds in enumerate(pieces):
            found[1:][piece * size : (piece + 1) * size] = bounds
            if not self.control.goes_on():
                break
        return found

    def _looks(self, cells: MissingCells, most_nodes: int) -> int:
        """Return an upper estimate of the cells that the bound of a family looks at."""
        rows, width = len(cells.weights), self.members.shape[1] + 1
        most = int(cells.cardinalities.max(initial=1))
        searched = min(WORK, len(cells.rows) * most) * most_nodes
        return int(rows * width + len(cells.rows) * most**2 + searched)


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
        on_bounds: Callable[[NDArray[np.float64]], None] | None = None,
    ) -> "NodeRelaxation":
        """Bound all families, child by child, until the search is over.

        ``on_bounds`` is called after each with the best bounds so far, shape (n,), infinite where
        there is none.
        """
        free, best = np.full(len(families), np.inf), np.full(families.n_variables, np.inf)
        for child, (begin, end) in enumerate(pairwise(families.first)):
            free[begin:end] = families.bounds(np.arange(begin, end), cells, most_nodes)
            if families.control.is_over:
                break
            best[child] = free[begin:end].max()
            if on_bounds is not None:
                on_bounds(best)
        return cls(families, cells, free, free.copy(), np.ones(len(families), np.bool_), most_nodes)

    def set_multipliers(self, cell_multipliers: CellMultipliers) -> None:
        """Replace the multipliers; bounds not renewed are raised by what they fell by.

        The largest fall over the states counts, added up over the missing cells of a column.
        """
        pairs = list(zip(self.cells.multipliers, cell_multipliers, strict=True))
        falls = [np.maximum(old - new, 0.0).max(axis=2, initial=0.0) for old, new in pairs]
        changes = [(old != new).any(axis=2).astype(float) for old, new in pairs]
        self.upper = np.minimum(self.upper + self._charges(falls), self.free)
        self.fresh = self.fresh & (self._charges(changes) == 0.0)
        self.cells = self.cells._replace(multipliers=cell_multipliers)

    def _charges(self, of_cells: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the sum of charges of each family over the open cells of its columns, (m,).

        Charges of a child, and of a set's sink, are given for each cell, shapes (n, cells) and
        (sets, cells).
        """
        open_cells, n = self.open_cells, self.families.n_variables
        column = np.eye(n)[self.cells.variables[open_cells]]
        charges = (np.ascontiguousarray(one[:, open_cells] @ column) for one in of_cells)
        families = self.families
        return family_charges(families.child, families.members, self.cells.sets, *charges)

    def fixed(self, cell: int, state: int) -> "NodeRelaxation":
        """Return the relaxation with a missing cell fixed, which drops its multipliers."""
        values = self.cells.filled
        values[cell] = state
        this = np.arange(len(values)) == cell
        dropped = self._charges([one[:, :, state] * this for one in self.cells.multipliers])
        return replace(
            self,
            cells=self.cells.fill(values),
            upper=self.upper + dropped,
            fresh=self.fresh & ~self.families.has[:, self.cells.variables[cell]],
        )

    def take(self, keep: NDArray[np.bool_]) -> "NodeRelaxation":
        """Return the bounds of some families, shape (m,)."""
        return replace(
            self,
            families=self.families.take(keep),
            free=self.free[keep],
            upper=self.upper[keep],
            fresh=self.fresh[keep],
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

    def state_bounds(self, bound: float) -> NDArray[np.float64]:
        """Return what a solution with each state of each open cell scores at most, (open, states).

        ``bound`` is what the multipliers prove of all solutions (theorem *Fixing cells*).
        """
        total = self._totals
        lead: NDArray[np.float64] = total.max(axis=1, keepdims=True) - total
        return bound - lead

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
            numbers = self.families.best(scores)
            stale = np.flatnonzero(~self.fresh[numbers])
            if not len(stale):
                best = scores[numbers]
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
