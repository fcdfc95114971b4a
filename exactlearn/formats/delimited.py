"""Delimited text: from the bytes of a file to columns of labels.

Lines are checked before they are parsed: every line that is not blank must have as many fields as
the first, so that the parser never guesses. Quotes follow RFC 4180, but end on their line.
"""

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn._runtime.text_file import read_lines
from exactlearn.data.column import Column
from exactlearn.errors import FormatError
from exactlearn.formats.raw_table import RawTable
from exactlearn.formats.separator import WHITE_SPACE, records, separator_of

_WIDE = 1000
"""Columns beyond which cells are read as texts: pandas takes a millisecond per categorical one."""


def read_delimited(
    path: str | os.PathLike[str], *, header: bool, separator: str | None
) -> RawTable:
    """Read a delimited file, compressed or not.

    Parameters
    ----------
    path
        The file, in UTF-8, compressed by gzip or not.
    header
        Whether the first line holds names.
    separator
        One character, ``"whitespace"`` for any run of blanks, or ``None``: a tab for ``.tsv``,
        else the one that parts the first lines most evenly.

    Raises
    ------
    FormatError
        When the file cannot be read, is empty or ragged; names line and fix.
    OptionError
        When the file does not exist, or the separator is not one character.
    """
    path = Path(path)
    data = read_lines(path)
    separator = separator_of(path, data, separator)
    lines, counts = _lines_and_counts(path, data, separator)
    if not len(lines):
        raise FormatError(f"{path}: the file is empty; expected a table")
    _check_even(path, lines, counts, separator, header)
    names: tuple[str, ...] | None = None
    if header:
        names, data = _header(path, data, separator, int(lines[0]))
        lines = lines[1:]
        if not len(lines):
            raise FormatError(
                f"{path}: only line 1 holds anything, and it was read as the names; add rows, or "
                "read it with --no-header (header=False) if it is one"
            )
    columns = _parse(path, data, separator, len(lines), int(counts[0]))
    return RawTable(path, names, columns, lines)


def _lines_and_counts(
    path: Path, data: bytes, separator: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return number and count of fields of each line that is not blank."""
    blank_runs = separator == WHITE_SPACE
    code = ord(" " if blank_runs else separator)
    fields = fields_per_line(np.frombuffer(data, np.uint8), code, blank_runs)
    filled = np.flatnonzero(fields)
    if b'"' in data:
        return filled + 1, _quoted_counts(path, data, separator, filled)
    return filled + 1, fields[filled]


@kernel
def fields_per_line(text: NDArray[np.uint8], separator: int, runs: bool) -> NDArray[np.int64]:
    """Count the fields of each line of text without quotes, 0 for a blank line.

    Parameters
    ----------
    text
        The bytes; a last line without line end counts.
    separator
        Byte between two fields.
    runs
        Whether any run of blanks and tabs separates fields, rather than ``separator``.
    """
    fields = np.zeros(1 + np.sum(text == 10), np.int64)
    line, separators, words = 0, 0, 0
    in_word = False
    for byte in text:
        if byte == 10:
            line, separators, words, in_word = line + 1, 0, 0, False
            continue
        separators += byte == separator
        is_ink = (byte != 32 and byte != 9) or (byte == separator and not runs)
        words += is_ink and not in_word
        in_word = is_ink
        if words > 0:
            fields[line] = words if runs else separators + 1
    return fields


def _quoted_counts(
    path: Path, data: bytes, separator: str, filled: NDArray[np.int64]
) -> NDArray[np.int64]:
    lines = data.decode().split("\n")
    text = [lines[k] for k in filled]
    counts = (len(fields) for fields in records(path, text, separator, (filled + 1).tolist()))
    return np.fromiter(counts, np.int64, len(text))


def _check_even(
    path: Path,
    lines: NDArray[np.int64],
    counts: NDArray[np.int64],
    separator: str,
    header: bool,
) -> None:
    other = np.flatnonzero(counts != counts[0])
    if not len(other):
        return
    first, width, odd = int(lines[0]), int(counts[0]), int(other[0])
    found = f"{path}, line {lines[odd]}: {_fields(counts[odd])}, but line {first} has {width}"
    if len(other) == len(counts) - 1 and len(set(counts[1:])) == 1:
        hint = (
            "the lines seem to begin with row names: name that column too"
            if header and counts[1] == width + 1 > 2
            else f"if line {first} is a remark, remove it"
        )
    else:
        hint = "correct the line: a field may lack its separator, or hold one and need quotes"
    name = {"\t": "a tab", WHITE_SPACE: "white space"}.get(separator, repr(separator))
    raise FormatError(f"{found}; {hint} (fields were separated by {name})")


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def _header(path: Path, data: bytes, separator: str, line: int) -> tuple[tuple[str, ...], bytes]:
    """Return the names on a line, and what follows the line."""
    *_, text, rest = [*data.split(b"\n", line), b""][: line + 1]
    fields = next(iter(records(path, [text.decode()], separator, [line])))
    return tuple(field.strip() for field in fields), rest


def _parse(path: Path, data: bytes, separator: str, rows: int, fields: int) -> tuple[Column, ...]:
    # A first row of text keeps pandas from reading labels as numbers, where "01" would equal "1".
    first = (" " if separator == WHITE_SPACE else separator).join(["text"] * fields)
    try:
        frame = pd.read_csv(
            io.BytesIO(first.encode() + b"\n" + data),
            sep=r"\s+" if separator == WHITE_SPACE else separator,
            header=None,
            index_col=False,
            dtype="category" if fields <= _WIDE else object,
            na_filter=False,
            skipinitialspace=True,
            low_memory=False,
        )
    except pd.errors.ParserError as error:
        raise FormatError(f"{path}: a quote is opened and not closed; close it") from error
    if frame.shape != (rows + 1, fields):
        raise FormatError(
            f"{path}: {rows} lines of {fields} fields became {len(frame) - 1} rows of "
            f"{frame.shape[1]}; check the quotes"
        )
    if fields > _WIDE:
        return tuple(map(_factorised, frame.to_numpy(object)[1:].T))
    return tuple(_column(frame[j]) for j in frame.columns)


def _column(series: "pd.Series[Any]") -> Column:
    return Column("", tuple(series.cat.categories), np.asarray(series.cat.codes)[1:])


def _factorised(cells: NDArray[np.object_]) -> Column:
    codes, labels = pd.factorize(cells)
    return Column("", tuple(labels), codes)
