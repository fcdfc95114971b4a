"""Commands that ask: ``query`` asks a model, ``graph`` a structure."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import exactlearn as el
from exactlearn._runtime.control import ended_by_signal
from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn.commands.declarations import Graph, Query
from exactlearn.commands.declared_constraints import independence
from exactlearn.commands.output import Answer, Output, require_suffix
from exactlearn.commands.tables import load
from exactlearn.data.dataset import unknown_columns
from exactlearn.formats.graph_file import graph_record
from exactlearn.formats.models import read_model
from exactlearn.formats.table import read_table
from exactlearn.graphs.d_separation import active_trail
from exactlearn.graphs.dag import children
from exactlearn.graphs.equivalence import v_structures
from exactlearn.instances import locate
from exactlearn.queries.evidence import Model, as_graph
from exactlearn.reporting.drawing import structure_drawing
from exactlearn.reporting.records import named_arcs
from exactlearn.reporting.svg_picture import FIGURES, write_figure


@ended_by_signal()
def run_query(options: Query, output: Output) -> Answer:
    """Answer what a model says, for one case or for each row of a table."""
    targets = list(options.targets) or None
    require_suffix(output.path, (".json", ".csv", ".tsv")[: 1 if options.data is None else 3])
    if options.data is not None:
        return _answer_rows(options, targets, output)
    model, evidence = read_model(options.source), options.evidence
    found = el.query(model, evidence, targets)
    record: dict[str, Any] = {
        "posterior": found.posterior,
        "probability_of_evidence": found.probability_of_evidence,
    }
    if options.best is not None:
        listed = el.most_probable_explanations(as_graph(model), evidence, options.best)
        record["explanations"] = [vars(one) for one in listed]
    if options.independences:
        stated = el.independences(model, evidence, targets)
        record["statements"] = [one.describe(10 if targets else 3) for one in stated]
        record["independences"] = [one.to_dict() for one in stated]
    output.save(record)
    is_hidden = len(record) > 2 and not targets
    shown = {key: v for key, v in record.items() if not (is_hidden and key == "posterior")}
    return Answer(record=record, shown=shown)


def _answer_rows(options: Query, targets: list[str] | None, output: Output) -> Answer:
    """Answer the posteriors of the targets, or the class, for each row."""
    model, record = read_model(options.source), dict[str, Any]()
    is_json = output.path is None or suffix_of(output.path) == ".json"
    table, values = _cases(options, model, output), list[Any]()
    if options.class_ is None:
        answers = el.query_rows(model, table, targets)
        parts = [*zip(answers.names, answers.states, answers.posteriors, strict=True)]
        logs = answers.log_probability_of_evidence
        key, values, impossible = "log_probability_of_evidence", logs.tolist(), np.isneginf(logs)
        record["log_likelihood"] = float(logs.sum())
    else:
        found = el.classify(model, table, options.class_)
        parts, impossible = [(found.name, found.states, found.posterior)], found.predicted < 0
        key, values = "predicted", [(*found.states, None)[k] for k in found.predicted.tolist()]
        record |= {
            "class": found.name,
            "labelled": int((found.labels >= 0).sum()),
            "accuracy": found.accuracy,
            "log_loss": found.log_loss,
        }
    if impossible.any():
        place = table.row_place(int(impossible.argmax())).capitalize()
        output.note(
            f"{place}, one of {impossible.sum()}: no posterior, since what is observed has "
            "probability zero; correct the cells, or smooth the model's parameters"
        )
    record["rows"] = rows = [
        {"row": k, **({} if table.lines is None else {"line": int(table.lines[k])}), key: value}
        for k, value in enumerate(values)
    ]
    for name, states, posterior in parts:
        for row, own in zip(rows, posterior.tolist(), strict=True):
            row.setdefault("posterior", {})[name] = dict(zip(states, own, strict=True))
    if options.class_ is not None:
        for row in rows:
            row["posterior"] = row["posterior"][options.class_]

    def write(path: Path) -> None:
        import pandas as pd  # takes long to import

        columns = [f"{name}={state}" for name, states, _ in parts for state in states]
        frame = pd.DataFrame(np.hstack([posterior for *_, posterior in parts]), columns=columns)
        frame.insert(0, key, values)
        separator = "\t" if suffix_of(path) == ".tsv" else ","
        text = frame.replace(-np.inf, np.nan).to_csv(
            sep=separator, index=False, lineterminator="\n"
        )
        atomic_write(path, text)

    output.save(record, write=None if is_json else write)
    return Answer(record=record)


def _cases(options: Query, model: Model, output: Output) -> el.Dataset:
    """Read a table with the states of the model; columns that are no variables are left out."""
    path = locate(options.data or "", ".csv")
    (text,) = read_table(path, options.header, options.separator)
    names = options.names or [column.name for column in text.columns]
    others = {*options.drop, *options.discretise, options.weights}
    states = dict(zip(model.names, model.states, strict=True))
    strange = [name for name in names if name not in states and name not in others]
    absent = [name for name in model.names if name not in names]
    kept = {name: own for name, own in states.items() if name in names and name not in others}
    if not kept and not options.discretise:
        raise unknown_columns(names, model.names)
    if strange:
        output.note(f"Columns that are no variables of the model: {', '.join(strange)}")
    if absent:
        output.note(f"Variables that are no columns, missing in every row: {', '.join(absent)}")
    drop, declared = (*options.drop, *strange), {**kept, **options.states}
    return load(path, replace(options, drop=drop, states=declared))


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
        "v_structures": [[names[v] for v in triple] for triple in sorted(v_structures(parents))],
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
        blanket = {key: [names[u] for u in sorted(found)] for key, found in known.items()}
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
        record["comparison"] = vars(el.graphs.compare_structures(named.graph, reference.graph))
    is_drawn = output.path is not None and suffix_of(output.path) in FIGURES
    draw = partial(write_figure, structure_drawing(named))
    output.save(record, write=draw if is_drawn else None)
    return Answer(record=record)
