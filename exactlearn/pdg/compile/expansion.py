"""The smallest decision graph over a given forest, built without writing out any clique's table.

Going down the forest, the configurations of a variable's context are told apart only by the
residuals of the families that reach across (`exactlearn.pdg.compile.residuals`); going up again,
each gets its distribution, and those with the same distribution and successors become one node
(`exactlearn.pdg.compile.merge`). Only sums and products of numbers >= 0 and one division occur, so
zeros stay exact and every parameter keeps full relative precision.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.row_table import index_rows
from exactlearn.errors import TooLargeError
from exactlearn.pdg.compile.conditioning import Descent, signatures_below
from exactlearn.pdg.compile.merge import merge_signatures, prune_unreached
from exactlearn.pdg.compile.residuals import Residuals
from exactlearn.pdg.compile.variable_forest import VariableForest

KEY_NUMBERS = 10
"""How many numbers of keys take as much memory as a cell."""


class Keys(NamedTuple):
    """What tells apart the configurations above a set, and what they lead to.

    Attributes
    ----------
    families
        The families that reach across the border of the set.
    keys
        Numbers of their residuals, shape (keys, families).
    values, labels
        As `close` gives them.
    """

    families: tuple[int, ...]
    keys: NDArray[np.int32]
    values: NDArray[np.float64]
    labels: NDArray[np.int32]


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
        Whether to keep `keys`.

    Attributes
    ----------
    parameters, successors
        For each variable of the tree, as `exactlearn.pdg.model.decision_graph.assemble` takes them.
    cells
        Cells written out before merging.
    keys
        If kept: for each variable the keys that can occur, with their values and nodes, as
        `close` gives those.

    Raises
    ------
    TooLargeError
        When there would be more than ``max_cells``, or keys that take as much memory; raised
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
        self.keys: dict[int, Keys] = {}
        self.cells = 0
        self._residuals = residuals
        self._max_cells = max_cells
        self._weights: dict[int, NDArray[np.float64]] = {}
        self._below: dict[int, list[NDArray[np.int32]]] = {}
        self._go_down(keep)
        self._go_up()
        if keep:
            self._drop_impossible_keys()

    @property
    def effective_size(self) -> int:
        """Effective size of what was built, THESIS (3.52)."""
        children = self.forest.children
        return sum(p.size * max(1, len(children[v])) for v, p in self.parameters.items())

    def _go_down(self, keep: bool) -> None:
        forest = self.forest
        descent = Descent(self._residuals, forest)
        keys = {v: np.empty((1, 0), np.int32) for v in forest.order if forest.parents[v] < 0}
        for v in forest.order:
            r, mine = self._residuals.cardinalities[v], keys.pop(v)
            if keep:
                none = np.empty(0), np.empty(0, np.int32)
                self.keys[v] = Keys(descent.families[v], mine, *none)
            self._count(len(mine) * r * max(1, len(forest.children[v])))
            weights, after, sources = descent.condition(v, mine)
            self._weights[v], self._below[v] = weights, []
            for child, source in sources.items():
                self._refuse(int(np.count_nonzero(weights)) * len(source) // KEY_NUMBERS)
                rows, places = signatures_below(mine, weights, after, source)
                labels, first, _ = index_rows(rows)
                keys[child] = rows[first]
                below = np.full(weights.size, -1, np.int32)
                below[places] = labels
                self._below[v].append(below.reshape(weights.shape))

    def _count(self, cells: int) -> None:
        self.cells += cells
        self._refuse(self.cells)

    def _refuse(self, cells: int) -> None:
        if cells > self._max_cells:
            raise TooLargeError(
                f"more than {self._max_cells:,} cells before merging, over the forest of this order"
            )

    def _go_up(self) -> None:
        labels: dict[int, NDArray[np.int32]] = {}
        values: dict[int, NDArray[np.float64]] = {}
        parameters: dict[int, NDArray[np.float64]] = {}
        successors: dict[int, NDArray[np.int32]] = {}
        for v in reversed(self.forest.order):
            below, weights = self._below[v], self._weights[v]
            children = self.forest.children[v]
            for child, at in zip(children, below, strict=True):
                weights *= values[child][at]
            nodes = np.empty((*weights.shape, len(children)), np.int32)
            for i, (child, at) in enumerate(zip(children, below, strict=True)):
                nodes[:, :, i] = labels[child][at]
            values[v], labels[v], parameters[v], successors[v] = close(weights, nodes)
            if self.keys:
                self.keys[v] = self.keys[v]._replace(values=values[v], labels=labels[v])
            else:
                del self._below[v], self._weights[v]
                for child in children:
                    del values[child], labels[child]
        self.parameters, self.successors = prune_unreached(
            self.forest.order, self.forest.children, parameters, successors
        )

    def _drop_impossible_keys(self) -> None:
        reached = {v: np.zeros(len(k.values), np.bool_) for v, k in self.keys.items()}
        for v in self.forest.order:
            if self.forest.parents[v] < 0:
                reached[v][0] = True
            weights = self._weights.pop(v)
            live = (weights > 0) & reached[v][:-1, None]
            for child, at in zip(self.forest.children[v], self._below.pop(v), strict=True):
                reached[child][at[live]] = True
            families, keys, values, labels = self.keys[v]
            possible = reached[v]
            possible[-1] = True
            self.keys[v] = Keys(families, keys[possible[:-1]], values[possible], labels[possible])


def close(
    weights: NDArray[np.float64], nodes: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
    """Merge the keys of one variable into nodes.

    Parameters
    ----------
    weights
        Weight of each key and state with all that is below, shape (keys, states).
    nodes
        Children's nodes, shape (keys, states, children).

    Returns
    -------
    values, labels
        Weight of each key, and its node (-1 if it is impossible), both with one entry more at
        the end, zero and -1, for keys that are not there.
    parameters, successors
        Of the nodes.
    """
    values, labels, kept = merge_signatures(weights, nodes)
    parameters = weights[kept]
    parameters /= parameters.sum(axis=1, keepdims=True)
    return values, labels, parameters, nodes[kept]
