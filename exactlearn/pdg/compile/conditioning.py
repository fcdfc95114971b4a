"""Conditioning a set of variables on its top variable, and the nodes that the set needs.

Let a variable and all that stand below it in a forest be the set S. The signature of a
configuration above S holds, for each family that reaches across the border of S, the number of its
residual (`exactlearn.pdg.compile.residuals`). Conditioning on the top variable gives each signature
a weight for each state, and the signatures of the sets below.

The number of nodes of the top variable in the smallest graph depends on S alone (theorem *Nodes of
a set*, docs/theory/decision_graphs.md): it is kept when the rest of the forest changes, with the
table that maps the signatures of S to these nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import find_row, index_rows
from exactlearn._runtime.kernel import kernel
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

    @classmethod
    def of(
        cls,
        inside: int,
        families: tuple[int, ...],
        signatures: NDArray[np.int32],
        values: NDArray[np.float64],
        labels: NDArray[np.int32],
        possible: NDArray[np.bool_],
    ) -> Self:
        """Return the table of those signatures that are possible."""
        kept = np.append(possible, True)
        nodes = np.bincount(labels[:-1][possible])
        n_nodes = int(np.count_nonzero(nodes))
        return cls(inside, families, signatures[possible], values[kept], labels[kept], n_nodes)

    @property
    def cells(self) -> int:
        """How much the table holds."""
        return self.signatures.size + 4 * len(self.signatures)

    @cached_property
    def slots(self) -> NDArray[np.int32]:
        """The index of the signatures."""
        return index_rows(self.signatures)[2]


class Conditioned:
    """The signatures of a set, conditioned on each state of its top variable.

    Parameters
    ----------
    residuals
        The network's residuals.
    inside, variable
        The set, a bit mask, and its top variable.
    families, signatures
        As of a `SetTable`.

    Attributes
    ----------
    weights
        What the families give, shape (signatures, states).
    """

    def __init__(
        self,
        residuals: Residuals,
        inside: int,
        variable: int,
        families: Sequence[int],
        signatures: NDArray[np.int32],
    ) -> None:
        self._families, self._signatures = families, signatures
        self._touched = touched = residuals.touching[variable]
        columns = [families.index(f) if f in families else -1 for f in touched]
        steps = [residuals.step(f, residuals.families[f] & ~inside, variable) for f in touched]
        self.weights, self._after = condition_signatures(
            signatures,
            np.array(columns, np.int64),
            np.array(steps, np.int64),
            residuals.cardinalities[variable],
            residuals.numbers,
            residuals.weights,
        )

    def below(
        self, families: Sequence[int], weights: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the signatures of a set below, and the place in the weights (not 0) of each.

        Parameters
        ----------
        families
            Those of the set below.
        weights
            Others in place of the own weights.
        """
        chosen = self.weights if weights is None else weights
        return signatures_below(self._signatures, chosen, self._after, self._sources(families))

    def weigh(self, child: SetTable) -> NDArray[np.int32]:
        """Multiply the weights by the values of a set below.

        Returns
        -------
        The node of the set below, -1 where there is none, shape (signatures, states).
        """
        return weigh(
            self._signatures,
            self.weights,
            self._after,
            self._sources(child.families),
            child.slots,
            child.signatures,
            child.values,
            child.labels,
        )

    def _sources(self, below: Sequence[int]) -> NDArray[np.int64]:
        """Return where each column below comes from: a touched family, or -1 - the old column."""
        touched, old = self._touched, self._families
        places = [touched.index(f) if f in touched else -1 - old.index(f) for f in below]
        return np.array(places, np.int64)


def signature_families(residuals: Residuals, inside: int) -> tuple[int, ...]:
    """Return the families that reach across the border of a set and have several residuals."""
    return tuple(
        family
        for family, members in enumerate(residuals.families)
        if members & inside and (above := members & ~inside) and residuals.count(family, above) > 1
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
    upper = Conditioned(residuals, above.inside, first, above.families, above.signatures)
    for sibling in beside:
        upper.weigh(sibling)
    families = signature_families(residuals, inside)
    rows, _ = upper.below(families)
    signatures = rows[index_rows(rows)[1]]
    if len(signatures) > most_signatures:
        return None
    lower = Conditioned(residuals, inside, top, families, signatures)
    nodes = np.empty((*lower.weights.shape, len(below)), np.int32)
    for i, child in enumerate(below):
        nodes[:, :, i] = lower.weigh(child)
    values, labels, _ = merge_signatures(lower.weights, nodes)
    return SetTable.of(inside, families, signatures, values, labels, values[:-1] > 0)


@kernel
def condition_signatures(
    signatures: NDArray[np.int32],
    columns: NDArray[np.int64],
    steps: NDArray[np.int64],
    r: int,
    numbers: NDArray[np.int32],
    factors: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Condition all signatures on each state of a variable.

    Returns
    -------
    weights
        What the families give, shape (signatures, r).
    after
        The touched families' residuals then, shape (signatures, r, families); arbitrary where the
        weight is zero.
    """
    n, width = len(signatures), len(columns)
    weights = np.ones((n, r))
    after = np.empty((n, r, width), np.int32)
    for i in range(n):
        for t in range(width):
            number = signatures[i, columns[t]] if columns[t] >= 0 else 0
            start = steps[t] + number * r
            for x in range(r):
                weights[i, x] *= factors[start + x]
                after[i, x, t] = numbers[start + x]
    return weights, after


@kernel
def signatures_below(
    signatures: NDArray[np.int32],
    weights: NDArray[np.float64],
    after: NDArray[np.int32],
    source: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the signatures of a set below, and the place in ``weights`` (not 0) of each."""
    n, r = weights.shape
    count = np.count_nonzero(weights)
    rows = np.empty((count, len(source)), np.int32)
    places = np.empty(count, np.int64)
    k = 0
    for i in range(n):
        for x in range(r):
            if weights[i, x] > 0:
                for j in range(len(source)):
                    s = source[j]
                    rows[k, j] = after[i, x, s] if s >= 0 else signatures[i, -1 - s]
                places[k] = i * r + x
                k += 1
    return rows, places


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
