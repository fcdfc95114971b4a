"""A coded categorical table with missing cells."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime import argument_kinds, arguments, number_arguments
from exactlearn._runtime.checkpoint import digest
from exactlearn._runtime.display import ByValue
from exactlearn.data import MISSING_SYMBOLS
from exactlearn.data.codes import (
    MISSING,
    LabelledRows,
    NamedVariables,
    as_array,
    check_variables,
    checked_codes,
    checked_weights,
    row_place,
    states_by_name,
)
from exactlearn.data.coding import (
    CodingOptions,
    by_name,
    coded_rows,
    split_declared,
)
from exactlearn.data.completed_cells import completed_cells
from exactlearn.data.decimal_comma import with_decimal_point
from exactlearn.data.determined_columns import warn_of_determined_columns
from exactlearn.data.frame_rows import array_frame, column_names, frame_rows
from exactlearn.data.labels import are_bins
from exactlearn.data.unseen import UNSEEN, Unseen
from exactlearn.errors import DataError, OptionError

if TYPE_CHECKING:
    import pandas as pd


_MAX_DRAWN = 2**53
"""The most rows that weights are drawn as: beyond, not every whole number is a float."""


def _as_frame(
    value: Any,
    name: str,
    expected: str = "a pandas DataFrame or an array",
) -> Any:
    """Return an array, or a frame of pandas, Polars or Arrow, as one of pandas.

    Whoever made a frame of pandas has imported it, which takes long.
    """
    if isinstance(value, np.ndarray):
        return array_frame(value)
    frame = value.to_pandas() if hasattr(value, "to_pandas") else value
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(frame, pandas.DataFrame):
        instead = (
            "read a file with read_dataset(path), and a Dask frame with read_blocks(frame), and "
            "make a frame of lists by pandas.DataFrame(...)"
        )
        raise argument_kinds.refusal(name, expected, value, instead)
    return frame


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(ByValue, NamedVariables, shown="n_rows n_variables missing_cells"):
    """Rows of discrete observations, checked when made; a missing cell has the code -1.

    Parameters
    ----------
    codes
        State indices, shape (rows, variables), of any integer type; -1 for a missing cell. Kept as
        int8, or as int16 when a variable has more than 127 states, rows contiguous.
    names
        Variable names, all different.
    states
        State names of each variable, in the order of their codes, all different within the
        variable; may hold states that no row has.
    weights
        Weight of each row, shape (rows,), finite and not negative, or ``None`` when every row
        counts once.
    lines
        The line of each row in the file that it was read from, shape (rows,), for messages; it does
        not count when tables are compared.
    row_index
        The index of the pandas frame that it was made of, for messages and :meth:`to_frame`; it
        does not count either.
    left_out
        Why columns of the frame or file were left out, by name; it does not count either.

    Raises
    ------
    DataError
        When shapes, codes, names, states or weights do not fit each other.

    Examples
    --------
    >>> table = Dataset(np.array([[0, 1], [-1, 0]]), ("smoke", "lung"), (("no", "yes"),) * 2)
    >>> table.missing_cells.tolist()
    [[1, 0]]
    >>> table.complete([1]).codes.tolist()
    [[0, 1], [1, 0]]
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar")
    >>> table
    Dataset(rows=100, variables=8, missing_cells=16)
    >>> table.n_rows, table.n_variables, table.is_complete, table.cardinalities.tolist()
    (100, 8, False, [2, 2, 2, 2, 2, 2, 2, 2])
    >>> table.row_weights[:3].tolist(), int(table.complete_rows.sum())
    ([1.0, 1.0, 1.0], 85)
    >>> table.part(slice(10))
    Dataset(rows=10, variables=8, missing_cells=1)
    >>> table.drawn(20, np.random.default_rng(1))
    Dataset(rows=20, variables=8, missing_cells=5)
    """

    codes: NDArray[np.int8] | NDArray[np.int16]
    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    weights: NDArray[np.float64] | None = None
    lines: NDArray[np.int64] | None = field(default=None, compare=False)
    row_index: "pd.Index | None" = field(default=None, compare=False)
    left_out: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        """Check every field, and keep the codes in their smallest type."""
        try:
            names = tuple(argument_kinds.listed(self.names))
            states = tuple(tuple(argument_kinds.listed(s)) for s in self.states)
        except TypeError as error:
            raise DataError(
                f"names, states: expected lists of texts; {error}"
            ) from None
        check_variables(names, states)
        if "" in names:
            raise DataError(
                f"variable {names.index('')}: its name is '', expected a text"
            )
        codes = checked_codes(as_array(self.codes, None, "codes"), names, states)
        # Frozen fields are replaced by their checked forms at once.
        checked: dict[str, Any] = {"names": names, "states": states, "codes": codes}
        if self.weights is not None:
            checked["weights"] = checked_weights(self.weights, len(codes), self.lines)
        # A table that this one is made of may have other rows.
        for key in ("lines", "row_index"):
            places = getattr(self, key)
            if places is not None and len(places) != len(codes):
                checked[key] = None
        vars(self).update(checked)

    @classmethod
    @arguments.checked_arguments(frame=_as_frame, names=argument_kinds.as_names)
    def from_frame(
        cls,
        frame: "pd.DataFrame",
        *,
        names: Sequence[str] | None = None,
        states: Mapping[str, Sequence[str]] | None = None,
        missing: Sequence[str] = MISSING_SYMBOLS,
        decimal: str = ".",
        discretise: Mapping[str, str] | None = None,
        drop: Sequence[str] = (),
        tidy: bool = False,
    ) -> "Dataset":
        """Code the columns of a pandas frame, or of an array.

        Parameters
        ----------
        frame
            One column per variable; those of an array are ``X0``, ``X1``, ..., and in one of
            integers -1 is missing. Values are named by their text, whole floats without a fraction;
            the categories of a categorical column are its declared states, but those that are
            missing symbols. For codes that are state indices already, make a ``Dataset`` itself.
        names
            Names to use instead of the columns' own.
        states
            Declared states of a variable, in order; others are ordered as numbers if all are
            numbers, else as text. ``"*"`` declares every value to be a state, however many
            numbers there are.
        missing
            Symbols of a missing cell, beside None, NaN and NA.
        decimal
            Decimal mark of numbers that are texts: a point, or a comma.
        discretise
            Bins of numeric columns, as for :func:`exactlearn.formats.table.read_dataset`.
        drop
            Columns to leave out.
        tidy
            Leave out columns that are constant, entirely missing, or have a value of their own in
            each row, and cut numbers with more than 20 values into five bins of equal frequency,
            unless ``discretise`` has a rule for ``"*"``.

        Raises
        ------
        DataError
            When columns are what ``tidy`` is for; when a text that other programs write for a
            missing cell, such as ``NaN``, is neither a missing symbol nor a declared state; when an
            array is not two-dimensional.
        OptionError
            When an option names a column that does not exist, or there are more or fewer names.

        Warns
        -----
        ColumnWarning
            Once, when columns are tidied.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"smoke": ["yes", "no", None], "age": [31.5, 44.0, 62.5]})
        >>> table = Dataset.from_frame(frame, discretise={"age": "width:2"})
        >>> table.states, table.codes.tolist()
        ((('no', 'yes'), ('<=47', '>47')), [[1, 0], [0, 0], [-1, 1]])
        >>> Dataset.from_frame(np.array([["no", "?"], ["yes", "b"], ["no", "a"]])).states
        (('no', 'yes'), ('a', 'b'))
        """
        if names is not None:
            if len(names) != frame.shape[1]:
                raise OptionError(
                    f"{len(names)} names for {frame.shape[1]} columns: give one each"
                )
            frame = frame.set_axis([*names], axis=1)
        options = CodingOptions(states, missing, discretise, tidy)
        rows = with_decimal_point(frame_rows(frame, drop), decimal)
        return coded_table(rows, options)

    @arguments.checked_arguments(row=number_arguments.SIZE)
    def row_place(self, row: int) -> str:
        """Return the place of a row for messages, given its index: ``row 3 (line 4)``.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.read_dataset("asia-mnar").row_place(0)
        'row 1 (line 2)'
        """
        return row_place(row, self.lines, self.row_index)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[0])

    @property
    def row_weights(self) -> NDArray[np.float64]:
        """Weight of each row, 1 where none was given, shape (rows,)."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    @cached_property
    def missing_cells(self) -> NDArray[np.int64]:
        """The missing cells as (row, variable), in row-major order, shape (cells, 2)."""
        return np.argwhere(self.codes == MISSING).astype(np.int64, order="C")

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        return bool(self.codes.min(initial=0) >= 0)

    def complete(self, values: Sequence[int] | NDArray[np.integer]) -> "Dataset":
        """Return the table with its missing cells filled.

        Parameters
        ----------
        values
            A state index for each missing cell, in the order of ``missing_cells``.

        Raises
        ------
        DataError
            When their number differs, or a value is not a state of its variable.
        """
        states = as_array(values, np.int64, "values")
        rows, columns = self.missing_cells.T
        if states.shape != rows.shape:
            raise DataError(
                f"{states.size} values for {len(rows)} missing cells: give one each"
            )
        # The first value that is no state is reported.
        sizes = self.cardinalities[columns]
        for cell in np.flatnonzero((states < 0) | (states >= sizes))[:1].tolist():
            raise DataError(
                f"value {states[cell]} for the missing cell of {self.names[columns[cell]]!r} in "
                f"{self.row_place(rows[cell])}: the variable has the states 0 to "
                f"{sizes[cell] - 1}"
            )
        codes = self.codes.copy()
        codes[rows, columns] = states
        return replace(self, codes=codes)

    def to_frame(self) -> "pd.DataFrame":
        """Return the table as a pandas frame of categoricals; a missing cell is NaN.

        It has the index of the frame that the table was made of. :meth:`from_frame` makes the same
        table of it, but for weights: ``frame.assign(weight=table.row_weights)`` has these, too.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.read_dataset("asia-mnar").to_frame().iloc[1:4, 4:]
          bronc either xray dysp
        1    no     no   no   no
        2    no     no   no  NaN
        3   yes     no   no  yes
        """
        import pandas as pd

        columns = {}
        for name, codes, states in zip(
            self.names,
            self.codes.T,
            self.states,
            strict=True,
        ):
            columns[name] = pd.Categorical.from_codes(
                codes,
                pd.Index(states),
                ordered=are_bins(states),
            )
        return pd.DataFrame(columns, index=self.row_index)

    def next_best(
        self,
        values: Sequence[int] | NDArray[np.integer],
        losses: NDArray[np.float64],
    ) -> tuple[list[str], NDArray[np.float64]]:
        """Return the other state of each missing cell that loses least, and what it loses.

        Parameters
        ----------
        values
            A state index for each missing cell, in the order of ``missing_cells``.
        losses
            What each state loses, shape (cells, most states); the first of equal ones is taken.

        Examples
        --------
        >>> table = Dataset(np.array([[0], [1], [-1]]), ("a",), (("no", "yes"),))
        >>> table.next_best([1], np.array([[2.5, 0.0]]))
        (['no'], array([2.5]))
        """
        cells = np.arange(len(losses))
        columns = self.missing_cells[:, 1]
        states = np.arange(losses.shape[1])
        is_state = states < self.cardinalities[columns, None]
        # The value itself is no alternative.
        is_state[cells, np.asarray(values, np.int64)] = False
        # An infinite loss is one, too.
        finite = np.minimum(losses, np.finfo(np.float64).max)
        best = np.where(is_state, finite, np.inf).argmin(axis=1)
        names = [self.states[v][k] for v, k in zip(columns, best, strict=True)]
        return names, losses[cells, best]

    def completion_frame(
        self,
        values: Sequence[int] | NDArray[np.integer],
        probabilities: NDArray[np.float64] | None = None,
        losses: NDArray[np.float64] | None = None,
    ) -> "pd.DataFrame":
        """Return the values of the missing cells as a pandas frame: row, variable, value.

        The row is its label in the frame that the table was made of, else its position from 0.

        Parameters
        ----------
        values
            A state index for each missing cell, in the order of ``missing_cells``.
        probabilities
            The distribution of each missing cell, shape (cells, most states), for a column with the
            probability of the value.
        losses
            What each state loses, shape (cells, most states), for the columns ``next_best`` and
            ``loss_of_next_best``.

        Raises
        ------
        DataError
            As :meth:`complete`.

        Examples
        --------
        >>> import exactlearn as el
        >>> table, network = el.read_dataset("asia-mnar"), el.read_network("asia")
        >>> values = el.most_probable_completion(network, table)
        >>> table.completion_frame(values).head(2)
           row variable value
        0    2     dysp    no
        1   12     dysp   yes
        """
        import pandas as pd

        # Refuses values that are no states.
        self.complete(values)
        columns = completed_cells(self, values, probabilities, losses)
        if self.row_index is not None:
            columns["row"] = self.row_index[columns["row"]]
        return pd.DataFrame(columns)

    @property
    def complete_rows(self) -> NDArray[np.bool_]:
        """Whether each row has no missing cell, shape (rows,)."""
        return np.asarray(self.codes.min(axis=1, initial=0) >= 0)

    def part(self, rows: NDArray[np.bool_] | NDArray[np.int64] | slice) -> "Dataset":
        """Return the table of some rows with their weights.

        Parameters
        ----------
        rows
            Whether each row is one of them, shape (rows,); the indices of the rows; or a slice.
        """
        kept: dict[str, Any] = {}
        for key in ("codes", "weights", "lines", "row_index"):
            field = getattr(self, key)
            if field is not None:
                kept[key] = field[rows]
        return replace(self, **kept)

    def written_out(self) -> "Dataset":
        """Return the table without weights, in which each row stands as often as it weighs.

        Raises
        ------
        DataError
            When a weight is no whole number.

        Examples
        --------
        >>> table = Dataset(np.array([[0], [1]]), ("a",), (("no", "yes"),), np.array([3.0, 1.0]))
        >>> table.written_out().codes.ravel().tolist()
        [0, 0, 0, 1]
        """
        weights = self.row_weights
        for row in np.flatnonzero(weights % 1)[:1].tolist():
            raise DataError(
                f"{self.row_place(row)}: weight {weights[row]}, expected whole numbers, which say "
                "how often each row is to stand"
            )
        rows = np.repeat(np.arange(self.n_rows), weights.astype(np.int64))
        return replace(self.part(rows), weights=None)

    @arguments.checked_arguments(most=number_arguments.SIZE)
    def drawn(self, most: int, rng: np.random.Generator) -> "Dataset":
        """Return the table, or so many of its rows, drawn without replacement, where it has more.

        Parameters
        ----------
        most
            Number of rows; equal ones that are one row with a weight stay together.
        rng
            Draws them; they keep their order.
        """
        if self.n_rows <= most:
            return self
        return self.part(np.sort(rng.choice(self.n_rows, most, replace=False)))

    def resampled(self, rng: np.random.Generator) -> "Dataset":
        """Return a bootstrap sample: as many rows, drawn with replacement, equal ones as a weight.

        Where all weights are whole numbers, up to 2**53 in all, a row counts as that many rows;
        otherwise a row with weight is drawn with its whole weight.

        Parameters
        ----------
        rng
            Draws them; they keep their order.

        Raises
        ------
        DataError
            When no row has weight.

        Examples
        --------
        >>> table = Dataset(np.array([[0], [1]]), ("a",), (("no", "yes"),), np.array([30.0, 70.0]))
        >>> table.resampled(np.random.default_rng(0)).weights.sum().item()
        100.0
        """
        weights = self.row_weights
        total = weights.sum()
        if not total:
            raise DataError(
                f"none of {self.n_rows} rows has weight: expected one to draw from"
            )
        are_counts = total <= _MAX_DRAWN and (weights == np.floor(weights)).all()
        # Rows that stand for several are drawn as so many.
        if self.weights is not None and are_counts:
            counts = rng.multinomial(int(total), weights / total)
            drawn = counts.astype(np.float64)
        else:
            used = np.flatnonzero(weights)
            rows = used[rng.integers(0, len(used), len(used))]
            drawn = np.bincount(rows, minlength=self.n_rows) * weights
        kept = drawn > 0
        return replace(self.part(kept), weights=drawn[kept])

    @property
    def digest(self) -> str:
        """A hash of names, states, codes and weights, by which a changed table is recognised.

        Examples
        --------
        >>> table = Dataset([[0], [1]], ("smoke",), (("no", "yes"),))
        >>> table.digest == table.part(slice(2)).digest, table.digest == table.part(slice(1)).digest
        (True, False)
        """
        return digest(repr((self.names, self.states)), self.codes, self.row_weights)

    def total(self, rows: NDArray[np.float64]) -> float:
        """Return the sum of a number of each row, shape (rows,), rows counted by weight.

        Rows of weight zero do not count, even with an infinite number.

        Examples
        --------
        >>> import exactlearn as el
        >>> network, table = el.read_network("asia"), el.read_dataset("asia-mnar-complete")
        >>> round(table.total(network.log_likelihood_rows(table)), 3)
        -214.923
        """
        if self.weights is None:
            return float(rows.sum())
        used = self.weights > 0
        return float(self.weights[used] @ rows[used])


def as_dataset(
    value: Any,
    name: str = "dataset",
    model: Any = None,
    tidy: bool | None = None,
    unseen: Unseen | None = None,
) -> Dataset:
    """Return a table: a pandas frame or an array of values is coded, equal rows of blocks merged.

    See :meth:`Dataset.from_frame`. With a model or another table,
    columns have its states, numbers stand for the bins that hold them, and columns that it lacks
    are left out. A table that is coded is taken as it is; ``tidy`` and ``unseen`` are nothing where
    the caller has no such parameter.

    Raises
    ------
    ArgumentError
        When it is none of them.
    DataError
        When a column cannot be used.
    """
    table = _table_of(value, name)
    if isinstance(table, Dataset):
        return table
    if model is None:
        return coded_table(frame_rows(table), CodingOptions(tidy=bool(tidy)))
    columns = column_names(table)
    of_model = states_by_name(model)
    states = {column: of_model[column] for column in columns if column in of_model}
    if not states:
        raise unknown_columns(columns, model.names)
    # A symbol of a missing cell that is a state of the model is that state.
    all_states = {*chain.from_iterable(states.values())}
    missing = [symbol for symbol in MISSING_SYMBOLS if symbol not in all_states]
    rows = frame_rows(table, [column for column in columns if column not in states])
    return Dataset(**coded_rows(rows, CodingOptions(states, missing, unseen=unseen)))


def coded_table(rows: LabelledRows, options: CodingOptions) -> Dataset:
    """Return a table coded by what is found in its columns, and warn of columns that say nothing.

    Raises
    ------
    DataError, OptionError
        As :func:`~exactlearn.data.coding.coded_rows`.

    Warns
    -----
    ColumnWarning
        When columns without declared states are functions of another one.
    """
    table = Dataset(**coded_rows(rows, options))
    warn_of_columns_without_information(
        table, by_name(options.states or {}, "states", table.names)
    )
    return table


def warn_of_columns_without_information(
    table: Dataset,
    states: Mapping[str, Sequence[str]],
) -> None:
    """Warn once of columns that are functions of another one; those with declared states are meant.

    Parameters
    ----------
    table
        The coded table.
    states
        Declared states, by variable.
    """
    _, declared = split_declared(states)
    columns = [v for v, name in enumerate(table.names) if name not in declared]
    names = [table.names[v] for v in columns]
    codes = table.codes[:, columns] if declared else table.codes
    warn_of_determined_columns(codes, names, table.cardinalities[columns])


DatasetLike = Dataset | Any
"""A table: a :class:`Dataset`, a pandas frame or an array.

The type of parameters that :func:`~exactlearn._runtime.arguments.checked_arguments` makes a table
of: type checkers accept what the function does, and take it inside for a :class:`Dataset`.
"""


def usable_columns(
    value: Any,
    tidy: bool,
    discretise: Any,
    drop: Any,
    states: Any = None,
) -> tuple[Dataset, list[str]]:
    """Return a table as :func:`as_dataset`, and its columns with those that were left out.

    Parameters
    ----------
    value
        The argument ``data``.
    tidy, discretise, drop, states
        As for :meth:`Dataset.from_frame`, for a frame or an array.

    Raises
    ------
    ArgumentError, DataError
        As :func:`as_dataset`; also when no column is left.
    OptionError
        When a table that is coded already is to be coded otherwise, or tidied.

    Examples
    --------
    >>> table, columns = usable_columns(np.array([["a", "x"], ["b", "y"]]), False, None, ["X0"])
    >>> table.names, dict(table.left_out), columns
    (('X1',), {}, ['X1'])
    """
    table = _table_of(value, "data")
    if not isinstance(table, Dataset):
        options = CodingOptions(states, discretise=discretise, tidy=tidy)
        dataset = coded_table(frame_rows(table, drop), options)
        columns = column_names(table)
    elif tidy or discretise or drop or states:
        raise OptionError(
            "states, tidy, discretise, drop are for a frame or an array: let read_dataset, "
            "read_blocks or Dataset.from_frame code the table so"
        )
    else:
        dataset = table
        columns = [*table.names]
    # Columns that were left out say why nothing remains.
    if not dataset.n_variables or not dataset.n_rows:
        reasons = "".join(f"; {name}: {why}" for name, why in dataset.left_out.items())
        raise DataError(
            f"argument 'data': nothing to learn from, {dataset.n_rows} rows; expected a column "
            f"with two states{reasons}"
        )
    coded = {*dataset.names, *dataset.left_out}
    return dataset, [column for column in columns if column in coded]


def _table_of(value: Any, name: str) -> Any:
    """Return a coded table, of blocks the merged rows; or the frame that a table is coded of."""
    table = value.merged() if hasattr(value, "merged") else value
    expected = "a Dataset, a pandas DataFrame, an array, or what read_blocks returns"
    return table if isinstance(table, Dataset) else _as_frame(value, name, expected)


arguments.register(unseen=argument_kinds.one_of(UNSEEN))
for _table in ("dataset", "train", "test", "validation"):
    arguments.register(**{_table: arguments.like_model(as_dataset)})


def unknown_columns(columns: Sequence[str], names: Sequence[str]) -> DataError:
    """Return the error for a table without any variable of a model."""
    return DataError(
        f"the table's columns {', '.join(columns[:5])}... are no variables of the model,"
        f" which has {', '.join(names[:5])}...: rename the columns"
    )


def require_complete(
    dataset: Dataset,
    what: str = "scores need",
    instead: str = "fill them, or learn from the incomplete table with `augment` or `fit`",
    names: Sequence[str] | None = None,
) -> None:
    """Raise when a cell is missing.

    Parameters
    ----------
    dataset
        Any table.
    what, instead
        What needs complete data, and what to do else.
    names
        The variables that must be complete; all when left out.

    Raises
    ------
    DataError
        Names the first such cell and how many there are.
    """
    columns = [*range(dataset.n_variables)]
    if names is not None:
        columns = [*map(dataset.index, names)]
    missing = np.argwhere(dataset.codes[:, columns] == MISSING)
    if len(missing):
        row, k = missing[0].tolist()
        raise DataError(
            f"column {dataset.names[columns[k]]!r}, {dataset.row_place(row)}: the cell is "
            f"missing ({len(missing)} missing cells in all), but {what} complete data; {instead}"
        )


def column_without_weight(
    source: object,
    column: str | None,
    n_rows: int,
) -> DataError:
    """Return the error of a table all of whose weights, in a column, are zero."""
    return DataError(
        f"{source}, column {column!r}: no rows of positive weight, as all {n_rows} weights are 0; "
        "name another column of weights, or none"
    )


def require_weight(dataset: Dataset, use: str = "learn from") -> float:
    """Return the total weight of the rows.

    Parameters
    ----------
    dataset
        Any table.
    use
        What the rows are needed for.

    Raises
    ------
    DataError
        When no row has weight.
    """
    total = float(dataset.row_weights.sum())
    if total > 0:
        return total
    reason = f"{dataset.n_rows} rows"
    if dataset.n_rows:
        reason += ", all of weight 0: use other weights, or none"
    raise DataError(
        f"the table has no rows of positive weight: nothing to {use} ({reason})"
    )
