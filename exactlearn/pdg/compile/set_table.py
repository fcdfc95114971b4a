"""How many nodes a set of variables needs, whatever stands above it and however it is ordered.

Let a variable and all that stand below it in a forest be the set S. In the smallest graph the
variable has one node for each conditional distribution of S that the variables above can cause.
That number depends on nothing but S: it can be kept when the rest of the forest changes, and so
can the table that maps the residuals of the families across the border of S to these nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn._runtime.row_table import find_row, index_rows
from exactlearn.pdg.compile.conditioning import (
    condition_signatures,
    conditioning_steps,
    signature_families,
    signatures_below,
    sources,
)
from exactlearn.pdg.compile.merge import merge_signatures
from exactlearn.pdg.compile.residuals import Residuals


@dataclass(frozen=True, eq=False)
class SetTable:
    """The nodes of the top variable of a set.

    Parameters
    ----------
    inside
        The set, a bit mask.
    families
        The families that the signatures are about.
    signatures
        All signatures that can occur, shape (signatures, families).
    values, labels
        Weight of each signature up to a common factor, and its node, both with one entry more for
        signatures that cannot occur: zero and -1.
    n_nodes
        How many nodes there are.
    """

    inside: int
    families: tuple[int, ...]
    signatures: NDArray[np.int32]
    values: NDArray[np.float64]
    labels: NDArray[np.int32]
    n_nodes: int

    @property
    def cells(self) -> int:
        """How much the table holds."""
        return self.signatures.size + 4 * len(self.signatures)

    @cached_property
    def slots(self) -> NDArray[np.int32]:
        """The index of the signatures."""
        return index_rows(self.signatures)[2]


class Conditioned:
    """All signatures of a set, conditioned on each state of its top variable."""

    def __init__(
        self,
        residuals: Residuals,
        inside: int,
        families: Sequence[int],
        signatures: NDArray[np.int32],
        variable: int,
    ) -> None:
        self.families, self.signatures = families, signatures
        self.touched, (columns, steps) = conditioning_steps(residuals, inside, families, variable)
        r = residuals.cardinalities[variable]
        self.weights, self.after = condition_signatures(
            signatures, columns, steps, r, residuals.numbers, residuals.weights
        )

    def below(self, families: Sequence[int]) -> NDArray[np.int32]:
        """Return the different signatures of a set below where they have weight."""
        source = sources(self.families, self.touched, families)
        rows, _ = signatures_below(self.signatures, self.weights, self.after, source)
        return rows[index_rows(rows)[1]]

    def weigh(self, child: SetTable) -> NDArray[np.int32]:
        """Multiply by the values of a set below; return its nodes, -1 where there is none."""
        source = sources(self.families, self.touched, child.families)
        return weigh(
            self.signatures,
            self.weights,
            self.after,
            source,
            child.slots,
            child.signatures,
            child.values,
            child.labels,
        )


def set_table(
    residuals: Residuals,
    above: SetTable,
    first: int,
    beside: Sequence[SetTable],
    inside: int,
    top: int,
    below: Sequence[SetTable],
    most_signatures: int,
) -> SetTable | None:
    """Return the table of a set from the table of a larger one, unless it has too many signatures.

    Parameters
    ----------
    residuals
        The network's residuals.
    above, first
        The larger set, and its top variable.
    beside
        The other sets directly below ``first``.
    inside, top
        The set, a bit mask, and its top variable.
    below
        The sets directly below ``top``.
    most_signatures
        More are too many.
    """
    upper = Conditioned(residuals, above.inside, above.families, above.signatures, first)
    for sibling in beside:
        upper.weigh(sibling)
    families = signature_families(residuals, inside)
    signatures = upper.below(families)
    if len(signatures) > most_signatures:
        return None
    lower = Conditioned(residuals, inside, families, signatures, top)
    nodes = np.empty((*lower.weights.shape, len(below)), np.int32)
    for i, child in enumerate(below):
        nodes[:, :, i] = lower.weigh(child)
    values, labels, kept = merge_signatures(lower.weights, nodes)
    possible = values > 0
    if np.count_nonzero(possible) < len(signatures):
        signatures = signatures[possible[:-1]]
        possible[-1] = True
        values, labels = values[possible], labels[possible]
    return SetTable(inside, families, signatures, values, labels, len(kept))


@kernel
def weigh(
    signatures: NDArray[np.int32],
    weights: NDArray[np.float64],
    after: NDArray[np.int32],
    source: NDArray[np.int64],
    slots: NDArray[np.int32],
    table: NDArray[np.int32],
    values: NDArray[np.float64],
    labels: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Multiply weights, in place, by the values of signatures below; return the labels of those."""
    n, r = weights.shape
    found = np.full((n, r), -1, np.int32)
    key = np.empty((1, len(source)), np.int32)
    for i in range(n):
        for x in range(r):
            if weights[i, x] > 0:
                for j in range(len(source)):
                    s = source[j]
                    key[0, j] = after[i, x, s] if s >= 0 else signatures[i, -1 - s]
                place = find_row(slots, table, key, 0)
                weights[i, x] *= values[place]
                found[i, x] = labels[place]
    return found
