"""The smallest decision graph over a given forest, built without writing out any clique's table.

Going down the forest, the configurations of a variable's context are distinguished only by the
residuals of the families that reach across (`exactlearn.pdg.compile.conditioning`); going up again,
each gets its distribution, and those with the same distribution and successors become one node
(`exactlearn.pdg.compile.merge`). Only sums and products of numbers >= 0 and one division occur, so
zeros stay exact and every parameter keeps full relative precision.

Before a graph is built, samples bound its cells from below: few equal pairs of sampled signatures
show that there are many signatures (theorem *Few equal samples*, docs/theory/decision_graphs.md).
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import index_rows
from exactlearn.errors import TooLargeError
from exactlearn.pdg.compile.conditioning import Conditioned, SetTable, signature_families
from exactlearn.pdg.compile.merge import merge_signatures, prune_unreached
from exactlearn.pdg.compile.residuals import Residuals, mask_of
from exactlearn.pdg.model.forest import VariableForest

SIGNATURE_NUMBERS = 10
"""How many numbers of signatures take as much memory as a cell."""

SAMPLES, EXPECTED_PAIRS = 30_000, 30.0
"""More samples bound larger graphs: by about half of their square, over the equal pairs to expect
at least where there is none: with 30 that has a probability of 1e-13."""


class Descent:
    """Conditioning on the variables of a forest from its roots downwards.

    Parameters
    ----------
    residuals
        The network's residuals.
    forest
        A tree in which each family lies on one path from the root.

    Attributes
    ----------
    inside
        For each variable, itself and all below, a bit mask.
    families
        For each variable the families that its signatures are about.
    """

    def __init__(self, residuals: Residuals, forest: VariableForest) -> None:
        self.residuals, self.forest = residuals, forest
        self.inside: dict[int, int] = {}
        for v in reversed(forest.order):
            self.inside[v] = mask_of([v])
            for child in forest.children[v]:
                self.inside[v] |= self.inside[child]
        self.families = {v: signature_families(residuals, self.inside[v]) for v in forest.order}

    def condition(self, variable: int, signatures: NDArray[np.int32]) -> Conditioned:
        """Condition all signatures of a variable's subtree on each of its states."""
        families = self.families[variable]
        return Conditioned(self.residuals, self.inside[variable], variable, families, signatures)


class Expansion:
    """The nodes of the variables of one tree.

    Parameters
    ----------
    residuals
        The network's residuals.
    forest
        A tree, covering one connected part, in which each family lies on one path from the root.
    max_cells
        Most cells to write out before merging.
    keep
        Whether to keep `tables`.

    Attributes
    ----------
    parameters, successors
        For each variable of the tree, as `exactlearn.pdg.model.decision_graph.assemble` takes them.
    cells
        Cells written out before merging.
    tables
        If kept: the table of each variable's subtree.

    Raises
    ------
    TooLargeError
        When there would be more than ``max_cells``, or signatures that take as much memory; raised
        before they do.
    """

    def __init__(
        self,
        residuals: Residuals,
        forest: VariableForest,
        max_cells: float = np.inf,
        *,
        keep: bool = False,
    ) -> None:
        self.forest = forest
        self.tables: dict[int, SetTable] = {}
        self.cells = 0
        self._max_cells = max_cells
        self._descent = Descent(residuals, forest)
        self._signatures: dict[int, NDArray[np.int32]] = {}
        self._weights: dict[int, NDArray[np.float64]] = {}
        self._below: dict[int, list[NDArray[np.int32]]] = {}
        self._go_down(keep)
        self._go_up(keep)

    @property
    def effective_size(self) -> int:
        """Effective size of what was built, THESIS (3.52)."""
        children = self.forest.children
        return sum(p.size * max(1, len(children[v])) for v, p in self.parameters.items())

    def _go_down(self, keep: bool) -> None:
        forest, descent, known = self.forest, self._descent, self._signatures
        known |= {v: np.empty((1, 0), np.int32) for v in forest.order if forest.parents[v] < 0}
        for v in forest.order:
            signatures = known[v] if keep else known.pop(v)
            r = descent.residuals.cardinalities[v]
            self.cells += len(signatures) * r * max(1, len(forest.children[v]))
            self._refuse(self.cells)
            conditioned = descent.condition(v, signatures)
            weights, self._below[v] = conditioned.weights, []
            self._weights[v] = weights
            for child in forest.children[v]:
                families = descent.families[child]
                self._refuse(int(np.count_nonzero(weights)) * len(families) // SIGNATURE_NUMBERS)
                rows, places = conditioned.below(families)
                labels, first, _ = index_rows(rows)
                known[child] = rows[first]
                below = np.full(weights.size, -1, np.int32)
                below[places] = labels
                self._below[v].append(below.reshape(weights.shape))

    def _refuse(self, cells: int) -> None:
        if cells > self._max_cells:
            raise TooLargeError(
                f"more than {self._max_cells:,} cells before merging, over the forest of this order"
            )

    def _go_up(self, keep: bool) -> None:
        labels: dict[int, NDArray[np.int32]] = {}
        values: dict[int, NDArray[np.float64]] = {}
        parameters: dict[int, NDArray[np.float64]] = {}
        successors: dict[int, NDArray[np.int32]] = {}
        for v in reversed(self.forest.order):
            below, weights = self._below[v], self._weights[v]
            children = self.forest.children[v]
            nodes = np.empty((*weights.shape, len(children)), np.int32)
            for i, (child, at) in enumerate(zip(children, below, strict=True)):
                weights *= values[child][at]
                nodes[:, :, i] = labels[child][at]
            values[v], labels[v], kept = merge_signatures(weights, nodes)
            parameters[v], successors[v] = weights[kept], nodes[kept]
            parameters[v] /= parameters[v].sum(axis=1, keepdims=True)
            if not keep:
                del self._below[v], self._weights[v]
                for child in children:
                    del values[child], labels[child]
        self.parameters, self.successors = prune_unreached(
            self.forest.order, self.forest.children, parameters, successors
        )
        if keep:
            self._keep_tables(values, labels)

    def _keep_tables(
        self, values: dict[int, NDArray[np.float64]], labels: dict[int, NDArray[np.int32]]
    ) -> None:
        """Fill `tables` with the signatures that can occur."""
        possible = {v: np.zeros(len(rows), np.bool_) for v, rows in self._signatures.items()}
        for v in self.forest.order:
            if self.forest.parents[v] < 0:
                possible[v][0] = True
            live = (self._weights.pop(v) > 0) & possible[v][:, None]
            for child, at in zip(self.forest.children[v], self._below.pop(v), strict=True):
                possible[child][at[live]] = True
            inside, families = self._descent.inside[v], self._descent.families[v]
            signatures = self._signatures.pop(v)
            self.tables[v] = SetTable.of(
                inside, families, signatures, values[v], labels[v], possible[v]
            )


def least_cells(
    descent: Descent, rng: np.random.Generator, samples: int = SAMPLES
) -> Iterator[float]:
    """Yield how many cells the variables so far have at least, almost surely.

    Parameters
    ----------
    descent
        The network's residuals over a forest.
    rng
        Draws the states.
    samples
        How many.

    Yields
    ------
    A rising bound after each variable, in the forest's order.
    """
    forest, cells = descent.forest, 0.0
    none = np.empty((samples, 0), np.int32)
    signatures = {v: none for v in forest.order if forest.parents[v] < 0}
    for v in forest.order:
        mine = signatures.pop(v)
        children = forest.children[v]
        width = descent.residuals.cardinalities[v] * max(1, len(children))
        cells += least_signatures(mine) * width
        yield cells
        conditioned = descent.condition(v, mine)
        live = rng.random(conditioned.weights.shape) * (conditioned.weights > 0)
        drawn = (live == live.max(axis=1, keepdims=True)) * live
        for child in children:
            signatures[child] = conditioned.below(descent.families[child], drawn)[0]


def least_signatures(met: NDArray[np.int32]) -> float:
    """Return how many different signatures there are at least, almost surely, by samples."""
    labels, first, _ = index_rows(met)
    visits = np.bincount(labels).astype(np.float64)
    n, meetings = len(met), float((visits * (visits - 1)).sum()) / 2
    return max(float(len(first)), n * (n - 1) / (2 * (2 * meetings + EXPECTED_PAIRS)))
