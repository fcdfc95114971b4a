"""Parent sets of one variable: which are allowed, and how they are numbered.

Parent sets are numbered by size and then colexicographically, so that subsets are found by rank.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import binomials
from exactlearn._runtime.kernel import in_place_kernel
from exactlearn.solvers.problem import Arc


@dataclass(frozen=True)
class FamilyRules:
    """Which parent sets a variable may have.

    Parameters
    ----------
    max_parents
        Largest size of a parent set.
    required, forbidden
        Arcs (parent, child) that must, or must not, be there.
    """

    max_parents: int
    required: frozenset[Arc] = frozenset()
    forbidden: frozenset[Arc] = frozenset()

    @classmethod
    def of(
        cls, max_parents: int, required: Iterable[Arc] = (), forbidden: Iterable[Arc] = ()
    ) -> "FamilyRules":
        """Build the rules from any iterables of arcs."""
        return cls(max_parents, frozenset(required), frozenset(forbidden))

    def allowed(self, child: int, members: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which parent sets of a child, one a row padded with -1, the arcs permit."""
        allowed = np.ones(len(members), np.bool_)
        for parent, to in self.required:
            if to == child:
                allowed &= (members == parent).any(axis=1)
        for parent, to in self.forbidden:
            if to == child:
                allowed &= ~(members == parent).any(axis=1)
        return allowed


class ParentSets(NamedTuple):
    """All parent sets of one child up to a size.

    Attributes
    ----------
    members
        One set a row in increasing order, padded with -1, shape (sets, largest size).
    first
        The first set of each size, shape (largest size + 2,).
    choose
        Pascal's triangle.
    """

    members: NDArray[np.int32]
    first: NDArray[np.int64]
    choose: NDArray[np.int64]


def parent_sets(n: int, child: int, max_parents: int) -> ParentSets:
    """List the parent sets of a child among ``n`` variables."""
    k = min(max_parents, n - 1)
    choose = binomials(n, k + 1)
    first = np.concatenate([[0], np.cumsum(choose[n - 1, : k + 1])]).astype(np.int64)
    members = np.full((int(first[-1]), k), -1, np.int32)
    for size in range(1, k + 1):
        flat = chain.from_iterable(combinations(range(n - 1), size))
        falling = np.fromiter(flat, np.int32).reshape(-1, size)  # once each v is n - 2 - v
        sets = n - 2 - falling[::-1, ::-1]
        members[first[size] : first[size + 1], :size] = sets + (sets >= child)
    return ParentSets(members, first, choose)


@in_place_kernel
def subset_without(sets: ParentSets, row: int, size: int, dropped: int, child: int) -> int:
    """Return the row of a parent set less its member number ``dropped``."""
    rank, place = 0, 0
    for p in range(size):
        if p != dropped:
            v = sets.members[row, p]
            place += 1
            rank += sets.choose[v - (1 if v > child else 0), place]
    return int(sets.first[size - 1] + rank)
