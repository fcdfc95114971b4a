"""``exactlearn evaluate``: a model judged by rows, and by a reference model."""

from dataclasses import replace
from typing import Any

import numpy as np

from exactlearn._runtime.control import ended_by_signal
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Evaluate
from exactlearn.commands.large_tables import judged
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.pipeline import load_test
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.evaluation.models import divergence
from exactlearn.formats.models import read_model
from exactlearn.graphs.comparison import StructureComparison, compare_structures
from exactlearn.queries.evidence import Model
from exactlearn.reporting.report import facts, held_out_table, number, percent

Answered = tuple[dict[str, Any], Any]
"""Part of the record, and its table."""


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
    answers: list[Answered] = []
    if options.data is not None:
        answers += _by_rows(model, options.data, options, output)
    if options.reference is not None:
        answers += _by_reference(model, options.reference, options, output)
    record = {key: value for part, _ in answers for key, value in part.items()}
    output.save(record)
    return Answer(record=record, tables=[table for _, table in answers])


def _by_rows(model: Model, source: str, options: Evaluate, output: Output) -> list[Answered]:
    """Return the log-likelihood of rows, and the share of them whose class is predicted right."""

    def load() -> Dataset:
        return load_test(source, options, model)

    sums = judged(source, replace(options, discretise={}), model, options.class_, load, output)
    if not sums.weight > 0:
        raise DataError("the table has no rows of positive weight: nothing to evaluate on")
    kinds = {BayesianNetwork: "network", NaiveBayes: "naive Bayes"}
    kind = kinds.get(type(model), "decision graph")
    found: dict[str, Any] = {
        "rows": sums.rows,
        "log_likelihood_per_row": sums.log_likelihood / sums.weight,
        "impossible_rows": sums.impossible,
        **({"impossible_lines": sums.lines} if sums.lines else {}),
    }
    answers: list[Answered] = [(found, held_out_table({kind: found}))]
    if options.class_ is not None:
        accuracy = sums.right / sums.labelled_weight if sums.labelled_weight else np.nan
        answers.append(
            (
                {"class": options.class_, "labelled": sums.labelled, "accuracy": accuracy},
                facts(labelled=str(sums.labelled), accuracy=percent(accuracy)),
            )
        )
    return answers


def _by_reference(model: Model, path: str, options: Evaluate, output: Output) -> list[Answered]:
    """Return the divergence from the reference and, of two networks, the structural distances."""
    reference = read_model(path)
    try:
        reference = reference.reordered(model)
    except OptionError as error:
        raise OptionError(f"--reference {path}: {error}") from None
    found = divergence(reference, model, samples=options.samples, seed=options.seed)
    record: dict[str, Any] = {"kl_divergence": found.value, "kl_method": found.method}
    shown = number(found.value, 6) or "infinite"
    if np.isinf(found.value):
        output.note(
            "The model gives probability zero to rows that the reference allows, so the divergence"
            " is infinite; smooth its parameters"
        )
    elif found.method == "sampled":
        record["kl_interval"] = found.interval
        low, high = (number(limit, 6) for limit in found.interval)
        shown += f" ({low} to {high} at 95 %, from {options.samples} rows)"
    if isinstance(model, BayesianNetwork) and isinstance(reference, BayesianNetwork):
        structure = compare_structures(model.parents, reference.parents)
        record |= vars(structure)
        return [(record, facts(kl_divergence=shown, **structure_facts(structure)))]
    return [(record, facts(kl_divergence=shown))]


def structure_facts(structure: StructureComparison) -> dict[str, str]:
    """Return the lines of the table that compares two graphs."""
    found = {key: str(getattr(structure, key)) for key in ("shd", "cpdag_shd")}
    for kind in ("arc", "edge"):
        values = (getattr(structure, f"{kind}_{key}") for key in ("precision", "recall", "f1"))
        words = zip(("precision", "recall", "F1"), values, strict=True)
        found[f"{kind}s"] = ", ".join(f"{word} {number(value, 3) or '-'}" for word, value in words)
    return found
