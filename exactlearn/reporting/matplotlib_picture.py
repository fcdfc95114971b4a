"""A placed drawing, painted with Matplotlib."""

from typing import Any

from exactlearn.reporting.drawing import FULL, SHADE, Drawing
from exactlearn.reporting.placed_drawing import PlacedDrawing, Point

CENTRED = {"ha": "center", "va": "center", "parse_math": False}


def paint(placed: PlacedDrawing, figure: Any) -> None:
    """Paint into a Matplotlib figure of the picture's size."""
    figure.set_layout_engine("none")
    whole = placed.whole_size
    if placed.beside is not None:
        _paint_at(placed.beside, figure, 0.0, whole)
    _paint_at(placed, figure, whole[0] - placed.size[0], whole)


def _paint_at(placed: PlacedDrawing, figure: Any, left: float, whole: Point) -> None:
    """Paint at the top of a figure, so many inches from its left."""
    width, height = placed.size
    axes = figure.add_axes(
        (left / whole[0], 1 - height / whole[1], width / whole[0], height / whole[1])
    )
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    for number in range(len(placed.curves)):
        _draw_arc(axes, placed, number)
    _draw_boxes(axes, placed, placed.drawing)


def _draw_boxes(axes: Any, placed: PlacedDrawing, drawing: Drawing) -> None:
    from matplotlib.patches import FancyBboxPatch

    reach = drawing.reach or (FULL,) * len(drawing.labels)
    for label, box, share in zip(drawing.labels, placed.boxes, reach, strict=True):
        axes.add_patch(
            FancyBboxPatch(
                (box.left, box.top),
                box.width,
                box.height,
                boxstyle="round,pad=0,rounding_size=0.08",
                facecolor=(*SHADE, float(share) ** 0.5),
                edgecolor="#33507a",
            )
        )
        axes.text(box.middle, box.top + box.height / 2, label, fontsize=9, **CENTRED)


def _draw_arc(axes: Any, placed: PlacedDrawing, number: int) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Curve

    drawing, curve = placed.drawing, placed.curves[number]
    arc, label = drawing.arcs[number], drawing.arc_labels[number]
    axes.add_patch(
        FancyArrowPatch(
            path=Curve(curve, [Curve.MOVETO, *[Curve.CURVE4] * (len(curve) - 1)]),
            arrowstyle="-" if arc in drawing.undirected else "-|>",
            mutation_scale=10,
            color="#5a5a5a",
            linewidth=drawing.width_of(arc),
            linestyle=(0, (4, 2)) if arc in drawing.reversible else "-",
        )
    )
    if label:
        x, y = placed.label_places[number]
        ground = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axes.text(x, y, label, fontsize=7, color="#7a3b12", bbox=ground, **CENTRED)
