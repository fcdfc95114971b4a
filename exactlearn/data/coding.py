"""Columns of labels become states and codes: one way for files, frames and arrays.

States are ordered as declared, else as numbers or bins if all are such, else as text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import names_of
from exactlearn.data import MANY
from exactlearn.data.codes import MISSING, code_type, repeated, row_place
from exactlearn.data.discretisation import bin_codes, discretise, parse_rule, remarks_on_bins
from exactlearn.data.labels import (
    Column,
    Place,
    Values,
    drop_hint,
    find_states,
    label_of,
    ordered,
)
from exactlearn.data.tidying import (
    RULE,
    Unusable,
    refusal_of,
    refusal_of_texts,
    texts_of_missing,
    unusable,
    warn_of_columns,
)
from exactlearn.errors import DataError, OptionError, as_written, did_you_mean

if TYPE_CHECKING:
    import pandas as pd


T = TypeVar("T")


class CodedTable(NamedTuple):
    """The fields of a :class:`~exactlearn.data.dataset.Dataset`, which that checks."""

    codes: NDArray[np.signedinteger[Any]]
    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    weights: NDArray[np.float64] | None
    edges: dict[str, tuple[float, ...]]
    lines: NDArray[np.int64] | None
    row_index: "pd.Index | None" = None


@dataclass(frozen=True)
class TableCoding:
    """The states of columns, once they are found, and the codes that rows have for them.

    Parameters
    ----------
    states
        States of each column that is a variable, by name.
    edges
        Inner edges of the bins of those that were cut.
    left_out
        Why each other column was left out.
    """

    states: dict[str, tuple[str, ...]]
    edges: dict[str, tuple[float, ...]]
    left_out: dict[str, str]

    @classmethod
    def fit(
        cls,
        columns: Sequence[Values],
        *,
        states: Mapping[str, Sequence[str]],
        missing: Sequence[str],
        discretise: Mapping[str, str],
        where: str,
        tidy: bool = False,
        may_be_empty: bool = False,
    ) -> "TableCoding":
        """Find the states; one error, or with ``tidy`` one warning, names all unusable columns.

        Parameters
        ----------
        columns
            What is in each column but missing symbols.
        where
            Where the table stands, such as the name of the file and a comma, for messages.
        states, missing, discretise, tidy
            As for :func:`code_columns`.
        may_be_empty
            Whether the table has other columns, so that all these may be left out.

        Raises
        ------
        DataError
            As :func:`code_columns` does.
        """
        texts = {one.name: texts_of_missing(one, states.get(one.name)) for one in columns}
        if any(texts.values()):
            labels = {one.name: ordered(one.labels) for one in columns if texts[one.name]}
            raise refusal_of_texts(texts, labels, where, missing)
        coding, strange = cls({}, {}, {}), list[Unusable]()
        faults, remarks = list[str](), list[str]()
        for values in columns:
            name, rule = values.name, discretise.get(values.name)
            try:
                if name in states:
                    coding.states[name] = _declared(values, tuple(states[name]))
                    continue
                fault = None
                if rule is None or len(values.labels) < 2:
                    rule = None if tidy else _rule_of_all(values, discretise)
                    fault = None if rule else unusable(values)
                if fault is not None:
                    strange.append(fault)
                    rule = discretise.get("*", RULE) if tidy and fault.is_cut else None
                if rule is not None:
                    coding.edges[name], coding.states[name], more = _bins(values, rule)
                    remarks += more
                elif fault is None:
                    coding.states[name] = tuple(ordered(values.labels))
            except DataError as error:
                faults.append(str(error))
        if faults or (strange and not tidy):
            refusal = [str(refusal_of(strange, where))] if strange and not tidy else []
            raise DataError("\n".join([*faults, *refusal]))
        coding.left_out.update((one.name, one.why) for one in strange if not one.is_cut)
        if not coding.states and not may_be_empty:
            listed = ", ".join(f"{name!r} ({why})" for name, why in coding.left_out.items())
            raise DataError(f"{where}nothing to learn from; left out: {listed}")
        warn_of_columns(strange, discretise.get("*", RULE), remarks)
        return coding

    def transform(
        self,
        columns: Sequence[Column],
        rows: int,
        weights: NDArray[np.float64] | None = None,
        lines: NDArray[np.int64] | None = None,
    ) -> CodedTable:
        """Return the coded rows of columns; a label that is no state counts as missing."""
        columns = [column for column in columns if column.name in self.states]
        names = tuple(column.name for column in columns)
        states = tuple(self.states[name] for name in names)
        most = max(map(len, states), default=0)
        codes = np.empty((rows, len(columns)), code_type(most))
        for j, (column, own) in enumerate(zip(columns, states, strict=True)):
            edges = self.edges.get(column.name)
            if edges is None:
                places = [MISSING if k is None else k for k in find_states(column.labels, own)]
                codes[:, j] = column.relabelled(own, places).codes
            else:
                codes[:, j] = bin_codes(column.numbers(), edges)
        edges_of = {name: self.edges[name] for name in names if name in self.edges}
        return CodedTable(codes, names, states, weights, edges_of, lines)


def code_columns(
    columns: Sequence[Column],
    *,
    states: Mapping[str, Sequence[str]],
    missing: Sequence[str],
    discretise: Mapping[str, str],
    place: Place,
    weights: NDArray[np.float64] | None = None,
    lines: NDArray[np.int64] | None = None,
    tidy: bool = False,
    left_out: dict[str, str] | None = None,
) -> CodedTable:
    """Return the coded columns, by what is found in them.

    Parameters
    ----------
    columns
        Columns of equal length; white space around labels does not count.
    states
        Declared states of a variable, in order.
    missing
        Labels that stand for a missing cell.
    discretise
        Rule of a column; ``"*"`` stands for the numeric columns with more than 20 values.
    place
        Returns where a column or cell stands, for messages.
    weights
        Weight of each row.
    lines
        The line of each row in its file.
    tidy
        Leave columns out that are no variables, and cut numbers with many values into bins.
    left_out
        Takes the columns that are left out, with the reason.

    Raises
    ------
    DataError
        When a column is constant, entirely missing, numeric with very many values, or an
        identifier, and not tidied; when a cell has a state that was not declared, a text that
        other programs write for a missing cell, or no number to discretise.
    OptionError
        When an option names no column, or options contradict each other.
    """
    names = [column.name for column in columns]
    check_known(f"states are declared (by a model, or {as_written('states')}) for", states, names)
    check_known("discretisation is asked for", [n for n in discretise if n != "*"], names)
    check_options(states, missing, discretise)
    columns = [read_missing(column, missing) for column in columns]
    coding = TableCoding.fit(
        [column.values(place) for column in columns],
        states=states,
        missing=missing,
        discretise=discretise,
        where=place("", None).removesuffix("column ''"),
        tidy=tidy,
    )
    if left_out is not None:
        left_out |= coding.left_out
    return coding.transform(columns, len(columns[0].codes), weights, lines)


def _rule_of_all(values: Values, rules: Mapping[str, str]) -> str | None:
    """Return the rule of all numeric columns, if there is one and this is one."""
    is_numeric = len(values.labels) > MANY and not np.isnan(values.numbers()).any()
    return rules.get("*") if values.name and is_numeric else None


def by_name(options: Mapping[Any, T] | None, option: str, names: Sequence[str]) -> dict[str, T]:
    """Return the options of columns by their names, given by name or index."""
    given = options or {}
    keys = ((key if key == "*" else names_of(key, option, names)[0], key) for key in given)
    return {name: given[key] for name, key in keys}


def check_known(what: str, chosen: Sequence[str] | Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise an :class:`OptionError` when an option names an unknown column."""
    for name in chosen:
        if name not in names:
            raise OptionError(
                f"{what} {name!r}, but no column has that name{did_you_mean(name, names)}"
            )


def check_options(
    states: Mapping[str, Sequence[str]], missing: Sequence[str], discretise: Mapping[str, str]
) -> None:
    """Raise an :class:`OptionError` when declared states or rules contradict each other."""
    for rule in discretise.values():
        parse_rule(rule)
    for name, declared in states.items():
        if name in discretise:
            raise OptionError(f"{name!r} has both declared states and a discretisation: drop one")
        if twice := repeated(declared):
            raise OptionError(f"{name!r}: the state {twice[0]!r} is declared twice")
        if len(declared) < 2:
            raise OptionError(f"{name!r}: {len(declared)} states declared, expected 2 or more")
        for state in declared:
            if state in missing:
                raise OptionError(
                    f"{name!r}: the state {state!r} is also a symbol of a missing cell; "
                    "give the missing symbols without it"
                )


def read_missing(column: Column, missing: Sequence[str]) -> Column:
    """Return the column without white space around labels, missing symbols and unused labels."""
    used = np.zeros(len(column.labels) + 1, np.bool_)
    used[column.codes] = True
    symbols = {symbol.strip() for symbol in missing}
    stripped = [label.strip() for label in column.labels]
    kept = {
        label: None for label, u in zip(stripped, used, strict=False) if u and label not in symbols
    }
    position = {label: k for k, label in enumerate(kept)}
    return column.relabelled(list(kept), [position.get(label, MISSING) for label in stripped])


def _declared(values: Values, states: tuple[str, ...]) -> tuple[str, ...]:
    """Return declared states, if every label is one, or lies in a bin."""
    for label, code in zip(values.labels, find_states(values.labels, states), strict=True):
        if code is None:
            raise DataError(
                f"{values.place(label)}: the state {label!r} is not "
                f"declared{did_you_mean(label, states)}; declare it too or correct the cell"
            )
    return states


def _bins(values: Values, rule: str) -> tuple[tuple[float, ...], tuple[str, ...], Sequence[str]]:
    """Return the inner edges of bins, their names, and why they may mislead."""
    numbers = values.numbers()
    if np.isnan(numbers).any():
        label = values.labels[int(np.flatnonzero(np.isnan(numbers))[0])]
        raise DataError(
            f"{values.place(label)}: {label!r} is not a number, which "
            f"discretisation ({rule}) needs; correct it, or read it as missing "
            f"({as_written('missing', [label])})"
        )
    hint = drop_hint(values.name)
    if len(set(numbers)) < 2:
        raise DataError(f"{values.place(None)}: all values are {numbers[0]:g}; {hint}")
    _, edges, names = discretise(numbers, *parse_rule(rule), weights=values.counts)
    return (
        edges,
        names,
        remarks_on_bins(values.name, numbers, values.counts, len(names), rule, hint),
    )


def code_frame(
    frame: "pd.DataFrame",
    *,
    states: Mapping[str, Sequence[str]] | None,
    missing: Sequence[str],
    discretise: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    **tidying: Any,
) -> CodedTable:
    """Code a frame; see :meth:`exactlearn.data.dataset.Dataset.from_frame`."""
    import pandas as pd  # takes long

    every = [str(name) for name in frame.columns]
    drop = names_of(drop, "drop", every)
    states, discretise = by_name(states, "states", every), by_name(discretise, "discretise", every)
    check_known("asked to drop", drop, every)
    frame = frame.loc[:, [name not in drop for name in every]]
    names = [str(name) for name in frame.columns]
    if twice := repeated(names):
        raise DataError(f"two columns have the name {twice[0]!r}; rename one")
    if not names or not len(frame):
        raise DataError(f"the frame has the shape {frame.shape}, expected rows and columns")
    series = [frame.iloc[:, j] for j in range(len(names))]
    symbols = {symbol.strip() for symbol in missing}
    categories = {
        name: [label for label in map(label_of, own.cat.categories) if label.strip() not in symbols]
        for name, own in zip(names, series, strict=True)
        if isinstance(own.dtype, pd.CategoricalDtype) and name not in discretise
    }
    coded = code_columns(
        [labelled_column(name, own) for name, own in zip(names, series, strict=True)],
        states={**{n: c for n, c in categories.items() if len(c) > 1}, **states},
        missing=missing,
        discretise=discretise,
        place=partial(place_in_frame, frame.index),
        **tidying,
    )
    return coded._replace(row_index=frame.index)


def code_array(
    array: NDArray[Any],
    names: Sequence[str] | None = None,
    *,
    states: Mapping[str, Sequence[str]] | Sequence[Sequence[str]] | None,
    missing: Sequence[str],
    **more: Any,
) -> CodedTable:
    """Code an array; see :meth:`exactlearn.data.dataset.Dataset.from_array`."""
    import pandas as pd  # takes long

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
    return code_frame(frame, states=states, missing=missing, **more)


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
    import pandas as pd  # takes long

    try:
        codes, values = pd.factorize(series)
    except TypeError:  # a cell such as a dictionary cannot be looked up: its text can
        codes, values = pd.factorize(series.map(str, na_action="ignore"))
    texts = [label_of(value) for value in values]
    distinct = list(dict.fromkeys(texts))
    places = {text: k for k, text in enumerate(distinct)}
    column = Column(name, tuple(texts), np.asarray(codes, np.int64))
    return column.relabelled(distinct, [places[text] for text in texts])


def place_in_frame(index: "pd.Index | None", name: str, row: int | None) -> str:
    """Return where a column of a frame, or one of its cells, stands, for messages."""
    return f"column {name!r}" + (f", {row_place(row, index=index)}" if row is not None else "")
