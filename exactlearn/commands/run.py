"""``exactlearn run``: the steps of a run file, a run for each value of a sweep, or a record again.

Each run of a sweep has a folder of its own, with its ``run.toml``; what is done is kept in
``runs.json``, so that a later call does what is left.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.files import atomic_write, read_text, suffix_of
from exactlearn._runtime.progress import counted
from exactlearn.commands import body_of, declarations, provenance, repeat, steps
from exactlearn.commands.output import Answer, Output, write_json
from exactlearn.commands.places import Place, require_not_read, require_run_places
from exactlearn.commands.report import write_page
from exactlearn.commands.steps import Step, Table
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
"""What is printed of each run of a sweep, of the pipeline, its models and its steps."""


def run(options: declarations.Run, output: Output) -> Answer:
    """Run the command."""
    source, is_name = (
        Path(options.source),
        options.source in {path.stem for path in bundled()},
    )
    if suffix_of(source) == ".json" or (source.is_dir() and not is_name):
        return repeat.run(source, output, allow_outside=options.allow_outside)
    path = locate(options.source, ".toml")
    output = replace(output, path=output.path or Path("results", path.stem))
    runs = steps.read_runs(path)
    for _, table in runs:
        if options.seed is not None:
            table.setdefault("search", {})["seed"] = options.seed
            for _, entry in steps.entries(table):
                entry.pop("seed", None)
    if runs[0][0]:
        return _sweep(runs, path, options, output)
    if options.jobs > 1:
        raise OptionError("--jobs: the run file has no [sweep], so there is one run")
    table = _stored(runs[0][1], "", path, options, output)
    if made_by := provenance.current():
        made_by.seed = steps.declared(table).search.seed
    return _done(table, output, options.time_limit, options.cluster)


def _stored(
    table: Table, name: str, source: Path, options: declarations.Run, output: Output
) -> Table:
    """Store a run in its folder of that name, which is made, once all its places are checked."""
    assert output.path is not None
    folder = output.path / name
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"--output {folder}: expected a folder, found a file")
    allowed = {"overwrite": output.overwrite, "allow_outside": options.allow_outside}
    require_run_places(table, [output.path, folder], **allowed)
    path, text = folder / "run.toml", to_toml(table)
    if not output.overwrite and path.exists() and read_text(path) != text:
        require_not_read([Place("--output", path)], [source])
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(path, text)
    return table


def _done(
    table: Table, output: Output, time_limit: float | None, cluster: str | None
) -> Answer:
    """Do a stored run in the folder of the output: its pipeline, then its steps."""
    folder, control = output.path, SearchControl(time_limit)
    assert folder is not None
    run, plan, ended = (
        steps.declared(table),
        steps.declared_steps(table),
        [ExitStatus.DONE],
    )
    record: dict[str, Any] = {}
    if run.pipeline:
        data = load(run.data.file, run.data)
        output.note(run.title or f"Run {run.data.file}")
        output.note(size_in_words(data))
        plan = [*steps.pipeline(table, is_complete=data.is_complete), *plan]
    written, remarks = set(steps.WRITTEN), [f"Results lie in {folder.resolve()}"]
    for number, step in enumerate(counted("step", plan, len(plan))):
        if number and control.is_over:
            names = ", ".join(one.command for one in plan[number:])
            remarks.insert(0, f"Time limit reached, left out: {names}")
            ended.append(ExitStatus.LIMITED)
            break
        answer = _taken(step, written, folder, output, control.remaining, cluster)
        for remark in answer.remarks:
            output.note(remark)
        if step.part == "steps":
            record.setdefault("steps", []).append(answer.record)
        else:
            place, _, last = step.part.rpartition(".")
            section = record.setdefault(place, {}) if place else record
            section.update({last: answer.record} if last else answer.record)
        ended.append(ExitStatus(answer.exit_status))
        written |= step.written
        is_interrupted = answer.exit_status == ExitStatus.INTERRUPTED
        if is_interrupted and step.part != "steps":
            record["status"] = "interrupted"
        write_json(record, folder / "result.json")
        if answer.failure is not None:
            raise answer.failure
        if is_interrupted or (step.part == "" and record["parents"] is None):
            remarks.insert(0, f"The run ended early: the best so far lies in {folder}")
            break
    write_json(record, folder / "result.json")
    write_page(folder, output)
    return Answer(record=record, exit_status=max(ended), remarks=remarks)


def _taken(
    step: Step,
    written: set[str],
    folder: Path,
    output: Output,
    left: float | None,
    cluster: Any,
) -> Answer:
    """Take a step within the seconds that are left; return its answer."""
    output.note(f"Step {step.command}")
    if path := folder / step.output if step.output else None:
        path.parent.mkdir(parents=True, exist_ok=True)
    options: Any = steps.placed(step, folder, written)
    if cluster and hasattr(options, "cluster"):
        options = replace(options, cluster=cluster)
    if left is not None and hasattr(options, "time_limit"):
        limits = (left, left if options.time_limit is None else options.time_limit)
        options = replace(options, time_limit=min(limits))
    made_by = provenance.Provenance(options, step=step.command, output=path)
    with provenance.running(made_by):
        place = replace(output, path=path)
        answer = place.written(body_of(step.command)(options, place))
    found = dict(answer.record)
    if step.part == "steps":
        found = {"command": step.command, "output": step.output or None, **found}
        found["made_by"] = made_by.to_dict()
    return replace(answer, record=found)


def _sweep(
    runs: Sequence[tuple[Table, Table]],
    source: Path,
    options: declarations.Run,
    output: Output,
) -> Answer:
    """Do the runs of a sweep that are left, and write the table of all."""
    folder, planned = output.path, list[PlannedRun]()
    assert folder is not None
    for name, (_, table) in zip(
        _names([varied for varied, _ in runs]), runs, strict=True
    ):
        run = steps.declared(_stored(table, name, source, options, output))
        read = [
            run.data,
            run.search,
            *(step.options for step in steps.declared_steps(table)),
        ]
        files = {path for one in read for path in provenance.files_read(one).values()}
        known = str(provenance.sha256([folder / name / "run.toml", *sorted(files)]))
        work = partial(_run_alone, (folder / name).resolve(), options.time_limit)
        planned.append(PlannedRun(name, work, known))
    path, control = folder / "runs.json", SearchControl()
    study = Study(planned, path, options.jobs, options.cluster, output.note, control)
    for one in planned:
        if not (folder / one.title / "result.json").exists():
            study.done.pop(one.title, None)
    with output.progress_display("sweep"):
        study.run()
    rows = []
    for one, (varied, _) in zip(planned, runs, strict=True):
        found = study.known(one) or {"error": "not done"}
        if "error" not in found:
            order = sorted(
                found.keys() - {"learning"}, key=lambda key: ("." in key, key)
            )
            rows.append(
                {"run": one.title, **varied, **{key: found[key] for key in order}}
            )
    failures = [f"{one.title}: {error}" for one, error in study.failures()]
    keys = list(runs[0][0])
    record = {"varied": keys, "runs": rows, "failures": failures}
    write_json(record, folder / "sweep.json")
    atomic_write(folder / "sweep.csv", pd.DataFrame(rows).to_csv(index=False))
    remarks, ended = [f"Results lie in {folder.resolve()}"], int(ExitStatus.FAILED)
    if control.is_over:
        done = f"{sum(map(study.is_done, planned))} of {len(runs)}"
        remarks.append(f"Interrupted: {done} runs are done; call again for the others")
        ended = ExitStatus.INTERRUPTED
    elif not failures:
        ended = max(row["exit_status"] for row in rows)
    shown = [
        {k: x for k, x in row.items() if k in keys or _last(k) in SHOWN} for row in rows
    ]
    told = {"runs": shown, "failures": failures}
    return Answer(record=record, shown=told, exit_status=ended, remarks=remarks)


def _names(varied: Sequence[Table]) -> list[str]:
    """Return the names of folders, which say the values; what is alike or long has its number."""
    names = []
    for one in varied:
        words = (f"{_last(key)}={Path(str(value)).name}" for key, value in one.items())
        names.append(re.sub(r"[^\w.,=+-]", "_", ",".join(words)))
    return [
        name if len(name) <= 80 and names.count(name) == 1 else f"{name[:80]}-{number}"
        for number, name in enumerate(names, 1)
    ]


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _run_alone(folder: Path, time_limit: float | None) -> Found:
    """Do the run that is stored in a folder; return its exit status and single values."""
    path = folder / "run.toml"
    ((_, table),) = steps.read_runs(path)
    words, options = (
        ("run", str(path), "--output", str(folder)),
        declarations.Run(source=str(path)),
    )
    seed, output = (
        steps.declared(table).search.seed,
        Output(path=folder, as_json=True, quiet=True),
    )
    with provenance.running(
        provenance.Provenance(options, words, seed=seed, output=folder)
    ):
        answer = _done(table, output, time_limit, None)
    sections = ("held_out", "decision_graph", "refinement")
    parts = {
        k: v
        for k, v in answer.record.items()
        if not isinstance(v, dict) or k in sections
    }
    names = [step["command"] for step in parts.pop("steps", ())]
    for k, (name, step) in enumerate(
        zip(names, answer.record.get("steps", ()), strict=True), 1
    ):
        own = {key: v for key, v in step.items() if not isinstance(v, dict)}
        del own["command"], own["output"]
        parts[name if names.count(name) == 1 else f"{name}{k}"] = own
    (flat,) = pd.json_normalize(parts).to_dict("records")
    single = {str(k): v for k, v in flat.items() if isinstance(v, str | int | float)}
    return {"exit_status": int(answer.exit_status), **single}
