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


class Plan(NamedTuple):
    """What the kernel for single rows reads: fewer arrays, as each costs something in every call.

    Attributes
    ----------
    table
        For each variable, parents before children: its number, forest parent, states, children,
        nodes, first node, first parameter, first successor, first state; shape (variables, 9).
    successors
        Flat successor nodes.
    """

    table: NDArray[np.int64]
    successors: NDArray[np.int32]


def plan_of(layout: Layout) -> Plan:
    """Return the plan of a layout."""
    order = layout.order
    columns = (
        layout.forest,
        layout.cardinality,
        layout.n_children,
        layout.n_nodes,
        layout.first_node,
        layout.first_parameter,
        layout.first_successor,
        layout.first_state,
    )
    table = np.column_stack((order, *(column[order] for column in columns)))
    return Plan(np.ascontiguousarray(table, np.int64), layout.successors)
