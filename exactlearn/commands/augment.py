"""``exactlearn augment``: network and completion of incomplete data, learned together."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from exactlearn.augmentation import gadget_problem
from exactlearn.commands.alternatives import (
    alternatives_record,
    alternatives_tables,
    starting_values,
    worst_end,
)
from exactlearn.commands.artifacts import Artifacts, require_table_names, writable, write_records
from exactlearn.commands.declarations import Augment
from exactlearn.commands.output import Output, require_records
from exactlearn.commands.pipeline import arc_constraints, learn_incomplete, load, score_of
from exactlearn.commands.search import conclude, run_search
from exactlearn.data.dataset import Dataset
from exactlearn.instances import locate
from exactlearn.reporting.report import (
    Learned,
    completion_record,
    completion_table,
    learning_record,
    learning_tables,
    shown_cells,
    size_told,
)
from exactlearn.reporting.trace import write_trace


def run(options: Augment, output: Output) -> None:
    """Run the command."""
    writable(output, with_data=True, completes=True)
    require_records(options.trace, "--trace")
    data = load(locate(options.source, ".csv"), options)
    require_table_names(output, data)
    output.detail(size_told(data))
    _note_few_cells(output, data, options)
    reduction = partial(
        gadget_problem,
        data,
        score_of(options),
        max_parents=options.most_parents_among(data.n_variables),
        **arc_constraints(options, data.names),
    )

    more: dict[str, Any] = {}

    def artifacts(learned: Learned) -> Artifacts:
        assert learned.parents is not None
        record = {**learning_record(data.names, learned), **more}
        record["completion"] = completion_record(data, learned.values)
        completed = data.complete(learned.values)
        return Artifacts(
            data.names, learned.parents, record, completed, reduction, options.smoothing
        )

    start = starting_values(options.start, data, options)
    result = run_search(
        output,
        options.method,
        lambda told: learn_incomplete(data, options, options, told, start=start),
        artifacts,
    )
    if result.unproven is not None:
        more["unproven"] = asdict(result.unproven)
    if result.parents is not None and result.status != "interrupted":
        with output.progress_display("alternatives") as display:
            more |= alternatives_record(options, data, result, display)
    conclude(
        output,
        data.names,
        result,
        artifacts,
        tables=_tables,
        also=[partial(write_records, partial(write_trace, result), options.trace, output)],
        ended=worst_end(result.status, more),
    )


def _note_few_cells(output: Output, data: Dataset, search: Augment) -> None:
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
    cells, left = shown_cells(completion)
    completed = ["", completion_table(cells), *left]
    return [*learning_tables(record), *completed, *alternatives_tables(record)]
