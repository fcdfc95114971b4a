"""A column of labels, a label being the text of a cell."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.codes import MISSING, SMALL
from exactlearn.data.discretisation import interval_start


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
        """Return the number that each label writes, NaN where it writes none."""
        return np.array([number(label) for label in self.labels], np.float64)

    def first_row(self, label: str) -> int:
        """Return the first row that has a label."""
        return int(np.flatnonzero(self.codes == self.labels.index(label))[0])


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
