"""Numbers whose decimal mark is a comma, as spreadsheets of many countries write them."""

import re
from collections.abc import Sequence
from dataclasses import replace

from exactlearn.data.codes import LabelledRows
from exactlearn.errors import OptionError

MARKS = (".", ",")
"""Decimal marks."""

_WITH_COMMA = re.compile(r"\s*[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?\s*")


def has_decimal_comma(label: str) -> bool:
    """Return whether a label writes a number with a decimal comma.

    Examples
    --------
    >>> has_decimal_comma("-0,5"), has_decimal_comma("0.5"), has_decimal_comma("a,5")
    (True, False, False)
    """
    return _WITH_COMMA.fullmatch(label) is not None


def check_decimal(decimal: str) -> None:
    """Raise an :class:`OptionError` when a decimal mark is neither a point nor a comma."""
    if decimal not in MARKS:
        raise OptionError(f"decimal {decimal!r}: expected '.' or ','")


def with_decimal_point(rows: LabelledRows, decimal: str) -> LabelledRows:
    """Return the rows with a point in place of the comma in each number that has one.

    Parameters
    ----------
    rows
        Columns of labels.
    decimal
        The decimal mark of their numbers; with a point nothing changes.

    Raises
    ------
    OptionError
        When the mark is neither a point nor a comma.
    """
    check_decimal(decimal)
    if decimal == ".":
        return rows
    columns = [
        replace(column, labels=_pointed(column.labels), listed=_pointed(column.listed))
        for column in rows.columns
    ]
    return replace(rows, columns=columns)


def _pointed(labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        label.replace(",", ".") if has_decimal_comma(label) else label
        for label in labels
    )
