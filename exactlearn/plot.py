"""Drawings as SVG, PNG or PDF, and as Graphviz text.

Matplotlib draws them (extra ``[plot]``) with the layout of :mod:`exactlearn.layered_layout`; where
Graphviz's program ``dot`` is installed, it does.
"""

import shutil
import warnings
from collections.abc import Callable
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

from exactlearn.drawing import Drawing, to_dot
from exactlearn.errors import MissingExtraError, TooLargeError
from exactlearn.formats.atomic import atomic_write
from exactlearn.formats.text_file import suffix_of
from exactlearn.layered_layout import LayeredLayout, layered_layout

FIGURES = (".svg", ".png", ".pdf", ".dot")
"""Suffixes of drawings."""

MAX_BOXES = 400
"""Largest number of boxes that is drawn; nobody can read more."""

LETTER, LINE, GAP = 0.085, 0.19, 0.75
"""Width of a letter, height of a line, and free height between layers, in inches."""

SMALL_LETTER = 0.066
"""Width of a letter of an arc's label, in inches."""


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


def write_figure(drawing: Drawing, path: Path) -> None:
    """Draw a graph into a file, in one step; its suffix is one of ``FIGURES``.

    Raises
    ------
    MissingExtraError, TooLargeError
        As :func:`draw`.
    OptionError
        When the file cannot be written.
    """
    atomic_write(path, draw(drawing, suffix_of(path)))


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


def require_matplotlib(instead: str) -> None:
    """Refuse to draw where Matplotlib is not installed; ``instead`` says what may be written.

    Raises
    ------
    MissingExtraError
        When it is not.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            f"drawing needs Matplotlib: pip install 'exactlearn[plot]', or write {instead}"
        ) from None


def painted(
    size: tuple[float, float], paint: Callable[[Any], None], suffix: str, instead: str = "'.dot'"
) -> bytes:
    """Return a figure that Matplotlib makes; the same painting gives the same bytes.

    Parameters
    ----------
    size
        Width and height in inches.
    paint
        Paints on a Matplotlib figure.
    suffix
        One of ``.svg``, ``.png`` and ``.pdf``.
    instead
        What to write where Matplotlib is not installed, for the message.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    """
    require_matplotlib(instead)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    buffer = BytesIO()
    # A fixed salt and no date: the same graph gives the same bytes.
    with rc_context({"svg.hashsalt": "exactlearn"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure = Figure(figsize=size)
        paint(figure)
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
        figure.savefig(buffer, format=suffix.removeprefix("."), dpi=150, metadata=metadata)
    return buffer.getvalue()


def _draw_with_matplotlib(drawing: Drawing, suffix: str) -> bytes:
    widths = [_width(label) for label in drawing.labels]
    places = layered_layout(widths, drawing.arcs, space=0.35, lane=0.15)
    tops, height = _layer_tops(drawing, places)
    right = float(max((x + w / 2 for x, w in zip(places.x, widths, strict=True)), default=0))
    right = max([right, *(x for course in places.courses for x, _ in course)])

    def paint(figure: Any) -> None:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-0.1, right + 0.4), ylim=(height + 0.2, -0.2))
        axes.set_axis_off()
        _draw_arcs(axes, drawing, places, tops)
        _draw_boxes(axes, drawing, places, tops, widths)

    return painted((right + 0.5, height + 0.4), paint, suffix)


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
    from matplotlib.path import Path as Curve

    written: list[tuple[float, float, float]] = []
    for (a, _), label, course in zip(drawing.arcs, drawing.arc_labels, places.courses, strict=True):
        points = [(x, tops[k]) for x, k in course]
        points[0] = (points[0][0], tops[places.layer[a]] + _height(drawing.labels[a]))
        vertices, codes = [points[0]], [Curve.MOVETO]
        for (x0, y0), (x1, y1) in pairwise(points):
            middle = (y0 + y1) / 2
            vertices += [(x0, middle), (x1, middle), (x1, y1)]
            codes += [Curve.CURVE4] * 3
        axes.add_patch(
            FancyArrowPatch(
                path=Curve(vertices, codes),
                arrowstyle="-|>",
                mutation_scale=10,
                color="#5a5a5a",
                linewidth=0.9,
            )
        )
        if label:
            written.append(_label_place(points[0], points[1], label, written))
            _draw_arc_label(axes, *written[-1][:2], label)


def _label_place(
    start: tuple[float, float],
    end: tuple[float, float],
    label: str,
    written: list[tuple[float, float, float]],
) -> tuple[float, float, float]:
    """Return a free place on the arc's first piece, as its middle and width.

    The first choice is where the arcs of one box have parted; it may be taken where arcs cross.
    """
    (x0, y0), (x1, y1) = start, end
    width = 0.05 + SMALL_LETTER * len(label)
    found = []
    for t in (0.4, 0.3, 0.5, 0.6):
        along = 3 * t**2 - 2 * t**3  # the curve's own progress, sideways and down
        down = 1.5 * t - 1.5 * t**2 + t**3
        x, y = x0 + along * (x1 - x0), y0 + down * (y1 - y0)
        found.append((x, y, width))
        if all(abs(x - u) >= (width + w) / 2 or abs(y - v) >= LINE / 2 for u, v, w in written):
            return found[-1]
    return found[0]


def _draw_arc_label(axes: Any, x: float, y: float, label: str) -> None:
    axes.text(
        x,
        y,
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
