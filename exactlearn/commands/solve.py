"""``exactlearn solve``: the optimal network of a table, or of given local scores.

The structure is learned as by :func:`exactlearn.learn`
(:mod:`exactlearn.structure.structure_search`); this module shows all that the search found.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import exactlearn as el
from exactlearn._runtime import executors
from exactlearn._runtime.control import Event, SearchControl
from exactlearn._runtime.files import read_text, suffix_of
from exactlearn.commands import outcome, pipeline
from exactlearn.commands.declarations import Solve
from exactlearn.commands.output import (
    LATE,
    Answer,
    Output,
    ProgressDisplay,
    require_parent,
    worst,
)
from exactlearn.commands.sections import CLASS_SEARCHES
from exactlearn.commands.tables import load_merged, place
from exactlearn.errors import DataError, OptionError, SolverError, TooLargeError
from exactlearn.formats.models import NETWORKS
from exactlearn.formats.scores import is_score_file
from exactlearn.graphs.dag import named_parents
from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.orientation import known_directions
from exactlearn.graphs.partially_directed import Parents, PartiallyDirectedGraph
from exactlearn.reporting.records import cpdag_record, learning_record, support_records
from exactlearn.reporting.svg_picture import FIGURES
from exactlearn.scoring.prior import is_uniform, with_prior
from exactlearn.solvers import Result
from exactlearn.solvers.constraints import ruled_out_arcs
from exactlearn.solvers.enumeration import Enumeration
from exactlearn.solvers.problem import Arc
from exactlearn.structure.bounded_cliques import BoundedCliques
from exactlearn.structure.equivalence_search import EquivalenceSearch
from exactlearn.structure.network_price import SearchResult
from exactlearn.structure.posterior import (
    COUNTS,
    posterior_of_structure,
    unlisted_parent_sets,
)
from exactlearn.structure.selection import Scored, Scoring, fitted_network
from exactlearn.structure.structure_posterior import StructurePosterior
from exactlearn.structure.structure_search import LearnedStructure, learned_structure

_MEANINGS = {
    "bdeu": "difference of the log marginal likelihoods under BDeu",
    "bic": "difference of BIC, which approximates the log Bayes factor for many rows",
}
"""Meaning of the differences of scores, by the score of a table."""

MAX_QUICK_SUMS = 16
"""Most variables whose networks are summed unasked: 12 take .05 CPU seconds, 16 take .9. Above 8,
the first sums of all compile kernels for 3.6 CPU seconds."""


@dataclass(frozen=True, kw_only=True)
class _Task:
    """A network to be learned, from a table or from given local scores.

    Parameters
    ----------
    options, output
        Those of the command.
    source
        The table and its constraints, or the given scores.
    clock
        The time limit, since the input was read.
    record
        Keys of the record beside those of the answer.
    """

    options: Solve
    output: Output
    source: Scoring | el.Problem
    clock: SearchControl
    record: dict[str, Any]

    @property
    def data(self) -> el.Dataset | None:
        """The table, if there is one."""
        return self.source.dataset if isinstance(self.source, Scoring) else None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.source.names

    @cached_property
    def directions(self) -> frozenset[Arc]:
        """Directions that the constraints leave to adjacencies, by index."""
        ruled_out = ruled_out_arcs(self.source.forbidden, self.source.constraints)
        return known_directions(self.source.required, ruled_out)

    def learned(self, display: ProgressDisplay) -> LearnedStructure:
        """Search; each incumbent is written as soon as it is found."""
        options = self.options
        search: dict[str, Any] = options.chosen("seed")
        if options.solver in CLASS_SEARCHES:
            search |= options.chosen("greediness restarts") | {"method": options.solver}
        else:
            search |= options.chosen(
                "best classes solver threads gap checkpoint max_clique"
            )
        if options.start is not None:
            search["start"] = el.read_graph(options.start, self.names).parents
        if options.certificate is not None:
            search["certify"] = True
            if self.data is None:
                search["scores"] = read_text(place(options.source))

        def on_score(choices: Mapping[str, Any]) -> None:
            for key, choice in choices.items():
                self.output.note(choice.reason)
                self.record[key] = choice.to_dict()
            if self.data is not None and not self.data.is_complete:
                self.record["counts"] = options.counts
            if options.solver not in CLASS_SEARCHES:
                display.stage(f"scoring {len(self.names)} variables")

        def on_scored(scored: Scored) -> None:
            for remark in scored.remarks:
                self.output.note(remark[0].upper() + remark[1:])
            self.output.detail(f"{scored.problem.n_candidates} candidate parent sets")
            display.stage("solving")

        structure = learned_structure(
            self.source,
            self.clock,
            score=options.criterion,
            **options.chosen("ess size_weight cell_weight"),
            on_score=on_score,
            on_scored=on_scored,
            on_event=outcome.keeping(display, self.artifacts),
            **search,
        )
        if structure.price is not None:
            self.record.update(structure.price.to_dict())
        return structure

    def artifacts(
        self, learned: SearchResult | Event, **added: Any
    ) -> outcome.Artifacts:
        """Return the record of an answer, with more keys, and its files."""
        record = learning_record(self.names, learned, self.directions)
        if learned.parents is not None:
            record |= {**self.record, **added}
        if isinstance(learned, BoundedCliques):
            record["largest_clique"] = learned.largest_clique
            record["cliques"] = learned.cliques
        parents = learned.parents or ()
        network = partial(self._network, parents)
        return outcome.Artifacts(self.names, parents, record, network)

    @cached_property
    def _network(self) -> Callable[[Any], el.BayesianNetwork | None]:
        """Fits the network with some parents: once for an incumbent that is the answer."""
        return lru_cache(1)(self._fitted)

    def _fitted(self, parents: Any) -> el.BayesianNetwork | None:
        """Return the network with its parameters, by EM in the time that is left."""
        if self.data is None:
            return None
        # A bootstrap takes the time limit again.
        options = self.options
        limit = self.clock.left + LATE if options.bootstrap is None else None
        network, remark = fitted_network(
            self.data, parents, time_limit=limit, **options.chosen("smoothing counts")
        )
        if remark:
            self.output.note(remark)
        return network


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

    # The search, of a file of scores or of a table.
    with (
        output.progress_display(f"reading {path.name}") as display,
        executors.running(options.cluster) as client,
    ):
        source: Scoring | el.Problem = (
            _problem(options, output) if has_scores else _scoring(options, client)
        )
        clock = SearchControl(options.time_limit)
        task = _Task(
            options=options,
            output=output,
            source=source,
            clock=clock,
            record={},
        )
        structure = task.learned(display)
    learned = structure.result

    # What was asked for beside the network, and how each part ended.
    added: dict[str, Any] = {}
    statuses: list[str] = [learned.status]
    writers: list[Callable[[], None]] = []
    if isinstance(learned, EquivalenceSearch):
        added |= _classes_record(task.names, learned)
    elif options.certificate is not None:
        assert isinstance(learned, Result)
        added["certificate"] = learned.certificate and str(options.certificate)
        added["certificate_unfinished"] = not learned.is_certified
        writers.append(partial(_write_certificate, learned, options, output))
    listed = structure.listed
    posterior = _posterior(task, structure, statuses)
    if posterior is not None:
        added |= _certainty(posterior, structure, options)
    if listed is not None and listed.networks:
        added |= _networks_record(task, listed, posterior)
        statuses.append(listed.status)
    if options.bootstrap is not None and _goes_on(learned, options, output):
        added["bootstrap"] = _bootstrap_record(structure.scoring, options, output)
        statuses.append(added["bootstrap"]["status"])
    artifacts = task.artifacts(learned, **added)
    return outcome.learned_answer(learned, artifacts, output, worst(*statuses), writers)


def _problem(options: Solve, output: Output) -> el.Problem:
    """Return the problem of a file of local scores, with the prior in its scores."""
    prior = pipeline.prior_of(options.prior)
    problem = with_prior(pipeline.problem(place(options.source), options), prior)
    n_unlisted = unlisted_parent_sets(problem)
    if n_unlisted and not is_uniform(prior):
        output.note(
            f"{n_unlisted} parent sets are not in the file, and the prior may prefer"
            f" one: {pipeline.UNPRUNED}"
        )
    return problem


def _scoring(options: Solve, client: Any) -> Scoring:
    """Return the scoring of the parent sets of a table."""
    data = load_merged(options.source, options, client)
    if options.solver in CLASS_SEARCHES and not data.is_complete:
        raise DataError(
            f"{options.source}: {len(data.missing_cells)} cells are missing, but --solver "
            f"{options.solver} needs complete data; 'exactlearn solve' without it, 'augment' "
            "and 'impute' learn from missing cells"
        )
    return pipeline.scoring(
        data,
        options,
        counts=options.counts,
        prior=pipeline.prior_of(options.prior),
        every=options.best is not None,
        cluster=client,
    )


def _posterior(
    task: _Task, structure: LearnedStructure, statuses: list[str]
) -> StructurePosterior | None:
    """Return the posterior over all networks, where it is wanted and done in time."""
    is_wanted = task.options.probability
    if is_wanted is None:
        is_wanted = _has_quick_sums(structure, task.options)
    if not is_wanted or structure.result.parents is None or "interrupted" in statuses:
        return None
    output = task.output
    try:
        with output.progress_display("summing over all networks"):
            posterior = posterior_of_structure(structure, task.clock)
    except KeyboardInterrupt:
        statuses.append("interrupted")
        return None
    except (OptionError, TooLargeError, SolverError) as error:
        output.note(f"No probability of the network: {error}")
        return None
    if posterior.unlisted:
        output.note(pipeline.of_listed(posterior))
    return posterior


def _has_quick_sums(structure: LearnedStructure, options: Solve) -> bool:
    """Return whether sums over all networks take hardly any time, and are probabilities."""
    if structure.scored is None or len(structure.result.parents or ()) > MAX_QUICK_SUMS:
        return False
    problem = structure.scored.problem
    if not problem.complete or problem.overall_constraints:
        return False
    if structure.scoring is None:
        return unlisted_parent_sets(problem) == 0
    has_rows = structure.scoring.dataset.is_complete or options.counts in COUNTS
    return has_rows and options.criterion in _MEANINGS


def _networks_record(
    task: _Task, listed: Enumeration, posterior: StructurePosterior | None
) -> dict[str, Any]:
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
    if task.data is not None:
        meaning = _MEANINGS.get(task.options.criterion, meaning)
    arcs = None if posterior is None else posterior.arcs
    return {
        "networks": networks,
        "bayes_factor": meaning,
        "complete": listed.complete,
        "next_bound": listed.bound,
        "ties": listed.ties,
        "support": support_records(task.names, listed.networks, arcs),
    }


def _certainty(
    posterior: StructurePosterior, structure: LearnedStructure, options: Solve
) -> dict[str, float]:
    """Return the probabilities of a network, of its class and of a list of networks, if any."""
    parents = structure.result.parents
    assert parents is not None  # there is a posterior
    networks: list[Parents] = []
    if structure.listed is not None:
        networks = [network.parents for network in structure.listed.networks]
    record = {"probability": posterior.probability(parents)}
    with suppress(OptionError):  # a class may be too large
        record["class_probability"] = posterior.class_probability(parents)
        if options.classes:
            record["mass"] = sum(map(posterior.class_probability, networks))
    if networks and not options.classes:
        record["mass"] = posterior.mass(networks)
    return record


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


def _goes_on(learned: SearchResult, options: Solve, output: Output) -> bool:
    """Return whether a bootstrap follows a search: not an interrupted one, or its certificate."""
    is_certified = isinstance(learned, Result) and learned.is_certified
    if options.certificate is not None and not is_certified:
        output.note("The certificate is unfinished: the bootstrap is left out")
        return False
    return learned.status in ("optimal", "feasible", "heuristic")


def _bootstrap_record(
    scoring: Scoring | None, options: Solve, output: Output
) -> dict[str, Any]:
    """Learn from bootstrap samples as from the table; return the record."""
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
    """Refuse a search or an output for which the rows of a table are needed."""
    if options.solver in CLASS_SEARCHES:
        raise OptionError(
            f"--solver {options.solver} is for a table, but scores were given; leave it out"
        )
    # A network has parameters, which local scores do not determine.
    if output.path is not None and suffix_of(output.path) in NETWORKS:
        raise OptionError(
            f"--output {output.path}: parameters need data, but only scores were given; write "
            ".json or .svg, and estimate the parameters with 'exactlearn fit RESULT.json DATA.csv'"
        )
