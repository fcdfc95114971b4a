"""Parquet files through PyArrow, which is loaded when it is needed; tables as Parquet files.

A table has one column per variable; its values are read as labels.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.files import atomic_write
from exactlearn.data.coding import labelled_column
from exactlearn.data.dataset import Dataset
from exactlearn.errors import FormatError, MissingExtraError, OptionError
from exactlearn.formats.raw_table import RawTable, TableFormat

LARGEST = 2**28
"""Most cells of a file: a few bytes of it may stand for any number of equal ones."""


def arrow(name: str = "pyarrow") -> Any:
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
            "Parquet files need PyArrow: pip install 'exactlearn[parquet]', or use text files "
            "(.csv for tables, .jkl for scores)"
        ) from None


def read_parquet(path: Path) -> Any:
    """Return the columns of a file as an Arrow table.

    Raises
    ------
    MissingExtraError
        When PyArrow is not installed.
    OptionError
        When the file cannot be read.
    FormatError
        When it is no Parquet file, or damaged.
    """
    return _opened(path, lambda parquet: _checked(path, parquet.ParquetFile(path)))


def column_names(path: Path) -> tuple[str, ...]:
    """Return the names of a file's columns and read nothing else; as :func:`read_parquet`."""
    return tuple(_opened(path, lambda parquet: parquet.read_schema(path)).names)


def write_parquet(names: Sequence[str], columns: Sequence[Any], path: Path) -> None:
    """Write Arrow arrays as the columns of a file, in one step.

    Raises
    ------
    OptionError
        When the file cannot be written, or its name ends in ``.gz``.
    MissingExtraError
        When PyArrow is not installed.
    """
    if path.suffix.lower() == ".gz":
        raise OptionError(f"{path}: a Parquet file is compressed inside; leave '.gz' away")
    buffer = BytesIO()
    arrow("pyarrow.parquet").write_table(
        arrow().table(list(columns), names=list(names)), buffer, compression="zstd"
    )
    atomic_write(path, buffer.getvalue())


def _checked(path: Path, file: Any) -> Any:
    """Read a file of bounded size, and verify what else its reader trusts, such as dictionaries."""
    cells = file.metadata.num_rows * file.metadata.num_columns
    if cells > LARGEST:
        raise FormatError(
            f"{path}: expected at most {LARGEST} cells, found {cells}, in {file.metadata.num_rows} "
            "rows: read fewer of them"
        )
    table = file.read()
    table.validate(full=True)
    return table


def _opened(path: Path, read: Any) -> Any:
    parquet, invalid = arrow("pyarrow.parquet"), arrow().ArrowException
    if "\0" in str(path):
        raise OptionError(f"cannot read {str(path)!r}: no file's name has a zero byte")
    if path.is_dir():
        raise OptionError(f"cannot read {path}: it is a folder; name a file in it")
    try:
        return read(parquet)
    except FileNotFoundError as error:
        raise OptionError(f"cannot read {path}: there is no file of that name") from error
    except (invalid, UnicodeError) as error:
        raise FormatError(
            f"{path}: not a Parquet file, or a damaged one ({_first_line(error)}); write it again"
        ) from error
    except OSError as error:
        reason = error.strerror or _first_line(error)
        raise FormatError(
            f"{path}: cannot read the Parquet file ({reason}); write it again"
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def read_parquet_table(path: Path, header: bool, separator: str | None) -> RawTable:
    """Read a table; an empty cell is a missing one, and rows count from 0.

    A dictionary column (a categorical one of pandas) lists its values, also those that no row has,
    in their order.

    Raises
    ------
    FormatError
        When it is no Parquet file, has no rows, or a column holds lists or the like.
    OptionError
        When the file cannot be read.
    MissingExtraError
        When PyArrow is not installed.
    """
    table = read_parquet(path)
    _check_columns(path, table.schema, table.num_rows)
    return _labelled(path, table, 0)


def _check_columns(path: Path, schema: Any, rows: int) -> None:
    """Refuse a file without cells, and columns of lists and the like."""
    if not rows or not schema.names:
        raise FormatError(
            f"{path}: expected rows and columns, found {rows} rows of {len(schema.names)} columns"
        )
    nested = arrow().types.is_nested
    for field in schema:
        if nested(field.type):
            raise FormatError(
                f"{path}, column {field.name!r}: expected one value in a cell, found the type "
                f"{field.type}; drop the column from the file, or unfold it"
            )


def _labelled(path: Path, table: Any, first: int) -> RawTable:
    """Return the cells of an Arrow table whose first row has a number."""
    types, columns, categories = arrow().types, [], {}
    # Column by column, since a frame would not tell two columns of one name apart.
    for field, cells in zip(table.schema, table.columns, strict=True):
        is_text = types.is_string(field.type) or types.is_large_string(field.type)
        series = (cells.dictionary_encode() if is_text else cells).to_pandas()
        columns.append(labelled_column(field.name, series))
        if types.is_dictionary(field.type):
            categories[field.name] = series.cat.categories.tolist()
    listed = {
        name: [text.strip() for text in texts]
        for name, texts in categories.items()
        if all(isinstance(text, str) for text in texts)
    }
    rows = np.arange(first, first + table.num_rows)
    return RawTable(path, tuple(table.schema.names), tuple(columns), rows, "row", listed)


def parquet_parts(path: Path, size: int) -> list[tuple[int, int, int]]:
    """Return row groups that make up parts of a size: the first, past the last, rows before them.

    A cell counts as eight bytes.
    """
    groups = _opened(path, lambda parquet: parquet.read_metadata(path))
    parts, begun, taken, rows, before = [], 0, 0, 0, 0
    for k in range(groups.num_row_groups):
        group = groups.row_group(k)
        taken, rows = taken + 8 * group.num_rows * group.num_columns, rows + group.num_rows
        if taken >= size or k + 1 == groups.num_row_groups:
            parts.append((begun, k + 1, before))
            begun, taken, before = k + 1, 0, rows
    return parts or [(0, 0, 0)]


def read_parquet_blocks(
    path: Path, header: bool, separator: str | None, size: int, part: tuple[int, int | None, int]
) -> Iterator[RawTable]:
    """Read some row groups in blocks of a size in bytes, a cell as eight of them.

    Raises
    ------
    FormatError, OptionError, MissingExtraError
        As :func:`read_parquet_table`.
    """
    file = _opened(path, lambda parquet: parquet.ParquetFile(path))
    schema = file.schema_arrow
    _check_columns(path, schema, file.metadata.num_rows)
    first, end, row = part
    batches = file.iter_batches(
        max(1, size // (8 * len(schema.names))),
        row_groups=list(range(file.num_row_groups))[first:end],
    )
    while batch := _opened(path, lambda parquet: next(batches, None)):
        batch.validate(full=True)
        yield _labelled(path, batch, row)
        row += batch.num_rows


def write_parquet_table(dataset: Dataset, names: Sequence[str], path: Path, missing: str) -> None:
    """Write a table, in one step: texts, missing cells empty, states kept in their order.

    Parameters
    ----------
    dataset
        What to write.
    names
        Names of the variables, and of the column of weights if there are weights.
    path
        The file.

    Raises
    ------
    OptionError
        When the file cannot be written.
    MissingExtraError
        When PyArrow is not installed.
    """
    pa = arrow()
    columns: list[Any] = [
        _texts(pa, codes, own) for codes, own in zip(dataset.codes.T, dataset.states, strict=True)
    ]
    if dataset.weights is not None:
        columns.append(pa.array(dataset.weights))
    write_parquet(names, columns, path)


def _texts(pa: Any, codes: NDArray[np.integer[Any]], states: Sequence[str]) -> Any:
    places = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(places, pa.array(states, pa.string()))


PARQUET = TableFormat(
    read_parquet_table,
    write_parquet_table,
    parts=parquet_parts,
    blocks=read_parquet_blocks,
)
