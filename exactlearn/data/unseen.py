"""Values that are no state of a known variable: refused, or counted as missing with one warning."""

from collections.abc import Mapping
from typing import Literal

from exactlearn.data.labels import first_listed
from exactlearn.errors import DataError, StateWarning, as_written, warn_caller

Unseen = Literal["refuse", "missing"]
"""What becomes of a value that is no state: an error, or a missing cell."""

UNSEEN: tuple[Unseen, ...] = ("refuse", "missing")

Counts = Mapping[str, Mapping[str, float]]
"""How many cells of a column have each such value, by the name of the column."""


def cure_of_unseen() -> str:
    """Return the advice for a function that has the option ``unseen``."""
    return f"count such values as missing ({as_written('unseen', 'missing')})"


def report_unseen(counts: Counts, unseen: Unseen) -> None:
    """Warn once of all values that are no states and count as missing, or refuse them.

    Parameters
    ----------
    counts
        The values, none where all are states.
    unseen
        Whether they are refused.

    Raises
    ------
    DataError
        When they are refused.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     report_unseen({"colour": {"violet": 3, "pink": 1}}, "missing")
    >>> print(caught[0].message)
    values that are no states count as missing: column 'colour': 'violet' (3), 'pink' (1)
    """
    columns = []
    for name, values in counts.items():
        if values:
            labels = [f"{label!r} ({cells:g})" for label, cells in values.items()]
            listed = first_listed(labels, " values")
            columns.append(f"column {name!r}: {listed}")
    if not columns:
        return
    listed = "; ".join(columns)
    if unseen == "refuse":
        raise DataError(
            f"values that no fitted row had: {listed}; correct the cells, or {cure_of_unseen()}"
        )
    warn_caller(f"values that are no states count as missing: {listed}", StateWarning)
