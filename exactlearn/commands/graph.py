"""``exactlearn graph``: a structure, its equivalence class, its independences and a reference."""

from collections.abc import Iterable, Iterator
from typing import Any

from exactlearn._runtime.control import ended_by_signal
from exactlearn._runtime.files import suffix_of
from exactlearn.commands.answer import Answer
from exactlearn.commands.declarations import Graph
from exactlearn.commands.declared_constraints import independence, listed
from exactlearn.commands.evaluate import structure_facts
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
from exactlearn.reporting.plot import FIGURES, write_figure
from exactlearn.reporting.report import facts, plain_table

Answered = tuple[str, Any, Any]
"""A key of the record, its value, and its table."""


@ended_by_signal()
def run(options: Graph, output: Output) -> Answer:
    """Run the command."""
    require_suffix(output.path, (".json", *FIGURES))
    named = read_graph(options.source)
    if options.to is not None:
        named = named.as_kind(options.to)
    record, tables = _structure(named)
    for key, value, table in _answers(named, options):
        record[key] = value
        tables += ["", table]
    if output.path is not None:
        _write(named, record, output)
    return Answer(record=record, tables=tables)


def _structure(named: NamedGraph) -> tuple[dict[str, Any], list[Any]]:
    """Return what the graph and its class are."""
    parents, own = named.parents, cpdag(named.parents)
    colliders = sorted(v_structures(parents))
    record = {
        **graph_record(named),
        "class_size": own.size,
        "reversible": _pairs(named, sorted(own.undirected)),
        "v_structures": [[named.names[v] for v in triple] for triple in colliders],
    }
    notes = {arc: "reversible" for a, b in own.undirected for arc in ((a, b), (b, a))}
    covered = covered_edges(parents) if named.kind == "dag" else ()
    if named.kind == "dag":
        record["covered"] = _pairs(named, covered)
        notes |= dict.fromkeys(covered, "reversible, covered")
    summary = facts(
        kind=named.kind,
        variables=str(len(named.names)),
        arcs=str(len(named.arcs)),
        edges=str(len(named.edges) or ""),
        class_size=str(own.size),
        reversible=str(len(own.undirected)),
        covered=str(len(covered) or ""),
        v_structures=str(len(colliders)),
    )
    links = [(arc, "->") for arc in sorted(named.graph.directed)]
    links += [(edge, "--") for edge in sorted(named.graph.undirected)]
    rows = ((named.names[a], sign, named.names[b], notes.get((a, b), "")) for (a, b), sign in links)
    shown = plain_table(("from", "", "to", "in the class"), rows)
    return record, [summary, "", shown] if links else [summary]


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
        text = f"{size.total} classes: {size.upper} with one edge more, {size.lower} with one less"
        yield "inclusion_boundary", value, facts(inclusion_boundary=text)
    if options.reference is not None:
        reference = read_graph(options.reference, named.names)
        found = compare_structures(named.graph, reference.graph)
        yield "comparison", vars(found), facts(**structure_facts(found))


def _blanket(named: NamedGraph, name: str) -> Answered:
    v, parents = named.index(name), named.parents
    found = {
        "variable": name,
        "parents": _names(named, parents[v]),
        "children": _names(named, children(parents)[v]),
        "markov_blanket": _names(named, markov_blanket(parents, v)),
    }
    shown = {key: ", ".join(found[key]) or "-" for key in ("parents", "children", "markov_blanket")}
    return "blanket", found, facts(variable=name, **shown)


def _separated(named: NamedGraph, entry: str, given: str) -> Answered:
    variables = listed(entry, "--separated", named.names)
    known = listed(given, "--given", named.names)
    if both := _names(named, set(variables) & set(known)):
        raise OptionError(f"--given: {both[0]!r} is in --separated, too: give it in one of them")
    found = _names(named, d_separated(named.parents, variables, known))
    statement = {"variables": _names(named, variables), "given": _names(named, known)}
    text = f"{_sides(statement)}: {', '.join(found) or 'no variable'}"
    return "separated", {**statement, "separated": found}, facts(separated_from=text)


def _independent(named: NamedGraph, entry: str) -> Answered:
    asked = independence(entry, named.names)
    trail = active_trail(named.parents, asked.left, asked.right, asked.given)
    statement = {
        "variables": _names(named, asked.left | asked.right),
        "given": _names(named, asked.given),
    }
    found: dict[str, Any] = {**statement, "independent": trail is None}
    text = f"yes: {_sides(statement)}"
    if trail is not None:
        found["active_trail"] = _pairs(named, sorted(trail))
        arcs = ", ".join(f"{a} -> {b}" for a, b in found["active_trail"])
        text = f"no: {_sides(statement)}; active trail {arcs}"
    return "independence", found, facts(independent=text)


def _sides(statement: dict[str, list[str]]) -> str:
    given = f" given {', '.join(statement['given'])}" if statement["given"] else ""
    return f"{', '.join(statement['variables'])}{given}"


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
