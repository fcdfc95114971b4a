"""Delimited text: from the bytes of a file to columns of labels, and back.

Lines are checked before they are parsed: every line that is not blank must have as many fields as
the first, so that the parser never guesses. Quotes follow RFC 4180, but end on their line.
"""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.files import atomic_write, line_blocks, line_starts, read_lines, suffix_of
from exactlearn._runtime.kernel import kernel
from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import Column
from exactlearn.errors import DataError, FormatError, OptionError, as_written
from exactlearn.formats.raw_table import RawTable, TableFormat

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
"""Suffixes of delimited text that is written, and what separates its fields."""

WHITE_SPACE = "whitespace"
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", " ": WHITE_SPACE}
MARKS = (",", "\t", ";", "|")
"""Separators to choose from when none is given, the preferred one first."""

_WORD = re.compile(r"[^ \t]+")
_SNIFFED_LINES = 100


def separator_of(path: Path, data: bytes, given: str | None) -> str:
    """Return the given separator, or else the one that fits the text best.

    Raises
    ------
    OptionError
        When the given separator is not one character.
    """
    if given is None:
        return _sniffed(path, data)
    separator = _NAMED.get(given, given)
    if separator != WHITE_SPACE and (len(separator.encode()) != 1 or separator in '"\n\r'):
        raise OptionError(
            f"separator {given!r}: expected one character such as ',' or 'tab', or 'whitespace'"
        )
    return separator


def _sniffed(path: Path, data: bytes) -> str:
    """Return the separator that parts most of the first lines into one same number of fields."""
    suffix = suffix_of(path)
    if suffix in (".tsv", ".tab"):
        return "\t"
    lines = [line for line in _head(data) if line.strip()][:_SNIFFED_LINES]
    candidates = MARKS if suffix == ".csv" else (*MARKS, WHITE_SPACE)
    # The maximum takes the first of equals.
    return max(candidates, key=lambda separator: _evenness(lines, separator))


def _head(data: bytes) -> list[str]:
    lines = data.split(b"\n", 4 * _SNIFFED_LINES)
    return [line.decode() for line in lines[: 4 * _SNIFFED_LINES]]


def _evenness(lines: list[str], separator: str) -> int:
    """Return how many lines have the commonest number of fields, 0 if that is one."""
    try:
        counts = [len(fields) for fields in _loose_records(lines, separator)]
    except csv.Error:  # a field beyond the reader's limit: that of a quote never closed
        return 0
    commonest = max(set(counts), key=counts.count, default=1)
    return counts.count(commonest) if commonest > 1 else 0


def _loose_records(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    if separator == WHITE_SPACE:
        for line in lines:
            yield re.findall(r'"(?:[^"]|"")*"|\S+', line)
    else:
        yield from csv.reader(lines, delimiter=separator, skipinitialspace=True)


def records(
    path: Path, text: Sequence[str], separator: str, at: Sequence[int]
) -> Iterator[list[str]]:
    """Yield the fields of each line; ``at`` holds their line numbers.

    Raises
    ------
    FormatError
        When a quote does not end on its line, or text follows it.
    """
    if separator == WHITE_SPACE:
        for fields in _loose_records(text, separator):
            yield [_unquoted(field) for field in fields]
        return
    reader = csv.reader(text, delimiter=separator, skipinitialspace=True, strict=True)
    done = 0
    try:
        for fields in reader:
            if reader.line_num != done + 1:
                raise csv.Error
            done += 1
            yield fields
    except csv.Error as error:
        line = at[min(done, len(at) - 1)]
        if "field limit" in str(error):
            raise FormatError(
                f"{path}, line {line}: a field has more than {csv.field_size_limit()} letters; is "
                "its separator another, or a quote not closed?"
            ) from error
        raise FormatError(
            f"{path}, line {line}: a quote is opened and not closed, or text "
            'follows a closed one; close it on its line, and write a quote inside a field as ""'
        ) from error


def _unquoted(field: str) -> str:
    is_quoted = len(field) > 1 and field[0] == field[-1] == '"'
    return field[1:-1].replace('""', '"') if is_quoted else field


_WIDE = 1000
"""Columns beyond which pandas takes longer: a millisecond for each categorical one."""
_SMALL = 2**19
"""Bytes up to which reading takes less time than importing pandas, which parses larger files."""


def read_delimited(path: Path, header: bool, separator: str | None) -> RawTable:
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
    data = read_lines(path)
    reader = _Reader(path, header, separator_of(path, data, separator))
    table = reader.read(data)
    return table or reader.refuse_empty()


def read_delimited_blocks(
    path: Path, header: bool, separator: str | None, size: int, part: tuple[int, int | None, int]
) -> Iterator[RawTable]:
    """Read a delimited file, or a part of it, in blocks of lines.

    Parameters
    ----------
    path, header, separator
        As for :func:`read_delimited`.
    size
        Bytes of a block.
    part
        One of the parts that :func:`~exactlearn._runtime.files.line_starts` returns.

    Raises
    ------
    FormatError, OptionError
        As :func:`read_delimited`.
    """
    _, head = next(line_blocks(path, _HEAD), (0, b""))
    reader = _Reader(path, header, separator_of(path, head, separator))
    if part[0]:
        reader.read(head)
    found = bool(part[0])
    for line, data in line_blocks(path, size, *part):
        table = reader.read(data, line)
        found |= table is not None
        if table is not None:
            yield table
    if not found:
        reader.refuse_empty()


_HEAD = 2**20
"""Bytes at the start of a file in which its separator and its names are found."""


class _Reader:
    """Reads the lines of one file, whole or block by block."""

    def __init__(self, path: Path, header: bool, separator: str) -> None:
        self.path, self.header, self.separator = path, header, separator
        self.first: tuple[int, int] | None = None  # its line, and its number of fields
        self.names: tuple[str, ...] | None = None

    def read(self, data: bytes, before: int = 0) -> RawTable | None:
        """Return the rows of some lines, with so many lines before them; nothing without rows."""
        path, separator = self.path, self.separator
        lines, counts = _lines_and_counts(path, data, separator, before)
        if not len(lines):
            return None
        is_first = self.first is None
        first = self.first = self.first or (int(lines[0]), int(counts[0]))
        _check_even(path, lines, counts, first, separator, self.header)
        rest = data
        if is_first and self.header:
            self.names, rest = _header(path, data, separator, first[0], before)
            lines = lines[1:]
            if not len(lines):
                return None
        fields, is_quoted = first[1], b'"' in data
        if (len(data) <= _SMALL or fields > _WIDE) and not (is_quoted and separator == WHITE_SPACE):
            columns = _split(path, data, separator, lines, before, fields)
        else:
            columns = _parse(path, rest, separator, len(lines), fields)
        return RawTable(path, self.names, columns, lines)

    def refuse_empty(self) -> NoReturn:
        """Raise the error of a file without rows."""
        if self.first is None:
            raise FormatError(f"{self.path}: the file is empty; expected a table")
        raise FormatError(
            f"{self.path}: only line 1 holds anything, and it was read as the names; add rows, or "
            f"read it with {as_written('header', False)} if it is one"
        )


def _lines_and_counts(
    path: Path, data: bytes, separator: str, before: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return number and count of fields of each line that is not blank."""
    if len(data) <= _SMALL:
        fields = np.array(plain_fields_per_line(data.decode(), separator))
    else:
        blank_runs = separator == WHITE_SPACE
        code = ord(" " if blank_runs else separator)
        fields = fields_per_line(np.frombuffer(data, np.uint8), code, blank_runs)
    filled = np.flatnonzero(fields)
    if b'"' in data:
        return filled + before + 1, _quoted_counts(path, data, separator, filled, before)
    return filled + before + 1, fields[filled]


def plain_fields_per_line(text: str, separator: str) -> list[int]:
    """Count the fields of each line of text without quotes, 0 for a blank line."""
    lines = text.split("\n")
    if separator == WHITE_SPACE:
        return [len(_WORD.findall(line)) for line in lines]
    blanks = " \t".replace(separator, "")
    return [line.count(separator) + 1 if line.strip(blanks) else 0 for line in lines]


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
    path: Path, data: bytes, separator: str, filled: NDArray[np.int64], before: int
) -> NDArray[np.int64]:
    lines = data.decode().split("\n")
    text = [lines[k] for k in filled]
    at = (filled + before + 1).tolist()
    counts = (len(fields) for fields in records(path, text, separator, at))
    return np.fromiter(counts, np.int64, len(text))


def _check_even(
    path: Path,
    lines: NDArray[np.int64],
    counts: NDArray[np.int64],
    first_line: tuple[int, int],
    separator: str,
    header: bool,
) -> None:
    first, width = first_line
    other = np.flatnonzero(counts != width)
    if not len(other):
        return
    odd = int(other[0])
    found = f"{path}, line {lines[odd]}: {_fields(counts[odd])}, but line {first} has {width}"
    if lines[0] == first and len(other) == len(counts) - 1 and len(set(counts[1:])) == 1:
        hint = (
            "the lines seem to begin with row names: name that column too"
            if header and counts[odd] == width + 1 > 2
            else f"if line {first} is a remark, remove it"
        )
    else:
        hint = "correct the line: a field may lack its separator, or hold one and need quotes"
    name = {"\t": "a tab", WHITE_SPACE: "white space"}.get(separator, repr(separator))
    raise FormatError(f"{found}; {hint} (fields were separated by {name})")


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def _header(
    path: Path, data: bytes, separator: str, line: int, before: int
) -> tuple[tuple[str, ...], bytes]:
    """Return the names on a line, and what follows the line."""
    *_, text, rest = [*data.split(b"\n", line - before), b""][: line - before + 1]
    fields = next(iter(records(path, [text.decode()], separator, [line])))
    return tuple(field.strip() for field in fields), rest


def _parse(path: Path, data: bytes, separator: str, rows: int, fields: int) -> tuple[Column, ...]:
    import pandas as pd  # takes long to import

    # A first row of text keeps pandas from reading labels as numbers, where "01" would equal "1".
    first = (" " if separator == WHITE_SPACE else separator).join(["text"] * fields)
    try:
        frame = pd.read_csv(
            io.BytesIO(first.encode() + b"\n" + data),
            sep=r"\s+" if separator == WHITE_SPACE else separator,
            header=None,
            index_col=False,
            dtype="category",
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
    return tuple(_column(frame[j]) for j in frame.columns)


def _column(series: "pd.Series[Any]") -> Column:
    return Column("", tuple(series.cat.categories), np.asarray(series.cat.codes)[1:])


_BLOCK = 2**20
"""Cells that are held as texts of their own at a time."""


def _split(
    path: Path, data: bytes, separator: str, lines: NDArray[np.int64], before: int, fields: int
) -> tuple[Column, ...]:
    """Return the columns of lines that have the same number of fields, labels in order."""
    text = data.decode().split("\n")
    text = [text[line - before - 1] for line in lines]
    if b'"' in data:
        rows = records(path, text, separator, lines.tolist())
    elif separator == WHITE_SPACE:
        rows = map(_WORD.findall, text)
    else:
        rows = (line.split(separator) for line in text)
    return coded_columns(rows, fields)


def coded_columns(rows: Iterator[Sequence[str]], fields: int) -> tuple[Column, ...]:
    """Return the columns of rows that all have a number of fields, labels in order."""
    codes: list[defaultdict[str, int]] = [defaultdict() for _ in range(fields)]
    for code in codes:
        code.default_factory = code.__len__  # an unknown label gets the next code
    parts: list[list[NDArray[np.int32]]] = [[] for _ in codes]
    while block := list(islice(rows, max(1, _BLOCK // fields))):
        for code, part, cells in zip(codes, parts, zip(*block, strict=True), strict=True):
            part.append(np.fromiter(map(code.__getitem__, cells), np.int32, len(cells)))
    return tuple(map(_sorted, codes, map(np.concatenate, parts)))


def _sorted(codes: Mapping[str, int], cells: NDArray[np.int32]) -> Column:
    place = {label: k for k, label in enumerate(sorted(codes))}
    column = Column("", tuple(codes), cells)
    return column.relabelled(list(place), [place[label] for label in codes])


def write_delimited(dataset: Dataset, names: Sequence[str], path: Path, missing: str) -> None:
    """Write a table as delimited text, in one step.

    Parameters
    ----------
    dataset
        What to write.
    names
        Names of the variables, and of the column of weights if there are weights.
    path
        The file, compressed if its name ends in ``.gz``.
    missing
        Symbol of a missing cell.

    Raises
    ------
    OptionError
        When the missing symbol is a state, or the file cannot be written.
    DataError
        When a name or state has a line break or outer white space.
    """
    for name, own in zip(dataset.names, dataset.states, strict=True):
        if missing in own:
            raise OptionError(
                f"the missing symbol {missing!r} is a state of {name!r}; choose another"
            )
    separator = SEPARATORS[suffix_of(path)]
    states = [map(_quoted, own) for own in dataset.states]
    rows = written_rows(dataset, states, _quoted(missing), separator)
    atomic_write(path, "\n".join([separator.join(map(_quoted, names)), *rows, ""]))


def written_rows(
    dataset: Dataset, states: Iterable[Iterable[str]], missing: str, separator: str
) -> Iterator[str]:
    """Return the rows of a table as lines, their weights last, if there are any.

    Parameters
    ----------
    states
        The text of each state of each variable.
    missing, separator
        Texts of a missing cell, and between two cells.
    """
    # The code -1 reads the last text, that of a missing cell.
    columns = [
        np.array([*own, missing], dtype=object)[codes].tolist()
        for codes, own in zip(dataset.codes.T, states, strict=True)
    ]
    if dataset.weights is not None:
        columns.append(list(map(repr, dataset.weights.tolist())))
    return map(separator.join, zip(*columns, strict=True))


def _quoted(label: str) -> str:
    if label != label.strip() or "\n" in label or "\r" in label or "\0" in label:
        raise DataError(
            f"{label!r} has a line break or outer white space, which a table cannot keep; rename it"
        )
    # Every separator that a reader may guess is quoted, so that it guesses the right one.
    if not label or any(mark in label for mark in ('"', *MARKS)):
        return '"' + label.replace('"', '""') + '"'
    return label


DELIMITED = TableFormat(
    read_delimited, write_delimited, _quoted, line_starts, read_delimited_blocks
)
