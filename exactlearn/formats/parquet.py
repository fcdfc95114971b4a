"""Tables as Parquet files, through PyArrow, which is loaded when it is needed.

A table has one column per variable; its values are read as labels.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from exactlearn._runtime.files import atomic_write, read_bytes
from exactlearn.data.codes import LabelledRows, labelled_column
from exactlearn.data.dataset import Dataset
from exactlearn.errors import FormatError, MissingExtraError, OptionError
from exactlearn.formats.content import PARQUET, expecting
from exactlearn.formats.layout import TableLayout

LARGEST = 2**28
"""Most cells of a file that is read whole: a few bytes of it may stand for any number of cells."""


def read_parquet(path: Path, layout: TableLayout) -> Iterator[LabelledRows]:
    """Yield the rows of a table; an empty cell is a missing one, and rows count from 0.

    A dictionary column (a categorical one of pandas) lists its values, also those that no row has,
    in their order.

    Parameters
    ----------
    path
        The file.
    layout
        Only the bytes of a block count here, a cell as eight of them.

    Raises
    ------
    FormatError
        When it is no Parquet file, has no rows, or a column holds lists or the like.
    OptionError
        When the file cannot be read.
    MissingExtraError
        When PyArrow is not installed.
    """
    parquet = _arrow("pyarrow.parquet")
    first = 0
    size = layout.block_bytes
    with expecting(path, PARQUET), _readable(path):
        # The size is known from the end of the file, before its cells are read.
        file = parquet.ParquetFile(path)
        rows = file.metadata.num_rows
        columns = file.metadata.num_columns
        _check_columns(path, file.schema_arrow, rows)
        if size is not None:
            blocks = file.iter_batches(max(1, size // (8 * columns)))
        elif rows * columns <= LARGEST:
            blocks = [file.read()]
        else:
            raise FormatError(
                f"{path}: expected at most {LARGEST} cells, found {rows * columns}, in {rows} "
                "rows: read fewer of them"
            )
        for block in blocks:
            # What the reader trusts is checked, such as places in dictionaries.
            block.validate(full=True)
            yield _labelled(path, block, first)
            first += block.num_rows


def write_parquet(
    dataset: Dataset, names: Sequence[str], path: Path, missing: str
) -> None:
    """Write a table, in one step: texts, missing cells empty, states kept in their order.

    Parameters
    ----------
    dataset
        What to write.
    names
        Names of the variables, and of the column of weights if there are weights.
    path
        The file.
    missing
        Of no meaning here.

    Raises
    ------
    OptionError
        When the file cannot be written, or its name ends in ``.gz``.
    MissingExtraError
        When PyArrow is not installed.
    """
    if path.suffix.lower() == ".gz":
        raise OptionError(
            f"{path}: a Parquet file is compressed inside; leave '.gz' away"
        )
    arrow = _arrow()
    buffer = BytesIO()
    # Dictionaries keep the states in their order, also those that no row has.
    columns = [
        arrow.DictionaryArray.from_arrays(
            arrow.array(codes.astype(np.int32), mask=codes < 0),
            arrow.array(states, arrow.string()),
        )
        for codes, states in zip(dataset.codes.T, dataset.states, strict=True)
    ]
    if dataset.weights is not None:
        columns.append(arrow.array(dataset.weights))
    table = arrow.table(columns, names=list(names))
    _arrow("pyarrow.parquet").write_table(table, buffer, compression="zstd")
    atomic_write(path, buffer.getvalue())


def _arrow(name: str = "pyarrow") -> Any:
    """Return a module of PyArrow.

    Raises
    ------
    MissingExtraError
        When it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(
            "Parquet files need PyArrow: pip install 'exactlearn[parquet]', or use text (.csv)"
        ) from None


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Name the file, and what to do, where it cannot be read."""
    if not path.is_file():
        read_bytes(path)  # says why
    try:
        yield
    except (_arrow().ArrowException, UnicodeError, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise FormatError(
            f"{path}: not a Parquet file, or a damaged one ({reason}); write it again"
        ) from error


def _check_columns(path: Path, schema: Any, rows: int) -> None:
    """Refuse a file without cells, and columns of lists and the like."""
    if not rows or not schema.names:
        raise FormatError(
            f"{path}: expected rows and columns, found {rows} rows of {len(schema.names)} columns"
        )
    nested = _arrow().types.is_nested
    for field in schema:
        if nested(field.type):
            raise FormatError(
                f"{path}, column {field.name!r}: expected one value in a cell, found the type "
                f"{field.type}; drop the column from the file, or unfold it"
            )


def _labelled(path: Path, table: Any, first: int) -> LabelledRows:
    """Return the cells of an Arrow table whose first row has a number."""
    types = _arrow().types
    columns = []
    # Column by column, since a frame would not tell two columns of one name apart.
    for field, cells in zip(table.schema, table.columns, strict=True):
        is_text = types.is_string(field.type) or types.is_large_string(field.type)
        # Texts are coded by Arrow, which is faster than by pandas; their order says nothing.
        series = (cells.dictionary_encode() if is_text else cells).to_pandas()
        column = labelled_column(field.name, series)
        columns.append(replace(column, listed=()) if is_text else column)
    rows = np.arange(first, first + table.num_rows)
    return LabelledRows(path, columns, rows, unit="row")
