"""``exactlearn reproduce pdg``: learning of decision graphs, beside the published figures."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from exactlearn.commands.learned import leave
from exactlearn.commands.output import Output, write_json
from exactlearn.errors import OptionError
from exactlearn.progress import terminated_as_interrupted
from exactlearn.report import number, plain_table
from exactlearn.reproduce.pdg import NOTES, TABLES, Row, Tell, logic, random, table1
from exactlearn.suggestion import suggestion

REPETITIONS = 2
"""Tables per setting of the random graphs, of which the paper has 50."""

_HEAD = (
    "table", "experiment", "method", "n", "log-likelihood", "published", "size",
    "published size", "p", "seconds",
)  # fmt: skip


def reproduce_pdg(
    output: Output,
    tables: str | None,
    repetitions: int | None,
    data_dir: Path | None,
    full: bool,
    seed: int,
) -> None:
    """Repeat the chosen tables, and print our figures beside the published ones."""
    chosen = TABLES if tables is None else tuple(t.strip() for t in tables.split(","))
    for table in chosen:
        if table not in TABLES:
            raise OptionError(f"--tables: no table {table!r}{suggestion(table, TABLES)}")
    if output.path is not None:
        output.path.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    ended = "optimal"
    with terminated_as_interrupted():
        try:
            for table in chosen:
                for row in _rows(table, repetitions, data_dir, full, seed, output.detail):
                    rows.append(asdict(row))
        except KeyboardInterrupt:
            ended = "interrupted"
            output.note("Interrupted: the figures are those of what is done")
    notes = [f"{table}: {NOTES[table]}" for table in chosen]
    record = {"rows": rows, "notes": notes}
    if output.path is not None:
        write_json(record, output.path / "tables.json")
        output.wrote(output.path)
    output.answer(record, plain_table(_HEAD, map(_cells, rows), right=_HEAD[3:]), "", *notes)
    leave(ended)


def _rows(
    table: str, repetitions: int | None, data_dir: Path | None, full: bool, seed: int, tell: Tell
) -> Iterator[Row]:
    if table == "logic":
        return logic(seed)
    if table == "table1":
        return table1(data_dir, seed, full, tell)
    return random(repetitions or REPETITIONS, seed, tell)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    p = row["p_value"]
    return (
        row["table"],
        row["experiment"],
        row["method"],
        str(row["repetitions"]),
        f"{number(row['log_likelihood'], 3)} ± {number(row['deviation'], 3)}",
        number(row["published_log_likelihood"], 3),
        number(row["size"], 0),
        number(row["published_size"], 0),
        "" if p is None else f"{p:.3g}",
        number(row["seconds"], 1),
    )
