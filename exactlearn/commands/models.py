"""Commands on models: ``compile``, ``learn-pdg`` and ``learn-nb``, ``query`` and ``graph``."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

import exactlearn as el
from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import SearchControl, ended_by_signal
from exactlearn._runtime.files import suffix_of
from exactlearn.bayesnet.component_growth import ComponentRow
from exactlearn.commands.declarations import Compile, Graph, LearnNb, LearnPdg, Query
from exactlearn.commands.outcome import write_learned
from exactlearn.commands.output import Answer, Output, require_suffix, worst
from exactlearn.commands.pipeline import independence
from exactlearn.commands.tables import load
from exactlearn.formats.graph_file import graph_record
from exactlearn.formats.models import GRAPHS, NAIVE_BAYES
from exactlearn.graphs.dag import active_trail, children
from exactlearn.graphs.partially_directed import v_structures
from exactlearn.pdg.compile.approximation import MergeSequence
from exactlearn.pdg.compile.compile import (
    Compilation,
    compile_and_check,
    fits,
    max_error,
)
from exactlearn.pdg.compile.unmerged import compile_unmerged
from exactlearn.pdg.inference.flows import log_likelihood
from exactlearn.pdg.learn.edge_counts import LearnedGraph
from exactlearn.pdg.learn.hybrid import data_merges, shrunk_to
from exactlearn.queries.model_graphs import Model, as_graph
from exactlearn.reporting.description import number
from exactlearn.reporting.drawing import structure_drawing
from exactlearn.reporting.records import compilation_record, graph_sizes, named_arcs
from exactlearn.reporting.svg_picture import FIGURES, write_figure
from exactlearn.scoring.scores import total_weight

WRITE_TIME = 4e-7
"""Seconds that a graph takes to write for each of its cells: 14 million of munin1 took 5.5 s."""


def run_compile(options: Compile, output: Output) -> Answer:
    """Compile a network, and merge nodes of its graph."""
    path = output.path
    require_suffix(path, (*GRAPHS, ".json", *FIGURES))
    network = el.read_network(options.source, normalise=options.normalise)
    rows = None if options.data is None else load(options.data, options, network)
    # only the file of a graph is large enough to take time
    write_time = WRITE_TIME if path is not None and suffix_of(path) in GRAPHS else 0.0
    control = SearchControl(options.time_limit)
    with (
        control.running(),
        output.progress_display("compiling") as display,
        ExitStack() as until_first,
    ):
        # a signal ends the command until there is a graph to write
        until_first.enter_context(ended_by_signal())

        def on_event(size: int) -> None:
            until_first.close()
            display.show(f"effective size {size:,}")

        def on_graph(size: int, compile_graph: Callable[[], Compilation]) -> None:
            display.keep(-size, lambda path: _write(compile_graph(), path))

        if options.merge == "none":
            compiled = compile_unmerged(network, **options.chosen("root max_size seed"))
        else:
            compiled = compile_and_check(
                network,
                **options.chosen("max_size time_limit seed"),
                on_event=on_event,
                on_graph=on_graph,
                after=write_time,
            )
        remarks = [compiled.message]
        losses: dict[str, float] = {}
        if options.merge_budget is not None or rows is not None:
            compiled, losses = _merged(compiled, network, rows, options)
            remarks.append(compiled.message)
        # a graph that takes longer to write than is left is not written
        seconds = write_time * compiled.graph.effective_size
        is_late = not fits(seconds, control)
    record = compilation_record(compiled) | losses
    is_interrupted = control.is_stopped or not compiled.finished
    status = "interrupted" if is_interrupted else "done"
    if is_late:
        remarks.append(
            f"The graph of {compiled.graph.effective_size:,} cells is not written to {path}: "
            f"no time was left for about {seconds:.0f} seconds"
        )
        return Answer(record=record, status=worst(status, "feasible"), remarks=remarks)
    write = partial(write_learned, compiled.graph, record)
    return output.save(record, write=write, status=status, remarks=remarks)


def _write(compiled: Compilation, path: Path) -> None:
    """Write a compiled graph that the search may yet make smaller."""
    write_learned(compiled.graph, compilation_record(compiled), path)


def _merged(
    compiled: Compilation,
    network: el.BayesianNetwork,
    rows: el.Dataset | None,
    options: Compile,
) -> tuple[Compilation, dict[str, float]]:
    """Merge nodes that are nearly alike, weighed by the graph or by rows.

    Returns
    -------
    compiled, losses
        The smaller graph, the log-likelihood that its merges lose, and by rows that which held-out
        rows lose to the network, in nats for each row.
    """
    exact = compiled.graph
    merges = MergeSequence(exact) if rows is None else data_merges(exact, rows)
    merges.merge_until(loss=options.merge_budget or 0.0)
    graph = merges.merged()
    losses = {"loss": merges.loss}
    if rows is not None:
        graph, choice = shrunk_to(exact, graph, rows, options.seed)
        if rows.is_complete:
            lost = network.log_likelihood(rows) - choice.log_likelihood
            losses["held_out_loss"] = lost / total_weight(rows)
    next_loss, *_ = merges.next_loss()
    following = "none left"
    if isfinite(next_loss):
        following = f"the next merge would lose {next_loss:.6g} nats"
    merged = replace(
        compiled,
        graph=graph,
        # a graph that has lost likelihood is no exact one
        status="feasible" if merges.loss and compiled.finished else compiled.status,
        max_error=max_error(network, graph, np.random.default_rng(options.seed)),
        message=f"merges of nodes that are nearly alike: {exact.n_nodes:,} -> {graph.n_nodes:,} "
        f"nodes, effective size {exact.effective_size:,} -> {graph.effective_size:,} cells; "
        f"{following}",
    )
    return merged, losses


def run_learn_pdg(options: LearnPdg, output: Output) -> Answer:
    """Learn decision graphs, and choose one."""
    begun = clock()
    require_suffix(output.path, (*GRAPHS, ".json", *FIGURES))
    data = load(options.source, options)

    def record(
        size_weight: float, graph: el.DecisionGraph, finished: bool
    ) -> dict[str, Any]:
        return {
            "method": options.method,
            "size_weight": size_weight,
            **graph_sizes(graph),
            "trees": int((graph.forest < 0).sum()),
            "log_likelihood": log_likelihood(graph, data),
            "seconds": clock() - begun,
            "finished": finished,
        }

    # The best model so far is kept, so that Ctrl-C loses nothing; it is smoothed only
    # when written.
    def on_model(model: LearnedGraph, smoothed: Callable[[], el.DecisionGraph]) -> None:
        def write(path: Path) -> None:
            graph = smoothed()
            write_learned(graph, record(model.size_weight, graph, finished=False), path)

        display.show(
            f"score {model.score:.4f}  effective size {model.graph.effective_size:,}"
        )
        display.keep(model.score, write)

    control = SearchControl(options.time_limit)
    network = None
    if options.network is not None:
        network = el.read_network(options.network, normalise=options.normalise)
    with (
        control.running(),
        output.progress_display(f"learning ({options.method})") as display,
    ):
        learned = el.learn_pdg(
            data,
            network=network,
            size_weights=None if options.size_weight is None else [options.size_weight],
            on_model=on_model,
            **options.chosen("method parameters significance smoothing seed"),
        )
    # Models come in falling order of their weights: the last one is written.
    answer = record(learned.models[-1].size_weight, learned.graph, learned.finished)
    write = partial(write_learned, learned.graph, answer)
    status = "done" if learned.finished else control.status
    return output.save(answer, write=write, status=status)


def run_learn_nb(options: LearnNb, output: Output) -> Answer:
    """Learn a naive Bayes model."""
    begun = clock()
    require_suffix(output.path, (*NAIVE_BAYES, ".json"))
    data = load(options.source, options)
    control = SearchControl(options.time_limit)
    models: list[dict[str, Any]] = []

    def record(place: int, *, finished: bool) -> dict[str, Any]:
        return {
            "status": "heuristic" if finished else control.status,
            **models[place],
            "bound": None,
            "gap": None,
            "seconds": clock() - begun,
            "finished": finished,
            "models": models,
        }

    with control.running(), output.progress_display("learning (nb)") as display:

        def on_model(model: el.NaiveBayes, row: ComponentRow, is_best: bool) -> None:
            figures = asdict(row)
            models.append({k: x for k, x in figures.items() if x is not None})
            display.show(f"{row.components} components  score {number(row.score)}")
            # the best number of components so far is written, with all that were tried
            if is_best:
                so_far = record(-1, finished=False)
                display.keep(len(models), partial(write_learned, model, so_far))

        learned = el.learn_naive_bayes(
            data,
            on_model=on_model,
            **options.chosen("components size_weight smoothing seed"),
        )
    answer = record(learned.best, finished=learned.is_complete)
    # figures of the chosen model alone
    answer["log_likelihood_per_row"] = answer["log_likelihood"] / data.row_weights.sum()
    answer["size_weight"] = learned.size_weight
    answer["smoothing"] = learned.smoothing
    write = partial(write_learned, learned.model, answer)
    status = "done" if learned.is_complete else control.status
    return output.save(answer, write=write, status=status)


@ended_by_signal()
def run_query(options: Query, output: Output) -> Answer:
    """Answer what a model says of one case."""
    require_suffix(output.path, (".json",))
    model = el.read_model(options.source, normalise=options.normalise)
    evidence = options.evidence
    targets = list(dict.fromkeys(options.targets)) or None
    remarks: list[str] = []
    answer = el.query(model, evidence, targets, do=options.do)
    record: dict[str, Any] = {
        "evidence": dict(evidence),
        "do": dict(options.do),
        "posterior": answer.posterior,
        "probability_of_evidence": answer.probability_of_evidence,
    }
    if options.do:
        # Other answers are those of the network without the arcs into what is set.
        model = el.queries.mutilated_network(model, options.do)
        evidence = {**evidence, **options.do}
        remarks.append(
            "The intervention takes arcs as causes, and assumes hidden common causes away"
        )
    # MAP is the best of the explanations
    n_explanations = 1 if options.map else options.best
    if n_explanations is not None:
        explanations = el.most_probable_explanations(
            as_graph(model), evidence, n_explanations, targets=targets
        )
        record["explanations"] = list(map(vars, explanations))
        if targets:
            remarks.append(
                f"The explanations are the most probable states of {', '.join(targets)} together, "
                "the other variables summed out"
            )
    if options.joint:
        record["joint"] = _joint(model, evidence, answer.posterior)
    if options.independences:
        record |= _independences(model, evidence, targets)
    shown = dict(record)
    if len(record) > 4 and not targets:  # another answer was asked for
        del shown["posterior"]
    return output.save(record, shown=shown, remarks=remarks)


def _independences(
    model: Model, evidence: Mapping[str, str], targets: list[str] | None
) -> dict[str, Any]:
    """Return the independences that a decision graph states, in words and as records.

    It states some beyond those of its network, in contexts.
    """
    stated = el.independences(model, evidence, targets)
    n_contexts = 10 if targets else 3
    return {
        "statements": [variable.describe(n_contexts) for variable in stated],
        "independences": [variable.to_dict() for variable in stated],
    }


def _joint(
    model: Model,
    evidence: Mapping[str, str],
    posterior: Mapping[str, Mapping[str, float]],
) -> list[dict[str, Any]]:
    """Return the probability of each configuration of the targets, given their posteriors."""
    names = list(posterior)
    joint = el.queries.joint_posterior(model, evidence, names)
    configurations = product(*posterior.values())
    return [
        {"states": dict(zip(names, states, strict=True)), "probability": probability}
        for states, probability in zip(
            configurations, joint.ravel().tolist(), strict=True
        )
    ]


@ended_by_signal()
def run_graph(options: Graph, output: Output) -> Answer:
    """Show a structure and its equivalence class, and answer what is asked of it."""
    require_suffix(output.path, (".json", *FIGURES))
    graph = el.read_graph(options.source)
    if options.to is not None:
        graph = graph.as_kind(options.to)
    names = graph.names
    parents = graph.parents
    equivalence_class = el.graphs.cpdag(parents)
    record = {
        **graph_record(graph),
        "class_size": equivalence_class.size,
        "reversible": named_arcs(names, equivalence_class.undirected),
        "v_structures": [
            [names[a], names[b], names[c]] for a, b, c in sorted(v_structures(parents))
        ],
    }
    # arcs whose reversal stays in the class; of a pattern or a CPDAG they are edges
    if graph.kind == "dag":
        record["covered"] = named_arcs(names, el.graphs.covered_edges(parents))
    # Answers that were asked for, each under a key of its own.
    if options.variable is not None:
        record["blanket"] = _blanket(graph, options.variable)
    if options.independent is not None:
        record["independence"] = _independence(graph, options.independent)
    if options.reference is not None:
        reference = el.read_graph(options.reference, names)
        comparison = el.graphs.compare_structures(graph.graph, reference.graph)
        record["comparison"] = vars(comparison)
    write = None
    if output.path is not None and suffix_of(output.path) in FIGURES:
        write = partial(write_figure, structure_drawing(graph))
    return output.save(record, write=write)


def _blanket(graph: el.NamedGraph, name: str) -> dict[str, Any]:
    """Return the parents, the children and the Markov blanket of a variable, by name."""
    v = graph.index(name)
    parts = {
        "parents": graph.parents[v],
        "children": children(graph.parents)[v],
        "markov_blanket": el.graphs.markov_blanket(graph.parents, v),
    }
    # by name, in the order of the variables
    blanket: dict[str, Any] = {"variable": name}
    for key, variables in parts.items():
        blanket[key] = [graph.names[u] for u in sorted(variables)]
    return blanket


def _independence(graph: el.NamedGraph, entry: str) -> dict[str, Any]:
    """Return whether two variables are d-separated, or an active trail between them."""
    names = graph.names
    queried = independence(entry, names)
    # A trail is the proof of dependence: nobody need trust the answer.
    trail = active_trail(graph.parents, queried.left, queried.right, queried.given)
    answer = {
        "variables": [names[u] for u in sorted(queried.left | queried.right)],
        "given": [names[u] for u in sorted(queried.given)],
        "independent": trail is None,
    }
    if trail is not None:
        answer["active_trail"] = named_arcs(names, trail)
    return answer
