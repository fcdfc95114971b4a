"""``exactlearn compare --learners``: learners side by side, by cross-validation."""

from collections.abc import Mapping, Sequence
from typing import Any

from exactlearn._runtime.control import SearchControl
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Compare
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.pipeline import load
from exactlearn.evaluation.cross_validation import cross_validate
from exactlearn.reporting.report import number, plain_table


def run(options: Compare, output: Output) -> Answer:
    """Run the command; what is done at an interrupt is kept and shown."""
    assert options.learners is not None
    assert options.source is not None
    if output.folder is None:
        require_suffix(output.path, (".json",))
    data = load(options.source, options)
    with output.progress_display("folds") as display, SearchControl().running() as control:
        found = cross_validate(
            data,
            options.learners,
            options.folds,
            class_=options.class_,
            seed=options.seed,
            jobs=options.jobs,
            folder=output.folder,
            time_limit=options.time_limit,
            cluster=options.cluster,
            on_begin=display.stage,
        )
    rows = found.to_records()
    record = {"best": found.best, "folds": found.folds, "rows": rows, "of_folds": found.found}
    output.save(record, "compare.json")
    failures = [f"{row['learner']}: {row['failures']}" for row in rows if row["failures"]]
    ended = "done" if all(row["folds"] == found.folds for row in rows) else "feasible"
    return Answer(
        record=record,
        tables=[_table(rows, found.measures, found.best), *failures],
        status="interrupted" if control.is_stopped else "failed" if failures else ended,
    )


def _table(rows: Sequence[Mapping[str, Any]], measures: tuple[str, ...], best: str) -> Any:
    """Return the means, and the differences from the best learner, with standard errors."""

    def cell(row: Mapping[str, Any], key: str) -> str:
        error = number(row[f"{key}_error"], 4)
        return (number(row[key], 4) or str(row[key])) + (f" ± {error}" if error else "")

    heads = {"log_likelihood": "log-likelihood per row", "log_loss": "log-loss"}
    columns = ["learner"]
    for measure in measures:
        columns += [heads.get(measure, measure), f"less {best}'s"]
    cells = [
        [
            row["learner"],
            *(cell(row, key) for m in measures for key in (m, f"{m}_difference")),
            str(row["folds"]),
            number(row["seconds"], 2),
        ]
        for row in rows
    ]
    return plain_table((*columns, "folds", "CPU s"), cells, right=(*columns[1:], "folds", "CPU s"))
