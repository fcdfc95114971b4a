"""Commands that ask: ``query`` asks a model, ``graph`` a structure."""

from functools import partial
from typing import Any

import exactlearn as el
from exactlearn._runtime.control import ended_by_signal
from exactlearn._runtime.files import suffix_of
from exactlearn.commands.declarations import Graph, Query
from exactlearn.commands.declared_constraints import independence
from exactlearn.commands.output import Answer, Output, require_suffix
from exactlearn.formats.graph_file import graph_record
from exactlearn.formats.models import read_model
from exactlearn.graphs.d_separation import active_trail
from exactlearn.graphs.dag import children
from exactlearn.graphs.equivalence import v_structures
from exactlearn.queries.evidence import as_graph
from exactlearn.reporting.drawing import structure_drawing
from exactlearn.reporting.records import named_arcs
from exactlearn.reporting.svg_picture import FIGURES, write_figure


@ended_by_signal()
def run_query(options: Query, output: Output) -> Answer:
    """Answer what a model says of one case."""
    require_suffix(output.path, (".json",))
    model, evidence, targets = read_model(options.source), options.evidence, options.targets
    found = el.query(model, evidence, targets or None)
    record: dict[str, Any] = {
        "evidence": dict(evidence),
        "posterior": found.posterior,
        "probability_of_evidence": found.probability_of_evidence,
    }
    if options.best is not None:
        listed = el.most_probable_explanations(as_graph(model), evidence, options.best)
        record["explanations"] = [vars(one) for one in listed]
    if options.independences:
        stated = el.independences(model, evidence, targets or None)
        record["statements"] = [one.describe(10 if targets else 3) for one in stated]
        record["independences"] = [one.to_dict() for one in stated]
    output.save(record)
    is_hidden = len(record) > 3 and not targets
    shown = {key: v for key, v in record.items() if not (is_hidden and key == "posterior")}
    return Answer(record=record, shown=shown)


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
