"""Parquet files: PyArrow, loaded when it is needed, its failures told in our words."""

from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from exactlearn._runtime.atomic import atomic_write
from exactlearn.errors import FormatError, MissingExtraError, OptionError

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
        told = error.strerror or _first_line(error)
        raise FormatError(
            f"{path}: cannot read the Parquet file ({told}); write it again"
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
