"""The statements of a BIF text: declarations first, then the probabilities they allow to read."""

import json
import re

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.did_you_mean import suggestion
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.codes import repeated
from exactlearn.formats.bif_table import TableReader
from exactlearn.formats.bif_tokens import Tokens, quoted, unquoted
from exactlearn.formats.bif_words import STATES_KEY, VARIABLE_KEY


class NetworkReader:
    """Reads one network.

    Parameters
    ----------
    tokens
        The whole text.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.states: dict[str, tuple[str, ...]] = {}
        # What a property calls the variables and states that stand here as other words.
        self.true_names: dict[str, str] = {}
        self.true_states: dict[str, tuple[str, ...]] = {}
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
        names = tuple(self.true_names.get(name, name) for name in self.states)
        if twice := repeated(names):
            raise self.tokens.error(
                f"two variables have the name {twice[0]!r}: rename one in its property "
                f"{VARIABLE_KEY!r}",
                end,
            )
        return BayesianNetwork(
            names,
            tuple(self.true_states.get(name, states) for name, states in self.states.items()),
            tuple(self.parents[name] for name in self.states),
            tuple(self.tables[name] for name in self.states),
        )

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
                tokens.skip_properties()
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
        self.tokens.skip_properties()
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
        properties = tokens.take_properties()
        for word in ("type", "discrete", "["):
            tokens.take(word)
        count = self._count()
        tokens.take("]")
        self.states[name] = self._state_names(name, count)
        tokens.take(";")
        properties |= tokens.take_properties()
        tokens.take("}")
        if VARIABLE_KEY in properties:
            (self.true_names[name],) = self._true_names(properties[VARIABLE_KEY], 1)
        if STATES_KEY in properties:
            self.true_states[name] = self._true_names(properties[STATES_KEY], count)

    def _true_names(self, at: int, count: int) -> tuple[str, ...]:
        """Return the names that the property here lists as ``= "name", "name"``."""
        words = self.tokens.words[at + 1 : self.tokens.find(";", at)]
        try:
            names = json.loads(f"[{','.join(words[1:])}]")
        except ValueError:
            names = []
        strings = tuple(name for name in names if isinstance(name, str))
        if words[:1] != ["="] or not len(names) == len(set(strings)) == count:
            raise self.tokens.error(
                f"expected '=', {count} different names in double quotes, as JSON writes them, and "
                "';': correct or remove this property",
                at,
            )
        return strings

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
                    f"variable {name!r} is not declared{suggestion(name, self.index)}", start
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
