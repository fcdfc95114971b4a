"""Sweeps: the runs of a run file with several values of some keys, and one table over them all.

Each run has a folder of its own, with its ``run.toml``; what is done is kept in ``runs.json``, so
that a later call does what is left.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from csv import DictWriter
from dataclasses import replace
from functools import partial
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any
from zlib import crc32

from exactlearn import __version__
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.files import atomic_write
from exactlearn.commands import declarations, provenance
from exactlearn.commands.answer import Answer
from exactlearn.commands.output import Output, write_json
from exactlearn.commands.run import do, store
from exactlearn.commands.runs import Run, Varied, read_run
from exactlearn.errors import ExitStatus
from exactlearn.evaluation.study import Found, PlannedRun, Record, Study

SHOWN = ("status", "score", "gap", "imputation_accuracy", "log_likelihood_per_row", "seconds")
"""What the printed table has of each run, of the pipeline, its models and its steps."""

SECTIONS = ("held_out", "decision_graph", "refinement")
"""Parts of a run's record whose numbers are in the table, too."""

LONGEST = 80
"""Letters of a folder's name."""


def sweep(
    runs: Sequence[tuple[Varied, Run]], folder: Path, options: declarations.Run, output: Output
) -> Answer:
    """Do the runs of a sweep that are left, and write the table of all."""
    names = _names([varied for varied, _ in runs])
    planned = []
    record = Record.open(folder / "runs.json", output.note, SearchControl())
    for name, (_, run) in zip(names, runs, strict=True):
        place = folder / name
        store(replace(run, cluster=None), place)
        if not (place / "result.json").exists():
            record.done.get("sweep", {}).pop(name, None)
        work = partial(_run_alone, place.resolve())
        planned.append(PlannedRun("sweep", name, "run", work, _digest(place)))
    study = Study(planned, record, options.jobs, cluster=options.cluster)
    study.run()
    rows = list(_rows(study, runs, names))
    failures = [f"{planned.repetition}: {error}" for planned, error in study.failures()]
    keys = list(runs[0][0])
    found = {"varied": keys, "runs": rows, "failures": failures}
    write_json(found, folder / "sweep.json")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = StringIO()
    table = DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(map(_in_cells, rows))
    atomic_write(folder / "sweep.csv", text.getvalue())
    remarks, ended = [f"Results lie in {folder.resolve()}"], ExitStatus.FAILED
    if record.control.is_over:
        done = sum(map(study.is_done, planned))
        remarks.append(
            f"Interrupted: {done} of {len(runs)} runs are done; call again for the others"
        )
        ended = ExitStatus.INTERRUPTED
    elif not failures:
        ended = max(row["exit_status"] for row in rows)
    shown = [{k: x for k, x in row.items() if k in keys or _last(k) in SHOWN} for row in rows]
    told = {"runs": shown, "failures": failures}
    return Answer(record=found, shown=told, exit_status=ended, remarks=remarks)


def _names(varied: Sequence[Varied]) -> list[str]:
    """Return the names of folders for some values of the same keys, which say the values."""
    short = _short(list(varied[0]))
    names = []
    for one in varied:
        words = (f"{key}={_text(value)}" for key, value in zip(short, one.values(), strict=True))
        names.append(re.sub(r"[^\w.,=+-]", "_", ",".join(words)))
    return [
        name
        if len(name) <= LONGEST and names.count(name) == 1
        else f"{name[:LONGEST]}-{crc32(repr(one).encode()):08x}"
        for name, one in zip(names, varied, strict=True)
    ]


def _short(keys: Sequence[str]) -> list[str]:
    """Return the keys without their sections, where that leaves them different."""
    last = [key.rpartition(".")[2] for key in keys]
    return [own if last.count(own) == 1 else key for key, own in zip(keys, last, strict=True)]


def _text(value: Any) -> str:
    """Return a value in a word."""
    if isinstance(value, list):
        return "+".join(map(_text, value)) or "none"
    return Path(value).name if isinstance(value, str) else json.dumps(value)


def _digest(folder: Path) -> str:
    """Return a digest of all that a stored run depends on."""
    text = (folder / "run.toml").read_text(encoding="utf-8")
    run = read_run(folder / "run.toml")
    parts = (run.data, run.search, *(step.options for step in run.steps))
    files = [path for part in parts for path in provenance.files_read(part).values()]
    hashes = [provenance.sha256([path]) for path in files]
    return sha256("\n".join([__version__, text, *map(str, hashes)]).encode()).hexdigest()[:16]


def _run_alone(folder: Path) -> Found:
    """Do the run that is stored in a folder; return its exit status, and numbers of its record."""
    path = folder / "run.toml"
    run = read_run(path)
    made_by = provenance.Provenance(
        ("run", str(path), "--output", str(folder)),
        declarations.Run(source=str(path)),
        seed=run.search.seed,
        output=folder,
    )
    with provenance.running(made_by):
        answer = do(run, path, Output(path=folder, as_json=True, quiet=True))
    return {"exit_status": int(answer.exit_status), **_numbers(answer.record)}


def _numbers(record: Mapping[str, Any]) -> Found:
    """Return the single values of a record, those of some parts and of the steps, too."""
    found = dict(_flat(record, ""))
    for number_, step in enumerate(record.get("steps", ()), 1):
        name = step["command"]
        twice = sum(other["command"] == name for other in record["steps"]) > 1
        found |= _flat(step, f"{name}{number_ if twice else ''}.")
    return found


def _flat(record: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict) and f"{before}{key}".startswith(SECTIONS):
            yield from _flat(value, f"{before}{key}.")
        elif isinstance(value, str | int | float) and key not in ("command", "output"):
            yield before + key, value


def _rows(
    study: Study, runs: Sequence[tuple[Varied, Run]], names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the runs that are done, or were cut short."""
    for planned, (varied, _), name in zip(study.runs, runs, names, strict=True):
        found = study.record.known(planned)
        if found is not None and "error" not in found:
            own = sorted((key for key in found if key != "learning"), key=_place)
            yield {"run": name, **varied, **{key: found[key] for key in own}}


def _in_cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with lists and truth values as a run file has them."""
    return {k: json.dumps(v) if isinstance(v, list | bool) else v for k, v in row.items()}


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _place(key: str) -> tuple[bool, int, str]:
    """Return where a value stands in a row: those of the pipeline first, and what matters most."""
    last = _last(key)
    return "." in key, SHOWN.index(last) if last in SHOWN else len(SHOWN), key
