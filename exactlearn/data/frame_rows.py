"""Rows of pandas frames and arrays as labels, not yet coded."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.variable_arguments import variable_index
from exactlearn.data.codes import (
    MISSING,
    Column,
    LabelledRows,
    labelled_column,
    repeated,
)
from exactlearn.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {
    ",": "a comma",
    ";": "a semicolon",
    "\t": "a tab",
    "|": "a bar",
    " ": "a blank",
}
"""Separators of columns that a program may have left within one."""


def frame_rows(frame: "pd.DataFrame", drop: Sequence[Any] = ()) -> LabelledRows:
    """Return the rows of a frame as labels; the categories of a column are its declared states.

    Raises
    ------
    DataError
        When it has no cells, or two columns have one name or none.
    OptionError
        When there is no column of a name to drop.
    """
    names = column_names(frame)
    left_out = {names[variable_index(column, "drop", names)] for column in drop}
    # Names must differ among the columns that stay.
    kept = {j: name for j, name in enumerate(names) if name not in left_out}
    for twice in repeated(kept.values()):
        places = [str(j + 1) for j, name in kept.items() if name == twice]
        described = f"have the name {twice!r}" if twice else "have no name"
        raise DataError(
            f"columns {', '.join(places)} of {len(names)} {described}; rename them"
        )
    if not kept or not len(frame):
        raise DataError(
            f"the frame has the shape {len(frame), len(kept)}, expected rows, columns"
        )
    columns = []
    for j, name in kept.items():
        columns.append(labelled_column(name, frame.iloc[:, j]))
    _require_parted(columns)
    return LabelledRows(
        source=None,
        columns=columns,
        lines=np.arange(len(frame)),
        unit="row",
        index=frame.index,
    )


def _require_parted(columns: Sequence[Column]) -> None:
    """Refuse a single column whose name and cells hold a separator: it was read as one of several.

    Raises
    ------
    DataError
        When its name and all its cells hold a separator equally often.
    """
    if len(columns) != 1:
        return
    (column,) = columns
    for mark, described in SEPARATORS.items():
        texts = (column.name, *column.labels)
        counts = {text.count(mark) for text in texts}
        if len(column.labels) > 1 and len(counts) == 1 and 0 not in counts:
            raise DataError(
                f"the only column, {column.name!r}, holds {described} in its name and in all its "
                "cells: these seem to be several columns; read the file with that separator, or "
                "rename the column"
            )


def column_names(frame: "pd.DataFrame") -> list[str]:
    """Return the names of a frame's columns as texts; empty where there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> column_names(pd.DataFrame([[1, 2, 3]], columns=["a", None, 7]))
    ['a', '', '7']
    """
    import pandas as pd  # takes long

    names = []
    for label in frame.columns:
        # A label may be a tuple, of which isna would tell for each part.
        is_missing = pd.api.types.is_scalar(label) and pd.isna(label)
        names.append("" if is_missing else str(label))
    return names


def array_frame(array: NDArray[Any]) -> "pd.DataFrame":
    """Return an array as a frame; -1 in an array of integers is a missing cell.

    Raises
    ------
    DataError
        When it is not two-dimensional.
    """
    import pandas as pd  # takes long

    if array.ndim != 2:
        raise DataError(
            f"the array has the shape {array.shape}, expected (rows, variables)"
        )
    frame = pd.DataFrame(array).add_prefix("X")
    is_missing = array == MISSING
    if array.dtype.kind == "i" and is_missing.any():
        return frame.astype("Int64").mask(is_missing)
    return frame
