"""Graphs as JSON files: directed acyclic graphs, patterns and CPDAGs; missingness graphs as text.

A file has pairs of names, and may have other keys::

    {"kind": "cpdag", "variables": ["a", "b", "c"], "arcs": [], "edges": [["a", "b"]]}

or, as the record of a learner, the key ``parents``. The structure of a network file is read as
well. A missingness graph is a text with one statement for each variable with missing cells, as
:mod:`exactlearn.data.missingness_graph` defines it::

    income <- age, income
    children <- missing(income)
"""

import json
import os
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from exactlearn._runtime.argument_kinds import refusal
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.files import atomic_write, read_json, read_text, suffix_of
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.errors import FormatError, OptionError
from exactlearn.formats import Format, are_texts, format_of, writer_of
from exactlearn.formats.content import expecting
from exactlearn.formats.models import NETWORKS, read_network
from exactlearn.graphs.equivalence import Kind, NamedGraph
from exactlearn.instances import locate


def read_graph(
    path: str | os.PathLike[str], names: Sequence[str] | None = None
) -> NamedGraph:
    """Read a graph, or the structure of a network, in the format of the suffix.

    Parameters
    ----------
    path
        A graph or the record of a learner (``.json``), a network (``.bif``, ``.net``, ...) or
        the name of a bundled one; ``.gz`` may follow.
    names
        The variables that it must have, in the order that they are to have; else that of the file.

    Raises
    ------
    FormatError
        When the file does not follow its format, or holds no DAG, pattern or CPDAG.
    OptionError
        When the file cannot be read, its suffix names no format, or its variables are others.

    Examples
    --------
    >>> import exactlearn as el
    >>> el.write_graph(el.read_network("asia").structure, "asia.json")
    >>> el.read_graph("asia.json") == el.read_network("asia").structure
    True
    """
    file = locate(path, ".bif")
    expected = f"a graph or a network ({', '.join(FORMATS)})"
    with expecting(file, "a graph or a network", FORMATS):
        graph = format_of(file, FORMATS, expected).read(file)
    try:
        return graph if names is None else graph.reordered(names)
    except OptionError as error:
        raise OptionError(f"{path}: {error}") from None


def _as_graph(value: Any, name: str) -> NamedGraph:
    """Return a graph, or that of an object as its structure."""
    for graph in (value, getattr(value, "structure", None)):
        if isinstance(graph, NamedGraph):
            return graph
    raise refusal(
        name, "a NamedGraph, or what has one as its structure", value, "pass a network"
    )


@checked_arguments(named=_as_graph)
def write_graph(named: NamedGraph, path: str | os.PathLike[str]) -> None:
    """Write a graph, or the structure of a network or a result, in the format of the suffix.

    Raises
    ------
    OptionError
        When the suffix names no format of graphs, or the file cannot be written.

    Examples
    --------
    >>> import exactlearn, tempfile, pathlib
    >>> chain = exactlearn.NamedGraph.of(("a", "b", "c"), [(), (0,), (1,)])
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "chain.json"
    >>> exactlearn.write_graph(chain.as_kind("cpdag"), file)
    >>> exactlearn.read_graph(file).edges
    (('a', 'b'), ('b', 'c'))
    """
    writer_of(Path(path), FORMATS, "a file for a graph")(named, Path(path))


def graph_record(named: NamedGraph) -> dict[str, Any]:
    """Return a graph's kind, variables, arcs and edges, as JSON files hold them."""
    return {
        "kind": named.kind,
        "variables": list(named.names),
        "arcs": [list(arc) for arc in named.arcs],
        "edges": [list(edge) for edge in named.edges],
    }


def _read_json(path: Path) -> NamedGraph:
    """Read a graph, or the record of a learner, whose parents are those of a DAG."""
    content = read_json(path)
    graph = content if isinstance(content, dict) else {}
    if graph.get("kind") not in get_args(Kind):
        graph = _graph_of_parents(graph.get("parents"))
    # Arcs and edges are pairs of names.
    arcs: Any = graph.get("arcs")
    edges: Any = graph.get("edges")
    are_lists = isinstance(arcs, list) and isinstance(edges, list)
    pairs = [*arcs, *edges] if are_lists else [None]
    are_pairs = all(are_texts(pair) and len(pair) == 2 for pair in pairs)
    if not are_pairs or not are_texts(graph.get("variables")):
        raise FormatError(
            f"{path}: expected an object with the key 'parents', from each variable to the list "
            "of its parents, as 'exactlearn solve --json' prints it, or a graph such as "
            '{"kind": "cpdag", "variables": ["a", "b"], "arcs": [], "edges": [["a", "b"]]}'
        )
    try:
        return NamedGraph.linked(graph["variables"], arcs, edges, graph["kind"])
    except OptionError as error:
        raise FormatError(f"{path}: {error}") from None


def _graph_of_parents(parents: Any) -> dict[str, Any]:
    """Return the graph of a record's parents as an object of a file; empty where it has none."""
    if not isinstance(parents, dict) or not all(map(are_texts, parents.values())):
        return {}
    arcs = [[parent, v] for v, family in parents.items() for parent in family]
    return {"kind": "dag", "variables": [*parents], "arcs": arcs, "edges": []}


def _write_json(named: NamedGraph, path: Path) -> None:
    text = json.dumps(graph_record(named), ensure_ascii=False, indent=2)
    atomic_write(path, text + "\n")


def _read_structure(path: Path) -> NamedGraph:
    """Read the structure of a network, whose probabilities do not count."""
    network = read_network(path, normalise=NETWORKS[suffix_of(path)].normalises)
    return NamedGraph.of(network.names, network.parents)


STRUCTURES: dict[str, Format[NamedGraph]] = {
    ".json": Format(_read_json, _write_json),
}
"""Formats of graphs without parameters by the suffix of the file."""

FORMATS: dict[str, Format[NamedGraph]] = {
    **STRUCTURES,
    **dict.fromkeys(NETWORKS, Format(_read_structure)),
}
"""Formats of graphs by the suffix of the file."""


def read_missingness(source: str | os.PathLike[str]) -> MissingnessGraph:
    """Read a missingness graph from a file, or from the text itself.

    Parameters
    ----------
    source
        The text of a graph, which has an arrow ``<-``; else a file.

    Raises
    ------
    FormatError
        When the text or the file does not follow its format; says where.
    OptionError
        When the file cannot be read, or the graph contradicts itself.

    Examples
    --------
    >>> read_missingness("income <- age; children <- missing(income)").variables
    ('income', 'children')
    """
    if isinstance(source, str) and "<-" in source:
        return MissingnessGraph.parse(source)
    path = Path(source)
    if not os.fspath(source):
        raise OptionError(
            "missingness graph: expected a file or a text such as 'income <- age'"
        )
    with expecting(path, "a missingness graph"):
        text = read_text(path)
        try:
            return MissingnessGraph.parse(text)
        except (FormatError, OptionError) as error:
            raise type(error)(f"{path}: {error}") from None


def write_missingness(graph: MissingnessGraph, path: str | os.PathLike[str]) -> None:
    """Write a missingness graph in one step, a statement a line.

    Raises
    ------
    OptionError
        When the file cannot be written; when a name holds a sign of the grammar.

    Examples
    --------
    >>> import exactlearn as el
    >>> write_missingness(el.MissingnessGraph.parse("lung <- smoke"), "missingness.txt")
    >>> read_missingness("missingness.txt").kind
    'MAR'
    """
    for name in chain(graph.causes, *graph.causes.values()):
        if name != name.strip() or re.search(r"[,;\n]|<-|^missing *\(", name):
            raise OptionError(
                f"missingness graph: the name {name!r} cannot be written, for it has spaces at its "
                "ends or one of ',', ';', '<-' or 'missing('; rename the variable, or pass the "
                "MissingnessGraph itself in Python"
            )
    atomic_write(path, "".join(f"{statement}\n" for statement in graph.statements))
