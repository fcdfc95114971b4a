"""``exactlearn simulate``: rows drawn from a model, with cells hidden by a mechanism."""

from typing import Any

import numpy as np

from exactlearn._runtime.control import ended_by_signal
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Simulate
from exactlearn.commands.output import Output, require_parent, require_suffix
from exactlearn.data.missingness import simulate_missingness
from exactlearn.data.missingness_graph import IGNORABLE
from exactlearn.data.missingness_simulation import SimulatedMissingness, simulate_graph
from exactlearn.errors import OptionError
from exactlearn.evaluation.models import drawn_rows
from exactlearn.formats.missingness_file import read_missingness, write_missingness
from exactlearn.formats.models import read_model
from exactlearn.formats.table import FORMATS as TABLES
from exactlearn.formats.table import write_dataset


@ended_by_signal()
def run(options: Simulate, output: Output) -> Answer:
    """Run the command."""
    if output.path is None:
        raise OptionError("simulate: expected the table to write, as in '-o data.csv'")
    for path in (output.path, options.complete):
        require_suffix(path, tuple(TABLES))
    if options.missingness_output is not None:
        require_parent(options.missingness_output, "--missingness-output")
    rng = np.random.default_rng(options.seed)
    model = read_model(options.source)
    graph = read_missingness(options.missingness) if options.missingness is not None else None
    if graph is not None:
        graph.check(model.names)
    full = drawn_rows(model, options.rows, rng)
    if graph is not None:
        found = simulate_graph(full, graph, rng, beta=(options.beta[0], options.beta[1]))
    elif options.hide is not None:
        parents = model.parents if isinstance(model, BayesianNetwork) else None
        found = simulate_missingness(full, options.hide, rng, parents)
    else:
        found = SimulatedMissingness(full, IGNORABLE, {})
    data = found.dataset
    if options.missingness_output is not None:
        write_missingness(found.graph, options.missingness_output)
        output.wrote(options.missingness_output)
    if options.complete is not None:
        write_dataset(full, options.complete)
        output.wrote(options.complete)
    write_dataset(data, output.path)
    output.wrote(output.path)
    record: dict[str, Any] = {
        "rows": data.n_rows,
        "variables": data.n_variables,
        "missing_cells": len(data.missing_cells),
    }
    if found.graph.causes:
        record["missingness"] = found.graph.to_dict()
        record["probabilities"] = dict(found.tables)
    return Answer(record=record)
