"""Checks of the arguments of public functions, by the names of their parameters.

A pandas frame or an array stands for a table, the name of a score for the score, a single string
for a list of one name, and a name or an index for a variable. Where a variable is named by a whole
number, as a column of a frame with integer labels is, an integer is a name and never an index
(:func:`variable_index`). Anything else of the wrong kind raises an error that says what to pass
instead.
"""

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, wraps
from numbers import Real
from operator import index
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np

from exactlearn.errors import ArgumentError, OptionError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")

Given = Mapping[str, Any]
"""All arguments of a call by the names of their parameters."""

PlainCheck = Callable[[Any, str], Any]
"""Returns an argument, given the name of its parameter, as the function wants it."""

VariableLike = int | Any
"""A variable by its name or its index."""

VariablesLike = Sequence[int] | Any
"""Variables by name or by index; a single name stands for a list of it."""

ArcsLike = Iterable[tuple[int, int]] | Any
"""Arcs as pairs of variables, by name or by index, or a frame of two columns."""

ParentsLike = Sequence[Sequence[int]] | Any
"""The parents of each variable by index or by name, a mapping, a result, a model or a graph.

This and what is named so is for parameters that :func:`checked_arguments` checks: type checkers
accept what the function does, and take the argument inside for what the check makes of it.
"""

Names = Sequence[str] | None
"""The names of the variables, where they are known."""


class Index(int):
    """The index of a variable that was looked up: no later check takes it for a name."""


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


def like_model(check: Callable[[Any, str, Any, bool | None], Any]) -> Check:
    """Return a check of a table, whose values mean what they mean for the model beside it.

    It is called with the function's argument ``model``, ``network``, ``pdg``, ``train`` or ``self``
    with states, or nothing, and with its argument ``tidy``, or nothing where neither the function
    nor its object has one.
    """

    def context(given: Given) -> tuple[Any, Any]:
        models = map(given.get, ("model", "network", "pdg", "train", "self"))
        model = next((model for model in models if hasattr(model, "states")), None)
        return model, given.get("tidy", getattr(given.get("self"), "tidy", None))

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
        if _number(value, name) < least:
            raise OptionError(f"{name} is {value:g}: give {instead}")
        return value

    return check


def number_or(word: str | None) -> PlainCheck:
    """Return a check of an argument that is a number, or one word or nothing."""
    number = instance_of(Real, f"a number or {word!r}", "pass 1.0, say")
    return lambda value, name: (
        value if type(value) is type(word) and value == word else number(value, name)
    )


def arcs_by_index(value: Any, name: str, names: Names) -> tuple[tuple[int, int], ...]:
    """Return arcs as pairs of indices: each end is the name or the index of a variable.

    A pandas frame has an arc in each row.

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
    expected, instead = "arcs as pairs of variables", "pass [('smoke', 'lung')] or [(0, 1)], say"
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise refusal(name, expected, value, instead)
    found = []
    for arc in value.itertuples(index=False) if hasattr(value, "itertuples") else value:
        if isinstance(arc, str) or not isinstance(arc, Collection) or len(arc) != 2:
            raise refusal(name, expected, arc, instead)
        tail, head = (variable_index(end, name, names) for end in arc)
        found.append((tail, head))
    return tuple(found)


def variable_index(value: Any, name: str, names: Names) -> int:
    """Return the index of a variable, given by its name or its index.

    Where any name is a whole number, an integer is a name.

    Raises
    ------
    ArgumentError
        When it is neither a name nor a whole number, or names are not known.
    OptionError
        When there is no such variable.

    Examples
    --------
    >>> variable_index("b", "child", ["a", "b"]), variable_index(1, "child", ["a", "b"])
    (1, 1)
    >>> variable_index(0, "child", ["3", "2", "0"])
    2
    """
    key, why = value, ""
    if names is None or not isinstance(value, str):
        try:
            found = index(value)
        except TypeError:
            expected = "the name or the index of a variable" if names else "the index of a variable"
            raise refusal(name, expected, value, "pass 0 for the first variable, say") from None
        if names is None:
            return found
        if isinstance(value, Index) or not any(n.removeprefix("-").isdecimal() for n in names):
            if 0 <= found < len(names):
                return Index(found)
            last = len(names) - 1
            raise OptionError(
                f"{name}: no variable {found}; expected a name, or an index from 0 to {last}"
            )
        key, why = str(found), "; where variables are named by whole numbers, an integer is a name"
    if key not in names:
        raise OptionError(f"{name}: no variable {value!r}{why}{did_you_mean(key, names)}")
    return Index(list(names).index(key))


def variables_by_index(value: Any, name: str, names: Names) -> tuple[int, ...]:
    """Return the indices of variables; a single name stands for a list of it.

    Raises
    ------
    ArgumentError, OptionError
        As :func:`variable_index`.

    Examples
    --------
    >>> variables_by_index("b", "given", ["a", "b"])
    (1,)
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = (value,)
    return tuple(variable_index(one, name, names) for one in value)


def names_of(value: Any, name: str, names: Names) -> list[str]:
    """Return the names of variables by name or index; a single one stands for a list of it.

    A name that is unknown is left for the function to refuse.

    Examples
    --------
    >>> names_of([1, "a"], "drop", ["a", "b"]), names_of(2, "drop", ["3", "2"])
    (['b', 'a'], ['2'])
    """
    return [name_of(one, name, names) for one in as_names(value, name, object)]


def name_of(value: Any, name: str, names: Names) -> str:
    """Return the name of a variable, given by its name or its index."""
    if isinstance(value, str) or names is None:
        return str(_name(value, name))
    return names[variable_index(value, name, names)]


def _evidence(value: Any, name: str, names: Names) -> Mapping[str, Any]:
    """Return the observed states by name, of a mapping or of a row of a pandas frame."""
    value = {} if value is None else value
    if not (isinstance(value, Mapping) or type(value).__name__ == "Series"):
        instead = "pass {'smoke': 'yes'}, say, or a row of a frame"
        raise refusal(name, "a mapping of variables to states", value, instead)
    observed = {key: state for key, state in value.items() if not _is_missing(state)}
    if all(isinstance(key, str) for key in observed):
        return observed
    return {name_of(key, name, names): state for key, state in observed.items()}


def _is_missing(value: Any) -> bool:
    is_nan = isinstance(value, float) and value != value
    return is_nan or value is None or type(value).__name__ in ("NAType", "NaTType")


def parents_by_index(value: Any, name: str, names: Names) -> tuple[tuple[int, ...], ...]:
    """Return the parents of each variable, by index.

    Parameters
    ----------
    value
        The parents of each variable by name or index, in order (here an integer is always an
        index, as in the ``parents`` of results); a mapping from variables to their parents, where
        the others have none; arcs, each a pair of variables; a directed graph of networkx; or what
        has ``parents``, such as a result or a network, whose variables are matched by name.
    name, names
        The parameter; the names of the variables, where they are known.

    Raises
    ------
    ArgumentError
        When it is none of these, or names are used but not known.
    OptionError
        When there is no such variable.

    Examples
    --------
    >>> parents_by_index({"b": "a"}, "parents", ["a", "b"])
    ((), (0,))
    >>> parents_by_index([("a", "b")], "parents", ["a", "b"])
    ((), (0,))
    """
    found, own = getattr(value, "parents", value), getattr(value, "names", None)
    if own and names is not None and tuple(own) != tuple(names) and found is not value:
        strange = sorted({*own} ^ {*names})
        if strange:
            raise OptionError(f"{name}: expected the same variables; only one has {strange[0]!r}")
        pairs = zip(own, found, strict=True)
        found = {child: [own[p] for p in family] for child, family in pairs}
    if isinstance(value, str | os.PathLike):
        raise refusal(name, "the parents of each variable", value, "pass read_graph(path)")
    if names is not None and hasattr(found, "adj"):
        if not hasattr(found, "predecessors"):
            raise refusal(name, "the parents of each variable", value, "pass a directed graph")
        found = {child: sorted(found.predecessors(child), key=list(names).index) for child in found}
    try:
        if names is not None and _are_arcs(found):
            arcs = arcs_by_index(found, name, names)
            found = {head: sorted({t for t, h in arcs if h == head}) for _, head in arcs}
        if names is not None and isinstance(found, Mapping):
            families: list[tuple[int, ...]] = [()] * len(names)
            for child, family in found.items():
                at = variable_index(child, name, names)
                families[at] = variables_by_index(family, name, names)
            return tuple(families)
        return tuple(parent_set(family, name, names) for family in found)
    except TypeError:
        expected = "the parents of each variable" + ", by index" * (names is None)
        instead = "pass the .parents of a result, or [(), (0,)] for the arc 0 -> 1"
        raise refusal(name, expected, value, instead) from None


def _are_arcs(value: Any) -> bool:
    """Return whether all are pairs: no list of parent sets is, as a DAG has a root."""
    return (
        isinstance(value, list | tuple | set | frozenset)
        and len(value) > 0
        and all(isinstance(one, list | tuple) and len(one) == 2 for one in value)
    )


def parent_set(family: Any, name: str, names: Names) -> tuple[int, ...]:
    """Return the parents of one variable, where an integer is always an index."""
    # That an index is one of a variable is for the function to check.
    return tuple(
        variable_index(one, name, names) if isinstance(one, str) else index(one)
        for one in listed(family)
    )


as_text = instance_of(str, "a text", "pass a string")
_name = instance_of(str, "the name of a variable", "pass a string")
_number = instance_of(Real, "a number", "pass an int or a float")

_TEXTS = "method solver size cases separator"
_NAMES = "targets variables first second given"
_NUMBERS = (
    "t starts k seed draws rows smoothing gap tolerance size_weight factor least iterations bins "
    "threads max_size steps rounds"
)

CHECKS: dict[str, Check | PlainCheck] = {
    "evidence": named(_evidence),
    "path": instance_of((str, os.PathLike), "the path of a file", "pass a string or a Path"),
    "rng": instance_of(np.random.Generator, "a numpy Generator", "pass default_rng(seed), say"),
    "name": _name,
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
    **dict.fromkeys(_NUMBERS.split(), _number),
}
"""The checks of public functions by the names of their parameters.

The modules of the package's own classes add theirs by :func:`register`.
"""
