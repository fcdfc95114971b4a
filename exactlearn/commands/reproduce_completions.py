"""``exactlearn reproduce augmentation``: completions of missing cells."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from exactlearn.commands.declarations import Reproduce
from exactlearn.errors import OptionError
from exactlearn.imputation.methods import METHODS
from exactlearn.imputation.scikit_learn import require_library
from exactlearn.reporting.report import number, percent, plain_table
from exactlearn.reproduce.augmentation import augmentation
from exactlearn.reproduce.experiment import GENERATING, Experiment, repeat, summary
from exactlearn.reproduce.runner import Setup, Shown, Tables, check_names

_HEAD = (
    "table", "experiment", "method", "n", "accuracy", "published", "errors off", "ahead",
    "log-loss", "seconds", "CPU",
)  # fmt: skip


def completion_tables(options: Reproduce, setup: Setup) -> Tables:
    """Return what repeats the experiments of a paper on missing cells, and what shows them."""
    paper = augmentation()
    chosen = _chosen(paper.experiments, options)
    wanted = _methods(paper.experiments, chosen, options.methods)
    if any(METHODS[name].needs_scikit_learn for name in wanted - {GENERATING}):
        require_library()
    setup = replace(
        setup,
        learning=replace(paper.learning, starts=options.starts or paper.learning.starts),
        methods=sorted(wanted),
    )

    def shown() -> Shown:
        rows = summary(setup, chosen)
        record: dict[str, Any] = {"rows": rows}
        tables: list[Any] = [plain_table(_HEAD, map(_cells, rows), right=_HEAD[3:])]
        notes = [
            f"Table {table}: {note}"
            for table in dict.fromkeys(e.table for e in chosen)
            for note in paper.notes.get(table, ())
        ]
        record["notes"] = notes
        return Shown(record, [*tables, *([""] if notes else []), *notes])

    return Tables(partial(repeat, setup, chosen), shown)


def _chosen(experiments: Sequence[Experiment], options: Reproduce) -> list[Experiment]:
    known, only = sorted({experiment.table for experiment in experiments}), options.only
    wanted = options.tables or known
    check_names("--tables", "table", wanted, known)
    found = [e for e in experiments if e.table in wanted and (only or "") in e.name]
    if not found:
        names = ", ".join(repr(e.name) for e in experiments if e.table in wanted)
        raise OptionError(f"--only: no experiment has {only!r} in its name; there are {names}")
    return found


def _methods(
    experiments: Sequence[Experiment], chosen: Sequence[Experiment], wanted: Sequence[str] | None
) -> set[str]:
    """Return the methods of the chosen experiments that are wanted."""
    known = {method for experiment in experiments for method in experiment.methods}
    own = {method for experiment in chosen for method in experiment.methods}
    if wanted is None:
        return own
    check_names("--methods", "method", wanted, sorted(known))
    if not own.intersection(wanted):
        raise OptionError(
            f"--methods: expected one of {', '.join(sorted(own))} for the chosen experiments, "
            f"found {', '.join(wanted)}"
        )
    return own.intersection(wanted)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    error, ahead = percent(row["accuracy_error"]), row["ahead"]
    star = "*" if row["significant"] else " "
    return (
        row["table"],
        row["experiment"],
        row["method"],
        str(row["repetitions"]),
        percent(row["accuracy"]) + (f" ± {error}" if error else ""),
        percent(row["published"]),
        "" if row["errors_off"] is None else f"{row['errors_off']:+.1f}",
        "" if ahead is None else f"{100 * ahead:+.2f}{star}",
        number(row["log_loss"], 3),
        number(row["seconds"], 2),
        number(row["cpu_seconds"], 2),
    )
