"""The parts of a coded table: their ranges and types, and what is wrong when they do not fit.

All checks raise a :class:`DataError` that names the variable or row.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.errors import DataError

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


def code_type(states: int) -> type[Any]:
    """Return the smallest type of the codes of so many states."""
    return np.int8 if states <= SMALL else np.int16


def repeated(items: Iterable[str]) -> list[str]:
    """Return the items that stand more than once, in order.

    Examples
    --------
    >>> repeated(["a", "b", "a"])
    ['a']
    """
    return [item for item, count in Counter(items).items() if count > 1]


def check_names(names: tuple[str, ...]) -> None:
    """Refuse variables without a name, or with the same."""
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise DataError(f"variable {position}: its name is {name!r}, expected a text")
    if twice := repeated(names):
        raise DataError(f"two variables have the name {twice[0]!r}; rename one")


def check_states(names: tuple[str, ...], states: tuple[tuple[str, ...], ...]) -> None:
    """Refuse states that are no text, stand twice, are none or too many."""
    if len(states) != len(names):
        raise DataError(f"states of {len(states)} variables for {len(names)} names: give one each")
    for name, own in zip(names, states, strict=True):
        if not 1 <= len(own) <= LARGEST:
            raise DataError(f"variable {name!r} has {len(own)} states, expected 1 to {LARGEST}")
        if not all(isinstance(state, str) for state in own):
            raise DataError(f"variable {name!r}: state names must be text, found {own}")
        if twice := repeated(own):
            raise DataError(f"variable {name!r} has the state {twice[0]!r} twice; rename one")


def checked_codes(
    codes: NDArray[Any], names: tuple[str, ...], states: tuple[tuple[str, ...], ...]
) -> NDArray[np.int8] | NDArray[np.int16]:
    """Return the codes in their smallest type, shape (rows, variables), once all are in range."""
    if codes.ndim != 2 or codes.shape[1] != len(names):
        raise DataError(
            f"codes have the shape {codes.shape}, expected (rows, {len(names)}) for the variables"
        )
    if not np.issubdtype(codes.dtype, np.integer):
        raise DataError(
            f"codes have the type {codes.dtype}, expected integers; values become codes by "
            "Dataset.from_array or Dataset.from_frame"
        )
    cardinalities = np.array([len(s) for s in states], np.int64)
    _check_range(codes, names, cardinalities)
    return np.ascontiguousarray(codes, code_type(int(cardinalities.max(initial=0))))


def _check_range(
    codes: NDArray[Any], names: tuple[str, ...], cardinalities: NDArray[np.int64]
) -> None:
    if not len(codes):
        return
    # Extremes first: a table that is right needs no array of truth values for all its cells.
    wrong = (codes.min(axis=0) < MISSING) | (codes.max(axis=0).astype(np.int64) >= cardinalities)
    if wrong.any():
        variable = int(np.flatnonzero(wrong)[0])
        column = codes[:, variable].astype(np.int64)
        row = int(np.flatnonzero((column < MISSING) | (column >= cardinalities[variable]))[0])
        raise DataError(
            f"variable {names[variable]!r}, {row_place(row)}: code {column[row]}, expected 0 to "
            f"{cardinalities[variable] - 1}, or {MISSING} for a missing cell"
        )


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


def checked_weights(weights: NDArray[Any], rows: int) -> NDArray[np.float64]:
    """Return the weight of each row as float64, shape (rows,)."""
    checked = np.ascontiguousarray(as_array(weights, np.float64, "weights"))
    if checked.shape != (rows,):
        raise DataError(f"weights have the shape {checked.shape}, expected one per row: ({rows},)")
    bad = np.flatnonzero(~(np.isfinite(checked) & (checked >= 0)))
    if len(bad):
        raise DataError(
            f"{row_place(int(bad[0]))}: weight {checked[bad[0]]}, expected a finite number, 0 or "
            "more"
        )
    if rows and checked.max() > LARGEST_WEIGHT / rows:
        raise DataError(
            f"{row_place(int(checked.argmax()))}: weight {checked.max():g}, but {rows} rows may "
            f"weigh at most {LARGEST_WEIGHT:g} together: divide the weights"
        )
    return checked


def checked_edges(
    edges: Mapping[str, Sequence[float]],
    names: tuple[str, ...],
    states: tuple[tuple[str, ...], ...],
) -> dict[str, tuple[float, ...]]:
    """Return the inner bin edges of each discretised variable."""
    number_of_states = {name: len(own) for name, own in zip(names, states, strict=True)}
    try:
        checked = {name: tuple(float(e) for e in own) for name, own in edges.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise DataError(f"edges: expected numbers by the name of a variable; {error}") from None
    for name, own in checked.items():
        if name not in number_of_states:
            raise DataError(f"bin edges of {name!r}, which is no variable")
        if len(own) != number_of_states[name] - 1 or not all(np.diff(own) > 0):
            raise DataError(
                f"variable {name!r}: edges {own}, expected {number_of_states[name] - 1} "
                "increasing numbers, one less than its states"
            )
    return checked
