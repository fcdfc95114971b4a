"""Numbers whose decimal mark is a comma, as spreadsheets of many countries write them."""

import re
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
    columns = []
    for column in rows.columns:
        labels = tuple(map(_pointed, column.labels))
        listed = tuple(map(_pointed, column.listed))
        columns.append(replace(column, labels=labels, listed=listed))
    return replace(rows, columns=columns)


def _pointed(label: str) -> str:
    return label.replace(",", ".") if has_decimal_comma(label) else label
