"""Checks of arguments by their kind: numbers, words, names and instances of classes.

Each check takes an argument and the name of its parameter, and returns the argument as functions
want it, or raises an error that says what to pass instead.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from exactlearn.errors import ArgumentError, OptionError

PlainCheck = Callable[[Any, str], Any]
"""Returns an argument, given the name of its parameter, as the function wants it."""


def listed(names: str | Iterable[str]) -> Iterable[str]:
    """Return a list of names as it is, and a single string as a list of it."""
    return [names] if isinstance(names, str) else names


def as_names(value: Any, name: str = "names", kinds: Any = str) -> list[Any]:
    """Return a list of names; a single one is a list of it.

    Raises
    ------
    ArgumentError
        When any is none of these kinds.

    Examples
    --------
    >>> as_names("v4"), as_names(("a", "b")), as_labels(3)
    (['v4'], ['a', 'b'], [3])
    """
    listed = isinstance(value, Iterable) and not isinstance(value, str)
    labels = list(value) if listed else [value]
    for label in labels:
        if not isinstance(label, kinds):
            raise refusal(name, "a name or a list of names", label, "pass strings")
    return labels


as_labels = partial(as_names, kinds=(str, int, np.integer))
"""Returns a list of names or integers, for :func:`names_of`."""


def refusal(name: str, expected: str, value: object, instead: str) -> ArgumentError:
    """Return the error for an argument of the wrong kind."""
    kind = type(value).__name__
    found = f"an object of type {kind}"
    if isinstance(value, type):
        found = f"the class {value.__name__}"
    elif value is None:
        found = "None"
    elif isinstance(value, str | int | float):
        found = f"{str(value)[:40]!r}, of type {kind}"
    return ArgumentError(f"argument {name!r}: expected {expected}, found {found}; {instead}")


def as_states(value: Any, name: str = "states") -> Any:
    """Return lists of states by variable; a single string is one state.

    Raises
    ------
    ArgumentError
        When it is no mapping, or a state is no string.
    """
    if isinstance(value, Mapping):
        return {key: as_names(own, name) for key, own in value.items()}
    raise refusal(name, "the states of variables", value, "pass {'smoke': ['no', 'yes']}, say")


def as_rules(value: Any, name: str = "discretise") -> Any:
    """Return rules of discretisation by variable; a single one is for all that need one.

    Raises
    ------
    ArgumentError
        When it is no mapping to strings.
    """
    if isinstance(value, str):
        return {"*": value}
    if isinstance(value, Mapping) and all(isinstance(rule, str) for rule in value.values()):
        return value
    raise refusal(name, "a rule for each variable", value, "pass {'age': 'frequency:5'}, say")


def instance_of(
    kinds: type | tuple[type, ...], expected: str, instead: str
) -> Callable[[Any, str], Any]:
    """Return the check that an argument is an instance of one of these classes.

    A result that holds one as its ``network`` or ``model`` stands for that.

    Parameters
    ----------
    kinds
        The classes.
    expected, instead
        The message of the error.
    """

    def check(value: Any, name: str) -> Any:
        for found in (value, getattr(value, "network", None), getattr(value, "model", None)):
            if isinstance(found, kinds):
                return found
        raise refusal(name, expected, value, instead)

    return check


def number_from(least: float, instead: str) -> PlainCheck:
    """Return a check of a number that is not less than one."""

    def check(value: Any, name: str) -> Any:
        if as_number(value, name) < least:
            raise OptionError(f"{name} is {value:g}: give {instead}")
        return value

    return check


def number_or(word: str | None) -> PlainCheck:
    """Return a check of an argument that is a number, or one word or nothing."""
    number = instance_of(Real, f"a number or {word!r}", "pass 1.0, say")
    return lambda value, name: (
        value if type(value) is type(word) and value == word else number(value, name)
    )


def one_of(*words: str) -> PlainCheck:
    """Return a check of an argument that is one of some words.

    Examples
    --------
    >>> one_of("refuse", "missing")("missing", "unseen")
    'missing'
    """

    def check(value: Any, name: str) -> Any:
        if value not in words:
            raise OptionError(f"{name} is {value!r}: expected {' or '.join(map(repr, words))}")
        return value

    return check


as_text = instance_of(str, "a text", "pass a string")

as_name = instance_of(str, "the name of a variable", "pass a string")

as_number = instance_of(Real, "a number", "pass an int or a float")
