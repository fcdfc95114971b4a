"""Commands on models: ``compile``, ``learn-pdg`` and ``learn-nb``, ``query`` and ``graph``."""

from collections.abc import Callable
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
from exactlearn.commands.output import Answer, Output, require_suffix
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
from exactlearn.pdg.learn.hybrid import data_merges
from exactlearn.queries.posteriors import as_graph
from exactlearn.reporting.description import number
from exactlearn.reporting.drawing import structure_drawing
from exactlearn.reporting.records import compilation_record, graph_sizes, named_arcs
from exactlearn.reporting.svg_picture import FIGURES, write_figure

WRITE_TIME = 4e-7
"""Seconds that a graph takes to write for each of its cells: 14 million of munin1 took 5.5 s."""


def run_compile(options: Compile, output: Output) -> Answer:
    """Compile a network, and merge nodes of its graph."""
    path = output.path
    require_suffix(path, (*GRAPHS, ".json", *FIGURES))
    network = el.read_network(options.source, normalise=options.normalise)
    rows = None if options.data is None else load(options.data, options, network)
    write_time = WRITE_TIME if path is not None and suffix_of(path) in GRAPHS else 0.0
    control, added, remarks = (
        SearchControl(options.time_limit),
        dict[str, Any](),
        list[str](),
    )
    with (
        control.running(),
        output.progress_display("compiling") as display,
        ExitStack() as until_first,
    ):
        until_first.enter_context(ended_by_signal())

        def on_event(size: int) -> None:
            until_first.close()
            display.show(f"effective size {size:,}")

        if options.merge == "none":
            compiled = compile_unmerged(network, **options.chosen("root max_size seed"))
        else:
            compiled = compile_and_check(
                network,
                **options.chosen("max_size time_limit seed"),
                on_event=on_event,
                on_graph=lambda size, found: display.keep(
                    -size, partial(_write, found)
                ),
                after=write_time,
            )
        remarks.append(compiled.message)
        if options.merge_budget is not None or rows is not None:
            compiled, added["loss"] = _merged(compiled, network, rows, options)
            remarks.append(compiled.message)
        record, writing = (
            compilation_record(compiled) | added,
            write_time * compiled.graph.effective_size,
        )
        is_late = not fits(writing, control)
    if is_late:
        remarks.append(
            f"The graph of {compiled.graph.effective_size:,} cells is not written to {path}: "
            f"no time was left for about {writing:.0f} seconds"
        )
    is_interrupted = control.is_stopped or not compiled.finished
    status = "interrupted" if is_interrupted else "feasible" if is_late else "done"
    if is_late:
        return Answer(record=record, status=status, remarks=remarks)
    write = partial(write_learned, compiled.graph, record)
    return output.save(record, write=write, status=status, remarks=remarks)


def _write(found: Callable[[], Compilation], path: Path) -> None:
    compiled = found()
    write_learned(compiled.graph, compilation_record(compiled), path)


def _merged(
    compiled: Compilation,
    network: el.BayesianNetwork,
    rows: el.Dataset | None,
    options: Compile,
) -> tuple[Compilation, float]:
    """Merge nodes that are nearly alike, weighed by the graph or by rows; return the loss, too."""
    # One record of the graph's own: no record that the network holds possible becomes impossible.
    exact = compiled.graph
    merges = (
        MergeSequence(exact)
        if rows is None
        else data_merges(exact, rows, smoothing=1.0)
    )
    merges.merge_until(loss=options.merge_budget or 0.0)
    graph, following = merges.merged(), merges.next_loss()[0]
    rest = (
        f"the next merge would lose {following:.6g} nats"
        if isfinite(following)
        else "none left"
    )
    merged = replace(
        compiled,
        graph=graph,
        status="feasible" if merges.loss and compiled.finished else compiled.status,
        max_error=max_error(network, graph, np.random.default_rng(options.seed)),
        message=f"merges of nodes that are nearly alike: {exact.n_nodes:,} -> {graph.n_nodes:,} "
        f"nodes, effective size {exact.effective_size:,} -> {graph.effective_size:,} cells; {rest}",
    )
    return merged, merges.loss


def run_learn_pdg(options: LearnPdg, output: Output) -> Answer:
    """Learn decision graphs, and choose one."""
    path, begun = output.path, clock()
    require_suffix(path, (*GRAPHS, ".json", *FIGURES))
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

    def on_model(model: LearnedGraph, smoothed: Callable[[], el.DecisionGraph]) -> None:
        def write(path: Path) -> None:
            graph = smoothed()
            write_learned(graph, record(model.size_weight, graph, finished=False), path)

        display.show(
            f"score {model.score:.4f}  effective size {model.graph.effective_size:,}"
        )
        display.keep(model.score, write)

    control, network = SearchControl(options.time_limit), None
    if options.network is not None:
        network = el.read_network(options.network, normalise=options.normalise)
    with (
        control.running(),
        output.progress_display(f"learning ({options.method})") as display,
    ):
        found = el.learn_pdg(
            data,
            network=network,
            size_weights=None if options.size_weight is None else [options.size_weight],
            on_model=on_model,
            **options.chosen("method parameters significance smoothing seed"),
        )
    answer = record(found.models[-1].size_weight, found.graph, found.finished)
    status = "done" if found.finished else control.status
    return output.save(
        answer, write=partial(write_learned, found.graph, answer), status=status
    )


def run_learn_nb(options: LearnNb, output: Output) -> Answer:
    """Learn a naive Bayes model."""
    path, begun = output.path, clock()
    require_suffix(path, (*NAIVE_BAYES, ".json"))
    data = load(options.source, options)
    control, models = SearchControl(options.time_limit), list[dict[str, Any]]()

    def record(place: int, *, finished: bool) -> dict[str, Any]:
        status = "heuristic" if finished else control.status
        ended = {"seconds": clock() - begun, "finished": finished, "models": models}
        return {"status": status, **models[place], "bound": None, "gap": None, **ended}

    with control.running(), output.progress_display("learning (nb)") as display:

        def on_model(model: el.NaiveBayes, row: ComponentRow, is_best: bool) -> None:
            models.append({k: v for k, v in asdict(row).items() if v is not None})
            display.show(f"{row.components} components  score {number(row.score)}")
            if is_best:
                so_far = record(-1, finished=False)
                display.keep(len(models), partial(write_learned, model, so_far))

        found = el.learn_naive_bayes(
            data,
            on_model=on_model,
            **options.chosen("components size_weight smoothing seed"),
        )
    answer = record(found.best, finished=found.is_complete)
    answer["log_likelihood_per_row"] = answer["log_likelihood"] / data.row_weights.sum()
    answer |= {"size_weight": found.size_weight, "smoothing": found.smoothing}
    status = "done" if found.is_complete else control.status
    return output.save(
        answer, write=partial(write_learned, found.model, answer), status=status
    )


@ended_by_signal()
def run_query(options: Query, output: Output) -> Answer:
    """Answer what a model says of one case."""
    require_suffix(output.path, (".json",))
    model = el.read_model(options.source, normalise=options.normalise)
    evidence = options.evidence
    targets = list(dict.fromkeys(options.targets))
    remarks: list[str] = []
    found = el.query(model, evidence, targets or None)
    record: dict[str, Any] = {
        "evidence": dict(evidence),
        "posterior": found.posterior,
        "probability_of_evidence": found.probability_of_evidence,
    }
    k = 1 if options.map else options.best
    if k is not None:
        explanations = el.most_probable_explanations(
            as_graph(model), evidence, k, targets=targets or None
        )
        record["explanations"] = [vars(explanation) for explanation in explanations]
        if targets:
            remarks.append(
                f"The explanations are the most probable states of {', '.join(targets)} together, "
                "the other variables summed out"
            )
    if options.joint:
        names = list(found.posterior)
        joint = el.queries.joint_posterior(model, evidence, names)
        configurations = product(*found.posterior.values())
        record["joint"] = [
            {
                "states": dict(zip(names, states, strict=True)),
                "probability": probability,
            }
            for states, probability in zip(
                configurations, joint.ravel().tolist(), strict=True
            )
        ]
    if options.independences:
        stated = el.independences(model, evidence, targets or None)
        record["statements"] = [one.describe(10 if targets else 3) for one in stated]
        record["independences"] = [one.to_dict() for one in stated]
    is_hidden = len(record) > 3 and not targets
    shown = {
        key: v for key, v in record.items() if not (is_hidden and key == "posterior")
    }
    return output.save(record, shown=shown, remarks=remarks)


@ended_by_signal()
def run_graph(options: Graph, output: Output) -> Answer:
    """Show a structure and its equivalence class, and answer what is asked of it."""
    require_suffix(output.path, (".json", *FIGURES))
    named = el.read_graph(options.source)
    if options.to is not None:
        named = named.as_kind(options.to)
    names, parents, own = named.names, named.parents, el.graphs.cpdag(named.parents)
    record = {
        **graph_record(named),
        "class_size": own.size,
        "reversible": named_arcs(names, own.undirected),
        "v_structures": [
            [names[v] for v in triple] for triple in sorted(v_structures(parents))
        ],
    }
    if named.kind == "dag":
        record["covered"] = named_arcs(names, el.graphs.covered_edges(parents))
    if options.variable is not None:
        v = named.index(options.variable)
        known = {
            "parents": parents[v],
            "children": children(parents)[v],
            "markov_blanket": el.graphs.markov_blanket(parents, v),
        }
        blanket = {
            key: [names[u] for u in sorted(found)] for key, found in known.items()
        }
        record["blanket"] = {"variable": options.variable, **blanket}
    if options.independent is not None:
        asked = independence(options.independent, names)
        trail = active_trail(parents, asked.left, asked.right, asked.given)
        record["independence"] = {
            "variables": [names[u] for u in sorted(asked.left | asked.right)],
            "given": [names[u] for u in sorted(asked.given)],
            "independent": trail is None,
            **({} if trail is None else {"active_trail": named_arcs(names, trail)}),
        }
    if options.reference is not None:
        reference = el.read_graph(options.reference, names)
        record["comparison"] = vars(
            el.graphs.compare_structures(named.graph, reference.graph)
        )
    is_drawn = output.path is not None and suffix_of(output.path) in FIGURES
    draw = partial(write_figure, structure_drawing(named))
    return output.save(record, write=draw if is_drawn else None)
