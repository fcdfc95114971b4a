"""Descriptions of records on a terminal."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from exactlearn.errors import printable
from exactlearn.reporting.description import Section, describe


def show(record: Mapping[str, Any]) -> None:
    """Print what a record tells on standard output; plain when that is no terminal."""
    width = None if sys.stdout.isatty() else 160
    console = Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)
    is_first = True
    for section in describe(record):
        parts = list(_parts(section))
        if not parts:
            continue
        if section.title and not is_first:
            console.print("", Text(printable(section.title), "bold"), sep="\n")
        for part in parts:
            console.print(part)
        is_first = False


def _parts(section: Section) -> Iterable[RenderableType]:
    if section.facts:
        grid = Grid.grid(padding=(0, 2))
        for name, text in section.facts.items():
            grid.add_row(printable(name), printable(text))
        yield grid
    yield from map(printable, section.texts)
    for table in section.tables:
        yield _grid(table.head, table.rows, table.right)
        if table.left_out:
            yield f"... and {table.left_out:,} more rows; -o or --json has all"


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]], right: Iterable[str]) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in head:
        # a name that is cut may stand for two
        grid.add_column(
            printable(column), justify="right" if column in right else "left", overflow="fold"
        )
    for row in rows:
        grid.add_row(*map(printable, row))
    return grid
