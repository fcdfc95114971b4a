"""Checks of the arguments of public functions, by the names of their parameters.

A pandas frame or an array stands for a table, the name of a score for the score, a single string
for a list of one name, and a name or an index for a variable. Anything else of the wrong kind
raises an error that says what to pass instead. The checks themselves stand in
:mod:`.argument_kinds` and :mod:`.variable_arguments`.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np

from exactlearn._runtime.argument_kinds import (
    PlainCheck,
    all_of,
    as_callback,
    as_flag,
    as_labels,
    as_name,
    as_names,
    as_rules,
    as_states,
    as_text,
    instance_of,
)
from exactlearn._runtime.number_arguments import NUMBERS
from exactlearn._runtime.variable_arguments import (
    Names,
    arcs_by_index,
    as_evidence,
    name_of,
    names_of,
    parents_by_index,
    variable_index,
)
from exactlearn.errors import ArgumentError, did_you_mean, parameters_taken

P = ParamSpec("P")

R = TypeVar("R")

Given = Mapping[str, Any]
"""All arguments of a call by the names of their parameters."""


class Check(NamedTuple):
    """A check of an argument, which returns it as the function wants it.

    Attributes
    ----------
    check
        Called with the argument, the name of its parameter and the context.
    context
        Returns what else the check is called with, given all arguments.
    stage
        Checks of later stages need what the earlier ones make of the arguments.
    """

    check: Callable[..., Any]
    context: Callable[[Given], tuple[Any, ...]] = lambda _: ()
    stage: int = 0


def named(check: Callable[[Any, str, Names], Any]) -> Check:
    """Return a check of variables, given by their names or by their indices.

    The names are those of the first argument that has ``names``, such as a table or a model.
    """
    return Check(check, lambda given: (_names(given),), stage=2)


def like_model(check: Callable[[Any, str, Any, bool | None, Any], Any]) -> Check:
    """Return a check of a table, whose values mean what they mean for the model beside it.

    It is called with the function's argument ``model``, ``network``, ``pdg``, ``train`` or ``self``
    with states, or nothing; with its argument ``tidy``, or nothing where neither the function nor
    its object has one; and with its argument ``unseen``, or nothing.
    """

    def context(given: Given) -> tuple[Any, Any, Any]:
        models = map(given.get, ("model", "network", "pdg", "train", "self"))
        model = next((model for model in models if hasattr(model, "states")), None)
        tidy = given.get("tidy", getattr(given.get("self"), "tidy", None))
        return model, tidy, given.get("unseen")

    return Check(check, context, stage=1)


def checked_arguments(
    **special: Check | PlainCheck,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function have each argument as :data:`CHECKS` returns it, by the parameter's name.

    Parameters
    ----------
    special
        Checks of this function's own. An argument that is a parameter's default is not checked.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        known = {**CHECKS, **special}
        mine = [
            (p, known[name])
            for name, p in signature.parameters.items()
            if name in known
        ]
        due = [(p, c if isinstance(c, Check) else Check(c)) for p, c in mine]
        taken = (
            signature.parameters.keys() - special.keys()
        )  # with the meaning that all give them
        keywords = [
            n for n, p in signature.parameters.items() if p.kind is p.VAR_KEYWORD
        ]

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                for name in [
                    name for name in kwargs if name not in signature.parameters
                ]:
                    raise ArgumentError(
                        f"{function.__name__}() got an unexpected keyword argument {name!r}"
                        f"{did_you_mean(name, signature.parameters)}"
                    ) from None
                return function(*args, **kwargs)  # which says better what is wrong
            bound.apply_defaults()
            given = bound.arguments
            with parameters_taken(taken):
                for name in keywords:  # the options of a function that is called inside
                    given[name] = {
                        key: _checked(key, value) for key, value in given[name].items()
                    }
                for stage in range(3):
                    given |= {
                        p.name: c.check(given[p.name], p.name, *c.context(given))
                        for p, c in due
                        if c.stage == stage and given[p.name] is not p.default
                    }
                return function(*bound.args, **bound.kwargs)

        return call

    return decorate


def check_fields(instance: Any, **special: PlainCheck) -> None:
    """Let a data class have each of its fields as :data:`CHECKS` returns it, by the field's name.

    Checks that need other arguments, such as the names of variables, are left to the functions
    that take the instance.

    Parameters
    ----------
    instance
        The instance, in its ``__post_init__``.
    special
        Checks of its own. A value that is the field's default is not checked.

    Raises
    ------
    ArgumentError, OptionError
        When a field holds what it cannot.
    """
    checks = {**CHECKS, **special}
    for field in fields(instance):
        check, value = checks.get(field.name), getattr(instance, field.name)
        if (
            check is not None
            and not isinstance(check, Check)
            and value is not field.default
        ):
            object.__setattr__(instance, field.name, check(value, field.name))


def _checked(name: str, value: Any) -> Any:
    """Return an option as the function called inside wants it, where it is a number."""
    if value is None or name not in NUMBERS:
        return value
    return NUMBERS[name](value, name)


class Named(Protocol):
    """A graph whose variables have names: a model, a result or a graph by name."""

    @property
    def names(self) -> Sequence[str]:
        """The variables."""


def named_results(
    by_name: Callable[[Any, Sequence[str]], Any],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function of a graph return names where the graph has names: names in, names out.

    Parameters
    ----------
    by_name
        Makes what the function returns, by index, into what it returns by name.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        first = next(iter(inspect.signature(function).parameters))

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            found = function(*args, **kwargs)
            names = getattr(args[0] if args else kwargs[first], "names", ())
            return by_name(found, names) if names else found

        return call

    return decorate


def set_by_name(variables: Iterable[int], names: Sequence[str]) -> frozenset[str]:
    """Return a set of variables by name, for :func:`named_results`."""
    return frozenset(names[v] for v in variables)


def _names(given: Given) -> Names:
    """Return the names of the variables that the arguments are about."""
    if (
        own := given.get("names")
    ) is not None:  # where a text was one name, it is a list by now
        return list(own) if isinstance(own, str) else as_names(own)
    found = (getattr(value, "names", None) for value in given.values())
    return next(
        (names for names in found if isinstance(names, tuple | list) and names), None
    )


def register(**checks: Check | PlainCheck) -> None:
    """Add checks by the names of parameters: where a class is defined, for its instances."""
    CHECKS.update(checks)


_PATHS = "path folder checkpoint"
_TEXTS = "method solver size cases separator"
_NAMES = "targets variables first second given"
_FLAGS = "certify classes header prune tidy"
_CALLBACKS = "on_begin on_event on_iteration on_model on_progress"

as_path = instance_of(
    (str, os.PathLike), "the path of a file or a folder", "pass a string or a Path"
)

CHECKS: dict[str, Check | PlainCheck] = {
    **NUMBERS,
    "evidence": named(as_evidence),
    "rng": instance_of(
        np.random.Generator, "a numpy Generator", "pass default_rng(seed), say"
    ),
    "name": as_name,
    "parents": named(parents_by_index),
    "child": named(variable_index),
    "root": named(name_of),
    "required": named(arcs_by_index),
    "forbidden": named(arcs_by_index),
    "states": as_states,
    "discretise": as_rules,
    "drop": as_labels,
    "missing": as_names,
    "size_weights": all_of(NUMBERS["size_weight"]),
    **dict.fromkeys(_NAMES.split(), named(names_of)),
    **dict.fromkeys(_TEXTS.split(), as_text),
    **dict.fromkeys(_PATHS.split(), as_path),
    **dict.fromkeys(_FLAGS.split(), as_flag),
    **dict.fromkeys(_CALLBACKS.split(), as_callback),
}
"""The checks of public functions by the names of their parameters.

The modules of the package's own classes add theirs by :func:`register`.
"""
