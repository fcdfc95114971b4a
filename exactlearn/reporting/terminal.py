"""Descriptions of records on a terminal.

A table that is wider than the terminal loses the columns that are the same in all rows to a line
above it, and its cells wrap between words. Where not even the longest words stand side by side,
rows and columns change places, or else the columns are printed in groups, one below the other.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from exactlearn.errors import printable
from exactlearn.reporting.description import Section, Table, describe

PADDING = 2
"""Blanks between two columns."""

MIN_WIDTH = 20
MAX_WIDTH = 100_000
"""Fewest letters of a line that tables are fitted into, and the most in a file or a pipe."""


def show(record: Mapping[str, Any]) -> None:
    """Print the description of a record on standard output.

    Lines are as long as the terminal, or the environment variable ``COLUMNS``, allows. Without
    both, as in a pipe, each row of a table is one line.
    """
    # Into a file or a pipe, a line is as long as its row.
    has_columns = os.environ.get("COLUMNS", "").isdigit()
    is_narrow = sys.stdout.isatty() or has_columns
    console = Console(
        file=sys.stdout,
        width=None if is_narrow else MAX_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )
    console.width = max(MIN_WIDTH, console.width)
    is_first = True
    # Sections without content have no title either.
    for section in describe(record):
        parts = list(_parts(section, console.width))
        if not parts:
            continue
        if section.title and not is_first:
            title = Text(printable(section.title), "bold")
            console.print("", title, sep="\n")
        for part in parts:
            console.print(part)
        is_first = False


def _parts(section: Section, width: int) -> Iterator[RenderableType]:
    """Yield the lines and tables that show a section."""
    if section.facts:
        facts = Table(head=("", ""), rows=list(section.facts.items()))
        widths = _widths(facts, width) or ()
        yield _grid(facts, widths, has_head=False)
    yield from map(printable, section.texts)
    for table in section.tables:
        yield from _fitted(table, width)
        if table.left_out:
            yield f"... and {table.left_out:,} more rows; -o or --json has all"


def _fitted(table: Table, width: int) -> Iterator[RenderableType]:
    """Yield the lines and tables that show a table in a terminal.

    Parameters
    ----------
    table
        The table; of one that is cut no column leaves.
    width
        Letters of a line.
    """
    # Repeated values leave first: each column that is left needs fewer lines.
    repeated: list[int] = []
    is_wide = sum(_natural_widths(table)) > _available(table, width)
    if is_wide and not table.left_out:
        repeated = _repeated_columns(table)
    if repeated:
        pairs = _with_columns(table, repeated)
        values = map("=".join, zip(pairs.head, pairs.rows[0], strict=True))
        yield printable(f"In all rows: {', '.join(values)}.")
        columns = {*range(len(table.head))}.difference(repeated)
        table = _with_columns(table, sorted(columns))
    # Then rows and columns change places, and at last columns stand in groups.
    widths = _widths(table, width)
    if widths is None:
        turned = _turned(table)
        widths = _widths(turned, width)
        table = table if widths is None else turned
    if widths is not None:
        yield _grid(table, widths)
        return
    for group in _groups(table, width):
        yield _grid(group, _widths(group, width) or ())


def _available(table: Table, width: int) -> int:
    """Return the letters of a line without the blanks between the columns."""
    n_gaps = len(table.head) - 1
    return width - PADDING * n_gaps


def _columns(table: Table) -> list[tuple[str, ...]]:
    """Return the columns of a table, each with its head first."""
    return [*zip(table.head, *table.rows, strict=True)]


def _natural_widths(table: Table) -> list[int]:
    """Return the width of the widest cell of each column."""
    return [max(map(cell_len, column)) for column in _columns(table)]


def _widths(table: Table, width: int) -> list[int] | None:
    """Return the widths of the columns, or None where their longest words are wider in all.

    Wide columns become narrower first. A word is broken where it is longer than half a line.
    """
    natural = _natural_widths(table)
    available = _available(table, width)
    if sum(natural) <= available:
        return natural
    # A column is at least as wide as its longest word, or half a line.
    minimum = []
    for column in _columns(table):
        words = " ".join(column).split()
        longest = max(map(cell_len, words), default=1)
        minimum.append(min(available // 2, longest))
    # The largest limit of widths with which the columns stand side by side.
    for limit in range(min(available, max(natural)), 0, -1):
        limited = [min(limit, letters) for letters in natural]
        widths = [*map(max, minimum, limited)]
        if sum(widths) <= available:
            return widths
    return None


def _repeated_columns(table: Table) -> list[int]:
    """Return the columns with the same text in each of several rows, unless these are all."""
    repeated = []
    for k, column in enumerate(zip(*table.rows, strict=True)):
        if len(set(column)) == 1 < len(column):
            repeated.append(k)
    return repeated if len(repeated) < len(table.head) else []


def _with_columns(table: Table, columns: Sequence[int]) -> Table:
    """Return the table with some of its columns."""
    lines = []
    for line in (table.head, *table.rows):
        lines.append([line[column] for column in columns])
    return replace(table, head=lines[0], rows=lines[1:])


def _turned(table: Table) -> Table:
    """Return the table with a row for each column, headed by the first column or by numbers."""
    head, *rows = _columns(table)
    # The first column heads the others where it names the rows.
    keys = head[1:]
    if len({*keys}) < len(keys):
        rows = _columns(table)
        numbers = map(str, range(1, len(keys) + 1))
        head = ("", *numbers)
    return Table(head=head, rows=rows)


def _groups(table: Table, width: int) -> Iterator[Table]:
    """Yield the table in groups of columns that fit, each with the first column."""
    columns = [0]
    for column in range(1, len(table.head)):
        wider = _with_columns(table, [*columns, column])
        if len(columns) > 1 and _widths(wider, width) is None:
            yield _with_columns(table, columns)
            columns = [0]
        columns.append(column)
    yield _with_columns(table, columns)


def _grid(
    table: Table,
    widths: Sequence[int],
    has_head: bool = True,
) -> Grid:
    """Return the grid of a table without lines."""
    grid = Grid(
        box=None,
        pad_edge=False,
        padding=(0, PADDING, 0, 0),
        header_style="bold",
        show_header=has_head,
    )
    for name, width in zip(table.head, widths, strict=True):
        justify: Any = "right" if name in table.right else "left"
        grid.add_column(
            printable(name),
            justify=justify,
            width=width,
            overflow="fold",  # a word that is cut, not broken, may stand for two
        )
    for row in table.rows:
        grid.add_row(*map(printable, row))
    return grid
