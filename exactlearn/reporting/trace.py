"""The trace of a search: score and bound over time, as a table and as a figure."""

import csv
from collections.abc import Sequence
from io import StringIO
from math import isfinite, nan
from pathlib import Path
from typing import Any

from exactlearn._runtime.files import atomic_write
from exactlearn.augmentation.result import Augmentation
from exactlearn.reporting.plot import painted
from exactlearn.solvers.result import Result
from exactlearn.structure.equivalence_search import EquivalenceSearch

HEADROOM = 1.5
"""Most height over the scores and the last bound in a figure, as a multiple of theirs."""

COLUMNS = ("seconds", "score", "bound")
"""Columns of the table: one row for each improvement."""

Learned = Result | Augmentation | EquivalenceSearch
"""The result of a search."""


def write_trace(result: Learned, folder: Path) -> None:
    """Write the trace of a search into a folder: the table ``trace.csv``, then ``trace.svg``.

    Raises
    ------
    OptionError
        When a file cannot be written.
    MissingExtraError
        When Matplotlib is not installed, once the table is written.
    """
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *result.trace])
    atomic_write(folder / "trace.csv", text.getvalue())
    atomic_write(folder / "trace.svg", _figure(result))


def _figure(result: Learned) -> bytes:
    """Draw score and bound against time, the gap between them shaded."""
    seconds, scores, bounds = _lines(result)
    low, high = shown_range(result.trace)
    title = (
        f"{result.status}, gap {100 * result.gap:.3g} %" if result.trace else "nothing was found"
    )

    def paint(figure: Any) -> None:
        axes = figure.add_subplot()
        axes.fill_between(seconds, scores, bounds, step="post", color="#eef3fa", label="gap")
        axes.step(seconds, bounds, where="post", color="#7a3b12", linewidth=1.4, label="bound")
        axes.step(seconds, scores, where="post", color="#33507a", linewidth=1.4, label="score")
        axes.set(xlabel="seconds", ylabel="score", title=title)
        # Scores are large numbers that differ little: print them whole.
        axes.ticklabel_format(axis="y", style="plain", useOffset=False)
        axes.margins(x=0.01)
        if high > low:
            axes.set_ylim(low - 0.04 * (high - low), high + 0.04 * (high - low))
        if seconds:
            axes.legend(loc="best", frameon=False)

    return painted((7.0, 4.2), paint)


def shown_range(points: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Return the least and the greatest value that a figure shows: not bounds far above all else.

    Examples
    --------
    >>> shown_range([(1.0, -100.0, 0.0), (2.0, -98.0, -97.0), (3.0, -98.0, -98.0)])
    (-100.0, -95.0)
    """
    scores, bounds = ([p[k] for p in points if isfinite(p[k])] for k in (1, 2))
    low, high = (of([*scores, *bounds], default=0.0) for of in (min, max))
    reached = max([*scores, *bounds[-1:]], default=high)
    return low, min(high, reached + HEADROOM * (reached - low)) if reached > low else high


def _lines(result: Learned) -> list[list[float]]:
    """Return the trace by columns, its last state drawn on to the end of the search.

    Infinite values become NaN, which is not drawn.
    """
    points = list(result.trace)
    if points and result.seconds > points[-1][0]:
        points.append((result.seconds, result.score, result.bound))
    return [[p[k] if isfinite(p[k]) else nan for p in points] for k in range(len(COLUMNS))]
