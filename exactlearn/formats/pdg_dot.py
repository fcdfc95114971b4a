"""Decision graphs for Graphviz: the forest of variables beside the graph.

A node's letters, and so its area, grow with the probability that a row reaches it; arcs bear the
states that take them; the nodes of a variable stand on one level.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exactlearn.drawing import arc_lines, decision_graph_drawing, quoted
from exactlearn.formats.atomic import atomic_write
from exactlearn.pdg.decision_graph import DecisionGraph
from exactlearn.pdg.flows import expected_counts

LARGEST, SMALLEST = 18.0, 5.0
"""Points of the letters of a node that every row reaches, and of one that almost none reaches."""


def decision_graph_dot(graph: DecisionGraph) -> str:
    """Return the variable forest and the decision graph in Graphviz's language.

    Nodes that no row reaches are left out, and so are arcs of states of probability zero.
    """
    lines = [
        "digraph {",
        '  node [fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=10];',
        "  subgraph cluster_forest {",
        '    label="variables"; style=dotted; fontname="sans-serif";',
        "    node [shape=plaintext];",
    ]
    lines += [f"    v{v} [label={quoted(name)}];" for v, name in enumerate(graph.names)]
    lines += [
        f"    v{parent} -> v{v};" for v, parent in enumerate(graph.forest.tolist()) if parent >= 0
    ]
    lines.append("  }")
    return "\n".join([*lines, *_graph_lines(graph), "}", ""])


def write_pdg_dot(graph: DecisionGraph, path: Path) -> None:
    """Write `decision_graph_dot`, in one step.

    Raises
    ------
    OptionError
        If the file cannot be written.
    """
    atomic_write(path, decision_graph_dot(graph))


def reach_probabilities(graph: DecisionGraph) -> NDArray[np.float64]:
    """Return the probability that a row reaches each node, shape (nodes,)."""
    counts = expected_counts(graph, np.full((1, graph.n_variables), -1, np.int16))
    return np.add.reduceat(counts, graph.parameter_offsets[:-1])


def _graph_lines(graph: DecisionGraph) -> list[str]:
    drawing = decision_graph_drawing(graph)
    reach = reach_probabilities(graph)[list(drawing.nodes)]
    points = np.maximum(SMALLEST, LARGEST * np.sqrt(reach))
    lines = ["  node [shape=box, style=rounded, margin=0.05, width=0, height=0];"]
    for k, label in enumerate(drawing.labels):
        told = f"label={quoted(label)}, tooltip={quoted(f'reached {reach[k]:.4g}')}"
        lines.append(f"  n{k} [fontsize={points[k]:.1f}, {told}];")
    lines += arc_lines(drawing)
    for v in range(graph.n_variables):
        own = [f"n{k};" for k, node in enumerate(drawing.nodes) if graph.variable[node] == v]
        lines.append(f"  {{ rank=same; {' '.join(own)} }}")
    return lines
