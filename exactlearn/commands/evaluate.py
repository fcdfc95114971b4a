"""``exactlearn evaluate``: a model judged by rows, and by a reference model."""

from dataclasses import replace
from typing import Any

import numpy as np

from exactlearn._runtime.control import ended_by_signal
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Evaluate
from exactlearn.commands.large_tables import rows_for
from exactlearn.commands.output import Output, require_suffix
from exactlearn.errors import DataError, OptionError
from exactlearn.evaluation.models import divergence
from exactlearn.formats.models import read_model
from exactlearn.graphs.comparison import compare_structures
from exactlearn.queries.evidence import Model
from exactlearn.queries.table_queries import classify


@ended_by_signal()
def run(options: Evaluate, output: Output) -> Answer:
    """Run the command."""
    require_suffix(output.path, (".json",))
    if options.data is None and options.reference is None:
        raise OptionError(
            "evaluate: expected rows or a model to compare with, as in 'evaluate model.bif "
            "DATA.csv' or 'evaluate model.bif --reference true.bif'"
        )
    if options.class_ is not None and options.data is None:
        raise OptionError("--class predicts for each row of a table: name the table, too")
    model = read_model(options.source)
    record: dict[str, Any] = {}
    if options.data is not None:
        record |= _by_rows(model, options.data, options, output)
    if options.reference is not None:
        record |= _by_reference(model, options.reference, options, output)
    output.save(record)
    return Answer(record=record)


def _by_rows(model: Model, source: str, options: Evaluate, output: Output) -> dict[str, Any]:
    """Return the log-likelihood of rows, and the share of them whose class is predicted right."""
    read = rows_for(source, replace(options, discretise={}), model, output, None)
    if read.ended == "interrupted":
        raise KeyboardInterrupt
    table, logs = read.table, model.log_likelihood_rows(read.table)
    weights, is_merged = table.row_weights, bool(read.record)
    if not weights.sum() > 0:
        raise DataError("the table has no rows of positive weight: nothing to evaluate on")
    impossible = np.isneginf(logs)
    found: dict[str, Any] = {
        "rows": read.record.get("rows", table.n_rows),
        "log_likelihood_per_row": table.total(logs) / float(weights.sum()),
    }
    if is_merged:  # equal rows have lost their numbers
        found["impossible"] = float(weights[impossible].sum())
    else:
        found["impossible_rows"] = np.flatnonzero(impossible).tolist()
        if table.lines is not None and impossible.any():
            found["impossible_lines"] = table.lines[impossible].tolist()
    if options.class_ is not None:
        classes = classify(model, table, options.class_)
        labelled = classes.labels >= 0
        right = weights[labelled & (classes.predicted == classes.labels)].sum()
        total = float(weights[labelled].sum())
        found |= {
            "class": options.class_,
            "labelled": round(total) if is_merged else int(labelled.sum()),
            "accuracy": float(right) / total if total else np.nan,
        }
    return found


def _by_reference(model: Model, path: str, options: Evaluate, output: Output) -> dict[str, Any]:
    """Return the divergence from the reference and, of two networks, the structural distances."""
    reference = read_model(path)
    try:
        reference = reference.reordered(model)
    except OptionError as error:
        raise OptionError(f"--reference {path}: {error}") from None
    found = divergence(reference, model, samples=options.samples, seed=options.seed)
    record: dict[str, Any] = {"kl_divergence": found.value, "kl_method": found.method}
    if np.isinf(found.value):
        output.note(
            "The model gives probability zero to rows that the reference allows, so the divergence"
            " is infinite; smooth its parameters"
        )
    elif found.method == "sampled":
        record["kl_interval"] = found.interval
    if isinstance(model, BayesianNetwork) and isinstance(reference, BayesianNetwork):
        record |= vars(compare_structures(model.parents, reference.parents))
    return record
