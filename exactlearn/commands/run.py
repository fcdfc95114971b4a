"""``exactlearn run``: the steps of a run file, a run for each value of a sweep, or a record again.

Each run of a sweep has a folder of its own, with its ``run.toml``; what is done is kept in
``runs.json``, so that a later call does what is left.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.files import atomic_write, read_text, suffix_of
from exactlearn._runtime.progress import counted
from exactlearn.commands import body_of, provenance, repeat
from exactlearn.commands.declarations import Run
from exactlearn.commands.output import Answer, Output, write_json
from exactlearn.commands.places import Place, require_not_read, require_run_places
from exactlearn.commands.provenance import Provenance, files_read, sha256
from exactlearn.commands.report import write_page
from exactlearn.commands.steps import (
    WRITTEN,
    Step,
    Table,
    declared,
    declared_steps,
    entries,
    pipeline,
    placed,
    read_runs,
)
from exactlearn.commands.tables import load
from exactlearn.errors import ExitStatus, OptionError
from exactlearn.evaluation.study import Found, PlannedRun, Study
from exactlearn.formats.run_file import to_toml
from exactlearn.instances import bundled, locate
from exactlearn.reporting.records import size_in_words

SHOWN = (
    "status",
    "score",
    "gap",
    "imputation_accuracy",
    "log_likelihood_per_row",
    "seconds",
)
"""Last parts of the keys that are printed of each run of a sweep."""

SECTIONS = ("held_out", "decision_graph", "refinement")
"""Parts of a run's record that a sweep tabulates beside its single values."""


def run(options: Run, output: Output) -> Answer:
    """Run the command."""
    source = Path(options.source)
    is_bundled = options.source in {path.stem for path in bundled()}
    # a record, or the folder of one, is made again; a bundled run file goes before a folder
    if suffix_of(source) == ".json" or (source.is_dir() and not is_bundled):
        return repeat.run(source, output, allow_outside=options.allow_outside)
    path = locate(options.source, ".toml")
    folder = output.path or Path("results", path.stem)
    runs = read_runs(path)
    # one seed for the run: those of its steps would go before that of [search]
    if options.seed is not None:
        for _, table in runs:
            table.setdefault("search", {})["seed"] = options.seed
            for _, entry in entries(table):
                entry.pop("seed", None)
    varied, table = runs[0]
    if varied:
        return _sweep(runs, folder, path, options, output)
    if options.jobs > 1:
        raise OptionError("--jobs: the run file has no [sweep], so there is one run")
    _store(table, [folder], path, options, output)
    # the options of the command leave the seed to the run file
    if made_by := provenance.current():
        made_by.seed = declared(table).search.seed
    return _done(table, folder, output, options.time_limit, options.cluster)


def _store(
    table: Table,
    folders: Sequence[Path],
    source: Path,
    options: Run,
    output: Output,
) -> None:
    """Make the folder of a run, the last one, and store its run file there.

    Before, all places that the run writes are checked; ``folders`` begins with that of a sweep.
    """
    folder = folders[-1]
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"--output {folder}: expected a folder, found a file")
    require_run_places(
        table,
        folders,
        overwrite=output.overwrite,
        allow_outside=options.allow_outside,
    )
    path = folder / "run.toml"
    text = to_toml(table)
    # a run file that lies in its own results is not replaced by another one
    if not output.overwrite and path.exists() and read_text(path) != text:
        require_not_read([Place("--output", path)], [source])
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(path, text)


def _done(
    table: Table,
    folder: Path,
    output: Output,
    time_limit: float | None,
    cluster: str | None,
) -> Answer:
    """Do a run that is stored in a folder: its pipeline, then its steps."""
    control = SearchControl(time_limit)
    run = declared(table)
    plan = declared_steps(table)
    # whether cells are missing decides between solving and augmenting
    if run.pipeline:
        data = load(run.data.file, run.data)
        output.note(run.title or f"Run {run.data.file}")
        output.note(size_in_words(data))
        plan = [*pipeline(table, is_complete=data.is_complete), *plan]

    record: dict[str, Any] = {}
    remarks = [f"Results lie in {folder.resolve()}"]
    statuses: list[int] = [ExitStatus.DONE]
    written = set(WRITTEN)
    for number, step in enumerate(counted("step", plan, len(plan))):
        # the first step is always taken: it ends with the best so far
        if number and control.is_over:
            left_out = ", ".join(step.command for step in plan[number:])
            remarks.insert(0, f"Time limit reached, left out: {left_out}")
            statuses.append(ExitStatus.LIMITED)
            break
        answer = _taken(step, written, folder, output, control.remaining, cluster)
        written |= step.written
        statuses.append(answer.exit_status)
        is_interrupted = answer.exit_status == ExitStatus.INTERRUPTED
        if step.section is None:
            record.setdefault("steps", []).append(answer.record)
        else:
            _place(record, step.section).update(answer.record)
            record |= {"status": "interrupted"} if is_interrupted else {}
        # what is done is kept, whatever the next step does
        write_json(record, folder / "result.json")
        if answer.failure is not None:
            raise answer.failure
        if is_interrupted or record.get("parents", ()) is None:
            remarks.insert(0, f"The run ended early: the best so far lies in {folder}")
            break
    write_json(record, folder / "result.json")
    write_page(folder, output)
    return Answer(record=record, exit_status=max(statuses), remarks=remarks)


def _place(record: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return the dictionary at a path of a record, made where it is missing."""
    for key in path:
        record = record.setdefault(key, {})
    return record


def _taken(
    step: Step,
    written: set[str],
    folder: Path,
    output: Output,
    seconds: float | None,
    cluster: str | None,
) -> Answer:
    """Take a step within the seconds that are left; return its answer."""
    output.note(f"Step {step.command}")
    path = folder / step.output if step.output else None
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    options: Any = placed(step, folder, written)
    # cluster and time limit of the run hold for each step that has such options
    if cluster and hasattr(options, "cluster"):
        options = replace(options, cluster=cluster)
    if seconds is not None and hasattr(options, "time_limit"):
        limit = seconds if options.time_limit is None else options.time_limit
        options = replace(options, time_limit=min(limit, seconds))
    made_by = Provenance(options, step=step.command, output=path)
    with provenance.running(made_by):
        place = replace(output, path=path)
        answer = place.written(body_of(step.command)(options, place))
    for remark in answer.remarks:
        output.note(remark)
    if step.section is not None:
        return answer
    about = {"command": step.command, "output": step.output or None}
    record = {**about, **answer.record, "made_by": made_by.to_dict()}
    return replace(answer, record=record)


def _sweep(
    runs: Sequence[tuple[Table, Table]],
    folder: Path,
    source: Path,
    options: Run,
    output: Output,
) -> Answer:
    """Do the runs of a sweep that are left, and write the table of all."""
    names = _names([varied for varied, _ in runs])
    planned = []
    # all runs are stored, so that their places are checked, before the first one begins
    for name, (_, table) in zip(names, runs, strict=True):
        _store(table, [folder, folder / name], source, options, output)
        planned.append(_planned(table, folder / name, options.time_limit))
    control = SearchControl()
    study = Study(
        planned,
        folder / "runs.json",
        options.jobs,
        options.cluster,
        output.note,
        control,
    )
    for name in names:  # a run whose folder is gone is done again
        if not (folder / name / "result.json").exists():
            study.done.pop(name, None)
    with output.progress_display("sweep"):
        study.run()

    rows = _rows(study, runs)
    # of the tables, the JSON one has also the failures
    failures = [f"{work.title}: {error}" for work, error in study.failures()]
    varied_keys = list(runs[0][0])
    record = {"varied": varied_keys, "runs": rows, "failures": failures}
    write_json(record, folder / "sweep.json")
    atomic_write(folder / "sweep.csv", pd.DataFrame(rows).to_csv(index=False))

    remarks = [f"Results lie in {folder.resolve()}"]
    status = int(ExitStatus.FAILED)
    # an interrupt goes before a failure, and that before the limits of the runs
    if control.is_over:
        done = f"{sum(map(study.is_done, planned))} of {len(runs)}"
        remarks.append(f"Interrupted: {done} runs are done; call again for the others")
        status = ExitStatus.INTERRUPTED
    elif not failures:
        status = max(row["exit_status"] for row in rows)
    printed = [_printed(row, varied_keys) for row in rows]
    shown = {"runs": printed, "failures": failures}
    return Answer(record=record, shown=shown, exit_status=status, remarks=remarks)


def _rows(study: Study, runs: Sequence[tuple[Table, Table]]) -> list[Table]:
    """Return a row for each run that is done: its name, the varied and the single values."""
    rows = []
    for work, (varied, _) in zip(study.runs, runs, strict=True):
        values = study.known(work)
        if values is not None and "error" not in values:
            # values of the run stand before those of its sections and steps
            keys = sorted(values.keys() - {"learning"}, key=lambda k: ("." in k, k))
            single = {key: values[key] for key in keys}
            rows.append({"run": work.title, **varied, **single})
    return rows


def _printed(row: Table, varied: Sequence[str]) -> Table:
    """Return the part of a row that is printed."""
    return {key: row[key] for key in row if key in varied or _last(key) in SHOWN}


def _names(runs: Sequence[Table]) -> list[str]:
    """Return the names of folders: the varied values; a number for equal and long ones."""
    names = []
    for varied in runs:
        values = (f"{_last(key)}={Path(str(x)).name}" for key, x in varied.items())
        names.append(re.sub(r"[^\w.,=+-]", "_", ",".join(values)))
    unique = []
    for number, name in enumerate(names, 1):
        is_plain = len(name) <= 80 and names.count(name) == 1
        unique.append(name if is_plain else f"{name[:80]}-{number}")
    return unique


def _last(key: str) -> str:
    """Return the last part of a key with dots."""
    return key.split(".")[-1]


def _planned(table: Table, folder: Path, time_limit: float | None) -> PlannedRun:
    """Return a stored run as work of a study, to do again when a file that it reads changes."""
    run = declared(table)
    readers = [step.options for step in declared_steps(table)]
    # the files of all sections and steps that read some
    files: set[Path] = set()
    for reader in (run.data, run.search, *readers):
        files |= set(files_read(reader).values())
    digest = sha256([folder / "run.toml", *sorted(files)])
    work = partial(_run_alone, folder.resolve(), time_limit)
    return PlannedRun(folder.name, work, str(digest))


def _run_alone(folder: Path, time_limit: float | None) -> Found:
    """Do the run that is stored in a folder; return its exit status and single values."""
    path = folder / "run.toml"
    ((_, table),) = read_runs(path)
    # The record says how this run is made alone, not as a part of the sweep.
    made_by = Provenance(
        Run(source=str(path)),
        ("run", str(path), "--output", str(folder)),
        seed=declared(table).search.seed,
        output=folder,
    )
    output = Output(as_json=True, quiet=True)
    with provenance.running(made_by):
        answer = _done(table, folder, output, time_limit, None)
    return {"exit_status": int(answer.exit_status), **_single_values(answer.record)}


def _single_values(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts and numbers of a run's record, by keys with dots.

    Of a step stand only those that are no part of a table, below its name.
    """
    parts = {key: record[key] for key in SECTIONS if key in record} | _plain(record)
    taken = parts.pop("steps", [])
    # steps of one command are told apart by their numbers
    commands = [step["command"] for step in taken]
    for number, (command, step) in enumerate(zip(commands, taken, strict=True), 1):
        name = command if commands.count(command) == 1 else f"{command}{number}"
        parts[name] = _plain(step)
        del parts[name]["command"], parts[name]["output"]
    (values,) = pd.json_normalize(parts).to_dict("records")
    return {
        str(key): value
        for key, value in values.items()
        if isinstance(value, str | int | float)
    }


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a record that are no dictionaries."""
    return {key: value for key, value in record.items() if not isinstance(value, dict)}
