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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan

from exactlearn.data import MISSING_SYMBOLS
from exactlearn.data.decimal_comma import check_decimal
from exactlearn.data.labels import number

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


def states_per_column(
    arities: Sequence[int], rows: Iterable[Sequence[str]], missing: Sequence[str]
) -> tuple[int, list[int]] | None:
    """Return the number of rows, and of states seen in each column; nothing where arities misfit.

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
    >>> states_per_column([2, 3], [["0", "1"], ["1", "?"]], ["?"])
    (2, [2, 1])
    >>> states_per_column([2, 3], [["0", "1"], ["2", "0"]], ["?"])
    """
    symbols = {symbol.strip() for symbol in missing}
    seen = [set[str]() for _ in arities]
    n_rows = 0
    for fields in rows:
        n_rows += 1
        for labels, label, arity in zip(seen, fields, arities, strict=False):
            text = label.strip()
            if text in labels or text in symbols:
                continue
            labels.add(text)
            if len(labels) > arity or (is_number(text) and not _is_below(text, arity)):
                return None
    for labels in seen:  # of a column either all labels are numbers, or none
        if 0 < sum(map(is_number, labels)) < len(labels):
            return None
    return n_rows, [*map(len, seen)]


def is_number(label: str) -> bool:
    """Return whether a label writes a number."""
    return not isnan(number(label))


def _is_below(label: str, arity: int) -> bool:
    """Return whether a label is a whole number from 0 to below an arity, as ``str`` writes it."""
    return label.isdecimal() and int(label) < arity and str(int(label)) == label


def are_arities(
    arities: Sequence[int], rows: Iterable[Sequence[str]], missing: Sequence[str]
) -> bool | None:
    """Return whether a line holds arities by the rows that follow; ``None`` where it may.

    Parameters
    ----------
    arities, rows, missing
        As for :func:`states_per_column`.

    Examples
    --------
    >>> are_arities([2], [["0"], ["1"]] * 10, ["?"]), are_arities([2], [["0"], ["1"]], ["?"])
    (True, None)
    """
    if max(arities, default=1) < 2:
        return False
    fit = states_per_column(arities, rows, missing)
    if fit is None or fit[0] == 0:
        return False
    n_rows, seen = fit
    return True if n_rows >= MIN_ROWS and 2 * sum(seen) >= sum(arities) else None
