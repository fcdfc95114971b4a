"""A placed drawing as SVG: a file of its own, or a part of a page.

The elements stand in ``picture.html``, which escapes every text. Classes (``arc``, ``box``,
``label``) let a page give colours of its own; those written here are readable on light and dark
grounds.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup

from exactlearn._runtime.files import atomic_write
from exactlearn.graphs.partially_directed import Arc
from exactlearn.reporting.drawing import FULL, SHADE, Drawing
from exactlearn.reporting.placed_drawing import PlacedDrawing, Point, placed
from exactlearn.reporting.templates import macros

FIGURES = (".svg",)
"""Suffixes of drawings."""

PIXELS = 96
"""Pixels of an inch."""

INSIDE = 9.0
BAR = 15.0
"""Free width at the sides of a line with a bar, and the bar's height, in pixels."""

OBSERVED = "#fbdfae"
"""Colour of the boxes of observed variables."""

HEAD = np.array([7.5, 3.2])
"""Length and half the width of an arrow's head, in pixels; thick arcs have larger ones."""


def write_figure(drawing: Drawing, path: Path) -> None:
    """Draw a graph into an SVG file, in one step.

    Raises
    ------
    TooLargeError
        When there are more than ``MAX_BOXES`` boxes.
    OptionError
        When the file cannot be written.
    """
    atomic_write(path, svg_file(placed(drawing)))


def svg_file(picture: PlacedDrawing, style: str = "") -> Markup:
    """Return the picture as a file, what is drawn beside it on its left."""
    groups = [svg_group(part) for part in (picture, picture.beside) if part is not None]
    text: Markup = macros("picture.html").file(picture, groups, style, PIXELS)
    return text


def svg_group(picture: PlacedDrawing) -> Markup:
    """Return the arcs, boxes and labels as one group.

    Each box has its number as ``data-box``, each arc its two ends as ``data-arc``.
    """
    drawing = picture.drawing
    arrows = [
        _arrow(drawing, arc, curve)
        for arc, curve in zip(drawing.arcs, picture.curves, strict=True)
    ]
    n_boxes = len(drawing.labels)
    fills = [_fill(drawing, box) for box in range(n_boxes)]
    group: Markup = macros("picture.html").group(
        picture,
        arrows,
        fills,
        PIXELS,
        INSIDE,
        BAR,
    )
    return group


def _arrow(
    drawing: Drawing,
    arc: Arc,
    curve: Sequence[Point],
) -> tuple[list[str], list[str]]:
    """Return the points of an arc's curve and the corners of its head, if it has one."""
    points = PIXELS * np.array(curve)
    if arc in drawing.undirected:
        return _pairs(points), []
    # The head points along the end of the curve.
    end = points[-1].copy()
    along = end - points[-2]
    along /= np.hypot(*along) or 1.0
    scale = max(1.0, drawing.width_of(arc) / 2)
    length, half_width = HEAD * scale
    # The curve ends at the back of the head.
    back = end - length * along
    points[-1] = back
    x, y = along
    sideways = half_width * np.array([-y, x])
    corners = [
        end,
        back + sideways,
        back - sideways,
    ]
    return _pairs(points), _pairs(corners)


def _pairs(points: Sequence[np.ndarray] | np.ndarray) -> list[str]:
    """Return points as pairs of numbers."""
    return [f"{x:.1f},{y:.1f}" for x, y in points]


def _fill(drawing: Drawing, box: int) -> str:
    """Return the colour of a box: the more rows reach it, the darker."""
    if box in drawing.observed:
        return OBSERVED
    reach = drawing.reach[box] if drawing.reach else FULL
    # The root makes small probabilities visible.
    colour = 1 - np.subtract(1, SHADE) * reach**0.5
    parts = [f"{part:.0f}" for part in 255 * colour]
    return f"rgb({','.join(parts)})"
