"""Which columns no score can use, and what their owner may do.

These are columns without two states, and columns whose values do not repeat.
"""

from collections.abc import Callable, Sequence

import numpy as np

from exactlearn.data.codes import LARGEST
from exactlearn.data.column import Column
from exactlearn.errors import DataError

MANY = 20
"""More distinct values than this make a numeric column one to discretise."""

_SHOWN = 10
_NEXT_LINE = "\n  "

Place = Callable[[str, int | None], str]
"""Tells a reader where a column, or one of its cells, stands."""


def too_few(column: Column, place: Place) -> str:
    """Return why a column without two labels is refused."""
    where = place(column.name, None)
    if not column.labels:
        return (
            f"{where}: all cells are missing; {drop_it(column)}, or declare its states "
            f"(--states '{column.name}=A,B')"
        )
    label = column.labels[0]
    return (
        f"{where}: constant, every {'observed ' if (column.codes < 0).any() else ''}cell is "
        f"{label!r}; {drop_it(column)}, or declare its other states"
    )


class _ManyNumbersError(DataError):
    """A numeric column to discretise; several of them make one message."""

    def __init__(self, where: str, name: str, count: int) -> None:
        super().__init__(
            f"{where}: {count} different numbers, too many for states; discretise it into bins of "
            f"equal frequency (--discretise '{name}=frequency:5') or of equal width (--discretise "
            f"'{name}=width:5'), drop it (--drop {name!r}), or declare its states"
        )
        self.where = where
        self.shown = f"{name!r} ({count})"


def refuse_many(column: Column, place: Place) -> None:
    """Raise when the values of a column do not repeat enough to be states."""
    count = len(column.labels)
    if count <= MANY:
        return
    strange = np.flatnonzero(np.isnan(column.numbers()))
    rows = int((column.codes >= 0).sum())
    where = place(column.name, None)
    if not len(strange) and count == rows:
        raise DataError(
            f"{where}: all {count} numbers are different; if they number the rows, "
            f"{drop_it(column)}; if they measure, discretise them (--discretise "
            f"'{column.name}=frequency:5')"
        )
    if not len(strange):
        raise _ManyNumbersError(where, column.name, count)
    if len(strange) <= count // 10:
        label = column.labels[int(strange[0])]
        raise DataError(
            f"{place(column.name, column.first_row(label))}: {label!r} stands among "
            f"{count - len(strange)} different numbers; if it means missing, say so "
            f"(--missing {label!r}) and discretise the column; or {drop_it(column)}"
        )
    if count > rows // 2 or count > LARGEST:
        raise DataError(
            f"{where}: {count} different texts in {rows} cells, so it names rows rather than "
            f"groups them; {drop_it(column)}, or declare its states"
        )


def drop_it(column: Column) -> str:
    """Return the offer to leave a column out."""
    return f"drop it (--drop {column.name!r})"


def summary(faults: Sequence[DataError]) -> str:
    """Return one message for all the columns that cannot be used."""
    numeric = [fault for fault in faults if isinstance(fault, _ManyNumbersError)]
    others = [str(fault) for fault in faults if not isinstance(fault, _ManyNumbersError)]
    lines = others + ([_many_numbers(numeric)] if numeric else [])
    if len(lines) == 1:
        return lines[0]
    return f"{len(faults)} columns cannot be used:\n  {_listed(lines, _NEXT_LINE)}"


def _many_numbers(faults: Sequence[_ManyNumbersError]) -> str:
    if len(faults) == 1:
        return str(faults[0])
    return (
        f"{faults[0].where} and {len(faults) - 1} more: too many different numbers for states in "
        f"{_listed([fault.shown for fault in faults], ', ')}; discretise them all into bins of "
        "equal frequency (--discretise '*=frequency:5') or of equal width (--discretise "
        "'*=width:5'), or name by name, or drop them (--drop NAME)"
    )


def _listed(items: Sequence[str], joint: str) -> str:
    more = [f"... and {len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
    return joint.join([*items[:_SHOWN], *more])
