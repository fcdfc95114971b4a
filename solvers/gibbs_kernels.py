"""The kernel of the blocked Gibbs sampler: the sets that a block's candidates act as in the block.

Given the parent sets of all variables outside of a block ``B``, a parent set ``G`` of a variable in
``B`` acts in the block as the set of those members of ``B`` that are in ``G``, or have a descendant
in ``G`` by a path outside of the block. The whole graph is acyclic if and only if the graph of
these sets is (docs/theory/posterior.md).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel


class Families(NamedTuple):
    """The M candidates of n variables, sorted by variable.

    Parameters
    ----------
    first
        Where each variable's candidates begin, shape (n + 1,).
    member_first, members
        The parents of each candidate, shapes (M + 1,) and (total,).
    """

    first: NDArray[np.int64]
    member_first: NDArray[np.int64]
    members: NDArray[np.int32]


@in_place_kernel
def act_in_block(
    families: Families,
    selection: NDArray[np.int64],
    order: NDArray[np.int64],
    size: int,
    above: NDArray[np.int64],
    parents: NDArray[np.int64],
) -> None:
    """Note the sets that the candidates of a block act as.

    Parameters
    ----------
    families
        The candidates.
    selection
        The candidate of each variable, a DAG, shape (n,).
    order
        All variables, those of the block first, shape (n,).
    size
        Number of variables of the block.
    above
        Space for the block's variables that each variable is, or descends from by a path outside of
        the block, as bits by their order, shape (n,).
    parents
        Where the sets of the block's candidates are noted as bits, shape (M,).
    """
    for place in range(len(order)):
        above[order[place]] = 1 << place if place < size else 0
    # along the arcs that end outside of the block, until nothing changes
    is_changed = True
    while is_changed:
        is_changed = False
        for v in order[size:]:
            ancestors = _union(families, selection[v], above)
            is_changed = is_changed or ancestors != above[v]
            above[v] = ancestors
    for v in order[:size]:
        for c in range(families.first[v], families.first[v + 1]):
            parents[c] = _union(families, c, above)


@in_place_kernel
def _union(families: Families, candidate: int, above: NDArray[np.int64]) -> int:
    """Return the union of the sets of a candidate's parents."""
    union = 0
    first = families.member_first[candidate]
    for k in range(first, families.member_first[candidate + 1]):
        union |= above[families.members[k]]
    return union
