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

from exactlearn._runtime.files import atomic_write, read_text
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.formats._interchange import Declarations, Grammar, Tokens, Words, unquoted

_KEYWORDS = (
    "net|class|node|discrete|continuous|decision|utility|function|potential|data|normal|states|"
    "label|position|name|inputs|outputs|instance"
)
# A name that ends in 'node' makes pgmpy take the next word for another node.
_NAME = re.compile(rf"(?!(?:{_KEYWORDS})\Z)(?!.*node\Z)[A-Za-z_][A-Za-z0-9_]*", re.IGNORECASE)
# pgmpy parts states at blanks, commas and brackets; '/' may begin a comment.
_STATE = re.compile(r"[A-Za-z0-9_.<>=+:*!?&'#@^~$-]+")
_WORDS = Words(_NAME, _STATE)
_GRAMMAR = Grammar("{}()=;", comment="%")


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
    tokens = Tokens(read_text(path), path, _GRAMMAR)
    declared = Declarations(path, tokens.error)
    while word := tokens.next:
        tokens.at += 1
        if word == "net":
            _attributes(tokens)
        elif word == "node":
            name, found = tokens.take_name("a name"), _attributes(tokens)
            properties = {key: value[0] for key, value in found.items()}
            declared.add(name, found.get("states", []), properties)
        elif word == "potential":
            tokens.take("(")
            name, *parents = _values(tokens, ")")
            declared.add_table(name, parents, _attributes(tokens).get("data", []))
        elif word != "discrete":
            hint = "; only networks of discrete nodes are read"
            raise tokens.expected("'net', 'node' or 'potential'", tokens.at - 1, hint)
    return declared.network()


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


def _attributes(tokens: Tokens) -> dict[str, list[str]]:
    """Read ``{ key = values ; ... }``."""
    tokens.take("{")
    found = {}
    while tokens.next != "}":
        key = tokens.take_name("an attribute or '}'")
        tokens.take("=")
        found[key] = _values(tokens, ";")
    tokens.at += 1
    return found


def _values(tokens: Tokens, end: str) -> list[str]:
    """Go past the next mark that is the end; return the words before it."""
    start = tokens.at
    words = [unquoted(word) for word in tokens.take_until(end) if word not in "()"]
    if not words:
        raise tokens.expected("a name", start)
    return words


def _bracketed(table: NDArray[np.float64]) -> str:
    """Return numbers in nested brackets, one pair for each parent."""
    if table.ndim == 1:
        return f"( {' '.join(map(repr, table.tolist()))} )"
    return f"({' '.join(map(_bracketed, table))})"
