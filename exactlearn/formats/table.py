"""Tables as text or Parquet: one row per case, one column per variable."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import as_names, as_text
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.files import suffix_of
from exactlearn._runtime.variable_arguments import variable_index
from exactlearn.data import MISSING_SYMBOLS
from exactlearn.data.codes import Column, LabelledRows, repeated
from exactlearn.data.coding import CodingOptions
from exactlearn.data.dataset import (
    Dataset,
    DatasetLike,
    coded_table,
    column_without_weight,
)
from exactlearn.data.decimal_comma import with_decimal_point
from exactlearn.errors import DataError, FormatError, OptionError, as_written
from exactlearn.formats.delimited import (
    SEPARATORS,
    quoted,
    read_delimited,
    write_delimited,
)
from exactlearn.formats.layout import TableLayout
from exactlearn.formats.parquet import read_parquet, write_parquet
from exactlearn.formats.states_file import (
    listed_states,
    missing_symbols,
    needs_states_file,
    with_listed_states,
    write_states,
)
from exactlearn.instances import locate


@dataclass(frozen=True)
class TableFormat:
    """A file format of tables.

    Parameters
    ----------
    read
        Yields the rows of a file, given how its text is laid out and the bytes of a block; a
        format ignores what it has not.
    write
        Writes a table: the dataset, the names of its columns (the last one that of the weights,
        if it has weights), the file, and the symbol of a missing cell.
    require_label
        Raises a `DataError` for a name or state that the format cannot keep.
    keeps_states
        Whether the file keeps the states of its columns, also those that no row has.
    """

    read: Callable[[Path, TableLayout], Iterator[LabelledRows]]
    write: Callable[[Dataset, Sequence[str], Path, str], None]
    require_label: Callable[[str], object] = str
    keeps_states: bool = False


DELIMITED = TableFormat(read_delimited, write_delimited, quoted)

FORMATS: dict[str, TableFormat] = {
    **dict.fromkeys(SEPARATORS, DELIMITED),
    ".parquet": TableFormat(read_parquet, write_parquet, keeps_states=True),
}
"""Formats by the suffix of the file; a file of another suffix is read as delimited text."""


NOT_CHOSEN = "not one of the variables"


def read_table(path: Path, layout: TableLayout) -> Iterator[LabelledRows]:
    """Yield the cells of a table, not yet coded: all, or blocks of some bytes.

    The columns list the states that the file beside the table has, if there is one.

    Raises
    ------
    FormatError, OptionError, MissingExtraError
        As :func:`read_dataset`.
    """
    states = listed_states(path)
    for rows in FORMATS.get(suffix_of(path), DELIMITED).read(path, layout):
        yield with_listed_states(rows, states) if states else rows


@checked_arguments(names=as_names)
def read_dataset(
    path: str | os.PathLike[str],
    *,
    missing: Sequence[str] = MISSING_SYMBOLS,
    header: bool = True,
    separator: str | None = None,
    arities: bool | None = None,
    decimal: str = ".",
    states: Mapping[str, Sequence[str]] | None = None,
    drop: Iterable[str] = (),
    discretise: Mapping[str, str] | None = None,
    names: Sequence[str] | None = None,
    weights: str | None = None,
    variables: Sequence[str] | None = None,
    tidy: bool = False,
) -> Dataset:
    r"""Read a table from CSV, TSV or white-space separated text, compressed by gzip or not.

    White space around a field does not belong to it, blank lines do not count, and a field with a
    separator in it stands in quotes. There are no comments. A ``.parquet`` file is read with
    PyArrow (extra ``[parquet]``): its empty cells are missing too, and the values of a dictionary
    column are the states, in their order, unless others are declared. So are those that the file
    beside a table lists which :func:`write_dataset` writes, ``table.csv.states.json``.

    Parameters
    ----------
    path
        The file, in UTF-8; or the name of a bundled table, as ``asia-mnar``.
    missing
        Symbols of a missing cell. One of those by default is a state where the file beside the
        table lists it.
    header
        Whether the first line holds the names; without it they are ``X0``, ``X1``, ...
    separator
        One character, or ``"whitespace"``; when not given, a tab for ``.tsv`` and ``.tab``, else
        the one of ``, \t ; |`` and (but for ``.csv``) white space that parts the first lines most
        evenly. Where none of these is in a line, and another one in all, that is taken.
    arities
        Whether the first line after the names holds the number of states of each column, as in
        data files of GOBNILP, pygobnilp and blip; when not given, it is found out where 20 rows or
        more follow (docs/files.md has the rule), and asked for where it may be a row.
    decimal
        Decimal mark of numbers: a point, or a comma.
    states
        Declared states of a variable, in order: an undeclared state is an error, one that no row
        has is kept. Undeclared states are ordered as numbers if all are, else as text. ``"*"``
        declares every value to be a state, however many numbers there are.
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
    variables
        The columns to read, in this order; all others are left out whatever they hold, and stand
        in ``left_out`` of the table.
    tidy
        Leave out columns that are constant, entirely missing, without a name (as the index that
        ``DataFrame.to_csv`` writes) or different in every row, and cut numbers with more than 20
        values into five bins of equal frequency, unless ``discretise`` has a rule for ``"*"``.

    Raises
    ------
    FormatError
        When the file is empty, ragged, not text in UTF-8, or two columns have one name; when its
        first line after the names may be arities or a row.
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
        Once each, when columns are tidied; when columns are functions of another one; when a line
        is taken for arities, or the separator is none that the suffix stands for.

    Examples
    --------
    >>> import exactlearn as el
    >>> el.read_dataset("asia-mnar")
    Dataset(rows=100, variables=8, missing_cells=16)
    >>> el.read_dataset("asia-mnar", drop="xray").names
    ('asia', 'tub', 'smoke', 'lung', 'bronc', 'either', 'dysp')
    """
    # The cells of the columns that are kept, as labels.
    layout = TableLayout(header, separator, arities, missing, decimal)
    file = locate(path, ".csv")
    (text,) = read_table(file, layout)
    rows = labelled_rows(text, names=names, drop=drop, weights=weights, decimal=decimal)
    rows_of_variables = rows.chosen(variables)
    if rows.weights is not None and not rows.weights.any():
        raise column_without_weight(text.source, weights, len(rows.weights))
    # The labels as codes.
    symbols = missing_symbols(missing, [file])
    options = CodingOptions(states, symbols, discretise, tidy)
    table = coded_table(rows_of_variables, options)
    # Why the other columns are left out.
    left_out = dict.fromkeys((column.name for column in rows.columns), NOT_CHOSEN)
    for column in rows_of_variables.columns:
        del left_out[column.name]
    if not left_out:
        return table
    return replace(table, left_out=left_out | {**table.left_out})


def labelled_rows(
    text: LabelledRows,
    *,
    names: Sequence[str] | None,
    drop: Iterable[str],
    weights: str | None,
    decimal: str,
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
    text = with_decimal_point(text, decimal)
    columns = _named(text, names)
    labels = [column.name for column in columns]
    left_out = {labels[variable_index(column, "drop", labels)] for column in drop}
    # The weights are no variable.
    row_weights = None
    if weights is not None:
        weights = labels[variable_index(weights, "weights", labels)]
        row_weights = _weights(text, columns[labels.index(weights)])
    columns = [column for column in columns if column.name not in {*left_out, weights}]
    if not columns:
        raise OptionError(
            f"{text.source}: no column is left of {', '.join(map(repr, labels[:12]))}"
        )
    return replace(text, columns=columns, weights=row_weights)


@checked_arguments(missing=as_text, weights=as_text)
def write_dataset(
    dataset: DatasetLike,
    path: str | os.PathLike[str],
    *,
    missing: str = "?",
    weights: str = "weight",
) -> Path | None:
    """Write a table, with a header, in one step.

    Reading it again gives the same states. A Parquet file keeps them; where reading a text alone
    would find others, such as for a state that no row has, or refuse a column, as for the state
    ``None``, a file beside it lists them: ``table.csv.states.json``, which belongs to the table
    wherever it is moved.

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

    Returns
    -------
    beside
        The file that lists the states; ``None`` where none is needed.

    Raises
    ------
    OptionError
        When the suffix is another, or the missing symbol is a state; when a file has the name of
        that beside the table and is none of this package.
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
    # The column of weights comes last.
    header = list(dataset.names)
    if dataset.weights is not None:
        if weights in header:
            raise OptionError(
                f"the weights' column {weights!r} is a variable; name it otherwise"
            )
        header.append(weights)
    file = Path(path)
    suffix = suffix_of(file)
    if suffix not in FORMATS:
        raise OptionError(
            f"cannot tell the format of {path} from its suffix; expected "
            f"{' or '.join(FORMATS)} ('.gz' may follow a text's)"
        )
    # Whether a file beside the table is needed is known before anything is written.
    is_text = not FORMATS[suffix].keeps_states
    needs_list = needs_states_file(dataset, file, is_text=is_text)
    FORMATS[suffix].write(dataset, header, file, missing)
    return write_states(dataset, file) if needs_list else None


def _named(text: LabelledRows, given: Sequence[str] | None) -> list[Column]:
    """Return the columns with their names, checked."""
    count = len(text.columns)
    source = text.source
    names = given or [column.name for column in text.columns]
    if len(names) != count:
        raise OptionError(
            f"{source}: {len(names)} names for {count} columns; give one each"
        )
    if_row = f"if the first line is a row, read with {as_written('header', False)}"
    # One column without a name is refused, or left out, with the others that are no variables.
    unnamed = _places(names, "")
    if len(unnamed) > 1:
        raise FormatError(
            f"{source}: columns {', '.join(unnamed)} of {count} have no name; name them; {if_row}"
        )
    # Two columns of one name cannot be told apart.
    if twice := repeated(names):
        places = _places(names, twice[0])
        further = f" (and {len(twice) - 1} more names)" if len(twice) > 1 else ""
        raise FormatError(
            f"{source}: {len(places)} columns, {', '.join(places[:12])}, are all named "
            f"{twice[0]!r}{further}; rename them{'' if given else '; ' + if_row}"
        )
    return [
        replace(column, name=name)
        for column, name in zip(text.columns, names, strict=True)
    ]


def _places(names: Sequence[str], name: str) -> list[str]:
    """Return the places of a name among those of all columns, counted from 1."""
    return [str(place) for place, label in enumerate(names, 1) if label == name]


def _weights(text: LabelledRows, column: Column) -> NDArray[np.float64]:
    """Return the weight of each row, shape (rows,)."""
    weights: NDArray[np.float64] = column.numbers[column.codes]
    for row in np.flatnonzero(~(weights >= 0))[:1].tolist():
        label = column.labels[column.codes[row]]
        raise DataError(
            f"{text.place(column, label)}: {label!r} is no weight; expected a number, 0 or more"
        )
    return weights


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
