"""Codes, the states they stand for, and the labels they are read from; names of variables.

Labels are the texts of cells. A number that is no state stands for the bin that holds it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime import variable_arguments
from exactlearn.errors import DataError, OptionError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

MISSING = -1
"""Code of a missing cell."""

SMALL = 127
"""The most states of a variable for codes of one byte."""

LARGEST = 32767
"""The most states of a variable."""

LARGEST_WEIGHT = 1e300
"""The most that all rows may weigh, so that no score of their counts overflows."""

_BIN = re.compile(r"([(\[\]])([^,;]+)[,;]([^,;]+)([)\]\[])|([<>]=?)([^,;=]+)")


def code_type(states: int) -> type[Any]:
    """Return the smallest type of the codes of so many states, or labels, of which more may be."""
    return np.int8 if states <= SMALL else np.int16 if states <= LARGEST else np.int32


def repeated(items: Iterable[str]) -> list[str]:
    """Return the items that stand more than once, in order.

    Examples
    --------
    >>> repeated(["a", "b", "a"])
    ['a']
    """
    return [item for item, count in Counter(items).items() if count > 1]


def as_array(values: Any, kind: Any, what: str) -> NDArray[Any]:
    """Return values as an array of a type, or of their own.

    Raises
    ------
    DataError
        When they are none of it, or rows have different lengths.
    """
    try:
        return np.asarray(values, kind)
    except (TypeError, ValueError) as error:
        raise DataError(f"{what}: expected a rectangle of numbers or texts; {error}") from None


def row_place(
    row: int, lines: NDArray[np.int64] | None = None, index: "pd.Index | None" = None
) -> str:
    """Return the place of a row for messages: rows count from 1, and so do the lines of a file.

    Parameters
    ----------
    row
        Index of the row, from 0.
    lines
        The line of each row in its file, shape (rows,), where that is known.
    index
        The label of each row in its frame, where it has labels.

    Examples
    --------
    >>> row_place(2), row_place(2, np.array([2, 3, 5]))
    ('row 3 (index 2)', 'row 3 (line 5)')
    """
    label = row if index is None else index[row]
    return f"row {row + 1} ({f'index {label}' if lines is None else f'line {lines[row]}'})"


def checked_weights(weights: Any, rows: int) -> NDArray[np.float64]:
    """Return the weight of each row as float64, shape (rows,)."""
    checked = np.ascontiguousarray(as_array(weights, np.float64, "weights"))
    if checked.shape != (rows,):
        raise DataError(f"weights have the shape {checked.shape}, expected one per row: ({rows},)")
    most = LARGEST_WEIGHT / max(rows, 1)
    for row in np.flatnonzero(~((checked >= 0) & (checked <= most)))[:1].tolist():
        expected = f"expected a number from 0 to {most:g}"
        raise DataError(f"{row_place(row)}: weight {checked[row]}, {expected}")
    return checked


def number(label: str) -> float:
    """Return the finite number that a label writes, else NaN.

    Examples
    --------
    >>> number("1e3"), number("1_000"), number("inf")
    (1000.0, nan, nan)
    """
    value = _end(label)
    return value if np.isfinite(value) and "_" not in label else np.nan


def interval(name: str) -> tuple[float, float]:
    """Return the ends of a bin from its name; NaN when it does not name a bin.

    Besides the names of :func:`~exactlearn.data.discretisation.interval_names` these are ``<2``,
    ``>=2`` and the intervals of pandas, R and pyAgrum, such as ``[1, 2)``, ``(1,2]`` and ``[1;2[``.

    Returns
    -------
    low, high
        A number x lies in the bin when ``low < x <= high``. The outer bins may have no end; an end
        with the other inequality is moved to the next number below.

    Examples
    --------
    >>> interval("<=2.5"), interval("(2.5, 4.1]"), interval(">4.1"), interval("no")
    ((-inf, 2.5), (2.5, 4.1), (4.1, inf), (nan, nan))
    >>> low, high = interval("[1, 2)")
    >>> low < 1 <= high, low < 2 <= high
    (True, False)
    """
    found = _BIN.fullmatch(name)
    if found is None:
        return np.nan, np.nan
    left, low, high, right, sign, end = found.groups()
    if sign:
        outer = _end(end, below=sign in ("<", ">="))
        low, high = (-np.inf, outer) if sign[0] == "<" else (outer, np.inf)
    else:
        low, high = _end(low, below=left == "["), _end(high, below=right != "]")
    return (low, high) if low < high else (np.nan, np.nan)


def are_bins(states: Sequence[str]) -> bool:
    """Return whether all states are bins of a number."""
    return not np.isnan([interval(state)[0] for state in states]).any()


def _end(text: str, below: bool = False) -> float:
    """Return the number that a text writes, or the next one below it; NaN for other texts."""
    try:
        value = float(text)
    except ValueError:
        return np.nan
    return float(np.nextafter(value, -np.inf)) if below else value


def ordered(labels: Sequence[str]) -> list[str]:
    """Return labels in the order of states: as numbers or bins if all are such, else as text.

    Examples
    --------
    >>> ordered(["10", "9"]), ordered(["yes", "no", "10"]), ordered([">4", "<=2", "(2, 4]"])
    (['9', '10'], ['10', 'no', 'yes'], ['<=2', '(2, 4]', '>4'])
    """
    for keys in ([*map(number, labels)], [interval(label)[0] for label in labels]):
        if not np.isnan(keys).any():
            return [label for _, label in sorted(zip(keys, labels, strict=True))]
    return sorted(labels)


def find_states(labels: Sequence[str], states: Sequence[str]) -> NDArray[np.int64]:
    """Return the code of each label: of the state of this name, else of the bin of this number.

    Returns
    -------
    codes
        Shape (labels,); -1 for a label that is no state.

    Examples
    --------
    >>> find_states([">2.5", "2.5", "9", "yes"], ("<=2.5", ">2.5")).tolist()
    [1, 0, 1, -1]
    """
    position = {state: k for k, state in enumerate(states)}
    codes = np.array([position.get(label, MISSING) for label in labels], np.int64)
    unknown = codes == MISSING
    bins = [(k, *interval(state)) for k, state in enumerate(states)] if unknown.any() else []
    if bins := [(k, low, high) for k, low, high in bins if low < high]:
        numbers = np.array([*map(number, labels)])
        for k, low, high in reversed(bins):  # the first of bins that overlap
            codes[unknown & (low < numbers) & (numbers <= high)] = k
    return codes


@dataclass(frozen=True, eq=False)
class Column:
    """A column of labels.

    Parameters
    ----------
    name
        Name of the variable.
    labels
        Texts, distinct once :meth:`read` has returned them.
    codes
        Index into ``labels`` of each row, shape (rows,), signed; -1 for a missing cell.
    totals
        How many cells have each label, and last how many are missing, where there are no rows.
    listed
        States that the source itself declares, as a categorical column of a frame does.
    arity
        Number of states that the source itself declares, without their names; 0 where it does not.
    """

    name: str
    labels: tuple[str, ...]
    codes: NDArray[np.signedinteger[Any]]
    totals: tuple[int, ...] = ()
    listed: tuple[str, ...] = ()
    arity: int = 0

    def read(self, missing: Sequence[str]) -> "Column":
        """Return the column without white space around labels, missing symbols, unused labels.

        Of one listed state or none nothing is left: they declare no variable.
        """
        used = np.zeros(len(self.labels) + 1, np.bool_)
        used[self.codes] = True
        symbols, stripped = {symbol.strip() for symbol in missing}, [*map(str.strip, self.labels)]
        known = dict.fromkeys(x for x, is_used in zip(stripped, used, strict=False) if is_used)
        position = {label: k for k, label in enumerate(x for x in known if x not in symbols)}
        # The code -1 reads the last entry: missing stays missing.
        places = [*(position.get(label, MISSING) for label in stripped), MISSING]
        codes = np.array(places, code_type(len(position)))[self.codes]
        listed = tuple(x for x in dict.fromkeys(map(str.strip, self.listed)) if x not in symbols)
        declared = listed if len(listed) > 1 else ()
        return Column(self.name, tuple(position), codes, listed=declared, arity=self.arity)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many cells have each label, and last how many are missing."""
        missing, *counts = np.bincount(self.codes + 1, minlength=len(self.labels) + 1).tolist()
        return self.totals or (*counts, missing)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The number that each label writes, NaN where it writes none, and last NaN."""
        return np.array([*map(number, self.labels), np.nan], np.float64)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of a file or a frame, not yet coded.

    Parameters
    ----------
    source
        The file, for messages; ``None`` for a frame.
    columns
        Columns of labels, with their names.
    lines
        Where each row stands in its source, shape (rows,).
    unit
        What ``lines`` counts: lines from 1, or rows from 0.
    weights
        Weight of each row, or ``None``.
    index
        The index of the frame.
    """

    source: Path | None
    columns: Sequence[Column]
    lines: NDArray[np.int64]
    unit: str = "line"
    weights: NDArray[np.float64] | None = None
    index: "pd.Index | None" = None

    @property
    def where(self) -> str:
        """The file and a comma, for messages; nothing for a frame."""
        return "" if self.source is None else f"{self.source}, "

    def place(self, column: Column, label: str | None = None) -> str:
        """Return the place of a column, or of its first cell with a label, for messages."""
        name = f"column {column.name!r}"
        if label is None or not len(self.lines):
            return f"{self.where}{name}"
        line = int(self.lines[np.argmax(column.codes == column.labels.index(label))])
        row = f"line {line}" if self.unit == "line" else row_place(line, index=self.index)
        return f"{name}, {row}" if self.source is None else f"{self.where}{row}, {name}"

    def read(self, missing: Sequence[str]) -> "LabelledRows":
        """Return the rows with their columns as :meth:`Column.read` returns them."""
        return replace(self, columns=[column.read(missing) for column in self.columns])


def label_of(value: object) -> str:
    """Return the label of a value: 1.0 is "1", so that a missing cell does not rename a column."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def labelled_column(name: str, series: "pd.Series[Any]") -> Column:
    """Return the values of a series as labels; the categories of one are its listed states."""
    import pandas as pd  # takes long

    try:
        codes, values = pd.factorize(series)
    except TypeError:  # a cell such as a dictionary cannot be looked up: its text can
        codes, values = pd.factorize(series.map(str, na_action="ignore"))
    listed = map(label_of, series.cat.categories) if hasattr(series, "cat") else ()
    return Column(
        name, (*map(label_of, values),), codes.astype(code_type(len(values))), (), (*listed,)
    )


def check_variables(names: tuple[str, ...], states: tuple[tuple[str, ...], ...]) -> None:
    """Refuse names that are no texts or stand twice; so with states, and none or too many.

    Raises
    ------
    DataError
        When a name or a state is not as it should be.
    """
    for position, name in enumerate(names):
        if not isinstance(name, str):
            raise DataError(f"variable {position}: its name is {name!r}, expected a text")
    if twice := repeated(names):
        raise DataError(f"two variables have the name {twice[0]!r}; rename one")
    if len(states) != len(names):
        raise DataError(f"states of {len(states)} variables for {len(names)} names: give one each")
    for name, own in zip(names, states, strict=True):
        if not 1 <= len(own) <= LARGEST:
            raise DataError(f"variable {name!r} has {len(own)} states, expected 1 to {LARGEST}")
        if not all(isinstance(state, str) for state in own):
            raise DataError(f"variable {name!r}: state names must be text, found {own}")
        if twice := repeated(own):
            raise DataError(f"variable {name!r} has the state {twice[0]!r} twice; rename one")


class NamedVariables:
    """Variables and states of a model or a table, found by their names."""

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]

    @property
    def n_variables(self) -> int:
        """Number of variables; a latent one does not count."""
        return len(self.names)

    @cached_property
    def cardinalities(self) -> NDArray[np.int64]:
        """Number of states of each variable, shape (variables,)."""
        return np.array([len(s) for s in self.states], np.int64)

    def index(self, name: str) -> int:
        """Return the index of a variable.

        Raises
        ------
        OptionError
            When there is no such variable; the message suggests near names.
        """
        return variable_arguments.variable_index(name, "variable", self.names)

    def state_index(self, variable: int, state: str) -> int:
        """Return the code of a state of the variable with this index.

        A number that is no state stands for the state that writes the same number, as 1 for
        ``1.0``, or for the bin that it lies in; a truth value also for ``true`` and ``false``.

        Raises
        ------
        OptionError
            When the variable has no such state; the message lists near or all states.
        """
        states, name = self.states[variable], self.names[variable]
        (code,) = find_states([state], states).tolist()
        if code != MISSING:
            return int(code)
        value, truth = number(state), state.lower() if state in ("True", "False") else None
        alike = [k for k, own in enumerate(states) if number(own) == value or own.lower() == truth]
        if len(alike) == 1:
            return alike[0]
        raise OptionError(f"variable {name!r} has no state {state!r}{did_you_mean(state, states)}")

    def places(self, other: "NamedVariables") -> tuple[list[int], list[list[int]]]:
        """Return where the variables of another model, and the states of each, are in this one.

        Raises
        ------
        OptionError
            When the models do not have the same variables, or one has other states.
        """
        ours = dict(zip(self.names, self.states, strict=True))
        theirs = dict(zip(other.names, other.states, strict=True))
        for name in ours | theirs:
            one, two = ours.get(name, ()), theirs.get(name, ())
            if {*one} != {*two}:
                raise OptionError(
                    "expected two models of the same variables with the same states, but of "
                    f"{name!r} one has the states {', '.join(one) or 'none'} and the other "
                    f"{', '.join(two) or 'none'}"
                )
        states = [[*map(ours[name].index, own)] for name, own in theirs.items()]
        return [*map(self.names.index, theirs)], states
