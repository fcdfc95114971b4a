"""A drawing with the place of everything in it, in inches, the vertical axis downwards.

Places are those of :mod:`exactlearn.reporting.layered_layout`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

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
MOST_GAP = 1.6
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
        places = layered_layout(widths, drawing.arcs, space=0.3, lane=0.12)
        heights = [0.15 + LINE * len(label.split("\n")) for label in drawing.labels]
        tops = _layer_tops(places, heights)
        self.boxes = [
            Box(float(x) - width / 2 + MARGIN, tops[k][0], width, height)
            for x, k, width, height in zip(
                places.x, places.layer, widths, heights, strict=True
            )
        ]
        self.curves = [
            _smooth(points)
            for points in _courses(self.boxes, drawing.arcs, places, tops)
        ]
        self.label_places = _label_places(self.curves, drawing.arc_labels)
        right = [box.left + box.width for box in self.boxes]
        right += [x for curve in self.curves for x, _ in curve]
        low = [box.top + box.height for box in self.boxes]
        self.size: Point = (
            max(right, default=0.3) + MARGIN,
            max(low, default=0.3) + MARGIN,
        )
        width, height = (0.0, 0.0) if self.beside is None else self.beside.size
        self.whole_size: Point = width + self.size[0], max(height, self.size[1])


def _width(label: str) -> float:
    return 0.25 + LETTER * max(map(len, label.split("\n")))


def _layer_tops(places: LayeredLayout, heights: Sequence[float]) -> list[Point]:
    """Return where each layer begins and ends; arcs that run far sideways get more height."""
    tops: list[Point] = []
    y = MARGIN
    sideways = np.zeros(int(places.layer.max(initial=-1)) + 2)
    for course in places.courses:
        for (x0, k), (x1, _) in pairwise(course):
            sideways[k] = max(sideways[k], abs(x1 - x0))
    for k, run in enumerate(sideways[:-1]):
        inside = [h for h, at in zip(heights, places.layer, strict=True) if at == k]
        tops.append((y, y + max(inside, default=0.0)))
        y = tops[-1][1] + min(MOST_GAP, GAP + STEEPNESS * float(run))
    return tops


def _courses(
    boxes: Sequence[Box],
    arcs: Sequence[tuple[int, int]],
    places: LayeredLayout,
    tops: Sequence[Point],
) -> list[list[Point]]:
    """Return the points of each arc, from the box it leaves, straight through layers, to the other.

    The ends of arcs at one side of a box are spread in the order of where they lead.
    """
    inner = [[(x + MARGIN, k) for x, k in course[1:-1]] for course in places.courses]
    ends: dict[tuple[int, bool], list[tuple[float, int]]] = {}
    for number, (a, b) in enumerate(arcs):
        passed = [boxes[a].middle, *(x for x, _ in inner[number]), boxes[b].middle]
        ends.setdefault((a, True), []).append((passed[1], number))
        ends.setdefault((b, False), []).append((passed[-2], number))
    at: dict[tuple[bool, int], float] = {}
    for (box, leaves), own in ends.items():
        step = min(0.14, 0.7 * boxes[box].width / len(own))
        for k, (_, number) in enumerate(sorted(own)):
            at[leaves, number] = boxes[box].middle + step * (k - (len(own) - 1) / 2)
    return [
        [
            (at[True, number], boxes[a].top + boxes[a].height),
            *((x, y) for x, k in inner[number] for y in tops[k]),
            (at[False, number], boxes[b].top),
        ]
        for number, (a, b) in enumerate(arcs)
    ]


def _smooth(points: Sequence[Point]) -> list[Point]:
    """Return the curve through points of rising height that turns back nowhere between two.

    Slopes are those of monotone cubic interpolation (Fritsch and Butland 1984), sideways by height.
    """
    pieces = [
        (x1 - x0) / (y1 - y0) if y1 > y0 else 0.0
        for (x0, y0), (x1, y1) in pairwise(points)
    ]
    inner = [2 * a * b / (a + b) if a * b > 0 else 0.0 for a, b in pairwise(pieces)]
    slopes = [pieces[0] / 2, *inner, pieces[-1] / 2]
    curve = [points[0]]
    for ((x0, y0), (x1, y1)), (s0, s1) in zip(
        pairwise(points), pairwise(slopes), strict=True
    ):
        third = (y1 - y0) / 3
        curve += [
            (x0 + s0 * third, y0 + third),
            (x1 - s1 * third, y1 - third),
            (x1, y1),
        ]
    return curve


def _label_places(
    curves: Sequence[Sequence[Point]], labels: Sequence[str]
) -> list[Point]:
    """Return free places on the arcs' first pieces.

    The first choice is where the arcs of one box have parted; it may be taken where arcs cross.
    """
    written: list[tuple[float, float, float]] = []
    found = []
    for curve, label in zip(curves, labels, strict=True):
        width = 0.05 + SMALL_LETTER * len(label)
        choices = [_on_curve(curve, t) for t in (0.4, 0.3, 0.5, 0.6)]
        free = (
            (x, y)
            for x, y in choices
            if all(
                abs(x - u) >= (width + w) / 2 or abs(y - v) >= LINE / 2
                for u, v, w in written
            )
        )
        found.append(next(free, choices[0]))
        if label:
            written.append((*found[-1], width))
    return found


def _on_curve(curve: Sequence[Point], t: float) -> Point:
    """Return a point of a curve's first piece."""
    weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
    x, y = (
        sum(w * point[axis] for w, point in zip(weights, curve[:4], strict=True))
        for axis in (0, 1)
    )
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
