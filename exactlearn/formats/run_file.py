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
    known = {_key(f): f for f in fields(into)}  # type: ignore[arg-type]
    types = get_type_hints(into)
    for key in table:
        if key not in known:
            raise OptionError(
                f"unknown key '{_join(at, key)}'{did_you_mean(key, known)}"
            )
    for key, field in known.items():
        if key not in table and _is_required(field):
            raise OptionError(
                f"key '{_join(at, key)}' is missing: expected {_expected(types[field.name])}"
            )
        choices = field.metadata.get("choices")
        if key in table and choices and table[key] not in choices():
            names = ", ".join(map(repr, choices()))
            place = _join(at, key)
            raise OptionError(
                f"key '{place}': expected one of {names}, found {_shown(table[key])}"
            )
    return into(
        **{
            known[key].name: _value(found, types[known[key].name], _join(at, key))
            for key, found in table.items()
        }
    )


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
    plain = []
    nested = []
    for key, value in table.items():
        place = _join(at, _quoted(key))
        if isinstance(value, Mapping):
            nested.append(f"\n[{place}]\n{to_toml(value, place)}")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            nested += [f"\n[[{place}]]\n{to_toml(one, place)}" for one in value]
        else:
            plain.append(f"{_quoted(key)} = {literal(value)}\n")
    return "".join(plain + nested)


def _parsed(path: Path, text: str) -> dict[str, Any]:
    """Return what a TOML text holds, or refuse what would keep its parser busy or break it."""
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
        what = "brackets are nested too deep, or a number has thousands of digits"
        raise FormatError(f"{path}: not a TOML file: {what}") from None


def _key(field: Field[Any]) -> str:
    return field.name.rstrip("_")


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _join(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _value(found: Any, kind: Any, at: str) -> Any:
    """Return what was found as the declared type, or say what was expected at this key."""
    origin = get_origin(kind)
    args = get_args(kind)
    if origin in (Union, UnionType):
        inner = [a for a in args if a is not NoneType]
        named = [a for a in inner if get_origin(a) is Literal and found in get_args(a)]
        return _value(found, (named or inner)[0], at)
    if origin is Literal and found in args:
        return found
    if origin is tuple and isinstance(found, list):
        return tuple(_value(x, args[0], f"{at}[{i}]") for i, x in enumerate(found))
    if origin is Mapping and isinstance(found, dict):
        return {key: _value(x, args[1], _join(at, key)) for key, x in found.items()}
    if is_dataclass(kind) and isinstance(kind, type) and isinstance(found, dict):
        return from_table(found, kind, at)
    if type(found) is int and abs(found) >= 2**63:
        raise OptionError(
            f"key '{at}': expected a number below 2**63, found a larger one"
        )
    if kind is float and type(found) is int:
        return float(found)
    if kind in _PLAIN and type(found) is kind:
        return found
    if kind is Path and isinstance(found, str):
        return Path(found)
    hint = (
        "; values to vary stand in a section [sweep]" if isinstance(found, list) else ""
    )
    raise OptionError(
        f"key '{at}': expected {_expected(kind)}, found {_shown(found)}{hint}"
    )


def _expected(kind: Any) -> str:
    origin = get_origin(kind)
    args = get_args(kind)
    if origin in (Union, UnionType):
        return _expected(next(a for a in args if a is not NoneType))
    if origin is Literal:
        return f"one of {', '.join(repr(a) for a in args)}"
    if origin is tuple:
        return f"a list, each entry {_expected(args[0])}"
    if origin is Mapping:
        return f"a table, each value {_expected(args[1])}"
    return _PLAIN.get(kind, "a table")


def _shown(found: Any) -> str:
    kinds: dict[type, str] = {dict: "a table", list: "a list", str: "the text"}
    kind = kinds.get(type(found), "the value")
    return kind if isinstance(found, dict) else f"{kind} {shown(found)}"


def _quoted(key: str) -> str:
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else literal(key)


def literal(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | Path):
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, tuple | list):
        return f"[{', '.join(literal(v) for v in value)}]"
    return repr(value)
