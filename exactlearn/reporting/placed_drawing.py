"""A drawing with the place of everything in it, in inches, the vertical axis downwards.

Places are those of :mod:`exactlearn.reporting.layered_layout`.
"""

from collections import defaultdict
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

Sides = dict[int, list[tuple[float, int]]]
"""The arcs that end at one side of each box, each after the place of its next point."""


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

    @property
    def right(self) -> float:
        """Right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Lower edge."""
        return self.top + self.height


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
        # The size of each box follows from its text.
        widths = []
        heights = []
        for label in drawing.labels:
            lines = label.split("\n")
            widths.append(0.25 + LETTER * max(map(len, lines)))
            heights.append(0.15 + LINE * len(lines))
        # Places of boxes, courses of arcs, and what is written on these.
        places = layered_layout(
            widths,
            drawing.arcs,
            space=0.3,
            lane=0.12,
        )
        layers = _layer_heights(places, heights)
        self.boxes: list[Box] = []
        for middle, layer, width, height in zip(
            places.x.tolist(),
            places.layer,
            widths,
            heights,
            strict=True,
        ):
            box = Box(
                left=middle - width / 2 + MARGIN,
                top=layers[layer][0],
                width=width,
                height=height,
            )
            self.boxes.append(box)
        courses = _courses(
            self.boxes,
            drawing.arcs,
            places,
            layers,
        )
        self.curves = [*map(_smooth, courses)]
        self.label_places = _label_places(self.curves, drawing.arc_labels)
        # The size is that of boxes and curves with a margin.
        right = [box.right for box in self.boxes]
        right += [x for x, _ in chain.from_iterable(self.curves)]
        bottom = [box.bottom for box in self.boxes]
        width = max(right, default=0.3) + MARGIN
        height = max(bottom, default=0.3) + MARGIN
        self.size: Point = (width, height)
        self.whole_size = self.size
        self.beside = None
        if drawing.beside is not None:
            self.beside = PlacedDrawing(drawing.beside)
            left, beside_height = self.beside.size
            self.whole_size = (left + width, max(beside_height, height))


def _layer_heights(places: LayeredLayout, heights: Sequence[float]) -> list[Point]:
    """Return top and bottom of each layer; arcs that run far sideways get more height."""
    n_layers = int(places.layer.max(initial=-1)) + 1
    # The farthest sideways run of an arc below each layer.
    runs = [0.0] * n_layers
    for course in places.courses:
        for (x0, layer), (x1, _) in pairwise(course):
            runs[layer] = max(runs[layer], abs(x1 - x0))
    # The tallest box of each layer.
    tallest = np.zeros(n_layers)
    np.maximum.at(tallest, places.layer, heights)
    layers: list[Point] = []
    top = MARGIN
    for height, run in zip(tallest.tolist(), runs, strict=True):
        bottom = top + height
        layers.append((top, bottom))
        gap = GAP + STEEPNESS * run
        top = bottom + min(MAX_GAP, gap)
    return layers


def _courses(
    boxes: Sequence[Box],
    arcs: Sequence[tuple[int, int]],
    places: LayeredLayout,
    layers: Sequence[Point],
) -> list[list[Point]]:
    """Return the points of each arc, from the box it leaves, straight through layers, to its end.

    The ends of arcs at one side of a box are spread in the order of the points they lead to.

    Parameters
    ----------
    boxes
        The placed boxes.
    arcs
        Arcs ``(upper, lower)``.
    places
        The course of each arc through the layers.
    layers
        Top and bottom of each layer.
    """
    # The arcs at the lower and at the upper side of a box, with the next point of each.
    tails: Sides = defaultdict(list)
    heads: Sides = defaultdict(list)
    for arc, (upper, lower) in enumerate(arcs):
        course = places.courses[arc]
        below_upper, _ = course[1]
        above_lower, _ = course[-2]
        tails[upper].append((below_upper, arc))
        heads[lower].append((above_lower, arc))
    tail_of_arc = _spread(boxes, tails)
    head_of_arc = _spread(boxes, heads)
    # Through a layer an arc runs straight down.
    courses = []
    for arc, (upper, lower) in enumerate(arcs):
        points = [(tail_of_arc[arc], boxes[upper].bottom)]
        for x, layer in places.courses[arc][1:-1]:
            points += [(x + MARGIN, y) for y in layers[layer]]
        points.append((head_of_arc[arc], boxes[lower].top))
        courses.append(points)
    return courses


def _spread(boxes: Sequence[Box], sides: Sides) -> dict[int, float]:
    """Return the horizontal place of each arc's end at one side of its box.

    The ends are spread around the middle of the side, and leave it free at both edges.

    Parameters
    ----------
    boxes
        The placed boxes.
    sides
        The arcs that end at a box, each after the place of its next point.
    """
    ends = {}
    for number, arcs in sides.items():
        box = boxes[number]
        step = min(0.14, 0.7 * box.width / len(arcs))
        span = step * (len(arcs) - 1)
        left = box.middle - span / 2
        for k, (_, arc) in enumerate(sorted(arcs)):
            ends[arc] = left + step * k
    return ends


def _smooth(points: Sequence[Point]) -> list[Point]:
    """Return the curve through points of rising height that turns back nowhere between two.

    Slopes are those of monotone cubic interpolation (Fritsch and Butland 1984), sideways by height.
    """
    pieces = []
    for (x0, y0), (x1, y1) in pairwise(points):
        height = y1 - y0
        pieces.append((x1 - x0) / height if height > 0 else 0.0)
    # The harmonic mean of two slopes of one sign; a course that turns is vertical there.
    slopes = [pieces[0] / 2]
    for upper, lower in pairwise(pieces):
        slope = 0.0
        if upper * lower > 0:
            slope = 2 * upper * lower / (upper + lower)
        slopes.append(slope)
    slopes.append(pieces[-1] / 2)
    # Between two points there are two control points, each a third of the height from its end.
    curve = [points[0]]
    knots = zip(points, slopes, strict=True)
    for ((x0, y0), slope0), ((x1, y1), slope1) in pairwise(knots):
        third = (y1 - y0) / 3
        curve += [
            (x0 + slope0 * third, y0 + third),
            (x1 - slope1 * third, y1 - third),
            (x1, y1),
        ]
    return curve


def _label_places(
    curves: Sequence[Sequence[Point]],
    labels: Sequence[str],
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
        place = next(free, choices[0])
        places.append(place)
        if label:
            written.append((*place, width))
    return places


def _is_free(
    place: Point,
    width: float,
    written: Sequence[tuple[float, float, float]],
) -> bool:
    """Return whether a label at a place covers none of those that are written."""
    x, y = place
    for written_x, written_y, written_width in written:
        distance = abs(x - written_x)
        is_beside = distance >= (width + written_width) / 2
        if not is_beside and abs(y - written_y) < LINE / 2:
            return False
    return True


def _on_curve(curve: Sequence[Point], t: float) -> Point:
    """Return the point at ``t``, from 0 to 1, of a curve's first piece."""
    s = 1 - t
    # The Bernstein polynomials of degree 3.
    weights = [
        s**3,
        3 * t * s**2,
        3 * t**2 * s,
        t**3,
    ]
    x, y = np.dot(weights, curve[:4]).tolist()
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
