"""Tables as text or Parquet: one row per case, one column per variable."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import (
    as_labels,
    as_names,
    as_rules,
    as_states,
    as_text,
    checked_arguments,
    names_of,
)
from exactlearn._runtime.files import suffix_of
from exactlearn.data import MISSING_SYMBOLS
from exactlearn.data.blocks import LabelledRows
from exactlearn.data.codes import repeated
from exactlearn.data.coding import by_name, check_known, code_columns, generated_names
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.data.labels import Column
from exactlearn.errors import DataError, FormatError, OptionError, as_written
from exactlearn.formats.delimited import DELIMITED, SEPARATORS
from exactlearn.formats.parquet import PARQUET
from exactlearn.formats.raw_table import RawTable, TableFormat
from exactlearn.instances import locate

FORMATS: dict[str, TableFormat] = {
    **dict.fromkeys(SEPARATORS, DELIMITED),
    ".parquet": PARQUET,
}
"""Formats by the suffix of the file; a file of another suffix is read as delimited text."""


def read_table(path: Path, *, header: bool = True, separator: str | None = None) -> RawTable:
    """Return the cells of a table, not yet coded.

    Raises
    ------
    FormatError, OptionError, MissingExtraError
        As :func:`read_dataset`.
    """
    return FORMATS.get(suffix_of(path), DELIMITED).read(path, header, separator)


@checked_arguments(
    missing=as_names, states=as_states, drop=as_labels, discretise=as_rules, names=as_names
)
def read_dataset(
    path: str | os.PathLike[str],
    *,
    missing: Sequence[str] = MISSING_SYMBOLS,
    header: bool = True,
    separator: str | None = None,
    states: Mapping[str, Sequence[str]] | None = None,
    drop: Iterable[str] = (),
    discretise: Mapping[str, str] | None = None,
    names: Sequence[str] | None = None,
    weights: str | None = None,
    tidy: bool = False,
) -> Dataset:
    r"""Read a table from CSV, TSV or white-space separated text, compressed by gzip or not.

    White space around a field does not belong to it, blank lines do not count, and a field with a
    separator in it stands in quotes. There are no comments. A ``.parquet`` file is read with
    PyArrow (extra ``[parquet]``): its empty cells are missing too, and the values of a dictionary
    column are the states, in their order, unless others are declared.

    Parameters
    ----------
    path
        The file, in UTF-8; or the name of a bundled table, as ``asia-mnar``.
    missing
        Symbols of a missing cell.
    header
        Whether the first line holds the names; without it they are ``X0``, ``X1``, ...
    separator
        One character, or ``"whitespace"``; when not given, a tab for ``.tsv`` and ``.tab``, else
        the one of ``, \t ; |`` and (but for ``.csv``) white space that parts the first lines most
        evenly.
    states
        Declared states of a variable, in order: an undeclared state is an error, one that no row
        has is kept. Undeclared states are ordered as numbers if all are, else as text.
    drop
        Names of columns to leave out.
    discretise
        Bins of numeric columns, by name: ``"frequency:5"`` or ``"width:5"``, as
        :func:`exactlearn.discretise` explains. The name ``"*"`` stands for every
        numeric column with more than 20 different values.
    names
        Names to use instead of the header's or the generated ones.
    weights
        Name of the column that holds the weight of each row.
    tidy
        Leave out columns that are constant, entirely missing, without a name (as the index that
        ``DataFrame.to_csv`` writes) or different in every row, and cut numbers with more than 20
        values into five bins of equal frequency, unless ``discretise`` has a rule for ``"*"``.

    Raises
    ------
    FormatError
        When the file is empty, ragged, not text in UTF-8, or two columns have one name.
    DataError
        When columns are what ``tidy`` is for: all are named at once. When a text that other
        programs write for a missing cell, such as ``NaN``, is neither a missing symbol nor a
        declared state; when a state is undeclared or a weight is no number.
    OptionError
        When there is no such file, or an option names a column that does not exist.
    MissingExtraError
        When a Parquet file is read without PyArrow.

    Warns
    -----
    ColumnWarning
        Once, when columns are tidied, or bins may mislead.

    Examples
    --------
    >>> import exactlearn as el
    >>> el.read_dataset("asia-mnar")
    Dataset(rows=100, variables=8, missing_cells=16)
    >>> el.read_dataset("asia-mnar", drop="xray").names
    ('asia', 'tub', 'smoke', 'lung', 'bronc', 'either', 'dysp')
    """
    text = read_table(locate(path, ".csv"), header=header, separator=separator)
    rows = labelled_rows(text, names=names, drop=drop, weights=weights, missing=missing)
    known = [column.name for column in rows.columns]
    states, rules = by_name(states, "states", known), by_name(discretise, "discretise", known)
    listed = {k: v for k, v in rows.listed.items() if k not in rules}
    return code_columns(
        rows.columns,
        states={**listed, **states},
        missing=missing,
        discretise=rules,
        place=rows.place,
        weights=rows.weights,
        lines=text.lines if text.unit == "line" else None,
        tidy=tidy,
    )


def labelled_rows(
    text: RawTable,
    *,
    names: Sequence[str] | None,
    drop: Iterable[str],
    weights: str | None,
    missing: Sequence[str],
) -> LabelledRows:
    """Return the columns that are kept of a table, and its weights; options as `read_dataset`.

    Raises
    ------
    FormatError
        When a column has no name, or two have one name.
    OptionError
        When an option names a column that does not exist.
    DataError
        When a weight is no number.
    """
    columns = _named(text, names)
    known = [column.name for column in columns]
    left_out = set(names_of(drop, "drop", known))
    check_known("the column to drop is", sorted(left_out), known)
    columns = [column for column in columns if column.name not in left_out]
    (weights,) = [None] if weights is None else names_of(weights, "weights", known)
    columns, row_weights = _without_weights(text, columns, weights)
    if not columns:
        raise OptionError(f"{text.path}: no column is left of {', '.join(map(repr, known[:12]))}")
    # A column's own list of states goes by its name in the file.
    listed = {} if names else _listed(text, columns, missing)
    return LabelledRows(columns, row_weights, text.place, listed)


@checked_arguments(missing=as_text, weights=as_text)
def write_dataset(
    dataset: DatasetLike,
    path: str | os.PathLike[str],
    *,
    missing: str = "?",
    weights: str = "weight",
) -> None:
    """Write a table, with a header, in one step.

    Reading it again with ``states`` declared as here, and ``missing`` as here, gives the same
    codes; bin edges and states that no row has stand in no text. A Parquet file keeps the states.

    Parameters
    ----------
    dataset
        What to write.
    path
        The file: ``.csv``, ``.tsv`` or ``.tab``, compressed if ``.gz`` follows; or ``.parquet``.
    missing
        Symbol of a missing cell; in a Parquet file such a cell is empty.
    weights
        Name of a last column with the weights of the rows, written when they have weights.

    Raises
    ------
    OptionError
        When the suffix is another, or the missing symbol is a state.
    DataError
        When a name or state has a line break or outer white space, which reading would lose.
    MissingExtraError
        When a Parquet file is written without PyArrow.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar")
    >>> el.write_dataset(table, "copy.csv")
    >>> el.read_dataset("copy.csv") == table
    True
    """
    header = list(dataset.names)
    if dataset.weights is not None:
        if weights in header:
            raise OptionError(f"the weights' column {weights!r} is a variable; name it otherwise")
        header.append(weights)
    suffix = suffix_of(Path(path))
    if suffix not in FORMATS:
        raise OptionError(
            f"cannot tell the format of {path} from its suffix; expected "
            f"{' or '.join(FORMATS)} ('.gz' may follow a text's)"
        )
    FORMATS[suffix].write(dataset, header, Path(path), missing)


def _listed(
    text: RawTable, columns: Sequence[Column], missing: Sequence[str]
) -> dict[str, list[str]]:
    """Return the states that the file itself declares of the columns that are kept."""
    listed = {
        column.name: [s for s in dict.fromkeys(text.states[column.name]) if s not in missing]
        for column in columns
        if column.name in text.states
    }
    return {name: own for name, own in listed.items() if len(own) > 1}


def _named(text: RawTable, given: Sequence[str] | None) -> list[Column]:
    """Return the columns with their names, checked."""
    count = len(text.columns)
    names = given or text.names or generated_names(count)
    if len(names) != count:
        raise OptionError(f"{text.path}: {len(names)} names for {count} columns; give one each")
    first = f"if the first line is a row, read with {as_written('header', False)}"
    # One column without a name is refused, or left out, with the others that are no variables.
    unnamed = [str(position) for position, name in enumerate(names, 1) if not name]
    if len(unnamed) > 1:
        raise FormatError(
            f"{text.path}: columns {', '.join(unnamed)} of {count} have no name; name them; {first}"
        )
    if given and text.names:
        columns = zip(text.names, text.columns, strict=True)
        if 2 * sum(head in column.labels for head, column in columns) > count:
            raise FormatError(
                f"{text.path}: the names would replace a row: most fields of the first "
                f"line are also values below it; {first}"
            )
    if twice := repeated(names):
        raise FormatError(
            f"{text.path}: {_times(twice, names)}; rename them"
            f"{'; ' + first if text.names and given is None else ''}"
        )
    return [replace(column, name=name) for column, name in zip(text.columns, names, strict=True)]


def _times(twice: Sequence[str], names: Sequence[str]) -> str:
    name = twice[0]
    places = [str(k) for k, other in enumerate(names, 1) if other == name]
    more = f" (and {len(twice) - 1} more names)" if len(twice) > 1 else ""
    if len(places) > 12:
        return f"{len(places)} columns, first {', '.join(places[:12])}, are named {name!r}{more}"
    return f"columns {', '.join(places[:-1])} and {places[-1]} are all named {name!r}{more}"


def _without_weights(
    text: RawTable, columns: list[Column], name: str | None
) -> tuple[list[Column], NDArray[np.float64] | None]:
    """Take the column of weights out of the others."""
    if name is None:
        return columns, None
    check_known("weights are asked of", [name], [column.name for column in columns])
    column = next(column for column in columns if column.name == name)
    weights: NDArray[np.float64] = column.numbers()[column.codes]
    bad = np.flatnonzero(~(weights >= 0))
    if len(bad):
        row = int(bad[0])
        raise DataError(
            f"{text.place(name, row)}: "
            f"{column.labels[column.codes[row]]!r} is no weight; expected a number, 0 or more"
        )
    return [other for other in columns if other is not column], weights


def require_names(dataset: Dataset, path: Path) -> None:
    """Refuse, before long work, names that a table of this suffix cannot keep.

    Raises
    ------
    DataError
        When a name or state has a line break or outer white space, and the file is text.
    """
    require = FORMATS[suffix_of(path)].require_label
    for label in (*dataset.names, *chain.from_iterable(dataset.states)):
        require(label)
