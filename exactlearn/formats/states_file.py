"""The file beside a table that lists the states of its columns: ``table.csv.states.json``.

A table of text does not tell states that no row has, nor that ``None`` or ``NA`` is a state. Where
reading the text alone would find other states, a table is written with this file, which is read
with the table as the lists of states in a Parquet file are. It counts by its name and by its first
key, ``format``: a file of that name from elsewhere is never read nor replaced.
"""

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from exactlearn._runtime.files import atomic_write, read_json
from exactlearn.data import MISSING_SYMBOLS, STATES_SUFFIX
from exactlearn.data.codes import Column, LabelledRows, states_by_name
from exactlearn.data.coding import CodingOptions, coded_rows
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, FormatError, OptionError
from exactlearn.formats import are_texts
from exactlearn.formats.content import STATES, kind_of_file

States = Mapping[str, tuple[str, ...]]

FORMAT = "exactlearn states"


def states_path(table: Path) -> Path:
    """Return the file beside a table that may list its states."""
    return table.with_name(table.name + STATES_SUFFIX)


def has_states_file(table: Path) -> bool:
    """Return whether a file of this package beside a table lists its states."""
    kind = kind_of_file(states_path(table))
    return kind is not None and kind.name == STATES


def listed_states(table: Path) -> States:
    """Return the states of each column that the file beside a table lists; none without a file.

    Raises
    ------
    FormatError
        When the file is damaged.
    """
    if not has_states_file(table):
        return {}
    path = states_path(table)
    content: Any = read_json(path)
    states = content.get("states") if isinstance(content, dict) else None
    if not isinstance(states, dict) or not all(map(are_texts, states.values())):
        raise FormatError(
            f"{path}: expected 'states' with a list of texts for each column of {table.name}; "
            "write the table again, or remove this file"
        )
    return {name: tuple(listed) for name, listed in states.items()}


def with_listed_states(rows: LabelledRows, states: States) -> LabelledRows:
    """Return the rows of a table whose columns list their states."""
    columns = [
        replace(column, listed=states.get(column.name, column.listed))
        for column in rows.columns
    ]
    return replace(rows, columns=columns)


def missing_symbols(missing: Sequence[str], tables: Iterable[Path]) -> tuple[str, ...]:
    """Return the symbols of a missing cell: of those by default none is a listed state.

    Parameters
    ----------
    missing
        The given symbols, which stay as they are unless they are those by default.
    tables
        The files of the table.
    """
    symbols = tuple(missing)
    if symbols != MISSING_SYMBOLS:
        return symbols
    states: set[str] = set()
    for table in tables:
        states.update(*listed_states(table).values())
    return tuple(symbol for symbol in symbols if symbol not in states)


def needs_states_file(dataset: Dataset, path: Path, *, is_text: bool) -> bool:
    """Return whether reading a table alone would find other states, or those of an earlier table.

    Parameters
    ----------
    dataset, path
        The table, and its own file.
    is_text
        Whether that file does not keep states.

    Raises
    ------
    OptionError
        When there is a file of that name which is none of this package.
    """
    if has_states_file(path):
        return True
    if _are_found(dataset, is_text=is_text):
        return False
    beside = states_path(path)
    if beside.exists():
        raise OptionError(
            f"{beside}: expected no file of this name, or one that lists states, since the states "
            f"of {path.name} are to be written there; move it, or name the table otherwise"
        )
    return True


def write_states(dataset: Dataset, path: Path) -> Path:
    """Write the file beside a table, in place of that of an earlier table, and return its path."""
    content = {"format": FORMAT, "states": states_by_name(dataset)}
    beside = states_path(path)
    atomic_write(beside, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return beside


def _are_found(dataset: Dataset, *, is_text: bool) -> bool:
    """Return whether reading a table alone finds the states that it has."""
    # The table as a reader finds it, with states listed only by a format that keeps them.
    columns = []
    for name, states, codes in zip(
        dataset.names, dataset.states, dataset.codes.T, strict=True
    ):
        listed = () if is_text else states
        columns.append(Column(name, states, codes, listed=listed))
    rows = LabelledRows(None, columns, np.arange(dataset.n_rows))
    with warnings.catch_warnings(action="ignore"):
        try:
            states_read = coded_rows(rows, CodingOptions())["states"]
        except DataError:
            return False
    return [*map(set, states_read)] == [*map(set, dataset.states)]
