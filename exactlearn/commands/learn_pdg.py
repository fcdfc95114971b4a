"""``exactlearn learn-pdg``: a decision graph learnt from a table."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.answer import Answer
from exactlearn.commands.artifacts import write_graph
from exactlearn.commands.declarations import LearnPdg
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.pipeline import load, load_for
from exactlearn.commands.progress import Checkpoint
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.formats.models import GRAPHS, read_network
from exactlearn.pdg.inference.flows import log_likelihood
from exactlearn.pdg.learn.methods import Keep, Request, keep_first, learn_by
from exactlearn.pdg.learn.network_starts import learnt_network
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reporting.svg_picture import FIGURES

LEARNT = "learnt"
"""In place of a network's file."""


def run(options: LearnPdg, output: Output) -> Answer:
    """Run the command."""
    network, validation = options.network, options.validation
    require_suffix(output.path, (*GRAPHS, ".json", *FIGURES))
    if len(options.size_weights) > 1 and validation is None:
        raise OptionError("several --size-weight need --validation, a table to choose the model by")
    begun = monotonic()
    dataset = load(options.source, options)
    chosen = options.method
    given = _given(network, dataset)
    test = None
    if validation is not None:
        test = load_for(validation, options, given or dataset)
    request = Request(
        dataset=dataset,
        method=chosen,
        network=given,
        size_weights=options.size_weights or None,
        smoothing=options.smoothing,
        seed=options.seed,
    )
    control = SearchControl(options.time_limit)
    with control.running(), output.progress_display(f"learning ({chosen})") as display:
        keep = _keeping(request, test, output.path, Checkpoint(display.warn))
        if output.path is not None and (chosen in ("direct", "hybrid") or network == LEARNT):
            keep_first(request, keep)
        if network == LEARNT:
            display.show("network")
            request = replace(request, network=learnt_network(dataset, options.seed))
        found = learn_by(request, display.show, keep)
    rows = [model_row(x, graph, dataset, test) for x, graph in found.models]
    key = "log_likelihood" if test is None else "validation_log_likelihood"
    best = max(range(len(rows)), key=lambda k: rows[k][key])
    record = {
        "method": chosen,
        **rows[best],
        "seconds": monotonic() - begun,
        "finished": found.finished,
        "models": rows,
    }
    if output.path is not None:
        write_graph(found.models[best][1], record, output.path)
        output.wrote(output.path)
    status = "done" if found.finished else control.status
    return Answer(record=record, status=status)


def _keeping(
    request: Request, test: Dataset | None, path: Path | None, checkpoint: Checkpoint
) -> Keep:
    """Return what writes each better model to a file while the search goes on."""
    begun = monotonic()

    def write(size_weight: float, graph: DecisionGraph) -> None:
        assert path is not None
        row = model_row(size_weight, graph, request.dataset, test)
        seconds = monotonic() - begun
        record = {"method": request.method, **row, "seconds": seconds, "finished": False}
        write_graph(graph, {**record, "models": [row]}, path)

    def keep(score: float, size_weight: float, smoothed: Callable[[], DecisionGraph]) -> None:
        if path is None or not checkpoint.is_due:
            return
        graph = smoothed()
        if test is not None and len(request.size_weights or ()) > 1:
            score = log_likelihood(graph, test)
        checkpoint.keep(score, lambda: write(size_weight, graph))

    return keep


def _given(source: str | None, dataset: Dataset) -> BayesianNetwork | None:
    """Read a network of the table's variables, if a file of one is given."""
    if source is None or source == LEARNT:
        return None
    network = read_network(source)
    if set(network.names) != set(dataset.names):
        different = sorted(set(network.names) ^ set(dataset.names))
        raise OptionError(
            f"{source}: the network and the table must have the same variables; not in both:"
            f" {', '.join(different)}"
        )
    return network


def model_row(
    size_weight: float, graph: DecisionGraph, dataset: Dataset, test: Dataset | None
) -> dict[str, Any]:
    """Return the record of a model."""
    row = {
        "size_weight": size_weight,
        "effective_size": graph.effective_size,
        "representational_size": graph.representational_size,
        "nodes": graph.n_nodes,
        "trees": int((graph.forest < 0).sum()),
        "log_likelihood": log_likelihood(graph, dataset),
    }
    if test is not None:
        row["validation_log_likelihood"] = log_likelihood(graph, test)
    return row
