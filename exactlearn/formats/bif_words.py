"""Words that stand for names in a BIF text, so that other programs read it.

The format's words are letters, digits, ``_`` and ``-``; pyAgrum and pgmpy also read points, whole
numbers as states, and names that begin with digits where these cannot begin a number. Neither reads
a name in quotes, nor one of the format's own words as a name; pgmpy takes variables that differ
only in case for one, and ``table5`` or ``default-x`` for the beginning of a table. A name that is
no such word is written as a word like it, all words of a list different, and stands as it is in a
property, which other programs skip.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence

VARIABLE_KEY = "exactlearn_name"
"""The property that holds the name of a variable."""

STATES_KEY = "exactlearn_states"
"""The property that holds the names of a variable's states."""

_KEYWORDS = "network|variable|probability|property|type|discrete|default|table"
# What pgmpy takes for the beginning of a table, wherever it stands.
_TABLE = r"(table|default)(?=[-+.0-9eE])"
_WORD = re.compile(
    rf"(?!(?:{_KEYWORDS})\Z)(?!.*{_TABLE})(?![0-9]+[eE])[0-9]*[A-Za-z_][A-Za-z0-9_.-]*"
)
_WHOLE = re.compile(r"[+-]?[0-9]+")
_SPELT = str.maketrans({"<": "lt", ">": "gt", "=": "eq", "+": "plus"})
# Marks that end a property, begin a comment or part its key from its value in some program.
_ACTIVE = re.compile(r"[;/{}=]")


def variable_words(names: Sequence[str]) -> list[str]:
    """Return a word for each variable; no two differ in case only.

    Examples
    --------
    >>> variable_words(["smoke", "table", "a b", "a.b", "a|b", "SMOKE", "2e"])
    ['smoke', 'table_', 'a_b', 'a.b', 'a_b_2', 'SMOKE_2', '_2e']
    """
    plain = [name if _WORD.fullmatch(name) else "" for name in names]
    return _distinct(plain, names, str.lower)


def state_words(names: Sequence[str]) -> list[str]:
    """Return a word for each state of a variable.

    Examples
    --------
    >>> state_words(["0", "-1", "<=2.5", "(2.5, 4.1]", "Asy/Patch"])
    ['0', '-1', 'lteq2.5', '_2.5_4.1_', 'Asy_Patch']
    """
    plain = [name if _WORD.fullmatch(name) or _WHOLE.fullmatch(name) else "" for name in names]
    return _distinct(plain, names, str)


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


def _distinct(words: Sequence[str], names: Sequence[str], same: Callable[[str], str]) -> list[str]:
    """Return the words, each that is empty or stands twice replaced by a new one like its name."""
    found: list[str] = []
    taken = set(map(same, words))
    kept: set[str] = set()
    numbers: Counter[str] = Counter()
    for word, name in zip(words, names, strict=True):
        if not word or same(word) in kept:
            word = base = _like(name)
            while same(word) in taken:
                numbers[same(base)] += 1
                word = f"{base}_{numbers[same(base)] + 1}"
            taken.add(same(word))
        kept.add(same(word))
        found.append(word)
    return found


def _like(name: str) -> str:
    """Return a word like a name."""
    near = re.sub("[^A-Za-z0-9_.-]+", "_", name.translate(_SPELT))
    near = re.sub(_TABLE, r"\1_", near)
    if re.fullmatch(_KEYWORDS, near):
        return near + "_"
    return near if _WORD.fullmatch(near) else "_" + near
