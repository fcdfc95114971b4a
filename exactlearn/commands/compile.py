"""``exactlearn compile``: a network as a probabilistic decision graph."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from exactlearn._runtime.control import SearchControl, ended_by_signal
from exactlearn._runtime.files import suffix_of
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.answer import Answer
from exactlearn.commands.artifacts import write_graph
from exactlearn.commands.declarations import Compile
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.pipeline import load_for
from exactlearn.commands.progress import Checkpoint
from exactlearn.data.dataset import Dataset
from exactlearn.formats.models import GRAPHS, read_network
from exactlearn.pdg.compile.approximation import MergeSequence
from exactlearn.pdg.compile.compile import Compilation, compile_and_check, fits, max_error
from exactlearn.pdg.learn.hybrid import data_merges
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.independences import IndependenceLimits, independences
from exactlearn.reporting.records import compilation_record
from exactlearn.reporting.svg_picture import FIGURES

WRITE_TIME = 4e-7
"""Seconds that a graph takes to write for each of its cells: 14 million of munin1 took 5.5 s."""

MOST_NODES, CELLS = 10_000, 300_000
"""Nodes of a graph whose independences are counted, and cells looked at for each variable."""


def run(options: Compile, output: Output) -> Answer:
    """Run the command."""
    data = options.data
    require_suffix(output.path, (*GRAPHS, ".json", *FIGURES))
    network = read_network(options.source)
    rows = None if data is None else load_for(data, options, network)
    control = SearchControl(options.time_limit)
    with control.running():
        compiled, has_written = _compiled(network, options, output)
    added: dict[str, Any] = {}
    if options.merge_budget is not None or data is not None:
        sequence = _sequence(compiled.graph, rows)
        sequence.merge_until(loss=options.merge_budget or 0.0)
        message = "\n".join([compiled.message, *_merge_lines(compiled.graph, sequence)])
        compiled = _changed(compiled, network, sequence.merged(), options.seed, message)
        added["loss"] = sequence.loss
    record = compilation_record(compiled)
    writing = _write_time(output.path) * compiled.effective_size
    left_out = not fits(writing, control)
    if output.path is not None and not left_out:
        with control.running():  # a large file takes seconds, in which Ctrl-C loses nothing
            write_graph(compiled.graph, record | added, output.path)
        output.wrote(output.path)
    remarks = [compiled.message]
    if compiled.nodes <= MOST_NODES:
        remarks.append(_contexts_line(compiled.graph))
    if left_out:
        kept = ", which holds an earlier one" if has_written else ""
        remarks.append(
            f"The graph of {compiled.effective_size:,} cells is not written to {output.path}{kept}:"
            f" no time was left for about {writing:.0f} seconds"
        )
    is_interrupted = control.is_stopped or not compiled.finished
    return Answer(
        record=record | added,
        status="interrupted" if is_interrupted else "feasible" if left_out else "done",
        remarks=remarks,
    )


def _contexts_line(graph: DecisionGraph) -> str:
    """Return how many variables have independences in contexts only."""
    found = independences(graph, limits=IndependenceLimits(contexts=0, cells=CELLS))
    count = sum(bool(one.in_context) for one in found)
    return (
        f"{count} of {graph.n_variables} variables are independent of others in some contexts only:"
        " 'exactlearn query MODEL --independences' lists them"
    )


def _compiled(
    network: BayesianNetwork, options: Compile, output: Output
) -> tuple[Compilation, bool]:
    """Compile, reporting each smaller graph; return whether one of these was written, too."""
    with output.progress_display("compiling") as display, ExitStack() as until_first:
        until_first.enter_context(ended_by_signal())
        checkpoint, path = Checkpoint(display.warn), output.path

        def keep(size: int, compiled: Callable[[], Compilation]) -> None:
            if path is not None:
                checkpoint.keep(-size, lambda: _keep(compiled(), path))

        compiled = compile_and_check(
            network,
            root=options.root,
            max_size=options.max_size,
            time_limit=options.time_limit,
            seed=options.seed,
            on_event=lambda size: display.show(f"effective size {size:,}"),
            on_first=until_first.close,
            on_graph=keep,
            after=_write_time(path),
        )
        return compiled, checkpoint.has_written


def _write_time(path: Path | None) -> float:
    """Return the seconds that writing takes for each cell of a graph."""
    return WRITE_TIME if path is not None and suffix_of(path) in GRAPHS else 0.0


def _sequence(graph: DecisionGraph, rows: Dataset | None) -> MergeSequence:
    """Return the merges of a graph, weighed by its own distribution or by rows."""
    if rows is None:
        return MergeSequence(graph)
    # One record of the graph's own: no record that the network holds possible becomes impossible.
    return data_merges(graph, rows, smoothing=1.0)


def _merge_lines(exact: DecisionGraph, sequence: MergeSequence) -> list[str]:
    """Return what the rows left out and what was merged, from which size to which."""
    before, lines = sequence.graph, []
    if before.n_nodes < exact.n_nodes:
        change = _change(exact.n_nodes, before.n_nodes, exact.effective_size, before.effective_size)
        lines.append(f"left out the nodes that no row reaches: {change}")
    if sequence.nodes < before.n_nodes:
        merges = before.n_nodes - sequence.nodes
        change = _change(
            before.n_nodes, sequence.nodes, before.effective_size, sequence.effective_size
        )
        lines.append(f"{merges:,} merges of nodes that are nearly alike: {change}")
    else:
        following = sequence.next_loss()[0]
        cheapest = f"the cheapest merge would lose {following:.6g} nats"
        reason = cheapest if isfinite(following) else "no two nodes have the same successors"
        lines.append(f"no merge of nodes that are nearly alike: {reason}")
    return lines


def _change(nodes: int, then_nodes: int, size: int, then_size: int) -> str:
    return f"{nodes:,} -> {then_nodes:,} nodes, effective size {size:,} -> {then_size:,} cells"


def _changed(
    compiled: Compilation, network: BayesianNetwork, graph: DecisionGraph, seed: int, message: str
) -> Compilation:
    """Return the record of another graph of the same network, with its message."""
    return replace(
        compiled,
        graph=graph,
        nodes=graph.n_nodes,
        effective_size=graph.effective_size,
        representational_size=graph.representational_size,
        max_error=max_error(network, graph, np.random.default_rng(seed)),
        message=message,
    )


def _keep(compiled: Compilation, path: Path) -> None:
    write_graph(compiled.graph, compilation_record(compiled), path)
