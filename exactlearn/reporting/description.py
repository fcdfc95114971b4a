"""What a record tells people, described once: facts and tables, whatever shows them.

:func:`describe` knows no command. A single value is a fact; a list of objects, or objects by the
names of variables, is a table; any other object is a section of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, isfinite, log10
from typing import Any

from exactlearn._runtime.display import for_counts

STATUS = {
    "optimal": "optimal (proven)",
    "t-local": "t-local optimal (proven)",
    "heuristic": "heuristic (nothing is proven)",
    "feasible": "feasible (not proven optimal)",
    "interrupted": "interrupted (the best so far)",
    "infeasible": "infeasible (no network meets the constraints)",
}
"""How a search ended, in words."""

TITLES = {
    "completion": "Completed cells",
    "held_out": "Rows not learned from",
    "networks": "Best networks",
    "best": "Best solutions",
    "averaged": "Averaged network",
    "support": "Support of arcs",
    "made_by": "How it was made",
    "mcar": "Missing completely at random (MCAR)",
    "learned": "Missingness graph learned",
}
"""Titles of parts of a record, where the key does not say it."""

LABELS = {
    "max_error": "largest relative error of the probability of a row",
    "imputation_accuracy": "completed rightly",
    "log_likelihood_before": "log likelihood before EM",
}
"""Names of facts and columns, where the key does not say it."""

HIDDEN = {"made_by", "cpdag", "of_folds", "probabilities", "independences", "record"}
"""Keys that other parts tell, or that are for programs."""

SPREAD = {"families", "held_out"}
"""Keys of such objects whose entries are several columns."""

SEVERAL = {"starts", "models", "networks", "best"}
"""Keys of lists whose only entry says what stands above it."""

BY_NAME = {
    *("rates", "causes", "rows_per_family", "separators", "families", "replaced"),
    *("held_out", "options"),
}
"""Keys of objects by names, of variables or models, which are columns of one table."""

MEANINGS = {
    *(
        "loss_of_next_best",
        "posterior",
        "probability",
        "bayes_factor",
        "reason",
        "verdict",
        "why",
    ),
}
"""Keys whose texts are sentences."""

SENTENCES = {"failures", "notes", "statements", "changes"}
"""Keys of lists of sentences."""

FROM_ZERO = {"row", "impossible_rows"}
"""Keys of numbers of rows, which people count from 1."""

LOGARITHMS = (
    "score",
    "bound",
    "likelihood",
    "loss",
    "objective",
    "difference",
    "bayes_factor",
    "gap",
)
"""Ends and parts of keys of logarithms and their differences, shown to four decimals."""

PERCENTAGES = ("accuracy", "share", "rates")
"""The same of shares that are shown as percentages."""

ARCS = {
    "arcs": "→",
    "directed": "→",
    "covered": "→",
    "edges": "-",
    "undirected": "-",
    "reversible": "-",
}
"""Keys of lists of arcs, and how an arc is written."""

MOST_LISTED = 10
"""Most entries of a list in one cell or fact."""

MAX_NAME = 100
MAX_TEXT = 300
"""Most letters of a name, and of another text such as the path of a file, that are shown."""


def brief(text: str, most: int = MAX_NAME) -> str:
    """Return a name that loses its middle where it is longer than most names.

    Examples
    --------
    >>> len(brief(1000 * "x")), brief("smoke")
    (100, 'smoke')
    """
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end - 3]}...{text[-end:]}"


class Share(str):
    """A share of 1 as text, which a picture may draw as a bar."""

    value: float

    def __new__(cls, text: str, value: float) -> "Share":
        """Return the text with its value."""
        share = super().__new__(cls, text)
        share.value = value
        return share


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
    facts: Mapping[str, str] = field(default_factory=dict)
    texts: Sequence[str] = ()
    tables: Sequence[Table] = ()
    record: Any = None


def describe(
    record: Mapping[str, Any], *, most: int = 20, key: str = "", title: str = ""
) -> list[Section]:
    """Return the sections of a record in their order, the first one with what stands at its top.

    Parameters
    ----------
    record
        A record of a command, as JSON has it.
    most
        Most rows of a table.
    key, title
        Of the first section.

    Examples
    --------
    >>> found = describe({"score": -1.5, "parents": {"a": [], "b": ["a"]}, "cells": [{"row": 0}]})
    >>> found[0].facts, found[0].tables[0].rows
    ({'score': '-1.5000'}, [['a', '-'], ['b', 'a']])
    >>> found[1].title, found[1].tables[0].rows
    ('Cells', [['1']])
    """
    facts: dict[str, str] = {}
    texts: list[str] = []
    own: list[Table] = []
    others: list[Section] = []
    by_name = _joined(record)
    for name, value in record.items():
        at = f"{key}.{name}" if key else name
        heading = TITLES.get(name) or label(name).capitalize()
        if (
            name in HIDDEN
            or value is None
            or (name == "reversible" and "parents" in record)
        ):
            continue
        if name in SENTENCES and isinstance(value, list):
            texts += map(str, value)
        elif name in MEANINGS and isinstance(value, str):
            texts.append(f"{label(name).capitalize()}: {value.rstrip('.')}.")
        elif name in ARCS and isinstance(value, list) and not any(map(_is_row, value)):
            facts |= {label(name): ", ".join(_arcs(value, ARCS[name]))} if value else {}
        elif (
            not isinstance(value, Mapping | list)
            or _is_plain(value)
            or name == "evidence"
        ):
            text = text_of(name, value)
            counts = record.get("counts") if name == "status" else None
            text += for_counts(counts) if isinstance(counts, str) else ""
            facts |= {label(name): text} if text else {}
        elif name in ("parents", "posterior"):
            own.append(_of_family(record, name, most))
        elif name == "averaged":
            table = _of_family({"parents": value}, "parents", most)
            others.append(Section(key=at, title=heading, tables=[table], record=value))
        elif name in by_name:
            own += (
                [table] if len((table := _table(by_name[name], most)).head) > 1 else []
            )
        elif isinstance(value, Mapping):
            others += describe(value, most=most, key=at, title=heading)
        elif any(
            _is_row(one) and "command" in one for one in value
        ):  # no rows, but steps
            for number, one in enumerate(value, 1):
                inner = {k: x for k, x in one.items() if k != "command"}
                others += describe(
                    inner, most=most, key=at, title=f"Step {number}: {one['command']}"
                )
        elif len(value) > 1 or name not in SEVERAL:
            table = _table([_without_arcs(value, k) for k in range(len(value))], most)
            others.append(Section(key=at, title=heading, tables=[table], record=value))
    first = Section(
        key=key, title=title, facts=facts, texts=texts, tables=own, record=record
    )
    return [first, *others]


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
        return f"{value + (key in FROM_ZERO):,}" if key in FROM_ZERO else str(value)
    if isinstance(value, float):
        return number_of(key, value)
    if isinstance(value, list | tuple):
        is_nested = any(isinstance(one, list | Mapping) for one in value)
        shown = [text_of(key, one) for one in value[:MOST_LISTED]]
        more = [f"{len(value) - MOST_LISTED} more"] * (len(value) > MOST_LISTED)
        return ("; " if is_nested else ", ").join(shown + more)
    if isinstance(value, Mapping):
        told = ((name, text_of(name, one)) for name, one in value.items())
        return ", ".join(f"{brief(name)} {text}" for name, text in told if text)
    if key == "status":
        return str(STATUS.get(value, value))
    return "" if value is None else brief(str(value), MAX_TEXT)


def number_of(key: str, value: float) -> str:
    """Return a number for people, with the digits that its key asks for.

    Examples
    --------
    >>> number_of("score", -12.3), number_of("score", float("-inf")), number_of("gap", float("nan"))
    ('-12.3000', '-inf', '')
    """
    if not isfinite(value):
        return "" if value != value or key in ("bound", "gap") else str(value)
    if key.endswith(PERCENTAGES) or key.startswith(PERCENTAGES):
        return percent(value)
    if key.endswith("seconds"):
        return f"{value:.2f}"
    if any(one in key for one in LOGARITHMS):
        return f"{value:.4f}"
    return f"{value:.2g}" if abs(value) < 1e-6 else f"{value:.6g}"


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with so many decimals; nothing when it is not known."""
    return "" if value is None or not isfinite(value) else f"{value:.{digits}f}"


def percent(share: float | None) -> str:
    """Return a share as a percentage; nothing when it is not known."""
    return "" if share is None or not isfinite(share) else f"{100 * share:.2f} %"


def probability(p: float) -> Share:
    """Return three decimals, two digits of less; 0 and 1 only for what is exactly so.

    Examples
    --------
    >>> [str(probability(p)) for p in (0.0, 0.00012, 0.25, 0.9999, 1.0)]
    ['0', '0.00012', '0.250', '>0.999', '1']
    """
    if p in (0.0, 1.0):
        return Share(str(int(p)), p)
    return Share(
        f"{p:.2g}" if p < 0.0005 else ">0.999" if p >= 0.9995 else f"{p:.3f}", p
    )


def _is_plain(value: Any) -> bool:
    """Return whether a value is a fact: a list of texts or numbers, or of pairs of them."""
    if isinstance(value, Mapping):
        return not value
    return all(
        not isinstance(one, Mapping)
        and not (
            isinstance(one, list) and any(isinstance(x, list | Mapping) for x in one)
        )
        for one in value
    )


def _is_row(entry: Any) -> bool:
    return isinstance(entry, Mapping)


def _of_family(record: Mapping[str, Any], name: str, most: int) -> Table:
    """Return the table of parents, those marked whose arc is reversible, or of posteriors."""
    rows: list[list[str]] = []
    if name == "posterior":
        for variable, states in record[name].items():
            for k, (state, p) in enumerate(states.items()):
                name = brief(variable) if k == 0 else ""
                rows.append([name, brief(state), Share(f"{p:.6f}", p)])
        head = ("variable", "state", "probability")
        return Table(
            head=head, rows=rows[:most], right=frozenset(head[2:]), total=len(rows)
        )
    marks = dict.fromkeys(map(tuple, record.get("reversible", ())), " (reversible)")
    for variable, family in record[name].items():
        texts = [brief(p) + marks.get((p, variable), "") for p in family]
        rows.append([brief(variable), ", ".join(texts) or "-"])
    return Table(head=("variable", "parents"), rows=rows[:most], total=len(rows))


def _joined(record: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of values that are known for each of the same names, by their first key.

    The keys of the other columns have no rows.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    bases: dict[str, Mapping[str, Any]] = {}
    known = [
        (k, x)
        for k, x in record.items()
        if k in BY_NAME and isinstance(x, Mapping) and x
    ]
    for key, value in sorted(known, key=lambda one: -len(one[1])):
        base = next(
            (k for k, other in bases.items() if value.keys() <= other.keys()), key
        )
        if base == key:
            bases[key] = value
            found[key] = [{"name": name} for name in value]
        for row in found[base]:
            entry = value.get(row["name"])
            if isinstance(entry, Mapping) and key in SPREAD:
                row |= entry
            elif entry is not None:
                row[key] = entry
        found.setdefault(key, [])
    return found


def _without_arcs(rows: Sequence[Mapping[str, Any]], k: int) -> Mapping[str, Any]:
    """Return a row of a list of networks: in place of its parents how it differs from the first."""
    if not isinstance(rows[k].get("parents"), Mapping):
        return rows[k]
    first, own = (
        {(p, v) for v, family in rows[at]["parents"].items() for p in family}
        for at in (0, k)
    )
    shown = {key: x for key, x in rows[k].items() if key not in ("parents", *ARCS)}
    return {
        "rank": k + 1,
        **shown,
        "arcs_more": _arcs(own - first),
        "arcs_fewer": _arcs(first - own),
    }


def _arcs(arcs: Any, sign: str = "→") -> list[str]:
    return [f"{brief(a)} {sign} {brief(b)}" for a, b in sorted(map(tuple, arcs))]


def _flat(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the columns of a row, numbers together with their standard errors."""
    for key, value in row.items():
        if key in HIDDEN or (
            key.removesuffix("_error") in row and key.endswith("_error")
        ):
            continue
        if key == "status":
            yield key, str(value)
        elif key in ARCS and isinstance(value, list):
            yield key, ", ".join(_arcs(value, ARCS[key]))
        elif isinstance(value, Mapping) and key in ("posterior", "states"):
            yield from _states(value)
        elif isinstance(error := row.get(f"{key}_error"), float) and isfinite(error):
            yield key, _with_error(key, value, error)
        else:
            yield key, text_of(key, value)


def _with_error(key: str, value: float, error: float) -> str:
    """Return a mean with its standard error, to two digits of that."""
    is_share = key.startswith(PERCENTAGES) or key.endswith(PERCENTAGES)
    unit, sign = (100, " %") if is_share else (1, "")
    digits = min(4, max(0, 1 - floor(log10(unit * error)))) if error > 0 else 4
    return f"{unit * value:.{digits}f} ± {unit * error:.{digits}f}{sign}"


def _states(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, inner in value.items():
        at = f"{before}={brief(name)}" if before else brief(name)
        if isinstance(inner, Mapping):
            yield from _states(inner, at)
        else:
            yield at, text_of(at, inner)


def _table(rows: Sequence[Mapping[str, Any]], most: int) -> Table:
    """Return the table of some rows; columns that say nothing are left out."""
    cells = [dict(_flat(row)) for row in rows[:most]]
    columns = [
        c
        for c in dict.fromkeys(c for row in cells for c in row)
        if any(r.get(c) for r in cells)
    ]
    numbers = frozenset(
        label(c)
        for c in columns
        if not any(isinstance(row.get(c), str | list | Mapping) for row in rows[:most])
    )
    return Table(
        head=[label(column) for column in columns],
        rows=[[row.get(column, "") for column in columns] for row in cells],
        right=numbers,
        total=len(rows),
    )
