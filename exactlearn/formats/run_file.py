"""TOML to frozen dataclasses and back: each key of the file is a field of the class.

Fields may be texts, numbers, booleans, literals, optional values, tuples, mappings from text and
other dataclasses. A field whose name is a Python keyword ends in an underscore in the class and
not in the file.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from exactlearn._runtime.files import place, read_text
from exactlearn.errors import FormatError, OptionError, did_you_mean, shown
from exactlearn.formats.content import RUN_FILE, expecting

T = TypeVar("T")

_PLAIN: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a text",
}

_LARGEST = 2**20
"""Most letters of a run file."""

_DEEP = 50
"""Most parts of a key, of which the parser needs the square in time and memory."""

_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_DEEP},}}+")


def read_declared(path: Path, build: Callable[[Mapping[str, Any]], T]) -> T:
    """Read a TOML file, and build from its table what it declares.

    Raises
    ------
    FormatError
        When the file is not TOML; the message names line and column.
    OptionError
        When a key is unknown (with the nearest known one), missing, or of the wrong type.
    """
    with expecting(path, RUN_FILE):
        table = _parsed(path, read_text(path))
    try:
        return build(table)
    except OptionError as error:
        raise OptionError(f"{path}: {error}") from None


def from_table(table: Mapping[str, Any], into: type[T], at: str = "") -> T:
    """Build a dataclass from a parsed table; ``at`` is the table's own path, for messages.

    The metadata ``choices`` of a field returns the words that a text may be.
    """
    declared = {_key(field): field for field in fields(into)}  # type: ignore[arg-type]
    types = get_type_hints(into)
    for key in table:
        if key not in declared:
            raise OptionError(
                f"unknown key '{_join(at, key)}'{did_you_mean(key, declared)}"
            )
    # Keys that are missing have the defaults of their fields.
    values = {}
    for key, field in declared.items():
        path = _join(at, key)
        kind = types[field.name]
        if key not in table:
            if field.default is field.default_factory is MISSING:
                raise OptionError(
                    f"key '{path}' is missing: expected {_expected(kind)}"
                )
            continue
        choices = field.metadata.get("choices")
        if choices and table[key] not in choices():
            raise OptionError(
                f"key '{path}': expected one of {', '.join(map(repr, choices()))}, found "
                f"{_shown(table[key])}"
            )
        values[field.name] = _value(table[key], kind, path)
    return into(**values)


def to_toml(table: Mapping[str, Any], at: str = "") -> str:
    """Write a table of texts, numbers, lists and tables as TOML; ``at`` is its own path.

    Examples
    --------
    >>> print(to_toml({"title": "x", "data": {"file": "a.csv"}, "query": [{"targets": ["b"]}]}))
    title = "x"
    <BLANKLINE>
    [data]
    file = "a.csv"
    <BLANKLINE>
    [[query]]
    targets = ["b"]
    <BLANKLINE>
    """
    # Plain keys stand before all sections, whose headers would claim them.
    entries = []
    sections = []
    for key, value in table.items():
        place = _join(at, _quoted(key))
        if isinstance(value, Mapping):
            sections.append(f"\n[{place}]\n{to_toml(value, place)}")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            for entry in value:
                sections.append(f"\n[[{place}]]\n{to_toml(entry, place)}")
        else:
            entries.append(f"{_quoted(key)} = {literal(value)}\n")
    return "".join(entries + sections)


def _parsed(path: Path, text: str) -> dict[str, Any]:
    """Return the table of a TOML text, or refuse a text that keeps the parser busy or breaks it."""
    if len(text) > _LARGEST:
        raise FormatError(
            f"{path}: expected a run file of at most {_LARGEST} letters, found {len(text)}"
        )
    if long := _LONG_KEY.search(text):
        raise FormatError(
            f"{place(path, text, long.start())}: expected a key of at most {_DEEP} parts, found "
            f"{long[0][:40]!r}..."
        )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path}: not a TOML file: {error}") from None
    except (RecursionError, ValueError):
        reason = "brackets are nested too deep, or a number has thousands of digits"
        raise FormatError(f"{path}: not a TOML file: {reason}") from None


def _key(field: Field[Any]) -> str:
    return field.name.rstrip("_")


def _join(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _value(value: Any, kind: Any, at: str) -> Any:
    """Return a value of a file as the declared type, or say what was expected at its key."""
    kind = _alternative(kind, value)
    origin = get_origin(kind)
    arguments = get_args(kind)
    # Lists and tables, entry by entry.
    if isinstance(value, list) and origin is tuple:
        entries = enumerate(value)
        return tuple(_value(x, arguments[0], f"{at}[{i}]") for i, x in entries)
    if isinstance(value, dict) and origin is Mapping:
        return {
            key: _value(x, arguments[1], _join(at, key)) for key, x in value.items()
        }
    if isinstance(value, dict) and is_dataclass(kind):
        return from_table(value, kind, at)  # type: ignore[arg-type]
    if origin is Literal and value in arguments:
        return value
    return _plain_value(value, kind, at)


def _plain_value(value: Any, kind: Any, at: str) -> Any:
    """Return a value that is neither a list nor a table as the declared type."""
    if type(value) is int and abs(value) >= 2**63:
        raise OptionError(
            f"key '{at}': expected a number below 2**63, found a larger one"
        )
    if type(value) is kind:
        return value
    # Whole numbers stand for floats, and texts for paths.
    if (kind, type(value)) in ((float, int), (Path, str)):
        return kind(value)
    hint = ""
    if isinstance(value, list):
        hint = "; values to vary stand in a section [sweep]"
    raise OptionError(
        f"key '{at}': expected {_expected(kind)}, found {_shown(value)}{hint}"
    )


def _expected(kind: Any) -> str:
    """Return a declared type in words."""
    kind = _alternative(kind, None)
    origin = get_origin(kind)
    arguments = get_args(kind)
    if origin is Literal:
        return f"one of {', '.join(map(repr, arguments))}"
    if origin is tuple:
        return f"a list, each entry {_expected(arguments[0])}"
    if origin is Mapping:
        return f"a table, each value {_expected(arguments[1])}"
    return _PLAIN.get(kind, "a table")


def _alternative(kind: Any, value: Any) -> Any:
    """Return the type of a union that a value is to have, and any other type as it is."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    kinds = [k for k in get_args(kind) if k is not NoneType]
    # The literals that list the value, else the first type.
    literals = [k for k in kinds if value in get_args(k)]
    return (literals or kinds)[0]


def _shown(value: Any) -> str:
    """Return a value of a file in words."""
    if isinstance(value, dict):
        return "a table"
    kinds: dict[type, str] = {list: "a list", str: "the text"}
    return f"{kinds.get(type(value), 'the value')} {shown(value)}"


def _quoted(key: str) -> str:
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else literal(key)


def literal(value: Any) -> str:
    """Return a value as TOML writes it: as JSON, but for infinities."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(literal, value))}]"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text.replace("\x7f", "\\u007f")
