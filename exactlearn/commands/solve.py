"""``exactlearn solve``: the optimal network of complete data, or of given local scores."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path

import click

from exactlearn._runtime.files import suffix_of
from exactlearn.commands.findings import Findings, writable, write_trace_in, write_trace_to
from exactlearn.commands.learned import conclude, search_told
from exactlearn.commands.listing import Listing, listing_options
from exactlearn.commands.options import (
    criterion_options,
    output_options,
    reading_options,
    smoothing_option,
    solver_options,
)
from exactlearn.commands.output import Output, is_folder
from exactlearn.commands.pipeline import (
    Scored,
    constraints,
    learn_complete,
    load,
    scored_problem,
)
from exactlearn.commands.runs import Criterion, Reading, Search
from exactlearn.commands.solving import Solving, solving_options
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.formats.score_table import writable_problem
from exactlearn.formats.scores import SCORES, is_score_file, read_scores, score_text
from exactlearn.instances import locate
from exactlearn.reporting.report import Learned, learning_record, learning_tables
from exactlearn.solvers import Result
from exactlearn.solvers.enumeration.networks import Enumeration
from exactlearn.solvers.result import OnEvent


@click.command("solve")
@click.argument("source", metavar="DATA.csv|SCORES.jkl")
@output_options
@reading_options
@criterion_options
@solver_options
@solving_options
@listing_options
@smoothing_option
def command(
    source: str,
    output: Output,
    reading: Reading,
    criterion: Criterion,
    search: Search,
    solving: Solving,
    listing: Listing,
    smoothing: float,
) -> None:
    """Learn the network that maximises the score of complete data, with a proof or a bound.

    The input is a table, the name of a bundled one, or a file of local scores (.jkl, .scores,
    .parquet). -o writes the network (.bif), the record (.json), the scores (.jkl, .scores,
    .parquet), a figure (.svg, .png, .pdf, .dot), or all of them into a folder, with the trace.
    With --best, --best-classes or --within more than one network is listed, with their arcs.

    Ctrl-C and SIGTERM end the search with the best network so far (exit status 130); so do the
    limits (3).
    """
    path = locate(source, ".csv")
    writable(output, with_data=not is_score_file(path), completes=False)
    solving.require_writable()
    with output.narration(f"reading {path.name}") as narration:
        data, scored = _read(
            path, source, criterion, reading, search, narration.stage, listing.wanted
        )
        problem = scored.problem
        more = solving.options(problem.names)
        if solving.certificate is not None and data is None:
            more["scores"] = score_text(path)
        if problem.stopped:  # a proof would be one about the parent sets that were scored
            more.pop("certify", None)
        if output.path is not None and suffix_of(output.path) in SCORES:
            writable_problem(problem)
        output.detail(
            f"{problem.n_candidates} candidate parent sets of {problem.n_variables} variables"
        )
        listed: list[Enumeration] = []

        def findings(learned: Learned) -> Findings:
            assert learned.parents is not None
            record = learning_record(problem.names, learned)
            if solving.certificate is not None and isinstance(learned, Result):
                record["certificate"] = learned.certificate and str(solving.certificate)
            for found in listed:
                record |= listing.record(problem, found, from_data=data is not None)
            return Findings(
                problem.names, learned.parents, record, data, lambda: problem, smoothing
            )

        narration.stage("solving")

        def learn(on_event: OnEvent) -> Result:
            left, told = scored.search, scored.told(on_event)
            if not listing.wanted:
                return scored.judged(learn_complete(problem, left, told, **more))
            found = listing.enumerate(problem, left, told, **more)
            best = scored.judged(found.best)
            if problem.stopped:
                found = replace(found, best=best, status=best.status, bound=inf)
            listed.append(found)
            return best

        result = search_told(output, narration, learn, findings)
    also = _also(result, solving, output)
    for found in listed:
        also += listing.writers(problem, found, output)
    conclude(
        output,
        problem.names,
        result,
        findings,
        completed=False,
        tables=listing.tables if listed else learning_tables,
        also=also,
        ended=listed[0].status if listed else None,
    )


def _read(
    path: Path,
    source: str,
    criterion: Criterion,
    reading: Reading,
    search: Search,
    stage: Callable[[str], None],
    every: bool,
) -> tuple[Dataset | None, Scored]:
    """Return the data, unless only their scores are given, and the problem."""
    if is_score_file(path):
        problem = read_scores(path)
        problem = replace(problem, **constraints(search, problem.names))
        return None, Scored(problem=problem, search=search)
    data = _complete(load(path, reading), source)
    stage(f"scoring {data.n_variables} variables")
    return data, scored_problem(data, criterion, search, every=every)


def _also(result: Result, solving: Solving, output: Output) -> list[Callable[[], None]]:
    """Return what writes the proof and the trace, where they are wanted."""
    steps: list[Callable[[], None]] = []
    if solving.certificate is not None:
        steps.append(partial(_write_certificate, result, solving.certificate, output))
    if solving.trace is not None:
        steps.append(partial(write_trace_to, result, solving.trace, output))
    if output.path is not None and is_folder(output.path):
        steps.append(partial(write_trace_in, result, output.path, output))
    return steps


def _write_certificate(result: Result, path: Path, output: Output) -> None:
    if result.certificate is None:
        output.note(f"No certificate: {result.message or 'the solver gave none'}")
        return
    result.certificate.write(path)
    output.wrote(path)


def _complete(data: Dataset, source: str) -> Dataset:
    if data.is_complete:
        return data
    row, variable = data.missing_cells[0]
    raise DataError(
        f"{source}: {len(data.missing_cells)} cells are missing (the first: row {row}, column "
        f"{data.names[variable]!r}), but 'solve' needs complete data; learn network and missing "
        f"cells together with 'exactlearn augment {source}'"
    )
