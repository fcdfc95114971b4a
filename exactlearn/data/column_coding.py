"""Coding of columns that is fitted once, so that later rows are coded alike.

A text, a boolean or an integer with few values is a state; other numbers are cut into bins
(:mod:`exactlearn.data.discretisation`). A later value that no row had when the coding was fitted
counts as missing; a number lies in the bin that holds it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.data import MANY, MISSING_SYMBOLS
from exactlearn.data.codes import MISSING
from exactlearn.data.coding import TableCoding, labelled_column, place_in_frame, read_missing
from exactlearn.data.dataset import Dataset
from exactlearn.data.discretisation import (
    discretise,
    entropy_edges,
    interval_names,
    parse_rule,
    remarks_on_bins,
)
from exactlearn.data.labels import Column, ordered
from exactlearn.data.tidying import (
    Unusable,
    refusal_of,
    refusal_of_texts,
    texts_of_missing,
    unusable,
    warn_of_columns,
)
from exactlearn.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

_place = partial(place_in_frame, None)

ENTROPY = "entropy"
"""The rule that cuts numbers where they tell most about the class."""


@dataclass(frozen=True, eq=False)
class ColumnCoding:
    """States of a column, and a value for each of them.

    Parameters
    ----------
    name
        Name of the variable.
    states
        State names; fewer than two where the column is left out.
    values
        A value of the column for each state, shape (states,): its own, or of a bin the median, the
        lower of two; NaN for a bin without any.
    edges
        Inner edges of bins, ``None`` for a column that was not cut.
    dtype
        Type of the column in a frame.
    left_out
        Why the column is no variable; empty where it is one.
    remarks
        Why bins may mislead.
    """

    name: str
    states: tuple[str, ...]
    values: NDArray[Any]
    dtype: Any
    edges: tuple[float, ...] | None = None
    left_out: str = ""
    remarks: Sequence[str] = ()

    @classmethod
    def fit(
        cls,
        column: Column,
        series: "pd.Series[Any]",
        rule: str,
        weights: NDArray[np.float64],
        classes: NDArray[np.integer] | None = None,
    ) -> "ColumnCoding":
        """Fit the coding of a column.

        Parameters
        ----------
        column
            The labels; missing are None, NaN, NA and the texts ``?``, ``NA`` and the empty one.
        series
            The values.
        rule
            How numbers are cut: ``METHOD:BINS``, as for
            :func:`~exactlearn.data.discretisation.discretise`, or ``entropy``.
        weights
            Weight of each row, above zero, shape (rows,).
        classes
            Class of each row, for ``entropy``, shape (rows,).

        Raises
        ------
        DataError
            When a number is infinite.
        """
        name = column.name
        seen = column.codes != MISSING
        numbers = column.numbers()
        edges, remarks, fault = None, [], _unusable(column)
        if fault is not None and not fault.is_cut:
            states = column.labels if len(column.labels) < 2 else ()
        elif np.isnan(numbers[seen]).any() or (
            len(column.labels) <= MANY and (numbers[seen] % 1 == 0).all()
        ):
            states, fault = tuple(ordered(column.labels)), None
        else:
            edges, fault = _edges(numbers, rule, weights, classes), None
            states = interval_names(edges)
            remarks = remarks_on_bins(
                name, numbers, np.ones(len(numbers)), len(states), rule, "leave it out"
            )
        coding = cls(name, states, np.empty(0, object), series.dtype, edges)
        values = _medians(
            _coding([coding]).transform([column], len(series)).codes[:, 0],
            numbers,
            weights,
            len(states),
            series,
        )
        return replace(coding, values=values, left_out=fault.why if fault else "", remarks=remarks)

    def is_missing(self, series: "pd.Series[Any]") -> NDArray[np.bool_]:
        """Return whether each cell is missing, shape (rows,); unknown values are not."""
        return np.asarray(_column(self.name, series).codes == MISSING)


@dataclass(frozen=True, eq=False)
class FrameCoding:
    """The codings of all columns of a frame.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [21.5, 33.1, 47.9, 62.0], "smokes": ["no", None, "yes", "no"]})
    >>> coding = FrameCoding.fit(frame, frame.columns, "frequency:2")
    >>> coding.dataset(frame).codes.tolist()
    [[0, 0], [0, -1], [1, 1], [1, 0]]
    >>> coding.dataset(pd.DataFrame({"age": [90], "smokes": ["often"]})).codes.tolist()
    [[1, -1]]
    """

    columns: tuple[ColumnCoding, ...]

    @classmethod
    def fit(
        cls,
        frame: "pd.DataFrame",
        names: Sequence[str],
        rule: str,
        weights: NDArray[np.float64] | None = None,
        classes: NDArray[np.integer] | None = None,
        tidy: bool = True,
    ) -> "FrameCoding":
        """Fit the coding of each column, as :meth:`ColumnCoding.fit`, under other names.

        Raises
        ------
        DataError
            When a column is no variable, and none is to be left out (``tidy``); when a text that
            other programs write for a missing cell is a value.

        Warns
        -----
        ColumnWarning
            Once, when columns are left out, or bins may mislead.
        """
        if rule != ENTROPY:
            parse_rule(rule)
        weights = np.ones(len(frame)) if weights is None else weights
        read = [_column(name, frame.iloc[:, j]) for j, name in enumerate(names)]
        texts = {own.name: texts_of_missing(own.values(_place), ()) for own in read}
        if any(texts.values()):
            raise refusal_of_texts(texts, {}, "", None)
        columns = [
            ColumnCoding.fit(column, frame.iloc[:, j], rule, weights, classes)
            for j, column in enumerate(read)
        ]
        strange = [Unusable(own.name, own.left_out) for own in columns if own.left_out]
        if strange and not tidy:
            raise refusal_of(strange, has_options=False)
        warn_of_columns(strange, remarks=[text for own in columns for text in own.remarks])
        return cls(tuple(columns))

    @cached_property
    def used(self) -> tuple[int, ...]:
        """Positions of the columns that are variables."""
        return tuple(j for j, column in enumerate(self.columns) if not column.left_out)

    @property
    def left_out(self) -> dict[str, str]:
        """Why each column that is no variable was left out, by name."""
        return {column.name: column.left_out for column in self.columns if column.left_out}

    def dataset(self, frame: "pd.DataFrame", weights: NDArray[np.float64] | None = None) -> Dataset:
        """Return the coded table of the columns that are variables."""
        known = [self.columns[j] for j in self.used]
        read = [
            _column(own.name, frame.iloc[:, j]) for j, own in zip(self.used, known, strict=True)
        ]
        return Dataset(*_coding(known).transform(read, len(frame), weights))

    def filled(
        self, frame: "pd.DataFrame", table: Dataset, codes: NDArray[np.integer]
    ) -> "pd.DataFrame":
        """Return the frame with the values of codes in its missing cells.

        Observed cells stay, unknown values too. A column that was left out because all its cells
        are equal gets that value.

        Parameters
        ----------
        frame
            Rows, in the columns of the coding.
        table
            The same, coded.
        codes
            State of each variable, shape (rows, variables), 0 or more where the cell is missing.
        """
        import pandas as pd  # takes long

        columns = [frame.iloc[:, j] for j in range(len(self.columns))]
        states = np.zeros((len(frame), len(self.columns)), np.int64)
        uncoded = np.ones(states.shape, np.bool_)
        states[:, self.used], uncoded[:, self.used] = codes, table.codes == MISSING
        for j, coding in enumerate(self.columns):
            rows = np.flatnonzero(uncoded[:, j])
            rows = rows[coding.is_missing(columns[j].iloc[rows])]
            if len(rows) and len(coding.values):
                alike = columns[j].dtype == coding.dtype
                own = columns[j].copy() if alike else columns[j].astype(object)
                own.iloc[rows] = list(coding.values[states[rows, j]])
                columns[j] = own if alike else own.infer_objects()
        filled = pd.concat(columns, axis=1)
        filled.columns = frame.columns
        return filled


def _coding(columns: Sequence[ColumnCoding]) -> TableCoding:
    edges = {own.name: own.edges for own in columns if own.edges is not None}
    return TableCoding({own.name: own.states for own in columns}, edges, {})


def _column(name: str, series: "pd.Series[Any]") -> Column:
    column = read_missing(labelled_column(name, series), MISSING_SYMBOLS)
    for label in {"inf", "-inf"} & {*column.labels}:
        raise DataError(
            f"{column.values(_place).place(label)}: expected finite numbers, found infinity "
            f"({label}); correct it, or make the cell missing"
        )
    return column


def _unusable(column: Column) -> Unusable | None:
    try:
        return unusable(column.values(_place))
    except DataError as error:
        what = str(error).partition(";")[0]
        raise DataError(f"{what}; if it means missing, make the cells None") from None


def _edges(
    numbers: NDArray[np.float64],
    rule: str,
    weights: NDArray[np.float64],
    classes: NDArray[np.integer] | None,
) -> tuple[float, ...]:
    if rule == ENTROPY and classes is not None:
        found = entropy_edges(numbers, classes, weights)
        if found:
            return found
        rule = "frequency:2"  # alone it tells nothing of the class; with other columns it may
    return discretise(numbers, *parse_rule(rule), weights=weights)[1]


def _medians(
    codes: NDArray[np.integer],
    numbers: NDArray[np.float64],
    weights: NDArray[np.float64],
    n_states: int,
    series: "pd.Series[Any]",
) -> NDArray[Any]:
    """Return the median value of the rows of each state, the lower of two; of texts the first."""
    values = np.empty(n_states, object)
    order = np.argsort(numbers, kind="stable")
    for state in range(n_states):
        rows = order[codes[order] == state]
        if not len(rows):  # a bin of equal width
            values[state] = np.nan
            continue
        below = np.cumsum(weights[rows])
        values[state] = series.iloc[rows[np.searchsorted(below, below[-1] / 2)]]
    return values
