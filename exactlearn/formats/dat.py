"""Tables in the format of GOBNILP and BLIP: names, numbers of states, then codes.

::

    smoke lung
    2 2
    0 1
    1 ?

Fields are parted by white space. A file is read so when the line behind the names (or the first
line, without names) bounds the whole numbers in all other rows: the states are then ``0`` to one
less than the bound. Any other ``.dat`` file is read as delimited text.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from exactlearn._runtime.files import atomic_write
from exactlearn.data.coding import generated_names
from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import Column
from exactlearn.errors import DataError
from exactlearn.formats._interchange import Words
from exactlearn.formats.delimited import DELIMITED, written_rows
from exactlearn.formats.raw_table import RawTable, TableFormat

_WHOLE = re.compile("[0-9]{1,9}")
_WORD = re.compile(r"[\w.:-]+")
_WORDS = Words(_WORD, _WORD)


def read_dat(path: Path, header: bool, separator: str | None) -> RawTable:
    """Read a table; as delimited text where it has no line of numbers of states.

    Raises
    ------
    FormatError, OptionError
        As for delimited text.
    """
    text = DELIMITED.read(path, header, separator)
    bounds = [_bound(column) for column in text.columns]
    if len(text.lines) < 2 or not all(bounds):
        return text
    names = text.names or generated_names(len(bounds))
    return replace(
        text,
        columns=tuple(replace(column, codes=column.codes[1:]) for column in text.columns),
        lines=text.lines[1:],
        states={
            name: list(map(str, range(bound))) for name, bound in zip(names, bounds, strict=True)
        },
    )


def write_dat(dataset: Dataset, names: Sequence[str], path: Path, missing: str) -> None:
    """Write the codes of a table in one step; the names of its states are lost.

    Names with other signs than letters, digits and ``_.:-`` are written as similar words.

    Raises
    ------
    OptionError
        When the file cannot be written.
    DataError
        When rows have weights.
    """
    if dataset.weights is not None:
        raise DataError(f"{path}: the format has no weights of rows; write .csv")
    words = _WORDS.of_variables(names)
    states = [map(str, range(size)) for size in dataset.cardinalities]
    rows = written_rows(dataset, states, missing, " ")
    sizes = " ".join(map(str, dataset.cardinalities))
    atomic_write(path, "\n".join([" ".join(words), sizes, *rows, ""]))


def _bound(column: Column) -> int:
    """Return the whole number in the first row if it bounds those below it, else 0."""
    first, rest = column.labels[column.codes[0]], np.unique(column.codes[1:])
    if not _WHOLE.fullmatch(first):
        return 0
    others = [column.labels[code] for code in rest.tolist()]
    numbers = [int(label) for label in others if _WHOLE.fullmatch(label)]
    odd = len(others) - len(numbers) - ("?" in others)
    return int(first) if not odd and max(numbers, default=-1) < int(first) else 0


DAT = TableFormat(read_dat, write_dat)
