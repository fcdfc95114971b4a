"""Parser of BIF text: probability tables, and the statements they make up.

Declarations are read before probability statements, since a statement may stand before the
declaration of a parent.
"""

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import LARGEST_TABLE, ROW_TOLERANCE, BayesianNetwork
from exactlearn.data.codes import repeated
from exactlearn.errors import DataError, FormatError, OptionError, did_you_mean
from exactlearn.formats._interchange import STATES_KEY, VARIABLE_KEY, rescaled, true_names
from exactlearn.formats._tokens import Grammar, Tokens, unquoted

GRAMMAR = Grammar("{}()[];")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_UNREAD = -1


def quoted(name: str) -> str:
    r"""Return a name as a token: as it is when it is a word, else in double quotes.

    Examples
    --------
    >>> print(quoted("Asy/Patch"), quoted("a b"), quoted('"'))
    Asy/Patch "a b" "\""
    """
    if GRAMMAR.plain.fullmatch(name) and name != "/":
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def take_properties(tokens: Tokens) -> dict[str, str]:
    """Go past all ``property key = value ;`` that come next; return the value of each key."""
    found: dict[str, str] = {}
    while tokens.next == "property":
        end = tokens.find(";", tokens.at)
        key, *value = map(unquoted, tokens.words[tokens.at + 1 : max(end, tokens.at + 2)])
        found[key] = "".join(value).removeprefix("=")
        tokens.at = end + 1
    return found


class TableReader:
    """Reads what stands between the braces of a probability statement.

    Parameters
    ----------
    tokens
        Text, its next token just past the opening brace.
    names, states
        The family: parents in table order, then the variable itself.
    entries
        How many entries the tables before have, which count against the limit, too.
    """

    def __init__(
        self,
        tokens: Tokens,
        names: Sequence[str],
        states: Sequence[Sequence[str]],
        entries: int,
    ) -> None:
        self.tokens, self.names, self.states = tokens, names, states
        self.codes = [{state: k for k, state in enumerate(s)} for s in states[:-1]]
        self.shape = tuple(map(len, states))
        if (size := entries + math.prod(self.shape)) > LARGEST_TABLE:
            raise tokens.error(
                f"with the table of {names[-1]!r}, of {len(self.codes)} parents, the network "
                f"has {size} entries, expected at most {LARGEST_TABLE}: give it fewer parents",
                tokens.at,
            )
        self.strides = [math.prod(self.shape[k + 1 : -1]) for k in range(len(self.codes))]
        self.rows = np.full((math.prod(self.shape[:-1]), self.shape[-1]), np.nan)
        # The token at which each row was given, for errors.
        self.given = np.full(len(self.rows), _UNREAD)
        self.default: tuple[int, list[float]] | None = None

    def read(self) -> NDArray[np.float64]:
        """Return the table, parents' axes first, and leave the closing brace next."""
        while (word := self.tokens.next) != "}":
            if word == "(":
                self._row()
            elif word == "table":
                self._table()
            elif word == "default":
                at = self.tokens.at
                self.default = (at, self._numbers(at + 1, self.shape[-1]))
            elif word == "property":
                take_properties(self.tokens)
            else:
                raise self.tokens.expected(
                    "'table', 'default', 'property', '}' or a row '(states) probabilities'",
                    self.tokens.at,
                )
        self._fill()
        self._check()
        return self.rows.reshape(self.shape)

    def _row(self) -> None:
        """Read ``( states of the parents ) probabilities ;``."""
        at = self.tokens.at
        close = self.tokens.find(")", at)
        states = self.tokens.words[at + 1 : close]
        if len(states) != len(self.codes):
            raise self.tokens.error(
                f"expected one state of each of {len(self.codes)} parents in this row, found "
                f"{len(states)}: give the states of {', '.join(self.names[:-1]) or 'none'}",
                at,
            )
        row = sum(self._code(k, at + 1 + k) * stride for k, stride in enumerate(self.strides))
        numbers = self._numbers(close + 1, self.shape[-1])
        if self.given[row] != _UNREAD:
            raise self.tokens.error(f"{self._row_name(row)} is given twice: remove one", at)
        self.rows[row] = numbers
        self.given[row] = at

    def _code(self, parent: int, at: int) -> int:
        state = unquoted(self.tokens.words[at])
        if state not in self.codes[parent]:
            raise self.tokens.error(
                f"parent {self.names[parent]!r} has no state {state!r}"
                f"{did_you_mean(state, self.states[parent])}",
                at,
            )
        return self.codes[parent][state]

    def _table(self) -> None:
        """Read ``table probabilities ;``, in which the parents count fastest."""
        at = self.tokens.at
        numbers = self._numbers(at + 1, self.rows.size)
        if (self.given != _UNREAD).any():
            raise self.tokens.error(
                "rows are given twice: leave either this table or what stands before it", at
            )
        self.rows[:] = np.reshape(numbers, self.rows.shape[::-1]).T
        self.given[:] = at

    def _numbers(self, start: int, count: int) -> list[float]:
        """Read this many probabilities and the semicolon."""
        end = self.tokens.find(";", start)
        words = self.tokens.words[start:end]
        for k, word in enumerate(words):
            if not _NUMBER.fullmatch(word):
                raise self.tokens.expected("a probability or ';'", start + k)
        if len(words) != count:
            raise self.tokens.error(
                f"expected {count} probabilities of {self.names[-1]!r} here, found {len(words)}: "
                "give one for each state",
                start,
            )
        self.tokens.at = end + 1
        return list(map(float, words))

    def _fill(self) -> None:
        """Put the default row where no row was given."""
        missing = self.given == _UNREAD
        if not missing.any():
            return
        if self.default is None:
            raise self.tokens.error(self._lack(missing), self.tokens.at)
        self.given[missing], self.rows[missing] = self.default

    def _lack(self, missing: NDArray[np.bool_]) -> str:
        own = self.names[-1]
        if not self.codes:
            return f"{own!r} has no probabilities: add 'table' with one for each state"
        return (
            f"the probabilities of {own!r} lack {int(missing.sum())} of {len(missing)} rows, "
            f"first {self._row_name(int(missing.argmax()))}: add them, or a row 'default'"
        )

    def _check(self) -> None:
        """Verify that each row is a distribution, once rounded ones are rescaled."""
        self.rows = rescaled(self.rows)
        sums = self.rows.sum(axis=1)
        wrong = (abs(sums - 1) > ROW_TOLERANCE) | (self.rows < 0).any(axis=1)
        if wrong.any():
            row = int(wrong.argmax())
            raise self.tokens.error(
                f"expected probabilities >= 0 that sum to one within {ROW_TOLERANCE:g} in "
                f"{self._row_name(row)} of {self.names[-1]!r}, found the sum {float(sums[row])!r} "
                f"and the least {float(self.rows[row].min())!r}: correct them",
                int(self.given[row]),
            )

    def _row_name(self, row: int) -> str:
        """Name the row: the parents' states, or that there is one only."""
        if not self.codes:
            return "the table"
        where = np.unravel_index(row, self.shape[:-1])
        states = (quoted(self.states[k][int(s)]) for k, s in enumerate(where))
        return f"the row ({', '.join(states)})"


class NetworkReader:
    """Reads one network.

    Parameters
    ----------
    text, source
        The text, and what errors call it.
    """

    def __init__(self, text: str, source: str) -> None:
        self.tokens = Tokens(text, source, GRAMMAR)
        self.states: dict[str, tuple[str, ...]] = {}
        self.properties: dict[str, dict[str, str]] = {}
        self.index: dict[str, int] = {}
        self.parents: dict[str, tuple[int, ...]] = {}
        self.tables: dict[str, NDArray[np.float64]] = {}
        self.entries = 0

    def read(self) -> BayesianNetwork:
        """Return the network."""
        pending = self._declarations()
        end = self.tokens.at
        self.index = {name: i for i, name in enumerate(self.states)}
        for self.tokens.at in pending:
            self._probability()
        self._require_whole(end)
        try:
            return BayesianNetwork(
                tuple(true_names(own, VARIABLE_KEY, [v])[0] for v, own in self.properties.items()),
                tuple(
                    true_names(self.properties[v], STATES_KEY, own)
                    for v, own in self.states.items()
                ),
                tuple(self.parents[name] for name in self.states),
                tuple(self.tables[name] for name in self.states),
            )
        except (DataError, OptionError) as error:
            raise FormatError(f"{self.tokens.source}: {error}") from error

    def _declarations(self) -> list[int]:
        """Read all but the probabilities; return where these begin.

        They wait because a statement may stand before the declaration of a parent.
        """
        tokens = self.tokens
        pending: list[int] = []
        while (word := tokens.next) != "":
            if word == "network":
                self._network()
            elif word == "variable":
                self._variable()
            elif word == "probability":
                pending.append(tokens.at)
                tokens.at = tokens.find("}", tokens.at) + 1
            elif word == "property":
                take_properties(tokens)
            else:
                raise tokens.expected(
                    "'network', 'variable', 'probability' or 'property'", tokens.at
                )
        return pending

    def _network(self) -> None:
        """Read ``network name { properties }``; the name may be left out."""
        self.tokens.at += 1
        if self.tokens.next != "{":
            self.tokens.take_name("the network's name or '{'")
        self.tokens.take("{")
        take_properties(self.tokens)
        self.tokens.take("}")

    def _variable(self) -> None:
        """Read ``variable name { type discrete [ count ] { states }; }``."""
        tokens = self.tokens
        tokens.at += 1
        start = tokens.at
        name = tokens.take_name("a variable's name")
        if name in self.states:
            raise tokens.error(f"variable {name!r} is declared twice: rename one", start)
        tokens.take("{")
        properties = take_properties(tokens)
        for word in ("type", "discrete", "["):
            tokens.take(word)
        count = self._count()
        tokens.take("]")
        self.states[name] = self._state_names(name, count)
        tokens.take(";")
        self.properties[name] = properties | take_properties(tokens)
        tokens.take("}")

    def _count(self) -> int:
        if not re.fullmatch("0*[1-9][0-9]{0,8}", self.tokens.next):
            raise self.tokens.expected("the number of states", self.tokens.at)
        self.tokens.at += 1
        return int(self.tokens.words[self.tokens.at - 1])

    def _state_names(self, name: str, count: int) -> tuple[str, ...]:
        """Read ``{ states }``."""
        tokens = self.tokens
        tokens.take("{")
        start = tokens.at
        while tokens.next != "}":
            tokens.take_name("a state's name or '}'")
        states = tuple(map(unquoted, tokens.words[start : tokens.at]))
        if len(states) != count:
            raise tokens.error(
                f"expected {count} states of {name!r}, found {len(states)}: correct the number in "
                "brackets, or put double quotes around names that hold blanks, commas or marks",
                start,
            )
        if twice := repeated(states):
            again = states.index(twice[0], states.index(twice[0]) + 1)
            raise tokens.error(
                f"state {twice[0]!r} of {name!r} stands twice: rename one", start + again
            )
        tokens.at += 1
        return states

    def _probability(self) -> None:
        """Read ``probability ( variable | parents ) { table }``."""
        self.tokens.at += 1
        self.tokens.take("(")
        start = self.tokens.at
        child, *parents = self._family()
        if child in self.tables:
            raise self.tokens.error(
                f"the probabilities of {child!r} are given twice: remove one statement", start
            )
        self.tokens.take("{")
        family = [*parents, child]
        self.parents[child] = tuple(self.index[name] for name in parents)
        self.tables[child] = TableReader(
            self.tokens, family, [self.states[name] for name in family], self.entries
        ).read()
        self.entries += self.tables[child].size
        self.tokens.take("}")

    def _family(self) -> list[str]:
        """Read ``variable | parents )``."""
        tokens = self.tokens
        family: list[str] = []
        while tokens.next != ")" or not family:
            start = tokens.at
            name = tokens.take_name("a variable's name" + (" or ')'" if family else ""))
            if name not in self.index:
                raise tokens.error(
                    f"variable {name!r} is not declared{did_you_mean(name, self.index)}", start
                )
            if name in family:
                raise tokens.error(
                    f"variable {name!r} stands twice in its family: remove one", start
                )
            family.append(name)
        tokens.at += 1
        return family

    def _require_whole(self, end: int) -> None:
        """Verify that there are variables and that each has its probabilities."""
        if not self.states:
            raise self.tokens.expected("at least one variable", end)
        for name in self.states:
            if name not in self.tables:
                raise self.tokens.error(
                    f"variable {name!r} has no probabilities: add a statement "
                    f"'probability ( {quoted(name)} ... ) {{ ... }}'",
                    end,
                )
