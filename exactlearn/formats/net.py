"""Bayesian networks in the net language of HUGIN; GeNIe, pyAgrum, pgmpy and bnlearn read it too.

::

    net { }
    node smoke { states = ( "yes" "no" ); }
    potential ( lung | smoke ) { data = (( 0.1 0.9 )( 0.01 0.99 )); }

Comments are ``%``, ``//`` (GeNIe's) and ``/* */``; keywords may be in any case. Data count through
the states of the variable fastest and through those of the first parent slowest; their inner
brackets say nothing more. Names of nodes are letters, digits and underscores, those of states
strings. Continuous nodes, decisions, utilities, functions and classes are refused, other attributes
dropped, models of tables (``model_data``) among them: ``data`` hold what these compute.
"""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.files import atomic_write, read_text
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.formats._declarations import Declarations
from exactlearn.formats._interchange import Grammar, Tokens, Words, rendered, unquoted

_KEYWORDS = (
    "net|class|node|discrete|continuous|decision|utility|function|potential|data|normal|states|"
    "label|position|name|inputs|outputs|instance"
)
# A name that ends in 'node' makes pgmpy take the next word for another node.
_NAME = re.compile(
    rf"(?!(?:{_KEYWORDS})\Z)(?!.*node\Z)[A-Za-z_][A-Za-z0-9_]*", re.IGNORECASE
)
# pgmpy parts states at blanks, commas and brackets; '/' may begin a comment.
_STATE = re.compile(r"[A-Za-z0-9_.<>=+:*!?&'#@^~$-]+")
_WORDS = Words(_NAME, _STATE)
_GRAMMAR = Grammar("{}()=;", comment="%")

_TEMPLATE = """\
net
{
}
{% for variable in variables %}
node {{ variable.name }}
{
  states = ( {% for state in variable.states %}"{{ state }}" {% endfor %});
{% for key, value in variable.properties.items() %}
  {{ key }} = "{{ value }}";
{% endfor %}
}
{% endfor %}
{% for variable in variables %}
potential ( {{ variable.name }}
{%- if variable.parents %} | {{ variable.parents | join(" ", "name") }}{% endif %} )
{
  data = {{ bracketed(variable.table) }};
}
{% endfor %}
"""


def read_net(path: Path, *, normalise: bool = False) -> BayesianNetwork:
    """Read a network, as :func:`exactlearn.read_network` does.

    Raises
    ------
    FormatError
        When the file does not follow the format, or has more than discrete nodes; names line and
        column.
    OptionError
        When the file cannot be read.
    """
    tokens = Tokens(read_text(path), path, _GRAMMAR)
    declared = Declarations(path, normalise=normalise)
    while word := tokens.next.lower():
        fault = tokens.fault_at(tokens.at)
        tokens.at += 1
        if word == "net":
            _attributes(tokens)  # nothing that a network has here
        elif word == "node":
            name = tokens.take_name("a name")
            attributes = _attributes(tokens)
            states = attributes.get("states")
            if not states:
                raise fault(
                    f"expected the states of node {name!r}, found none: add them between its "
                    'braces, as in states = ("no" "yes");'
                )
            properties = {
                key: "".join(values[:1]) for key, values in attributes.items()
            }
            declared.add(name, states, properties, fault)
        elif word == "potential":
            tokens.take("(")
            start = tokens.at
            family = _values(tokens, ")")
            if not family:
                raise tokens.expected("a name", start)
            numbers = _attributes(tokens).get("data", [])
            declared.add_table(family[0], family[1:], numbers, fault)
        elif word != "discrete":  # which may stand before 'node'
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
    text = rendered(_TEMPLATE, variables=_WORDS.of(network), bracketed=_bracketed)
    atomic_write(path, text)


def _attributes(tokens: Tokens) -> dict[str, list[str]]:
    """Read ``{ key = values ; ... }``."""
    tokens.take("{")
    attributes = {}
    while tokens.next != "}":
        key = tokens.take_name("an attribute or '}'")
        tokens.take("=")
        # An attribute without a value is no attribute.
        if tokens.next == ";":
            raise tokens.expected("a value", tokens.at)
        attributes[key.lower()] = _values(tokens, ";")
    tokens.take("}")
    return attributes


def _values(tokens: Tokens, end: str) -> list[str]:
    """Go past the next mark that is the end; return the words before it."""
    return [unquoted(word) for word in tokens.take_until(end) if word not in "()"]


def _bracketed(table: NDArray[np.float64]) -> str:
    """Return numbers in nested brackets, one pair for each parent."""
    if table.ndim == 1:
        return f"( {' '.join(map(repr, table.tolist()))} )"
    return f"({' '.join(map(_bracketed, table))})"
