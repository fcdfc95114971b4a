"""Better structures by counts alone: splits from the roots down, then merges from the leaves up.

The counts along the edges of a graph give the gain of any grouping of these edges (PDG-SEM,
equation 15, and equation 13 for the merges of the parts), for all variables at once, and of the
merges that follow (equations 12 and 13): theorem *Splits and merges by counts*,
docs/theory/decision_graphs.md.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.complete_data import smoothed
from exactlearn.pdg.compile.approximation import MergeSequence
from exactlearn.pdg.learn.edge_counts import EdgeTables, heads_into
from exactlearn.pdg.learn.populated_graph import occupied, structure_of
from exactlearn.pdg.learn.splitting import regroup
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
        allowed = np.full(len(old[v]), graph.forest[v] >= 0)
        cost = score.node_cost(graph, v)
        moved[v], origin[v], _ = regroup(
            np.ascontiguousarray(tables[v]), into, len(old[v]), allowed, cost
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
