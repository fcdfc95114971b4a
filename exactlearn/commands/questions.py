"""Queries beyond posterior marginals; each answer is a key of the record.

An answer is a record for JSON and tables for people.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from exactlearn.commands.declarations import Query
from exactlearn.commands.declare import pairs
from exactlearn.errors import OptionError
from exactlearn.formats.models import read_model
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.inference.sample import sample_rows
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.queries.evidence import Evidence, Model, conditional
from exactlearn.queries.explanations import (
    Explanation,
    most_probable_explanations,
    most_probable_states,
)
from exactlearn.queries.information import entropy, kl_divergence, mutual_information
from exactlearn.queries.posteriors import joint_posterior
from exactlearn.queries.sensitivity import slopes
from exactlearn.reporting.report import facts, plain_table

MOST_SLOPES = 20
"""Parameters that a sensitivity analysis tells, the steepest first."""

LEAST_SLOPE = 1e-12
"""What is less is rounding: the posterior does not depend on the parameter."""


Answered = tuple[str, Any, Any]
"""Key and value in the record, and a table."""


def answers(model: Model, evidence: Evidence, asked: Query) -> Iterator[Answered]:
    """Yield the answer to each question asked; a network is compiled once for all."""
    graph = model if isinstance(model, DecisionGraph) else compile_network(model)
    if asked.joint is not None:
        yield _joint(graph, names_in(asked.joint, "--joint"), evidence)
    if asked.best is not None:
        found = most_probable_explanations(graph, evidence, asked.best)
        yield "explanations", [_told(e) for e in found], _explanation_table(found)
    if asked.map_ is not None:
        best = most_probable_states(graph, names_in(asked.map_, "--map"), evidence)
        record = {**_told(best.best), "bound": best.bound, "status": best.status}
        yield "map", record, _explanation_table([best.best])
    if asked.draws is not None:
        rows = sample_rows(
            conditional(graph, evidence)[0], asked.draws, np.random.default_rng(asked.seed)
        )
        named = [[graph.states[v][s] for v, s in enumerate(row)] for row in rows.tolist()]
        samples = [dict(zip(graph.names, row, strict=True)) for row in named]
        yield "samples", samples, plain_table(graph.names, named)
    if asked.entropy is not None:
        variables = None if asked.entropy == "all" else names_in(asked.entropy, "--entropy")
        value = entropy(graph, variables, evidence)
        yield "entropy", value, facts(entropy=f"{value:.6g} nats")
    if asked.information is not None:
        value = _information(graph, asked.information, evidence)
        yield "mutual_information", value, facts(mutual_information=f"{value:.6g} nats")
    if asked.divergence is not None:
        value = _divergence(graph, asked.divergence)
        yield "divergence", value, facts(divergence=f"{value:.6g} nats")
    if asked.sensitivity is not None:
        target = next(iter(pairs((asked.sensitivity,), "--sensitivity").items()))
        yield _sensitivity(graph, target, evidence)


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


def _joint(graph: DecisionGraph, names: list[str], evidence: Evidence) -> Answered:
    table = joint_posterior(graph, names, evidence)
    states = [graph.states[graph.index(name)] for name in names]
    rows = [
        ([states[i][s] for i, s in enumerate(where)], float(p))
        for where, p in np.ndenumerate(table)
    ]
    record = [{"states": dict(zip(names, row, strict=True)), "probability": p} for row, p in rows]
    shown = ([*row, f"{p:.6f}"] for row, p in rows)
    return "joint", record, plain_table([*names, "probability"], shown, right=("probability",))


def _information(graph: DecisionGraph, text: str, evidence: Evidence) -> float:
    sets, bar, given = text.partition("|")
    first, semicolon, second = sets.partition(";")
    if not semicolon:
        raise OptionError(f"--information {text!r}: expected 'A,B;C' or 'A,B;C|D'")
    one, other = names_in(first, "--information"), names_in(second, "--information")
    known = names_in(given, "--information") if bar else []
    return mutual_information(graph, one, other, known, evidence)


def _divergence(graph: DecisionGraph, path: Path) -> float:
    other = read_model(path)
    compiled = other if isinstance(other, DecisionGraph) else compile_network(other)
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


def _told(explanation: Explanation) -> dict[str, Any]:
    return {
        "states": explanation.states,
        "probability": explanation.probability,
        "log_probability": explanation.log_probability,
    }


def _explanation_table(found: list[Explanation]) -> Any:
    names = list(found[0].states)
    rows = ([*e.states.values(), f"{e.probability:.6g}"] for e in found)
    return plain_table([*names, "probability"], rows, right=("probability",))
