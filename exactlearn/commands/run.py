"""``exactlearn run``: the steps of a run file, a run for each value of a sweep, or a record again.

Each run of a sweep has a folder of its own, with its ``run.toml``; what is done is kept in
``runs.json``, so that a later call does what is left.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pandas as pd

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn.commands import body_of, declarations, options_of, provenance, repeat
from exactlearn.commands.learned import write_drawing
from exactlearn.commands.output import Answer, Output, write_json
from exactlearn.commands.report import write_page
from exactlearn.commands.steps import (
    WRITTEN,
    RunFile,
    Step,
    Table,
    Varied,
    declared,
    files_named,
    is_step,
    pipeline,
    placed,
    read_runs,
    steps,
)
from exactlearn.commands.tables import load
from exactlearn.data.dataset import Dataset
from exactlearn.data.labels import state_index, variable_index
from exactlearn.errors import ExitStatus, OptionError
from exactlearn.evaluation.study import Found, PlannedRun, Study
from exactlearn.formats.models import read_model
from exactlearn.formats.run_file import to_toml
from exactlearn.instances import bundled, locate
from exactlearn.queries.evidence import as_graph
from exactlearn.reporting.drawing import decision_graph_drawing
from exactlearn.reporting.records import size_in_words

RESULTS = Path("results")

SHOWN = ("status", "score", "gap", "imputation_accuracy", "log_likelihood_per_row", "seconds")
"""What is printed of each run of a sweep, of the pipeline, its models and its steps."""

SECTIONS = ("held_out", "decision_graph", "refinement")
"""Parts of a run's record whose numbers are in the table of a sweep, too."""

LONGEST = 80
"""Letters of a folder's name."""


def run(options: declarations.Run, output: Output) -> Answer:
    """Run the command."""
    source, is_name = Path(options.source), options.source in {path.stem for path in bundled()}
    if suffix_of(source) == ".json" or (source.is_dir() and not is_name):
        return repeat.run(source, output)
    path = locate(options.source, ".toml")
    folder = output.path or RESULTS / path.stem
    runs = [(varied, _overridden(table, options)) for varied, table in read_runs(path)]
    if runs[0][0]:
        return _sweep(runs, folder, options, output)
    if options.jobs > 1:
        raise OptionError("--jobs: the run file has no [sweep], so there is one run")
    stored = _stored(runs[0][1], folder)
    if made_by := provenance.current():
        made_by.seed = declared(stored).search.seed
    return _done(stored, path, replace(output, path=folder), options.time_limit, options.cluster)


def _overridden(table: Table, options: declarations.Run) -> Table:
    """Return a run with the seed of the command line in it and in all its steps."""
    if options.seed is not None:
        table.setdefault("search", {})["seed"] = options.seed
        for command in filter(is_step, table):
            entries = table[command] if isinstance(table[command], list) else [table[command]]
            for entry in entries if hasattr(options_of(command), "seed") else ():
                entry["seed"] = options.seed
    return table


def _stored(table: Table, folder: Path) -> Table:
    """Store a run in its folder, which is made."""
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"--output {folder}: expected a folder, found a file")
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(folder / "run.toml", to_toml(table))
    return table


def _done(
    table: Table, path: Path, output: Output, time_limit: float | None, cluster: str | None
) -> Answer:
    """Do a stored run in the folder of the output: its pipeline, then its steps."""
    folder, begun = output.path, monotonic()
    assert folder is not None
    run, record, ended = declared(table), dict[str, Any](), [ExitStatus.DONE]
    plan = steps(table)
    if run.pipeline:
        data = load(run.data.file, run.data)
        _check_names(run, data)
        output.note(run.title or f"Run {path}")
        output.note(size_in_words(data))
        plan = [*pipeline(table, is_complete=data.is_complete), *plan]
    if any(step.part == "steps" for step in plan):
        record["steps"] = []
    written, remarks = set(WRITTEN), [f"Results lie in {folder.resolve()}"]
    for number, step in enumerate(plan):
        left = None if time_limit is None else time_limit - (monotonic() - begun)
        if left is not None and left <= 0 and number:
            names = ", ".join(one.command for one in plan[number:])
            remarks.insert(0, f"Time limit reached, left out: {names}")
            ended.append(ExitStatus.LIMITED)
            break
        found, answer = _taken(step, folder, written, output, left, cluster)
        for remark in answer.remarks:
            output.note(remark)
        _add(record, step.part, found)
        ended.append(ExitStatus(answer.exit_status))
        written |= step.written
        if answer.exit_status == ExitStatus.INTERRUPTED and step.part != "steps":
            record["status"] = "interrupted"
        write_json(record, folder / "result.json")
        if answer.failure is not None:
            raise answer.failure
        has_none = step.part == "" and record["parents"] is None
        if answer.exit_status == ExitStatus.INTERRUPTED or has_none:
            remarks.insert(0, f"The run ended early: the best so far lies in {folder}")
            break
    if run.pipeline:
        record.setdefault("queries", [])
    write_json(record, folder / "result.json")
    if (folder / "model.pdg.json").is_file():
        drawing = decision_graph_drawing(as_graph(read_model(folder / "model.pdg.json")))
        write_drawing(drawing, folder / "model.svg", output)
    write_page(folder, output)
    return Answer(record=record, exit_status=max(ended), remarks=remarks)


def _taken(
    step: Step,
    folder: Path,
    written: set[str],
    output: Output,
    time_limit: float | None,
    cluster: str | None,
) -> tuple[dict[str, Any], Answer]:
    """Take a step within a time; return its record and its answer."""
    output.note(f"Step {step.command}")
    path = folder / step.output if step.output else None
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    options: Any = placed(step, folder, written)
    more: dict[str, Any] = {"cluster": cluster} if cluster and hasattr(options, "cluster") else {}
    if time_limit is not None and hasattr(options, "time_limit"):
        own = options.time_limit
        more["time_limit"] = max(0.0, time_limit if own is None else min(own, time_limit))
    of_run = provenance.current()
    words = () if of_run is None else of_run.words
    made_by = provenance.Provenance(words, replace(options, **more), step.command, output=path)
    with provenance.running(made_by):
        answer: Answer = body_of(step.command)(made_by.options, replace(output, path=path))
    found = {**step.said, **answer.record}
    if step.part == "steps":
        found = {"command": step.command, "output": step.output or None, **found}
        found["made_by"] = made_by.to_dict()
    return found, answer


def _add(record: dict[str, Any], part: str, found: dict[str, Any]) -> None:
    """Add the record of a step to that of the run."""
    if part in ("steps", "queries"):
        record.setdefault(part, []).append(found)
    elif part:
        place, _, last = part.rpartition(".")
        (record.setdefault(place, {}) if place else record)[last] = found
    else:
        record |= found


def _check_names(run: RunFile, data: Dataset) -> None:
    """Refuse a query about unknown things before anything is computed."""
    index = {name: i for i, name in enumerate(data.names)}
    try:
        for queries in run.queries:
            for name in queries.targets:
                variable_index(name, index)
            for name, state in queries.evidence.items():
                state_index(state, data.states[variable_index(name, index)], name)
    except OptionError as error:
        raise OptionError(f"queries: {error}") from None


def _sweep(
    runs: Sequence[tuple[Varied, Table]],
    folder: Path,
    options: declarations.Run,
    output: Output,
) -> Answer:
    """Do the runs of a sweep that are left, and write the table of all."""
    names = _names([varied for varied, _ in runs])
    planned = []
    for name, (_, table) in zip(names, runs, strict=True):
        place = folder / name
        read = (Path(entry[key]) for entry, key in files_named(_stored(table, place)))
        files = [place / "run.toml", *filter(Path.is_file, read)]
        work = partial(_run_alone, place.resolve(), options.time_limit)
        planned.append(PlannedRun(name, work, str(provenance.sha256(files))))
    path, control = folder / "runs.json", SearchControl()
    study = Study(planned, path, options.jobs, options.cluster, output.note, control)
    for name in names:
        if not (folder / name / "result.json").exists():
            study.done.pop(name, None)
    study.run()
    rows = []
    for one, (varied, _) in zip(planned, runs, strict=True):
        gave = study.known(one) or {"error": "not done"}
        if "error" not in gave:
            keys = sorted(gave.keys() - {"learning"}, key=lambda key: ("." in key, key))
            rows.append({"run": one.title, **varied, **{key: gave[key] for key in keys}})
    failures = [f"{planned.title}: {error}" for planned, error in study.failures()]
    keys = list(runs[0][0])
    found = {"varied": keys, "runs": rows, "failures": failures}
    write_json(found, folder / "sweep.json")
    atomic_write(folder / "sweep.csv", pd.DataFrame(rows).to_csv(index=False))
    remarks, ended = [f"Results lie in {folder.resolve()}"], int(ExitStatus.FAILED)
    if control.is_over:
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
    """Return the names of folders, which say the values; what is alike or long has its number."""
    names = []
    for one in varied:
        words = (f"{_last(key)}={Path(str(value)).name}" for key, value in one.items())
        names.append(re.sub(r"[^\w.,=+-]", "_", ",".join(words)))
    return [
        name if len(name) <= LONGEST and names.count(name) == 1 else f"{name[:LONGEST]}-{number}"
        for number, name in enumerate(names, 1)
    ]


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _run_alone(folder: Path, time_limit: float | None) -> Found:
    """Do the run that is stored in a folder; return its exit status, and numbers of its record."""
    path = folder / "run.toml"
    ((_, table),) = read_runs(path)
    words = ("run", str(path), "--output", str(folder))
    seed, options = declared(table).search.seed, declarations.Run(source=str(path))
    made_by = provenance.Provenance(words, options, seed=seed, output=folder)
    with provenance.running(made_by):
        output = Output(path=folder, as_json=True, quiet=True)
        answer = _done(table, path, output, time_limit, None)
    found = _numbers(answer.record)
    taken = answer.record.get("steps", ())
    for number, step in enumerate(taken, 1):
        name = step["command"]
        twice = sum(other["command"] == name for other in taken) > 1
        own = _numbers(step)
        found |= {f"{name}{number if twice else ''}.{key}": value for key, value in own.items()}
    return {"exit_status": int(answer.exit_status), **found}


def _numbers(record: Mapping[str, Any]) -> Found:
    """Return the single values of a record and those of its parts that are in a sweep's table."""
    kept = {k: v for k, v in record.items() if not isinstance(v, dict) or k in SECTIONS}
    (flat,) = pd.json_normalize(kept).to_dict("records")
    return {
        str(key): value
        for key, value in flat.items()
        if isinstance(value, str | int | float) and key not in ("command", "output")
    }
