"""Descriptions of records: facts, sentences and tables, whatever shows them.

:func:`describe` knows no command. A single value is a fact; a list of objects, or objects by the
names of variables, is a table; any other object is a section of its own. Of each key
:mod:`exactlearn.reporting.record_keys` says how it is shown, and in which unit: nothing is guessed
from its letters.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import floor, isfinite, log10
from typing import Any

from exactlearn._runtime.display import for_counts
from exactlearn.reporting.record_keys import (
    ARCS,
    BY_NAME,
    FROM_ZERO,
    HIDDEN,
    LABELS,
    MEANINGS,
    OF_COUNTS,
    PLAIN,
    SENTENCES,
    SEVERAL,
    SPREAD,
    STATUS,
    TITLES,
    UNITS,
    Unit,
)

MAX_LISTED = 10
"""Most entries of a list in one cell or fact."""

MAX_NAME = 100
MAX_TEXT = 300
"""Most letters of a name, and of another text such as the path of a file, that are shown."""


def brief(text: str, limit: int = MAX_NAME) -> str:
    """Return a name that loses its middle where it is longer than most names.

    Examples
    --------
    >>> len(brief(1000 * "x")), brief("smoke")
    (100, 'smoke')
    """
    if len(text) <= limit:
        return text
    # Names of one table often differ at their ends.
    end = limit // 4
    return f"{text[: limit - end - 3]}...{text[-end:]}"


class Share(str):
    """A share of 1 as text, which a picture may draw as a bar."""

    value: float

    def __new__(cls, text: str, value: float) -> "Share":
        """Return the text with its value."""
        labelled = super().__new__(cls, text)
        labelled.value = value
        return labelled


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of texts.

    Parameters
    ----------
    head
        Names of the columns.
    rows
        The rows, a text for each column; a :class:`Share` where it is one.
    right
        Columns of numbers.
    total
        Number of rows that there are, where not all are given.
    shaded
        Whether shares colour their cell.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: frozenset[str] = frozenset()
    total: int = 0
    shaded: bool = False

    @property
    def left_out(self) -> int:
        """Number of rows that are not given."""
        return max(0, self.total - len(self.rows))


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a record.

    Parameters
    ----------
    key
        Where it stands in the record; empty for what stands at its top.
    title
        Its title; empty at the top.
    facts
        Single values by name.
    texts
        Sentences.
    tables
        Tables.
    record
        The part itself.
    """

    key: str
    title: str
    facts: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    record: Any = None


def describe(
    record: Mapping[str, Any],
    *,
    max_rows: int = 20,
    key: str = "",
    title: str = "",
) -> list[Section]:
    """Return the sections of a record in their order, first the one of the values at its top.

    Parameters
    ----------
    record
        A record of a command, as JSON has it.
    max_rows
        Most rows of a table.
    key, title
        Of the first section.

    Examples
    --------
    >>> record = {"score": -1.5, "parents": {"a": [], "b": ["a"]}, "cells": [{"row": 0}]}
    >>> top, cells = describe(record)
    >>> top.facts, top.tables[0].rows
    ({'score': '-1.5000'}, [['a', '-'], ['b', 'a']])
    >>> cells.title, cells.tables[0].rows
    ('Cells', [['1']])
    """
    top = Section(key=key, title=title, record=record)
    below: list[Section] = []
    rows_by_name = _rows_by_name(record)
    for name, value in record.items():
        # Reversible arcs are marked in the table of the parents.
        is_marked = name == "reversible" and "parents" in record
        if name in HIDDEN or value is None or is_marked:
            continue
        if _is_fact(name, value):
            _add_fact(top, name, value)
        elif name == "parents":
            reversible = record.get("reversible", ())
            top.tables.append(_family_table(value, reversible, max_rows))
        elif name == "posterior":
            top.tables.append(_posterior_table(value, max_rows))
        elif name in BY_NAME:
            # Objects of the same names are one table, at the place of the largest.
            rows = rows_by_name.get(name, {})
            table = _table([*rows.values()], max_rows)
            if len(table.head) > 1:
                top.tables.append(table)
        else:
            place = f"{key}.{name}" if key else name
            below += _sections_below(name, value, place, max_rows)
    return [top, *below]


def label(key: str) -> str:
    """Return a key as people read it."""
    return LABELS.get(key) or brief(key.replace("_", " "))


def text_of(key: str, value: Any) -> str:
    """Return a value in a few letters; nothing of what is unknown.

    Examples
    --------
    >>> text_of("accuracy", 0.05), text_of("seconds", 1.0), text_of("arcs", [["a", "b"]])
    ('5.00 %', '1.00', 'a, b')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value + 1:,}" if key in FROM_ZERO else str(value)
    if isinstance(value, float):
        return number_of(key, value)
    if isinstance(value, Mapping):
        texts = []
        for name, entry in value.items():
            if text := text_of(name, entry):
                texts.append(f"{brief(name)} {text}")
        return ", ".join(texts)
    if isinstance(value, list | tuple):
        return _listed(key, value)
    return "" if value is None else brief(str(value), MAX_TEXT)


def _listed(key: str, values: Sequence[Any]) -> str:
    """Return the texts of the first values of a list, in one line."""
    texts = [text_of(key, value) for value in values[:MAX_LISTED]]
    n_more = len(values) - MAX_LISTED
    if n_more > 0:
        texts.append(f"{n_more} more")
    is_nested = any(isinstance(value, list | tuple | Mapping) for value in values)
    separator = "; " if is_nested else ", "
    return separator.join(texts)


def number_of(key: str, value: float) -> str:
    """Return a number in the unit of its key; nothing where there is no number.

    Examples
    --------
    >>> number_of("score", -12.3), number_of("score", float("-inf")), number_of("gap", float("nan"))
    ('-12.3000', '-inf', '')
    >>> number_of("accuracy", 0.125), number_of("gap_rows", 3.0), number_of("p_value", 2.345e-9)
    ('12.50 %', '3', '2.3e-09')
    """
    if not isfinite(value):
        # A search without a bound has an infinite one.
        is_absent = value != value or key in ("bound", "gap")
        return "" if is_absent else str(value)
    unit = UNITS.get(key, PLAIN)
    # The digits of what is nearly zero are rounding.
    is_tiny = unit == PLAIN and abs(value) < 1e-6
    digits = ".2g" if is_tiny else unit.digits
    return f"{unit.factor * value:{digits}}{unit.sign}"


def number(value: float | None) -> str:
    """Return a number with four decimals; nothing when it is not known."""
    if value is None or not isfinite(value):
        return ""
    return f"{value:.4f}"


def probability(p: float) -> Share:
    """Return three decimals, two digits of less; 0 and 1 only for what is exactly so.

    Examples
    --------
    >>> [str(probability(p)) for p in (0.0, 0.00012, 0.25, 0.9999, 1.0)]
    ['0', '0.00012', '0.250', '>0.999', '1']
    """
    if p in (0.0, 1.0):
        return Share(str(int(p)), p)
    if p >= 0.9995:
        return Share(">0.999", p)
    digits = ".2g" if p < 0.0005 else ".3f"
    return Share(f"{p:{digits}}", p)


def _is_fact(name: str, value: Any) -> bool:
    """Return whether a value stands in one line: no table, and no section of its own."""
    if isinstance(value, Mapping):
        return not value or name in ("evidence", "do")
    if not isinstance(value, list) or name in SENTENCES:
        return True
    # A list of texts, of numbers or of pairs of them.
    pairs = [entry for entry in value if isinstance(entry, list)]
    if any(isinstance(end, list) for end in chain(*pairs)):
        return False
    return not any(isinstance(entry, Mapping) for entry in chain(value, *pairs))


def _add_fact(section: Section, name: str, value: Any) -> None:
    """Add a value that stands in one line to the facts or to the texts of a section."""
    if name in SENTENCES and isinstance(value, list):
        section.texts.extend(map(str, value))
        return
    if name in MEANINGS and isinstance(value, str):
        sentence = value.rstrip(".")
        section.texts.append(f"{label(name).capitalize()}: {sentence}.")
        return
    text = text_of(name, value)
    # It holds for the counts learned from, where these are no rows.
    if name in OF_COUNTS and text:
        text = STATUS.get(text, text)
        text += for_counts(section.record.get("counts"))
    if name in ARCS and isinstance(value, list):
        text = ", ".join(_arcs(value, ARCS[name]))
    if text:
        section.facts[label(name)] = text


def _sections_below(
    name: str,
    value: Any,
    key: str,
    max_rows: int,
) -> list[Section]:
    """Return the sections of an object, of the steps of a run, or of a list of rows."""
    title = TITLES.get(name) or label(name).capitalize()
    if name == "averaged":  # a network without more
        value = {"parents": value}
    if isinstance(value, Mapping):
        return describe(value, max_rows=max_rows, key=key, title=title)
    # The steps of a run: each is the record of a command.
    if any("command" in entry for entry in value):
        sections: list[Section] = []
        for step, entry in enumerate(value, 1):
            content = dict(entry)
            title = f"Step {step}: {content.pop('command')}"
            sections += describe(content, max_rows=max_rows, key=key, title=title)
        return sections
    if len(value) == 1 and name in SEVERAL:
        return []
    table = _table(_beside_the_first_network(value), max_rows)
    return [Section(key=key, title=title, tables=[table], record=value)]


def _family_table(
    parents: Mapping[str, Sequence[str]],
    reversible: Sequence[Sequence[str]],
    max_rows: int,
) -> Table:
    """Return the table of the parents of each variable, those marked whose arc is reversible."""
    marks = dict.fromkeys(map(tuple, reversible), " (reversible)")
    rows: list[list[str]] = []
    for variable, family in parents.items():
        texts = []
        for parent in family:
            mark = marks.get((parent, variable), "")
            texts.append(brief(parent) + mark)
        rows.append([brief(variable), ", ".join(texts) or "-"])
    return Table(
        head=("variable", "parents"),
        rows=rows[:max_rows],
        total=len(rows),
    )


def _posterior_table(
    posterior: Mapping[str, Mapping[str, float]],
    max_rows: int,
) -> Table:
    """Return the table of the probability of each state, each variable named once."""
    rows: list[list[str]] = []
    for variable, states in posterior.items():
        name = brief(variable)
        for state, p in states.items():
            text = Share(f"{p:.6f}", p)
            rows.append([name, brief(state), text])
            name = ""
    return Table(
        head=("variable", "state", "probability"),
        rows=rows[:max_rows],
        right=frozenset(["probability"]),
        total=len(rows),
    )


def _rows_by_name(record: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the rows of the tables of objects by names, by the key of the largest object.

    The objects whose names are among those of a larger one are columns of its table.
    """
    objects = {
        key: value
        for key, value in record.items()
        if key in BY_NAME and isinstance(value, Mapping)
    }
    tables: dict[str, dict[str, dict[str, Any]]] = {}
    # The largest object first: the names of the others may be among its own.
    for key in sorted(objects, key=lambda key: -len(objects[key])):
        entries = objects[key]
        names = entries.keys()
        larger = (base for base in tables if names <= tables[base].keys())
        base = next(larger, key)
        rows = tables.setdefault(base, {name: {"name": name} for name in names})
        for name, entry in entries.items():
            is_spread = key in SPREAD and isinstance(entry, Mapping)
            rows[name] |= entry if is_spread else {key: entry}
    return tables


def _beside_the_first_network(
    rows: Sequence[Mapping[str, Any]],
) -> list[Mapping[str, Any]]:
    """Return rows whose networks, if they have any, are shown by their arcs beside the first."""
    shown: list[Mapping[str, Any]] = []
    for rank, row in enumerate(rows, 1):
        if not isinstance(row.get("parents"), Mapping):
            shown.append(row)
            continue
        # In place of the parents, the arcs that the first network lacks or has besides.
        arcs = _arcs_of(row["parents"])
        first = _arcs_of(rows[0]["parents"])
        line = {
            "rank": rank,
            **row,
            "arcs_more": _arcs(arcs - first),
            "arcs_fewer": _arcs(first - arcs),
        }
        for key in ("parents", *ARCS):
            line.pop(key, None)
        shown.append(line)
    return shown


def _arcs_of(parents: Mapping[str, Sequence[str]]) -> set[tuple[str, str]]:
    """Return the arcs of a network by name."""
    return {(p, child) for child, family in parents.items() for p in family}


def _arcs(arcs: Collection[Sequence[str]], sign: str = "→") -> list[str]:
    """Return arcs as texts, in the order of their names."""
    by_name = sorted(map(tuple, arcs))
    return [f"{brief(tail)} {sign} {brief(head)}" for tail, head in by_name]


def _cells(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the columns and texts of a row, numbers together with their standard errors."""
    for key, value in row.items():
        # A standard error stands beside its mean.
        base = key.removesuffix("_error")
        if key in HIDDEN or (base in row and base != key):
            continue
        error = row.get(f"{key}_error")
        if key in ARCS and isinstance(value, list):
            yield key, ", ".join(_arcs(value, ARCS[key]))
        elif isinstance(value, Mapping) and key in ("posterior", "states"):
            yield from _states(value)
        elif isinstance(error, float) and isfinite(error):
            unit = UNITS.get(key, PLAIN)
            yield key, _with_error(unit, value, error)
        else:
            yield key, text_of(key, value)


def _with_error(unit: Unit, value: float, error: float) -> str:
    """Return a mean with its standard error, to two digits of that."""
    # Two significant digits of the error, and as many decimals of the mean.
    mean = unit.factor * value
    error = unit.factor * error
    digits = 4
    if error > 0:
        magnitude = floor(log10(error))
        digits = min(4, max(0, 1 - magnitude))
    return f"{mean:.{digits}f} ± {error:.{digits}f}{unit.sign}"


def _states(states: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield a column for each entry of an object, or of the objects in it."""
    for name, value in states.items():
        column = brief(name)
        if prefix:
            column = f"{prefix}={column}"
        if isinstance(value, Mapping):
            yield from _states(value, column)
        else:
            yield column, text_of(column, value)


def _table(rows: Sequence[Mapping[str, Any]], max_rows: int) -> Table:
    """Return the table of some rows; columns that say nothing are left out."""
    shown = rows[:max_rows]
    cells = [dict(_cells(row)) for row in shown]
    # In the order in which rows name them, without those that are empty in all rows.
    columns: dict[str, list[str]] = {}
    for key in dict.fromkeys(chain.from_iterable(cells)):
        texts = [row.get(key, "") for row in cells]
        if any(texts):
            columns[key] = texts
    numbers = [key for key in columns if _is_number(key, shown)]
    return Table(
        head=[*map(label, columns)],
        rows=[*map(list, zip(*columns.values(), strict=True))] or [[]] * len(cells),
        right=frozenset(map(label, numbers)),
        total=len(rows),
    )


def _is_number(key: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the column of a key has numbers only."""
    values = [row.get(key) for row in rows]
    return not any(isinstance(value, str | list | Mapping) for value in values)
