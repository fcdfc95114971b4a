"""Checks of the arguments of public functions, by the names of their parameters.

A pandas frame stands for a table, the name of a score for the score, and a single string for a list
of one name. Anything else of the wrong kind raises an error that says what to pass instead.
"""

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from numbers import Real
from operator import index
from typing import Any, ParamSpec, TypeVar

import numpy as np

from exactlearn.errors import ArgumentError, OptionError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")

Check = Callable[[Any, str], Any]
"""Returns the argument of a name as the function wants it."""


def checked_arguments(**special: Check) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function have each argument as :data:`CHECKS` returns it, by the parameter's name.

    Parameters
    ----------
    special
        Checks of this function's own. An argument that is a parameter's default is not checked.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters.values()
        checks = {**CHECKS, **special}
        checked = [
            (place, parameter.name, parameter.default, checks[parameter.name])
            for place, parameter in enumerate(parameters)
            if parameter.name in checks
        ]

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            given: list[Any] = list(args)
            for place, name, default, check in checked:
                if place < len(given):
                    if given[place] is not default:
                        given[place] = check(given[place], name)
                elif name in kwargs and kwargs[name] is not default:
                    kwargs[name] = check(kwargs[name], name)
            return function(*given, **kwargs)

        return call

    return decorate


def register(**checks: Check) -> None:
    """Add checks by the names of parameters: where a class is defined, for its instances."""
    CHECKS.update(checks)


def listed(names: str | Iterable[str]) -> Iterable[str]:
    """Return a list of names as it is, and a single string as a list of it."""
    return [names] if isinstance(names, str) else names


def as_names(value: Any, name: str = "names") -> list[str]:
    """Return a list of names; a single string is one name.

    Raises
    ------
    ArgumentError
        When it is neither a string nor an iterable of strings.

    Examples
    --------
    >>> as_names("v4"), as_names(("a", "b"))
    (['v4'], ['a', 'b'])
    """
    if isinstance(value, Iterable):
        names = list(listed(value))
        if all(isinstance(each, str) for each in names):
            return names
        value = next(each for each in names if not isinstance(each, str))
    raise refusal(name, "a name or a list of names", value, "pass strings")


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
    """Return lists of states, by variable or in their order; a single string is one state.

    Raises
    ------
    ArgumentError
        When it is neither a mapping nor a sequence, or a state is no string.
    """
    if value is None:
        return value
    if isinstance(value, Mapping):
        return {key: as_names(own, name) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [as_names(own, name) for own in value]
    raise refusal(name, "the states of variables", value, "pass {'smoke': ['no', 'yes']}, say")


def as_rules(value: Any, name: str = "discretise") -> Any:
    """Return rules of discretisation by variable.

    Raises
    ------
    ArgumentError
        When it is no mapping to strings.
    """
    if value is None or (
        isinstance(value, Mapping) and all(isinstance(rule, str) for rule in value.values())
    ):
        return value
    raise refusal(name, "a rule for each variable", value, "pass {'age': 'frequency:5'}, say")


def instance_of(kinds: type | tuple[type, ...], expected: str, instead: str) -> Check:
    """Return the check that an argument is an instance of one of these classes.

    Parameters
    ----------
    kinds
        The classes.
    expected, instead
        The message of the error.
    """

    def check(value: Any, name: str) -> Any:
        if isinstance(value, kinds):
            return value
        parts = [
            part for part in ("network", "model") if isinstance(getattr(value, part, 0), kinds)
        ]
        raise refusal(name, expected, value, f"pass its .{parts[0]}" if parts else instead)

    return check


def _pair(value: Any, name: str) -> tuple[str, str]:
    if isinstance(value, tuple | list) and len(value) == 2:
        return _name(value[0], name), _name(value[1], name)
    raise refusal(name, "a variable and its state", value, "pass ('lung', 'yes'), say")


def number_or_none(value: Any, name: str) -> Any:
    """Return a number, or nothing.

    Raises
    ------
    ArgumentError
        When it is neither.
    """
    return None if value is None else _number(value, name)


def _arcs(value: Any, name: str) -> tuple[tuple[int, int], ...]:
    try:
        return tuple((index(tail), index(head)) for tail, head in value)
    except (TypeError, ValueError):
        instead = "pass [(0, 1)] for the arc 0 -> 1"
        raise refusal(name, "arcs as pairs of indices", value, instead) from None


def arcs_by_index(value: Any, name: str, names: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return arcs as pairs of indices: each end is the name or the index of a variable.

    Raises
    ------
    ArgumentError
        When it is no list of pairs.
    OptionError
        When there is no such variable.

    Examples
    --------
    >>> arcs_by_index([("a", "b"), (1, 0)], "required", ["a", "b"])
    ((0, 1), (1, 0))
    """
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise _no_arcs(value, name)
    found = []
    for arc in value:
        if isinstance(arc, str) or not isinstance(arc, Collection) or len(arc) != 2:
            raise _no_arcs(arc, name)
        tail, head = (variable_index(end, name, names) for end in arc)
        found.append((tail, head))
    return tuple(found)


def _no_arcs(value: Any, name: str) -> ArgumentError:
    return refusal(
        name, "arcs as pairs of variables", value, "pass [('smoke', 'lung')] or [(0, 1)], say"
    )


def variable_index(value: Any, name: str, names: Sequence[str]) -> int:
    """Return the index of a variable, given by its name or its index.

    Raises
    ------
    ArgumentError
        When it is neither a name nor a whole number.
    OptionError
        When there is no such variable.

    Examples
    --------
    >>> variable_index("b", "child", ["a", "b"]), variable_index(1, "child", ["a", "b"])
    (1, 1)
    """
    if isinstance(value, str):
        if value not in names:
            raise OptionError(f"{name}: no variable {value!r}{did_you_mean(value, names)}")
        return list(names).index(value)
    try:
        found = index(value)
    except TypeError:
        instead = "pass 'smoke' or 0, say"
        raise refusal(name, "the name or the index of a variable", value, instead) from None
    if not 0 <= found < len(names):
        raise OptionError(
            f"{name}: no variable {found}; expected a name, or an index from 0 to {len(names) - 1}"
        )
    return found


def _parents(value: Any, name: str) -> tuple[tuple[int, ...], ...]:
    try:
        return tuple(tuple(index(parent) for parent in family) for family in value)
    except TypeError:
        instead = "pass the .parents of a result, or [(), (0,)] for the arc 0 -> 1"
        raise refusal(name, "the parents of each variable, by index", value, instead) from None


def family(value: Any, name: str) -> tuple[int, ...]:
    """Return the parents of one variable."""
    return _parents([value], name)[0]


as_text = instance_of(str, "a text", "pass a string")
_name = instance_of(str, "the name of a variable", "pass a string")
_number = instance_of(Real, "a number", "pass an int or a float")

_TEXTS = "method solver variant size cases root state comment separator"
_NAMES = "targets variables first second given"
_NUMBERS = (
    "t starts k seed draws rows smoothing gap tolerance size_weight factor least iterations bins "
    "threads node_limit max_size steps rounds node child completions"
)

CHECKS: dict[str, Check] = {
    "evidence": instance_of(
        Mapping, "a mapping of variables to states", "pass {'smoke': 'yes'}, say"
    ),
    "path": instance_of(
        (str, os.PathLike), "the path of a file", "pass a string or a pathlib.Path"
    ),
    "rng": instance_of(
        np.random.Generator, "a numpy Generator", "pass numpy.random.default_rng(seed)"
    ),
    "name": _name,
    "target": _pair,
    "parents": _parents,
    "required": _arcs,
    "forbidden": _arcs,
    "max_parents": number_or_none,
    "time_limit": number_or_none,
    **dict.fromkeys(_NAMES.split(), as_names),
    **dict.fromkeys(_TEXTS.split(), as_text),
    **dict.fromkeys(_NUMBERS.split(), _number),
}
"""The checks of public functions by the names of their parameters.

The modules of the package's own classes add theirs by :func:`register`.
"""
