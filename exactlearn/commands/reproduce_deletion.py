"""``exactlearn reproduce deletion``: parameters and structure from incomplete rows, beside EM."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from exactlearn.commands.declarations import Reproduce
from exactlearn.errors import OptionError
from exactlearn.reporting.curves import CurvesFigure
from exactlearn.reporting.report import number, plain_table
from exactlearn.reproduce.deletion import (
    FIGURES,
    LARGE,
    LARGE_DIFFERENCE,
    METHODS,
    QUICK,
    TABLES,
    Row,
    Study,
)
from exactlearn.reproduce.deletion_structure import STRUCTURE, StructureRow, StructureStudy
from exactlearn.reproduce.rows import published
from exactlearn.reproduce.runner import Setup, Shown, Tables, check_names

NAMES = (*TABLES, STRUCTURE)

_HEAD = ("network", "rows", "method", "n", "KL", "paper KL", "log-lik", "paper log-lik",
         "off", "CPU s", "paper s", "")  # fmt: skip

_STRUCTURE_HEAD = ("network", "missing", "rows", "method", "n", "SHD", "CPDAG SHD", "log-lik",
                   "CPU s")  # fmt: skip


def deletion_tables(options: Reproduce, setup: Setup) -> Tables:
    """Return what repeats the chosen tables, and what shows our figures beside the published."""
    chosen = _chosen(options)
    setup = replace(setup, methods=options.methods or ())
    study = Study(setup, [name for name in chosen if name in TABLES])
    structure = StructureStudy(setup) if STRUCTURE in chosen else None

    def repeat() -> None:
        wanted = [*study.experiments(), *(structure.experiments() if structure else ())]
        if not wanted:
            raise OptionError(
                f"--only: no experiment of {', '.join(chosen)} has {options.only!r} in its name; "
                "names are such as 'ALARM, 1000 rows'"
            )
        study.repeat()
        if structure is not None:
            structure.repeat()

    def shown() -> Shown:
        rows = study.rows()
        structures = structure.rows() if structure is not None else []
        notes = list(_notes(chosen))
        record = {
            "rows": [{**asdict(row), "difference": row.difference, "explanation": row.explanation}
                     for row in rows],
            "structure": [asdict(row) for row in structures],
            "notes": notes,
        }  # fmt: skip
        tables = [*_tables(rows), *_structure_table(structures), *_far(rows), *notes]
        figures = {
            figure.name: CurvesFigure(curves=curves, across=figure.across, up=figure.up)
            for figure in FIGURES
            if (curves := figure.curves(rows))
        }
        return Shown(record, tables, figures)

    return Tables(repeat, shown)


def _chosen(options: Reproduce) -> Sequence[str]:
    chosen = options.tables or (NAMES if options.full else QUICK)
    check_names("--tables", "table", chosen, NAMES)
    known = {m for name in chosen if name in TABLES for m in TABLES[name].methods}
    check_names("--methods", "method", options.methods or (), METHODS)
    for method in options.methods or ():
        if method not in known:
            raise OptionError(f"--methods: {method!r} is in none of the tables {', '.join(chosen)}")
    return chosen


def _tables(rows: Sequence[Row]) -> Iterator[Any]:
    for table in dict.fromkeys(row.table for row in rows):
        own = [row for row in rows if row.table == table]
        yield f"Table {table}" if table.isdigit() else f"Data of a figure: {table}"
        yield plain_table(_HEAD, map(_cells, own), right=_HEAD[1:2] + _HEAD[3:-1])
        yield ""


def _cells(row: Row) -> tuple[str, ...]:
    def with_error(value: float | None, error: float | None, digits: int) -> str:
        return number(value, digits) + ("" if error is None else f" ± {number(error, digits)}")

    return (
        row.network,
        f"{row.rows:,}",
        row.method,
        str(row.repetitions),
        with_error(row.kl, row.kl_error, 3),
        number(row.published_kl, 3),
        with_error(row.log_likelihood, row.log_likelihood_error, 2),
        number(row.published_log_likelihood, 2),
        "" if row.difference is None else f"{row.difference:+.2f}{'*' if row.is_far else ''}",
        number(row.seconds, 2),
        number(row.published_seconds, 0),
        f"- ({row.refused})" if row.refused else "",
    )


def _structure_table(rows: Sequence[StructureRow]) -> Iterator[Any]:
    if rows:
        cells = (
            (
                row.network,
                row.missing,
                f"{row.rows:,}",
                row.method,
                str(row.repetitions),
                number(row.shd, 1),
                number(row.cpdag_shd, 1),
                number(row.log_likelihood, 3),
                number(row.seconds, 2),
            )
            for row in rows
        )
        yield "Structure"
        yield plain_table(
            _STRUCTURE_HEAD, cells, right=(*_STRUCTURE_HEAD[2:3], *_STRUCTURE_HEAD[4:])
        )
        yield ""


def _far(rows: Sequence[Row]) -> Iterator[str]:
    """Explain the figures that differ much from the published ones."""
    texts: dict[str, list[Row]] = {}
    for row in rows:
        if row.is_far:
            texts.setdefault(row.explanation, []).append(row)
    if texts:
        yield f"Figures more than {LARGE_DIFFERENCE:g} off (*):"
    for text, own in texts.items():
        where = dict.fromkeys(f"table {row.table}, {row.network}" for row in own)
        yield f"{'; '.join(where)}: {text}"
    if texts:
        yield ""


def _notes(chosen: Sequence[str]) -> Iterator[str]:
    """Return what a reader must know beside the tables."""
    notes = published("deletion")["notes"]
    tables = [TABLES[name] for name in chosen if name in TABLES]
    for name in chosen:
        if name in notes:
            yield f"{name}: {notes[name]}"
    for key in ("first", "second"):
        own = [t.name for t in tables if t.networks == LARGE and t.setting.name.startswith(key)]
        if own:
            yield f"{', '.join(own)}: {notes[key]}"
    if any(table.networks == LARGE for table in tables):
        yield str(notes["grid"])
    yield str(notes["limits"])
