"""Labels, which are the texts of cells: columns of them, and the states they name.

States are ordered as numbers or bins if all are such, else as text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime import arguments
from exactlearn.data.codes import MISSING, SMALL, row_place
from exactlearn.data.discretisation import interval, interval_start
from exactlearn.errors import OptionError, as_written, did_you_mean


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

    def numbers(self) -> NDArray[np.float64]:
        """Return the number in each cell, NaN where it has none, shape (rows,)."""
        found: NDArray[np.float64] = np.array([*map(number, self.labels), np.nan])[self.codes]
        return found

    def values(self, place: "Place") -> "Values":
        """Return its distinct labels, given what tells where a column or cell stands."""

        def place_of(label: str | None) -> str:
            if label is None:
                return place(self.name, None)
            row = np.flatnonzero(self.codes == self.labels.index(label))[0]
            return place(self.name, int(row))

        seen = self.codes[self.codes >= 0]
        counts = np.bincount(seen, minlength=len(self.labels))
        return Values(self.name, self.labels, counts, len(seen) == len(self.codes), place_of)


@dataclass(frozen=True, eq=False)
class Values:
    """The distinct labels of a column, or of many blocks of it: what states are found from.

    Parameters
    ----------
    name
        Name of the variable.
    labels
        Distinct texts.
    counts
        How many cells have each label, shape (labels,).
    is_complete
        Whether no cell is missing.
    place
        Returns where the first cell with a label stands, and where the column does for ``None``.
    """

    name: str
    labels: tuple[str, ...]
    counts: NDArray[np.integer]
    is_complete: bool
    place: "Callable[[str | None], str]"

    def numbers(self) -> NDArray[np.float64]:
        """Return the number that each label writes, NaN where it writes none."""
        return np.array([number(label) for label in self.labels], np.float64)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of a file, or of a part of a frame, not yet coded.

    Parameters
    ----------
    source
        The file, for messages.
    columns
        Columns of labels, with their names.
    lines
        Where each row stands in the file, shape (rows,).
    unit
        What ``lines`` counts: lines from 1, or rows from 0.
    listed
        States that the file itself declares of its columns.
    weights
        Weight of each row, or ``None``.
    """

    source: Path
    columns: Sequence[Column]
    lines: NDArray[np.int64]
    unit: str = "line"
    listed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    weights: NDArray[np.float64] | None = None

    def place(self, name: str, row: int | None) -> str:
        """Return the place of a column, or of one of its cells, for messages."""
        if row is None:
            return f"{self.source}, column {name!r}"
        line = int(self.lines[row])
        where = f"line {line}" if self.unit == "line" else row_place(line)
        return f"{self.source}, {where}, column {name!r}"


def label_of(value: object) -> str:
    """Return the label of a value: 1.0 is "1", so that a missing cell does not rename a column."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


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


def variable_index(name: str | int, index: Mapping[str, int]) -> int:
    """Return the index of a variable, given by its name, or by an integer as elsewhere.

    Raises
    ------
    OptionError
        When there is no such variable; the message suggests near names.
    """
    if isinstance(name, int | np.integer):
        return arguments.variable_index(name, "variable", tuple(index))
    if name not in index:
        raise OptionError(f"no variable {name!r}{did_you_mean(name, index)}")
    return index[name]


def state_index(state: str, states: Sequence[str], variable: str) -> int:
    """Return the code of a state of the variable with this name.

    A number that is no state stands for the state that writes the same number, as 1 for ``1.0``, or
    for the bin that it lies in; a truth value also stands for ``true`` and ``false``.

    Raises
    ------
    OptionError
        When the variable has no such state; the message lists near or all states.
    """
    (found,) = find_states([state], states)
    if found is None:
        found = _alike(state, states)
    if found is not None:
        return found
    if not np.isnan(number(state)) and any(low < high for low, high in map(interval, states)):
        raise OptionError(
            f"variable {variable!r}: {state} lies in none of its bins "
            f"{', '.join(map(repr, states))}; give a number inside, or the name of a bin"
        )
    raise OptionError(f"variable {variable!r} has no state {state!r}{did_you_mean(state, states)}")


def _alike(label: str, states: Sequence[str]) -> int | None:
    """Return the code of the only state that writes the same number or truth value."""
    value, truth = number(label), label.lower() if label in ("True", "False") else None
    found = [k for k, own in enumerate(states) if number(own) == value or own.lower() == truth]
    return found[0] if len(found) == 1 else None


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

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Return the index of a variable.

        Raises
        ------
        OptionError
            When there is no such variable; the message suggests near names.
        """
        return variable_index(name, self._index)

    def state_index(self, variable: int, state: str) -> int:
        """Return the code of a state of the variable with this index.

        Raises
        ------
        OptionError
            When the variable has no such state; the message lists near or all states.
        """
        return state_index(state, self.states[variable], self.names[variable])

    def places(self, other: "NamedVariables") -> tuple[list[int], list[list[int]]]:
        """Return where the variables of another model, and the states of each, are in this one.

        Raises
        ------
        OptionError
            When the models do not have the same variables, or one has other states.
        """
        unequal = sorted({*self.names} ^ {*other.names}, key=(*self.names, *other.names).index)
        if unequal:
            raise OptionError(
                f"expected two models of the same variables, but only one has {unequal[0]!r}"
                f" ({len(unequal)} such in all)"
            )
        variables = [self._index[name] for name in other.names]
        for v, states in zip(variables, other.states, strict=True):
            if {*states} != {*self.states[v]}:
                raise OptionError(
                    f"expected two models with the same states, but {self.names[v]!r} has"
                    f" {', '.join(self.states[v])} in one and {', '.join(states)} in the other"
                )
        return variables, [
            [self.states[v].index(state) for state in states]
            for v, states in zip(variables, other.states, strict=True)
        ]


def find_states(labels: Sequence[str], states: Sequence[str]) -> list[int | None]:
    """Return the code of each label: of the state of this name, else of the bin of this number.

    Examples
    --------
    >>> find_states([">2.5", "2.5", "9", "yes"], ("<=2.5", ">2.5"))
    [1, 0, 1, None]
    """
    position = {state: k for k, state in enumerate(states)}
    bins = [(k, *interval(state)) for k, state in enumerate(states)]
    bins = [(k, low, high) for k, low, high in bins if low < high]

    def found(label: str) -> int | None:
        if label in position or not bins:
            return position.get(label)
        value = number(label)
        return next((k for k, low, high in bins if low < value <= high), None)

    return [found(label) for label in labels]


Place = Callable[[str, int | None], str]
"""Returns the location of a column, or of one of its cells, for messages."""


def drop_hint(name: str) -> str:
    """Return the advice to leave a column out."""
    return f"drop it ({as_written('drop', [name])})"
