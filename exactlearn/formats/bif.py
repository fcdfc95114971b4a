r"""Bayesian networks in the Interchange Format (BIF), version 0.15, as public networks use it.

::

    network asia { }
    variable smoke { type discrete [ 2 ] { yes, no }; }
    variable lung { type discrete [ 2 ] { yes, no }; }
    probability ( smoke ) { table 0.5, 0.5; }
    probability ( lung | smoke ) { (yes) 0.1, 0.9; (no) 0.01, 0.99; }

Commas and the bar count as blanks, comments are ``//`` and ``/* */``, ``property`` statements are
read and dropped, and keywords may be in any case. Names with blanks or marks may stand in double
quotes, where a backslash guards the next character. pgmpy writes names with blanks without them:
where blanks cannot separate the names of a list, commas alone do.

Few other programs read quotes. The words they read are letters, digits, ``_`` and ``-``; pyAgrum
and pgmpy also read points, whole numbers as states, and names that begin with digits where these
cannot begin a number. Neither reads a name in quotes, nor a keyword of the format as a name; pgmpy
takes variables that differ only in case for one, and ``table5`` or ``default-x`` for the beginning
of a table.
Any other name is written as a similar word, all words
of a list different, and a property, which other programs skip, keeps the name itself::

    variable age {
      type discrete [ 2 ] { lteq2.5, gt2.5 };
      property exactlearn_states = "%3C%3D2.5|%3E2.5" ;
    }

Rows ``(states of the parents) probabilities`` may come in any order; ``default``
gives the rows that are not listed. A ``table`` of a variable with parents counts through the
parents fastest and through the variable's own states slowest, as the format's definition has it.
Probabilities are kept as written: rows that sum to one within 1e-6 are not rescaled, so that
writing and reading again gives the same bits. A row that was rounded, and sums to one within 0.001
only, is divided by its sum, and entries down to -1e-6 are zero.
"""

import math
import os
import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.files import atomic_write, read_text
from exactlearn.bayesnet.network import LARGEST_TABLE, BayesianNetwork, NetworkLike
from exactlearn.errors import did_you_mean
from exactlearn.formats._declarations import Declarations
from exactlearn.formats._interchange import (
    Grammar,
    Tokens,
    Words,
    Written,
    rendered,
    spelt,
    unquoted,
)
from exactlearn.instances import locate

GRAMMAR = Grammar("{}()[];")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

_TEMPLATE = """\
network unknown {
}
{% for variable in variables %}
variable {{ variable.name }} {
  type discrete [ {{ variable.states | length }} ] { {{ variable.states | join(", ") }} };
{% for key, value in variable.properties.items() %}
  property {{ key }} = "{{ value }}" ;
{% endfor %}
}
{% endfor %}
{% for variable in variables %}
probability ( {{ variable.name }}
{%- if variable.parents %} | {{ variable.parents | join(", ", "name") }}{% endif %} ) {
{% for states, numbers in rows(variable) %}
  {{ states }} {{ numbers | join(", ") }};
{% endfor %}
}
{% endfor %}
"""

_KEYWORDS = "network|variable|probability|property|type|discrete|default|table"
# What pgmpy takes for the beginning of a table, wherever it stands.
_TABLE = r"(table|default)(?=[-+.0-9eE])"
_WORD = re.compile(
    rf"(?!(?:{_KEYWORDS})\Z)(?!.*{_TABLE})(?![0-9]+[eE])[0-9]*[A-Za-z_][A-Za-z0-9_.-]*"
)


@checked_arguments()
def read_bif(
    path: str | os.PathLike[str], *, normalise: bool = False
) -> BayesianNetwork:
    """Read a network from a BIF file.

    Parameters
    ----------
    path
        File to read, compressed by gzip or not; or the name of a bundled network, as ``asia``.
    normalise
        Divide each row of probabilities by its sum: for counts and percentages.

    Returns
    -------
    network
        Variables in the order of their declarations, parents in the order of the probability
        statements, probabilities as written.

    Raises
    ------
    FormatError
        When the text is not BIF or contradicts itself; names file, line and column, or the
        variables of a directed cycle.
    OptionError
        When the file cannot be read.

    Examples
    --------
    >>> import exactlearn as el
    >>> el.read_network("asia")
    BayesianNetwork(variables=8, arcs=8, parameters=18)
    """
    return parse_bif(
        read_text(locate(path, ".bif")), os.fspath(path), normalise=normalise
    )


def parse_bif(
    text: str, source: str = "BIF text", *, normalise: bool = False
) -> BayesianNetwork:
    """Read a network from BIF text; errors name ``source``. See :func:`read_bif`.

    Examples
    --------
    >>> text = "variable a { type discrete [2] { <5, 5+ }; } probability (a) { table .3 .7; }"
    >>> parse_bif(text).states
    (('<5', '5+'),)
    """
    tokens = Tokens(text, source, GRAMMAR)
    declared = Declarations(source, normalise=normalise)
    pending: list[int] = []
    while word := tokens.next.lower():
        tokens.at += 1
        if word == "network":
            if tokens.next != "{":
                tokens.take_name("the network's name or '{'")
            tokens.take("{")
            _properties(tokens)
            tokens.take("}")
        elif word == "variable":
            _read_variable(tokens, declared)
        elif word == "probability":  # it may stand before the declaration of a parent
            pending.append(tokens.at)
            tokens.take_until("}")
        elif word == "property":
            tokens.take_until(";")
        else:
            expected = "'network', 'variable', 'probability' or 'property'"
            raise tokens.expected(expected, tokens.at - 1)
    # All variables are declared now.
    for tokens.at in pending:
        _read_probabilities(tokens, declared)
    return declared.network()


def _properties(tokens: Tokens) -> dict[str, str]:
    """Go past all ``property key = value ;`` that come next; return the value of each key."""
    properties: dict[str, str] = {}
    while tokens.next.lower() == "property":
        tokens.at += 1
        key, *values = map(unquoted, tokens.take_until(";") or [""])
        properties[key] = "".join(values).removeprefix("=")
    return properties


def _read_variable(tokens: Tokens, declared: Declarations) -> None:
    """Read ``name { type discrete [ count ] { states }; }``."""
    fault = tokens.fault_at(tokens.at)
    # A name that pgmpy writes may have blanks and no quotes.
    name = tokens.take_name("a variable's name")
    while tokens.next not in GRAMMAR.marks:
        name += " " + tokens.take_name("'{'")
    tokens.take("{")
    properties = _properties(tokens)
    # The number of the states.
    tokens.take("type", "discrete", "[")
    count = tokens.next
    if not re.fullmatch("0*[1-9][0-9]{0,8}", count):
        raise tokens.expected("the number of states", tokens.at)
    # Their names, as many as the number says.
    tokens.take(count, "]", "{")
    start = tokens.at
    while tokens.next != "}":
        tokens.take_name("a state's name or '}'")
    tokens.take("}")
    states = tokens.listed(start, lambda names: len(names) == int(count))
    if len(states) != int(count):
        raise tokens.error(
            f"expected {int(count)} states of {name!r}, found {len(states)}: correct the number in "
            "brackets, or put double quotes around names that hold blanks, commas or marks",
            start,
        )
    tokens.take(";")
    declared.add(name, states, properties | _properties(tokens), fault)
    tokens.take("}")


def _read_probabilities(tokens: Tokens, declared: Declarations) -> None:
    """Read ``( variable | parents ) { table }``."""
    tokens.take("(")
    start = tokens.at
    tokens.take_name("a variable's name")
    while tokens.next != ")":
        tokens.take_name("a variable's name or ')'")
    tokens.take(")")
    family = tokens.listed(
        start, lambda names: all(name in declared.states for name in names)
    )
    for k, name in enumerate(family):
        if name not in declared.states:
            hint = did_you_mean(name, declared.states)
            raise tokens.error(f"variable {name!r} is not declared{hint}", start + k)
    # The size of the tables is bounded before one is made.
    tokens.take("{")
    child, *parents = family
    size = math.prod(len(declared.states[name]) for name in family)
    size += sum(map(len, declared.numbers.values()))
    if size > LARGEST_TABLE:
        raise tokens.error(
            f"with the table of {child!r}, of {len(parents)} parents, the network has {size} "
            f"entries, expected at most {LARGEST_TABLE}: give it fewer parents"
        )
    variables = [(name, declared.states[name]) for name in (*parents, child)]
    table = _Table(tokens, variables).read()
    declared.add_table(child, parents, table.ravel(), tokens.fault_at(start))


class _Table:
    """The text between the braces of a probability statement.

    Parameters
    ----------
    tokens
        Text, its next token just past the opening brace.
    variables
        Name and states of each parent, in the order of the table, then of the variable itself.
    """

    def __init__(
        self, tokens: Tokens, variables: Sequence[tuple[str, Sequence[str]]]
    ) -> None:
        self.tokens = tokens
        *self.parents, (self.child, _) = variables
        self.table = np.zeros([len(states) for _, states in variables])
        self.is_given = np.zeros(self.table.shape[:-1], np.bool_)

    def read(self) -> NDArray[np.float64]:
        """Return the table, parents' axes first, and leave the closing brace next."""
        tokens = self.tokens
        n_states = self.table.shape[-1]
        default = None
        while (word := tokens.next.lower()) != "}":
            tokens.at += 1
            if word == "(":
                row = self._row()
                self._give(row, self._numbers(n_states))
            elif word == "table":
                # The parents count fastest, the variable's own states slowest.
                shape = (n_states, *self.is_given.shape)
                numbers = self._numbers(self.table.size).reshape(shape)
                self._give((), np.moveaxis(numbers, 0, -1))
            elif word == "default":
                default = self._numbers(n_states)
            elif word == "property":
                tokens.take_until(";")
            else:
                expected = "'table', 'default', 'property', '}' or a row '(states) probabilities'"
                raise tokens.expected(expected, tokens.at - 1)
        # The rows that are not listed have the default.
        if default is not None:
            self.table[~self.is_given] = default
        elif not self.is_given.all():
            first = np.argwhere(~self.is_given)[0].tolist()
            pairs = zip(self.parents, first, strict=True)
            states_of_row = ", ".join(states[k] for (_, states), k in pairs)
            raise tokens.error(
                f"the probabilities of {self.child!r} lack {np.sum(~self.is_given)} of "
                f"{self.is_given.size} rows, first ({states_of_row}): add them, or a row 'default'"
            )
        return self.table

    def _give(self, row: tuple[int, ...], numbers: NDArray[np.float64]) -> None:
        """Enter the probabilities of a row, or of all rows at once, which have none so far."""
        if np.any(self.is_given[row]):
            message = (
                "rows are given twice: leave either this one or what stands before it"
            )
            raise self.tokens.error(message, self.tokens.at - 1)
        self.table[row] = numbers
        self.is_given[row] = True

    def _row(self) -> tuple[int, ...]:
        """Read ``states of the parents )``; return the place of each state."""
        start = self.tokens.at
        self.tokens.take_until(")")
        row = self.tokens.listed(start, self._fits)
        if len(row) != len(self.parents):
            names = ", ".join(name for name, _ in self.parents)
            raise self.tokens.error(
                f"expected one state of each of {len(self.parents)} parents in this row, found "
                f"{len(row)}: give the states of {names or 'none'}",
                start,
            )
        place: list[int] = []
        for state, (name, states) in zip(row, self.parents, strict=True):
            if state not in states:
                raise self.tokens.error(
                    f"parent {name!r} has no state {state!r}{did_you_mean(state, states)}",
                    start + len(place),
                )
            place.append(states.index(state))
        return tuple(place)

    def _fits(self, row: Sequence[str]) -> bool:
        """Return whether a row has one state of each parent."""
        return len(row) == len(self.parents) and all(
            state in states
            for state, (_, states) in zip(row, self.parents, strict=True)
        )

    def _numbers(self, count: int) -> NDArray[np.float64]:
        """Read this many probabilities and the semicolon."""
        start = self.tokens.at
        words = self.tokens.take_until(";")
        for k, word in enumerate(words, start):
            if not _NUMBER.fullmatch(word):
                raise self.tokens.expected("a probability or ';'", k)
        if len(words) != count:
            raise self.tokens.error(
                f"expected {count} probabilities of {self.child!r} here, found {len(words)}: "
                "give one for each state",
                start,
            )
        return np.array(words, np.float64)


@checked_arguments()
def write_bif(network: NetworkLike, path: str | os.PathLike[str]) -> None:
    """Write a network as a BIF file, in one step; reading it gives the same network, bit for bit.

    Parameters
    ----------
    network
        Network to write.
    path
        File to write or replace; packed when its name ends in ``.gz``.

    Raises
    ------
    OptionError
        When the file cannot be written.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("asia")
    >>> el.write_model(network, "copy.bif")
    >>> el.read_network("copy.bif") == network
    True
    """
    atomic_write(path, format_bif(network))


def format_bif(network: BayesianNetwork) -> str:
    """Return a network as BIF text. See :func:`write_bif`."""
    return rendered(_TEMPLATE, variables=WORDS.of(network), rows=_rows)


def _rows(variable: Written) -> Iterator[tuple[str, list[float]]]:
    """Yield the states of the parents, and the probabilities, of each row of a table."""
    # The first parent counts fastest, as in the bnlearn repository: not all go by the states.
    for reversed_row in np.ndindex(variable.table.shape[-2::-1]):
        row = reversed_row[::-1]
        pairs = zip(variable.parents, row, strict=True)
        states = ", ".join(parent.states[state] for parent, state in pairs)
        yield f"({states})" if row else "table", variable.table[row].tolist()


def _spelling(name: str) -> str:
    return re.sub(_TABLE, r"\1_", spelt(name, "A-Za-z0-9_.-"))


WORDS = Words(_WORD, re.compile(rf"{_WORD.pattern}|[+-]?[0-9]+"), str.lower, _spelling)
"""Words that the format and the programs that read it hold; no two variables differ in case only.

Examples
--------
>>> WORDS.of_variables(["smoke", "table", "a b", "a.b", "a|b", "SMOKE", "2e"])
['smoke', '_table', 'a_b', 'a.b', 'a_b_2', 'SMOKE_2', '_2e']
>>> WORDS.of_states(["0", "-1", "<=2.5", "(2.5, 4.1]", "Asy/Patch"])
['0', '-1', 'lteq2.5', '_2.5_4.1_', 'Asy_Patch']
"""
