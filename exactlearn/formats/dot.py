r"""Graphs in the language of Graphviz: directed graphs whose undirected edges have ``dir=none``.

Written is one statement a variable and one an arc or edge::

    digraph {
      kind=cpdag;
      node [shape=box, style=rounded, fontname="sans-serif"];
      n0 [label="smoke"];
      n1 [label="lung"];
      n0 -> n1 [dir=none];
    }

The kind may be left out. Read is that, what Graphviz's ``dot -Tdot`` makes of it, and what is
written by hand in the same statements: the name of a variable is its node's label, or the node's
own name without one; chains of arcs, comments and all other attributes may be there. Refused are
undirected graphs, subgraphs, ports, labels in HTML, joined strings and other directions of arcs.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import cast, get_args

from exactlearn._runtime.files import atomic_write, place, read_text
from exactlearn.errors import FormatError, OptionError
from exactlearn.graphs.named_graph import Kind, NamedArc, NamedGraph

_ID = r'(?:"(?:[^"\\]|\\.)*+"|[^\W\d]\w*+|-?(?:\.\d+|\d+(?:\.\d*)?))'
_COMMENT = re.compile(rf"{_ID}|//[^\n]*|/\*.*?\*/|^\#[^\n]*", re.DOTALL | re.MULTILINE)
_HEAD = re.compile(rf"\s*(?:strict\s+)?digraph(?:\s+{_ID}|\b)\s*\{{\s*", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(rf"\s*({_ID})\s*=\s*({_ID})\s*[,;]?", re.DOTALL)
_STATEMENT = re.compile(
    rf"""(?: (?P<key>{_ID})\s*=\s*(?P<value>{_ID})
      | (?P<chain>{_ID}(?:\s*->\s*{_ID})*+)\s*
        (?P<attributes>(?:\[(?:{_ATTRIBUTE.pattern})*+\s*\]\s*)*+) )
    \s*;?\s*""",
    re.VERBOSE | re.DOTALL,
)
_END = re.compile(r"\}\s*\Z")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def read_dot(path: Path) -> NamedGraph:
    """Read a graph.

    Raises
    ------
    FormatError
        When the file does not follow the format; names line and column.
    OptionError
        When the file cannot be read.
    """
    text = _COMMENT.sub(_blanked, read_text(path))
    head = _HEAD.match(text)
    if head is None:
        raise FormatError(f"{path}: expected a directed graph, 'digraph {{ ... }}'")
    at, found = head.end(), _Found()
    while statement := _STATEMENT.match(text, at):
        if reason := found.add(statement):
            raise FormatError(f"{place(path, text, at)}: {reason}")
        at = statement.end()
    if not _END.match(text, at):
        raise FormatError(
            f"{place(path, text, at)}: expected a variable such as 'a;', an arc such as 'a -> b;' "
            f"or '}}' and the end, found {text[at : at + 20]!r}; subgraphs, ports and labels in "
            "HTML are not read"
        )
    try:
        return found.graph()
    except OptionError as error:
        raise FormatError(f"{path}: {error}") from None


def write_dot(named: NamedGraph, path: Path) -> None:
    """Write a graph in one step.

    Raises
    ------
    OptionError
        When the file cannot be written.
    """
    arcs = [(arc, "") for arc in sorted(named.graph.directed)]
    edges = [(edge, " [dir=none]") for edge in sorted(named.graph.undirected)]
    lines = [
        "digraph {",
        f"  kind={named.kind};",
        '  node [shape=box, style=rounded, fontname="sans-serif"];',
        *(f"  n{k} [label={quoted(name)}];" for k, name in enumerate(named.names)),
        *(f"  n{a} -> n{b}{marked};" for (a, b), marked in (*arcs, *edges)),
        "}",
    ]
    atomic_write(path, "\n".join(lines) + "\n")


def quoted(text: str) -> str:
    """Return a label as a quoted string of the DOT language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _blanked(found: re.Match[str]) -> str:
    """Return a comment as blanks, which keep the places, and a name as it is."""
    is_comment = found[0].startswith(("//", "/*", "#"))
    return re.sub(r"[^\n]", " ", found[0]) if is_comment else found[0]


class _Found:
    """What the statements so far have said."""

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self.arcs: list[NamedArc] = []
        self.edges: list[NamedArc] = []
        self.kind: str | None = None

    def add(self, statement: re.Match[str]) -> str:
        """Take a statement; return why it cannot be taken, if so."""
        if statement["key"]:
            self._set({_text(statement["key"]): _text(statement["value"])})
            return ""
        chain = re.findall(_ID, statement["chain"], re.DOTALL)
        pairs = _ATTRIBUTE.findall(statement["attributes"])
        attributes = {_text(key): _text(value) for key, value in pairs}
        if len(chain) > 1 or chain[0].lower() not in ("graph", "node", "edge"):
            return self._add_links([_text(name) for name in chain], attributes)
        if chain[0].lower() == "graph":
            self._set(attributes)
        is_for_all = chain[0].lower() == "edge" and "dir" in attributes
        return "expected 'dir' at each edge, not for all" if is_for_all else ""

    def graph(self) -> NamedGraph:
        """Return the graph."""
        if self.kind not in (None, *get_args(Kind)):
            raise OptionError(f"expected kind=dag, pattern or cpdag, found {self.kind!r}")
        arcs, edges = (
            [(self.labels[a], self.labels[b]) for a, b in links]
            for links in (self.arcs, self.edges)
        )
        return NamedGraph.linked(self.labels.values(), arcs, edges, cast("Kind | None", self.kind))

    def _set(self, attributes: Mapping[str, str]) -> None:
        self.kind = attributes.get("kind", self.kind)

    def _add_links(self, names: list[str], attributes: Mapping[str, str]) -> str:
        for name in names:
            self.labels.setdefault(name, name)
        if len(names) == 1:
            label = attributes.get("label", r"\N")
            if label != r"\N":
                self.labels[names[0]] = _ESCAPE.sub(
                    lambda sign: "\n" if sign[1] == "n" else sign[1], label
                )
            return ""
        direction = attributes.get("dir", "forward")
        if direction not in ("forward", "none"):
            return f"expected an arc without 'dir', or dir=none, found dir={direction}"
        links = self.edges if direction == "none" else self.arcs
        links += pairwise(names)
        return ""


def _text(name: str) -> str:
    """Return a word, or a string in which only quotes and ends of lines are escaped."""
    return name[1:-1].replace('\\"', '"').replace("\\\n", "") if name[0] == '"' else name
