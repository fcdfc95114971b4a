"""All families of an incomplete table, with bounds on their scores under any completion."""

from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.executors import in_order, n_threads
from exactlearn.augmentation.branch_and_bound.family_bounds import WORK, bound_families
from exactlearn.augmentation.branch_and_bound.incomplete_rows import FamilyTerms
from exactlearn.augmentation.branch_and_bound.multipliers import MissingCells
from exactlearn.augmentation.families import Families
from exactlearn.augmentation.parameters import BranchingParameters
from exactlearn.augmentation.task import Task
from exactlearn.errors import InfeasibleError, TooLargeError
from exactlearn.scoring.candidates import n_families
from exactlearn.scoring.incremental_tables import set_sizes
from exactlearn.solvers.lp.clusters import Support
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
