"""Redirection of edges to the nodes under which the rows below them are most probable.

For each variable, from the leaves up, the log-probability of what the rows have in its subtree is
tabulated under each of its nodes (THESIS, 4.49): the out-flows of the distinct subrows. Summed
over the rows of each edge they say what any redirection gains, and what it costs to redirect all
edges of a node elsewhere and to remove it. Parameters are estimated anew afterwards. The score
never falls (theorem *Redirections*, docs/theory/decision_graphs.md).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from exactlearn.pdg.learn.populated_graph import (
    CompleteRows,
    PopulatedGraph,
    populate,
    structure_of,
)
from exactlearn.pdg.model.forest import forest_children, forest_order
from exactlearn.pdg.model.structure_score import StructureScore


class SubtreeRows:
    """The distinct subrows in the subtree of each variable of a forest.

    Parameters
    ----------
    rows
        Complete rows.
    forest
        Parent of each variable, -1 for a root.

    Attributes
    ----------
    labels
        Number of each row's configuration of each variable's subtree, shape (variables, rows).
    """

    def __init__(self, rows: CompleteRows, forest: NDArray[np.int32]) -> None:
        children = forest_children(forest)
        self.labels = np.empty(rows.columns.shape, np.int64)
        self._state: dict[int, NDArray[np.int64]] = {}
        self._below: dict[int, NDArray[np.int64]] = {}
        for v in reversed(forest_order(forest)):
            label = rows.columns[v]
            for child in children[v]:
                label = label * (int(self.labels[child].max()) + 1) + self.labels[child]
                label = np.unique(label, return_inverse=True)[1]
            _, first, self.labels[v] = np.unique(label, return_index=True, return_inverse=True)
            self._state[v] = rows.columns[v][first]
            self._below[v] = self.labels[list(children[v])][:, first]

    def out_flows(
        self,
        variable: int,
        parameters: NDArray[np.float64],
        successors: NDArray[np.int32],
        children: Sequence[NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Return log-probabilities of a subtree's configurations, shape (configurations, nodes).

        Parameters
        ----------
        variable
            The top of the subtree.
        parameters, successors
            Of its nodes, shapes (nodes, states) and (nodes, states, children).
        children
            The same table for each child.
        """
        state = self._state[variable]
        with np.errstate(divide="ignore"):
            flows: NDArray[np.float64] = np.log(parameters).T[state]
        for place, (below, table) in enumerate(zip(self._below[variable], children, strict=True)):
            flows += table[below[:, None], successors[:, :, place].T[state]]
        return flows


def redirect_edges(
    populated: PopulatedGraph, rows: CompleteRows, score: StructureScore, subtrees: SubtreeRows
) -> PopulatedGraph:
    """Redirect edges, and remove nodes that cost more than they gain, children first.

    The score never falls: what the parameters that stand lose or gain is known exactly, and those
    estimated afterwards are at least as good.
    """
    graph, structure = populated.graph, structure_of(populated.graph)
    reached = populated.reached.astype(np.int64)
    flows: dict[int, NDArray[np.float64]] = {}
    for v in reversed(forest_order(graph.forest)):
        children = [flows.pop(child) for child in graph.children[v]]
        flows[v] = subtrees.out_flows(v, graph.parameters_of(v), structure[v], children)
        parent = int(graph.forest[v])
        if parent < 0 or len(structure[v]) < 2:
            continue
        place = graph.children[parent].index(v)
        heads = np.ascontiguousarray(structure[parent][:, :, place].ravel())
        edges = reached[parent] * int(graph.cardinalities[parent]) + rows.columns[parent]
        shape = (len(heads), len(flows[v]))
        masses = csr_array((rows.weights, (edges, subtrees.labels[v])), shape=shape)
        masses.sum_duplicates()
        gains = np.ascontiguousarray(masses @ flows[v])  # of each edge's rows under each node
        moved = choose_heads(gains, heads, score.node_cost(graph, v))
        structure[parent][:, :, place] = moved.reshape(structure[parent].shape[:2])
    return populate(rows, graph.forest, structure)


def choose_heads(
    flows: NDArray[np.float64], heads: NDArray[np.int32], cost: float
) -> NDArray[np.int32]:
    """Return the best head of each edge, after removing nodes that gain less than they cost.

    Parameters
    ----------
    flows
        Log-likelihood of each edge's rows under each node, shape (edges, nodes).
    heads
        Where the edges lead now; an edge stays there unless another node is better.
    cost
        What a node costs, in nats.
    """
    edges, n = np.arange(len(flows)), flows.shape[1]
    best = flows.argmax(axis=1)
    best = np.where(flows[edges, best] > flows[edges, heads] + 1e-9, best, heads)
    used = np.bincount(best, minlength=n) > 0
    second, gap, stale = np.empty(len(flows), np.int64), np.empty(len(flows)), edges
    # Remove the node that loses least, while it loses less than it costs.
    while used.sum() > 1:
        others = np.where(used, flows[stale], -np.inf)
        others[np.arange(len(stale)), best[stale]] = -np.inf
        second[stale] = others.argmax(axis=1)
        gap[stale] = flows[stale, best[stale]] - others.max(axis=1)
        loss = np.bincount(best, gap, n)
        loss[~used] = np.inf
        gone = int(loss.argmin())
        if loss[gone] >= cost:
            break
        used[gone] = False
        stale = np.flatnonzero((best == gone) | (second == gone))
        best = np.where(best == gone, second, best)
    return best.astype(np.int32)
