"""``exactlearn solve``: the optimal network of a table, or of given local scores.

The steps are those of :func:`exactlearn.learn`: the score, the candidate parent sets, the choice
among these (:mod:`exactlearn.structure.selection`), the parameters.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import exactlearn as el
from exactlearn._runtime import executors
from exactlearn._runtime.control import Event, OnEvent, SearchControl
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
from exactlearn.structure.ess_choice import with_named_score
from exactlearn.structure.prior import with_prior
from exactlearn.structure.selection import Scored, Scoring, fitted_network, select

_MEANINGS = {
    "bdeu": "difference of the log marginal likelihoods under BDeu",
    "bic": "difference of BIC, which approximates the log Bayes factor for many rows",
}
"""Meaning of the differences of scores, by the score of a table."""

_NEED_ROWS = (
    *("criterion", "ess", "max_parents", "scoring_time", "counts", "bootstrap"),
    "smoothing",
    *Reading.known(),
)
"""Options that have no meaning for given local scores."""


@dataclass(frozen=True, kw_only=True)
class _Task:
    """A network to be learned, once its parent sets are scored.

    Parameters
    ----------
    options
        Those of the command.
    names
        Names of the variables.
    clock
        The time limit, since the input was read.
    scored
        The parent sets; ``None`` where equivalence classes are searched.
    scoring
        The table and the score; ``None`` where local scores were given.
    network
        Returns the network with some parents, where there are data for its parameters.
    record
        Keys of the record beside those of the answer.
    """

    options: Solve
    names: tuple[str, ...]
    clock: SearchControl
    scored: Scored | None = None
    scoring: Scoring | None = None
    network: Callable[..., el.BayesianNetwork | None] = lambda parents: None
    record: Mapping[str, Any] = field(default_factory=dict)

    def search(
        self, on_event: OnEvent
    ) -> tuple[Result | EquivalenceSearch, Enumeration | None]:
        """Search; return the answer, and the list of networks where one is wanted."""
        options = self.options
        if self.scored is None:
            return self._search_classes(on_event), None
        keywords: dict[str, Any] = {}
        if options.start is not None:
            keywords["start"] = el.read_graph(options.start, self.names).parents
        if options.certificate is not None:
            # Where not all parent sets were scored, a proof would be about those that were.
            keywords["certify"] = self.scored.problem.complete
            if self.scoring is None:
                keywords["scores"] = read_text(place(options.source))
        return select(
            self.scored,
            on_event=on_event,
            time_limit=self.scored.time_left,
            **options.chosen("best classes solver seed threads gap checkpoint"),
            **keywords,
        )

    def _search_classes(self, on_event: OnEvent) -> EquivalenceSearch:
        """Search among the equivalence classes of a complete table."""
        options = self.options
        assert self.scoring is not None
        data = self.scoring.dataset
        # Its score of a class holds for complete rows alone.
        if not data.is_complete:
            raise DataError(
                f"{options.source}: {len(data.missing_cells)} cells are missing, but --solver "
                f"{options.solver} needs complete data; 'exactlearn solve' without it, 'augment' "
                "and 'impute' learn from missing cells"
            )
        return el.equivalence_search(
            data,
            self.scoring.score,
            method="ges" if options.solver == "ges" else "kes",
            max_parents=options.most_parents,
            time_limit=self.clock.remaining,
            on_event=on_event,
            **options.chosen("seed greediness restarts"),
        )

    def artifacts(
        self, learned: Result | EquivalenceSearch | Event, **added: Any
    ) -> outcome.Artifacts:
        """Return the record of an answer, with more keys, and its files."""
        directions = () if self.scored is None else self.scored.directions
        record = learning_record(self.names, learned, directions)
        if learned.parents is None:
            return outcome.Artifacts(self.names, (), record)
        network = partial(self.network, learned.parents)
        record |= {**self.record, **added}
        return outcome.Artifacts(self.names, learned.parents, record, network)


def run(options: Solve, output: Output) -> Answer:
    """Run the command."""
    # What cannot be honoured is refused before any work.
    path = place(options.source)
    has_scores = is_score_file(path)
    if has_scores:
        _check_with_scores(options, output)
    outcome.require_writable(output, (*NETWORKS, ".json", *FIGURES))
    if options.certificate is not None:
        require_parent(options.certificate, "--certificate")

    # The search; each incumbent is written as soon as it is found.
    with output.progress_display(f"reading {path.name}") as display:
        if has_scores:
            task = _of_scores(path, options, output)
        else:
            task = _of_table(options, output, display.stage)
        display.stage("solving")
        learned, listed = task.search(outcome.keeping(display, task.artifacts))

    # What was asked for beside the network, and how each part ended.
    added: dict[str, Any] = {}
    statuses: list[str] = [learned.status]
    writers: list[Callable[[], None]] = []
    if isinstance(learned, EquivalenceSearch):
        added |= _classes_record(task.names, learned)
    elif options.certificate is not None:
        added["certificate"] = learned.certificate and str(options.certificate)
        added["certificate_unfinished"] = not learned.is_certified
        writers.append(partial(_write_certificate, learned, options, output))
    if listed is not None and listed.networks:
        added |= _networks_record(task, listed)
        statuses.append(listed.status)
    if options.bootstrap is not None and _goes_on(learned, options, output):
        added["bootstrap"] = _bootstrap_record(task, output)
        statuses.append(added["bootstrap"]["status"])
    artifacts = task.artifacts(learned, **added)
    return outcome.learned_answer(learned, artifacts, output, worst(*statuses), writers)


def _of_scores(path: Path, options: Solve, output: Output) -> _Task:
    """Return the task of a file of local scores."""
    problem = el.read_scores(path)
    problem = replace(problem, **pipeline.constraints(options, problem.names))
    problem = with_prior(problem, pipeline.prior_of(options.prior))
    scored = Scored(problem=problem, time_left=options.time_limit)
    _report(scored, output)
    clock = SearchControl(options.time_limit)
    return _Task(options=options, names=problem.names, clock=clock, scored=scored)


def _of_table(options: Solve, output: Output, stage: Callable[[str], None]) -> _Task:
    """Return the task of a table: its score is chosen, and its parent sets are scored."""
    scored = None
    with executors.running(options.cluster) as client:
        data = load_merged(options.source, options, client)
        clock = SearchControl(options.time_limit)
        scoring = Scoring(
            dataset=data,
            score=el.BDeu(),
            max_parents=options.most_parents,
            every=options.best is not None,
            prior=pipeline.prior_of(options.prior),
            cluster=client,
            **options.chosen("counts scoring_time seed"),
            **pipeline.constraints(options, data.names),
        )
        with SearchControl().running():  # Ctrl-C ends both, and leaves a network
            scoring, choice = with_named_score(
                scoring,
                options.criterion,
                **options.chosen("ess size_weight time_limit"),
            )
            if choice is not None:
                output.note(choice.reason)
            if options.solver not in CLASS_SEARCHES:
                stage(f"scoring {data.n_variables} variables")
                scored = scoring.within(clock.remaining)
                _report(scored, output)
    record: dict[str, Any] = {} if choice is None else {"ess": choice.to_dict()}
    if not data.is_complete:
        record["counts"] = options.counts
    fit = partial(_fitted, data, options, clock, output)
    return _Task(
        options=options,
        names=data.names,
        clock=clock,
        scored=scored,
        scoring=scoring,
        network=lru_cache(1)(fit),  # EM once for an incumbent that is the answer
        record=record,
    )


def _report(scored: Scored, output: Output) -> None:
    """Print how parent sets were scored."""
    for remark in scored.remarks:
        output.note(remark[0].upper() + remark[1:])
    output.detail(f"{scored.problem.n_candidates} candidate parent sets")


def _fitted(
    data: el.Dataset, options: Solve, clock: SearchControl, output: Output, parents: Any
) -> el.BayesianNetwork:
    """Return the network with its parameters, by EM in the time that is left."""
    # A bootstrap takes the time limit again.
    limit = clock.left + LATE if options.bootstrap is None else None
    network, remark = fitted_network(
        data, parents, time_limit=limit, **options.chosen("smoothing counts")
    )
    if remark:
        output.note(remark)
    return network


def _networks_record(task: _Task, listed: Enumeration) -> dict[str, Any]:
    """Return the keys that a list of networks or classes adds to the record of the best one."""
    # The networks by falling score, compared with the best one.
    best = listed.networks[0].score
    networks = []
    for network in listed.networks:
        record = {
            "score": network.score,
            "log_bayes_factor": network.score - best,
            "parents": named_parents(task.names, network.parents),
        }
        if task.options.classes:
            record |= _class_record(task.names, cpdag(network.parents))
        networks.append(record)
    meaning = "difference of scores"
    if task.scoring is not None:
        meaning = _MEANINGS.get(task.options.criterion, meaning)
    return {
        "networks": networks,
        "bayes_factor": meaning,
        "complete": listed.complete,
        "next_bound": listed.bound,
        "ties": listed.ties,
        "support": support_records(task.names, listed.networks),
    }


def _classes_record(
    names: tuple[str, ...], search: EquivalenceSearch
) -> dict[str, Any]:
    """Return the keys that a search over equivalence classes adds to that of the best network."""
    classes = [
        {"score": score, "starts": starts, **_class_record(names, graph)}
        for graph, score, starts in search.classes
    ]
    return {
        "method": search.method,
        "scores": search.scores,
        "steps": search.steps,
        "sets": search.sets,
        "classes": classes,
    }


def _class_record(
    names: tuple[str, ...], graph: PartiallyDirectedGraph
) -> dict[str, Any]:
    """Return the CPDAG of a class, and how many networks are in it."""
    return {**cpdag_record(names, graph), "size": graph.size}


def _goes_on(
    learned: Result | EquivalenceSearch, options: Solve, output: Output
) -> bool:
    """Return whether a bootstrap follows a search: not an interrupted one, or its certificate."""
    is_certified = isinstance(learned, Result) and learned.is_certified
    if options.certificate is not None and not is_certified:
        output.note("The certificate is unfinished: the bootstrap is left out")
        return False
    return learned.status in ("optimal", "feasible", "heuristic")


def _bootstrap_record(task: _Task, output: Output) -> dict[str, Any]:
    """Learn from bootstrap samples as from the table; return the record."""
    options = task.options
    scoring = task.scoring
    assert scoring is not None
    assert options.bootstrap is not None
    with output.progress_display("bootstrap"), SearchControl().running() as control:
        bootstrap = el.bootstrap(
            scoring.dataset,
            options.bootstrap,
            folder=output.folder,
            on_begin=output.detail,
            missing=options.counts,
            **options.chosen("cluster time_limit solver"),
            **scoring.keywords,
        )
    # Failed replicates are done, too: only a limit leaves the record unfinished.
    n_done = bootstrap.replicates + len(bootstrap.failures)
    status = "done"
    if control.is_stopped:
        status = "interrupted"
    elif n_done < bootstrap.wanted or bootstrap.unfinished > 0:
        status = "feasible"
    return {"status": status, **bootstrap.to_dict(), "arcs": bootstrap.to_records()}


def _write_certificate(result: Result, options: Solve, output: Output) -> None:
    """Write the proof of a result, or say why there is none."""
    if result.certificate is None:
        output.note(f"No certificate: {result.message or 'the solver gave none'}")
        return
    assert options.certificate is not None
    result.certificate.write(options.certificate)
    output.wrote(options.certificate)
    if not result.is_certified:
        bound = result.certificate.bound
        output.note(f"Certificate unfinished: it proves the bound {bound}")


def _check_with_scores(options: Solve, output: Output) -> None:
    """Refuse options for which the rows of a table are needed."""
    fields = options.known()
    given = [flags_of(fields[name])[0] for name in _NEED_ROWS if options.is_given(name)]
    if options.solver in CLASS_SEARCHES:
        given.append(f"--solver {options.solver}")
    if given:
        raise OptionError(
            f"{given[0]} is for a table, but scores were given; leave it out"
        )
    # A network has parameters, which local scores do not determine.
    if output.path is not None and suffix_of(output.path) in NETWORKS:
        raise OptionError(
            f"--output {output.path}: parameters need data, but only scores were given; write "
            ".json or .svg, and estimate the parameters with 'exactlearn fit RESULT.json DATA.csv'"
        )
