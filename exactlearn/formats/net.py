"""Bayesian networks in the net language of HUGIN; GeNIe, pyAgrum, pgmpy and bnlearn read it too.

::

    net { }
    node smoke { states = ( "yes" "no" ); }
    potential ( lung | smoke ) { data = (( 0.1 0.9 )( 0.01 0.99 )); }

Comments are ``%``, ``//`` (GeNIe's) and ``/* */``. Data count through the states of the variable
fastest and through those of the first parent slowest; their inner brackets say nothing more. Names
of nodes are letters, digits and underscores, those of states strings. Continuous nodes, decisions,
utilities, functions and classes are refused, other attributes dropped.
"""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.files import atomic_write, place, read_text
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import FormatError
from exactlearn.formats._interchange import Declared, Words, network_of, require_new

_KEYWORDS = (
    "net|class|node|discrete|continuous|decision|utility|function|potential|data|normal|states|"
    "label|position|name|inputs|outputs|instance"
)
# A name that ends in 'node' makes pgmpy take the next word for another node.
_NAME = re.compile(rf"(?!(?:{_KEYWORDS})\Z)(?!.*node\Z)[A-Za-z_][A-Za-z0-9_]*", re.IGNORECASE)
# pgmpy parts states at blanks, commas and brackets; '/' may begin a comment.
_STATE = re.compile(r"[A-Za-z0-9_.<>=+:*!?&'#@^~$-]+")
_WORDS = Words(_NAME, _STATE)
_COMMENT = r"%[^\n]*|//[^\n]*|/\*.*?\*/"
_TOKEN = re.compile(
    rf"\s+|{_COMMENT}|" r'("(?:[^"\\]|\\.)*+"|(?:[^\s{}()=;|"%/]|/(?![/*]))+|.)', re.DOTALL
)
_GUARDED = re.compile(r'\\(["\\])')


def read_net(path: Path) -> BayesianNetwork:
    """Read a network.

    Raises
    ------
    FormatError
        When the file does not follow the format, or has more than discrete nodes; names line and
        column.
    OptionError
        When the file cannot be read.
    """
    return _Reader(path).read()


def write_net(network: BayesianNetwork, path: Path) -> None:
    """Write a network in one step; reading it gives the same network, bit for bit.

    Raises
    ------
    OptionError
        When the file cannot be written.
    """
    lines = ["net", "{", "}"]
    written = _WORDS.of(network)
    for own in written:
        states = " ".join(f'"{state}"' for state in own.states)
        properties = (f'  {key} = "{value}";' for key, value in own.properties.items())
        lines += [f"node {own.name}", "{", f"  states = ( {states} );", *properties, "}"]
    for own, parents, table in zip(written, network.parents, network.tables, strict=True):
        given = "".join(f" {written[parent].name}" for parent in parents)
        lines.append(f"potential ( {own.name}{' |' if given else ''}{given} )")
        lines += ["{", f"  data = {_bracketed(table)};", "}"]
    atomic_write(path, "\n".join(lines) + "\n")


class _Reader:
    """Reads the statements of a file."""

    def __init__(self, path: Path) -> None:
        self.path, self.text = path, read_text(path)
        found = (m for m in _TOKEN.finditer(self.text) if m[1])
        self.tokens = [(m[1], m.start()) for m in found] + [("", len(self.text))]
        self.at = 0

    def read(self) -> BayesianNetwork:
        states: dict[str, dict[str, list[str]]] = {}
        tables: dict[str, tuple[list[str], list[str]]] = {}
        while self.tokens[self.at][0]:
            word = self._take(
                "'net', 'node' or 'potential'", "net", "discrete", "node", "potential"
            )
            if word == "net":
                self._attributes()
            elif word == "node":
                name = self._take("a name")
                require_new(self.path, name, states)
                states[name] = self._attributes()
            elif word == "potential":
                self._take("'('", "(")
                name, *parents = self._until(")")
                require_new(self.path, name, tables)
                tables[name] = (parents, self._attributes().get("data", []))
        if strange := [name for name in tables if name not in states]:
            raise FormatError(f"{self.path}: the potential of {strange[0]!r} has no node; add it")
        return network_of(
            self.path,
            {
                name: Declared(
                    own.get("states", []),
                    *tables.get(name, ([], [])),
                    {key: value[0] for key, value in own.items() if value},
                )
                for name, own in states.items()
            },
        )

    def _take(self, expected: str, *words: str) -> str:
        """Go past a word, one of those given, and return it."""
        word, start = self.tokens[self.at]
        if not word or (word not in words if words else word in '{}()=;|"'):
            found = repr(word[:40]) if word else "the end of the text"
            raise FormatError(
                f"{place(self.path, self.text, start)}: expected {expected}, found {found}; only "
                "networks of discrete nodes are read"
            )
        self.at += 1
        return word

    def _until(self, end: str) -> list[str]:
        """Go past the next mark that is the end; return the words before it."""
        first = self.at
        while self.tokens[self.at][0] not in (end, ""):
            self.at += 1
        words = [_unquoted(word) for word, _ in self.tokens[first : self.at] if word not in "()|"]
        self._take(repr(end), end)
        if not words:
            self.at = first
            self._take("a name")
        return words

    def _attributes(self) -> dict[str, list[str]]:
        """Read ``{ key = values ; ... }``."""
        self._take("'{'", "{")
        found = {}
        while self.tokens[self.at][0] != "}":
            key = self._take("an attribute or '}'")
            self._take("'='", "=")
            found[key] = self._until(";")
        self.at += 1
        return found


def _unquoted(word: str) -> str:
    return _GUARDED.sub(r"\1", word[1:-1]) if word[0] == '"' else word


def _bracketed(table: NDArray[np.float64]) -> str:
    """Return numbers in nested brackets, one pair for each parent."""
    if table.ndim == 1:
        return f"( {' '.join(map(repr, table.tolist()))} )"
    return f"({' '.join(map(_bracketed, table))})"
