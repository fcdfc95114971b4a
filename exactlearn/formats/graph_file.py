"""Graphs as files: directed acyclic graphs, patterns and CPDAGs, in JSON, DOT or plain text.

JSON has pairs of names, and may have other keys::

    {"kind": "cpdag", "variables": ["a", "b", "c"], "arcs": [], "edges": [["a", "b"]]}

or, as the record of a learner, the key ``parents``. DOT is that of :mod:`exactlearn.formats.dot`. A
text has a line for each arc ``->`` and each undirected edge ``--``, and may list variables; a name
of more than letters, digits and ``_.:/+-`` stands in quotes, as in JSON; the kind of the graph is
seen from its edges::

    a b "third variable"  # the order of the variables
    a -- b
    b -> "third variable"

The structure of a network file is read as well.
"""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from exactlearn._runtime.arguments import checked_arguments, refusal
from exactlearn._runtime.files import atomic_write, read_text
from exactlearn._runtime.json_file import read_json
from exactlearn.errors import FormatError, OptionError
from exactlearn.formats import Format, format_of, writer_of
from exactlearn.formats.dot import read_dot, write_dot
from exactlearn.formats.models import NETWORKS, read_network
from exactlearn.graphs.named_graph import Kind, NamedGraph
from exactlearn.instances import locate

_QUOTED = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u00[01][0-9a-fA-F]))*+"'
_NAME = rf"{_QUOTED}|\w(?:(?!->|--)[\w.:/+-])*+"
_LINE = re.compile(rf"\s*(?P<from>{_NAME})\s*(?P<sign>->|--)\s*(?P<to>{_NAME})\s*(?:\#.*)?")
_LIST = re.compile(rf"\s*(?:(?:{_NAME})(?:\s+|(?=\#)|\Z))*+(?:\#.*)?")


def read_graph(path: str | os.PathLike[str], names: Sequence[str] | None = None) -> NamedGraph:
    """Read a graph, or the structure of a network, in the format of the suffix.

    Parameters
    ----------
    path
        A graph (``.json``, ``.dot``, ``.gv``, ``.txt``), the record of a learner (``.json``), a
        network (``.bif``, ``.net``, ...) or the name of a bundled one; ``.gz`` may follow.
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
    >>> el.write_graph(el.read_bif("asia").structure, "asia.json")
    >>> el.read_graph("asia.json") == el.read_bif("asia").structure
    True
    """
    file = locate(path, ".bif")
    found = format_of(file, FORMATS, f"a graph or a network ({', '.join(FORMATS)})").read(file)
    try:
        return found if names is None else found.reordered(names)
    except OptionError as error:
        raise OptionError(f"{path}: {error}") from None


def _as_graph(value: Any, name: str) -> NamedGraph:
    found = value if isinstance(value, NamedGraph) else getattr(value, "structure", None)
    if isinstance(found, NamedGraph):
        return found
    raise refusal(name, "a NamedGraph, or what has one as its structure", value, "pass a network")


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
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "chain.txt"
    >>> exactlearn.write_graph(chain.as_kind("cpdag"), file)
    >>> print(file.read_text())
    a b c
    a -- b
    b -- c
    <BLANKLINE>
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
    content = read_json(path)
    if _is_graph(content):
        graph = (content[key] for key in ("variables", "arcs", "edges", "kind"))
        return _linked(path, *graph)
    parents = content.get("parents") if isinstance(content, dict) else None
    if not isinstance(parents, dict) or not all(map(_is_list_of_texts, parents.values())):
        raise FormatError(
            f"{path}: expected an object with the key 'parents', from each variable to the list "
            "of its parents, as 'exactlearn solve --json' prints it, or a graph such as "
            '{"kind": "cpdag", "variables": ["a", "b"], "arcs": [], "edges": [["a", "b"]]}'
        )
    arcs = [(parent, child) for child, family in parents.items() for parent in family]
    return _linked(path, parents, arcs, (), "dag")


def _linked(path: Path, *graph: Any) -> NamedGraph:
    try:
        return NamedGraph.linked(*graph)
    except OptionError as error:
        raise FormatError(f"{path}: {error}") from None


def _is_graph(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and content.get("kind") in get_args(Kind)
        and all(isinstance(content.get(key), list) for key in ("variables", "arcs", "edges"))
        and _is_list_of_texts(content["variables"])
        and all(
            _is_list_of_texts(pair) and len(pair) == 2
            for pair in (*content["arcs"], *content["edges"])
        )
    )


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _write_json(named: NamedGraph, path: Path) -> None:
    atomic_write(path, json.dumps(graph_record(named), ensure_ascii=False, indent=2) + "\n")


def _read_text(path: Path) -> NamedGraph:
    names: dict[str, None] = {}
    links: dict[str, list[tuple[str, str]]] = {"->": [], "--": []}
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if linked := _LINE.fullmatch(line):
            link = _unquoted(linked["from"]), _unquoted(linked["to"])
            links[linked["sign"]].append(link)
            names |= dict.fromkeys(link)
        elif _LIST.fullmatch(line):
            words = (word for word in re.findall(f"{_NAME}|#.*", line) if word[0] != "#")
            names |= dict.fromkeys(map(_unquoted, words))
        else:
            raise FormatError(
                f"{path}, line {number}: expected an arc 'a -> b', an edge 'a -- b' or names of "
                f"variables, found {line.strip()!r}; names with other signs stand in double quotes"
            )
    return _linked(path, names, links["->"], links["--"])


def _write_text(named: NamedGraph, path: Path) -> None:
    lines = [" ".join(map(_quoted, named.names))]
    lines += [f"{_quoted(a)} -> {_quoted(b)}" for a, b in named.arcs]
    lines += [f"{_quoted(a)} -- {_quoted(b)}" for a, b in named.edges]
    atomic_write(path, "".join(f"{line}\n" for line in lines))


def _quoted(name: str) -> str:
    is_plain = re.fullmatch(_NAME, name) and name[0] != '"'
    return name if is_plain else json.dumps(name, ensure_ascii=False)


def _unquoted(name: str) -> str:
    return str(json.loads(name)) if name.startswith('"') else name


def _read_structure(path: Path) -> NamedGraph:
    network = read_network(path)
    return NamedGraph.of(network.names, network.parents)


FORMATS: dict[str, Format[NamedGraph]] = {
    ".json": Format(_read_json, _write_json),
    ".dot": Format(read_dot, write_dot),
    ".gv": Format(read_dot, write_dot),
    ".txt": Format(_read_text, _write_text),
    **dict.fromkeys(NETWORKS, Format(_read_structure)),
}
"""Formats of graphs by the suffix of the file."""
