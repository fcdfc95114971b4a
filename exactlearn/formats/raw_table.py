"""A table as its file has it, and what a file format of tables provides."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.codes import row_place
from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import Column


@dataclass(frozen=True, eq=False)
class RawTable:
    """The cells of a file, not yet coded.

    Parameters
    ----------
    path
        The file, for messages.
    names
        Names of the columns, or ``None`` where the file has none.
    columns
        One column of labels per field; named later.
    lines
        Where each row stands in the file, shape (rows,).
    unit
        What ``lines`` counts: lines from 1, or rows from 0.
    states
        States that the file itself declares of its columns.
    """

    path: Path
    names: tuple[str, ...] | None
    columns: tuple[Column, ...]
    lines: NDArray[np.int64]
    unit: str = "line"
    states: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def place(self, name: str, row: int | None) -> str:
        """Return the place of a column, or of one of its cells, for messages."""
        if row is None:
            return f"{self.path}, column {name!r}"
        line = int(self.lines[row])
        where = f"line {line}" if self.unit == "line" else row_place(line)
        return f"{self.path}, {where}, column {name!r}"


WHOLE = (0, None, 0)
"""The part of a file that is all of it."""


@dataclass(frozen=True)
class TableFormat:
    """A file format of tables.

    Parameters
    ----------
    read
        Returns the cells of a file, given whether its first line holds names, and its separator
        (``None``: to be found out); a format without these ignores them.
    write
        Writes a table: the dataset, the names of its columns (the last one that of the weights,
        if it has weights), the file, and the symbol of a missing cell.
    require_label
        Raises a `DataError` for a name or state that the format cannot keep.
    parts
        Returns where to cut a file into parts of a size in bytes.
    blocks
        Yields the cells of a part of a file in blocks, given the file, what `read` is given, the
        bytes of a block and the part. A format without it is read whole.
    """

    read: Callable[[Path, bool, str | None], RawTable]
    write: Callable[[Dataset, Sequence[str], Path, str], None]
    require_label: Callable[[str], object] = str
    parts: Callable[[Path, int], Sequence[Any]] = lambda path, size: [WHOLE]
    blocks: Callable[[Path, bool, str | None, int, Any], Iterator[RawTable]] | None = None

    def read_blocks(
        self, path: Path, header: bool, separator: str | None, size: int, part: Any
    ) -> Iterator[RawTable]:
        """Yield the cells of a part of a file in blocks of some bytes."""
        if self.blocks is None:
            yield self.read(path, header, separator)
        else:
            yield from self.blocks(path, header, separator, size, part)
