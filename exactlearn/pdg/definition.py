"""Whether arrays form a decision graph (PDG-SEM, Definition 2.1).

All functions raise a `CheckError` that says what is wrong and where.
"""

from typing import TYPE_CHECKING

import numpy as np

from exactlearn.errors import CheckError

if TYPE_CHECKING:
    from exactlearn.pdg.decision_graph import DecisionGraph

SUM_TOLERANCE = 1e-9
"""Largest distance from one that is forgiven in the sum of a node's parameters."""


def check_nodes(graph: "DecisionGraph") -> None:
    """Check that each variable has nodes, in place, and each root one."""
    missing = np.flatnonzero(graph.node_counts == 0)
    if len(missing):
        raise CheckError(f"variable {graph.names[missing[0]]!r} has no node: give it at least one")
    if len(graph.order) != graph.n_variables:
        raise CheckError("the nodes of some variable do not stand together")
    for variable, parent in enumerate(graph.forest.tolist()):
        if parent < 0 and graph.node_counts[variable] != 1:
            raise CheckError(
                f"root variable {graph.names[variable]!r} has {graph.node_counts[variable]} nodes,"
                " not one"
            )
        if parent >= 0 and graph.first_nodes[parent] > graph.first_nodes[variable]:
            raise CheckError(
                f"nodes of {graph.names[variable]!r} stand before those of its forest parent"
                f" {graph.names[parent]!r}"
            )


def check_parameters(graph: "DecisionGraph") -> None:
    """Check that each node has a distribution."""
    if len(graph.parameters) != graph.parameter_offsets[-1]:
        raise CheckError(
            f"{len(graph.parameters)} parameters, not one per node and state:"
            f" {graph.parameter_offsets[-1]}"
        )
    if not (np.isfinite(graph.parameters).all() and (graph.parameters >= 0).all()):
        raise CheckError("some parameter is negative or not a number")
    sums = np.add.reduceat(graph.parameters, graph.parameter_offsets[:-1])
    for node in np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE):
        name = graph.names[graph.variable[node]]
        raise CheckError(f"parameters of node {node} ({name!r}) sum to {sums[node]!r}, not to one")


def check_successors(graph: "DecisionGraph") -> None:
    """Check that successors are nodes of the right variable, and that each node is one."""
    if len(graph.successors) != graph.successor_offsets[-1]:
        raise CheckError(
            f"{len(graph.successors)} successors, not one per node, state and child:"
            f" {graph.successor_offsets[-1]}"
        )
    reached = graph.forest[graph.variable] < 0
    for parent, children in enumerate(graph.children):
        successors = graph.successors_of(parent)
        for place, child in enumerate(children):
            column = successors[:, :, place]
            first = graph.first_nodes[child]
            if (column < first).any() or (column >= first + graph.node_counts[child]).any():
                raise CheckError(
                    f"a successor of {graph.names[parent]!r} for its child {graph.names[child]!r}"
                    " is a node of another variable"
                )
            reached[column] = True
    if not reached.all():
        node = int(np.flatnonzero(~reached)[0])
        name = graph.names[graph.variable[node]]
        raise CheckError(f"node {node} ({name!r}) is no successor of any node: remove it")
