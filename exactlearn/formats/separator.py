"""What separates the fields of a text, and the fields of its lines."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from exactlearn._runtime.text_file import suffix_of
from exactlearn.errors import FormatError, OptionError

WHITE_SPACE = "whitespace"
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", " ": WHITE_SPACE}
MARKS = (",", "\t", ";", "|")
"""Separators that are found out when none is told, the preferred one first."""

_SNIFFED_LINES = 100


def separator_of(path: Path, data: bytes, asked: str | None) -> str:
    """Return the separator asked for, or else the one that the text seems to have.

    Raises
    ------
    OptionError
        When what is asked for is not one character.
    """
    if asked is None:
        return _sniffed(path, data)
    separator = _NAMED.get(asked, asked)
    if separator != WHITE_SPACE and (len(separator.encode()) != 1 or separator in '"\n\r'):
        raise OptionError(
            f"separator {asked!r}: expected one character such as ',' or 'tab', or 'whitespace'"
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
    """Yield the fields of each line; ``at`` tells their line numbers.

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
