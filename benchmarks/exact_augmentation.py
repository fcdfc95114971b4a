"""Seconds of the exact methods against the number of missing cells: median and worst, and a plot.

    python -m benchmarks.exact_augmentation --cells 4 --cells 8 --cells 16 --instances 20 -o FOLDER

Tables of 100 rows are drawn from ASIA, cells are hidden completely at random, and each method
solves the same tables (BDeu with ess 1, at most three parents) within the time limit, side by side.
Seconds are those of the processor, of all threads together, so that other work on the machine does
not count. What was not proven within the limit, on the wall, counts as no less, and is told.
"""

import csv
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from matplotlib.figure import Figure

from benchmarks.measuring import machine
from exactlearn.augmentation import augment
from exactlearn.data.dataset import Dataset
from exactlearn.errors import TooLargeError
from exactlearn.formats.bif import read_bif
from exactlearn.instances import locate
from exactlearn.scoring.scores import BDeu

METHODS = ("gadget", "branching")


def table(cells: int, seed: int) -> Dataset:
    """Draw a table and hide cells of it."""
    rng = np.random.default_rng(seed)
    drawn = read_bif(locate("asia", ".bif")).sample(100, rng)
    codes = drawn.codes.copy()
    codes.reshape(-1)[rng.choice(codes.size, cells, replace=False)] = -1
    return Dataset(codes, drawn.names, drawn.states)


def seconds(holed: Dataset, method: str, limit: float) -> tuple[float, bool]:
    """Return how long a method computes, or else the limit, and whether it proves the optimum."""
    begun = time.process_time()
    try:
        result = augment(holed, BDeu(1.0), method=method, time_limit=limit)
    except TooLargeError:
        return limit, False
    took = time.process_time() - begun
    return (took, True) if result.status == "optimal" else (max(took, limit), False)


def plot(rows: list[dict[str, Any]], limit: float, path: Path) -> None:
    """Draw median (line) and worst (dots, hollow where not all were proven) of each method."""
    figure = Figure(figsize=(7.0, 4.2), layout="tight")
    axes = figure.add_subplot()
    for k, method in enumerate(METHODS):
        own = [row for row in rows if row["method"] == method]
        cells = [row["cells"] for row in own]
        (line,) = axes.plot(
            cells, [row["median"] for row in own], label=f"{method}, median"
        )
        color = line.get_color()
        aside = [
            count * 1.02 ** (k - 1) for count in cells
        ]  # dots at the limit are all seen
        worst = [row["worst"] for row in own]
        filled = ["none" if row["unproven"] else color for row in own]
        axes.scatter(aside, worst, s=24, facecolors=filled, edgecolors=color)
    axes.scatter([], [], s=24, color="#666666", label="worst")
    axes.scatter(
        [], [], s=24, facecolors="none", edgecolors="#666666", label="not all proven"
    )
    axes.axhline(limit, color="#999999", linewidth=0.8)
    axes.set(
        xlabel="missing cells",
        ylabel="seconds of the processor",
        xscale="log",
        yscale="log",
        title="ASIA, 100 rows",
    )
    ticks = sorted({row["cells"] for row in rows})
    axes.set_xticks(ticks, list(map(str, ticks)))
    axes.minorticks_off()
    axes.legend(frameon=False)
    figure.savefig(path)


@click.command()
@click.option(
    "--cells", type=click.IntRange(1), multiple=True, default=(4, 8, 16, 24, 32)
)
@click.option("--instances", type=click.IntRange(1), default=20, show_default=True)
@click.option("--time-limit", type=float, default=60.0, show_default=True)
@click.option("-o", "folder", type=click.Path(path_type=Path), required=True)
def main(
    cells: tuple[int, ...], instances: int, time_limit: float, folder: Path
) -> None:
    """Measure, and write a table and a plot."""
    print(machine())
    folder.mkdir(parents=True, exist_ok=True)
    for method in METHODS:  # compiles
        for count in (2, 8):
            seconds(table(count, 0), method, 600.0)
    rows: list[dict[str, Any]] = []
    hopeless: set[str] = set()
    for count in cells:
        tables = [table(count, seed) for seed in range(instances)]
        for method in METHODS:
            if method in hopeless:
                continue
            took, proven = zip(
                *(seconds(holed, method, time_limit) for holed in tables), strict=True
            )
            median, worst = float(np.median(took)), max(took)
            unproven = instances - sum(proven)
            rows.append(
                {"cells": count, "method": method, "median": median, "worst": worst,
                 "unproven": unproven}
            )  # fmt: skip
            print(
                f"{count:4d} cells  {method:10s} {median:7.2f} {worst:7.2f}  {unproven} unproven"
            )
            if 2 * unproven >= instances:
                hopeless.add(method)
    with (folder / "exact.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    plot(rows, time_limit, folder / "exact.svg")


if __name__ == "__main__":
    main()
