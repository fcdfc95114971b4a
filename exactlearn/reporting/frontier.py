"""The frontier of size and loss along a sequence of merges, as a table and as a figure."""

from pathlib import Path
from typing import Any

from exactlearn.pdg.compile.approximation import Frontier
from exactlearn.reporting.plot import painted
from exactlearn.reporting.records_file import write_records

COLUMNS = ("effective_size", "nodes", "loss")
"""Columns of the table: one row for each graph of the sequence."""


def write_frontier(frontier: Frontier, path: Path) -> None:
    """Write a frontier in the format of the suffix, in one step.

    Parameters
    ----------
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
    columns = (frontier.effective_size, frontier.nodes, frontier.loss)
    points = zip(*(column.tolist() for column in columns), strict=True)
    records = [dict(zip(COLUMNS, point, strict=True)) for point in points]
    write_records(path, COLUMNS, records, lambda suffix: frontier_figure(frontier, suffix))


def frontier_figure(frontier: Frontier, suffix: str) -> bytes:
    """Draw the loss against the effective size, the loss on a scale of powers of ten.

    Parameters
    ----------
    suffix
        One of ``.svg``, ``.png`` and ``.pdf``.

    Raises
    ------
    MissingExtraError
        When Matplotlib is not installed.
    """
    lossy = frontier.loss > 1e-12
    original = int(frontier.effective_size[0])

    def paint(figure: Any) -> None:
        axes = figure.add_subplot()
        axes.axvline(original, color="#7a3b12", linewidth=1.0, label=f"exact: {original:,}")
        sizes, losses = frontier.effective_size[lossy], frontier.loss[lossy]
        axes.step(sizes, losses, where="post", color="#33507a", linewidth=1.4, label="merged")
        if len(losses):
            axes.set_yscale("log")
        axes.set(xlabel="effective size", ylabel="loss against the exact graph in nats")
        axes.legend(loc="best", frameon=False)

    return painted((7.0, 4.2), paint, suffix, instead="'.csv'")
