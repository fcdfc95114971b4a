"""Drawings of networks and decision graphs before layout."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from exactlearn.graphs.equivalence import NamedGraph
from exactlearn.graphs.orientation import reversible_arcs
from exactlearn.graphs.partially_directed import Arc
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.pdg.model.forest import forest_order
from exactlearn.reporting.description import probability

SHADE = (0.6, 0.72, 0.88)
FULL = 0.03
"""Colour of a node that every row reaches, and the reach that a network's boxes are shaded as;
fewer rows, less colour."""

MAX_STATES = 8
"""Most states of a variable whose probabilities are drawn."""

ARC_WIDTH = 1.0
STRONGEST = 3.2
"""Width of an arc of unknown strength, and of one of strength 1, in points."""


@dataclass(frozen=True)
class Drawing:
    """A graph's labels, arcs and shades, before layout.

    Parameters
    ----------
    labels
        Text of each box, in one or more lines.
    arcs
        Arcs ``(from, to)``.
    arc_labels
        Text of each arc, may be empty.
    reach
        The probability that a row comes to each box; empty for a network.
    beside
        Drawn on the left of it: the forest of a decision graph's variables.
    undirected
        The arcs that are drawn without a head: the undirected edges of a CPDAG.
    reversible
        The arcs that are drawn dashed: other networks of the class have them the other way.
    strengths
        Strength of each arc, 0 to 1, drawn as its width; empty where unknown.
    bars
        Of some boxes, the share of each line but the first, 0 to 1, drawn as a bar behind it.
    observed
        The boxes of observed variables.
    """

    labels: tuple[str, ...]
    arcs: tuple[tuple[int, int], ...]
    arc_labels: tuple[str, ...]
    reach: tuple[float, ...] = ()
    beside: "Drawing | None" = None
    undirected: frozenset[Arc] = frozenset()
    reversible: frozenset[Arc] = frozenset()
    strengths: Mapping[Arc, float] = field(default_factory=dict, hash=False)
    bars: Mapping[int, Sequence[float]] = field(default_factory=dict, hash=False)
    observed: frozenset[int] = frozenset()

    def width_of(self, arc: Arc) -> float:
        """Return the width of an arc in points."""
        if arc not in self.strengths:
            return ARC_WIDTH
        return STRONGEST * max(0.1, self.strengths[arc])


def network_drawing(
    names: Sequence[str],
    parents: Sequence[Sequence[int]],
    reversible: Iterable[Sequence[str]] | None = (),
) -> Drawing:
    """Return the drawing of a DAG.

    Parameters
    ----------
    names, parents
        The variables and the parents of each.
    reversible
        The reversible arcs, by name; ``None`` for those of the DAG's equivalence class.
    """
    position = {name: v for v, name in enumerate(names)}
    if reversible is None:
        marked = reversible_arcs(parents)
    else:
        marked = frozenset(
            (position[tail], position[head]) for tail, head in reversible
        )
    drawing = structure_drawing(NamedGraph.of(names, parents))
    return replace(drawing, reversible=marked)


def averaged_drawing(averaged: NamedGraph, edges: NDArray[np.float64]) -> Drawing:
    """Return the drawing of an averaged network, its arcs as wide as their edges are probable.

    Parameters
    ----------
    averaged
        The network.
    edges
        Probability, or strength, of an arc in either direction, shape (n, n).
    """
    drawing = structure_drawing(averaged)
    strengths = {arc: float(edges[arc]) for arc in drawing.arcs}
    return replace(drawing, strengths=strengths)


def with_posteriors(
    drawing: Drawing,
    posterior: Mapping[str, Mapping[str, float]],
    evidence: Mapping[str, Mapping[str, float]],
) -> Drawing:
    """Return a network's drawing with the probabilities of the states of some variables.

    Parameters
    ----------
    drawing
        The network.
    posterior
        Probability of each state of some variables.
    evidence
        Weight of each state of the observed variables, drawn as a share of their largest.
    """
    labels = list(drawing.labels)
    bars = {}
    observed = []
    for box, name in enumerate(drawing.labels):
        if name in evidence:
            observed.append(box)
        weights = posterior.get(name) or evidence.get(name)
        if not weights:
            continue
        # Posteriors are probabilities; evidence may have any weights.
        largest = 1.0 if name in posterior else max(weights.values())
        proportions = {state: weights[state] / largest for state in weights}
        states = _most_probable(proportions)
        labels[box] = _box_label(name, states)
        bars[box] = tuple(states.values())
    return replace(
        drawing,
        labels=tuple(labels),
        bars=bars,
        observed=frozenset(observed),
    )


def _most_probable(states: Mapping[str, float]) -> dict[str, float]:
    """Return the most probable states, in their order, and the sum of the others."""
    # Equally probable states keep their order.
    ranked = sorted(states, key=states.__getitem__, reverse=True)
    shown = dict(states)
    left_out = [shown.pop(state) for state in ranked[MAX_STATES:]]
    if left_out:
        shown[f"{len(left_out)} more"] = sum(left_out)
    return shown


def structure_drawing(named: NamedGraph) -> Drawing:
    """Return the drawing of a DAG, a pattern or a CPDAG."""
    arcs = tuple(
        (parent, child)
        for child, family in enumerate(named.parents)
        for parent in family
    )
    return Drawing(
        labels=named.names,
        arcs=arcs,
        arc_labels=("",) * len(arcs),
        undirected=frozenset(arcs) - named.graph.directed,
    )


def decision_graph_drawing(graph: DecisionGraph) -> Drawing:
    """Return the drawing of a decision graph: a box per node, an arc per successor, the forest.

    States that lead to the same successor share an arc. Arcs of states of probability zero are
    left out, and so are the nodes that no row of positive probability reaches.
    """
    reach = _reach(graph)
    shown = np.flatnonzero(reach > 0).tolist()
    # The states on each arc between nodes that are shown.
    # Several states may lead to the same successor.
    arcs: dict[Arc, list[str]] = defaultdict(list)
    for v, labels_of_states in enumerate(graph.states):
        first = int(graph.first_nodes[v])
        parameters = graph.parameters_of(v)
        for (k, state, _), successor in np.ndenumerate(graph.successors_of(v)):
            node = first + k
            if reach[node] > 0 and parameters[k, state] > 0:
                arcs[node, int(successor)].append(labels_of_states[state])
    labels = []
    for node in shown:
        name = graph.names[graph.variable[node]]
        labels.append(_box_label(name, _distribution(graph, node)))
    # Boxes have the numbers of the nodes that are shown.
    box = {node: k for k, node in enumerate(shown)}
    arcs_of_boxes = []
    arc_labels = []
    for (tail, head), labels_of_arc in arcs.items():
        arcs_of_boxes.append((box[tail], box[head]))
        arc_labels.append(_arc_label(graph, tail, labels_of_arc))
    # The forest of the variables, drawn as a network beside the graph.
    families: list[list[int]] = []
    for parent in graph.forest.tolist():
        families.append([parent] if parent >= 0 else [])
    return Drawing(
        labels=tuple(labels),
        arcs=tuple(arcs_of_boxes),
        arc_labels=tuple(arc_labels),
        reach=tuple(reach[shown].tolist()),
        beside=network_drawing(graph.names, families),
    )


def _reach(graph: DecisionGraph) -> NDArray[np.float64]:
    """Return the probability that a row reaches each node, shape (nodes,)."""
    # Every row reaches the roots; from there the flow follows the successors.
    is_root = graph.forest[graph.variable] < 0
    reach = is_root.astype(np.float64)
    for v in forest_order(graph.forest):
        first = int(graph.first_nodes[v])
        parameters = graph.parameters_of(v)
        reach_of_nodes = reach[first : first + len(parameters)]
        flow = reach_of_nodes[:, None] * parameters
        for successors in np.moveaxis(graph.successors_of(v), 2, 0):
            np.add.at(reach, successors, flow)
    return reach


def _distribution(graph: DecisionGraph, node: int) -> dict[str, float]:
    """Return the probability of each state at a node."""
    v = int(graph.variable[node])
    place = node - graph.first_nodes[v]
    probabilities = graph.parameters_of(v)[place]
    return dict(zip(graph.states[v], probabilities.tolist(), strict=True))


def _box_label(name: str, states: Mapping[str, float]) -> str:
    """Return a name, and a line for each state below it."""
    lines = [name]
    for state, p in states.items():
        lines.append(f"{state}: {probability(p)}")
    return "\n".join(lines)


def _arc_label(
    graph: DecisionGraph,
    node: int,
    states: list[str],
) -> str:
    """Return the states of an arc, or nothing when every possible state takes it."""
    n_possible = np.count_nonzero([*_distribution(graph, node).values()])
    return "" if len(states) == n_possible > 1 else ", ".join(states)
