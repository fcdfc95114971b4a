"""Columns of labels become states and codes: one way for files, frames and arrays.

A label is the text of a cell. What is refused here is what no score can use: a column without two
states, and a column whose values do not repeat.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.data import LARGEST, MISSING, SMALL, Dataset, repeated
from exactlearn.discretise import discretise, interval_start, parse_rule
from exactlearn.errors import DataError, OptionError
from exactlearn.suggestion import suggestion

MANY = 20
"""More distinct values than this make a numeric column one to discretise."""

_SHOWN = 10
_NEXT_LINE = "\n  "

Place = Callable[[str, int | None], str]
"""Tells a reader where a column, or one of its cells, stands."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of labels.

    Parameters
    ----------
    name
        Name of the variable.
    labels
        Distinct texts.
    codes
        Index into ``labels`` of each row, shape (rows,), signed; -1 for a missing cell.
    """

    name: str
    labels: tuple[str, ...]
    codes: NDArray[np.signedinteger[Any]]

    def relabelled(self, labels: Sequence[str], place: Sequence[int]) -> "Column":
        """Return the column with new labels; label i becomes label ``place[i]``, or missing."""
        # The code -1 reads the extra last entry: missing stays missing.
        table = np.array([*place, MISSING], np.int8 if len(labels) <= SMALL else np.int32)
        return replace(self, labels=tuple(labels), codes=table[self.codes])

    def first_row(self, label: str) -> int:
        """Return the first row that has a label."""
        return int(np.flatnonzero(self.codes == self.labels.index(label))[0])


@dataclass(frozen=True)
class Coded:
    """A column as states and codes, with bin edges if it was discretised."""

    states: tuple[str, ...]
    codes: NDArray[np.signedinteger[Any]]
    edges: tuple[float, ...] | None = None


def code_columns(
    columns: Sequence[Column],
    *,
    states: Mapping[str, Sequence[str]],
    missing: Sequence[str],
    discretise: Mapping[str, str],
    place: Place,
    weights: NDArray[np.float64] | None = None,
) -> Dataset:
    """Code every column, and refuse all unusable ones in one message.

    Parameters
    ----------
    columns
        Columns of equal length; white space around labels does not count.
    states
        Declared states of a variable, in order.
    missing
        Labels that stand for a missing cell.
    discretise
        Rule of a column; ``"*"`` stands for the numeric columns with more than 20 values.
    place
        Tells where a column or cell stands, for messages.
    weights
        Weight of each row.

    Raises
    ------
    DataError
        When a column is constant, entirely missing, numeric with very many values, or an
        identifier; when a cell has a state that was not declared, or no number to discretise.
    OptionError
        When an option names no column, or options contradict each other.
    """
    names = [column.name for column in columns]
    check_known("states are declared for", states, names)
    check_known("discretisation is asked for", [n for n in discretise if n != "*"], names)
    _check_options(states, missing, discretise)
    coded, faults = [], []
    for column in columns:
        tidy, rule = _tidy(column, missing), discretise.get(column.name)
        try:
            coded.append(_code(tidy, states.get(column.name), rule, discretise, place))
        except DataError as fault:
            faults.append(fault)
    if faults:
        raise DataError(_summary(faults))
    return _assemble(names, coded, len(columns[0].codes), weights)


def check_known(what: str, asked: Sequence[str] | Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise an :class:`OptionError` when something is asked of a column that does not exist."""
    for name in asked:
        if name not in names:
            raise OptionError(
                f"{what} {name!r}, but no column has that name{suggestion(name, names)}"
            )


def number(label: str) -> float:
    """Return the finite number that a label writes, else NaN.

    Examples
    --------
    >>> number("1e3"), number("1_000"), number("inf")
    (1000.0, nan, nan)
    """
    try:
        value = float(label)
    except ValueError:
        return np.nan
    return value if np.isfinite(value) and "_" not in label else np.nan


def ordered(labels: Sequence[str]) -> list[str]:
    """Return labels in the order of states: as numbers or bins if all are such, else as text.

    Examples
    --------
    >>> ordered(["10", "9"]), ordered(["yes", "no", "10"]), ordered([">4", "<=2", "(2, 4]"])
    (['9', '10'], ['10', 'no', 'yes'], ['<=2', '(2, 4]', '>4'])
    """
    for key in (number, interval_start):
        keys = {label: key(label) for label in labels}
        if not np.isnan(list(keys.values())).any():
            return sorted(labels, key=lambda label: (keys[label], label))
    return sorted(labels)


def _check_options(
    states: Mapping[str, Sequence[str]], missing: Sequence[str], discretise: Mapping[str, str]
) -> None:
    for rule in discretise.values():
        parse_rule(rule)
    for name, declared in states.items():
        if name in discretise:
            raise OptionError(f"{name!r} has both declared states and a discretisation: drop one")
        if twice := repeated(declared):
            raise OptionError(f"{name!r}: the state {twice[0]!r} is declared twice")
        if len(declared) < 2:
            raise OptionError(f"{name!r}: {len(declared)} states declared, expected 2 or more")
        for state in declared:
            if state in missing:
                raise OptionError(
                    f"{name!r}: the state {state!r} is also a symbol of a missing cell; "
                    "give the missing symbols without it"
                )


def _tidy(column: Column, missing: Sequence[str]) -> Column:
    """Return the column without white space around labels, missing symbols and unused labels."""
    used = np.zeros(len(column.labels) + 1, np.bool_)
    used[column.codes] = True
    symbols = {symbol.strip() for symbol in missing}
    stripped = [label.strip() for label in column.labels]
    kept = {
        label: None for label, u in zip(stripped, used, strict=False) if u and label not in symbols
    }
    position = {label: k for k, label in enumerate(kept)}
    return column.relabelled(list(kept), [position.get(label, MISSING) for label in stripped])


def _code(
    column: Column,
    declared: Sequence[str] | None,
    rule: str | None,
    rules: Mapping[str, str],
    place: Place,
) -> Coded:
    if declared is not None:
        return _as_declared(column, tuple(declared), place)
    if len(column.labels) < 2:
        raise DataError(_too_few(column, place))
    if rule is not None:
        return _binned(column, rule, place)
    if len(column.labels) > MANY and "*" in rules and not np.isnan(_numbers(column)).any():
        return _binned(column, rules["*"], place)
    _refuse_many(column, place)
    states = ordered(column.labels)
    return _as_declared(column, tuple(states), place)


def _as_declared(column: Column, states: tuple[str, ...], place: Place) -> Coded:
    position = {state: k for k, state in enumerate(states)}
    for label in column.labels:
        if label not in position:
            raise DataError(
                f"{place(column.name, column.first_row(label))}: the state {label!r} is not "
                f"declared{suggestion(label, states)}; declare it too or correct the cell"
            )
    return Coded(states, column.relabelled(states, [position[s] for s in column.labels]).codes)


def _binned(column: Column, rule: str, place: Place) -> Coded:
    values = _numbers(column)
    if np.isnan(values).any():
        label = column.labels[int(np.flatnonzero(np.isnan(values))[0])]
        raise DataError(
            f"{place(column.name, column.first_row(label))}: {label!r} is not a number, which "
            f"discretisation ({rule}) needs; correct it, or read it as missing "
            f"(--missing {label!r})"
        )
    if len(set(values)) < 2:
        raise DataError(
            f"{place(column.name, None)}: all values are {values[0]:g}; {_drop(column)}"
        )
    codes, edges, names = discretise(np.append(values, np.nan)[column.codes], *parse_rule(rule))
    return Coded(names, codes, edges)


def _numbers(column: Column) -> NDArray[np.float64]:
    return np.array([number(label) for label in column.labels], np.float64)


def _too_few(column: Column, place: Place) -> str:
    where = place(column.name, None)
    if not column.labels:
        return f"{where}: all cells are missing; {_drop(column)}, or declare its states"
    label = column.labels[0]
    return (
        f"{where}: constant, every {'observed ' if (column.codes < 0).any() else ''}cell is "
        f"{label!r}; {_drop(column)}, or declare its other states"
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


def _refuse_many(column: Column, place: Place) -> None:
    """Raise when the values of a column do not repeat enough to be states."""
    count = len(column.labels)
    if count <= MANY:
        return
    strange = np.flatnonzero(np.isnan(_numbers(column)))
    rows = int((column.codes >= 0).sum())
    where = place(column.name, None)
    if not len(strange) and count == rows:
        raise DataError(
            f"{where}: all {count} numbers are different; if they number the rows, "
            f"{_drop(column)}; if they measure, discretise them (--discretise "
            f"'{column.name}=frequency:5')"
        )
    if not len(strange):
        raise _ManyNumbersError(where, column.name, count)
    if len(strange) <= count // 10:
        label = column.labels[int(strange[0])]
        raise DataError(
            f"{place(column.name, column.first_row(label))}: {label!r} stands among "
            f"{count - len(strange)} different numbers; if it means missing, say so "
            f"(--missing {label!r}) and discretise the column; or {_drop(column)}"
        )
    if count > rows // 2 or count > LARGEST:
        raise DataError(
            f"{where}: {count} different texts in {rows} cells, so it names rows rather than "
            f"groups them; {_drop(column)}, or declare its states"
        )


def _drop(column: Column) -> str:
    return f"drop it (--drop {column.name!r})"


def _summary(faults: Sequence[DataError]) -> str:
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


def _assemble(
    names: Sequence[str],
    coded: Sequence[Coded],
    rows: int,
    weights: NDArray[np.float64] | None,
) -> Dataset:
    small = all(len(column.states) <= SMALL for column in coded)
    codes = np.empty((rows, len(coded)), np.int8 if small else np.int16)
    for j, column in enumerate(coded):
        codes[:, j] = column.codes
    edges = {n: c.edges for n, c in zip(names, coded, strict=True) if c.edges is not None}
    return Dataset(codes, tuple(names), tuple(c.states for c in coded), weights, edges)
