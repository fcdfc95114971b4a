"""Splitting of nodes, from the roots down, where the score of complete data gains by it.

The counts of a child's states along each edge give the gain of a split exactly (THESIS, 4.41):
one count of the rows per variable, none per candidate. A split here is one into groups of edges
(`exactlearn.pdg.learn.grouping`), of which the thesis's split into single edges is the finest.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.pdg.learn.grouping import regroup
from exactlearn.pdg.learn.population import CompleteRows, Population, populate, structure_of
from exactlearn.pdg.learn.structure_score import StructureScore
from exactlearn.pdg.model.forest import forest_order


def split_nodes(population: Population, rows: CompleteRows, score: StructureScore) -> Population:
    """Split all nodes for groups of incoming edges where the score gains, parents first.

    Counts below a split node follow its copies, so each gain is the exact one.
    """
    graph, old = population.graph, structure_of(population.graph)
    new = {v: s.copy() for v, s in old.items()}
    reached = population.reached.astype(np.int64)
    for v in forest_order(graph.forest):
        parent = int(graph.forest[v])
        if parent < 0:
            continue
        edges, place = edges_into(reached, rows, parent), graph.children[parent].index(v)
        heads = np.ascontiguousarray(new[parent][:, :, place].ravel())
        table = edge_table(edges, rows, v, len(heads))
        allowed = np.ones(len(old[v]), np.bool_)
        moved, origin, _ = regroup(table, heads, len(old[v]), allowed, score.node_cost(graph, v))
        new[parent][:, :, place] = moved.reshape(new[parent].shape[:2])
        new[v] = old[v][origin].copy()
        reached[v] = moved[edges]
    return populate(rows, graph.forest, new)


def expanded_structure(
    rows: CompleteRows, forest: NDArray[np.int32], support: float, most_nodes: int
) -> dict[int, NDArray[np.int32]]:
    """Return a structure with a node for each edge that enough rows take.

    Parameters
    ----------
    support
        Least weight of the rows of an edge with a node of its own; all others share one.
    most_nodes
        Most nodes of a variable; the edges with most rows get them.
    """
    order = forest_order(forest)
    cardinalities = [len(s) for s in rows.states]
    children: dict[int, list[int]] = {v: [] for v in order}
    for v, parent in enumerate(forest.tolist()):
        if parent >= 0:
            children[parent].append(v)
    reached = np.zeros((len(order), len(rows.weights)), np.int64)
    structure = {}
    for v in order:
        r, nodes = cardinalities[v], int(reached[v].max()) + 1
        edges = reached[v] * r + rows.columns[v]
        mass = np.bincount(edges, rows.weights, nodes * r)
        heads = np.zeros(nodes * r, np.int32)
        own = np.argsort(-mass, kind="stable")[: most_nodes - 1]
        own = own[mass[own] >= support]
        heads[own] = np.arange(1, len(own) + 1)
        heads = np.unique(heads, return_inverse=True)[1].astype(np.int32)
        structure[v] = np.repeat(heads.reshape(nodes, r, 1), len(children[v]), axis=2)
        for child in children[v]:
            reached[child] = heads[edges]
    return structure


def edges_into(reached: NDArray[np.int64], rows: CompleteRows, parent: int) -> NDArray[np.int64]:
    """Return the edge, node by node and state by state, by which each row leaves a variable."""
    edges: NDArray[np.int64] = reached[parent] * len(rows.states[parent]) + rows.columns[parent]
    return edges


def edge_table(
    edges: NDArray[np.int64], rows: CompleteRows, variable: int, n_edges: int
) -> NDArray[np.float64]:
    """Return the weight of each of a variable's states along each edge, shape (edges, states)."""
    r = len(rows.states[variable])
    cells = edges * r + rows.columns[variable]
    counts = np.bincount(cells, rows.weights, n_edges * r).astype(np.float64)
    return counts.reshape(n_edges, r)
