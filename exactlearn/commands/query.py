"""``exactlearn query``: what a model says, for one case or for a table."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group

from exactlearn._runtime.control import ended_by_signal
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.declarations import Query
from exactlearn.commands.declare import pairs
from exactlearn.commands.output import Output, require_suffix
from exactlearn.commands.row_queries import answer_classes, answer_rows, read_cases
from exactlearn.errors import OptionError
from exactlearn.formats.models import read_model
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.complete_rows import sample_rows
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import Evidence, Model, as_graph, conditional
from exactlearn.queries.explanations import (
    Explanation,
    most_probable_explanations,
    most_probable_states,
)
from exactlearn.queries.independences import independences
from exactlearn.queries.information import entropy, kl_divergence, mutual_information
from exactlearn.queries.posteriors import joint_posterior, query
from exactlearn.queries.sensitivity import slopes
from exactlearn.reporting.report import facts, plain_table, posterior_table

MOST_SLOPES = 20
"""Parameters that a sensitivity analysis lists, the steepest first."""


MOST_NODES = 100
"""Nodes whose contexts are printed."""

LEAST_SLOPE = 1e-12
"""What is less is rounding: the posterior does not depend on the parameter."""


Answered = tuple[str, Any, Any]
"""Key and value in the record, and a table."""


@ended_by_signal()
def run(options: Query, output: Output) -> None:
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
            answer_classes(model, table, class_name, output)
        else:
            answer_rows(model, table, targets or None, output)
        return
    known = _evidence(options)
    answer = query(model, known, targets or None)
    found = list(_answers(model, known, options)) if options.asks_more else []
    record = {
        "posterior": answer.posterior,
        "probability_of_evidence": answer.probability_of_evidence,
        **{key: value for key, value, _ in found},
    }
    output.save(record)
    likelihood = facts(probability_of_evidence=f"{answer.probability_of_evidence:.6g}")
    tables = [part for *_, table in found for part in (table, "")]
    marginals = [] if found and not targets else [posterior_table(answer.posterior), ""]
    output.answer(record, *marginals, *tables, likelihood)


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


def _answers(model: Model, evidence: Evidence, options: Query) -> Iterator[Answered]:
    """Yield the answer to each question; a network is compiled once for all."""
    graph = compile_network(model) if isinstance(model, BayesianNetwork) else model
    if options.joint is not None:
        yield _joint(graph, names_in(options.joint, "--joint"), evidence)
    if options.best is not None:
        found = most_probable_explanations(graph, evidence, options.best)
        yield "explanations", [_explanation_record(e) for e in found], _explanation_table(found)
    if options.map_ is not None:
        best = most_probable_states(graph, names_in(options.map_, "--map"), evidence)
        record = {**_explanation_record(best.best), "bound": best.bound, "status": best.status}
        yield "map", record, _explanation_table([best.best])
    if options.draws is not None:
        drawn = sample_rows(
            conditional(graph, evidence)[0], options.draws, np.random.default_rng(options.seed)
        )
        rows = drawn[:, : graph.n_variables]  # without the component of a naive Bayes model
        named = [[graph.states[v][s] for v, s in enumerate(row)] for row in rows.tolist()]
        samples = [dict(zip(graph.names, row, strict=True)) for row in named]
        yield "samples", samples, plain_table(graph.names, named)
    if options.entropy is not None:
        variables = None if options.entropy == "all" else names_in(options.entropy, "--entropy")
        value = entropy(graph, variables, evidence)
        yield "entropy", value, facts(entropy=f"{value:.6g} nats")
    if options.information is not None:
        value = _information(graph, options.information, evidence)
        yield "mutual_information", value, facts(mutual_information=f"{value:.6g} nats")
    if options.divergence is not None:
        value = _divergence(graph, options.divergence)
        yield "divergence", value, facts(divergence=f"{value:.6g} nats")
    if options.sensitivity is not None:
        target = next(iter(pairs((options.sensitivity,), "--sensitivity").items()))
        yield _sensitivity(as_graph(graph), target, evidence)
    if options.independences:
        yield _independences(graph, list(options.targets), evidence)


def names_in(text: str, option: str) -> list[str]:
    """Return the names in ``A,B``.

    Raises
    ------
    OptionError
        When one is empty.
    """
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise OptionError(f"{option} {text!r}: expected names joined by commas, as in 'A,B'")
    return names


def _joint(graph: Model, names: list[str], evidence: Evidence) -> Answered:
    table = joint_posterior(graph, names, evidence)
    states = [graph.states[graph.index(name)] for name in names]
    rows = [
        ([states[i][s] for i, s in enumerate(where)], float(p))
        for where, p in np.ndenumerate(table)
    ]
    record = [{"states": dict(zip(names, row, strict=True)), "probability": p} for row, p in rows]
    shown = ([*row, f"{p:.6f}"] for row, p in rows)
    return "joint", record, plain_table([*names, "probability"], shown, right=("probability",))


def _information(graph: Model, text: str, evidence: Evidence) -> float:
    sets, bar, given = text.partition("|")
    first, semicolon, second = sets.partition(";")
    if not semicolon:
        raise OptionError(f"--information {text!r}: expected 'A,B;C' or 'A,B;C|D'")
    one, other = names_in(first, "--information"), names_in(second, "--information")
    known = names_in(given, "--information") if bar else []
    return mutual_information(graph, one, other, known, evidence)


def _divergence(graph: Model, path: Path) -> float:
    other = read_model(path)
    compiled = compile_network(other) if isinstance(other, BayesianNetwork) else other
    return kl_divergence(graph, compiled)


def _sensitivity(graph: DecisionGraph, target: tuple[str, str], evidence: Evidence) -> Answered:
    found = slopes(graph, target, evidence)
    steepest = np.argsort(-np.abs(np.nan_to_num(found)), kind="stable")[:MOST_SLOPES]
    nodes = np.searchsorted(graph.parameter_offsets, steepest, side="right") - 1
    record = []
    for place, node in zip(steepest.tolist(), nodes.tolist(), strict=True):
        variable = int(graph.variable[node])
        if abs(found[place]) > LEAST_SLOPE:
            record.append(
                {
                    "variable": graph.names[variable],
                    "node": node,
                    "state": graph.states[variable][place - int(graph.parameter_offsets[node])],
                    "parameter": float(graph.parameters[place]),
                    "slope": float(found[place]),
                }
            )
    shown = (
        [r["variable"], str(r["node"]), r["state"], f"{r['parameter']:.6g}", f"{r['slope']:.6g}"]
        for r in record
    )
    columns = ("variable", "node", "state", "parameter", "slope")
    return "sensitivity", record, plain_table(columns, shown, right=("node", "parameter", "slope"))


def _independences(model: Model, targets: list[str], evidence: Evidence) -> Answered:
    found = independences(model, targets or None, evidence)
    shown: list[Any] = [one.describe(10 if targets else 3) for one in found]
    if targets:
        rows = [row for one in found for row in one.rows()]
        columns = ("node", "distribution", "probabilities")
        shown += ["", plain_table(columns, rows[:MOST_NODES])]
        if len(rows) > MOST_NODES:
            shown.append(f"and {len(rows) - MOST_NODES} more nodes: --json has all")
    return "independences", [one.to_dict() for one in found], Group(*shown)


def _explanation_record(explanation: Explanation) -> dict[str, Any]:
    return {
        "states": explanation.states,
        "probability": explanation.probability,
        "log_probability": explanation.log_probability,
    }


def _explanation_table(found: list[Explanation]) -> Any:
    names = list(found[0].states)
    rows = ([*e.states.values(), f"{e.probability:.6g}"] for e in found)
    return plain_table([*names, "probability"], rows, right=("probability",))
