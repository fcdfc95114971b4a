"""``exactlearn compare --learners``: learners side by side, by cross-validation."""

from exactlearn._runtime.control import SearchControl
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Compare
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.pipeline import load
from exactlearn.evaluation.cross_validation import cross_validate


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
    failures = [f"{row['learner']}: {row['failures']}" for row in rows if row["failures"]]
    record = {"best": found.best, "folds": found.folds, "rows": rows, "of_folds": found.found}
    output.save(record, "compare.json")
    ended = "done" if all(row["folds"] == found.folds for row in rows) else "feasible"
    return Answer(
        record=record,
        status="interrupted" if control.is_stopped else "failed" if failures else ended,
    )
