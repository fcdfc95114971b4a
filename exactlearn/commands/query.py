"""``exactlearn query``: what a model says, for one case or for a table."""

import csv
from collections.abc import Iterator
from typing import Any

from exactlearn._runtime.control import ended_by_signal
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Query
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.row_queries import answer_classes, answer_rows, read_cases
from exactlearn.errors import OptionError
from exactlearn.formats.models import read_model
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.queries.evidence import Evidence, Model
from exactlearn.queries.explanations import Explanation, most_probable_explanations
from exactlearn.queries.independences import independences
from exactlearn.queries.posteriors import query


@ended_by_signal()
def run(options: Query, output: Output) -> Answer:
    """Run the command."""
    data, class_name, targets = options.data, options.class_, list(options.targets)
    require_suffix(output.path, (".json",) if data is None else (".json", ".csv", ".tsv"))
    if class_name is not None and data is None:
        raise OptionError("--class predicts for each row of a table: give the table by --data")
    if data is not None and (options.evidence or options.soft or options.asks_more):
        raise OptionError(
            "--data takes the evidence from the rows and answers posteriors only: ask the rest"
            " without it"
        )
    if class_name is not None and targets:
        raise OptionError("--class is the target: leave out --target")
    model = read_model(options.source)
    if data is not None:
        table = read_cases(data, options, model, output)
        if class_name is not None:
            return answer_classes(model, table, class_name, output)
        return answer_rows(model, table, targets or None, output)
    known = _evidence(options)
    answer = query(model, known, targets or None)
    record = {
        "posterior": answer.posterior,
        "probability_of_evidence": answer.probability_of_evidence,
        **(dict(_answers(model, known, options)) if options.asks_more else {}),
    }
    output.save(record)
    hidden = ("posterior",) if options.asks_more and not targets else ()
    return Answer(record=record, shown={k: v for k, v in record.items() if k not in hidden})


def _evidence(options: Query) -> Evidence:
    """Return hard and soft evidence together.

    Raises
    ------
    OptionError
        When an entry is malformed, or a variable has both.
    """
    known: dict[str, str | dict[str, float]] = {**options.evidence}
    for name, text in options.soft.items():
        if name in known:
            raise OptionError(f"--soft {name}={text}: {name!r} has hard evidence, too; give one")
        known[name] = _weights(name, text)
    return known


def _weights(name: str, text: str) -> dict[str, float]:
    weights = {}
    for entry in next(csv.reader([text])):
        state, colon, weight = entry.rpartition(":")
        try:
            weights[state] = float(weight if colon else "")
        except ValueError:
            raise OptionError(
                f"--soft {name}={text}: expected STATE:WEIGHT joined by commas, as in"
                f" '{name}=yes:0.9,no:0.1'"
            ) from None
    return weights


def _answers(model: Model, evidence: Evidence, options: Query) -> Iterator[tuple[str, Any]]:
    """Yield the answer to each question; a network is compiled once for all."""
    graph = compile_network(model) if isinstance(model, BayesianNetwork) else model
    if options.best is not None:
        found = most_probable_explanations(graph, evidence, options.best)
        yield "explanations", [_explanation_record(e) for e in found]
    if options.independences:
        listed = independences(graph, evidence, list(options.targets) or None)
        yield "statements", [one.describe(10 if options.targets else 3) for one in listed]
        yield "independences", [one.to_dict() for one in listed]
        if options.targets:
            names = ("node", "distribution", "probabilities")
            rows = [row for one in listed for row in one.rows()]
            yield "nodes", [dict(zip(names, row, strict=True)) for row in rows]


def _explanation_record(explanation: Explanation) -> dict[str, Any]:
    return {
        "states": explanation.states,
        "probability": explanation.probability,
        "log_probability": explanation.log_probability,
    }
