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
        parameters = signature.parameters
        all_checks = {**CHECKS, **special}
        checks = [
            (parameter, _as_check(all_checks[name]))
            for name, parameter in parameters.items()
            if name in all_checks
        ]
        # Of the others, messages may say what all functions mean by them.
        usual = parameters.keys() - special.keys()

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                for name in kwargs:
                    if name not in parameters:
                        raise ArgumentError(
                            f"{function.__name__}() got an unexpected keyword argument "
                            f"{name!r}{did_you_mean(name, parameters)}"
                        ) from None
                return function(*args, **kwargs)  # which says better what is wrong
            # Checks of later stages see what the earlier ones have made of the arguments.
            bound.apply_defaults()
            given = bound.arguments
            with parameters_taken(usual):
                for stage in range(3):
                    given |= {
                        parameter.name: check.check(
                            given[parameter.name],
                            parameter.name,
                            *check.context(given),
                        )
                        for parameter, check in checks
                        if check.stage == stage
                        and given[parameter.name] is not parameter.default
                    }
                return function(*bound.args, **bound.kwargs)

        return call

    return decorate


def _as_check(check: Check | PlainCheck) -> Check:
    return check if isinstance(check, Check) else Check(check)


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
        check = checks.get(field.name)
        value = getattr(instance, field.name)
        if check and not isinstance(check, Check) and value is not field.default:
            object.__setattr__(instance, field.name, check(value, field.name))


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
            result = function(*args, **kwargs)
            names = getattr(args[0] if args else kwargs[first], "names", ())
            return by_name(result, names) if names else result

        return call

    return decorate


def set_by_name(variables: Iterable[int], names: Sequence[str]) -> frozenset[str]:
    """Return a set of variables by name, for :func:`named_results`."""
    return frozenset(names[v] for v in variables)


def _names(given: Given) -> Names:
    """Return the names of the variables that the arguments are about."""
    names = given.get("names")
    if names is not None:
        # Where a text was one name, it is a list by now.
        return list(names) if isinstance(names, str) else as_names(names)
    # The first argument with names: a table, a model or a graph.
    for value in given.values():
        names = getattr(value, "names", None)
        if isinstance(names, tuple | list) and names:
            return names
    return None


def register(**checks: Check | PlainCheck) -> None:
    """Add checks by the names of parameters: where a class is defined, for its instances."""
    CHECKS.update(checks)


as_path = instance_of(
    (str, os.PathLike),
    "the path of a file or a folder",
    "pass a string or a Path",
)
as_generator = instance_of(
    np.random.Generator,
    "a numpy Generator",
    "pass default_rng(seed), say",
)

_BY_CHECK: dict[Check | PlainCheck, str] = {
    as_path: "path folder checkpoint",
    as_text: "method solver size cases separator",
    as_flag: "certify classes header prune tidy",
    as_callback: "on_begin on_event on_iteration on_model on_progress",
    as_generator: "rng",
    as_name: "name",
    as_states: "states",
    as_rules: "discretise",
    as_labels: "drop",
    as_names: "missing",
    all_of(NUMBERS["size_weight"]): "size_weights",
    named(as_evidence): "evidence do",
    named(parents_by_index): "parents",
    named(arcs_by_index): "required forbidden",
    named(variable_index): "child",
    named(name_of): "root",
    named(names_of): "targets variables first second given",
}

CHECKS: dict[str, Check | PlainCheck] = dict(NUMBERS)
for _check, _parameters in _BY_CHECK.items():
    CHECKS |= dict.fromkeys(_parameters.split(), _check)
"""The checks of public functions by the names of their parameters.

The modules of the package's own classes add theirs by :func:`register`.
"""
