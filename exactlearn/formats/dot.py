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
from typing import NamedTuple, NoReturn, cast, get_args

from exactlearn._runtime.files import atomic_write, place, read_text
from exactlearn.errors import FormatError, OptionError
from exactlearn.graphs.named_graph import Kind, NamedArc, NamedGraph

_TOKEN = re.compile(
    r"""(?:\s|//[^\n]*|/\*.*?\*/|^\#[^\n]*)*+
    (?: (?P<text>"(?:[^"\\]|\\.)*+")
      | (?P<word>[^\W\d]\w*+|-?(?:\.\d+|\d+(?:\.\d*)?))
      | (?P<sign>->|--|[{}\[\];,=])
      | (?P<end>\Z) )""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_LETTER = {"n": "\n", "\n": ""}


def read_dot(path: Path) -> NamedGraph:
    """Read a graph.

    Raises
    ------
    FormatError
        When the file does not follow the format; names line and column.
    OptionError
        When the file cannot be read.
    """
    return _Reader(path, read_text(path)).graph()


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


class _Token(NamedTuple):
    """A word, a quoted string or a sign, and where it stands; an empty sign ends the text."""

    text: str
    at: int
    is_name: bool


class _Reader:
    """Reads the statements of a graph one after the other."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text
        self._labels: dict[str, str] = {}
        self._arcs: list[NamedArc] = []
        self._edges: list[NamedArc] = []
        self._kind: str | None = None
        self._next = _Token("", 0, False)
        self._end = 0
        self._take()

    def graph(self) -> NamedGraph:
        """Read the whole text."""
        self._skip("strict")
        if not self._skip("digraph"):
            self._refuse("a directed graph, 'digraph { ... }'")
        if self._next.is_name:
            self._take()
        self._expect("{")
        while not self._skip("}"):
            self._statement()
            self._skip(";")
        self._expect("")
        kind = self._kind
        try:
            if kind not in (None, *get_args(Kind)):
                raise OptionError(f"expected kind=dag, pattern or cpdag, found {kind!r}")
            return NamedGraph.linked(
                self._labels.values(),
                self._labelled(self._arcs),
                self._labelled(self._edges),
                cast("Kind | None", kind),
            )
        except OptionError as error:
            raise FormatError(f"{self._path}: {error}") from None

    def _labelled(self, links: list[NamedArc]) -> list[NamedArc]:
        return [(self._labels[a], self._labels[b]) for a, b in links]

    def _statement(self) -> None:
        first = self._next
        if first.text.lower() == "subgraph" or not first.is_name:
            self._refuse("a variable or an arc; subgraphs are not read")
        name = self._name()
        if self._skip("="):
            self._set({name: self._name()})
        elif first.text.lower() in ("graph", "node", "edge"):
            attributes = self._attributes()
            if first.text.lower() == "graph":
                self._set(attributes)
            if first.text.lower() == "edge" and "dir" in attributes:
                self._refuse("'dir' at each edge, not for all edges")
        else:
            self._linked_or_labelled(name, first)

    def _linked_or_labelled(self, name: str, first: _Token) -> None:
        chain = [name]
        while self._skip("->"):
            chain.append(self._name())
        for one in chain:
            self._labels.setdefault(one, one)
        at = self._next
        attributes = self._attributes()
        if len(chain) == 1 and attributes.get("label", r"\N") != r"\N":
            self._labels[name] = _ESCAPE.sub(
                lambda found: _LETTER.get(found[1], found[1]), attributes["label"]
            )
        direction = attributes.get("dir", "forward")
        if len(chain) > 1 and direction not in ("forward", "none"):
            self._next = at
            self._refuse("dir=none, or an arc without 'dir'")
        links = self._edges if direction == "none" else self._arcs
        links += pairwise(chain)

    def _attributes(self) -> dict[str, str]:
        """Read ``[a=b, c=d]``, as often as it comes."""
        found = {}
        while self._skip("["):
            while not self._skip("]"):
                key = self._name()
                self._expect("=")
                found[key] = self._name()
                _ = self._skip(",") or self._skip(";")
        return found

    def _set(self, attributes: Mapping[str, str]) -> None:
        self._kind = attributes.get("kind", self._kind)

    def _name(self) -> str:
        """Take a word, or a string in whose text only quotes and line ends are escaped."""
        if not self._next.is_name:
            self._refuse("a name")
        text = self._take().text
        if text.startswith('"'):
            return text[1:-1].replace('\\"', '"').replace("\\\n", "")
        return text

    def _expect(self, sign: str) -> None:
        if not self._skip(sign):
            self._refuse(f"'{sign}'" if sign else "nothing after the graph's '}'")

    def _skip(self, text: str) -> bool:
        """Take the next token if it is this one."""
        if self._next.text.lower() != text:
            return False
        self._take()
        return True

    def _take(self) -> _Token:
        """Return the next token, and read that after it."""
        taken, found = self._next, _TOKEN.match(self._text, self._end)
        if found is None:
            self._next = _Token(self._text[self._end :].split()[0], self._end, False)
            self._refuse("a word, a string in quotes or a sign")
        self._end = found.end()
        kind = str(found.lastgroup)
        self._next = _Token(found[kind], found.start(kind), kind in ("text", "word"))
        return taken

    def _refuse(self, expected: str) -> NoReturn:
        found = self._next.text or "the end of the file"
        at = place(self._path, self._text, self._next.at)
        raise FormatError(f"{at}: expected {expected}, found {found!r}")
