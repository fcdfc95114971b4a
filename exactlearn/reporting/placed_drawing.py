"""A drawing with the place of everything in it, in inches, the vertical axis downwards.

Places are those of :mod:`exactlearn.reporting.layered_layout`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

import numpy as np

from exactlearn.errors import TooLargeError
from exactlearn.reporting.drawing import Drawing
from exactlearn.reporting.layered_layout import LayeredLayout, layered_layout

LETTER = 0.085
LINE = 0.19
MARGIN = 0.12
"""Width of a letter, height of a line, and free width around everything, in inches."""

SMALL_LETTER = 0.066
"""Width of a letter of an arc's label, in inches."""

GAP = 0.55
STEEPNESS = 0.06
MAX_GAP = 1.6
"""Least height between two layers, its growth by the sideways run of their arcs, and its most."""

MAX_BOXES = 400
"""Largest number of boxes that is drawn; nobody can read more."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A box: its left, top, width and height."""

    left: float
    top: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """Horizontal middle."""
        return self.left + self.width / 2


class PlacedDrawing:
    """A drawing with the place of everything in it.

    Attributes
    ----------
    drawing
        What is drawn.
    boxes
        Place of each box.
    curves
        The points of each arc's cubic Bézier curve: its start, and three for each piece.
    label_places
        The middle of each arc's label.
    size
        Width and height.
    beside
        What is drawn on the left of it, placed.
    whole_size
        Width and height with that.
    """

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.beside = None if drawing.beside is None else PlacedDrawing(drawing.beside)
        widths = [_width(label) for label in drawing.labels]
        heights = [0.15 + LINE * len(label.split("\n")) for label in drawing.labels]
        places = layered_layout(widths, drawing.arcs, space=0.3, lane=0.12)
        layers = _layer_heights(places, heights)
        self.boxes = [
            Box(float(x) - width / 2 + MARGIN, layers[k][0], width, height)
            for x, k, width, height in zip(
                places.x, places.layer, widths, heights, strict=True
            )
        ]
        courses = _courses(self.boxes, drawing.arcs, places, layers)
        self.curves = [_smooth(points) for points in courses]
        self.label_places = _label_places(self.curves, drawing.arc_labels)
        # The size is that of boxes and curves with a margin.
        right = [box.left + box.width for box in self.boxes]
        right += [x for x, _ in chain.from_iterable(self.curves)]
        bottom = [box.top + box.height for box in self.boxes]
        width = max(right, default=0.3) + MARGIN
        height = max(bottom, default=0.3) + MARGIN
        self.size: Point = (width, height)
        self.whole_size = self.size
        if self.beside is not None:
            left, beside_height = self.beside.size
            self.whole_size = (left + width, max(beside_height, height))


def _width(label: str) -> float:
    """Return the width of a box with a text."""
    return 0.25 + LETTER * max(map(len, label.split("\n")))


def _layer_heights(places: LayeredLayout, heights: Sequence[float]) -> list[Point]:
    """Return top and bottom of each layer; arcs that run far sideways get more height."""
    n_layers = int(places.layer.max(initial=-1)) + 1
    # The farthest sideways run of an arc below each layer.
    sideways = np.zeros(n_layers + 1)
    for course in places.courses:
        for (x0, k), (x1, _) in pairwise(course):
            sideways[k] = max(sideways[k], abs(x1 - x0))
    # The tallest box of each layer.
    tallest = np.zeros(n_layers)
    np.maximum.at(tallest, places.layer, heights)
    layers: list[Point] = []
    top = MARGIN
    for height, run in zip(tallest.tolist(), sideways[:-1].tolist(), strict=True):
        layers.append((top, top + height))
        top += height + min(MAX_GAP, GAP + STEEPNESS * run)
    return layers


def _courses(
    boxes: Sequence[Box],
    arcs: Sequence[tuple[int, int]],
    places: LayeredLayout,
    layers: Sequence[Point],
) -> list[list[Point]]:
    """Return the points of each arc, from the box it leaves, straight through layers, to its end.

    The ends of arcs at one side of a box are spread in the order of the points they lead to.
    """
    # The arcs at each side of a box, with the next point of each.
    sides: dict[tuple[int, bool], list[tuple[float, int]]] = {}
    for number, (a, b) in enumerate(arcs):
        inner = [x + MARGIN for x, _ in places.courses[number][1:-1]]
        passed = [boxes[a].middle, *inner, boxes[b].middle]
        sides.setdefault((a, True), []).append((passed[1], number))
        sides.setdefault((b, False), []).append((passed[-2], number))
    # Ends are spread around the middle of the side, which they leave free at both edges.
    ends: dict[tuple[bool, int], float] = {}
    for (box, is_tail), points in sides.items():
        step = min(0.14, 0.7 * boxes[box].width / len(points))
        left = boxes[box].middle - step * (len(points) - 1) / 2
        for k, (_, number) in enumerate(sorted(points)):
            ends[is_tail, number] = left + step * k
    # Through a layer an arc runs straight down.
    courses = []
    for number, (a, b) in enumerate(arcs):
        crossed = places.courses[number][1:-1]
        through = [(x + MARGIN, y) for x, k in crossed for y in layers[k]]
        tail = (ends[True, number], boxes[a].top + boxes[a].height)
        head = (ends[False, number], boxes[b].top)
        courses.append([tail, *through, head])
    return courses


def _smooth(points: Sequence[Point]) -> list[Point]:
    """Return the curve through points of rising height that turns back nowhere between two.

    Slopes are those of monotone cubic interpolation (Fritsch and Butland 1984), sideways by height.
    """
    pieces = []
    for (x0, y0), (x1, y1) in pairwise(points):
        pieces.append((x1 - x0) / (y1 - y0) if y1 > y0 else 0.0)
    # The harmonic mean of two slopes of one sign; a course that turns is vertical there.
    slopes = [pieces[0] / 2]
    for a, b in pairwise(pieces):
        slopes.append(2 * a * b / (a + b) if a * b > 0 else 0.0)
    slopes.append(pieces[-1] / 2)
    curve = [points[0]]
    for k, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
        # Two control points, each a third of the height from its end.
        third = (y1 - y0) / 3
        curve.append((x0 + slopes[k] * third, y0 + third))
        curve.append((x1 - slopes[k + 1] * third, y1 - third))
        curve.append((x1, y1))
    return curve


def _label_places(
    curves: Sequence[Sequence[Point]], labels: Sequence[str]
) -> list[Point]:
    """Return free places on the arcs' first pieces.

    The first choice is where the arcs of one box have parted; it may be taken where arcs cross.
    """
    written: list[tuple[float, float, float]] = []
    places = []
    for curve, label in zip(curves, labels, strict=True):
        # The places on the first piece of the arc, the best one first.
        width = 0.05 + SMALL_LETTER * len(label)
        choices = [_on_curve(curve, t) for t in (0.4, 0.3, 0.5, 0.6)]
        free = (place for place in choices if _is_free(place, width, written))
        x, y = next(free, choices[0])
        places.append((x, y))
        if label:
            written.append((x, y, width))
    return places


def _is_free(
    place: Point, width: float, written: Sequence[tuple[float, float, float]]
) -> bool:
    """Return whether a label at a place covers none of those that are written."""
    x, y = place
    return all(
        abs(x - u) >= (width + w) / 2 or abs(y - v) >= LINE / 2 for u, v, w in written
    )


def _on_curve(curve: Sequence[Point], t: float) -> Point:
    """Return a point of a curve's first piece."""
    s = 1 - t
    weights = np.array([s**3, 3 * t * s**2, 3 * t**2 * s, t**3])
    x, y = (weights @ np.array(curve[:4])).tolist()
    return x, y


@lru_cache(maxsize=8)
def placed(drawing: Drawing) -> PlacedDrawing:
    """Return the layout of a drawing, kept for other files and views of it.

    Raises
    ------
    TooLargeError
        When there are more than ``MAX_BOXES`` boxes.
    """
    if len(drawing.labels) > MAX_BOXES:
        raise TooLargeError(
            f"a drawing of {len(drawing.labels)} boxes is not readable (limit {MAX_BOXES}); the "
            "arcs are in the record, '-o result.json'"
        )
    return PlacedDrawing(drawing)
