"""The arrays of a decision graph that the inference kernels read."""

from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Layout(NamedTuple):
    """Structure of a decision graph without its parameters: per variable, then per node.

    Attributes
    ----------
    order
        Variables, parents before children, shape (variables,).
    forest, cardinality, n_children, first_node, n_nodes, first_parameter, first_successor
        As in `DecisionGraph`, shape (variables,).
    first_state
        Where each variable's states begin in a row of posteriors, shape (variables,).
    variable, parameter, successor
        Variable of each node, and where its parameters and successors begin, shape (nodes,).
    successors
        Flat successor nodes.
    """

    order: NDArray[np.int64]
    forest: NDArray[np.int32]
    cardinality: NDArray[np.int64]
    n_children: NDArray[np.int64]
    first_node: NDArray[np.int64]
    n_nodes: NDArray[np.int64]
    first_parameter: NDArray[np.int64]
    first_successor: NDArray[np.int64]
    first_state: NDArray[np.int64]
    variable: NDArray[np.int32]
    parameter: NDArray[np.int64]
    successor: NDArray[np.int64]
    successors: NDArray[np.int32]

    def successors_of(self, variable: int) -> NDArray[np.int32]:
        """Return the successors of a variable's nodes, shape (its nodes, states, children)."""
        shape = tuple(int(a[variable]) for a in (self.n_nodes, self.cardinality, self.n_children))
        start = self.first_successor[variable]
        return self.successors[start : start + prod(shape)].reshape(shape)
