"""``exactlearn solve``: the optimal network of complete data, or of given local scores."""

from dataclasses import replace

import click

from exactlearn.commands.findings import Findings, writable
from exactlearn.commands.learned import conclude, searched
from exactlearn.commands.options import (
    criterion_options,
    output_options,
    reading_options,
    smoothing_option,
    solver_options,
)
from exactlearn.commands.output import Output
from exactlearn.data import Dataset
from exactlearn.errors import DataError
from exactlearn.formats.jkl import read_jkl
from exactlearn.formats.text_file import suffix_of
from exactlearn.instances import locate
from exactlearn.pipeline import constraints, learn_complete, learning_problem, load
from exactlearn.report import Learned, learning_record
from exactlearn.runs import Criterion, Reading, Search


@click.command("solve")
@click.argument("source", metavar="DATA.csv|SCORES.jkl")
@output_options
@reading_options
@criterion_options
@solver_options
@smoothing_option
def command(
    source: str,
    output: Output,
    reading: Reading,
    criterion: Criterion,
    search: Search,
    smoothing: float,
) -> None:
    """Learn the network that provably maximises the score of complete data.

    The input is a table, the name of a bundled one, or a file of local scores (.jkl). -o writes
    the network (.bif), the record (.json), the scores (.jkl), a figure (.svg, .png, .pdf, .dot),
    or all of them into a folder.
    """
    path = locate(source, ".csv")
    scored = suffix_of(path) == ".jkl"
    writable(output, with_data=not scored, completes=False)
    output.note_compiling()
    data = None if scored else _complete(load(path, reading), source)
    if data is None:
        problem = read_jkl(path)
        problem = replace(problem, **constraints(search, problem.names))
    else:
        problem = learning_problem(data, criterion, search)
    output.detail(
        f"{problem.n_candidates} candidate parent sets of {problem.n_variables} variables"
    )

    def findings(learned: Learned) -> Findings:
        assert learned.parents is not None
        record = learning_record(problem.names, learned)
        return Findings(problem.names, learned.parents, record, data, lambda: problem, smoothing)

    result = searched(
        output, "solving", lambda told: learn_complete(problem, search, told), findings
    )
    conclude(output, problem.names, result, findings, completed=False)


def _complete(data: Dataset, source: str) -> Dataset:
    if data.is_complete:
        return data
    row, variable = data.missing_cells[0]
    raise DataError(
        f"{source}: {len(data.missing_cells)} cells are missing (the first: row {row}, column "
        f"{data.names[variable]!r}), but 'solve' needs complete data; learn network and missing "
        f"cells together with 'exactlearn augment {source}'"
    )
