"""Drawings of networks and decision graphs as SVG, PNG or PDF, and as Graphviz text.

Matplotlib draws them (extra ``[plot]``) with the layout of :mod:`exactlearn.layered_layout`; where
Graphviz's program ``dot`` is installed, it does.
"""

import shutil
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from exactlearn.errors import MissingExtraError, TooLargeError
from exactlearn.layered_layout import LayeredLayout, layered_layout

if TYPE_CHECKING:
    from exactlearn.pdg.decision_graph import DecisionGraph

FIGURE_SUFFIXES = (".svg", ".png", ".pdf", ".dot")

MAX_BOXES = 400
"""Largest number of boxes that is drawn; nobody can read more."""

LETTER, LINE, GAP = 0.085, 0.19, 0.75
"""Width of a letter, height of a line, and free height between layers, in inches."""


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
    """

    labels: tuple[str, ...]
    arcs: tuple[tuple[int, int], ...]
    arc_labels: tuple[str, ...]


def network_drawing(names: Sequence[str], parents: Sequence[Sequence[int]]) -> Drawing:
    """Return the drawing of a DAG."""
    arcs = tuple((p, child) for child, family in enumerate(parents) for p in family)
    return Drawing(tuple(names), arcs, ("",) * len(arcs))


def decision_graph_drawing(graph: "DecisionGraph") -> Drawing:
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
    )


def to_dot(drawing: Drawing) -> str:
    """Return the drawing in Graphviz's language."""
    lines = ["digraph {", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    lines += [f"  n{k} [label={_quoted(label)}];" for k, label in enumerate(drawing.labels)]
    for (a, b), label in zip(drawing.arcs, drawing.arc_labels, strict=True):
        lines.append(f"  n{a} -> n{b}{f' [label={_quoted(label)}]' if label else ''};")
    return "\n".join([*lines, "}", ""])


def draw(drawing: Drawing, suffix: str) -> bytes:
    """Draw a graph.

    Parameters
    ----------
    drawing
        The graph.
    suffix
        One of ``.svg``, ``.png``, ``.pdf`` and ``.dot``.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    TooLargeError
        When there are more than ``MAX_BOXES`` boxes.
    """
    if suffix == ".dot":
        return to_dot(drawing).encode()
    if len(drawing.labels) > MAX_BOXES:
        raise TooLargeError(
            f"a drawing of {len(drawing.labels)} boxes is not readable (limit {MAX_BOXES}); "
            "write '.dot' and lay it out with a tool for large graphs"
        )
    return _draw_with_dot(drawing, suffix) or _draw_with_matplotlib(drawing, suffix)


def _draw_with_dot(drawing: Drawing, suffix: str) -> bytes | None:
    """Return the drawing that Graphviz makes, or nothing when it is not installed."""
    if shutil.which("dot") is None:
        return None
    try:
        import graphviz
    except ImportError:
        return None
    made: bytes = graphviz.Source(to_dot(drawing)).pipe(format=suffix.removeprefix("."))
    return made


def _draw_with_matplotlib(drawing: Drawing, suffix: str) -> bytes:
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "drawing needs Matplotlib: pip install 'exactlearn[plot]', or write '.dot'"
        ) from None
    widths = [_width(label) for label in drawing.labels]
    places = layered_layout(widths, drawing.arcs, space=0.35, lane=0.15)
    tops, height = _layer_tops(drawing, places)
    right = float(max((x + w / 2 for x, w in zip(places.x, widths, strict=True)), default=0))
    right = max([right, *(x for course in places.courses for x, _ in course)])
    buffer = BytesIO()
    # A fixed salt and no date: the same graph gives the same bytes.
    with rc_context({"svg.hashsalt": "exactlearn"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure = Figure(figsize=(right + 0.5, height + 0.4))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-0.1, right + 0.4), ylim=(height + 0.2, -0.2))
        axes.set_axis_off()
        _draw_arcs(axes, drawing, places, tops)
        _draw_boxes(axes, drawing, places, tops, widths)
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
        figure.savefig(buffer, format=suffix.removeprefix("."), dpi=150, metadata=metadata)
    return buffer.getvalue()


def _draw_boxes(
    axes: Any, drawing: Drawing, places: LayeredLayout, tops: list[float], widths: list[float]
) -> None:
    from matplotlib.patches import FancyBboxPatch

    for label, x, k, width in zip(drawing.labels, places.x, places.layer, widths, strict=True):
        height = _height(label)
        axes.add_patch(
            FancyBboxPatch(
                (x - width / 2, tops[k]),
                width,
                height,
                boxstyle="round,pad=0,rounding_size=0.08",
                facecolor="#eef3fa",
                edgecolor="#33507a",
            )
        )
        axes.text(
            x, tops[k] + height / 2, label, ha="center", va="center", fontsize=9, parse_math=False
        )


def _draw_arcs(axes: Any, drawing: Drawing, places: LayeredLayout, tops: list[float]) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    for (a, _), label, course in zip(drawing.arcs, drawing.arc_labels, places.courses, strict=True):
        points = [(x, tops[k]) for x, k in course]
        points[0] = (points[0][0], tops[places.layer[a]] + _height(drawing.labels[a]))
        vertices, codes = [points[0]], [Path.MOVETO]
        for (x0, y0), (x1, y1) in pairwise(points):
            middle = (y0 + y1) / 2
            vertices += [(x0, middle), (x1, middle), (x1, y1)]
            codes += [Path.CURVE4] * 3
        axes.add_patch(
            FancyArrowPatch(
                path=Path(vertices, codes),
                arrowstyle="-|>",
                mutation_scale=10,
                color="#5a5a5a",
                linewidth=0.9,
            )
        )
        if label:
            _draw_arc_label(axes, points, label)


def _draw_arc_label(axes: Any, points: list[tuple[float, float]], label: str) -> None:
    """Write the label a third down the arc's first piece, where arcs of one box part."""
    (x0, y0), (x1, y1) = points[:2]
    t = 0.4
    along = 3 * t**2 - 2 * t**3  # the curve's own horizontal progress
    axes.text(
        x0 + along * (x1 - x0),
        y0 + (1.5 * t - 1.5 * t**2 + t**3) * (y1 - y0),
        label,
        ha="center",
        va="center",
        fontsize=7,
        color="#7a3b12",
        parse_math=False,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
    )


def _layer_tops(drawing: Drawing, places: LayeredLayout) -> tuple[list[float], float]:
    """Return where each layer begins, and the height of all."""
    tops, y = [], 0.0
    for k in range(int(places.layer.max(initial=-1)) + 1):
        tops.append(y)
        inside = (label for label, at in zip(drawing.labels, places.layer, strict=True) if at == k)
        y += max(map(_height, inside)) + GAP
    return tops, max(0.3, y - GAP)


def _width(label: str) -> float:
    return 0.25 + LETTER * max(map(len, label.split("\n")))


def _height(label: str) -> float:
    return 0.15 + LINE * len(label.split("\n"))


def _reached(graph: "DecisionGraph", arcs: Iterable[tuple[int, int]]) -> list[int]:
    """Return the nodes on a way from a root; arcs and nodes run from parents to children."""
    reached = graph.forest[graph.variable] < 0
    for a, b in sorted(arcs):
        reached[b] |= reached[a]
    return [int(node) for node in np.flatnonzero(reached)]


def _node_label(graph: "DecisionGraph", node: int) -> str:
    v = int(graph.variable[node])
    row = graph.parameters_of(v)[node - int(graph.first_nodes[v])]
    lines = (f"{s} {p:.3f}" for s, p in zip(graph.states[v], row, strict=True))
    return "\n".join([graph.names[v], *lines])


def _states_told(graph: "DecisionGraph", node: int, states: list[str]) -> str:
    """Return the states of an arc, or nothing when every possible state takes it."""
    v = int(graph.variable[node])
    row = graph.parameters_of(v)[node - int(graph.first_nodes[v])]
    return "" if len(states) == int((row > 0).sum()) > 1 else ", ".join(states)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
