"""``exactlearn solve``: the optimal network of a table, or of given local scores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from exactlearn._runtime import cluster as clusters
from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn._runtime.files import read_text
from exactlearn.commands.declarations import Solve
from exactlearn.commands.large_tables import load_merged, place
from exactlearn.commands.learned import Artifacts, Learned, concluded, run_search, writable
from exactlearn.commands.output import Answer, Output, require_parent, worst
from exactlearn.commands.pipeline import (
    constraints,
    directions,
    score_of,
    scoring,
    with_chosen_ess,
)
from exactlearn.commands.sections import CLASS_SEARCHES
from exactlearn.commands.several import bootstrap_record, classes_record, networks_record
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.formats.graph_file import read_graph
from exactlearn.formats.scores import is_score_file, read_scores
from exactlearn.graphs.equivalence import PartiallyDirectedGraph
from exactlearn.graphs.orientation import oriented_class
from exactlearn.reporting.records import learning_record
from exactlearn.solvers import Result
from exactlearn.solvers.enumeration.networks import Enumeration
from exactlearn.structure.equivalence_search import EquivalenceSearch, equivalence_search
from exactlearn.structure.selection import Scored, select

GOES_ON = ("optimal", "feasible", "heuristic")
"""How a search ends after which a bootstrap may begin."""


def run(options: Solve, output: Output) -> Answer:
    """Run the command."""
    path = place(options.source)
    has_scores = is_score_file(path)
    writable(output, with_data=not has_scores, completes=False)
    _check(options, output, has_scores=has_scores)
    found: list[Enumeration] = []
    sampled: dict[str, Any] = {}
    with output.progress_display(f"reading {path.name}") as display:
        task = (_of_scores if has_scores else _of_table)(path, options, output, display.stage)

        def artifacts(learned: Learned) -> Artifacts:
            assert learned.parents is not None
            record = learning_record(task.names, learned, directions(options, task.names))
            record |= task.record
            if options.certificate is not None and isinstance(learned, Result):
                record["certificate"] = learned.certificate and str(options.certificate)
                record["certificate_unfinished"] = not learned.is_certified
            if isinstance(learned, EquivalenceSearch):
                record |= classes_record(task.names, learned)
            for listed in found:
                record |= networks_record(options, task.names, listed, from_data=not has_scores)
            record |= {"bootstrap": sampled} if sampled else {}
            return replace(task.artifacts, parents=learned.parents, record=record)

        display.stage("solving")

        def learn(on_event: OnEvent) -> Learned:
            result, listed = task.learn(on_event)
            found.extend([listed] if listed else [])
            return result

        result: Learned = run_search(output, display, learn, artifacts)
    also: list[Callable[[], None]] = []
    if isinstance(result, Result) and options.certificate is not None:
        also.append(partial(_write_certificate, result, options.certificate, output))
    is_cut_short = options.certificate is not None and not getattr(result, "is_certified", True)
    if options.bootstrap is not None and is_cut_short:
        output.note("The certificate is unfinished: the bootstrap is left out")
    elif options.bootstrap is not None and result.status in GOES_ON:
        assert task.artifacts.data is not None
        sampled |= bootstrap_record(options, task.artifacts.data, _learned_class, output)
    ends = [listed.status for listed in found] + [str(sampled.get("status", "done"))]
    return concluded(
        output,
        task.names,
        result,
        artifacts,
        also=also,
        ended=worst(result.status, *ends),
    )


@dataclass(frozen=True, kw_only=True)
class _Task:
    """What is to be learned.

    Parameters
    ----------
    learn
        Searches, and reports events; returns the list of networks, too, where one is wanted.
    artifacts
        What is written of an answer, but for the answer.
    record
        What the record says besides the answer.
    """

    learn: Callable[[OnEvent], tuple[Learned, Enumeration | None]]
    artifacts: Artifacts
    record: dict[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.artifacts.names


def _of_scores(path: Path, options: Solve, output: Output, stage: Callable[[str], None]) -> _Task:
    problem = read_scores(path)
    problem = replace(problem, **constraints(options, problem.names))
    text = read_text(path) if options.certificate is not None else None
    return _selection(Scored(problem=problem), options, output, options.time_limit, scores=text)


def _of_table(path: Path, options: Solve, output: Output, stage: Callable[[str], None]) -> _Task:
    with clusters.running(options.cluster) as client:
        data = load_merged(options.source, options, client)
        with SearchControl().running():  # Ctrl-C ends both, and leaves a network
            options, choice = with_chosen_ess(data, options, output.note)
            if options.solver in CLASS_SEARCHES:
                return _class_search(data, options, choice)
            stage(f"scoring {data.n_variables} variables")
            scored = scoring(
                data,
                options,
                every=options.best is not None,
                counts=options.counts,
                cluster=client,
            ).within(options.time_limit)
    counts = None if data.is_complete else options.counts
    record = choice if counts is None else choice | {"counts": counts}
    limit = scored.time_left
    return _selection(scored, options, output, limit, data=data, counts=counts, record=record)


def _selection(
    scored: Scored,
    options: Solve,
    output: Output,
    time_limit: float | None,
    *,
    data: Dataset | None = None,
    counts: Any = None,
    record: dict[str, Any] | None = None,
    scores: str | None = None,
) -> _Task:
    """Return the selection of parent sets that were scored."""
    problem = scored.problem
    for remark in scored.remarks:
        output.note(remark[0].upper() + remark[1:])
    output.detail(
        f"{problem.n_candidates} candidate parent sets of {problem.n_variables} variables"
    )
    keywords: dict[str, Any] = {
        "best": options.best,
        "classes": options.classes,
        "solver": options.solver,
        "time_limit": time_limit,
        "seed": options.seed,
        "threads": options.threads,
        "gap": options.gap,
        "checkpoint": options.checkpoint,
        # Of a table whose scoring was stopped, a proof would be about the sets that were scored.
        "certify": options.certificate is not None and not problem.stopped,
        "scores": scores,
    }
    if options.start is not None:
        keywords["start"] = read_graph(options.start, problem.names).parents
    artifacts = Artifacts(problem.names, (), {}, data, options.smoothing, counts)

    def learn(on_event: OnEvent) -> tuple[Learned, Enumeration | None]:
        return select(scored, on_event=on_event, **keywords)

    return _Task(learn=learn, artifacts=artifacts, record=record or {})


def _class_search(data: Dataset, options: Solve, choice: dict[str, Any]) -> _Task:
    """Return a search over equivalence classes of a complete table."""
    if not data.is_complete:
        raise DataError(
            f"{options.source}: {len(data.missing_cells)} cells are missing, but --solver "
            f"{options.solver} needs complete data; 'exactlearn solve' without it, 'augment' and "
            "'impute' learn from missing cells"
        )

    def learn(on_event: OnEvent) -> tuple[Learned, None]:
        more: dict[str, Any] = {"threads": options.threads, "cluster": options.cluster}
        return _search_classes(data, options, on_event=on_event, **more), None

    artifacts = Artifacts(data.names, (), {}, data, options.smoothing)
    return _Task(learn=learn, artifacts=artifacts, record=choice)


def _search_classes(data: Dataset, options: Solve, **more: Any) -> EquivalenceSearch:
    return equivalence_search(
        data,
        score_of(options),
        method="ges" if options.solver == "ges" else "kes",
        max_parents=options.most_parents,
        time_limit=options.time_limit,
        seed=options.seed,
        **more,
    )


def _learned_class(options: Solve, data: Dataset) -> PartiallyDirectedGraph:
    """Return the class of what the command learns, with the arcs that constraints direct."""
    options = replace(options, time_limit=SearchControl.within().remaining)
    if options.solver in CLASS_SEARCHES:
        parents = _search_classes(data, options).parents
    else:
        scored = scoring(data, options, counts=options.counts).within(options.time_limit)
        how: dict[str, Any] = {"solver": options.solver, "seed": options.seed}
        parents = select(scored, time_limit=scored.time_left, **how)[0].parents
    return oriented_class(parents or (), directions(options, data.names))


def _write_certificate(result: Result, path: Path, output: Output) -> None:
    if result.certificate is None:
        output.note(f"No certificate: {result.message or 'the solver gave none'}")
        return
    result.certificate.write(path)
    output.wrote(path)
    if not result.is_certified:
        output.note(f"Certificate unfinished: it proves the bound {result.certificate.bound}")


_OF_TABLES = ("criterion", "ess", "max_parents", "scoring_time", "counts", "bootstrap")
"""Options for which the rows of a table are needed."""


def _check(options: Solve, output: Output, *, has_scores: bool) -> None:
    """Refuse, before any work is done, options that do not go with the input or the output."""
    for name in _OF_TABLES if has_scores else ():
        if options.is_given(name):
            flag = f"--{name.replace('_', '-')}"
            raise OptionError(f"{flag} is for a table, but scores were given; leave it out")
    if options.solver in CLASS_SEARCHES and has_scores:
        raise OptionError(
            f"--solver {options.solver} counts families as it meets them: give it a table of data, "
            "or take another solver"
        )
    if options.certificate is not None:
        require_parent(options.certificate, "--certificate")
