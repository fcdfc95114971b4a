"""A placed drawing as SVG: a file of its own, or a part of a page.

Text is escaped by :func:`html.escape`. Classes (``arc``, ``box``, ``label``) let a page give
colours of its own; those written here are readable on light and dark grounds.
"""

from collections.abc import Iterator
from html import escape
from math import hypot
from pathlib import Path

from exactlearn._runtime.files import atomic_write
from exactlearn.reporting.drawing import FULL, SHADE, Drawing
from exactlearn.reporting.placed_drawing import Box, PlacedDrawing, Point, placed

FIGURES = (".svg",)
"""Suffixes of drawings."""

PIXELS = 96
"""Pixels of an inch."""

INSIDE = 9.0
BAR = 15.0
"""Free width at the sides of a line with a bar, and the bar's height, in pixels."""

BLUE = "#a9c6ea"
OBSERVED = "#fbdfae"
"""Colours of bars, and of the boxes of observed variables."""

BOLD = ' font-weight="600"'

HEAD = 7.5, 3.2
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


def svg_file(picture: PlacedDrawing, style: str = "") -> str:
    """Return the picture as a file, what is drawn beside it on its left."""
    parts = [] if picture.beside is None else [svg_group(picture.beside)]
    left = _px(picture.whole_size[0] - picture.size[0])
    parts.append(f'<g transform="translate({left} 0)">{svg_group(picture)}</g>')
    attributes = 'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif"'
    attributes += f' style="{style}"' if style else ""
    return (
        svg_element(picture.whole_size, attributes, "\n".join(["", *parts, ""])) + "\n"
    )


def svg_element(size: Point, attributes: str, content: str) -> str:
    """Return an ``svg`` element whose content has a size in inches."""
    width, height = (f"{_px(length):.0f}" for length in size)
    return (
        f'<svg {attributes} viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-size="12">{content}</svg>'
    )


def svg_group(picture: PlacedDrawing) -> str:
    """Return the arcs, boxes and labels as one group.

    Each box has its number as ``data-box``, each arc its two ends as ``data-arc``.
    """
    drawing = picture.drawing
    arcs = (_arc(drawing, number, curve) for number, curve in enumerate(picture.curves))
    boxes = (_box(drawing, number, box) for number, box in enumerate(picture.boxes))
    return "\n".join(["<g>", *arcs, *boxes, *_labels(picture), "</g>"])


def _arc(drawing: Drawing, number: int, curve: list[Point]) -> str:
    arc = a, b = drawing.arcs[number]
    points = [(_px(x), _px(y)) for x, y in curve]
    (x0, y0), (x1, y1) = points[-2:]
    far = hypot(x1 - x0, y1 - y0) or 1.0
    along = (x1 - x0) / far
    across = (y1 - y0) / far
    head = ""
    if arc not in drawing.undirected:
        long, half = (size * max(1.0, drawing.width_of(arc) / 2) for size in HEAD)
        back = x1 - long * along, y1 - long * across
        points[-1] = back
        sides = [
            (back[0] - sign * half * across, back[1] + sign * half * along)
            for sign in (1, -1)
        ]
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in ((x1, y1), *sides))
        head = f'<polygon points="{corners}" fill="#6b7280"/>'
    path = f"M{_pair(points[0])}C" + " ".join(map(_pair, points[1:]))
    dashed = ' stroke-dasharray="5 3"' if arc in drawing.reversible else ""
    return (
        f'<g class="arc" data-arc="{a} {b}"><title>{escape(drawing.arc_title(number))}</title>'
        f'<path d="{path}" fill="none" stroke="#6b7280" '
        f'stroke-width="{drawing.width_of(arc):.2f}"{dashed}/>{head}</g>'
    )


def _box(drawing: Drawing, number: int, box: Box) -> str:
    x, y, width, height = map(_px, (box.left, box.top, box.width, box.height))
    lines = drawing.labels[number].split("\n")
    shares = drawing.shares.get(number, ())
    bars = ""
    texts = ""
    for k, line in enumerate(lines):
        middle = y + height * (k + 0.5) / len(lines)
        bold = BOLD if k == 0 < len(lines) - 1 else ""
        if k == 0 or not shares:
            texts += _tspan(x + width / 2, middle, line, bold)
            continue
        state, _, value = line.rpartition(": ")
        texts += _tspan(x + INSIDE, middle, state, ' text-anchor="start"')
        texts += _tspan(x + width - INSIDE, middle, value, ' text-anchor="end"')
        bars += (
            f'<rect class="share" x="{x + INSIDE / 2:.1f}" y="{middle - BAR / 2:.1f}" '
            f'width="{(width - INSIDE) * shares[k - 1]:.1f}" height="{BAR}" fill="{BLUE}"/>'
        )
    reach = drawing.reach[number] if drawing.reach else FULL
    title = f"<title>reached {reach:.4g}</title>" if drawing.reach else ""
    shade = ",".join(f"{255 * (1 - (1 - part) * reach**0.5):.0f}" for part in SHADE)
    fill = OBSERVED if number in drawing.observed else f"rgb({shade})"
    return (
        f'<g class="box" data-box="{number}">{title}<rect x="{x:.1f}" y="{y:.1f}" '
        f'width="{width:.1f}" height="{height:.1f}" rx="6" fill="{fill}" stroke="#33507a"/>{bars}'
        f'<text text-anchor="middle" fill="#111827">{texts}</text></g>'
    )


def _tspan(x: float, middle: float, text: str, attributes: str) -> str:
    return f'<tspan x="{x:.1f}" y="{middle + 4:.1f}"{attributes}>{escape(text)}</tspan>'


def _labels(picture: PlacedDrawing) -> Iterator[str]:
    for label, (x, y) in zip(
        picture.drawing.arc_labels, picture.label_places, strict=True
    ):
        if label:
            yield (
                f'<text class="label" x="{_px(x):.1f}" y="{_px(y) + 3:.1f}" text-anchor="middle" '
                f'font-size="10" fill="#7a3b12" stroke="#fff" stroke-width="3" '
                f'paint-order="stroke">{escape(label)}</text>'
            )


def _px(inches: float) -> float:
    return PIXELS * inches


def _pair(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
