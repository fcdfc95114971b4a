"""Frames of a grid: means over the repetitions beside the published figures; and pictures."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import cycle
from math import isfinite, log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import ttest_rel

from experiments.record import Record, Row
from experiments.runner import Grid, Run

KEYS = ["case", "method"]

BESIDE = ("{}", "{} ±", "paper {}")
"""The columns of a figure: mean, standard error, as published."""

LEAST_PAIRS = 3
"""Fewest pairs that are tested: two differences may be alike by chance."""

Tables = dict[str, pd.DataFrame]
"""Tables by their titles, or curves by their names."""


def frame_of(grid: Grid, runs: list[Run], record: Record) -> pd.DataFrame:
    """Return the rows of all runs that are done.

    Those of a pool's cases stand once more under its name, where all cases of the repetition are
    done: a mean over the values that cells had is not that of one value.
    """
    unfinished = {
        (run.pool, run.arguments["seed"], run.arguments["method"])
        for run in record.left(runs)
    }

    def cases_of(run: Run, row: Row) -> list[str]:
        """Return the cases that a row counts in: that of its run, and the pool's."""
        key = run.pool, run.arguments["seed"], run.arguments["method"]
        is_pooled = run.pool != "" and ("error" in row or key not in unfinished)
        return [run.case, run.pool] if is_pooled else [run.case]

    # Methods stand in the grid's order, whichever repetitions of each are done.
    places: dict[tuple[str, str], int] = {}
    for place, run in enumerate(runs):
        places.setdefault((run.case, run.arguments["method"]), place)
    ordered = sorted(runs, key=lambda run: places[run.case, run.arguments["method"]])
    rows = [
        {
            **run.arguments,
            **{key: value for key, value in row.items() if key != "label"},
            "case": case,
            "method": ", ".join(
                filter(None, (run.arguments["method"], row.get("label")))
            ),
        }
        for run in ordered
        for row in record.done.get(run.key, ())
        for case in cases_of(run, row)
    ]
    frame = pd.DataFrame(rows)
    if len(frame):
        cases = list(
            dict.fromkeys([run.case for run in runs] + [run.pool for run in runs])
        )
        frame = frame.sort_values(
            "case", key=lambda own: own.map(cases.index), kind="stable"
        )
    return frame


def comparable(
    frame: pd.DataFrame,
    row: Sequence[str] = ("case",),
    unit: Sequence[str] = ("seed",),
    method: str = "method",
) -> pd.DataFrame:
    """Return the results on tables that all methods have, so that means are over the same ones.

    A method without any result in a row of the printed table leaves out nothing of the others.

    Parameters
    ----------
    frame
        As of :func:`frame_of`.
    row, unit, method
        Columns: of what is averaged, of the tables that it is averaged over, and of the method.

    Examples
    --------
    >>> frame = pd.DataFrame({"case": "x", "seed": [0, 1, 0], "method": list("aab"), "value": 1})
    >>> comparable(frame)["seed"].tolist()
    [0, 0]
    """
    done = frame[frame["error"].isna()] if "error" in frame else frame
    n_methods = done.groupby(list(row))[method].transform("nunique")
    n_present = done.groupby([*row, *unit])[method].transform("nunique")
    return done[n_present == n_methods]


def summary(grid: Grid, frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each case and method.

    Of each column of the grid the mean over the repetitions that all methods of the case have and
    its standard error, ``n`` such repetitions, the published figure, and for ``compare`` how far
    the first method is ahead, with the p-value of a paired t-test over the repetitions.
    """
    rows = frame.groupby(KEYS, sort=False).size().index
    columns = [
        c
        for c in grid.content["columns"]
        if c in frame and frame[c].dtype.kind in "fiub"
    ]
    texts = [c for c in grid.content["columns"] if c in frame and c not in columns]
    each = comparable(frame).groupby([*KEYS, "seed"], sort=False)[columns].mean()
    groups = each.groupby(KEYS, sort=False)
    found = groups.mean().reindex(rows)
    found.insert(0, "n", groups.size().reindex(rows, fill_value=0))
    errors = groups.sem().add_suffix(" ±")
    for c in texts:
        found[c] = frame.groupby(KEYS, sort=False)[c].first()
    if "error" in frame:
        found["error"] = frame.groupby(KEYS, sort=False)["error"].first()
    found = found.join(errors).join(_published(grid, found.index))
    beside = [form.format(c) for c in grid.content["columns"] for form in BESIDE]
    found = found[[c for c in ("n", *beside, "error") if c in found]]
    key = grid.content.get("compare")
    if key in each:
        tests = {where: _ahead(each[key], *where) for where in found.index}
        found["ahead"] = [tests[where][0] for where in found.index]
        found["p"] = [tests[where][1] for where in found.index]
    return found.dropna(axis="columns", how="all")


def _published(grid: Grid, index: pd.Index) -> pd.DataFrame:
    """Return the published figures; ``bits`` names those that are printed in nats."""
    published = dict(grid.content.get("published", {}))
    names = published.pop("columns", [])
    bits = published.pop("bits", [])
    rows = []
    for case, method in index:
        values = dict(zip(names, published.get(case, {}).get(method, []), strict=False))
        rows.append(
            {f"paper {k}": v * log(2) if k in bits else v for k, v in values.items()}
        )
    return pd.DataFrame(rows, index, [f"paper {name}" for name in names])


def _ahead(each: "pd.Series[float]", case: str, method: str) -> tuple[float, float]:
    """Return the mean by which the first method of a case is ahead, and the p-value."""
    wide = each[each.index.get_level_values("case") == case].unstack(
        "method", sort=False
    )
    if method not in wide:  # every run failed
        return np.nan, np.nan
    pairs = wide[[wide.columns[0], method]].dropna().to_numpy()
    return paired(pairs[:, 0], pairs[:, -1])


def paired(
    ours: Any, theirs: Any, alternative: str = "two-sided", test: Any = ttest_rel
) -> tuple[float, float]:
    """Return the mean difference of paired numbers, and the p-value of a test.

    Where all differences are the same it is that of their signs, two-sided, or 1 for none.

    Examples
    --------
    >>> from scipy.stats import wilcoxon
    >>> paired([2.0, 3.0, 4.0, 6.0], [1.0, 1.0, 1.0, 1.0], "greater", wilcoxon)
    (2.75, 0.0625)
    """
    differences = np.subtract(ours, theirs)
    n = len(differences)
    mean = float(differences.mean()) if len(differences) else np.nan
    if n < LEAST_PAIRS:
        return mean, np.nan
    if not np.ptp(differences):
        return mean, 2.0 ** (1 - n) if differences.any() else 1.0
    return mean, float(test(ours, theirs, alternative=alternative).pvalue)


def tables(grid: Grid, frame: pd.DataFrame) -> Tables:
    """Return the summary, unless the grid has none, and what the paper's module adds to it."""
    found = {"": summary(grid, frame)} if grid.content.get("summary", True) else {}
    if after := grid.content.get("after"):
        found |= getattr(import_module(f"experiments.{grid.module}"), after)(
            grid, frame
        )
    return found


def printed(grid: Grid, table: pd.DataFrame) -> str:
    """Return a table as text, errors beside their means."""
    digits = {"n": 0, **grid.content["columns"]}
    shown = {}
    for column in (name for name in map(str, table) if not name.endswith(" ±")):
        places = digits.get(column.removeprefix("paper "), 3)
        texts = [_number(value, places) for value in table[column]]
        if f"{column} ±" in table:
            errors = [_number(value, places) for value in table[f"{column} ±"]]
            texts = [
                f"{a} ± {b}" if b else a for a, b in zip(texts, errors, strict=True)
            ]
        shown[column] = texts
    return pd.DataFrame(shown, table.index).to_string(sparsify=False)


def figures_of(grid: Grid, row: Mapping[str, Any]) -> str:
    """Return the figures of a row in a line, or why there are none.

    Examples
    --------
    >>> figures_of(Grid("toy", {"columns": {"accuracy": 1}}), {"accuracy": 81.666, "cells": 3})
    'accuracy 81.7'
    """
    if "error" in row:
        return str(row["error"])
    columns = grid.content["columns"]
    if columns.keys().isdisjoint(row):
        columns = {name: 3 for name, value in row.items() if isinstance(value, float)}
    texts = {name: _number(row.get(name), n) for name, n in columns.items()}
    return ", ".join(f"{name} {text}" for name, text in texts.items() if text)


def _number(value: Any, digits: int) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None or not isfinite(value) else f"{value:,.{digits}f}"


def write(
    folder: Path, grid: Grid, text: str, found: Tables, frame: pd.DataFrame
) -> None:
    """Write the text, each table as CSV, and the figures, where Matplotlib is installed."""
    (folder / f"{grid.name}.txt").write_text(text, "utf-8")
    for title, table in found.items():
        table.to_csv(folder / f"{grid.name}{title and '-'}{title}.csv")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    for figure in grid.content.get("figures", ()):
        for name, curves in _curves(grid, figure, frame):
            picture = Figure(figsize=(7.0, 4.2), layout="constrained")
            axes = picture.add_subplot()
            for (method, points), marker in zip(
                curves.items(), cycle("o^vDP*X"), strict=False
            ):
                axes.plot(
                    points[figure["x"]], points[figure["y"]], f"{marker}-", label=method
                )
            scales = {
                "xscale": figure.get("scale", "log"),
                "yscale": figure.get("yscale", "linear"),
            }
            axes.set(xlabel=figure["x"], ylabel=figure["y"], **scales)
            axes.legend(frameon=False)
            picture.savefig(folder / f"figure-{name.replace(' ', '-')}.svg")


def _curves(
    grid: Grid, figure: Mapping[str, Any], frame: pd.DataFrame
) -> Iterator[tuple[str, Tables]]:
    """Yield each picture's name and curves: means over repetitions, or the points of sequences.

    ``each`` names a column that every value of has a picture of its own.
    """
    axes = [figure["x"], figure["y"]]
    if not {*axes} <= {*frame.columns}:
        return
    by = "curve" if "curve" in frame else "method"
    if grid.content.get("summary", True):
        frame = (
            comparable(frame)
            .groupby([by, "case"], sort=False)[axes]
            .mean()
            .reset_index()
        )
    parts: Any = (
        frame.groupby(figure["each"], sort=False) if "each" in figure else [("", frame)]
    )
    for value, part in parts:
        curves = {
            str(name): own.dropna(subset=axes).sort_values(axes[0])
            for name, own in part.groupby(by, sort=False)
        }
        yield f"{figure['name']}{value and '-'}{value}", curves
