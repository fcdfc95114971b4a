"""What is told of learnt decision graphs, and how they are written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exactlearn._runtime.files import suffix_of
from exactlearn.commands.output import write_json
from exactlearn.data.dataset import Dataset
from exactlearn.formats.pdg_json import write_pdg
from exactlearn.pdg.inference.flows import log_likelihood
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reporting.drawing import decision_graph_drawing
from exactlearn.reporting.plot import write_figure
from exactlearn.reporting.report import facts, number, plain_table


def model_row(
    lambda_: float, graph: DecisionGraph, dataset: Dataset, test: Dataset | None
) -> dict[str, Any]:
    """Return what is told of a model."""
    row = {
        "lambda": lambda_,
        "effective_size": graph.effective_size,
        "representational_size": graph.representational_size,
        "nodes": graph.n_nodes,
        "trees": int((graph.forest < 0).sum()),
        "log_likelihood": log_likelihood(graph, dataset),
    }
    if test is not None:
        row["validation_log_likelihood"] = log_likelihood(graph, test)
    return row


def models_tables(record: Mapping[str, Any]) -> list[Any]:
    """Return the chosen model's facts, and all models where there are several."""
    told = {
        key: number(value) if "likelihood" in key or key in ("lambda", "seconds") else str(value)
        for key, value in record.items()
        if key not in ("models", "finished")
    }
    models = record["models"]
    if len(models) < 2:
        return [facts(**told)]
    columns = tuple(models[0])
    rows = (
        tuple(number(v) if isinstance(v, float) else str(v) for v in m.values()) for m in models
    )
    return [facts(**told), plain_table(columns, rows)]


def write_model(graph: DecisionGraph, record: Mapping[str, Any], path: Path) -> None:
    """Write the graph, its record or its figure."""
    if suffix_of(path) == ".pdg.json":
        write_pdg(graph, path)
    elif suffix_of(path) == ".json":
        write_json(record, path)
    else:
        write_figure(decision_graph_drawing(graph), path)
