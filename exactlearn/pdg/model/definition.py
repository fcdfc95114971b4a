"""Whether arrays form a decision graph (PDG-SEM, Definition 2.1).

All functions raise a `CheckError` that says what is wrong and where.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn.errors import CheckError
from exactlearn.pdg.model.layout import Layout

SUM_TOLERANCE = 1e-9
"""Largest distance from one that is forgiven in the sum of a node's parameters."""


def check_nodes(layout: Layout, names: Sequence[str]) -> None:
    """Check that each variable has nodes, in place, and each root one."""
    for variable in np.flatnonzero(layout.n_nodes == 0).tolist():
        raise CheckError(f"variable {names[variable]!r} has no node: give it at least one")
    if len(layout.order) != len(names):
        raise CheckError("the nodes of some variable do not stand together")
    for variable, parent in enumerate(layout.forest.tolist()):
        if parent < 0 and layout.n_nodes[variable] != 1:
            raise CheckError(
                f"root variable {names[variable]!r} has {layout.n_nodes[variable]} nodes, not one"
            )
        if parent >= 0 and layout.first_node[parent] > layout.first_node[variable]:
            raise CheckError(
                f"nodes of {names[variable]!r} stand before those of its forest parent"
                f" {names[parent]!r}"
            )


def check_parameters(layout: Layout, names: Sequence[str], parameters: NDArray[np.float64]) -> None:
    """Check that each node has a distribution."""
    if len(parameters) != layout.parameter[-1]:
        raise CheckError(
            f"{len(parameters)} parameters, not one per node and state: {layout.parameter[-1]}"
        )
    if not (np.isfinite(parameters).all() and (parameters >= 0).all()):
        raise CheckError("some parameter is negative or not a number")
    sums = np.add.reduceat(parameters, layout.parameter[:-1])
    for node in np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE).tolist():
        name = names[layout.variable[node]]
        raise CheckError(
            f"parameters of node {node} ({name!r}) sum to {float(sums[node])!r}, not to one"
        )


def check_successors(layout: Layout, names: Sequence[str]) -> None:
    """Check that successors are nodes of the right variable, and that each node is one."""
    if len(layout.successors) != layout.successor[-1]:
        raise CheckError(
            f"{len(layout.successors)} successors, not one per node, state and child:"
            f" {layout.successor[-1]}"
        )
    reached = layout.forest[layout.variable] < 0
    for parent, name in enumerate(names):
        successors = layout.successors_of(parent)
        for place, child in enumerate(np.flatnonzero(layout.forest == parent).tolist()):
            column = successors[:, :, place]
            first = layout.first_node[child]
            if (column < first).any() or (column >= first + layout.n_nodes[child]).any():
                raise CheckError(
                    f"a successor of {name!r} for its child {names[child]!r} is a node of another"
                    " variable"
                )
            reached[column] = True
    for node in np.flatnonzero(~reached).tolist():
        name = names[layout.variable[node]]
        raise CheckError(f"node {node} ({name!r}) is no successor of any node: remove it")
