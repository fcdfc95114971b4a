"""What JSON files of models share: head, variables with their states, lists of numbers."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from exactlearn._runtime.files import atomic_write, read_json
from exactlearn.errors import CheckError, FormatError


class Checked(Protocol):
    """A model that checks itself."""

    def check(self) -> None:
        """Raise a `CheckError` when it is no such model."""
        ...


M = TypeVar("M", bound=Checked)


class Head(NamedTuple):
    """What a file of a format begins with.

    Attributes
    ----------
    format, version
        Name and version of the format.
    """

    format: str
    version: int


def write_object(path: str | os.PathLike[str], head: Head, content: dict[str, Any]) -> None:
    """Write a model, in one step.

    Raises
    ------
    OptionError
        When the file cannot be written.
    """
    text = json.dumps(head._asdict() | content, separators=(",", ":"), ensure_ascii=False)
    atomic_write(path, text + "\n")


def read_object(
    path: str | os.PathLike[str],
    head: Head,
    keys: Sequence[str],
    build: Callable[[dict[str, Any]], M],
) -> M:
    """Return the model of a file with lists under some keys, checked.

    Raises
    ------
    FormatError
        When the file is of another format or version, or what it holds is no model.
    OptionError
        When the file cannot be read.
    """
    content = _object(Path(path), head, keys)
    try:
        model = build(content)
        model.check()
    except (CheckError, FormatError) as error:
        raise FormatError(f"{path}: {error}; write the file anew") from None
    return model


def _object(path: Path, head: Head, keys: Sequence[str]) -> dict[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != head.format:
        raise FormatError(f'{path}: expected a JSON object with "format": "{head.format}"')
    if content.get("version") != head.version:
        raise FormatError(
            f"{path}: version {content.get('version')!r} was written by another release of"
            f" exactlearn; this one reads version {head.version}"
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
