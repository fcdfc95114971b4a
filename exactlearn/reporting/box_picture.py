"""Boxes in layers and the arcs between them, painted with Matplotlib.

Places are those of :mod:`exactlearn.reporting.layered_layout`; lengths are in inches.
"""

from itertools import pairwise
from typing import Any

from exactlearn.reporting.drawing import Drawing
from exactlearn.reporting.layered_layout import LayeredLayout, layered_layout

LETTER, LINE, GAP = 0.085, 0.19, 0.75
"""Width of a letter, height of a line, and free height between layers, in inches."""

SMALL_LETTER = 0.066
"""Width of a letter of an arc's label, in inches."""

SHADE, FULL = (0.6, 0.72, 0.88), 0.03
"""Colour of a node that every row reaches, and the reach that a network's boxes are shaded as;
fewer rows, less colour."""


class BoxPicture:
    """A drawing with the place of everything in it.

    Attributes
    ----------
    size
        Width and height, with what is drawn beside it.
    """

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self._beside = None if drawing.beside is None else BoxPicture(drawing.beside)
        self._widths = [_width(label) for label in drawing.labels]
        self._places = layered_layout(self._widths, drawing.arcs, space=0.35, lane=0.15)
        self._tops, height = _layer_tops(drawing, self._places)
        ends = [x + w / 2 for x, w in zip(self._places.x, self._widths, strict=True)]
        right = float(max(ends, default=0))
        right = max([right, *(x for course in self._places.courses for x, _ in course)])
        self._own = right + 0.5, height + 0.4
        left, side = (0.0, 0.0) if self._beside is None else self._beside.size
        self.size: tuple[float, float] = left + self._own[0], max(side, self._own[1])

    def paint(self, figure: Any) -> None:
        """Paint into a Matplotlib figure of this size."""
        if self._beside is not None:
            self._beside._paint_at(figure, 0.0, self.size)
        self._paint_at(figure, self.size[0] - self._own[0], self.size)

    def _paint_at(self, figure: Any, left: float, whole: tuple[float, float]) -> None:
        """Paint at the top of a figure, so many inches from its left."""
        width, height = self._own
        axes = figure.add_axes(
            (left / whole[0], 1 - height / whole[1], width / whole[0], height / whole[1])
        )
        axes.set(xlim=(-0.1, width - 0.1), ylim=(height - 0.2, -0.2))
        axes.set_axis_off()
        _draw_arcs(axes, self._drawing, self._places, self._tops)
        _draw_boxes(axes, self._drawing, self._places, self._tops, self._widths)


def _draw_boxes(
    axes: Any, drawing: Drawing, places: LayeredLayout, tops: list[float], widths: list[float]
) -> None:
    from matplotlib.patches import FancyBboxPatch

    reach = drawing.reach or (FULL,) * len(drawing.labels)
    for label, x, k, width, share in zip(
        drawing.labels, places.x, places.layer, widths, reach, strict=True
    ):
        height = _height(label)
        axes.add_patch(
            FancyBboxPatch(
                (x - width / 2, tops[k]),
                width,
                height,
                boxstyle="round,pad=0,rounding_size=0.08",
                facecolor=(*SHADE, float(share) ** 0.5),
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
    for arc, label, course in zip(drawing.arcs, drawing.arc_labels, places.courses, strict=True):
        points = [(x, tops[k]) for x, k in course]
        points[0] = (points[0][0], tops[places.layer[arc[0]]] + _height(drawing.labels[arc[0]]))
        vertices, codes = [points[0]], [Curve.MOVETO]
        for (x0, y0), (x1, y1) in pairwise(points):
            middle = (y0 + y1) / 2
            vertices += [(x0, middle), (x1, middle), (x1, y1)]
            codes += [Curve.CURVE4] * 3
        axes.add_patch(
            FancyArrowPatch(
                path=Curve(vertices, codes),
                arrowstyle="-" if arc in drawing.undirected else "-|>",
                mutation_scale=10,
                color="#5a5a5a",
                linewidth=0.9,
                linestyle="--" if arc in drawing.reversible else "-",
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
