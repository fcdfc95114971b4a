"""``exactlearn compare --learners``: learners side by side, by cross-validation."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from exactlearn._runtime.control import SearchControl
from exactlearn.commands.declarations import Compare
from exactlearn.commands.output import Output, is_folder, require_suffix, write_json
from exactlearn.commands.pipeline import load
from exactlearn.commands.search import leave
from exactlearn.errors import ExitStatus, OptionError
from exactlearn.evaluation.cross_validation import cross_validate
from exactlearn.reporting.report import number, plain_table


def run(options: Compare, output: Output) -> None:
    """Run the command; what is done at an interrupt is kept and shown."""
    assert options.learners is not None
    _refuse_others(options)
    folder = output.path if output.path is not None and is_folder(output.path) else None
    if folder is None:
        require_suffix(output.path, (".json",))
    assert options.source is not None
    data = load(options.source, options)
    with output.progress_display("folds") as display, SearchControl().running() as control:
        found = cross_validate(
            data,
            options.learners,
            options.folds,
            class_=options.class_,
            seed=options.seed,
            jobs=options.jobs,
            folder=folder,
            time_limit=options.time_limit,
            cluster=options.cluster,
            on_begin=display.stage,
        )
    rows = found.to_records()
    record = {"best": found.best, "folds": found.folds, "rows": rows, "of_folds": found.found}
    if output.path is not None:
        write_json(record, output.path if folder is None else folder / "compare.json")
        output.wrote(output.path)
    failures = [f"{row['learner']}: {row['failures']}" for row in rows if row["failures"]]
    output.answer(record, _table(rows, found.measures, found.best), *failures)
    if control.is_stopped:
        leave("interrupted")
    if failures:
        raise click.exceptions.Exit(ExitStatus.FAILED)
    leave("done" if all(row["folds"] == found.folds for row in rows) else "feasible")


def _refuse_others(options: Compare) -> None:
    """Refuse options that the comparison of learners does not have."""
    others = {
        "--methods": options.methods,
        "--languages": options.languages,
        "--network": options.network,
        "--hide": options.hide,
        "--truth": options.truth,
        "--test": options.test,
        "--repeat": options.repeat,
        "--reference": options.reference,
        "a second table": options.more,
    }
    for name, value in others.items():
        if value:
            raise OptionError(f"{name} does not go with --learners: leave out one of the two")
    if options.source is None:
        raise OptionError("--learners: expected a table to learn from")


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
