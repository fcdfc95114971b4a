"""Drawings as SVG, laid out by :mod:`exactlearn.reporting.layered_layout`, and as Graphviz text.

Curves and other figures are painted by Matplotlib (extra ``[plot]``), as SVG, PNG or PDF.
"""

import warnings
from collections.abc import Callable
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn.errors import MissingExtraError, TooLargeError
from exactlearn.reporting.drawing import Drawing, to_dot
from exactlearn.reporting.placed_drawing import PlacedDrawing
from exactlearn.reporting.svg_picture import svg_file

FIGURES = (".svg", ".dot")
"""Suffixes of drawings."""

MAX_BOXES = 400
"""Largest number of boxes that is drawn; nobody can read more."""


def draw(drawing: Drawing, suffix: str) -> bytes:
    """Draw a graph.

    Parameters
    ----------
    drawing
        The graph.
    suffix
        ``.svg`` or ``.dot``.

    Raises
    ------
    TooLargeError
        When there are more than ``MAX_BOXES`` boxes.
    """
    return (to_dot(drawing) if suffix == ".dot" else svg_file(placed(drawing))).encode()


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
            f"a drawing of {len(drawing.labels)} boxes is not readable (limit {MAX_BOXES}); "
            "write '.dot' and lay it out with a tool for large graphs"
        )
    return PlacedDrawing(drawing)


def write_figure(drawing: Drawing, path: Path) -> None:
    """Draw a graph into a file, in one step; its suffix is one of ``FIGURES``.

    Raises
    ------
    TooLargeError
        As :func:`draw`.
    OptionError
        When the file cannot be written.
    """
    atomic_write(path, draw(drawing, suffix_of(path)))


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
        Paints on a Matplotlib figure, which is laid out tightly.
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

    figure, buffer = Figure(figsize=size, layout="tight"), BytesIO()
    paint(figure)
    # A fixed salt and no date: the same graph gives the same bytes.
    with rc_context({"svg.hashsalt": "exactlearn"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
        figure.savefig(buffer, format=suffix.removeprefix("."), dpi=150, metadata=metadata)
    return buffer.getvalue()
