"""A table as its file has it: columns of labels, and where each row stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.column import Column


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
        What ``lines`` counts.
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
        """Tell where a column, or one of its cells, stands."""
        where = f"{self.path}" if row is None else f"{self.path}, {self.unit} {self.lines[row]}"
        return f"{where}, column {name!r}"
