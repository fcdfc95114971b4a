"""Coding of a frame that is fitted once, so that later rows are coded alike, and values of states.

A text, a boolean or an integer with few values is a state; other numbers are cut into bins
(:mod:`exactlearn.data.discretisation`). A later value that no row had when the coding was fitted
counts as missing; a number lies in the bin that holds it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.data import MISSING_SYMBOLS
from exactlearn.data.codes import MISSING, Column, LabelledRows
from exactlearn.data.coding import CodingOptions, TableCoding, frame_rows, state_codes
from exactlearn.data.dataset import Dataset
from exactlearn.data.discretisation import discretise, interval_names, parse_rule, unusable
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
        its own, or of a bin the median, the lower of two; NaN for a bin without any. Of a column
        that was left out because all its cells are equal it is that value.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [21.5, 33.1, 47.9, 62.0], "smokes": ["no", None, "yes", "no"]})
    >>> coding = FrameCoding.fit_frame(frame, frame.columns, "frequency:2")
    >>> coding.dataset(frame).codes.tolist()
    [[0, 0], [0, -1], [1, 1], [1, 0]]
    >>> coding.dataset(pd.DataFrame({"age": [90], "smokes": ["often"]})).codes.tolist()
    [[1, -1]]
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
        weights = np.ones(len(frame)) if weights is None else weights
        try:
            states = {
                column.name: _bins(column.numbers[column.codes], rule, weights, classes)
                for column in rows.columns
                if _is_cut(rows, column)
            }
            coding = TableCoding.fit(rows, CodingOptions(states, tidy=tidy), is_part=True)
        except DataError as error:
            cure = "make the cells None, or leave columns out"
            raise DataError(f"{error}; of these an estimator takes tidy=True: {cure}") from None
        values = {}
        for j, column in enumerate(rows.columns):
            own = coding.states.get(column.name, column.labels)
            if column.name in coding.states or len(own) == 1:
                codes = state_codes(column, own)
                order = np.lexsort((column.numbers[column.codes], codes))
                counts = np.bincount(codes + 1, minlength=len(own) + 1)  # missing cells first
                middle = np.cumsum(counts)[:-1] + (counts[1:] - 1) // 2
                values[column.name] = frame.iloc[order[middle], j].where(counts[1:] > 0)
        return cls(coding.states, coding.left_out, tuple(names), values)

    def dataset(self, frame: "pd.DataFrame", weights: NDArray[np.float64] | None = None) -> Dataset:
        """Return the coded table of the columns that are variables."""
        return Dataset(**self.transform(_read(frame, self.names)) | {"weights": weights})

    def filled(self, frame: "pd.DataFrame", codes: NDArray[np.integer]) -> "pd.DataFrame":
        """Return the frame with the values of codes in its missing cells.

        Observed cells stay, unknown values too. A column that was left out because all its cells
        are equal gets that value.

        Parameters
        ----------
        frame
            Rows, in the columns of the coding.
        codes
            State of each variable, shape (rows, variables), 0 or more where the cell is missing.
        """
        import pandas as pd  # takes long

        columns, variables = [], [*self.states]
        for j, column in enumerate(_read(frame, self.names).columns):
            own, rows = frame.iloc[:, j], np.flatnonzero(column.codes == MISSING)
            if len(rows) and column.name in self.values:
                values, is_coded = self.values[column.name], column.name in variables
                states = codes[rows, variables.index(column.name)] if is_coded else 0 * rows
                is_alike = own.dtype == values.dtype
                own = own.copy() if is_alike else own.astype(object)
                own.iloc[rows] = values.iloc[states].array
                own = own if is_alike else own.infer_objects()
            columns.append(own)
        return pd.concat(columns, axis=1)


def _read(frame: "pd.DataFrame", names: Sequence[str]) -> LabelledRows:
    """Return the columns as labels, under these names; a later frame may have other categories."""
    rows = frame_rows(frame.set_axis(list(names), axis=1)).read(MISSING_SYMBOLS)
    return replace(rows, columns=[replace(column, listed=()) for column in rows.columns])


def _is_cut(rows: LabelledRows, column: Column) -> bool:
    """Return whether a column holds numbers that are no states: many, or with fractions."""
    fault, fractions = unusable(rows, column), column.numbers[:-1] % 1
    return fault.is_cut if fault else bool(fractions.max() > 0)  # not where a text is no number


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
    values: NDArray[np.float64], classes: NDArray[np.integer], weights: NDArray[np.float64]
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

    known = ~np.isnan(values)
    classes, weights = classes[known], weights[known]
    distinct, places = np.unique(values[known], return_inverse=True)
    total = max(weights.sum(), 2.0)
    cost = (np.log2(total - 1) + np.log2(3.0 ** len(np.unique(classes)) - 2)) / total
    tree = DecisionTreeClassifier(criterion="entropy", min_impurity_decrease=cost)
    found = tree.fit(places[:, None], classes, weights).tree_  # single precision holds places
    cuts = np.sort(found.threshold[found.feature >= 0]).astype(np.int64)
    return tuple((distinct[cuts] / 2 + distinct[cuts + 1] / 2).tolist())
