"""``exactlearn reproduce pdg``: learning of decision graphs, beside the published figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from exactlearn.commands.learned import leave
from exactlearn.commands.output import Output, write_json
from exactlearn.errors import OptionError
from exactlearn.progress import terminated_as_interrupted
from exactlearn.report import number, plain_table
from exactlearn.reproduce.pdg import NOTES, STUDIES
from exactlearn.reproduce.record import Record
from exactlearn.reproduce.study import Setup
from exactlearn.suggestion import suggestion

REPETITIONS = 2
"""Tables per setting of the random graphs, of which the paper has 50."""

_COLUMNS: Mapping[str, tuple[str, int]] = {
    "n": ("repetitions", 0),
    "train": ("train_log_likelihood", 3),
    "published train": ("published_train", 3),
    "test": ("log_likelihood", 3),
    "±": ("deviation", 3),
    "published test": ("published", 3),
    "size": ("size", 0),
    "published size": ("published_size", 0),
    "p": ("p_value", 4),
    "seconds": ("seconds", 1),
}
"""Columns of numbers: what they hold, and digits after the point."""


def reproduce_pdg(
    output: Output,
    tables: str | None,
    only: str | None,
    repetitions: int | None,
    data_dir: Path | None,
    full: bool,
    seed: int,
) -> None:
    """Repeat the chosen tables, and print our figures beside the published ones."""
    chosen = _chosen(tables)
    if output.path is not None:
        output.path.mkdir(parents=True, exist_ok=True)
    file = None if output.path is None else output.path / "repetitions.json"
    setup = Setup(
        record=Record.open(file, output.detail),
        data=data_dir,
        seed=seed,
        repetitions=repetitions or REPETITIONS,
        full=full,
        only=only or "",
    )
    output.note_compiling()
    rows: list[dict[str, Any]] = []
    ended = "optimal"
    with terminated_as_interrupted():
        try:
            for table in chosen:
                rows.extend(asdict(row) for row in STUDIES[table](setup))
        except KeyboardInterrupt:
            ended = "interrupted"
            output.note("Interrupted: the figures are those of what is done")
    if not rows and ended == "optimal":
        raise OptionError(f"--only: no experiment of {', '.join(chosen)} has {only!r} in its name")
    notes = [f"{table}: {NOTES[table]}" for table in chosen]
    behind = lost(rows)
    record = {"rows": rows, "notes": notes, "lost": behind}
    if output.path is not None:
        write_json(record, output.path / "tables.json")
        output.wrote(output.path)
    output.answer(record, *_told(rows), *behind, "", *notes)
    leave(ended)


def lost(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Tell where other languages are more likely on rows not learnt from."""
    found = []
    for table, experiment in dict.fromkeys((r["table"], r["experiment"]) for r in rows):
        own = [r for r in rows if (r["table"], r["experiment"]) == (table, experiment)]
        graphs = [r for r in own if r["method"].startswith("PDG")]
        if not graphs:
            continue
        best = max(graphs, key=lambda r: float(r["log_likelihood"]))
        for row in own:
            ahead = row["log_likelihood"] - best["log_likelihood"]
            if row["method"] in ("BN", "NB") and ahead > 0:
                size = row["size"] / best["size"]
                found.append(
                    f"{experiment}: {row['method']} is ahead of {best['method']} by {ahead:.3f}"
                    f" nats a row, at {size:.2g} times its size"
                )
    return ["Where decision graphs lose:", *found] if found else []


def _chosen(tables: str | None) -> list[str]:
    chosen = list(STUDIES) if tables is None else [t.strip() for t in tables.split(",")]
    for table in chosen:
        if table not in STUDIES:
            raise OptionError(f"--tables: no table {table!r}{suggestion(table, list(STUDIES))}")
    return chosen


def _told(rows: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
    """Print each table with the columns that it has figures in."""
    for table in dict.fromkeys(row["table"] for row in rows):
        own = [row for row in rows if row["table"] == table]
        numbers = {
            head: (key, digits)
            for head, (key, digits) in _COLUMNS.items()
            if any(row[key] is not None for row in own)
        }
        texts = [*(("verdict",) if any(row["verdict"] for row in own) else ())]
        head = (table, "method", *numbers, *texts)
        cells = (
            (
                row["experiment"],
                row["method"],
                *(number(row[key], digits) for key, digits in numbers.values()),
                *(row[text] for text in texts),
            )
            for row in own
        )
        yield plain_table(head, cells, right=tuple(numbers))
        yield ""
