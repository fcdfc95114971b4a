"""The trace of a search: score and bound over time, as a table and as a figure."""

from collections.abc import Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any

from exactlearn.augmentation.result import Augmentation
from exactlearn.reporting.plot import painted
from exactlearn.reporting.records_file import write_records
from exactlearn.solvers.result import Result
from exactlearn.structure.equivalence_search import EquivalenceSearch

HEADROOM = 1.5
"""Most height over the scores and the last bound in a figure, as a multiple of theirs."""

COLUMNS = ("seconds", "score", "bound")
"""Columns of the table: one row for each improvement."""


Learned = Result | Augmentation | EquivalenceSearch
"""The result of a search."""


def write_trace(result: Learned, path: Path) -> None:
    """Write the trace of a search in the format of the suffix, in one step.

    Parameters
    ----------
    result
        The result of the search.
    path
        A table (``.csv``), a list of records (``.json``), or a figure (``.svg``, ``.png``,
        ``.pdf``).

    Raises
    ------
    OptionError
        When the suffix is another, or the file cannot be written.
    MissingExtraError
        When a figure is wanted and Matplotlib is not installed.
    """
    records = [dict(zip(COLUMNS, point, strict=True)) for point in result.trace]
    write_records(path, COLUMNS, records, lambda suffix: trace_figure(result, suffix))


def trace_figure(result: Learned, suffix: str) -> bytes:
    """Draw score and bound against time, the gap between them shaded.

    Parameters
    ----------
    result
        The result of a search.
    suffix
        One of ``.svg``, ``.png`` and ``.pdf``.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    """
    seconds, scores, bounds = _lines(result)

    def paint(figure: Any) -> None:
        axes = figure.add_subplot()
        axes.fill_between(seconds, scores, bounds, step="post", color="#eef3fa", label="gap")
        axes.step(seconds, bounds, where="post", color="#7a3b12", linewidth=1.4, label="bound")
        axes.step(seconds, scores, where="post", color="#33507a", linewidth=1.4, label="score")
        axes.set(xlabel="seconds", ylabel="score", title=_title(result))
        # Scores are large numbers that differ little: print them whole.
        axes.ticklabel_format(axis="y", style="plain", useOffset=False)
        axes.margins(x=0.01)
        low, high = shown_range(result.trace)
        if high > low:
            axes.set_ylim(low - 0.04 * (high - low), high + 0.04 * (high - low))
        if seconds:
            axes.legend(loc="best", frameon=False)

    return painted((7.0, 4.2), paint, suffix, instead="'.csv'")


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


def _title(result: Learned) -> str:
    if not result.trace:
        return "nothing was found"
    return f"{result.status}, gap {100 * result.gap:.3g} %"
