"""Codes, the states they stand for, and the labels they are read from; names of variables.

Labels are the texts of cells; :mod:`exactlearn.data.labels` has the rule for when two of them
denote the same value. A number that is no state stands for the bin that holds it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime import variable_arguments
from exactlearn.data import STATES_SUFFIX
from exactlearn.data.labels import (
    equal_to_any,
    has_other_forms,
    interval,
    label_of,
    number,
    number_value_of,
    synonyms,
    unique_places,
    value_of,
)
from exactlearn.errors import DataError, OptionError, as_written, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

MISSING = -1
"""Code of a missing cell."""

LARGEST = 32767
"""The most states of a variable."""

LARGEST_WEIGHT = 1e300
"""The most that all rows may weigh, so that no score of their counts overflows."""


def code_type(states: int) -> type[Any]:
    """Return the smallest signed type of the codes of so many states, or labels.

    Examples
    --------
    >>> code_type(127).__name__, code_type(128).__name__, code_type(32768).__name__
    ('int8', 'int16', 'int32')
    """
    return np.min_scalar_type(-1 - states).type


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
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"{what}: expected a rectangle of numbers or texts; {error}"
        ) from None


def row_place(
    row: int,
    lines: NDArray[np.int64] | None = None,
    index: "pd.Index | None" = None,
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
    if lines is not None:
        return f"row {row + 1} (line {lines[row]})"
    label = row if index is None else index[row]
    return f"row {row + 1} (index {label})"


def checked_codes(
    codes: NDArray[Any],
    names: tuple[str, ...],
    states: tuple[tuple[str, ...], ...],
) -> NDArray[np.int8] | NDArray[np.int16]:
    """Return the codes in their smallest type, shape (rows, variables), once all are in range."""
    if codes.ndim != 2 or codes.shape[1] != len(names):
        raise DataError(
            f"codes have the shape {codes.shape}, expected (rows, {len(names)}) for the variables"
        )
    if not np.issubdtype(codes.dtype, np.integer):
        raise DataError(
            f"codes have the type {codes.dtype}, expected integers; values become codes by "
            "Dataset.from_frame"
        )
    sizes = np.array([*map(len, states)], np.int64)
    # Extremes first: a table that is right needs no array of truth values for all its cells.
    lowest = codes.min(axis=0, initial=0)
    highest = codes.max(axis=0, initial=0)
    if (lowest < MISSING).any() or (highest >= sizes).any():
        is_wrong = (codes < MISSING) | (codes >= sizes)
        variable, row = np.argwhere(is_wrong.T)[0].tolist()
        raise DataError(
            f"variable {names[variable]!r}, {row_place(row)}: code {codes[row, variable]}, "
            f"expected 0 to {sizes[variable] - 1}, or {MISSING} for a missing cell"
        )
    return np.ascontiguousarray(codes, code_type(int(sizes.max(initial=0))))


def checked_weights(
    weights: Any,
    rows: int,
    lines: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return the weight of each row as float64, shape (rows,); lines of the file for messages."""
    numbers = as_array(weights, np.float64, "weights")
    checked = np.ascontiguousarray(numbers)
    if checked.shape != (rows,):
        raise DataError(
            f"weights have the shape {checked.shape}, expected one per row: ({rows},)"
        )
    # All rows together weigh no more than the limit.
    limit = LARGEST_WEIGHT / max(rows, 1)
    is_allowed = (checked >= 0) & (checked <= limit)
    for row in np.flatnonzero(~is_allowed)[:1].tolist():
        raise DataError(
            f"{row_place(row, lines)}: weight {checked[row]}, expected a number from 0 to "
            f"{limit:g}"
        )
    return checked


def find_equal_states(
    labels: Sequence[str],
    states: Sequence[str],
) -> NDArray[np.int64]:
    """Return the code of the state that each label stands for, by its text or by its value.

    A label stands for the state of the same text, else for the only state of the same value
    (:func:`~exactlearn.data.labels.value_of`), else for the only state of the same number, where
    codes such as ``007`` are numbers, and truth values are 1 and 0.

    Returns
    -------
    codes
        Shape (labels,); -1 for a label that is no state.

    Examples
    --------
    >>> find_equal_states(["1", "1.0", "TRUE", "2"], ("0", "1")).tolist()
    [1, 1, 1, -1]
    """
    position = {state: code for code, state in enumerate(states)}
    by_text = [position.get(label, MISSING) for label in labels]
    codes = np.array(by_text, np.int64)
    if not any(map(has_other_forms, states)):
        return codes
    # First equal values, then equal numbers: 007 is a code beside 7, and 7 where 7 is no state.
    for key in (value_of, number_value_of):
        unknown = np.flatnonzero(codes == MISSING).tolist()
        if not unknown:
            break
        places = unique_places(states, key)
        for k in unknown:
            codes[k] = places.get(key(labels[k]), MISSING)
    return codes


def find_states(labels: Sequence[str], states: Sequence[str]) -> NDArray[np.int64]:
    """Return the code of each label: of the equal state, else of the bin that holds its number.

    Returns
    -------
    codes
        Shape (labels,); -1 for a label that is no state.

    Examples
    --------
    >>> find_states([">2.5", "2.5", "9", "yes"], ("<=2.5", ">2.5")).tolist()
    [1, 0, 1, -1]
    """
    # Bins only hold labels that are no state themselves.
    codes = find_equal_states(labels, states)
    unknown = codes == MISSING
    if not unknown.any():
        return codes
    ends = np.reshape([*map(interval, states)], (-1, 2))
    bins = np.flatnonzero(ends[:, 0] < ends[:, 1])
    if len(bins):
        numbers = np.array([*map(number, labels)])
        for code in reversed(bins):  # the first of bins that overlap
            low, high = ends[code]
            is_inside = (low < numbers) & (numbers <= high)
            codes[unknown & is_inside] = code
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
        How many cells have each label, and last how many are missing, where that is known.
    listed
        States that the source itself declares, as a categorical column of a frame does.
    arity
        Number of states that the source itself declares, without their names; 0 where it does not.
    synonyms
        The labels of each label that several were joined into.
    """

    name: str
    labels: tuple[str, ...]
    codes: NDArray[np.signedinteger[Any]]
    totals: tuple[int, ...] = ()
    listed: tuple[str, ...] = ()
    arity: int = 0
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def read(self, missing: Sequence[str]) -> "Column":
        """Return the column without white space around labels, missing symbols, unused labels.

        Of one listed state or none nothing is left: they declare no variable.
        """
        is_symbol = equal_to_any(missing)
        names = {label: label.strip() for label in (*self.labels, *self.listed)}
        kept = {label: name for label, name in names.items() if not is_symbol(name)}
        # Values of several types, such as 1 and "1", have equal labels.
        several = repeated(compress(self.labels, self.counts))
        synonyms = {label: (label, label) for label in several if label in kept}
        return self._renamed(kept, synonyms)

    def joined(self) -> "Column":
        """Return the column with one label for all labels, or listed states, of one value."""
        names = {label: label for label in (*self.listed, *self.labels)}
        groups = synonyms([*names])
        if not groups:
            return self
        for value, group in groups.items():
            names.update(dict.fromkeys(group, value))
        return self._renamed(names, groups)

    def _renamed(
        self,
        names: Mapping[str, str],
        synonyms: Mapping[str, tuple[str, ...]],
    ) -> "Column":
        """Return the column with other names of its labels and listed states.

        Parameters
        ----------
        names
            The name of each label and state; one without a name is left out, and its cells are
            missing.
        synonyms
            The labels of each name that several were joined into.
        """
        position: dict[str, int] = {}
        of_labels: list[int] = []
        for label, count in zip(self.labels, self.counts, strict=False):
            code = MISSING
            if count and label in names:
                code = position.setdefault(names[label], len(position))
            of_labels.append(code)
        # The code -1 reads the last entry: missing stays missing.
        of_labels.append(MISSING)
        places = np.array(of_labels, code_type(len(position)))
        # Counts of labels that are joined add up; the last one is that of missing cells.
        totals = np.zeros(len(position) + 1, np.int64)
        np.add.at(totals, places, self.counts)
        kept = [names[state] for state in self.listed if state in names]
        listed = tuple(dict.fromkeys(kept))
        return Column(
            name=self.name,
            labels=tuple(position),
            codes=places[self.codes],
            totals=tuple(totals.tolist()),
            listed=listed if len(listed) > 1 else (),
            arity=self.arity,
            synonyms={**self.synonyms, **synonyms},
        )

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Number of cells of each label, and last that of missing cells."""
        if self.totals:
            return self.totals
        places = self.codes + 1
        n_places = len(self.labels) + 1
        missing, *counts = np.bincount(places, minlength=n_places).tolist()
        return (*counts, missing)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The number that each label writes, NaN where it writes none, and last NaN."""
        numbers = [*map(number, self.labels), np.nan]
        return np.array(numbers, np.float64)

    @property
    def texts(self) -> NDArray[np.int64]:
        """Indices of the labels that write no number, shape (texts,)."""
        return np.flatnonzero(np.isnan(self.numbers[:-1]))


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
        code = column.labels.index(label)
        row = int(np.argmax(column.codes == code))
        line = int(self.lines[row])
        place = f"line {line}"
        if self.unit == "row":
            place = row_place(line, index=self.index)
        if self.source is None:
            return f"{name}, {place}"
        return f"{self.source}, {place}, {name}"

    def read(self, missing: Sequence[str]) -> "LabelledRows":
        """Return the rows with their columns as :meth:`Column.read` returns them."""
        columns = [column.read(missing) for column in self.columns]
        return replace(self, columns=columns)

    def chosen(self, names: Sequence[str] | None) -> "LabelledRows":
        """Return the rows with the columns of these names alone, in their order; all without names.

        Raises
        ------
        DataError
            When there is no such column.
        """
        if names is None:
            return self
        columns = {column.name: column for column in self.columns}
        for name in names:
            if name not in columns:
                raise DataError(
                    f"{self.where}column {name!r}: there is no such column, which the model or "
                    f"another part of the table has{did_you_mean(name, columns)}"
                )
        return replace(self, columns=[columns[name] for name in names])

    def require_listed(self, column: Column) -> None:
        """Refuse a label that is none of the states which the file beside a table lists.

        A frame or a Parquet file that lists the states of a column has no other labels.

        Parameters
        ----------
        column
            A column that was read.

        Raises
        ------
        DataError
            When there is such a label.
        """
        if not column.listed or self.source is None:
            return
        is_unlisted = find_states(column.labels, column.listed) == MISSING
        if is_unlisted.any():
            label = column.labels[int(is_unlisted.argmax())]
            beside = f"{self.source.name}{STATES_SUFFIX}"
            raise DataError(
                f"{self.place(column, label)}: the state {label!r} is not listed in "
                f"{beside}{did_you_mean(label, column.listed)}; correct the cell, declare the "
                f"column's states ({as_written('states', column.name)}), or remove {beside} if it "
                "belongs to another table"
            )


def labelled_column(name: str, series: "pd.Series[Any]") -> Column:
    """Return the values of a series as labels; the categories of one are its listed states."""
    import pandas as pd  # takes long

    categories = series.cat.categories if hasattr(series, "cat") else ()
    try:
        if pd.api.types.infer_dtype(series).startswith("mixed"):
            # True equals 1, and 1 does not equal "1": as labels it is the reverse.
            series = series.map(_label_and_kind, na_action="ignore")
            codes, pairs = pd.factorize(series)
            labels = tuple(label for label, _ in pairs)
        else:
            codes, values = pd.factorize(series)
            labels = tuple(map(label_of, values))
    except TypeError:  # a cell such as a dictionary cannot be looked up: its text can
        codes, texts = pd.factorize(series.map(str, na_action="ignore"))
        labels = tuple(texts)
    return Column(
        name=name,
        labels=labels,
        codes=codes.astype(code_type(len(labels))),
        listed=tuple(map(label_of, categories)),
    )


def _label_and_kind(value: object) -> tuple[str, bool]:
    """Return the label of a value, and whether the value is a text."""
    return label_of(value), isinstance(value, str)


def check_variables(
    names: tuple[str, ...],
    states: tuple[tuple[str, ...], ...],
) -> None:
    """Refuse names that are no texts or stand twice; so with states, and none or too many.

    Raises
    ------
    DataError
        When a name or a state is not as it should be.
    """
    # Names are texts, and all different.
    for position, name in enumerate(names):
        if not isinstance(name, str):
            raise DataError(
                f"variable {position}: its name is {name!r}, expected a text"
            )
    if twice := repeated(names):
        raise DataError(f"two variables have the name {twice[0]!r}; rename one")
    if len(states) != len(names):
        raise DataError(
            f"states of {len(states)} variables for {len(names)} names: give one each"
        )
    # Each variable has states, and not more than codes can number.
    for name, of_variable in zip(names, states, strict=True):
        variable = f"variable {name!r}"
        if not 1 <= len(of_variable) <= LARGEST:
            raise DataError(
                f"{variable} has {len(of_variable)} states, expected 1 to {LARGEST}"
            )
        if not all(isinstance(state, str) for state in of_variable):
            raise DataError(
                f"{variable}: state names must be text, found {of_variable}"
            )
        if twice := repeated(of_variable):
            raise DataError(f"{variable} has the state {twice[0]!r} twice; rename one")


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
        return np.array([*map(len, self.states)], np.int64)

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

        A value stands for a state as :func:`find_states` says: by its text, by its value, or as a
        number in a bin.

        Raises
        ------
        OptionError
            When the variable has no such state; the message lists near or all states.
        """
        states = self.states[variable]
        name = self.names[variable]
        (code,) = find_states([state], states).tolist()
        if code == MISSING:
            hint = did_you_mean(state, states)
            raise OptionError(f"variable {name!r} has no state {state!r}{hint}")
        return int(code)

    def places(self, model: "NamedVariables") -> tuple[list[int], list[list[int]]]:
        """Return where the variables of another model, and the states of each, are in this one.

        Raises
        ------
        OptionError
            When the models do not have the same variables, or one has other states.
        """
        ours = states_by_name(self)
        theirs = states_by_name(model)
        if strange := sorted(ours.keys() ^ theirs.keys()):
            raise OptionError(
                f"expected two models of the same variables, but only one has {strange[0]!r}"
            )
        # Each state of one model must have one place in the other.
        places: list[list[int]] = []
        for name, of_model in theirs.items():
            states = ours[name]
            of_states = find_equal_states(of_model, states).tolist()
            if sorted(of_states) != [*range(len(states))]:
                raise OptionError(
                    "expected two models of the same variables with the same states, but of "
                    f"{name!r} one has the states {', '.join(states)} and the other "
                    f"{', '.join(of_model)}"
                )
            places.append(of_states)
        return [*map(self.names.index, theirs)], places


def states_by_name(model: NamedVariables) -> dict[str, tuple[str, ...]]:
    """Return the states of each variable of a model or a table, by its name."""
    return dict(zip(model.names, model.states, strict=True))
