"""``exactlearn reproduce structural-em``: structures from incomplete rows."""

from dataclasses import asdict, replace
from typing import Any

from exactlearn.commands.declarations import Reproduce
from exactlearn.errors import OptionError
from exactlearn.reporting.report import number, plain_table
from exactlearn.reproduce.runner import Setup, Shown, Tables, check_names
from exactlearn.reproduce.structural_em import EXPERIMENTS, METHODS, StructuralRow, StructuralStudy

_HEAD = ("experiment", "method", "n", "CPDAG SHD", "per arc", "published", "log-lik", "CPU s")

_NOTES = (
    "per arc: CPDAG SHD for each arc of the network, as Bodewes and Scutari give it; their "
    "figures at 5 % and 10 % are not at hand.",
    "log-lik: per test row, less that of the network that the rows are drawn from.",
)


def structure_tables(options: Reproduce, setup: Setup) -> Tables:
    """Return what repeats the chosen tables, and what shows our figures beside the published."""
    tables, methods = options.tables or tuple(EXPERIMENTS), options.methods or ()
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
        record = {"rows": [asdict(row) for row in rows], "notes": list(_NOTES)}
        table = plain_table(_HEAD, map(_cells, rows), right=_HEAD[2:])
        return Shown(record, [table, "", *_NOTES])

    return Tables(repeat, shown)


def _cells(row: StructuralRow) -> tuple[Any, ...]:
    error = "" if row.shd_error is None else f" ± {number(row.shd_error, 2)}"
    return (
        row.experiment,
        row.method,
        str(row.repetitions),
        number(row.cpdag_shd, 1),
        number(row.shd_per_arc, 2) + error,
        number(row.published, 2),
        number(row.log_likelihood, 3),
        number(row.seconds, 1),
    )
