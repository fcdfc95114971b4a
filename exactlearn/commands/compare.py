"""``exactlearn compare``: methods of completing missing cells, side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, get_args

import click
import numpy as np

from exactlearn.commands.learned import leave
from exactlearn.commands.options import (
    criterion_options,
    output_options,
    reading_options,
    solver_options,
    starts_option,
    t_option,
)
from exactlearn.commands.output import Output, require_suffix
from exactlearn.data import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.evaluation.metrics import Comparison, Mean
from exactlearn.formats.bif import read_bif
from exactlearn.instances import locate
from exactlearn.missingness import hide
from exactlearn.pipeline import learn_incomplete, load, load_truth
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
@t_option
@starts_option
@click.option("--network", metavar="NETWORK.bif", help="Draw complete tables from a network.")
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
    metavar="MECHANISM:AMOUNT",
    help="Hide cells of complete tables, as 'simulate' does.  [default with --network: mnar:2]",
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="With --hide or --network: tables, with the seeds that follow --seed.",
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
    rows: int,
    spec: str | None,
    repeat: int,
    search: Search,
) -> None:
    """Compare methods on an incomplete table, or on tables in which cells are hidden.

    Give an incomplete table, with --truth if it is known; or a complete one with --hide; or a
    --network to draw from. Prints for each method imputation accuracy, score, bound, gap and
    seconds; over several tables, means with standard errors. -o writes the rows as .json.
    """
    require_suffix(output.path, (".json",))
    if (source is None) == (network is None):
        raise OptionError("compare: expected either a table or --network, not both")
    search = replace(search, t=t, starts=starts)

    def compare(pair: Pair, seed: int) -> list[Comparison]:
        return _compare(pair, chosen, criterion, replace(search, seed=seed), output)

    chosen = _methods(methods)
    output.note_compiling()
    if source is not None and spec is None:
        data = load(locate(source, ".csv"), reading)
        if data.is_complete:
            raise DataError(
                f"{source}: no cell is missing, so every method would complete it alike; hide "
                "cells with '--hide mcar:2', or learn the network with 'exactlearn solve'"
            )
        known = load_truth(locate(truth, ".csv"), reading) if truth else None
        tables = [compare((data, known), search.seed)]
        record: dict[str, Any] = {"rows": [asdict(row) for row in tables[0]]}
        table = plain_table(_HEAD, map(_cells, tables[0]), right=_HEAD[2:])
    else:
        draw = _from_network(network, rows) if network else _from_table(source or "", reading)
        seeds = range(search.seed, search.seed + repeat)
        tables = [compare(_hidden(draw, spec or "mnar:2", seed), seed) for seed in seeds]
        record = {"rows": _means(tables)}
        table = plain_table(_MEAN_HEAD, map(_mean_cells, record["rows"]), right=_MEAN_HEAD[1:])
    output.save(record)
    output.answer(record, table)
    limited = any(row.status == "feasible" for compared in tables for row in compared)
    leave("feasible" if limited else "optimal")


Pair = tuple[Dataset, Dataset | None]
"""An incomplete table, and its truth if it is known."""

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


def _from_network(name: str, rows: int) -> Callable[[np.random.Generator], Dataset]:
    network = read_bif(locate(name, ".bif"))
    return lambda rng: network.sample(rows, rng)


def _from_table(source: str, reading: Reading) -> Callable[[np.random.Generator], Dataset]:
    table = load(locate(source, ".csv"), reading)
    return lambda rng: table


def _hidden(draw: Callable[[np.random.Generator], Dataset], spec: str, seed: int) -> Pair:
    """Return an incomplete table and its truth: of a network, what 'simulate' draws."""
    rng = np.random.default_rng(seed)
    full = draw(rng)
    return hide(full, spec, rng), full


def _compare(
    pair: Pair,
    methods: Sequence[MethodName],
    criterion: Criterion,
    search: Search,
    output: Output,
) -> list[Comparison]:
    data, truth = pair
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
