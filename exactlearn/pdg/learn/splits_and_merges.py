"""Better structures by counts alone: splits from the roots down, then merges from the leaves up.

Splitting a node gives each incoming edge a copy of it (PDG-SEM, equation 15; THESIS, 4.41). Copies
have the same successors, so they can merge at once (PDG-SEM, equation 13; THESIS, 4.47): the pair
that loses least first, while what it loses is no more than a node costs. The counts of a child's
states along each edge give the gain of any such grouping exactly, for all variables at once, and
that of the merges that follow (equations 12 and 13): theorem *Splits and merges by counts*,
docs/theory/decision_graphs.md. The thesis's split into single edges is the finest grouping.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.bayesnet.complete_data import smoothed
from exactlearn.pdg.compile.approximation import MergeSequence
from exactlearn.pdg.learn.populated_graph import EdgeTables, heads_into, occupied, structure_of
from exactlearn.pdg.model.decision_graph import DecisionGraph, assemble
from exactlearn.pdg.model.forest import forest_order
from exactlearn.pdg.model.structure_score import StructureScore, information

LEAST_GAIN = 1e-7
"""Smaller gains of the expected score are rounding."""


class Neighbour(NamedTuple):
    """A structure that is better by the counts.

    Attributes
    ----------
    graph
        With the relative counts as its parameters.
    gain
        By how much the expected score is larger than with the old structure and parameters.
    changed
        Whether splits and merges gained anything over the relative counts of the old structure.
    """

    graph: DecisionGraph
    gain: float
    changed: bool


def improved_by_counts(
    graph: DecisionGraph, tables: EdgeTables, score: StructureScore
) -> Neighbour:
    """Return the structure after one sweep of splits and one of merges.

    Parameters
    ----------
    graph
        The old structure with its parameters.
    tables
        Counts along its edges.
    score
        S(lambda), of which the log-likelihood is that of the counts.
    """
    old = structure_of(graph)
    heads = {v: heads_into(graph, old, v) for v in range(graph.n_variables)}
    old_counts = {v: _summed(tables[v], heads[v], len(old[v])) for v in heads}
    moved, origin, counts = {}, {}, {}
    for v, into in heads.items():
        moved[v], origin[v] = into, np.arange(len(old[v]), dtype=np.int32)
        if graph.forest[v] >= 0:
            moved[v], origin[v], _ = regroup(
                tables[v], into, len(old[v]), score.node_cost(graph, v)
            )
        counts[v] = _summed(tables[v], moved[v], len(origin[v]))
    structure = {}
    for v in heads:
        new = old[v][origin[v]].copy()
        for place, child in enumerate(graph.children[v]):
            shape = (len(old[v]), int(graph.cardinalities[v]))
            new[:, :, place] = moved[child].reshape(shape)[origin[v]]
        structure[v] = new
    split, masses = _assembled(graph, structure, counts)
    merges = MergeSequence(split, masses, np.maximum(1, score.cells(split)))
    merges.merge_until(rate=score.rate)
    merged = merges.merged()
    split_likelihood = sum(float(information(c).sum()) for c in counts.values())
    value = score.of(merged, split_likelihood - merges.loss)
    refitted = sum(float(information(c).sum()) for c in old_counts.values())
    expected = _expected_likelihood(graph, old_counts)
    gain = value - score.of(graph, expected)
    changed = value > score.of(graph, refitted) + LEAST_GAIN * max(1.0, abs(value))
    return Neighbour(merged, gain, changed)


def _assembled(
    graph: DecisionGraph,
    structure: dict[int, NDArray[np.int32]],
    counts: dict[int, NDArray[np.float64]],
) -> tuple[DecisionGraph, NDArray[np.float64]]:
    """Return the graph of a structure without nodes that no rows reach, and its counts."""
    order = forest_order(graph.forest)
    kept, masses = dict(structure), dict(counts)
    for v in order:
        for place, child in enumerate(graph.children[v]):
            heads, origin = occupied(kept[v][:, :, place], masses[v])
            kept[v] = kept[v].copy()
            kept[v][:, :, place] = heads
            kept[child], masses[child] = structure[child][origin], counts[child][origin]
    parameters = {}
    for v in order:
        parameters[v] = smoothed(masses[v], 0.0)
    made = assemble(graph.names, graph.states, graph.forest, parameters, kept)
    return made, np.concatenate([masses[v].ravel() for v in order])


def _summed(
    table: NDArray[np.float64], heads: NDArray[np.int32], nodes: int
) -> NDArray[np.float64]:
    """Return the counts of nodes from those of the edges that lead to them."""
    counts = np.zeros((nodes, table.shape[1]))
    np.add.at(counts, heads, table)
    return counts


def _expected_likelihood(graph: DecisionGraph, counts: dict[int, NDArray[np.float64]]) -> float:
    total = 0.0
    for v, table in counts.items():
        some = table > 0
        with np.errstate(divide="ignore"):
            total += float(table[some] @ np.log(graph.parameters_of(v)[some]))
    return total


@in_place_kernel
def _information(counts: NDArray[np.float64]) -> float:
    total, value = 0.0, 0.0
    for h in range(len(counts)):
        total += counts[h]
        if counts[h] > 0.0:
            value += counts[h] * np.log(counts[h])
    return value - total * np.log(total) if total > 0.0 else 0.0


@in_place_kernel
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


def regroup(
    table: NDArray[np.float64], heads: NDArray[np.int32], nodes: int, cost: float
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
    new, origin, gain = heads.copy(), list(range(nodes)), 0.0
    taken = np.flatnonzero(table.sum(axis=1) > 0)
    taken = taken[np.argsort(heads[taken], kind="stable")]
    borders = np.flatnonzero(np.diff(heads[taken])) + 1
    for edges in np.split(taken, borders):
        if len(edges) < 2:
            continue
        labels = merge_alike(table[edges], cost)
        groups, group = np.unique(labels, return_inverse=True)
        sums = np.zeros((len(groups), table.shape[1]))
        np.add.at(sums, group, table[edges])
        gained = float(information(sums).sum() - information(sums.sum(axis=0)))
        gained -= cost * (len(groups) - 1)
        if not gained > 1e-9:
            continue
        gain += gained
        # The heaviest group keeps the node; each other one gets a copy.
        node, heaviest = int(heads[edges[0]]), int(sums.sum(axis=1).argmax())
        copies = [k for k in range(len(groups)) if k != heaviest]
        numbers = np.full(len(groups), node, np.int32)
        numbers[copies] = np.arange(len(origin), len(origin) + len(copies))
        new[edges] = numbers[group]
        origin += [node] * len(copies)
    return new, np.array(origin, np.int32), gain
