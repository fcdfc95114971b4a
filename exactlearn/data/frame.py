"""Pandas frames and numpy arrays as columns of labels."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from exactlearn.data.codes import MISSING, repeated
from exactlearn.data.coding import CodedTable, code_columns
from exactlearn.data.column import Column, label_of
from exactlearn.errors import DataError, OptionError


def code_frame(
    frame: pd.DataFrame,
    *,
    states: Mapping[str, Sequence[str]] | None,
    missing: Sequence[str],
    discretise: Mapping[str, str] | None,
) -> CodedTable:
    """Code a frame; see :meth:`exactlearn.data.dataset.Dataset.from_frame`."""
    names = [str(name) for name in frame.columns]
    if twice := repeated(names):
        raise DataError(f"two columns have the name {twice[0]!r}; rename one")
    if not names or not len(frame):
        raise DataError(f"the frame has the shape {frame.shape}, expected rows and columns")
    series = [frame.iloc[:, j] for j in range(len(names))]
    categories = {
        name: [label_of(c) for c in own.cat.categories]
        for name, own in zip(names, series, strict=True)
        if isinstance(own.dtype, pd.CategoricalDtype) and name not in (discretise or {})
    }
    return code_columns(
        [labelled_column(name, own) for name, own in zip(names, series, strict=True)],
        states={**{n: c for n, c in categories.items() if len(c) > 1}, **(states or {})},
        missing=missing,
        discretise=discretise or {},
        place=_place,
    )


def code_array(
    array: NDArray[Any],
    names: Sequence[str] | None,
    states: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None,
    missing: Sequence[str],
) -> CodedTable:
    """Code an array; see :meth:`exactlearn.data.dataset.Dataset.from_array`."""
    if array.ndim != 2:
        raise DataError(f"the array has the shape {array.shape}, expected (rows, variables)")
    names = generated_names(array.shape[1]) if names is None else list(names)
    if len(names) != array.shape[1]:
        raise OptionError(f"{len(names)} names for {array.shape[1]} columns: give one each")
    if states is not None and not isinstance(states, Mapping):
        if len(states) != len(names):
            raise OptionError(f"states of {len(states)} variables for {len(names)}: give one each")
        states = dict(zip(names, states, strict=True))
    frame = pd.DataFrame(array, columns=pd.Index(names, dtype=object))
    if np.issubdtype(array.dtype, np.signedinteger):
        missing = (*missing, str(MISSING))
    return code_frame(frame, states=states, missing=missing, discretise=None)


def generated_names(count: int) -> list[str]:
    """Return the names of variables that have none.

    Examples
    --------
    >>> generated_names(2)
    ['X0', 'X1']
    """
    return [f"X{k}" for k in range(count)]


def labelled_column(name: str, series: "pd.Series[Any]") -> Column:
    """Return the values of a series as labels."""
    codes, values = pd.factorize(series)
    texts = [label_of(value) for value in values]
    distinct = list(dict.fromkeys(texts))
    places = {text: k for k, text in enumerate(distinct)}
    column = Column(name, tuple(texts), np.asarray(codes, np.int64))
    return column.relabelled(distinct, [places[text] for text in texts])


def _place(name: str, row: int | None) -> str:
    return f"column {name!r}" if row is None else f"column {name!r}, row {row}"
