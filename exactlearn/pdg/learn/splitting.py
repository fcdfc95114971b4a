"""Splitting of nodes into groups of their incoming edges, where the score gains by it.

Splitting a node gives each incoming edge a copy of it (PDG-SEM, equation 15; THESIS, 4.41). Copies
have the same successors, so they can merge at once (PDG-SEM, equation 13; THESIS, 4.47): the pair
that loses least first, while what it loses is no more than a node costs. The counts of a child's
states along each edge give the gain exactly: one count of the rows per variable, none per
candidate. The thesis's split into single edges is the finest of these.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.pdg.learn.populated_graph import CompleteRows, PopulatedGraph
from exactlearn.pdg.model.forest import forest_children, forest_order


@kernel
def _information(counts: NDArray[np.float64]) -> float:
    total, value = 0.0, 0.0
    for h in range(len(counts)):
        total += counts[h]
        if counts[h] > 0.0:
            value += counts[h] * np.log(counts[h])
    return value - total * np.log(total) if total > 0.0 else 0.0


@kernel
def _nearest(
    i: int,
    mass: NDArray[np.float64],
    info: NDArray[np.float64],
    alive: NDArray[np.bool_],
    joined: NDArray[np.float64],
    near: NDArray[np.int64],
    loss: NDArray[np.float64],
) -> None:
    """Find the later group that merges with group i for the smallest loss."""
    near[i], loss[i] = -1, np.inf
    for j in range(i + 1, len(mass)):
        if alive[j]:
            for h in range(mass.shape[1]):
                joined[h] = mass[i, h] + mass[j, h]
            lost = info[i] + info[j] - _information(joined)
            if lost < loss[i]:
                near[i], loss[i] = j, lost


@kernel
def merge_alike(table: NDArray[np.float64], cost: float) -> NDArray[np.int64]:
    """Return a group for each row of counts: the number of the group's first row.

    Parameters
    ----------
    table
        Counts, shape (rows, states).
    cost
        What a group costs in nats; two groups merge when they lose no more.
    """
    n, r = table.shape
    mass = table.copy()
    label = np.arange(n)
    alive = np.ones(n, np.bool_)
    info = np.empty(n)
    near = np.empty(n, np.int64)
    loss = np.empty(n)
    joined = np.empty(r)
    # The cheapest merge of each group with a later one.
    for i in range(n):
        info[i] = _information(mass[i])
    for i in range(n):
        _nearest(i, mass, info, alive, joined, near, loss)
    # Make the cheapest merge of all, and renew what it changes.
    while n > 1:
        i = int(loss.argmin())
        if near[i] < 0 or loss[i] > cost + 1e-12:
            break
        gone = near[i]
        alive[gone] = False
        loss[gone] = np.inf
        for h in range(r):
            mass[i, h] += mass[gone, h]
        info[i] = _information(mass[i])
        for k in range(n):
            if label[k] == gone:
                label[k] = i
        for k in range(gone):
            if alive[k] and (k == i or near[k] == i or near[k] == gone):
                _nearest(k, mass, info, alive, joined, near, loss)
            elif alive[k] and k < i:
                for h in range(r):
                    joined[h] = mass[k, h] + mass[i, h]
                lost = info[k] + info[i] - _information(joined)
                if lost < loss[k]:
                    near[k], loss[k] = i, lost
    return label


@kernel
def regroup(
    table: NDArray[np.float64],
    heads: NDArray[np.int32],
    nodes: int,
    allowed: NDArray[np.bool_],
    cost: float,
) -> tuple[NDArray[np.int32], NDArray[np.int32], float]:
    """Split each node for groups of its incoming edges where that gains.

    Parameters
    ----------
    table
        Counts of the child's states along each edge, shape (edges, states).
    heads
        The node that each edge leads to now, shape (edges,).
    nodes
        How many nodes there are.
    allowed
        Whether each node may be split, shape (nodes,).
    cost
        What a node costs, in nats.

    Returns
    -------
    heads
        The node that each edge leads to, shape (edges,).
    origin
        The old node that each node is a copy of, shape (nodes,); old nodes keep their places.
    gain
        Log-likelihood gained less what the new nodes cost, in nats.
    """
    n, r = table.shape
    new = heads.copy()
    origin = np.empty(nodes + n, np.int32)
    for node in range(nodes):
        origin[node] = node
    count, total_gain = nodes, 0.0
    # Node after node, with the edges that lead to it.
    order = np.argsort(heads, kind="mergesort")
    end = 0
    while end < n:
        start, node = end, heads[order[end]]
        while end < n and heads[order[end]] == node:
            end += 1
        size = 0
        member = np.empty(end - start, np.int64)
        part = np.zeros((end - start, r))
        whole = np.zeros(r)
        for e in order[start:end]:
            for h in range(r):
                part[size, h] = table[e, h]
                whole[h] += table[e, h]
            member[size] = e
            if part[size].sum() > 0.0:
                size += 1
        if size < 2 or not allowed[node]:
            continue
        # Group its edges, and compute what the groups gain over one node.
        label = merge_alike(part[:size], cost)
        weight = np.zeros(size)
        sums = np.zeros((size, r))
        for k in range(size):
            for h in range(r):
                sums[label[k], h] += part[k, h]
                weight[label[k]] += part[k, h]
        gain, groups = -_information(whole) + cost, 0
        for k in range(size):
            if weight[k] > 0.0:
                gain += _information(sums[k]) - cost
                groups += 1
        if groups < 2 or not gain > 1e-9:
            continue
        total_gain += gain
        # The heaviest group keeps the node; each other one gets a copy.
        number = np.full(size, -1, np.int32)
        number[weight.argmax()] = node
        for k in range(size):
            if number[label[k]] < 0:
                number[label[k]] = count
                origin[count] = node
                count += 1
            new[member[k]] = number[label[k]]
    return new, origin[:count].copy(), total_gain


def expanded_structure(
    rows: CompleteRows, forest: NDArray[np.int32], support: float, most_nodes: int
) -> dict[int, NDArray[np.int32]]:
    """Return a structure with a node for each edge that enough rows take.

    Parameters
    ----------
    support
        Least weight of the rows of an edge with a node of its own; all others share one. Infinite,
        it gives the structure of one node per variable.
    most_nodes
        Most nodes of a variable; the edges with most rows get them.
    """
    order, children = forest_order(forest), forest_children(forest)
    reached = np.zeros((len(order), len(rows.weights)), np.int64)
    structure = {}
    for v in order:
        r, nodes = len(rows.states[v]), int(reached[v].max()) + 1
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


def edge_tables(populated: PopulatedGraph, rows: CompleteRows) -> dict[int, NDArray[np.float64]]:
    """Return for each variable the weight of its states along each edge into it."""
    graph, reached = populated.graph, populated.reached.astype(np.int64)
    tables = {}
    for v, parent in enumerate(graph.forest.tolist()):
        r, n_edges, cells = int(graph.cardinalities[v]), 1, rows.columns[v]
        if parent >= 0:
            n_edges = int(graph.node_counts[parent] * graph.cardinalities[parent])
            cells = edges_into(reached, rows, parent) * r + cells
        counts = np.bincount(cells, rows.weights, n_edges * r).astype(np.float64)
        tables[v] = counts.reshape(n_edges, r)
    return tables
