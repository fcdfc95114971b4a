"""Local distributions over contexts, by collecting messages up a forest of variables.

With each family's table put at the lowest of its variables, the message of X is the sum over X of
the tables at X times the messages of its children; what X contributes to it, divided by it, is
the distribution of X given its context (THESIS, Algorithms 4.13 to 4.17, where these are the
nodes of the fully expanded decision graph). Only sums and products of numbers >= 0 and one
division occur, so zeros stay exact and every parameter keeps full relative precision.
"""

from collections.abc import Sequence
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn.network import BayesianNetwork
from exactlearn.pdg.merge import merge_nodes, prune_unreached
from exactlearn.pdg.variable_forest import VariableForest

T = TypeVar("T", bound=np.generic)
_Factor = tuple[tuple[int, ...], NDArray[np.float64]]


class Expansion:
    """The merged nodes of the variables of one tree, built from its leaves to its root.

    Parameters
    ----------
    network
        The network to represent; its tables' rows are normalised first.
    forest
        A tree, covering one connected part, in which each family lies on one path from the root.

    Attributes
    ----------
    parameters, successors
        For each variable of the tree, as `exactlearn.pdg.decision_graph.assemble` takes them.
    """

    def __init__(self, network: BayesianNetwork, forest: VariableForest) -> None:
        self.forest = forest
        self.parameters: dict[int, NDArray[np.float64]] = {}
        self.successors: dict[int, NDArray[np.int32]] = {}
        self._cardinalities = tuple(network.cardinalities.tolist())
        self._place = {v: i for i, v in enumerate(forest.order)}
        self._factors: dict[int, list[_Factor]] = {v: [] for v in forest.order}
        self._labels: dict[int, NDArray[np.int32]] = {}
        for variable in forest.order:
            axes, table = (*network.parents[variable], variable), network.tables[variable]
            lowest = max(axes, key=self._place.__getitem__)
            self._factors[lowest].append((axes, table / table.sum(axis=-1, keepdims=True)))
        for variable in reversed(forest.order):
            self._build_variable(variable)
        self.parameters, self.successors = prune_unreached(
            forest.order, forest.children, self.parameters, self.successors
        )

    @property
    def effective_size(self) -> int:
        """Effective size of what was built, THESIS (3.52)."""
        children = self.forest.children
        return sum(p.size * max(1, len(children[v])) for v, p in self.parameters.items())

    def _build_variable(self, variable: int) -> None:
        context = self.forest.contexts[variable]
        clique = (*context, variable)
        shape = tuple(self._cardinalities[v] for v in clique)
        table = np.ones(shape)
        for axes, values in self._factors[variable]:
            table *= self._spread(values, axes, clique)
        self._factors[variable].clear()
        message = table.sum(axis=-1)
        if self.forest.parents[variable] >= 0:
            scaled = message / message.max()
            self._factors[self.forest.parents[variable]].append((context, scaled))
        self._add_nodes(variable, table.reshape(-1, shape[-1]), message.ravel())

    def _add_nodes(
        self, variable: int, table: NDArray[np.float64], message: NDArray[np.float64]
    ) -> None:
        """Merge the nodes of one variable; context configurations that cannot occur get none."""
        possible = message > 0
        parameters = table[possible] / message[possible, None]
        successors = self._successors(variable)[possible]
        merged = merge_nodes(parameters, successors)
        labels = np.full(len(message), -1, np.int32)
        labels[possible] = merged.labels
        context = self.forest.contexts[variable]
        self._labels[variable] = labels.reshape([self._cardinalities[v] for v in context])
        self.parameters[variable] = parameters[merged.representatives]
        self.successors[variable] = successors[merged.representatives]

    def _successors(self, variable: int) -> NDArray[np.int32]:
        """Return the children's nodes for each context configuration and state."""
        clique = (*self.forest.contexts[variable], variable)
        shape = tuple(self._cardinalities[v] for v in clique)
        children = self.forest.children[variable]
        successors = np.empty((*shape, len(children)), np.int32)
        for i, child in enumerate(children):
            labels = self._labels.pop(child)
            successors[..., i] = self._spread(labels, self.forest.contexts[child], clique)
        return successors.reshape(prod(shape[:-1]), shape[-1], len(children))

    def _spread(self, values: NDArray[T], axes: Sequence[int], clique: Sequence[int]) -> NDArray[T]:
        """Return a view of a table over some variables that broadcasts over all of a clique."""
        inside = sorted(range(len(axes)), key=lambda i: self._place[axes[i]])
        present = set(axes)
        shape = [self._cardinalities[v] if v in present else 1 for v in clique]
        return values.transpose(inside).reshape(shape)
