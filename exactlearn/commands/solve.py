"""``exactlearn solve``: the optimal network of a table, or of given local scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import exactlearn as el
from exactlearn._runtime import executors
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.files import read_text, suffix_of
from exactlearn.commands import outcome, pipeline
from exactlearn.commands.declarations import Solve
from exactlearn.commands.declare import flags_of
from exactlearn.commands.output import LATE, Answer, Output, require_parent, worst
from exactlearn.commands.sections import CLASS_SEARCHES, Reading
from exactlearn.commands.tables import load_merged, place
from exactlearn.errors import DataError, OptionError
from exactlearn.formats.models import NETWORKS
from exactlearn.formats.scores import is_score_file
from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.partially_directed import PartiallyDirectedGraph
from exactlearn.reporting.records import cpdag_record, learning_record, support_records
from exactlearn.reporting.svg_picture import FIGURES
from exactlearn.solvers import Result
from exactlearn.solvers.enumeration import Enumeration
from exactlearn.structure.equivalence_search import EquivalenceSearch
from exactlearn.structure.selection import Scored, fitted_network, select

Search = Callable[..., tuple[outcome.Learned, Enumeration | None]]
"""Searches, given ``on_event``; returns the list of networks, too, where one is wanted."""

_MEANINGS = {
    "bdeu": "difference of the log marginal likelihoods under BDeu",
    "bic": "difference of BIC, which approximates the log Bayes factor for many rows",
}
"""What the differences of scores are, by the score of a table."""


@dataclass(frozen=True)
class _Task:
    """What is to be learned.

    Parameters
    ----------
    options
        Those of the command, with the equivalent sample size that was chosen.
    names
        Names of the variables.
    search
        Searches, and reports events; returns the list of networks, too, where one is wanted.
    network
        Returns the network with some parents, where there are data for its parameters.
    data
        The table, unless scores were given.
    record
        What the record says besides the answer.
    """

    options: Solve
    names: tuple[str, ...]
    search: Search
    network: Callable[..., el.BayesianNetwork | None] = lambda parents: None
    data: el.Dataset | None = None
    record: Mapping[str, Any] = field(default_factory=dict)

    def artifacts(self, learned: outcome.Learned, **more: Any) -> outcome.Artifacts:
        """Return what is written of an answer, with more keys of the record."""
        assert learned.parents is not None
        known = pipeline.directions(self.options, self.names)
        record = {**learning_record(self.names, learned, known), **self.record, **more}
        network = partial(self.network, learned.parents)
        return outcome.Artifacts(self.names, learned.parents, record, network)


def run(options: Solve, output: Output) -> Answer:
    """Run the command."""
    path = place(options.source)
    has_scores = is_score_file(path)
    if has_scores:
        _check_with_scores(options, output)
    outcome.require_writable(output, (*NETWORKS, ".json", *FIGURES))
    if options.certificate is not None:
        require_parent(options.certificate, "--certificate")
    with output.progress_display(f"reading {path.name}") as display:
        task = (_of_scores if has_scores else _of_table)(
            path, options, output, display.stage
        )
        display.stage("solving")
        learned, listed = task.search(on_event=outcome.keeping(display, task.artifacts))
    more, also, ends = dict[str, Any](), list[Callable[[], None]](), [learned.status]
    if isinstance(learned, EquivalenceSearch):
        more |= _classes_record(task.names, learned)
    elif isinstance(learned, Result) and options.certificate is not None:
        more["certificate"] = learned.certificate and str(options.certificate)
        more["certificate_unfinished"] = not learned.is_certified
        also.append(partial(_write_certificate, learned, options.certificate, output))
    if listed is not None and listed.networks:
        more |= _networks_record(task, listed)
        ends.append(listed.status)
    if options.bootstrap is not None and more.get("certificate_unfinished"):
        output.note("The certificate is unfinished: the bootstrap is left out")
    elif options.bootstrap is not None and learned.status in (
        "optimal",
        "feasible",
        "heuristic",
    ):
        more["bootstrap"] = _bootstrap_record(task, options.bootstrap, output)
        ends.append(more["bootstrap"]["status"])
    artifacts = partial(task.artifacts, **more)
    return outcome.concluded(
        output, task.names, learned, artifacts, also=also, ended=worst(*ends)
    )


def _of_scores(
    path: Path, options: Solve, output: Output, stage: Callable[[str], None]
) -> _Task:
    problem = el.read_scores(path)
    problem = replace(problem, **pipeline.constraints(options, problem.names))
    scored = Scored(problem=problem, time_left=options.time_limit)
    text = read_text(path) if options.certificate is not None else None
    return _Task(
        options, problem.names, _selection(scored, options, output, scores=text)
    )


def _of_table(
    path: Path, options: Solve, output: Output, stage: Callable[[str], None]
) -> _Task:
    with executors.running(options.cluster) as client:
        data = load_merged(options.source, options, client)
        clock = SearchControl(options.time_limit)
        with SearchControl().running():  # Ctrl-C ends both, and leaves a network
            options, record = pipeline.with_chosen_ess(data, options, output.note)
            if options.solver in CLASS_SEARCHES:
                search = _class_search(data, options)
            else:
                stage(f"scoring {data.n_variables} variables")
                every, counts = options.best is not None, options.counts
                how = pipeline.scoring(
                    data, options, every=every, counts=counts, cluster=client
                )
                search = _selection(how.within(options.time_limit), options, output)
    record |= {} if data.is_complete else {"counts": options.counts}
    network = lru_cache(1)(
        partial(_fitted, data, options, clock, output)
    )  # EM once for the last
    return _Task(options, data.names, search, network, data, record)


def _fitted(
    data: el.Dataset, options: Solve, clock: SearchControl, output: Output, parents: Any
) -> el.BayesianNetwork:
    """Return the network with its parameters, by EM in what is left of the time limit."""
    late = (
        clock.left + LATE if options.bootstrap is None else None
    )  # which takes it again
    how = options.chosen("smoothing counts")
    network, remark = fitted_network(data, parents, time_limit=late, **how)
    if remark:
        output.note(remark)
    return network


def _selection(
    scored: Scored, options: Solve, output: Output, **keywords: Any
) -> Search:
    """Return the selection of parent sets that were scored."""
    problem = scored.problem
    for remark in scored.remarks:
        output.note(remark[0].upper() + remark[1:])
    output.detail(f"{problem.n_candidates} candidate parent sets")
    if options.start is not None:
        keywords["start"] = el.read_graph(options.start, problem.names).parents
    return partial(
        select,
        scored,
        time_limit=scored.time_left,
        # Where not all parent sets were scored, a proof would be about those that were.
        certify=options.certificate is not None and problem.complete,
        **options.chosen("best classes solver seed threads gap checkpoint"),
        **keywords,
    )


def _class_search(data: el.Dataset, options: Solve) -> Search:
    """Return a search over equivalence classes of a complete table."""
    if not data.is_complete:
        raise DataError(
            f"{options.source}: {len(data.missing_cells)} cells are missing, but --solver "
            f"{options.solver} needs complete data; 'exactlearn solve' without it, 'augment' and "
            "'impute' learn from missing cells"
        )
    search = partial(
        el.equivalence_search,
        data,
        pipeline.score_of(options),
        method="ges" if options.solver == "ges" else "kes",
        max_parents=options.most_parents,
        **options.chosen("time_limit seed greediness restarts"),
    )
    return lambda on_event: (search(on_event=on_event), None)


def _networks_record(task: _Task, listed: Enumeration) -> dict[str, Any]:
    """Return the keys that a list of networks or classes adds to the record of the best one."""
    meanings, classes = {} if task.data is None else _MEANINGS, task.options.classes
    return {
        "networks": [
            {
                "score": network.score,
                "log_bayes_factor": network.score - listed.networks[0].score,
                "parents": named_parents(task.names, network.parents),
                **(
                    _class_record(task.names, cpdag(network.parents)) if classes else {}
                ),
            }
            for network in listed.networks
        ],
        "bayes_factor": meanings.get(task.options.criterion, "difference of scores"),
        "complete": listed.complete,
        "next_bound": listed.bound,
        "ties": listed.ties,
        "support": support_records(task.names, listed.networks),
    }


def _classes_record(names: Sequence[str], found: EquivalenceSearch) -> dict[str, Any]:
    """Return the keys that a search over equivalence classes adds to that of the best network."""
    known = {key: getattr(found, key) for key in ("method", "scores", "steps", "sets")}
    known["classes"] = [
        {"score": score, "starts": starts, **_class_record(names, graph)}
        for graph, score, starts in found.classes
    ]
    return known


def _class_record(
    names: Sequence[str], graph: PartiallyDirectedGraph
) -> dict[str, Any]:
    """Return the CPDAG of a class, and how many networks are in it."""
    return {**cpdag_record(names, graph), "size": graph.size}


def _bootstrap_record(task: _Task, replicates: int, output: Output) -> dict[str, Any]:
    """Learn from bootstrap samples as from the table; return the record."""
    options, data = task.options, task.data
    assert data is not None
    with output.progress_display("bootstrap"), SearchControl().running() as control:
        found = el.bootstrap(
            data,
            replicates,
            folder=output.folder,
            on_begin=output.detail,
            missing=options.counts,
            **options.chosen("cluster time_limit solver"),
            **pipeline.learning_options(data, options),
        )
    is_short = (
        found.replicates + len(found.failures) < found.wanted or found.unfinished > 0
    )
    status = "interrupted" if control.is_stopped else "feasible" if is_short else "done"
    return {"status": status, **found.to_dict(), "arcs": found.to_records()}


def _write_certificate(result: Result, path: Path, output: Output) -> None:
    if result.certificate is None:
        output.note(f"No certificate: {result.message or 'the solver gave none'}")
    else:
        result.certificate.write(path)
        output.wrote(path)
        if not result.is_certified:
            output.note(
                f"Certificate unfinished: it proves the bound {result.certificate.bound}"
            )


def _check_with_scores(options: Solve, output: Output) -> None:
    """Refuse options for which the rows of a table are needed."""
    of_tables = (
        *(
            "criterion",
            "ess",
            "max_parents",
            "scoring_time",
            "counts",
            "bootstrap",
            "smoothing",
        ),
        *Reading.known(),
    )
    fields = options.known()
    given = [flags_of(fields[name])[0] for name in of_tables if options.is_given(name)]
    given += [f"--solver {options.solver}"] * (options.solver in CLASS_SEARCHES)
    if given:
        raise OptionError(
            f"{given[0]} is for a table, but scores were given; leave it out"
        )
    if output.path is not None and suffix_of(output.path) in NETWORKS:
        raise OptionError(
            f"--output {output.path}: parameters need data, but only scores were given; write "
            ".json or .svg, and estimate the parameters with 'exactlearn fit RESULT.json DATA.csv'"
        )
