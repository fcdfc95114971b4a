r"""Bayesian networks in the Interchange Format (BIF), version 0.15, as public networks use it.

::

    network asia { }
    variable smoke { type discrete [ 2 ] { yes, no }; }
    variable lung { type discrete [ 2 ] { yes, no }; }
    probability ( smoke ) { table 0.5, 0.5; }
    probability ( lung | smoke ) { (yes) 0.1, 0.9; (no) 0.01, 0.99; }

Commas and the bar count as blanks, comments are ``//`` and ``/* */``, ``property`` statements are
read and dropped. Names with blanks or marks may stand in double quotes, where a backslash guards
the next character. Few other programs read these. The words they read are letters, digits, ``_``
and ``-``; pyAgrum and pgmpy also read points, whole numbers as states, and names that begin with
digits where these cannot begin a number. Neither reads a name in quotes, nor a keyword of the
format as a name; pgmpy takes variables that differ only in case for one, and ``table5`` or
``default-x`` for the beginning of a table. Any other name is written as a similar word, all words
of a list different, and a property, which other programs skip, keeps the name itself::

    variable age {
      type discrete [ 2 ] { lteq2.5, gt2.5 };
      property exactlearn_states = "<\u003d2.5", ">2.5" ;
    }

Rows ``(states of the parents) probabilities`` may come in any order; ``default``
gives the rows that are not listed. A ``table`` of a variable with parents counts through the
parents fastest and through the variable's own states slowest, as the format's definition has it.
Probabilities are kept as written: rows that sum to one within 1e-6 are not rescaled, so that
writing and reading again gives the same bits. A row that was rounded, and sums to one within 0.001
only, is divided by its sum.
"""

import json
import os
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.files import atomic_write, read_text
from exactlearn.bayesnet.network import BayesianNetwork, NetworkLike
from exactlearn.errors import DataError, FormatError, OptionError
from exactlearn.formats._bif_reader import NetworkReader
from exactlearn.formats._interchange import STATES_KEY, VARIABLE_KEY, distinct, spelt
from exactlearn.instances import locate

_KEYWORDS = "network|variable|probability|property|type|discrete|default|table"
# What pgmpy takes for the beginning of a table, wherever it stands.
_TABLE = r"(table|default)(?=[-+.0-9eE])"
_WORD = re.compile(
    rf"(?!(?:{_KEYWORDS})\Z)(?!.*{_TABLE})(?![0-9]+[eE])[0-9]*[A-Za-z_][A-Za-z0-9_.-]*"
)
_WHOLE = re.compile(r"[+-]?[0-9]+")
# Marks that end a property, begin a comment or part its key from its value in some program.
_ACTIVE = re.compile(r"[;/{}=]")


@checked_arguments()
def read_bif(path: str | os.PathLike[str]) -> BayesianNetwork:
    """Read a network from a BIF file.

    Parameters
    ----------
    path
        File to read, compressed by gzip or not; or the name of a bundled network, as ``asia``.

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
    >>> el.read_bif("asia")
    BayesianNetwork(variables=8, arcs=8, parameters=18)
    """
    return parse_bif(read_text(locate(path, ".bif")), os.fspath(path))


def parse_bif(text: str, source: str = "BIF text") -> BayesianNetwork:
    """Read a network from BIF text; errors name ``source``. See :func:`read_bif`.

    Examples
    --------
    >>> text = "variable a { type discrete [2] { <5, 5+ }; } probability (a) { table .3 .7; }"
    >>> parse_bif(text).states
    (('<5', '5+'),)
    """
    try:
        return NetworkReader(text, source).read()
    except OptionError as error:
        raise FormatError(f"{source}: {error}") from error


@checked_arguments()
def write_bif(
    network: NetworkLike,
    path: str | os.PathLike[str],
    *,
    name: str = "unknown",
    comment: str = "",
) -> None:
    """Write a network as a BIF file, in one step; reading it gives the same network, bit for bit.

    Parameters
    ----------
    network
        Network to write.
    path
        File to write or replace; packed when its name ends in ``.gz``.
    name
        Name of the network in the file, where it becomes a word of the format.
    comment
        Text for the top of the file, such as the source of the network; may have several lines.

    Raises
    ------
    OptionError
        When the file cannot be written.
    DataError
        When the comment holds half a surrogate pair, which no file can hold.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_bif("asia")
    >>> el.write_bif(network, "copy.bif")
    >>> el.read_bif("copy.bif") == network
    True
    """
    text = format_bif(network, name=name, comment=comment)
    try:
        atomic_write(path, text)
    except UnicodeEncodeError as error:
        raise DataError(
            f"the comment holds {error.object[error.start]!r}, which is no character of UTF-8: "
            "remove it"
        ) from error


def format_bif(network: BayesianNetwork, *, name: str = "unknown", comment: str = "") -> str:
    """Return a network as BIF text. See :func:`write_bif`."""
    remarks = "".join(f"// {line}".rstrip() + "\n" for line in comment.splitlines())
    names = variable_words(network.names)
    states = list(map(state_words, network.states))
    variables = "".join(_variable(network, i, names, states) for i in range(network.n_variables))
    statements = "".join(_statement(network, i, names, states) for i in range(network.n_variables))
    return f"{remarks}network {network_word(name)} {{\n}}\n{variables}{statements}"


def _variable(network: BayesianNetwork, i: int, names: list[str], states: list[list[str]]) -> str:
    """Return one variable's declaration."""
    pairs = (
        (VARIABLE_KEY, [names[i]], [network.names[i]]),
        (STATES_KEY, states[i], list(network.states[i])),
    )
    properties = "".join(
        f"  {true_name_property(key, true)}\n" for key, words, true in pairs if words != true
    )
    count, listed = len(states[i]), ", ".join(states[i])
    return f"variable {names[i]} {{\n  type discrete [ {count} ] {{ {listed} }};\n{properties}}}\n"


def _statement(network: BayesianNetwork, i: int, names: list[str], states: list[list[str]]) -> str:
    """Return one variable's probability statement."""
    family, table = network.parents[i], network.tables[i]
    if not family:
        return f"probability ( {names[i]} ) {{\n  table {_numbers(table)};\n}}\n"
    given = ", ".join(names[j] for j in family)
    # The first parent counts fastest, as in the bnlearn repository: not all go by the states.
    rows = "".join(
        f"  ({', '.join(states[j][s] for j, s in zip(family, where[::-1], strict=True))}) "
        f"{_numbers(table[where[::-1]])};\n"
        for where in np.ndindex(table.shape[-2::-1])
    )
    return f"probability ( {names[i]} | {given} ) {{\n{rows}}}\n"


def _numbers(row: NDArray[np.float64]) -> str:
    return ", ".join(map(repr, row.tolist()))


def variable_words(names: Sequence[str]) -> list[str]:
    """Return a word for each variable; no two differ in case only.

    Examples
    --------
    >>> variable_words(["smoke", "table", "a b", "a.b", "a|b", "SMOKE", "2e"])
    ['smoke', 'table_', 'a_b', 'a.b', 'a_b_2', 'SMOKE_2', '_2e']
    """
    plain = [name if _WORD.fullmatch(name) else "" for name in names]
    return distinct(plain, names, str.lower, _like)


def state_words(names: Sequence[str]) -> list[str]:
    """Return a word for each state of a variable.

    Examples
    --------
    >>> state_words(["0", "-1", "<=2.5", "(2.5, 4.1]", "Asy/Patch"])
    ['0', '-1', 'lteq2.5', '_2.5_4.1_', 'Asy_Patch']
    """
    plain = [name if _WORD.fullmatch(name) or _WHOLE.fullmatch(name) else "" for name in names]
    return distinct(plain, names, str, _like)


def network_word(name: str) -> str:
    """Return a word for the name of a network; pgmpy looks for declarations inside it."""
    word = _like(name)
    return "unknown" if re.search("variable|probability", word) else word


def true_name_property(key: str, names: Sequence[str]) -> str:
    r"""Return the property that holds names as they are, as JSON strings of plain text.

    Examples
    --------
    >>> print(true_name_property(STATES_KEY, ["<5", "n/a"]))
    property exactlearn_states = "<5", "n\u002fa" ;
    """
    return f"property {key} = {', '.join(map(_guarded, names))} ;"


def _guarded(name: str) -> str:
    return _ACTIVE.sub(lambda mark: f"\\u{ord(mark[0]):04x}", json.dumps(name))


def _like(name: str) -> str:
    """Return a word like a name."""
    near = re.sub(_TABLE, r"\1_", spelt(name, "A-Za-z0-9_.-"))
    if re.fullmatch(_KEYWORDS, near):
        return near + "_"
    return near if _WORD.fullmatch(near) else "_" + near
