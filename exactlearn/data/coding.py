"""Columns of labels become states and codes: one way for files, frames, arrays and blocks.

States are ordered as declared, else as numbers or bins if all are such, else as text. The
estimators fit a coding once, so that later rows are coded alike (:class:`FrameCoding`): there a
text, a boolean or an integer with few values is a state, and other numbers are cut into bins. A
later value that no row had counts as missing; a number lies in the bin that holds it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.variable_arguments import variable_index
from exactlearn.data import ALL_VALUES, MANY, MISSING_SYMBOLS, discretisation
from exactlearn.data.codes import (
    MISSING,
    Column,
    LabelledRows,
    code_type,
    find_equal_states,
    find_states,
)
from exactlearn.data.labels import (
    codes_beside_numbers,
    equal_to_any,
    joined_labels,
    listed_labels,
    ordered,
    warn_by_kind,
)
from exactlearn.data.unseen import Unseen, cure_of_unseen, report_unseen
from exactlearn.errors import (
    DataError,
    OptionError,
    StateWarning,
    as_written,
    did_you_mean,
    name_written,
)

T = TypeVar("T")


class CodingOptions(NamedTuple):
    """Options of the coding of columns.

    Parameters
    ----------
    states
        Declared states of a variable, in order, by name or index, or `ALL_VALUES`; else those that
        the source lists.
    missing
        Labels that stand for a missing cell.
    discretise
        Rule of a column; ``"*"`` stands for the numeric columns with more than 20 values.
    tidy
        Leave columns out that are no variables, and cut numbers with many values into bins.
    unseen
        Whether a label that is no declared state counts as missing; nothing where the caller has no
        such option.
    """

    states: Mapping[Any, Sequence[str]] | None = None
    missing: Sequence[str] = MISSING_SYMBOLS
    discretise: Mapping[Any, str] | None = None
    tidy: bool = False
    unseen: Unseen | None = None


class _Plan(NamedTuple):
    """States of the columns, filled column by column.

    Attributes
    ----------
    states
        States of each column that is a variable, by name.
    unusable
        The columns that are no variables as they stand.
    faults
        Messages of errors.
    """

    states: dict[str, tuple[str, ...]]
    unusable: list[discretisation.Unusable]
    faults: list[str]

    def add(
        self,
        rows: LabelledRows,
        column: Column,
        options: CodingOptions,
        given: Mapping[str, Sequence[str]],
        categorical: Collection[str],
    ) -> None:
        """Add a column: its given states, its bins, its labels, or why it is no variable.

        Parameters
        ----------
        rows, column
            The rows, and one of their columns.
        options
            Rules for columns that are cut into bins, and whether others are tidied.
        given
            States that are declared, or that the source lists.
        categorical
            Columns of which every value is declared to be a state.

        Raises
        ------
        DataError
            When a label is no given state, or a column to cut has a text or only one value.
        """
        name = column.name
        if name in given:
            self.states[name] = _declared(
                rows,
                column,
                given[name],
                options,
            )
            return
        rules = options.discretise or {}
        rule = rules.get(name)
        if rule is None and not options.tidy and name not in categorical:
            rule = rules.get("*") if _has_many_numbers(column) else None
        # Columns without a rule are variables as they stand, or are reported.
        if rule is None or len(column.labels) < 2:
            fault = discretisation.unusable(rows, column, name in categorical)
            if fault is None:
                self.states[name] = tuple(ordered(column.labels))
                return
            self.unusable.append(fault)
            # With tidy numbers are cut, and other such columns left out.
            rule = rules.get("*", discretisation.RULE)
            if not (options.tidy and fault.is_cut):
                return
        self.states[name] = _bins(rows, column, rule)

    def left_out(
        self,
        rows: LabelledRows,
        options: CodingOptions,
        is_part: bool,
    ) -> dict[str, str]:
        """Return why columns are left out, by name.

        Raises
        ------
        DataError
            When there were faults, or columns may not be left out, or all would be.
        """
        faults = [*self.faults]
        if self.unusable and not options.tidy:
            faults.append(str(discretisation.refusal_of(self.unusable, rows.where)))
        if faults:
            raise DataError("\n".join(faults))
        left_out = {x.name: x.why for x in self.unusable if not x.is_cut}
        if not self.states and not is_part:
            reasons = [f"{name!r} ({why})" for name, why in left_out.items()]
            listed = ", ".join(reasons)
            raise DataError(f"{rows.where}nothing to learn from; left out: {listed}")
        return left_out


def _has_many_numbers(column: Column) -> bool:
    """Return whether a column holds nothing but numbers, and many of them."""
    is_many = bool(column.name) and len(column.labels) > MANY
    return is_many and not len(column.texts)


@dataclass(frozen=True)
class TableCoding:
    """The states of columns, once they are found, and the codes that rows have for them.

    Parameters
    ----------
    states
        States of each column that is a variable, by name; bins of those that were cut.
    left_out
        Why each other column was left out.
    """

    states: dict[str, tuple[str, ...]]
    left_out: dict[str, str]

    @classmethod
    def fit(
        cls,
        rows: LabelledRows,
        options: CodingOptions,
        is_part: bool = False,
    ) -> "TableCoding":
        """Find the states; one error, or with ``tidy`` one warning, names all unusable columns.

        Parameters
        ----------
        rows
            The columns, without missing symbols.
        options
            How they are coded, by names.
        is_part
            Whether all columns may be left out, as there are others or none is needed.

        Raises
        ------
        DataError
            As :func:`coded_rows` does.
        """
        categorical, declared = split_declared(options.states or {})
        rules = options.discretise or {}
        # Labels of one value are joined where states are not declared.
        undeclared = [x.joined() for x in rows.columns if x.name not in declared]
        joined = {column.name: column for column in undeclared}
        columns = [joined.get(column.name, column) for column in rows.columns]
        rows = replace(rows, columns=columns)
        # States that are declared, or that the source lists.
        given = {**_listed_states(rows, {*declared, *rules}), **declared}
        to_find = [column for column in columns if column.name not in given]
        discretisation.check_texts(to_find, rows.where, options.missing)
        # States of each column, or why it is no variable: one error, or one warning of each kind.
        plan = _Plan({}, [], [])
        for column in columns:
            try:
                plan.add(
                    rows,
                    column,
                    options,
                    given,
                    categorical,
                )
            except DataError as error:
                plan.faults.append(str(error))
        left_out = plan.left_out(rows, options, is_part)
        rule_of_all = rules.get("*", discretisation.RULE)
        discretisation.warn_of_columns(plan.unusable, rule_of_all)
        _warn_of_labels(undeclared, plan.states, rows.where)
        return cls(plan.states, left_out)

    def transform(
        self,
        rows: LabelledRows,
        unseen: Unseen | None = None,
    ) -> dict[str, Any]:
        """Return the fields of a coded table.

        Parameters
        ----------
        rows
            The columns, without missing symbols.
        unseen
            Whether labels that are no states are refused, or count as missing with a warning.

        Raises
        ------
        DataError
            When there are such labels, and they are refused.
        """
        columns = [column for column in rows.columns if column.name in self.states]
        states = {column.name: self.states[column.name] for column in columns}
        largest = max(map(len, states.values()), default=0)
        codes = np.empty((len(rows.lines), len(columns)), code_type(largest))
        unseen_cells: dict[str, dict[str, int]] = {}
        for j, column in enumerate(columns):
            of_labels = find_states(column.labels, states[column.name])
            codes[:, j] = _of_rows(of_labels, column)
            cells = {}
            for k in np.flatnonzero(of_labels == MISSING).tolist():
                cells[column.labels[k]] = column.counts[k]
            unseen_cells[column.name] = cells
        report_unseen(unseen_cells, unseen or "missing")
        return {
            "codes": codes,
            "names": tuple(states),
            "states": tuple(states.values()),
            "weights": rows.weights,
            "lines": rows.lines if rows.unit == "line" else None,
            "row_index": rows.index,
            "left_out": self.left_out,
        }


def state_codes(column: Column, states: Sequence[str]) -> NDArray[np.integer]:
    """Return the code of each row of a column; a label that is no state counts as missing."""
    return _of_rows(find_states(column.labels, states), column)


def _of_rows(
    of_labels: NDArray[np.int64],
    column: Column,
) -> NDArray[np.integer]:
    """Return the code of each row of a column from the codes of its labels, in a small type."""
    # The code -1 reads the last entry: missing stays missing.
    places = np.append(of_labels, MISSING)
    small = code_type(int(places.max()) + 1)
    codes: NDArray[np.integer] = places.astype(small)[column.codes]
    return codes


def coded_rows(rows: LabelledRows, options: CodingOptions) -> dict[str, Any]:
    """Return the fields of the coded table, by what is found in the columns.

    Parameters
    ----------
    rows
        Columns of equal length; white space around labels does not count.
    options
        How they are coded.

    Raises
    ------
    DataError
        When a column is constant, entirely missing, numeric with very many values, or an
        identifier, and not tidied; when a cell has a state that was not declared, a text that
        other programs write for a missing cell, or no number to discretise.
    OptionError
        When an option names no column, or options contradict each other.
    """
    names = [column.name for column in rows.columns]
    states = by_name(options.states or {}, "states", names)
    rules = by_name(options.discretise or {}, "discretise", names)
    check_options(states, options.missing, rules)
    # White space and missing symbols go before states are found.
    rows = rows.read(options.missing)
    coding = TableCoding.fit(rows, options._replace(states=states, discretise=rules))
    return coding.transform(rows, options.unseen)


def _warn_of_labels(
    columns: Sequence[Column],
    states: Mapping[str, Sequence[str]],
    where: str,
) -> None:
    """Warn once of labels that are one state, and of codes beside the numbers they write.

    Parameters
    ----------
    columns
        Columns whose states were not declared; those that were cut into bins do not count.
    states
        The states of each column that is a variable.
    where
        The file and a comma; nothing for a frame.
    """
    joined: list[str] = []
    codes: list[str] = []
    for column in columns:
        of_column = states.get(column.name, ())
        # States that several labels were joined to.
        one_state = []
        for state, group in column.synonyms.items():
            if state in of_column:
                one_state.append(joined_labels(state, group))
        if one_state:
            joined.append(f"column {column.name!r}: {'; '.join(one_state)}")
        # Labels such as 01, which are states beside the numbers 1.
        groups = codes_beside_numbers(of_column)
        if groups:
            listed = "; ".join(map(listed_labels, groups))
            codes.append(f"column {column.name!r}: {listed}")
    kinds = {
        "labels that denote one value are one state": joined,
        "labels with leading zeros are codes, other states than their numbers": codes,
    }
    warn_by_kind(kinds, StateWarning, where)


def by_name(
    options: Mapping[Any, T],
    option: str,
    names: Sequence[str],
) -> dict[str, T]:
    """Return the options of columns by their names, given by name or index.

    Raises
    ------
    OptionError
        When there is no such column.
    """
    option_name = name_written(option)
    if option == "states":
        option_name += " (or the model)"
    named: dict[str, T] = {}
    for key, value in options.items():
        name = key
        if key != "*":
            name = names[variable_index(key, option_name, names)]
        named[name] = value
    return named


def split_declared(
    states: Mapping[str, Sequence[str]],
) -> tuple[set[str], dict[str, Sequence[str]]]:
    """Return the variables of which every value is a state, and the declared states of others."""
    categorical = {name for name in states if tuple(states[name]) == ALL_VALUES}
    declared = {name: states[name] for name in states if name not in categorical}
    return categorical, declared


def check_options(
    states: Mapping[str, Sequence[str]],
    missing: Sequence[str],
    discretise: Mapping[str, str],
) -> None:
    """Raise an :class:`OptionError` when declared states or rules contradict each other."""
    # Rules, then each declaration beside the other options.
    for rule in discretise.values():
        discretisation.parse_rule(rule)
    for name, declared in states.items():
        if name in discretise:
            raise OptionError(
                f"{name!r} has both declared states and a discretisation: drop one"
            )
        if tuple(declared) != ALL_VALUES and len(set(declared)) < max(2, len(declared)):
            raise OptionError(
                f"{name!r}: declared {declared}, expected two or more different states"
            )
        for state in filter(equal_to_any(missing), declared):
            raise OptionError(
                f"{name!r}: the state {state!r} is also a symbol of a missing cell; "
                "give the missing symbols without it"
            )


def _listed_states(
    rows: LabelledRows,
    excluded: Collection[str],
) -> dict[str, tuple[str, ...]]:
    """Return the states that the source itself declares, by name or by number.

    Parameters
    ----------
    rows
        Columns of labels.
    excluded
        Columns with declared states or rules.

    Raises
    ------
    DataError
        When a column has other states than the numbers below its arity, and not as many.
    """
    states: dict[str, tuple[str, ...]] = {}
    faults: list[str] = []
    for column in rows.columns:
        if column.name in excluded:
            continue
        if column.listed:
            rows.require_listed(column)
            states[column.name] = column.listed
        elif column.arity > 1:
            # A line of arities declares the numbers from 0, or only how many states.
            numbered = tuple(map(str, range(column.arity)))
            if MISSING not in find_equal_states(column.labels, numbered):
                states[column.name] = numbered
                continue
            states[column.name] = tuple(ordered(column.labels))
            if len(column.labels) != column.arity:
                faults.append(
                    f"{rows.place(column)}: {len(column.labels)} states, but the line of arities "
                    f"says {column.arity}; declare all ({as_written('states', column.name)}), or "
                    f"read the line as a row ({as_written('arities', False)})"
                )
    if faults:
        raise DataError("\n".join(faults))
    return states


def _declared(
    rows: LabelledRows,
    column: Column,
    states: Sequence[str],
    options: CodingOptions,
) -> tuple[str, ...]:
    """Return declared states, if every label is one or lies in a bin, or may count as missing."""
    if column.arity and column.arity != len(states):
        raise DataError(
            f"{rows.place(column)}: {len(states)} states are declared, but the line of arities "
            f"says {column.arity}; declare as many, or read the line as a row "
            f"({as_written('arities', False)})"
        )
    # Labels that no declared state stands for.
    codes = find_states(column.labels, states)
    unseen = np.flatnonzero(codes == MISSING)
    if not len(unseen) or options.unseen == "missing":
        return tuple(states)
    label = column.labels[int(unseen[0])]
    cure = "declare it too or correct the cell"
    if options.unseen == "refuse":
        cure = f"correct the cell, or {cure_of_unseen()}"
    raise DataError(
        f"{rows.place(column, label)}: the state {label!r} is not "
        f"declared{did_you_mean(label, states)}; {cure}"
    )


def _bins(
    rows: LabelledRows,
    column: Column,
    rule: str,
) -> tuple[str, ...]:
    """Return the bins that a rule cuts numbers into."""
    numbers = column.numbers[:-1]
    for text in column.texts[:1]:
        label = column.labels[text]
        raise DataError(
            f"{rows.place(column, label)}: {label!r} is not a number, which discretisation ({rule})"
            f" needs; correct it, or read it as missing ({as_written('missing', [label])})"
        )
    if len(set(numbers)) < 2:
        hint = discretisation.drop_hint(column.name)
        raise DataError(f"{rows.place(column)}: all values are {numbers[0]:g}; {hint}")
    _, _, names = discretisation.discretise(
        numbers,
        *discretisation.parse_rule(rule),
        weights=column.counts[:-1],
    )
    return names
