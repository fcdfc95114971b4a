"""``exactlearn reproduce equivalence``: starts of KES beside GES and the exact optimum."""

from collections.abc import Mapping, Sequence
from typing import Any

from exactlearn.commands.declarations import Reproduce
from exactlearn.reporting.report import number, percent, plain_table
from exactlearn.reproduce.equivalence import REACHED, TABLES, Row, Study
from exactlearn.reproduce.runner import Setup, Shown, Tables, check_names

_HEAD = ("table", "method", "starts", "scores", "worst", "median", "best", "best - optimum",
         "above GES", "optimum", "CPU s")  # fmt: skip


def class_tables(options: Reproduce, setup: Setup) -> Tables:
    """Return what repeats the chosen tables, and what shows them beside the optimum."""
    study = Study(setup=setup, chosen=_chosen(options))

    def shown() -> Shown:
        rows, exact = list(study.rows()), study.exact()
        notes = [
            f"{name} (Figure {TABLES[name].figure}): {TABLES[name].note}." for name in study.chosen
        ]
        record = {"rows": [row._asdict() for row in rows], "exact": exact, "notes": notes}
        table = plain_table(_HEAD, (_cells(row, exact) for row in rows), right=_HEAD[2:])
        lines = [_line(name, own, rows) for name, own in exact.items()]
        return Shown(record, [table, "", *lines, *notes], study.figures())

    return Tables(study.repeat, shown)


def _chosen(options: Reproduce) -> Sequence[str]:
    known = [name for name, t in TABLES.items() if options.data_dir or not t.needs_data]
    check_names("--tables", "table", options.tables or (), TABLES)
    return options.tables or known


def _cells(row: Row, exact: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    optimum = exact.get(row.table, {}).get("score")
    return (
        row.table,
        row.method,
        str(row.starts),
        str(row.classes),
        number(row.worst, 2),
        number(row.median, 2),
        number(row.best, 2),
        "" if optimum is None else number(row.best - optimum, 2),
        percent(row.above_ges),
        percent(row.reached),
        number(row.seconds, 3),
    )


def _line(name: str, exact: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """Say where the line is, and that no start crosses it."""
    best = max((row.best for row in rows if row.table == name), default=-float("inf"))
    proof = "proven" if exact["status"] == "optimal" else f"bound {exact['bound']:.2f}"
    crossed = "a start exceeds it" if best > exact["bound"] + REACHED else "no start exceeds it"
    return (
        f"{name}: optimum {exact['score']:.2f} of networks with up to {exact['most_parents']} "
        f"parents ({proof}, {exact['cpu_seconds']:.0f} CPU s); {crossed}"
    )
