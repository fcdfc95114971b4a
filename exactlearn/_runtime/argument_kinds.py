"""Checks of arguments by their kind: numbers, words, names and instances of classes.

Each check takes an argument and the name of its parameter, and returns the argument as functions
want it, or raises an error that says what to pass instead.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from numbers import Integral
from typing import Any

from exactlearn.errors import ArgumentError, OptionError, did_you_mean, name_written

PlainCheck = Callable[[Any, str], Any]
"""Returns an argument, given the name of its parameter, as the function wants it."""


def listed(names: str | Iterable[str]) -> Iterable[str]:
    """Return a list of names as it is, and a single string as a list of it."""
    return [names] if isinstance(names, str) else names


def as_list(value: Any) -> list[Any]:
    """Return the entries of a list or the like, and a single object as a list of it."""
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return list(value) if is_list else [value]


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
    labels = as_list(value)
    for label in labels:
        if not isinstance(label, kinds) or isinstance(label, bool):
            raise refusal(name, "a name or a list of names", label, "pass strings")
    return labels


as_labels = partial(as_names, kinds=(str, Integral))
"""Returns a list of names or integers, for :func:`names_of`."""


def refusal(
    name: str,
    expected: str,
    value: object,
    instead: str = "",
) -> ArgumentError:
    """Return the error for an argument of the wrong kind, with what to pass instead."""
    kind = type(value).__name__
    description = f"an object of type {kind}"
    if isinstance(value, type):
        description = f"the class {value.__name__}"
    elif value is None:
        description = "None"
    elif isinstance(value, str | int | float):
        description = f"{str(value)[:40]!r}, of type {kind}"
    if instead:
        description += f"; {instead}"
    return ArgumentError(
        f"argument {name_written(name)!r}: expected {expected}, found {description}"
    )


def as_states(value: Any, name: str = "states") -> Any:
    """Return lists of states by variable; a single string is one state.

    Raises
    ------
    ArgumentError
        When it is no mapping, or a state is no string.
    """
    if isinstance(value, Mapping):
        return {key: as_names(states, name) for key, states in value.items()}
    raise refusal(
        name, "the states of variables", value, "pass {'smoke': ['no', 'yes']}, say"
    )


def as_rules(value: Any, name: str = "discretise") -> Any:
    """Return rules of discretisation by variable; a single one is for all that need one.

    Raises
    ------
    ArgumentError
        When it is no mapping to strings.
    """
    if isinstance(value, str):
        return {"*": value}
    if isinstance(value, Mapping) and all(
        isinstance(rule, str) for rule in value.values()
    ):
        return value
    raise refusal(
        name, "a rule for each variable", value, "pass {'age': 'frequency:5'}, say"
    )


def instance_of(
    kinds: type | tuple[type, ...],
    expected: str,
    instead: str,
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
        candidates = (
            value,
            *(getattr(value, key, None) for key in ("network", "model")),
        )
        for candidate in candidates:
            if isinstance(candidate, kinds):
                return candidate
        raise refusal(name, expected, value, instead)

    return check


def as_flag(value: Any, name: str) -> bool:
    """Return a truth value, of Python or of NumPy.

    Raises
    ------
    ArgumentError
        When it is a number, a text or anything else that is only true or false in a condition.
    """
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise refusal(name, "True or False", value)


def one_of(choices: Collection[str]) -> PlainCheck:
    """Return the check of a text that is one of some choices, such as the names of a registry."""

    def check(value: Any, name: str) -> str:
        if not isinstance(value, str):
            raise refusal(name, f"one of {', '.join(map(repr, choices))}", value)
        if value not in choices:
            raise OptionError(
                f"{name_written(name)}: found {value!r}{did_you_mean(value, choices)}"
            )
        return value

    return check


def all_of(check: PlainCheck) -> PlainCheck:
    """Return the check of a list or an array each of whose entries passes a check."""

    def check_all(values: Any, name: str) -> Any:
        if isinstance(values, str) or not isinstance(values, Iterable):
            check(values, name)  # says what is wrong with a single one
            raise refusal(name, "a list", values, f"pass [{values}]")
        return [check(value, name) for value in values]

    return check_all


as_text = instance_of(str, "a text", "pass a string")

as_callback = instance_of(Callable, "a function, or None", "")  # type: ignore[arg-type]

as_name = instance_of(str, "the name of a variable", "pass a string")
