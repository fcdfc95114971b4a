"""``exactlearn reproduce structural-em``: structures from incomplete rows."""

from dataclasses import asdict, replace
from typing import Any

from exactlearn.commands.declarations import Reproduce
from exactlearn.errors import OptionError
from exactlearn.reporting.report import number, plain_table
from exactlearn.reproduce.runner import Setup, Shown, Tables, check_names
from exactlearn.reproduce.structural_em import (
    EXPERIMENTS,
    HALVES,
    METHODS,
    StructuralRow,
    StructuralStudy,
    Summary,
    summaries,
)

PUBLISHED = ("grid", "comparison")
"""The tables without --tables: the halves take hours."""

_HEAD = ("experiment", "method", "n", "CPDAG SHD", "per arc", "published", "log-lik", "CPU s")

_SUMMARY = (
    "half, rows, missing, score", "method", "n", "behind", "most", "within .05", "< mode",
    "CPDAG SHD", "CPU s",
)  # fmt: skip

_NOTES = (
    "per arc: CPDAG SHD for each arc of the network, as Bodewes and Scutari give it; their "
    "figures at 5 % and 10 % are not at hand.",
    "log-lik: per test row, less that of the network that the rows are drawn from, if any.",
    "behind: log-lik less than that of the best method and score that learn from the incomplete "
    "rows; < mode: rows in which completion by modes, by some score, is ahead by more than .05.",
)


def structure_tables(options: Reproduce, setup: Setup) -> Tables:
    """Return what repeats the chosen tables, and what shows our figures beside the published."""
    tables, methods = options.tables or PUBLISHED, options.methods or ()
    check_names("--tables", "table", tables, EXPERIMENTS)
    check_names("--methods", "method", methods, METHODS)
    study = StructuralStudy(replace(setup, methods=methods), tables)

    def repeat() -> None:
        if not any(study.experiments()):
            raise OptionError(
                f"--only: no experiment of {', '.join(tables)} has {options.only!r} in its name; "
                "names are such as 'grid, ALARM, 5090 rows, mcar:0.2', those with more rows with "
                "--full"
            )
        study.repeat()

    def shown() -> Shown:
        rows = study.rows()
        judged = {e.name: e for e in study.experiments() if e.table in HALVES}
        found = summaries(rows, judged)
        record = {
            "rows": [asdict(row) for row in rows],
            "summaries": [asdict(summary) for summary in found],
            "notes": list(_NOTES),
        }
        tables = [plain_table(_HEAD, map(_cells, rows), right=_HEAD[2:])]
        if found:
            tables.append(plain_table(_SUMMARY, map(_summary_cells, found), right=_SUMMARY[2:]))
        return Shown(record, [*tables, "", *_NOTES])

    return Tables(repeat, shown)


def _summary_cells(row: Summary) -> tuple[Any, ...]:
    return (
        row.group,
        row.method,
        str(row.experiments),
        number(row.shortfall, 3),
        number(row.largest, 3),
        str(row.close),
        str(row.behind_mode),
        number(row.cpdag_shd, 1),
        number(row.seconds, 1),
    )


def _cells(row: StructuralRow) -> tuple[Any, ...]:
    error = number(row.shd_error, 2)
    return (
        row.experiment,
        row.method,
        str(row.repetitions),
        number(row.cpdag_shd, 1),
        number(row.shd_per_arc, 2) + (f" ± {error}" if error else ""),
        number(row.published, 2),
        number(row.log_likelihood, 3),
        number(row.seconds, 1),
    )
