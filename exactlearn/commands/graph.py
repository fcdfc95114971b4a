"""``exactlearn graph``: a structure, its equivalence class, its independences and a reference."""

from collections.abc import Iterable, Iterator
from typing import Any

from exactlearn._runtime.control import ended_by_signal
from exactlearn._runtime.files import suffix_of
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Graph
from exactlearn.commands.declared_constraints import independence, listed
from exactlearn.commands.output import Output, require_suffix
from exactlearn.errors import OptionError
from exactlearn.formats.graph_file import graph_record, read_graph
from exactlearn.graphs.comparison import compare_structures
from exactlearn.graphs.d_separation import active_trail, d_separated
from exactlearn.graphs.dag import children, markov_blanket
from exactlearn.graphs.equivalence import Arc, covered_edges, cpdag, v_structures
from exactlearn.graphs.inclusion_boundary import inclusion_boundary_size
from exactlearn.graphs.named_graph import NamedGraph
from exactlearn.reporting.drawing import structure_drawing
from exactlearn.reporting.svg_picture import FIGURES, write_figure

Answered = tuple[str, Any]
"""A key of the record, and its value."""


@ended_by_signal()
def run(options: Graph, output: Output) -> Answer:
    """Run the command."""
    require_suffix(output.path, (".json", *FIGURES))
    named = read_graph(options.source)
    if options.to is not None:
        named = named.as_kind(options.to)
    record = _structure(named) | dict(_answers(named, options))
    if output.path is not None:
        _write(named, record, output)
    return Answer(record=record)


def _structure(named: NamedGraph) -> dict[str, Any]:
    """Return what the graph and its class are."""
    parents, own = named.parents, cpdag(named.parents)
    colliders = sorted(v_structures(parents))
    record = {
        **graph_record(named),
        "class_size": own.size,
        "reversible": _pairs(named, sorted(own.undirected)),
        "v_structures": [[named.names[v] for v in triple] for triple in colliders],
    }
    if named.kind == "dag":
        record["covered"] = _pairs(named, covered_edges(parents))
    return record


def _answers(named: NamedGraph, options: Graph) -> Iterator[Answered]:
    """Yield what else is asked."""
    if options.variable is not None:
        yield _blanket(named, options.variable)
    if options.separated is not None:
        yield _separated(named, options.separated, options.given or "")
    if options.independent is not None:
        yield _independent(named, options.independent)
    if options.boundary:
        size = inclusion_boundary_size(named.parents)
        value = {**size._asdict(), "total": size.total}
        yield "inclusion_boundary", value
    if options.reference is not None:
        reference = read_graph(options.reference, named.names)
        found = compare_structures(named.graph, reference.graph)
        yield "comparison", vars(found)


def _blanket(named: NamedGraph, name: str) -> Answered:
    v, parents = named.index(name), named.parents
    found = {
        "variable": name,
        "parents": _names(named, parents[v]),
        "children": _names(named, children(parents)[v]),
        "markov_blanket": _names(named, markov_blanket(parents, v)),
    }
    return "blanket", found


def _separated(named: NamedGraph, entry: str, given: str) -> Answered:
    variables = listed(entry, "--separated", named.names)
    known = listed(given, "--given", named.names)
    if both := _names(named, set(variables) & set(known)):
        raise OptionError(f"--given: {both[0]!r} is in --separated, too: give it in one of them")
    found = _names(named, d_separated(named.parents, variables, known))
    statement = {"variables": _names(named, variables), "given": _names(named, known)}
    return "separated", {**statement, "separated": found}


def _independent(named: NamedGraph, entry: str) -> Answered:
    asked = independence(entry, named.names)
    trail = active_trail(named.parents, asked.left, asked.right, asked.given)
    statement = {
        "variables": _names(named, asked.left | asked.right),
        "given": _names(named, asked.given),
    }
    found: dict[str, Any] = {**statement, "independent": trail is None}
    if trail is not None:
        found["active_trail"] = _pairs(named, sorted(trail))
    return "independence", found


def _write(named: NamedGraph, record: dict[str, Any], output: Output) -> None:
    assert output.path is not None
    if suffix_of(output.path) == ".json":
        output.save(record)
        return
    write_figure(structure_drawing(named), output.path)
    output.wrote(output.path)


def _names(named: NamedGraph, variables: Iterable[int]) -> list[str]:
    return [named.names[v] for v in sorted(variables)]


def _pairs(named: NamedGraph, arcs: Iterable[Arc]) -> list[list[str]]:
    return [[named.names[a], named.names[b]] for a, b in arcs]
