"""Bayesian networks in the format of the UAI inference competitions (2008 and later).

::

    BAYES
    2
    2 2
    2
    1 0
    2 0 1

    2
     0.5 0.5

    4
     0.1 0.9 0.01 0.99

These are: the kind, the number of variables, their numbers of states, the number of tables, for
each table its variables, the child last, and for each table its numbers, the last variable counted
through fastest. The format has no names: variables are read as ``v0``, ``v1``, ..., their states as
``0``, ``1``, .... Numbers are written without exponents.

``#`` begins a comment. A file with a comment after the variables of each table is pyAgrum's: the
comments are the children's names, and the first parent is counted through fastest but for the
child. pgmpy counts through all variables of a table the other way.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from exactlearn._runtime.files import atomic_write, read_text
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import repeated
from exactlearn.errors import FormatError
from exactlearn.formats._interchange import Declared, network_of

_COMMENT = re.compile("^[0-9]+(?: [0-9]+)+ +# (.*[^\\s]) *$", re.MULTILINE)


def read_uai(path: Path) -> BayesianNetwork:
    """Read a network.

    Raises
    ------
    FormatError
        When the file does not follow the format, or is no Bayesian network.
    OptionError
        When the file cannot be read.
    """
    text = read_text(path)
    words = re.sub("#[^\n]*", "", text).split()
    if words[:1] != ["BAYES"]:
        found = words[0][:40] if words else "nothing"
        raise FormatError(f"{path}: expected 'BAYES' first, a network's kind, found {found!r}")
    at = 1

    def numbers(count: int) -> list[int]:
        nonlocal at
        taken = words[at : at + count]
        if len(taken) < count or not all(re.fullmatch("[0-9]{1,9}", word) for word in taken):
            raise FormatError(f"{path}: expected {count} whole numbers from word {at + 1} on")
        at += count
        return list(map(int, taken))

    (n,) = numbers(1)
    cardinalities = numbers(n)
    if max(cardinalities, default=0) > len(words):
        raise FormatError(f"{path}: a variable of {max(cardinalities)} states, and fewer numbers")
    scopes = [numbers(numbers(1)[0]) for _ in range(numbers(1)[0])]
    comments = _COMMENT.findall(text)
    is_pyagrum = len(comments) == len(scopes) > 0
    variables: dict[int, Declared] = {}
    for scope in scopes:
        if not scope or max(scope) >= n:
            raise FormatError(f"{path}: expected tables of variables 0 to {n - 1}, found {scope}")
        *parents, child = scope
        (size,) = numbers(1)
        values, at = words[at : at + size], at + size
        if child in variables:
            raise FormatError(f"{path}: variable {child} is the last one of two tables; remove one")
        variables[child] = Declared(
            list(map(str, range(cardinalities[child]))),
            [f"v{p}" for p in parents[:: -1 if is_pyagrum else 1]],
            values,
            {},
        )
    if absent := [v for v in range(n) if v not in variables]:
        raise FormatError(
            f"{path}: expected for each variable a table whose last variable it is, found none of "
            f"variable {absent[0]}"
        )
    network = network_of(path, {f"v{v}": variables[v] for v in range(n)})
    if is_pyagrum and not repeated(comments):
        children = [scope[-1] for scope in scopes]
        return replace(network, names=tuple(comments[children.index(v)] for v in range(n)))
    return network


def write_uai(network: BayesianNetwork, path: Path) -> None:
    """Write a network without its names, in one step.

    Raises
    ------
    OptionError
        When the file cannot be written.
    """
    n, scopes = network.n_variables, [(*own, v) for v, own in enumerate(network.parents)]
    lines = ["BAYES", str(n), " ".join(map(str, network.cardinalities)), str(n)]
    lines += [" ".join(map(str, (len(scope), *scope))) for scope in scopes]
    for table in network.tables:
        rows = table.reshape(-1, table.shape[-1]).tolist()
        lines += ["", str(table.size), *(f" {' '.join(map(_plain, row))}" for row in rows)]
    atomic_write(path, "\n".join(lines) + "\n")


def _plain(value: float) -> str:
    """Return a number without exponent that reads back exactly."""
    return np.format_float_positional(value, trim="0")
