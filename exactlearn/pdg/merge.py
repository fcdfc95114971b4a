"""Merging of equivalent nodes: those with the same parameters and the same successors.

Nodes are compared from the leaves of the forest to its roots, so successors are already merged
when their predecessors are compared. Where a state has probability zero its successor does not
matter ("don't care"). For a fixed forest the result is the smallest graph of the distribution:
two nodes that stay apart have different conditional distributions below them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.pdg.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.equality import equal_values
from exactlearn.pdg.forest import forest_order
from exactlearn.pdg.key_table import group_rows


class Merged(NamedTuple):
    """Which nodes of one variable are equivalent.

    Attributes
    ----------
    labels
        Class of each node, numbered by first appearance, shape (nodes,).
    representatives
        First node of each class, shape (classes,).
    """

    labels: NDArray[np.int32]
    representatives: NDArray[np.int64]


def merge_nodes(parameters: NDArray[np.float64], successors: NDArray[np.int32]) -> Merged:
    """Group the nodes of one variable that have equal parameters and successors.

    Parameters
    ----------
    parameters
        Shape (nodes, states); equal up to rounding (`exactlearn.pdg.equality`), and zero only
        equals zero.
    successors
        Classes of the successors, shape (nodes, states, children); ignored at zero parameters.
    """
    nodes, states, children = successors.shape
    keys = np.empty((nodes, states, 1 + children), np.int32)
    keys[:, :, 0] = equal_values(parameters)
    keys[:, :, 1:] = successors
    if children:
        keys[parameters == 0, 1:] = -1
    return Merged(*group_rows(keys.reshape(nodes, -1)))


def prune_unreached(
    order: Sequence[int],
    children: Sequence[Sequence[int]],
    parameters: Mapping[int, NDArray[np.float64]],
    successors: Mapping[int, NDArray[np.int32]],
) -> tuple[dict[int, NDArray[np.float64]], dict[int, NDArray[np.int32]]]:
    """Remove the nodes that no row of positive probability reaches.

    Successors at zero parameters are set to the first node that remains.

    Parameters
    ----------
    order
        The variables, each before its children.
    children
        Forest children of each variable.
    parameters, successors
        For each variable, shapes (nodes, states) and (nodes, states, children), a node given by
        its place among the nodes of its variable.
    """
    kept = {v: np.zeros(len(parameters[v]), np.bool_) for v in order}
    for variable in order:
        if not kept[variable].any():
            kept[variable][0] = True  # the only node of a root
        used = (parameters[variable] > 0) & kept[variable][:, None]
        for place, child in enumerate(children[variable]):
            kept[child][successors[variable][:, :, place][used]] = True
    remaining = {v: parameters[v][kept[v]] for v in order}
    numbers = {v: np.cumsum(kept[v], dtype=np.int32) - 1 for v in order}
    renumbered: dict[int, NDArray[np.int32]] = {}
    for variable in order:
        old = successors[variable][kept[variable]]
        new = np.zeros_like(old)
        used = remaining[variable] > 0
        for place, child in enumerate(children[variable]):
            new[used, place] = numbers[child][old[used, place]]
        renumbered[variable] = new
    return remaining, renumbered


def merge_equivalent(graph: DecisionGraph) -> DecisionGraph:
    """Return the smallest graph of the same distribution over the same forest.

    Parameters and sizes never grow; the joint distribution changes by rounding at most.
    """
    order = forest_order(graph.forest)
    parameters: dict[int, NDArray[np.float64]] = {}
    labels: dict[int, NDArray[np.int32]] = {}
    successors: dict[int, NDArray[np.int32]] = {}
    for variable in reversed(order):
        old = graph.successors_of(variable)
        new = np.empty_like(old)
        for place, child in enumerate(graph.children[variable]):
            new[:, :, place] = labels[child][old[:, :, place] - graph.first_nodes[child]]
        labels[variable], kept = merge_nodes(graph.parameters_of(variable), new)
        parameters[variable] = graph.parameters_of(variable)[kept]
        successors[variable] = new[kept]
    pruned = prune_unreached(order, graph.children, parameters, successors)
    return assemble(graph.names, graph.states, graph.forest, *pruned)
