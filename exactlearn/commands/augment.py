"""``exactlearn augment``: network and completion of incomplete data, learned together."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from exactlearn.augmentation import gadget_problem
from exactlearn.commands.alternatives import (
    Alternatives,
    alternatives_options,
    worst_end,
)
from exactlearn.commands.alternatives_tables import alternatives_tables
from exactlearn.commands.findings import Findings, require_table_names, writable, write_trace_to
from exactlearn.commands.imputing import shown
from exactlearn.commands.learned import conclude, searched
from exactlearn.commands.options import (
    incomplete_options,
    output_options,
    reading_options,
    trace_option,
)
from exactlearn.commands.output import Output, require_records
from exactlearn.commands.pipeline import arc_constraints, learn_incomplete, load, score_of
from exactlearn.commands.runs import Criterion, MethodName, Reading, Search
from exactlearn.data.dataset import Dataset
from exactlearn.instances import locate
from exactlearn.reporting.report import (
    Learned,
    completion_record,
    completion_table,
    learning_record,
    learning_tables,
    size_told,
)


@click.command("augment")
@click.argument("source", metavar="DATA.csv")
@output_options
@reading_options
@click.option(
    "--method",
    type=click.Choice(get_args(MethodName)),
    default=Search.method,
    show_default=True,
    help="How missing cells are completed.",
)
@trace_option
@alternatives_options
@incomplete_options
def command(
    source: str,
    output: Output,
    reading: Reading,
    alternatives: Alternatives,
    trace: Path | None,
    criterion: Criterion,
    search: Search,
    method: MethodName,
    smoothing: float,
) -> None:
    """Learn the network and the values of missing cells that maximise the score together.

    -o writes the completed table (.csv, .tsv), the network (.bif), the record (.json), a figure
    (.svg, .png, .pdf, .dot), the reduction to plain parent-set selection (.jkl), or all but the
    last into a folder.

    Of the constraints, arcs, --forbid-adjacent and --tiers can be honoured while cells are missing;
    the others, and --scoring-time, are for complete tables ('exactlearn solve').
    """
    writable(output, with_data=True, completes=True)
    require_records(trace, "--trace")
    data = load(locate(source, ".csv"), reading)
    require_table_names(output, data)
    search = replace(search, method=method)
    output.detail(size_told(data))
    _note_few_cells(output, data, search)
    reduction = partial(
        gadget_problem,
        data,
        score_of(criterion),
        max_parents=criterion.most_parents_among(data.n_variables),
        **arc_constraints(search, data.names),
    )

    more: dict[str, Any] = {}

    def findings(learned: Learned) -> Findings:
        assert learned.parents is not None
        record = {**learning_record(data.names, learned), **more}
        record["completion"] = completion_record(data, learned.values)
        completed = data.complete(learned.values)
        return Findings(data.names, learned.parents, record, completed, reduction, smoothing)

    start = alternatives.starting_values(data, reading)
    result = searched(
        output,
        method,
        lambda told: learn_incomplete(data, criterion, search, told, start=start),
        findings,
    )
    if result.unproven is not None:
        more["unproven"] = asdict(result.unproven)
    if result.parents is not None and result.status != "interrupted":
        with output.narration("alternatives") as narration:
            more |= alternatives.record(data, criterion, search, result, narration)
    also = [] if trace is None else [partial(write_trace_to, result, trace, output)]
    conclude(
        output,
        data.names,
        result,
        findings,
        completed=True,
        tables=_tables,
        also=also,
        ended=worst_end(result.status, more),
    )


def _note_few_cells(output: Output, data: Dataset, search: Search) -> None:
    """Tell where there is less to complete than was asked for."""
    cells = len(data.missing_cells)
    if not cells:
        output.note("No cell is missing: what is learned is the best network of the table")
    elif search.method == "t-local" and search.t > cells:
        output.note(
            f"--t {search.t}: only {cells} cells are missing, so that all completions are searched"
        )


def _tables(record: Mapping[str, Any]) -> list[Any]:
    completion = record.get("completion", [])
    if not completion:
        return [*learning_tables(record), *alternatives_tables(record)]
    cells, left = shown(completion)
    completed = ["", completion_table(cells), *left]
    return [*learning_tables(record), *completed, *alternatives_tables(record)]
