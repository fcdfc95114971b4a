"""What formats of networks of other programs share: names as words, and tables of probabilities.

A name that a format, or a program that reads it, cannot hold is written as a similar word, all
words of a list different. The name itself stands in a property that other programs skip; in it
each name is percent-encoded (RFC 3986), and names are joined by ``|``.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import ROW_TOLERANCE, BayesianNetwork
from exactlearn.data.codes import repeated
from exactlearn.errors import DataError, FormatError, OptionError, did_you_mean

VARIABLE_KEY = "exactlearn_name"
"""The property that holds the name of a variable."""

STATES_KEY = "exactlearn_states"
"""The property that holds the names of a variable's states."""

ROUNDED = 1e-3
"""How far from one a row may sum that a program rounded to a few digits; it is rescaled."""

_SPELT = str.maketrans({"<": "lt", ">": "gt", "=": "eq", "+": "plus"})


def spelt(name: str, kept: str = "A-Za-z0-9_") -> str:
    """Return a name with marks of comparison as letters, and an underscore for other marks.

    Examples
    --------
    >>> spelt("<=2.5"), spelt("(2.5, 4.1]")
    ('lteq2_5', '_2_5_4_1_')
    """
    return re.sub(f"[^{kept}]+", "_", name.translate(_SPELT))


def distinct(
    words: Sequence[str],
    names: Sequence[str],
    same: Callable[[str], str],
    like: Callable[[str], str],
) -> list[str]:
    """Return the words, each that is empty or stands twice replaced by a new one like its name.

    Parameters
    ----------
    words
        Each name that the format holds as it is, else an empty text.
    names
        The names.
    same
        Returns one text for words that count as equal.
    like
        Returns a word like a name.
    """
    found: list[str] = []
    taken = set(map(same, words))
    kept: set[str] = set()
    numbers: Counter[str] = Counter()
    for word, name in zip(words, names, strict=True):
        if not word or same(word) in kept:
            word = base = like(name)
            while same(word) in taken:
                numbers[same(base)] += 1
                word = f"{base}_{numbers[same(base)] + 1}"
            taken.add(same(word))
        kept.add(same(word))
        found.append(word)
    return found


@dataclass(frozen=True)
class Words:
    """Which names a format holds as they are.

    Parameters
    ----------
    variable, state
        Patterns of a variable's and a state's name. An underscore and any letters, digits and
        underscores must be such a name.
    same
        Returns one text for names of variables that count as equal.
    spelling
        Returns a text like a name, which is a name of the format at least behind an underscore.
    """

    variable: re.Pattern[str]
    state: re.Pattern[str]
    same: Callable[[str], str] = str
    spelling: Callable[[str], str] = spelt

    def of(self, network: BayesianNetwork) -> "list[Written]":
        """Return each variable as the format writes it."""
        found = []
        words = self.of_variables(network.names)
        for word, name, names in zip(words, network.names, network.states, strict=True):
            states = self.of_states(names)
            pairs = (VARIABLE_KEY, [word], [name]), (STATES_KEY, states, list(names))
            changed = {key: _encoded(true) for key, own, true in pairs if own != true}
            found.append(Written(word, states, changed))
        return found

    def of_variables(self, names: Sequence[str]) -> list[str]:
        """Return a word for each variable."""
        return self._words(self.variable, names, self.same)

    def of_states(self, names: Sequence[str]) -> list[str]:
        """Return a word for each state of a variable."""
        return self._words(self.state, names, str)

    def _words(
        self, pattern: re.Pattern[str], names: Sequence[str], same: Callable[[str], str]
    ) -> list[str]:
        def like(name: str) -> str:
            near = self.spelling(name)
            return near if pattern.fullmatch(near) else "_" + near

        plain = [name if pattern.fullmatch(name) else "" for name in names]
        return distinct(plain, names, same, like)


@dataclass(frozen=True)
class Written:
    """A variable as a file has it.

    Parameters
    ----------
    name, states
        Words for its name and the names of its states.
    properties
        The names themselves, encoded, by the key of the property that holds them.
    """

    name: str
    states: list[str]
    properties: dict[str, str]


@dataclass(frozen=True)
class Declared:
    """A variable as a file declares it.

    Parameters
    ----------
    states, parents
        Words for its states, and for its parents in the order of its table.
    numbers
        Its probabilities, its own states counted through fastest and its first parent slowest.
    properties
        What was found by the keys of names.
    """

    states: Sequence[str]
    parents: Sequence[str]
    numbers: Sequence[str]
    properties: Mapping[str, str]


def network_of(source: object, variables: Mapping[str, Declared]) -> BayesianNetwork:
    """Return the network of what a file declares; its errors name the file.

    Raises
    ------
    FormatError
        When a parent is unknown, numbers are missing or no probabilities, names stand twice, or
        arcs form a cycle.
    """
    try:
        if not variables:
            raise DataError("expected at least one variable, found none")
        index = {name: v for v, name in enumerate(variables)}
        for name, own in variables.items():
            if strange := [parent for parent in own.parents if parent not in index]:
                raise DataError(
                    f"variable {name!r} has the parent {strange[0]!r}, which is not declared"
                    f"{did_you_mean(strange[0], index)}"
                )
        shapes = [
            [len(variables[parent].states) for parent in own.parents] + [len(own.states)]
            for own in variables.values()
        ]
        return BayesianNetwork(
            tuple(true_names(own.properties, VARIABLE_KEY, [v])[0] for v, own in variables.items()),
            tuple(true_names(own.properties, STATES_KEY, own.states) for own in variables.values()),
            tuple(tuple(index[parent] for parent in own.parents) for own in variables.values()),
            tuple(
                _table(name, own.numbers, shape)
                for (name, own), shape in zip(variables.items(), shapes, strict=True)
            ),
        )
    except (DataError, OptionError) as error:
        raise FormatError(f"{source}: {error}") from error


def require_new(source: object, name: str, known: Mapping[str, object]) -> None:
    """Raise a `FormatError` for a variable that the file has declared before."""
    if name in known:
        raise FormatError(f"{source}: the variable {name!r} stands twice; rename or remove one")


def _encoded(names: Sequence[str]) -> str:
    return "|".join(quote(name, safe="", errors="surrogatepass") for name in names)


def true_names(properties: Mapping[str, str], key: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return the names that a property holds, else the words.

    Raises
    ------
    DataError
        When it holds other than so many different names.
    """
    if key not in properties:
        return tuple(words)
    try:
        names = [unquote(n, errors="surrogatepass") for n in properties[key].strip().split("|")]
    except UnicodeDecodeError:
        names = []
    if len(names) != len(words) or repeated(names):
        raise DataError(
            f"expected {len(words)} different names in the property {key!r} of {words[0]!r}, "
            f"found {properties[key][:60]!r}: correct or remove it"
        )
    return tuple(names)


def _table(name: str, words: Sequence[str], shape: Sequence[int]) -> NDArray[np.float64]:
    """Return a table of probabilities; rows of rounded numbers are rescaled."""
    size = math.prod(shape)
    if len(words) != size:
        raise DataError(
            f"variable {name!r}: expected {size} probabilities, one for each state and combination "
            f"of its parents' states, found {len(words)}"
        )
    try:
        table = np.array(list(map(float, words))).reshape(shape)
    except ValueError as error:
        raise DataError(f"variable {name!r}: expected probabilities ({error})") from None
    return rescaled(table)


def rescaled(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a table whose rows of rounded numbers, and no others, are divided by their sums."""
    sums = table.sum(axis=-1, keepdims=True)
    off = abs(sums - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((off > ROW_TOLERANCE) & (off <= ROUNDED), table / sums, table)
