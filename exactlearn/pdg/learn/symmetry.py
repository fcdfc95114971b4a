"""Variables in whose states a decision graph is symmetric, so that EM does not tell them apart."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.row_table import group_rows
from exactlearn.pdg.compile.equality import equal_values
from exactlearn.pdg.model.decision_graph import DecisionGraph


def symmetric_variables(graph: DecisionGraph, variables: Iterable[int]) -> tuple[str, ...]:
    """Return those variables whose states lead to other nodes, but to equal distributions.

    EM leaves the distributions equal where no row observes the variable, although the structure
    could tell its states apart. Where the states lead to the same nodes it could not.

    Parameters
    ----------
    graph
        The graph.
    variables
        Numbers of the variables to look at.
    """
    asked = set(variables)
    if not any(len(graph.children[v]) for v in asked):
        return ()
    groups, found = np.empty(graph.n_nodes, np.int32), set()
    for v in reversed(graph.order.tolist()):
        heads = graph.successors_of(v)
        equal = groups[heads]
        if v in asked and _same_for_all_states(equal) and not _same_for_all_states(heads):
            found.add(v)
        nodes = len(heads)
        keys = np.hstack([equal_values(graph.parameters_of(v)), equal.reshape(nodes, -1)])
        labels, _ = group_rows(np.ascontiguousarray(keys, np.int32))
        groups[graph.first_nodes[v] : graph.first_nodes[v] + nodes] = labels
    return tuple(graph.names[v] for v in sorted(found))


def _same_for_all_states(entries: NDArray[np.int32]) -> bool:
    """Tell whether entries of shape (nodes, states, children) are the same for all states."""
    return bool((entries == entries[:, :1]).all())
