"""The tokens of a BIF text, and errors that name their place.

Tokens are the marks ``{ } ( ) [ ] ;``, strings in double quotes, in which a backslash guards the
next character, and words: whatever else stands between blanks. Commas and bars count as blanks,
``//`` and ``/* */`` begin comments.
"""

import re
from itertools import islice

from exactlearn._runtime.text_file import place
from exactlearn.errors import FormatError

_WORD = r'(?:[^\s{}()\[\],;|"/]|/(?![/*]))+'
_STRING = r'"[^"\\]*+(?:\\[\s\S][^"\\]*+)*+"'
_COMMENT = r"//[^\n]*|/\*[\s\S]*?\*/"
_TOKEN = re.compile(rf"(?:[\s,|]|{_COMMENT})*+({_STRING}|{_WORD}|[\s\S]|\Z)")
# Up to the first string or comment that never ends: looked for once, not again at every token.
_CLOSED = re.compile(rf'(?:[^"/]++|{_STRING}|{_COMMENT}|/(?![/*]))*+')
_PLAIN = re.compile(_WORD)
_GUARDED = re.compile(r"\\([\s\S])")
# What no name can be: a mark, the end, or the beginning of a string or comment never closed.
_MARKS = frozenset(["", *'{}()[];"/'])


def quoted(name: str) -> str:
    r"""Return a name as a token: as it is when it is a word, else in double quotes.

    Examples
    --------
    >>> print(quoted("Asy/Patch"), quoted("a b"), quoted('"'))
    Asy/Patch "a b" "\""
    """
    if _PLAIN.fullmatch(name) and name != "/":
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


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

    Attributes
    ----------
    words
        The tokens; the last one is empty and marks the end.
    at
        Index of the token to be read next.
    """

    def __init__(self, text: str, source: str) -> None:
        self.text, self.source = text, source
        closed = _CLOSED.match(text)
        self._end = closed.end() if closed else 0
        self.words: list[str] = _TOKEN.findall(text, 0, self._end)
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
        if self.next in _MARKS:
            raise self.expected(what, self.at)
        self.at += 1
        return unquoted(self.words[self.at - 1])

    def find(self, word: str, start: int) -> int:
        """Return the index of the first token ``word`` from ``start`` on."""
        try:
            return self.words.index(word, start)
        except ValueError:
            raise self.error(f"expected {word!r} somewhere from here on: add it", start) from None

    def skip_properties(self) -> None:
        """Go past all ``property ... ;`` that come next."""
        self.take_properties()

    def take_properties(self) -> dict[str, int]:
        """Go past all ``property key ... ;`` that come next; return where each key stands."""
        keys: dict[str, int] = {}
        while self.next == "property":
            keys[self.words[self.at + 1]] = self.at + 1
            self.at = self.find(";", self.at) + 1
        return keys

    def expected(self, what: str, at: int) -> FormatError:
        """Return the error for a token that is not what it should be."""
        token = self.words[at]
        found = repr(token[:40]) if token else "the end of the text"
        if token in ('"', "/"):
            found += ", which begins a string or comment that never ends"
        return self.error(f"expected {what}, found {found}", at)

    def error(self, message: str, at: int) -> FormatError:
        """Return an error at a token; its line and column are computed only now."""
        starts = (m.start(1) for m in _TOKEN.finditer(self.text, 0, self._end))
        start = next(islice(starts, at, None), len(self.text))
        return FormatError(f"{place(self.source, self.text, start)}: {message}")
