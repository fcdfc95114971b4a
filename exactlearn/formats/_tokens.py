r"""Tokens of formats whose statements stand in braces: marks, strings and words.

A string stands in double quotes, in which a backslash guards the next character; a word is whatever
else stands between blanks. Commas and bars count as blanks, ``//`` and ``/* */`` begin comments.
"""

import re
from itertools import islice

from exactlearn._runtime.files import place
from exactlearn.errors import FormatError

_STRING = r'"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"'
_GUARDED = re.compile(r"\\([\s\S])")


class Grammar:
    """What the tokens of a format are.

    Parameters
    ----------
    marks
        Signs that are tokens of their own.
    comment
        Sign that begins a comment, if any, beside the two kinds of all formats.

    Attributes
    ----------
    token, plain
        Patterns of a token with the blanks before it, and of a word.
    closed
        Pattern of a text up to the first string or comment that never ends: looked for once, not
        again at every token.
    marks
        What no name can be: a mark, the end, or the beginning of a string or comment never closed.
    """

    def __init__(self, marks: str, comment: str = "") -> None:
        word = rf'(?:[^\s{re.escape(marks)},|"/{comment}]|/(?![/*]))+'
        comments = r"//[^\n]*|/\*[\s\S]*?\*/" + (rf"|{comment}[^\n]*" if comment else "")
        self.token = re.compile(rf"(?:[\s,|]|{comments})*+({_STRING}|{word}|[\s\S]|\Z)")
        self.closed = re.compile(rf'(?:[^"/{comment}]++|{_STRING}|{comments}|/(?![/*]))*+')
        self.plain = re.compile(word)
        self.marks = frozenset(["", *marks, '"', "/"])


def unquoted(token: str) -> str:
    """Return the name that a token stands for."""
    return _GUARDED.sub(r"\1", token[1:-1]) if token[0] == '"' else token


class Tokens:
    """A text as tokens, read from the left.

    Parameters
    ----------
    text
        The text.
    source
        What errors call it, such as the path of its file.
    grammar
        What its words and comments are.

    Attributes
    ----------
    words
        The tokens; the last one is empty and marks the end.
    at
        Index of the token to be read next.
    """

    def __init__(self, text: str, source: object, grammar: Grammar) -> None:
        self.text, self.source, self.grammar = text, source, grammar
        closed = grammar.closed.match(text)
        self._end = closed.end() if closed else 0
        self.words: list[str] = grammar.token.findall(text, 0, self._end)
        if self._end < len(text):
            self.words[self.words.index("") :] = [text[self._end], ""]
        self.at = 0

    @property
    def next(self) -> str:
        """The token to be read next; empty at the end."""
        return self.words[self.at]

    def take(self, word: str) -> None:
        """Go past a token that must be ``word``."""
        if self.next != word:
            raise self.expected(repr(word), self.at)
        self.at += 1

    def take_name(self, what: str) -> str:
        """Go past a word or string and return the name it stands for."""
        if self.next in self.grammar.marks:
            raise self.expected(what, self.at)
        self.at += 1
        return unquoted(self.words[self.at - 1])

    def find(self, word: str, start: int) -> int:
        """Return the index of the first token ``word`` from ``start`` on."""
        try:
            return self.words.index(word, start)
        except ValueError:
            raise self.error(f"expected {word!r} somewhere from here on: add it", start) from None

    def expected(self, what: str, at: int, hint: str = "") -> FormatError:
        """Return the error for a token that is not what it should be."""
        token = self.words[at]
        found = repr(token[:40]) if token else "the end of the text"
        if token in ('"', "/"):
            found += ", which begins a string or comment that never ends"
        return self.error(f"expected {what}, found {found}{hint}", at)

    def error(self, message: str, at: int) -> FormatError:
        """Return an error at a token; its line and column are computed only now."""
        starts = (m.start(1) for m in self.grammar.token.finditer(self.text, 0, self._end))
        start = next(islice(starts, at, None), len(self.text))
        return FormatError(f"{place(str(self.source), self.text, start)}: {message}")
