"""What ``exactlearn solve`` does."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from exactlearn._runtime.files import suffix_of
from exactlearn.commands._k_best import (
    enumerated,
    k_best_record,
    k_best_tables,
    support_writers,
)
from exactlearn.commands.artifacts import Artifacts, writable, write_trace_in, write_trace_to
from exactlearn.commands.output import Output, is_folder
from exactlearn.commands.pipeline import (
    Scored,
    constraints,
    learn_complete,
    load,
    scored_problem,
)
from exactlearn.commands.runs import Criterion, Reading, Search
from exactlearn.commands.search import conclude, run_shown_search
from exactlearn.commands.solve import KBest, SolveSettings
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.formats.models import read_parents
from exactlearn.formats.score_table import writable_problem
from exactlearn.formats.scores import is_score_file, read_scores, score_text, written_suffixes
from exactlearn.instances import locate
from exactlearn.reporting.report import Learned, learning_record, learning_tables
from exactlearn.solvers import Result
from exactlearn.solvers.enumeration.networks import Enumeration
from exactlearn.solvers.result import OnEvent


def run(
    source: str,
    output: Output,
    reading: Reading,
    criterion: Criterion,
    search: Search,
    settings: SolveSettings,
    k_best: KBest,
    smoothing: float,
) -> None:
    """Run the command with its options, of which :mod:`exactlearn.commands.solve` tells."""
    path = locate(source, ".csv")
    writable(output, with_data=not is_score_file(path), completes=False)
    settings.require_writable()
    with output.progress_display(f"reading {path.name}") as display:
        data, scored = _read(path, source, criterion, reading, search, display.stage, k_best.wanted)
        problem = scored.problem
        more = solver_keywords(settings, problem.names)
        if settings.certificate is not None and data is None:
            more["scores"] = score_text(path)
        if problem.stopped:  # a proof would be one about the parent sets that were scored
            more.pop("certify", None)
        if output.path is not None and suffix_of(output.path) in written_suffixes():
            writable_problem(problem)
        output.detail(
            f"{problem.n_candidates} candidate parent sets of {problem.n_variables} variables"
        )
        listed: list[Enumeration] = []

        def artifacts(learned: Learned) -> Artifacts:
            assert learned.parents is not None
            record = learning_record(problem.names, learned)
            if settings.certificate is not None and isinstance(learned, Result):
                record["certificate"] = learned.certificate and str(settings.certificate)
            for found in listed:
                record |= k_best_record(k_best, problem, found, from_data=data is not None)
            return Artifacts(
                problem.names, learned.parents, record, data, lambda: problem, smoothing
            )

        display.stage("solving")

        def learn(on_event: OnEvent) -> Result:
            left, told = scored.search, scored.told(on_event)
            if not k_best.wanted:
                return scored.judged(learn_complete(problem, left, told, **more))
            found = enumerated(k_best, problem, left, told, **more)
            best = scored.judged(found.best)
            if problem.stopped:
                found = replace(found, best=best, status=best.status, bound=inf)
            listed.append(found)
            return best

        result = run_shown_search(output, display, learn, artifacts)
    also = _also(result, settings, output)
    for found in listed:
        also += support_writers(k_best, problem, found, output)
    conclude(
        output,
        problem.names,
        result,
        artifacts,
        completed=False,
        tables=partial(k_best_tables, k_best) if listed else learning_tables,
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


def _also(result: Result, settings: SolveSettings, output: Output) -> list[Callable[[], None]]:
    """Return what writes the proof and the trace, where they are wanted."""
    steps: list[Callable[[], None]] = []
    if settings.certificate is not None:
        steps.append(partial(_write_certificate, result, settings.certificate, output))
    if settings.trace is not None:
        steps.append(partial(write_trace_to, result, settings.trace, output))
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


def solver_keywords(settings: SolveSettings, names: Sequence[str]) -> dict[str, Any]:
    """Return the keywords of :func:`exactlearn.solvers.solve` that the options set.

    Raises
    ------
    OptionError
        When the start cannot be read, or has other variables.
    FormatError
        When the start does not follow its format.
    """
    asked: dict[str, Any] = {"gap": settings.gap}
    if settings.start is not None:
        asked["start"] = read_parents(locate(settings.start, ".bif"), names)
    if settings.memory_limit is not None:
        asked["memory_limit"] = settings.memory_limit
    if settings.threads is not None:
        asked["threads"] = settings.threads
    if settings.certificate is not None:
        asked["certify"] = True
    return asked
