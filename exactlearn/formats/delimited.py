"""Delimited text: from the bytes of a file to columns of labels, and back.

Every line that is not blank must have as many fields as the first. Quotes follow RFC 4180, but end
on their line. The standard library's reader parses 10 million cells in 1.4 s, half of them spent
on the codes of labels, in a third of the memory that a frame of texts would take.
"""

import csv
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO, TextIOWrapper
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.files import atomic_write, line_blocks, read_lines, suffix_of
from exactlearn.data.codes import Column, LabelledRows
from exactlearn.data.dataset import Dataset
from exactlearn.errors import (
    ColumnWarning,
    DataError,
    FormatError,
    OptionError,
    as_written,
    warn_caller,
)
from exactlearn.formats.content import MARKS, require_table
from exactlearn.formats.layout import TableLayout, are_arities, parsed_arities

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
"""Suffixes of delimited text that is written, and what separates its fields."""

WHITE_SPACE = "whitespace"
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", " ": WHITE_SPACE}
_OF_SUFFIX: dict[str, tuple[str, ...]] = {
    ".csv": MARKS,
    ".tsv": ("\t",),
    ".tab": ("\t",),
}
"""Those that a suffix stands for; others also stand for white space."""

_SNIFFED_LINES = 100
_HEAD = 2**20
"""Bytes at the start of a file in which its separator is found."""

_BLOCK = 2**13
"""Cells that are held as texts at a time: what the cache of a processor holds."""
_ROWS = 64
"""Rows that are held at least, however wide they are."""

Numbers = MutableSequence[int]
"""Numbers of lines, counted from 1."""


def read_delimited(path: Path, layout: TableLayout) -> Iterator[LabelledRows]:
    """Yield the rows of a delimited file, compressed or not.

    Parameters
    ----------
    path
        The file, in UTF-8, compressed by gzip or not.
    layout
        How its text is laid out. Where no separator is given, it is a tab for ``.tsv``, else the
        one that parts the first lines most evenly.

    Raises
    ------
    FormatError
        When the file cannot be read, is empty or ragged; when its only column seems to hold
        several, or its second line may be arities or a row. Names line and fix.
    OptionError
        When the file does not exist, or the separator is not one character.

    Warns
    -----
    ColumnWarning
        When a line is taken for arities, or the separator is none that the suffix stands for.
    """
    if layout.block_bytes is None:
        content = read_lines(path)
        blocks: Iterable[tuple[int, bytes]] = [(0, content)]
        head = content[: content.find(b"\n", _HEAD) + 1 or None]
    else:
        blocks = line_blocks(path, layout.block_bytes)
        _, head = next(line_blocks(path, _HEAD), (0, b""))
    # The layout is that of the first lines.
    require_table(path, head)
    separator = _separator(path, head, layout)
    arities = _arities(path, head, separator, layout)
    lines = _Lines(path, layout.header, separator, arities)
    is_empty = True
    for before, data in blocks:
        if (rows := lines.labelled(data, before)) is not None:
            is_empty = False
            yield rows
    if is_empty:
        fault = "the file is empty; expected a table"
        if lines.names:
            fault = (
                "only line 1 holds anything, and it was read as the names; add rows, or read it "
                f"with {as_written('header', False)} if it is one"
            )
        raise FormatError(f"{path}: {fault}")


def _separator(path: Path, head: bytes, layout: TableLayout) -> str:
    """Return the given separator, or else the one that fits the first lines best.

    Raises
    ------
    OptionError
        When the given separator is not one character.
    FormatError
        When no separator that the suffix stands for parts the lines, and another one is in each.
    """
    given = layout.separator
    if given is not None:
        separator = _NAMED.get(given, given)
        is_character = len(separator.encode()) == 1 and separator not in '"\n\r'
        if separator != WHITE_SPACE and not is_character:
            raise OptionError(
                f"separator {given!r}: expected one character such as ',' or 'tab', or 'whitespace'"
            )
        return separator
    # The separator that parts the first lines most evenly.
    suffix = suffix_of(path)
    of_suffix = _OF_SUFFIX.get(suffix, (*MARKS, WHITE_SPACE))
    candidates = [mark for mark in of_suffix if mark != layout.decimal]
    lines = list(islice(_written_lines(head, []), _SNIFFED_LINES))
    # The maximum takes the first of equals.
    separator = max(candidates, key=partial(_evenness, lines))
    if _evenness(lines, separator) or len(lines) < 2:
        return separator
    # One column: where its name and all cells hold a separator, they are several columns.
    for stranger in (*MARKS, WHITE_SPACE):
        counts = {*_field_counts(lines, stranger)}
        if stranger in (*candidates, layout.decimal) or 1 in counts:
            continue
        expected = (
            f"expected fields separated by {_described(separator)}, as {suffix} means"
        )
        if len(counts) > 1:
            raise FormatError(
                f"{path}: {expected}, but each line holds {_described(stranger)} and none the "
                "former; say which separates the columns "
                f"({as_written('separator', separator)} for one column)"
            )
        warn_caller(
            f"{path}: {expected}, found {_described(stranger)} in each line, which separates them "
            f"now ({as_written('separator', separator)} reads one column)",
            ColumnWarning,
        )
        return stranger
    return separator


def _arities(
    path: Path, head: bytes, separator: str, layout: TableLayout
) -> tuple[int, ...] | None:
    """Return the number of states of each column where a line holds them.

    Raises
    ------
    FormatError
        When the line may be arities or a row, or it is to hold arities and does not.
    """
    if layout.arities is False:
        return None
    numbers: list[int] = []
    lines = _written_lines(head, numbers)
    first = list(islice(lines, layout.header + 1))
    if len(first) <= layout.header:
        return None
    if max(map(len, first)) > csv.field_size_limit():
        return None  # the reader refuses a field of that length
    # The line after the names, if there are names.
    line = first[-1]
    number = numbers[-1]
    where = f"{path}, line {number}"
    as_row = f"{as_written('arities', False)} reads it as a row"
    records = list(_records(first, separator, strict=False))
    arities = parsed_arities(records[-1])
    if layout.arities:
        if arities:
            return arities
        raise FormatError(
            f"{where}: expected the number of states of each column, found {line.strip()!r}; "
            f"{as_row}"
        )
    if not arities or '"' in line or len(arities) != len(records[0]):
        return None
    # The rows that follow decide whether numbers without quotes are arities.
    rows = _records(lines, separator, strict=False)
    is_arities = are_arities(arities, rows, layout.missing)
    if is_arities is None:
        raise FormatError(
            f"{where}: {line.strip()!r} may be a row, or the numbers of states of the columns, as "
            f"in data files of GOBNILP; {as_row}, {as_written('arities', True)} as numbers of "
            "states"
        )
    if not is_arities:
        return None
    warn_caller(
        f"{path}: line {number} holds the numbers of states of the columns, as in data files of "
        f"GOBNILP, pygobnilp and blip: it is no row, and unseen states count ({as_row})",
        ColumnWarning,
    )
    return arities


def _described(separator: str) -> str:
    """Return a separator in words."""
    names = {"\t": "a tab", WHITE_SPACE: "white space"}
    return names.get(separator, repr(separator))


def _evenness(lines: list[str], separator: str) -> int:
    """Return the number of lines with the commonest number of fields, 0 if that is one."""
    counts = _field_counts(lines, separator)
    commonest = max(set(counts), key=counts.count, default=1)
    return counts.count(commonest) if commonest > 1 else 0


def _field_counts(lines: list[str], separator: str) -> list[int]:
    """Return the number of fields of each line; 1 alone where a quote is never closed."""
    try:
        return [len(fields) for fields in _records(lines, separator, strict=False)]
    except csv.Error:  # a field beyond the reader's limit
        return [1]


def _written_lines(
    data: bytes, numbers: Numbers, before: int = 0, blanks: str | None = None
) -> Iterator[str]:
    """Yield the lines that are not blank, and note their numbers.

    Parameters
    ----------
    data
        The lines.
    numbers
        Takes the number of each line that is yielded.
    before
        How many lines of the file stand before them.
    blanks
        Letters of a blank line; white space by default.
    """
    text = TextIOWrapper(BytesIO(data), "utf-8", newline="\n")
    for number, line in enumerate(text, before + 1):
        if line.strip(blanks):
            numbers.append(number)
            yield line


def _records(lines: Iterable[str], separator: str, strict: bool) -> Iterator[list[str]]:
    """Return the fields of lines."""
    if separator == WHITE_SPACE:
        lines = (line.replace("\t", " ").strip(" \n") for line in lines)
        separator = " "
    return csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=strict)


class _Lines:
    """The lines of one file, in one block or several, all with the same number of fields."""

    def __init__(
        self, path: Path, header: bool, separator: str, arities: tuple[int, ...] | None
    ) -> None:
        self.path = path
        self.header = header
        self.separator = separator
        self.arities = arities
        self.are_arities_due = arities is not None
        self.names: list[str] = []
        self.first = 0
        self.width = 0
        self.seen = 0

    def labelled(self, data: bytes, before: int) -> LabelledRows | None:
        """Return the rows of some lines, with so many lines before them; nothing without rows."""
        numbers = array("q")
        rows = self._fields(data, before, numbers)
        # The first line of the file has the names, or the first row.
        if not self.names and (first := next(rows, None)):
            self.names = [name.strip() for name in first]
            if not self.header:
                self.names = [f"X{k}" for k in range(self.width)]
                rows = chain([first], rows)
        # The next line may have the arities, and is then no row.
        if self.are_arities_due:
            self.are_arities_due = next(rows, None) is None
        columns = coded_columns(self.names, rows)
        n_rows = len(columns[0].codes) if columns else 0
        if n_rows == 0:
            return None
        if self.arities:
            pairs = zip(columns, self.arities, strict=True)
            columns = tuple(replace(column, arity=arity) for column, arity in pairs)
        return LabelledRows(self.path, columns, np.array(numbers[-n_rows:], np.int64))

    def _fields(
        self, data: bytes, before: int, numbers: Numbers
    ) -> Iterator[list[str]]:
        """Yield the fields of each line that is not blank, and note its number.

        Raises
        ------
        FormatError
            When a quote does not end on its line, or text follows it, or a line has more or fewer
            fields than the first.
        """
        done = 0
        try:
            blanks = " \t\n".replace(self.separator, "")
            lines = _written_lines(data, numbers, before, blanks)
            for fields in _records(lines, self.separator, strict=True):
                # A quote that goes on behind its line takes several lines for one row.
                if len(numbers) > done + 1:
                    raise csv.Error
                done += 1
                self.seen += 1
                if self.seen == 1:
                    self.first = numbers[0]
                    self.width = len(fields)
                if len(fields) != self.width:
                    raise self._ragged(numbers[-1], len(fields))
                yield fields
        except csv.Error as error:
            fault = (
                "a quote is opened and not closed, or text follows a closed one; close it on its "
                'line, and write a quote inside a field as ""'
            )
            if "field limit" in str(error):
                fault = (
                    f"a field has more than {csv.field_size_limit()} letters; is its separator "
                    "another, or a quote not closed?"
                )
            raise FormatError(f"{self.path}, line {numbers[done]}: {fault}") from error

    def _ragged(self, line: int, count: int) -> FormatError:
        """Return the error for a line with another number of fields than the first."""
        hint = "correct the line: a field may lack its separator, or hold one and need quotes"
        if self.seen == 2 and self.header and count == self.width + 1 > 2:
            hint = "if the lines begin with row names, name that column too"
        elif self.seen == 2:
            hint = f"if line {self.first} is a remark, remove it; else {hint}"
        return FormatError(
            f"{self.path}, line {line}: {count} field{'s' * (count != 1)}, but line {self.first} "
            f"has {self.width}; {hint} (fields were separated by "
            f"{_described(self.separator)})"
        )


def coded_columns(
    names: Sequence[str], rows: Iterator[Sequence[str]]
) -> tuple[Column, ...]:
    """Return the columns of rows that have a field for each name."""
    codes: list[defaultdict[str, int]] = [defaultdict() for _ in names]
    for code in codes:
        code.default_factory = code.__len__  # an unknown label gets the next code
    parts: list[list[NDArray[np.int32]]] = [[np.empty(0, np.int32)] for _ in names]
    # Texts are coded block by block, so that few of them are held at a time.
    n_rows = max(_ROWS, _BLOCK // max(1, len(names)))
    while block := list(islice(rows, n_rows)):
        columns = zip(*block, strict=True)
        for code, part, cells in zip(codes, parts, columns, strict=True):
            part.append(np.fromiter(map(code.__getitem__, cells), np.int32, len(cells)))
    return tuple(
        Column(name, tuple(code), np.concatenate(part))
        for name, code, part in zip(names, codes, parts, strict=True)
    )


def write_delimited(
    dataset: Dataset, names: Sequence[str], path: Path, missing: str
) -> None:
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
    separator = SEPARATORS[suffix_of(path)]
    as_field = partial(quoted, is_alone=len(names) == 1)
    columns: list[list[str]] = []
    for name, states, codes in zip(
        dataset.names, dataset.states, dataset.codes.T, strict=True
    ):
        if missing in states:
            raise OptionError(
                f"the missing symbol {missing!r} is a state of {name!r}; choose another"
            )
        # The code -1 reads the last text, that of a missing cell.
        fields = np.array([*map(as_field, states), as_field(missing)], dtype=object)
        columns.append(fields[codes].tolist())
    if dataset.weights is not None:
        columns.append([*map(repr, dataset.weights.tolist())])
    # A first row that a reader might take for arities is quoted.
    first_row = parsed_arities(column[0] for column in columns if column)
    later_rows = islice(zip(*columns, strict=True), 1, None)
    if are_arities(first_row, later_rows, [missing]) is not False:
        for column in columns:
            column[0] = f'"{column[0]}"'
    rows = map(separator.join, zip(*columns, strict=True))
    atomic_write(path, "\n".join([separator.join(map(as_field, names)), *rows, ""]))


def quoted(label: str, is_alone: bool = False) -> str:
    """Return a name or state as a field, in quotes where it needs them.

    Parameters
    ----------
    label
        The name or state.
    is_alone
        Whether its column is the only one, so that white space in it may be taken for separators.

    Raises
    ------
    DataError
        When it has a line break or outer white space.
    """
    if label != label.strip() or "\n" in label or "\r" in label or "\0" in label:
        raise DataError(
            f"{label!r} has a line break or outer white space, which a table cannot keep; rename it"
        )
    # Every separator that a reader may guess is quoted, so that it guesses the right one.
    needs_quotes = any(mark in label for mark in ('"', *MARKS))
    if needs_quotes or not label or (is_alone and " " in label):
        return '"' + label.replace('"', '""') + '"'
    return label
