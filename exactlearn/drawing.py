"""What a network or a decision graph looks like, before it has places; and as Graphviz text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from exactlearn.pdg.decision_graph import DecisionGraph


@dataclass(frozen=True)
class Drawing:
    """What a graph looks like, before it has places.

    Parameters
    ----------
    labels
        Text of each box, in one or more lines.
    arcs
        Arcs ``(from, to)``.
    arc_labels
        Text of each arc, may be empty.
    nodes
        Node of the decision graph that each box shows; empty for a network.
    """

    labels: tuple[str, ...]
    arcs: tuple[tuple[int, int], ...]
    arc_labels: tuple[str, ...]
    nodes: tuple[int, ...] = ()


def network_drawing(names: Sequence[str], parents: Sequence[Sequence[int]]) -> Drawing:
    """Return the drawing of a DAG."""
    arcs = tuple((p, child) for child, family in enumerate(parents) for p in family)
    return Drawing(tuple(names), arcs, ("",) * len(arcs))


def decision_graph_drawing(graph: DecisionGraph) -> Drawing:
    """Return the drawing of a decision graph: a box per node, an arc per successor.

    States that lead to the same successor share an arc. Arcs of states of probability zero are
    left out, and so are the nodes that no row of positive probability reaches.
    """
    states_of: dict[tuple[int, int], list[str]] = {}
    for v, name_states in enumerate(graph.states):
        successors, parameters = graph.successors_of(v), graph.parameters_of(v)
        for (k, s, _), to in np.ndenumerate(successors):
            if parameters[k, s] > 0:
                arc = (int(graph.first_nodes[v]) + k, int(to))
                states_of.setdefault(arc, []).append(name_states[s])
    shown = _reached(graph, states_of)
    place = {node: k for k, node in enumerate(shown)}
    kept = {(a, b): states for (a, b), states in states_of.items() if a in place}
    return Drawing(
        tuple(_node_label(graph, node) for node in shown),
        tuple((place[a], place[b]) for a, b in kept),
        tuple(_states_told(graph, a, states) for (a, _), states in kept.items()),
        tuple(shown),
    )


def to_dot(drawing: Drawing) -> str:
    """Return the drawing in Graphviz's language."""
    lines = ["digraph {", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    lines += [f"  n{k} [label={quoted(label)}];" for k, label in enumerate(drawing.labels)]
    return "\n".join([*lines, *arc_lines(drawing), "}", ""])


def arc_lines(drawing: Drawing) -> list[str]:
    """Return the arcs in Graphviz's language, a line for each."""
    return [
        f"  n{a} -> n{b}{f' [label={quoted(label)}]' if label else ''};"
        for (a, b), label in zip(drawing.arcs, drawing.arc_labels, strict=True)
    ]


def _reached(graph: DecisionGraph, arcs: Iterable[tuple[int, int]]) -> list[int]:
    """Return the nodes on a way from a root; arcs and nodes run from parents to children."""
    reached = graph.forest[graph.variable] < 0
    for a, b in sorted(arcs):
        reached[b] |= reached[a]
    return [int(node) for node in np.flatnonzero(reached)]


def _node_label(graph: DecisionGraph, node: int) -> str:
    v = int(graph.variable[node])
    row = graph.parameters_of(v)[node - int(graph.first_nodes[v])]
    lines = (f"{s} {_probability(p)}" for s, p in zip(graph.states[v], row, strict=True))
    return "\n".join([graph.names[v], *lines])


def _probability(p: float) -> str:
    """Return three decimals, but tell what is certain from what is nearly so."""
    if p in (0.0, 1.0):
        return str(int(p))
    return "<0.001" if p < 0.0005 else ">0.999" if p >= 0.9995 else f"{p:.3f}"


def _states_told(graph: DecisionGraph, node: int, states: list[str]) -> str:
    """Return the states of an arc, or nothing when every possible state takes it."""
    v = int(graph.variable[node])
    row = graph.parameters_of(v)[node - int(graph.first_nodes[v])]
    return "" if len(states) == int((row > 0).sum()) > 1 else ", ".join(states)


def quoted(text: str) -> str:
    """Return a text as Graphviz's language wants it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
