"""What JSON files of models share: head, variables with their states, lists of numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exactlearn._runtime.json_file import read_json
from exactlearn.errors import FormatError


def read_object(path: Path, name: str, version: int, keys: Sequence[str]) -> dict[str, Any]:
    """Return the object of a file that names its format and version, and has lists under some keys.

    Raises
    ------
    FormatError
        When the file is another, or a list is missing.
    OptionError
        When the file cannot be read.
    """
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != name:
        raise FormatError(f'{path}: expected a JSON object with "format": "{name}"')
    if content.get("version") != version:
        raise FormatError(
            f"{path}: version {content.get('version')!r} was written by another release of"
            f" exactlearn; this one reads version {version}"
        )
    for key in keys:
        if not isinstance(content.get(key), list):
            raise FormatError(f"{path}: key {key!r} is missing or not a list")
    return content


def variable_states(place: int, entry: Any, keys: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the name and the states of an entry of the list of variables.

    Raises
    ------
    FormatError
        When it is no object with just these keys, or name or states are none.
    """
    where = f"key 'variables', entry {place}"
    if not isinstance(entry, dict) or set(entry) != set(keys):
        raise FormatError(f"{where}: expected an object with {', '.join(keys[:-1])} and {keys[-1]}")
    name, states = entry["name"], entry["states"]
    if not isinstance(name, str):
        raise FormatError(f"{where}: the name {name!r} is not text")
    if not (isinstance(states, list) and states and all(isinstance(s, str) for s in states)):
        raise FormatError(f"{where} ({name}): the states must be a list of texts, at least one")
    if len(set(states)) < len(states):
        raise FormatError(f"{where} ({name}): two states have the same name")
    return name, tuple(states)


def check_variables(names: Sequence[str]) -> None:
    """Raise a `FormatError` unless there is a variable, and each name is there once."""
    if not names:
        raise FormatError("key 'variables': expected at least one variable")
    if len(set(names)) < len(names):
        raise FormatError("key 'variables': two variables have the same name")


def numbers(content: dict[str, Any], key: str, dtype: type[np.number]) -> Any:
    """Return a list of numbers as an array; integers must be written as such.

    Raises
    ------
    FormatError
        When it is none.
    """
    try:
        array = np.array(content[key])
        if array.size == 0:
            return np.empty(0, dtype)
        if array.dtype.kind not in ("if" if dtype is np.float64 else "i"):
            raise TypeError
        return array.astype(dtype)
    except (ValueError, TypeError, OverflowError):
        raise FormatError(f"key {key!r}: expected a list of {dtype.__name__} numbers") from None
