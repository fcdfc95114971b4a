"""Missingness patterns drawn: a row for each pattern, a column for each variable."""

from typing import Any

import numpy as np

from exactlearn.data.missingness_patterns import MissingnessPatterns
from exactlearn.reporting.plot import painted

CELL = 0.22
"""Width and height of a cell in inches."""

MOST_VARIABLES = 80
"""Most variables that are drawn: those with the most missing cells."""


def patterns_figure(patterns: MissingnessPatterns, most: int, suffix: str) -> bytes:
    """Draw the most frequent patterns, with the rows of each and the rate of each variable.

    Parameters
    ----------
    patterns
        The patterns of a table.
    most
        Most patterns to draw.
    suffix
        One of ``.svg``, ``.png`` and ``.pdf``.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    """
    shown = np.sort(np.argsort(-patterns.rates, kind="stable")[:MOST_VARIABLES])
    missing, weights = patterns.missing[:most][:, shown], patterns.weights[:most]
    names = [patterns.names[v] for v in shown]
    rows, columns = missing.shape
    size = 2.4 + CELL * columns, 1.6 + CELL * rows + 0.085 * max(map(len, names), default=0)

    def paint(figure: Any) -> None:
        grid = figure.add_gridspec(
            2, 2, width_ratios=(CELL * columns, 1.4), height_ratios=(0.7, CELL * rows)
        )
        matrix = figure.add_subplot(grid[1, 0])
        matrix.imshow(missing, cmap="Blues", vmin=0, vmax=1.3, aspect="auto")
        matrix.set_xticks(range(columns), names, rotation=90, fontsize=8, parse_math=False)
        matrix.set_yticks([])
        matrix.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
        matrix.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
        matrix.grid(which="minor", color="white", linewidth=1.0)
        matrix.tick_params(which="both", length=0)
        matrix.set_ylabel("pattern (dark: missing)")
        above = figure.add_subplot(grid[0, 0], sharex=matrix)
        above.bar(range(columns), patterns.rates[shown], color="#33507a")
        above.tick_params(labelbottom=False, bottom=False)
        above.set_ylabel("missing")
        beside = figure.add_subplot(grid[1, 1], sharey=matrix)
        beside.barh(range(rows), weights, color="#33507a")
        beside.tick_params(labelleft=False, left=False)
        beside.set_xlabel("rows")
        for axes in (above, beside):
            axes.spines[["top", "right"]].set_visible(False)

    return painted(size, paint, suffix, instead="'.json'")
