"""``exactlearn reproduce``: the tables of a paper, ours beside the published figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from exactlearn.commands.options import output_options
from exactlearn.commands.output import Output, write_json
from exactlearn.errors import OptionError
from exactlearn.imputation.learning import Learning
from exactlearn.report import number, percent, plain_table
from exactlearn.reproduce import augmentation
from exactlearn.reproduce.experiment import Experiment
from exactlearn.reproduce.repetitions import Plan, repeat, summary
from exactlearn.suggestion import suggestion

PAPERS = {"augmentation": augmentation.experiments}
"""Each paper with its experiments."""

_HEAD = ("table", "experiment", "method", "n", "accuracy", "published", "differs", "seconds")


@click.command("reproduce")
@click.argument("paper", type=click.Choice(list(PAPERS)))
@output_options
@click.option("--tables", metavar="1,2,...", help="Only these tables of the paper.")
@click.option("--only", metavar="TEXT", help="Only experiments whose name has this in it.")
@click.option(
    "--repetitions", type=click.IntRange(1), default=100, show_default=True, help="Of each row."
)
@click.option(
    "--data-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="EXACTLEARN_DATA",
    help="Folder of the public data, with 'uci' and 'lucas'.  [env: EXACTLEARN_DATA]",
)
@click.option("--starts", type=click.IntRange(1), default=10, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
def command(
    paper: str,
    output: Output,
    tables: str | None,
    only: str | None,
    repetitions: int,
    data_dir: Path | None,
    starts: int,
    seed: int,
) -> None:
    """Repeat the experiments of a paper and print our figures beside the published ones.

    -o names a folder; what is done is kept in it, and a later call goes on from there. 'differs'
    tells whether a method's accuracy differs from the first one's of the same tables (paired t-test
    at 5 %).
    """
    chosen = _chosen(PAPERS[paper](), tables, only)
    if output.path is not None:
        output.path.mkdir(parents=True, exist_ok=True)
    plan = Plan(
        repetitions=repetitions,
        seed=seed,
        data=data_dir,
        record=None if output.path is None else output.path / "repetitions.json",
        learning=Learning(max_parents=3, t=1, starts=starts),
    )
    output.note_compiling()
    done = repeat(plan, chosen, output.detail)
    rows = summary(plan, chosen, done)
    if output.path is not None:
        write_json({"rows": rows}, output.path / "tables.json")
        output.wrote(output.path)
    notes = sorted({f"{row['experiment']}: {row['note']}" for row in rows if row["note"]})
    output.answer({"rows": rows}, plain_table(_HEAD, map(_cells, rows), right=_HEAD[3:]), *notes)


def _chosen(
    experiments: Sequence[Experiment], tables: str | None, only: str | None
) -> list[Experiment]:
    known = sorted({experiment.table for experiment in experiments})
    wanted = known if tables is None else [table.strip() for table in tables.split(",")]
    for table in wanted:
        if table not in known:
            raise OptionError(f"--tables: no table {table!r}{suggestion(table, known)}")
    found = [e for e in experiments if e.table in wanted and (only or "") in e.name]
    if not found:
        told = ", ".join(repr(e.name) for e in experiments if e.table in wanted)
        raise OptionError(f"--only: no experiment has {only!r} in its name; there are {told}")
    return found


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    error = percent(row["accuracy_error"])
    differs = row["significant"]
    return (
        row["table"],
        row["experiment"],
        row["method"],
        str(row["repetitions"]),
        percent(row["accuracy"]) + (f" ± {error}" if error else ""),
        "" if row["published"] is None else percent(row["published"]),
        "" if differs is None else ("yes" if differs else "no"),
        number(row["seconds"], 2),
    )
