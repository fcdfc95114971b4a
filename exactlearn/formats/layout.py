"""Layout of the text of a table: header, separator, and a line with the numbers of states.

Data files of GOBNILP, pygobnilp and blip hold the names in line 1, the number of states (the arity)
of each variable in line 2, and then the rows, whose states count from 0. Nothing in the file says
so, and a row may look alike. The line after the names *fits* as arities where

- each of its fields is a whole number of 1 or more without quotes, one of them 2 or more, and
- every other cell of a column is missing or a whole number below its arity; or no cell of the
  column writes a number, and it has no more different texts than its arity.

A row that fits differs in every column from all other rows. Of rows in random order at most one
does, which is the first of ``n`` with probability ``1 / n``; a sorted table of numbers leaves most
numbers below the first one unseen. So a line that fits is read as arities, with a warning, where
``MIN_ROWS`` rows follow and at least half of all states are seen; else it is refused until the user
says which it is.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from exactlearn.data import MISSING_SYMBOLS
from exactlearn.data.decimal_comma import check_decimal
from exactlearn.data.labels import is_number

MIN_ROWS = 20
"""Rows below a line that fits as arities, from which on it is one."""

_ARITY = re.compile(r"[1-9]\d{0,4}")


@dataclass(frozen=True)
class TableLayout:
    """Layout of the text of a table; a format without text ignores it.

    Parameters
    ----------
    header
        Whether the first line holds names.
    separator
        One character, ``"whitespace"`` for any run of blanks, or ``None``: to be found out.
    arities
        Whether the first line after the names holds the number of states of each column, or
        ``None``: to be found out.
    missing
        Symbols of a missing cell.
    decimal
        Decimal mark of numbers, which separates no columns.
    block_bytes
        Bytes of a block; ``None``: all rows are one block.
    """

    header: bool = True
    separator: str | None = None
    arities: bool | None = None
    missing: Sequence[str] = MISSING_SYMBOLS
    decimal: str = "."
    block_bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse another decimal mark."""
        check_decimal(self.decimal)


def parsed_arities(fields: Iterable[str]) -> tuple[int, ...]:
    """Return the number of states that each field writes; nothing where one writes none.

    Examples
    --------
    >>> parsed_arities(["2", "3"]), parsed_arities(["2", "0"])
    ((2, 3), ())
    """
    texts = [field.strip() for field in fields]
    return tuple(map(int, texts)) if all(map(_ARITY.fullmatch, texts)) else ()


def _is_below(label: str, arity: int) -> bool:
    """Return whether a label is a whole number from 0 to below an arity, as ``str`` writes it."""
    return label.isdecimal() and int(label) < arity and str(int(label)) == label


def are_arities(
    arities: Sequence[int], rows: Iterable[Sequence[str]], missing: Sequence[str]
) -> bool | None:
    """Return whether a line holds arities by the rows that follow; ``None`` where it may.

    Parameters
    ----------
    arities
        Number of states of each column.
    rows
        The rows that follow; no more are read than it takes to refuse the arities.
    missing
        Symbols of a missing cell.

    Examples
    --------
    >>> are_arities([2], [["0"], ["1"]] * 10, ["?"]), are_arities([2], [["0"], ["1"]], ["?"])
    (True, None)
    """
    if max(arities, default=1) < 2:
        return False
    symbols = {symbol.strip() for symbol in missing}
    seen: list[set[str]] = [set() for _ in arities]
    n_rows = 0
    for fields in rows:
        if not _fits(fields, arities, symbols, seen):
            return False
        n_rows += 1
    # Of a column either all labels are numbers, or none.
    are_mixed = any(0 < sum(map(is_number, labels)) < len(labels) for labels in seen)
    if are_mixed or n_rows == 0:
        return False
    is_half_seen = 2 * sum(map(len, seen)) >= sum(arities)
    return True if n_rows >= MIN_ROWS and is_half_seen else None


def _fits(
    fields: Sequence[str],
    arities: Sequence[int],
    symbols: Collection[str],
    seen: Sequence[set[str]],
) -> bool:
    """Return whether a row fits arities, and add its labels to those seen in each column."""
    for label, arity, labels in zip(fields, arities, seen, strict=False):
        text = label.strip()
        if text in labels or text in symbols:
            continue
        labels.add(text)
        if len(labels) > arity or (is_number(text) and not _is_below(text, arity)):
            return False
    return True
