r"""Tokens and words of the formats of networks that other programs read.

A string stands in double quotes, in which a backslash guards the next character; a word is whatever
else stands between blanks. Commas and bars count as blanks, ``//`` and ``/* */`` begin comments.

A name that a format, or a program that reads it, cannot hold is written as a similar word, all
words of a list different. The name itself stands in a property that other programs skip; in it
each name is percent-encoded (RFC 3986), and names are joined by ``|``.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.files import place
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import FormatError

VARIABLE_KEY = "exactlearn_name"
"""The property that holds the name of a variable."""

STATES_KEY = "exactlearn_states"
"""The property that holds the names of a variable's states."""

_SPELT = str.maketrans({"<": "lt", ">": "gt", "=": "eq", "+": "plus"})
_STRING = r'"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"'
_GUARDED = re.compile(r"\\([\s\S])")


class Grammar:
    """The tokens of a format.

    Parameters
    ----------
    marks
        Signs that are tokens of their own.
    comment
        Sign that begins a comment, if any, beside the two kinds of all formats.

    Attributes
    ----------
    token, comments
        Patterns of a token with the blanks before it, and of a comment.
    closed
        Pattern of a text up to the first string or comment that never ends: looked for once, not
        again at every token.
    marks
        Tokens that are no names: the marks, the end, and the beginning of a string or comment that
        is never closed.
    """

    def __init__(self, marks: str, comment: str = "") -> None:
        word = rf'(?:[^\s{re.escape(marks)},|"/{comment}]|/(?![/*]))+'
        comments = r"//[^\n]*|/\*[\s\S]*?\*/"
        if comment:
            comments += rf"|{comment}[^\n]*"
        self.token = re.compile(rf"(?:[\s,|]|{comments})*+({_STRING}|{word}|[\s\S]|\Z)")
        self.closed = re.compile(
            rf'(?:[^"/{comment}]++|{_STRING}|{comments}|/(?![/*]))*+'
        )
        self.comments = re.compile(comments)
        self.marks = frozenset(["", *marks, '"', "/"])


def unquoted(token: str) -> str:
    """Return the name that a token stands for."""
    return _GUARDED.sub(r"\1", token[1:-1]) if token[:1] == '"' else token


class Tokens:
    """A text as tokens, read from the left.

    Parameters
    ----------
    text
        The text.
    source
        What errors call it, such as the path of its file.
    grammar
        Its words and comments.

    Attributes
    ----------
    words
        The tokens; the last one is empty and marks the end.
    at
        Index of the token to be read next.
    """

    def __init__(self, text: str, source: object, grammar: Grammar) -> None:
        self.text = text
        self.source = source
        self.grammar = grammar
        closed = grammar.closed.match(text)
        # Tokens end where a string or comment begins that never ends.
        self._end = closed.end() if closed else 0
        self.words: list[str] = grammar.token.findall(text, 0, self._end)
        if self._end < len(text):
            self.words[self.words.index("") :] = [text[self._end], ""]
        self.at = 0

    @property
    def next(self) -> str:
        """The token to be read next; empty at the end."""
        return self.words[self.at]

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """The begin and the end of each token in the text."""
        matches = self.grammar.token.finditer(self.text, 0, self._end)
        return [match.span(1) for match in matches]

    def take(self, *words: str) -> None:
        """Go past tokens that must be these words, in whatever case."""
        for word in words:
            if self.next.lower() != word:
                raise self.expected(repr(word), self.at)
            self.at += 1

    def take_name(self, what: str) -> str:
        """Go past a word or string and return the name it stands for."""
        if self.next in self.grammar.marks:
            raise self.expected(what, self.at)
        self.at += 1
        return unquoted(self.words[self.at - 1])

    def take_until(self, end: str) -> list[str]:
        """Go past the first token ``end`` and return the tokens before it."""
        start = self.at
        try:
            self.at = self.words.index(end, start) + 1
        except ValueError:
            raise self.error(
                f"expected {end!r} somewhere from here on: add it", start
            ) from None
        return self.words[start : self.at - 1]

    def listed(self, start: int, fit: Callable[[list[str]], bool]) -> list[str]:
        """Return the names that the tokens from one to the last one taken list.

        Blanks and commas separate names; where that does not fit, and commas alone do, blanks
        are parts of names.

        Parameters
        ----------
        start
            Index of the first of the tokens.
        fit
            Returns whether these can be the names.
        """
        stop = self.at - 1
        # Each word is a name.
        words = [unquoted(token) for token in self.words[start:stop]]
        if fit(words):
            return words
        # Words without a comma between them are one name.
        names = words[:1]
        for k, word in enumerate(words[1:], start):
            between = self.text[self._spans[k][1] : self._spans[k + 1][0]]
            if re.search("[,|]", self.grammar.comments.sub("", between)):
                names.append(word)
            else:
                names[-1] += " " + word
        return names if fit(names) else words

    def expected(self, what: str, at: int, hint: str = "") -> FormatError:
        """Return the error for a token that is not what it should be."""
        token = self.words[at]
        description = repr(token[:40]) if token else "the end of the text"
        if token in ('"', "/"):
            description += ", which begins a string or comment that never ends"
        return self.error(f"expected {what}, found {description}{hint}", at)

    def error(self, message: str, at: int | None = None) -> FormatError:
        """Return an error at a token, or at the next one; its place is computed only now."""
        at = self.at if at is None else at
        start = self._spans[at][0] if at < len(self._spans) else len(self.text)
        return FormatError(f"{place(str(self.source), self.text, start)}: {message}")

    def fault_at(self, at: int) -> Callable[[str], FormatError]:
        """Return the function that makes an error at a token, given its message."""
        return partial(self.error, at=at)


def spelt(name: str, kept: str = "A-Za-z0-9_") -> str:
    """Return a name with marks of comparison as letters, and an underscore for other marks.

    Examples
    --------
    >>> spelt("<=2.5"), spelt("(2.5, 4.1]")
    ('lteq2_5', '_2_5_4_1_')
    """
    return re.sub(f"[^{kept}]+", "_", name.translate(_SPELT))


@dataclass
class Written:
    """A variable as a file has it.

    Parameters
    ----------
    name, states
        Words for its name and the names of its states.
    table
        Its probabilities, parents' axes first.
    properties
        The names themselves, encoded, by the key of the property that holds them.
    parents
        Its parents, in the order of the axes.
    """

    name: str
    states: list[str]
    table: NDArray[np.float64]
    properties: dict[str, str] = field(default_factory=dict)
    parents: "list[Written]" = field(default_factory=list)


@dataclass(frozen=True)
class Words:
    """The names that a format holds as they are, and words for all others.

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

    def of(self, network: BayesianNetwork) -> list[Written]:
        """Return each variable as the format writes it."""
        words = self.of_variables(network.names)
        states = map(self.of_states, network.states)
        variables = [*map(Written, words, states, network.tables)]
        for variable, name, names, parents in zip(
            variables, network.names, network.states, network.parents, strict=True
        ):
            variable.parents = [variables[parent] for parent in parents]
            if variable.name != name:
                variable.properties[VARIABLE_KEY] = _encoded([name])
            if variable.states != [*names]:
                variable.properties[STATES_KEY] = _encoded(names)
        return variables

    def of_variables(self, names: Sequence[str]) -> list[str]:
        """Return a word for each variable."""
        return self._words(self.variable, names, self.same)

    def of_states(self, names: Sequence[str]) -> list[str]:
        """Return a word for each state of a variable."""
        return self._words(self.state, names, str)

    def _words(
        self, pattern: re.Pattern[str], names: Sequence[str], same: Callable[[str], str]
    ) -> list[str]:
        """Return the names that the format holds, and for the others new words like them."""
        plain = {name for name in names if pattern.fullmatch(name)}
        # Names that stand as they are, and texts that no other word may equal.
        taken = set(map(same, plain))
        words: dict[str, str] = {}
        numbers: Counter[str] = Counter()
        for name in names:
            word = name
            if name not in plain or same(name) in words:
                word = self.spelling(name)
                if not pattern.fullmatch(word):
                    word = "_" + word
                # A number behind the word makes it different; counting goes on where it was.
                base = word
                while same(word) in taken:
                    numbers[same(base)] += 1
                    word = f"{base}_{numbers[same(base)] + 1}"
                taken.add(same(word))
            words[same(word)] = word
        return list(words.values())


def _encoded(names: Sequence[str]) -> str:
    """Return names as one text, for a property."""
    return "|".join(quote(name, safe="", errors="surrogatepass") for name in names)


def rendered(template: str, **names: object) -> str:
    """Return the text that a template of Jinja makes of some objects."""
    from jinja2 import Environment  # takes long to import

    environment = Environment(trim_blocks=True, keep_trailing_newline=True)
    return environment.from_string(template).render(names)
