"""``exactlearn compare``: methods of completing missing cells, side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, get_args

import click
import numpy as np

from exactlearn.commands.options import (
    criterion_options,
    output_options,
    reading_options,
    solver_options,
)
from exactlearn.commands.output import Output, require_suffix, write_json
from exactlearn.data import Dataset
from exactlearn.errors import OptionError
from exactlearn.evaluation.metrics import Comparison, Mean
from exactlearn.formats.bif import read_bif
from exactlearn.instances import locate
from exactlearn.missingness import hide
from exactlearn.network import BayesianNetwork
from exactlearn.pipeline import learn_incomplete, load
from exactlearn.progress import Narration
from exactlearn.report import number, percent, plain_table
from exactlearn.runs import Criterion, MethodName, Reading, Search
from exactlearn.suggestion import suggestion

METHODS: tuple[MethodName, ...] = get_args(MethodName)


@click.command("compare")
@click.argument("source", metavar="[DATA.csv]", required=False)
@output_options
@reading_options
@criterion_options
@click.option(
    "--methods",
    default="exact,t-local,mode",
    show_default=True,
    metavar="A,B,...",
    help=f"Methods to compare, of {', '.join(METHODS)}.",
)
@click.option("--truth", metavar="COMPLETE.csv", help="The table before cells were hidden.")
@click.option(
    "--t",
    "t",
    type=click.IntRange(1),
    default=Search.t,
    show_default=True,
    help="t-local: cells that may change in one step.",
)
@click.option(
    "--starts",
    type=click.IntRange(0),
    default=Search.starts,
    show_default=True,
    help="t-local: random starts.",
)
@click.option("--network", metavar="NETWORK.bif", help="Draw tables from a network instead.")
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="With --network: tables to draw, with the seeds that follow --seed.",
)
@click.option(
    "--rows",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="With --network: rows of each table.",
)
@click.option(
    "--hide",
    "spec",
    default="mnar:2",
    show_default=True,
    metavar="MECHANISM:AMOUNT",
    help="With --network: how cells are hidden.",
)
@solver_options
def command(
    source: str | None,
    output: Output,
    reading: Reading,
    criterion: Criterion,
    methods: str,
    truth: str | None,
    t: int,
    starts: int,
    network: str | None,
    repeat: int,
    rows: int,
    spec: str,
    search: Search,
) -> None:
    """Compare methods on one incomplete table, or on tables drawn from a network.

    Prints for each method imputation accuracy (when the truth is known), score, bound, gap and
    seconds; over several tables, means with standard errors. -o writes the rows as .json.
    """
    require_suffix(output.path, (".json",))
    chosen = _methods(methods)
    search = replace(search, t=t, starts=starts)
    if (source is None) == (network is None):
        raise OptionError("compare: expected either an incomplete table or --network, not both")
    if source is not None:
        data = load(locate(source, ".csv"), reading)
        known = load(locate(truth, ".csv"), _for_truth(reading)) if truth else None
        compared = _compare(data, known, chosen, criterion, search, output)
        record: Mapping[str, Any] = {"rows": [asdict(row) for row in compared]}
        table = plain_table(_HEAD, map(_cells, compared), right=_HEAD[2:])
    else:
        assert network is not None
        tables = [
            _compare(data, full, chosen, criterion, replace(search, seed=seed), output)
            for seed in range(search.seed, search.seed + repeat)
            for data, full in [_drawn(read_bif(locate(network, ".bif")), rows, spec, seed)]
        ]
        record = {"rows": _means(tables)}
        table = plain_table(_MEAN_HEAD, map(_mean_cells, record["rows"]), right=_MEAN_HEAD[1:])
    if output.path is not None:
        write_json(record, output.path)
        output.wrote(output.path)
    output.answer(record, table)


_HEAD = ("method", "status", "accuracy", "score", "bound", "gap", "seconds")
_MEAN_HEAD = ("method", "tables", "proven", "accuracy", "score", "gap", "seconds")


def _methods(told: str) -> list[MethodName]:
    chosen: list[MethodName] = []
    for name in (part.strip() for part in told.split(",")):
        known = next((method for method in METHODS if method == name), None)
        if known is None:
            raise OptionError(f"--methods: no method {name!r}{suggestion(name, METHODS)}")
        if known not in chosen:
            chosen.append(known)
    return chosen


def _for_truth(reading: Reading) -> Reading:
    """Read the truth like the data: a state that only a hidden cell had is welcome there."""
    return replace(reading, states={})


def _drawn(network: BayesianNetwork, rows: int, spec: str, seed: int) -> tuple[Dataset, Dataset]:
    """Return an incomplete table and its truth, the same as 'simulate' draws with the seed."""
    rng = np.random.default_rng(seed)
    full = network.sample(rows, rng)
    return hide(full, spec, rng), full


def _compare(
    data: Dataset,
    truth: Dataset | None,
    methods: Sequence[MethodName],
    criterion: Criterion,
    search: Search,
    output: Output,
) -> list[Comparison]:
    compared = []
    for method in methods:
        task = f"{method}, seed {search.seed}"
        with Narration(task, quiet=output.quiet, verbose=output.verbose) as narration:
            learned = learn_incomplete(data, criterion, replace(search, method=method), narration)
        if learned.status == "interrupted":
            raise KeyboardInterrupt
        compared.append(Comparison.of(data, learned, truth))
    return compared


def _means(tables: Sequence[Sequence[Comparison]]) -> list[dict[str, Any]]:
    """Return one row per method: means over the tables with their standard errors."""
    rows = []
    for of_method in zip(*tables, strict=True):
        row: dict[str, Any] = {
            "method": of_method[0].method,
            "tables": len(of_method),
            "proven": sum(c.status in ("optimal", "t-local") for c in of_method),
        }
        for key in ("accuracy", "score", "bound", "gap", "seconds"):
            mean = Mean.of(getattr(c, key) for c in of_method)
            row |= {key: mean.value, f"{key}_error": mean.error}
        rows.append(row)
    return rows


def _cells(row: Comparison) -> tuple[str, ...]:
    return (
        row.method,
        row.status,
        percent(row.accuracy),
        number(row.score),
        number(row.bound),
        percent(row.gap),
        number(row.seconds, 2),
    )


def _mean_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    def with_error(key: str, told: Any) -> str:
        error = told(row[f"{key}_error"])
        return f"{told(row[key])} ± {error}" if error else told(row[key])

    return (
        row["method"],
        str(row["tables"]),
        str(row["proven"]),
        with_error("accuracy", percent),
        with_error("score", lambda x: number(x, 2)),
        with_error("gap", percent),
        with_error("seconds", lambda x: number(x, 2)),
    )
