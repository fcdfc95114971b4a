"""Coding of a frame that is fitted once, so that later rows are coded alike, and values of states.

A text, a boolean or an integer with few values is a state; other numbers are cut into bins
(:mod:`exactlearn.data.discretisation`). A later value stands for the state of the same value,
whatever its type (:mod:`exactlearn.data.labels`), and a number for the bin that holds it; one that
no row had when the coding was fitted counts as missing, with a warning, or is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.data import MISSING_SYMBOLS
from exactlearn.data.codes import MISSING, Column, LabelledRows, find_equal_states
from exactlearn.data.coding import CodingOptions, TableCoding, state_codes
from exactlearn.data.dataset import Dataset
from exactlearn.data.discretisation import (
    discretise,
    interval_names,
    parse_rule,
    unusable,
)
from exactlearn.data.frame_rows import frame_rows
from exactlearn.data.labels import interval, label_of
from exactlearn.data.unseen import Unseen
from exactlearn.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


ENTROPY = "entropy"
"""The rule that cuts numbers where they tell most about a class."""


@dataclass(frozen=True, eq=False)
class FrameCoding(TableCoding):
    """The coding of the columns of a frame, and a value for each state.

    Parameters
    ----------
    states, left_out
        As of :class:`~exactlearn.data.coding.TableCoding`.
    names
        Names of all columns.
    values
        A value of each column for each of its states, shape (states,), of the type of the column:
        its own, or of a bin the median, the lower of two; of a bin without any the value nearest to
        its middle. Of a column that was left out because all its cells are equal it is that value,
        of others that were left out none.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [21.5, 33.1, 47.9, 62.0], "smokes": ["no", None, "yes", "no"]})
    >>> coding = FrameCoding.fit_frame(frame, frame.columns, "frequency:2")
    >>> coding.dataset(frame).codes.tolist()
    [[0, 0], [0, -1], [1, 1], [1, 0]]
    >>> coding.dataset(pd.DataFrame({"age": ["90"], "smokes": ["yes"]})).codes.tolist()
    [[1, 1]]
    """

    names: tuple[str, ...]
    values: "dict[str, pd.Series[Any]]"

    @classmethod
    def fit_frame(
        cls,
        frame: "pd.DataFrame",
        names: Sequence[str],
        rule: str,
        weights: NDArray[np.float64] | None = None,
        classes: NDArray[np.integer] | None = None,
        tidy: bool = True,
    ) -> "FrameCoding":
        """Fit the coding of each column, under other names.

        Parameters
        ----------
        frame, names
            The columns, and their names. Missing are None, NaN, NA and the texts ``?``, ``NA`` and
            the empty one.
        rule
            How numbers are cut: ``METHOD:BINS``, as for
            :func:`~exactlearn.data.discretisation.discretise`, or ``entropy``.
        weights
            Weight of each row, above zero, shape (rows,), by which numbers are cut.
        classes
            Class of each row, for ``entropy``, shape (rows,).
        tidy
            Whether columns that are no variables are left out.

        Raises
        ------
        DataError
            When a number is infinite; when a column is no variable, and none is to be left out;
            when a text that other programs write for a missing cell is a value.

        Warns
        -----
        ColumnWarning
            Once, when columns are left out.
        """
        rows = _read(frame, names)
        columns = [column.joined() for column in rows.columns]
        if weights is None:
            weights = np.ones(len(frame))
        try:
            # Numbers that are no states are cut here, by the class where the rule says so.
            bins: dict[str, tuple[str, ...]] = {}
            for column in columns:
                if _is_cut(rows, column):
                    numbers = column.numbers[column.codes]
                    bins[column.name] = _bins(numbers, rule, weights, classes)
            options = CodingOptions(bins, tidy=tidy)
            coding = TableCoding.fit(rows, options, is_part=True)
        except DataError as error:
            cure = "make the cells None, or leave columns out"
            raise DataError(
                f"{error}; of these an estimator takes tidy=True: {cure}"
            ) from None
        values = {}
        for j, column in enumerate(columns):
            constant = column.labels if len(column.labels) == 1 else ()
            states = coding.states.get(column.name, constant)
            cells = frame.iloc[:, j]
            values[column.name] = _values_of_states(cells, rows.columns[j], states)
        return cls(
            coding.states,
            coding.left_out,
            tuple(names),
            values,
        )

    def dataset(
        self,
        frame: "pd.DataFrame",
        weights: NDArray[np.float64] | None = None,
        unseen: Unseen = "missing",
    ) -> Dataset:
        """Return the coded table of the columns that are variables.

        Parameters
        ----------
        frame, weights
            The rows, and the weight of each.
        unseen
            Whether values that are no states count as missing.

        Raises
        ------
        DataError
            When there are such values, and they are refused.

        Warns
        -----
        StateWarning
            Once, when there are such values.
        """
        fields = self.transform(_read(frame, self.names), unseen)
        return Dataset(**fields | {"weights": weights})

    def filled(
        self,
        frame: "pd.DataFrame",
        codes: NDArray[np.integer],
    ) -> "pd.DataFrame":
        """Return the frame with the values of codes in its missing cells, in the fitted types.

        Observed cells keep their values. A value that is no state stays where the fitted type can
        hold it, and else is filled as the missing cell that it counts as. A column that was left
        out because all its cells are equal gets that value; another one that was left out stays as
        it is.

        Parameters
        ----------
        frame
            Rows, in the columns of the coding.
        codes
            State of each variable, shape (rows, variables), 0 or more where the cell is missing.
        """
        import pandas as pd  # takes long

        variables = [*self.states]
        columns = []
        for j, column in enumerate(_read(frame, self.names).columns):
            cells = frame.iloc[:, j]
            values = self.values[column.name]
            if not len(values):
                columns.append(cells)
                continue
            # A column of one value is no variable.
            states: Sequence[str] = [label_of(values.iloc[0])]
            of_rows: NDArray[np.integer] = np.zeros(len(frame), np.int64)
            if column.name in self.states:
                states = self.states[column.name]
                of_rows = codes[:, variables.index(column.name)]
            filled = values.iloc[of_rows]
            columns.append(_with_observed(filled, cells, column, values, states))
        return pd.concat(columns, axis=1)


def _values_of_states(
    cells: "pd.Series[Any]",
    column: Column,
    states: Sequence[str],
) -> "pd.Series[Any]":
    """Return the value of each state: the median of its cells, by number and then by label.

    Of a bin without cells it is the value nearest to its middle, the lower of two.
    """
    codes = state_codes(column, states)
    _, rank = np.unique([*column.labels, ""], return_inverse=True)
    # Cells in the order of states, then of numbers, then of labels; missing ones first.
    order = np.lexsort((rank[column.codes], column.numbers[column.codes], codes))
    counts = np.bincount(codes + 1, minlength=len(states) + 1)  # missing cells first
    # The lower median of each state's cells.
    first = np.cumsum(counts)[:-1]
    counts = counts[1:]
    rows = order[first + (counts - 1) // 2]
    # A bin without cells takes the cell nearest to its middle.
    for k in np.flatnonzero(counts == 0).tolist():
        middle = np.mean(interval(states[k]))
        distances = np.abs(column.numbers - middle)
        nearest = np.lexsort((column.numbers, distances))[0]
        rows[k] = np.argmax(column.codes == nearest)
    values: pd.Series[Any] = cells.iloc[rows]
    return values


def _with_observed(
    filled: "pd.Series[Any]",
    cells: "pd.Series[Any]",
    column: Column,
    values: "pd.Series[Any]",
    states: Sequence[str],
) -> "pd.Series[Any]":
    """Return filled cells, of the fitted type, with the observed ones where the type holds them.

    Parameters
    ----------
    filled
        A fitted value in each cell, shape (rows,).
    cells, column
        The cells as they were given, of any type, and their labels.
    values, states
        The fitted values, and the states that they are of.
    """
    filled = filled.set_axis(cells.index)
    filled.name = cells.name
    if cells.dtype == values.dtype:
        observed = np.flatnonzero(column.codes != MISSING)
        filled.iloc[observed] = cells.iloc[observed].array
        return filled
    # The code -1 reads the last entry: a missing cell keeps the filled value.
    fitted = [*_fitted_values(cells, column, values, states), None]
    of_rows = [fitted[code] for code in column.codes]
    rows = [row for row, value in enumerate(of_rows) if value is not None]
    if rows:
        held = [of_rows[row] for row in rows]
        filled.iloc[rows] = type(values)(held, dtype=values.dtype).array
    return filled


def _fitted_values(
    cells: "pd.Series[Any]",
    column: Column,
    values: "pd.Series[Any]",
    states: Sequence[str],
) -> list[Any]:
    """Return each label of a column in the fitted type; ``None`` where the type cannot hold it."""
    import pandas as pd  # takes long

    dtype = values.dtype
    # A label of a state is the fitted value, and one of a category that no row had is the category.
    names = states
    fitted = [*values]
    if isinstance(dtype, pd.CategoricalDtype):
        names = [*map(label_of, dtype.categories)]
        fitted = [*dtype.categories]
    codes = find_equal_states(column.labels, names)
    fitted.append(None)  # which the code -1 of other labels reads
    in_type = [fitted[code] for code in codes]
    # Other labels are kept as numbers or texts where these are of the type.
    for k in np.flatnonzero(codes == MISSING).tolist():
        number = float(column.numbers[k])
        if _holds_number(dtype, number):
            in_type[k] = int(number) if number.is_integer() else number
        elif pd.api.types.is_object_dtype(dtype):
            first_row = int(np.argmax(column.codes == k))
            in_type[k] = cells.iloc[first_row]
        elif pd.api.types.is_string_dtype(dtype):
            in_type[k] = column.labels[k]
    return in_type


def _holds_number(dtype: Any, number: float) -> bool:
    """Return whether a type of numbers has a number, which may be NaN for a text."""
    import pandas as pd  # takes long

    if pd.api.types.is_float_dtype(dtype):
        return not np.isnan(number)
    if not pd.api.types.is_integer_dtype(dtype) or not number.is_integer():
        return False
    limits = np.iinfo(getattr(dtype, "numpy_dtype", dtype))
    return limits.min <= number <= limits.max


def _read(frame: "pd.DataFrame", names: Sequence[str]) -> LabelledRows:
    """Return the columns as labels, under these names; a later frame may have other categories."""
    renamed = frame.set_axis(list(names), axis=1)
    rows = frame_rows(renamed).read(MISSING_SYMBOLS)
    columns = [replace(column, listed=()) for column in rows.columns]
    return replace(rows, columns=columns)


def _is_cut(rows: LabelledRows, column: Column) -> bool:
    """Return whether a column holds numbers that are no states: many, or with fractions."""
    fault = unusable(rows, column)
    if fault is not None:
        return fault.is_cut
    fractions = column.numbers[:-1] % 1
    return bool(fractions.max() > 0)  # not where a text is no number


def _bins(
    numbers: NDArray[np.float64],
    rule: str,
    weights: NDArray[np.float64],
    classes: NDArray[np.integer] | None,
) -> tuple[str, ...]:
    """Return the bins that a rule cuts numbers into."""
    if rule == ENTROPY and classes is not None:
        if edges := entropy_edges(numbers, classes, weights):
            return interval_names(edges)
        rule = "frequency:2"  # alone it tells nothing of the class; with other columns it may
    return discretise(numbers, *parse_rule(rule), weights=weights)[2]


def entropy_edges(
    values: NDArray[np.float64],
    classes: NDArray[np.integer],
    weights: NDArray[np.float64],
) -> tuple[float, ...]:
    """Cut numbers where they tell most about a class; none where they tell too little.

    The cuts are those of a decision tree by entropy. A cut must gain as much as its description
    takes in the whole table, which Fayyad and Irani (1993, "Multi-interval discretization of
    continuous-valued attributes for classification learning") ask for in each part: on six public
    sets the log loss of naive Bayes differed by .02 nats at most. On eight sets it was .01 nats
    less on the mean than with five bins of equal frequency (.07 less to .04 more), and the accuracy
    on page-blocks .92 in place of .89.

    Parameters
    ----------
    values
        Numbers, shape (rows,); NaN for a missing value, whose row does not count.
    classes, weights
        Class and weight of each row, shape (rows,).

    Returns
    -------
    edges
        Increasing inner edges, half way between two values.

    Examples
    --------
    >>> entropy_edges(np.array([1.0, 2, 3, 4, 7, 8, 9, 10]), np.repeat([0, 1], 4), np.ones(8))
    (5.5,)
    """
    from sklearn.tree import DecisionTreeClassifier  # of the estimators' extra

    observed = ~np.isnan(values)
    classes = classes[observed]
    weights = weights[observed]
    distinct, places = np.unique(values[observed], return_inverse=True)
    # What the description of a cut takes, relative to all rows (Fayyad and Irani).
    total = max(weights.sum(), 2.0)
    n_classes = len(np.unique(classes))
    description = np.log2(total - 1) + np.log2(3.0**n_classes - 2)
    cost = description / total
    classifier = DecisionTreeClassifier(criterion="entropy", min_impurity_decrease=cost)
    # The library's single precision holds places.
    tree = classifier.fit(places[:, None], classes, weights).tree_
    cuts = np.sort(tree.threshold[tree.feature >= 0]).astype(np.int64)
    return tuple((distinct[cuts] / 2 + distinct[cuts + 1] / 2).tolist())
