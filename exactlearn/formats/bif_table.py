"""The conditional probability table of one BIF statement."""

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.did_you_mean import suggestion
from exactlearn.bayesnet.network import LARGEST_TABLE, ROW_TOLERANCE
from exactlearn.formats.bif_tokens import Tokens, quoted, unquoted

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_UNREAD = -1


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
        if (size := math.prod(self.shape)) > LARGEST_TABLE:
            raise tokens.error(
                f"the table of {names[-1]!r} given {len(self.codes)} parents has {size} entries, "
                f"expected at most {LARGEST_TABLE}: give it fewer parents",
                tokens.at,
            )
        if entries + size > LARGEST_TABLE:
            raise tokens.error(
                f"with the table of {names[-1]!r} the network has {entries + size} entries, "
                f"expected at most {LARGEST_TABLE}: give it fewer parents",
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
                self.tokens.skip_properties()
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
                f"{suggestion(state, self.states[parent])}",
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
        """Verify that each row is a distribution."""
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
        """Tell which row: the parents' states, or that there is one only."""
        if not self.codes:
            return "the table"
        where = np.unravel_index(row, self.shape[:-1])
        states = (quoted(self.states[k][int(s)]) for k, s in enumerate(where))
        return f"the row ({', '.join(states)})"
