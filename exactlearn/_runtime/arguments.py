"""Checks of the arguments of public functions, by the names of their parameters.

A pandas frame or an array stands for a table, the name of a score for the score, a single string
for a list of one name, and a name or an index for a variable. Anything else of the wrong kind
raises an error that says what to pass instead. The checks themselves stand in
:mod:`.argument_kinds` and :mod:`.variable_arguments`.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np

from exactlearn._runtime.argument_kinds import (
    PlainCheck,
    as_labels,
    as_name,
    as_names,
    as_number,
    as_rules,
    as_states,
    as_text,
    instance_of,
    number_from,
    number_or,
)
from exactlearn._runtime.argument_kinds import (
    one_of as one_of,
)
from exactlearn._runtime.variable_arguments import (
    Names,
    arcs_by_index,
    as_evidence,
    name_of,
    names_of,
    parents_by_index,
    variable_index,
)
from exactlearn.errors import ArgumentError, did_you_mean

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
        mine = [(p, known[name]) for name, p in signature.parameters.items() if name in known]
        due = [(p, c if isinstance(c, Check) else Check(c)) for p, c in mine]

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                for name in [name for name in kwargs if name not in signature.parameters]:
                    raise ArgumentError(
                        f"{function.__name__}() got an unexpected keyword argument {name!r}"
                        f"{did_you_mean(name, signature.parameters)}"
                    ) from None
                return function(*args, **kwargs)  # which says better what is wrong
            bound.apply_defaults()
            given = bound.arguments
            for stage in range(3):
                given |= {
                    p.name: c.check(given[p.name], p.name, *c.context(given))
                    for p, c in due
                    if c.stage == stage and given[p.name] is not p.default
                }
            return function(*bound.args, **bound.kwargs)

        return call

    return decorate


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
    if (own := given.get("names")) is not None:  # where a text was one name, it is a list by now
        return list(own) if isinstance(own, str) else as_names(own)
    found = (getattr(value, "names", None) for value in given.values())
    return next((names for names in found if isinstance(names, tuple | list) and names), None)


def register(**checks: Check | PlainCheck) -> None:
    """Add checks by the names of parameters: where a class is defined, for its instances."""
    CHECKS.update(checks)


_TEXTS = "method solver size cases separator"

_NAMES = "targets variables first second given"

_NUMBERS = (
    "t starts k seed draws rows smoothing gap tolerance size_weight factor least iterations bins "
    "threads max_size steps rounds"
)

CHECKS: dict[str, Check | PlainCheck] = {
    "evidence": named(as_evidence),
    "path": instance_of((str, os.PathLike), "the path of a file", "pass a string or a Path"),
    "rng": instance_of(np.random.Generator, "a numpy Generator", "pass default_rng(seed), say"),
    "name": as_name,
    "parents": named(parents_by_index),
    "child": named(variable_index),
    "root": named(name_of),
    "required": named(arcs_by_index),
    "forbidden": named(arcs_by_index),
    "max_parents": number_or(None),
    "time_limit": number_from(0, "seconds, 0 or more, or None for no limit"),
    "jobs": number_from(1, "1 process or more"),
    "ess": number_or("auto"),
    "states": as_states,
    "discretise": as_rules,
    "drop": as_labels,
    **dict.fromkeys(_NAMES.split(), named(names_of)),
    **dict.fromkeys(_TEXTS.split(), as_text),
    **dict.fromkeys(_NUMBERS.split(), as_number),
}
"""The checks of public functions by the names of their parameters.

The modules of the package's own classes add theirs by :func:`register`.
"""
