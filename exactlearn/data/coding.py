"""Columns of labels become states and codes: one way for files, frames, arrays and blocks.

States are ordered as declared, else as numbers or bins if all are such, else as text. The
estimators fit a coding once, so that later rows are coded alike (:class:`FrameCoding`): there a
text, a boolean or an integer with few values is a state, and other numbers are cut into bins. A
later value that no row had counts as missing; a number lies in the bin that holds it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import names_of
from exactlearn.data import MANY, MISSING_SYMBOLS, discretisation
from exactlearn.data.codes import (
    MISSING,
    Column,
    LabelledRows,
    Values,
    code_type,
    find_states,
    label_of,
    labelled_column,
    number,
    ordered,
    repeated,
)
from exactlearn.errors import DataError, OptionError, as_written, did_you_mean

if TYPE_CHECKING:
    import pandas as pd


T = TypeVar("T")


class CodingOptions(NamedTuple):
    """How columns are coded.

    Parameters
    ----------
    states
        Declared states of a variable, in order, by name or index; else those that the source lists.
    missing
        Labels that stand for a missing cell.
    discretise
        Rule of a column; ``"*"`` stands for the numeric columns with more than 20 values.
    tidy
        Leave columns out that are no variables, and cut numbers with many values into bins.
    """

    states: Mapping[Any, Sequence[str]] | None = None
    missing: Sequence[str] = MISSING_SYMBOLS
    discretise: Mapping[Any, str] | None = None
    tidy: bool = False


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
        cls, columns: Sequence[Values], options: CodingOptions, where: str, is_part: bool = False
    ) -> "TableCoding":
        """Find the states; one error, or with ``tidy`` one warning, names all unusable columns.

        Parameters
        ----------
        columns
            What is in each column but missing symbols.
        options
            How they are coded, by names.
        where
            Where the table stands, such as the name of the file and a comma, for messages.
        is_part
            Whether the table has other columns, so that all of these may be left out.

        Raises
        ------
        DataError
            As :func:`coded_rows` does.
        """
        states, missing, discretise, tidy = options
        states, discretise = states or {}, discretise or {}
        found = {
            one.name: discretisation.texts_of_missing(one)
            for one in columns
            if one.name not in states
        }
        if texts := {name: counts for name, counts in found.items() if counts}:
            raise discretisation.refusal_of_texts(texts, columns, where, missing)
        coding, strange = cls({}, {}, {}), list[discretisation.Unusable]()
        faults = list[str]()
        of_all = discretise.get("*", discretisation.RULE)
        for values in columns:
            name, rule, fault = values.name, discretise.get(values.name), None
            try:
                if name in states:
                    coding.states[name] = _declared(values, tuple(states[name]))
                    continue
                if rule is None or len(values.labels) < 2:
                    rule = None if tidy or not _has_many_numbers(values) else discretise.get("*")
                    fault = None if rule else discretisation.unusable(values)
                if fault is not None:
                    strange.append(fault)
                    rule = of_all if tidy and fault.is_cut else None
                if rule is not None:
                    coding.edges[name], coding.states[name] = _bins(values, rule)
                elif fault is None:
                    coding.states[name] = tuple(ordered(values.labels))
            except DataError as error:
                faults.append(str(error))
        if faults or (strange and not tidy):
            refusal = (
                [str(discretisation.refusal_of(strange, where))] if strange and not tidy else []
            )
            raise DataError("\n".join([*faults, *refusal]))
        coding.left_out.update((one.name, one.why) for one in strange if not one.is_cut)
        if not coding.states and not is_part:
            listed = ", ".join(f"{name!r} ({why})" for name, why in coding.left_out.items())
            raise DataError(f"{where}nothing to learn from; left out: {listed}")
        discretisation.warn_of_columns(strange, of_all)
        return coding

    def codes_of(self, column: Column) -> NDArray[np.integer]:
        """Return the code of each label of a column, and last that of a missing cell."""
        edges = self.edges.get(column.name)
        if edges is not None:
            return discretisation.bin_codes([*map(number, column.labels), np.nan], edges)
        places = find_states(column.labels, self.states[column.name])
        return np.array([*(MISSING if k is None else k for k in places), MISSING])

    def transform(self, rows: LabelledRows) -> dict[str, Any]:
        """Return the fields of a coded table; a label that is no state counts as missing."""
        columns = [column for column in rows.columns if column.name in self.states]
        names = tuple(column.name for column in columns)
        most = max((len(self.states[name]) for name in names), default=0)
        codes = np.empty((len(rows.lines), len(columns)), code_type(most))
        for j, column in enumerate(columns):
            codes[:, j] = self.codes_of(column).astype(codes.dtype)[column.codes]
        return {
            "codes": codes,
            "names": names,
            "states": tuple(self.states[name] for name in names),
            "weights": rows.weights,
            "edges": {name: self.edges[name] for name in names if name in self.edges},
            "lines": rows.lines if rows.unit == "line" else None,
            "row_index": rows.index,
        }


def coded_rows(
    rows: LabelledRows, options: CodingOptions, left_out: dict[str, str] | None = None
) -> dict[str, Any]:
    """Return the fields of the coded table, by what is found in the columns.

    Parameters
    ----------
    rows
        Columns of equal length; white space around labels does not count.
    options
        How they are coded.
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
    names, missing = [column.name for column in rows.columns], options.missing
    states = _by_name(options.states, "states", names)
    rules = _by_name(options.discretise, "discretise", names)
    check_known(f"states are declared (by a model, or {as_written('states')}) for", states, names)
    check_known("discretisation is asked for", [n for n in rules if n != "*"], names)
    check_options(states, missing, rules)
    listed = {name: own for name, own in rows.declared(missing).items() if name not in rules}
    rows = rows.read(missing)
    coding = TableCoding.fit(
        [column.values(rows.place) for column in rows.columns],
        options._replace(states={**listed, **states}, discretise=rules),
        rows.place("", None).removesuffix("column ''"),
    )
    if left_out is not None:
        left_out |= coding.left_out
    return coding.transform(rows)


def _has_many_numbers(values: Values) -> bool:
    is_many = bool(values.name) and len(values.labels) > MANY
    return is_many and not np.isnan(values.numbers).any()


def _by_name(options: Mapping[Any, T] | None, option: str, names: Sequence[str]) -> dict[str, T]:
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
        discretisation.parse_rule(rule)
    for name, declared in states.items():
        if name in discretise:
            raise OptionError(f"{name!r} has both declared states and a discretisation: drop one")
        if twice := repeated(declared):
            raise OptionError(f"{name!r}: the state {twice[0]!r} is declared twice")
        if len(declared) < 2:
            raise OptionError(f"{name!r}: {len(declared)} states declared, expected 2 or more")
        for state in [state for state in declared if state in missing]:
            raise OptionError(
                f"{name!r}: the state {state!r} is also a symbol of a missing cell; "
                "give the missing symbols without it"
            )


def _declared(values: Values, states: tuple[str, ...]) -> tuple[str, ...]:
    """Return declared states, if every label is one, or lies in a bin."""
    for label, code in zip(values.labels, find_states(values.labels, states), strict=True):
        if code is None:
            raise DataError(
                f"{values.place(label)}: the state {label!r} is not "
                f"declared{did_you_mean(label, states)}; declare it too or correct the cell"
            )
    return states


def _bins(values: Values, rule: str) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Return the inner edges of bins, and their names."""
    numbers = values.numbers
    for label in [values.labels[k] for k in np.flatnonzero(np.isnan(numbers))[:1].tolist()]:
        raise DataError(
            f"{values.place(label)}: {label!r} is not a number, which discretisation ({rule}) "
            f"needs; correct it, or read it as missing ({as_written('missing', [label])})"
        )
    if len(set(numbers)) < 2:
        hint = discretisation.drop_hint(values.name)
        raise DataError(f"{values.place(None)}: all values are {numbers[0]:g}; {hint}")
    weights = values.counts[:, None] if values.weights is None else values.weights
    if rule == discretisation.ENTROPY:
        classes = np.tile(np.arange(weights.shape[1]), len(numbers))
        if edges := discretisation.entropy_edges(
            numbers.repeat(weights.shape[1]), classes, weights.ravel()
        ):
            return edges, discretisation.interval_names(edges)
        rule = "frequency:2"  # alone it tells nothing of the class; with other columns it may
    return discretisation.discretise(
        numbers, *discretisation.parse_rule(rule), weights=weights.sum(axis=1)
    )[1:]


def frame_rows(frame: "pd.DataFrame", drop: Sequence[Any] = ()) -> LabelledRows:
    """Return the rows of a frame as labels; the categories of a column are its declared states.

    Raises
    ------
    DataError
        When it has no cells, or two columns have one name.
    OptionError
        When there is no column of a name to drop.
    """
    names = [str(name) for name in frame.columns]
    drop = names_of(drop, "drop", names)
    check_known("asked to drop", drop, names)
    kept = {j: name for j, name in enumerate(names) if name not in drop}
    if twice := repeated(kept.values()):
        raise DataError(f"two columns have the name {twice[0]!r}; rename one")
    if not kept or not len(frame):
        shape = (len(frame), len(kept))
        raise DataError(f"the frame has the shape {shape}, expected rows and columns")
    series = {name: frame.iloc[:, j] for j, name in kept.items()}
    listed = {
        name: [label_of(category) for category in own.cat.categories]
        for name, own in series.items()
        if hasattr(own, "cat")
    }
    columns = [labelled_column(name, own) for name, own in series.items()]
    return LabelledRows(
        None, columns, np.arange(len(frame)), unit="row", listed=listed, index=frame.index
    )


def array_frame(array: NDArray[Any], names: Sequence[str] | None = None) -> "pd.DataFrame":
    """Return an array as a frame.

    Raises
    ------
    DataError
        When it is not two-dimensional.
    OptionError
        When there are more or fewer names than columns.
    """
    import pandas as pd  # takes long

    if array.ndim != 2:
        raise DataError(f"the array has the shape {array.shape}, expected (rows, variables)")
    names = generated_names(array.shape[1]) if names is None else list(names)
    if len(names) != array.shape[1]:
        raise OptionError(f"{len(names)} names for {array.shape[1]} columns: give one each")
    return pd.DataFrame(array, columns=pd.Index(names, dtype=object))


def generated_names(count: int) -> list[str]:
    """Return the names of variables that have none.

    Examples
    --------
    >>> generated_names(2)
    ['X0', 'X1']
    """
    return [f"X{k}" for k in range(count)]
