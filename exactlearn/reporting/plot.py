"""Drawings as SVG files; curves are painted by Matplotlib (extra ``[plot]``), as SVG, too."""

import warnings
from collections.abc import Callable
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

from exactlearn._runtime.files import atomic_write
from exactlearn.errors import MissingExtraError, TooLargeError
from exactlearn.reporting.drawing import Drawing
from exactlearn.reporting.placed_drawing import PlacedDrawing
from exactlearn.reporting.svg_picture import svg_file

FIGURES = (".svg",)
"""Suffixes of drawings."""

MAX_BOXES = 400
"""Largest number of boxes that is drawn; nobody can read more."""


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


def write_figure(drawing: Drawing, path: Path) -> None:
    """Draw a graph into an SVG file, in one step.

    Raises
    ------
    TooLargeError
        When there are more than ``MAX_BOXES`` boxes.
    OptionError
        When the file cannot be written.
    """
    atomic_write(path, svg_file(placed(drawing)).encode())


def painted(size: tuple[float, float], paint: Callable[[Any], None]) -> bytes:
    """Return an SVG figure that Matplotlib makes; the same painting gives the same bytes.

    Parameters
    ----------
    size
        Width and height in inches.
    paint
        Paints on a Matplotlib figure, which is laid out tightly.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "curves need Matplotlib: pip install 'exactlearn[plot]'; their points are in trace.csv"
        ) from None
    figure, buffer = Figure(figsize=size, layout="tight"), BytesIO()
    paint(figure)
    # A fixed salt and no date: the same graph gives the same bytes.
    with rc_context({"svg.hashsalt": "exactlearn"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
