"""The arguments of public functions: what they accept beside the types they name, and what not.

A pandas frame stands for a table, the name of a score for the score, and a single string for a list
of one name. Anything else of the wrong kind is refused at the door, with what to pass instead.
"""

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from numbers import Real
from operator import index
from typing import Any, ParamSpec, TypeVar

from exactlearn.errors import ArgumentError

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
    """Add checks by the names of parameters: those of classes that are defined further up."""
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


def instance_of(home: str, kinds: str, expected: str, instead: str) -> Check:
    """Return the check that an argument is an instance of one of these classes.

    Parameters
    ----------
    home, kinds
        Modules and classes, separated by blanks; modules are loaded on first use.
    expected, instead
        What the message of the error says.
    """

    def is_one(value: Any) -> bool:
        # The module was loaded by whoever made an instance of its class.
        return any(
            module in sys.modules and isinstance(value, getattr(sys.modules[module], kind))
            for module, kind in zip(home.split(), kinds.split(), strict=True)
        )

    def check(value: Any, name: str) -> Any:
        if is_one(value):
            return value
        parts = [part for part in ("network", "pdg") if is_one(getattr(value, part, None))]
        raise refusal(name, expected, value, f"pass its .{parts[0]}" if parts else instead)

    return check


def _evidence(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return value
    raise refusal(name, "a mapping of variables to states", value, "pass {'smoke': 'yes'}, say")


def _path(value: Any, name: str) -> Any:
    if isinstance(value, str | os.PathLike):
        return value
    raise refusal(name, "the path of a file", value, "pass a string or a pathlib.Path")


def _name(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    raise refusal(name, "the name of a variable", value, "pass a string")


def _pair(value: Any, name: str) -> tuple[str, str]:
    if isinstance(value, tuple | list) and len(value) == 2:
        return _name(value[0], name), _name(value[1], name)
    raise refusal(name, "a variable and its state", value, "pass ('lung', 'yes'), say")


def _number(value: Any, name: str) -> Any:
    if isinstance(value, Real):
        return value
    raise refusal(name, "a number", value, "pass an int or a float")


def _limit(value: Any, name: str) -> Any:
    return None if value is None else _number(value, name)


def _arcs(value: Any, name: str) -> tuple[tuple[int, int], ...]:
    try:
        return tuple((index(tail), index(head)) for tail, head in value)
    except (TypeError, ValueError):
        raise refusal(
            name, "arcs as pairs of indices", value, "pass [(0, 1)] for the arc 0 -> 1"
        ) from None


def as_text(value: Any, name: str) -> str:
    """Return a string."""
    if isinstance(value, str):
        return value
    raise refusal(name, "a text", value, "pass a string")


def _parents(value: Any, name: str) -> tuple[tuple[int, ...], ...]:
    try:
        return tuple(tuple(index(parent) for parent in family) for family in value)
    except TypeError:
        raise refusal(
            name,
            "the parents of each variable, by index",
            value,
            "pass the .parents of a result, or [(), (0,)] for the arc 0 -> 1",
        ) from None


def as_graphs(value: Any, name: str) -> tuple[Any, ...]:
    """Return decision graphs; a single one is a list of one."""
    return tuple(
        as_graph(each, name) for each in (value if isinstance(value, Iterable) else [value])
    )


def family(value: Any, name: str) -> tuple[int, ...]:
    """Return the parents of one variable."""
    return _parents([value], name)[0]


_NETWORK = "read a file with read_bif(path), or estimate one with fit_complete or fit_em"
_GRAPH = "read a file with read_pdg(path), or compile a network with compile_network(network)"

_graph = instance_of(
    "exactlearn.pdg.model.decision_graph", "DecisionGraph", "a DecisionGraph", _GRAPH
)

as_frame = instance_of(
    "pandas", "DataFrame", "a pandas DataFrame", "code an array with Dataset.from_array(array)"
)

as_graph = instance_of(
    "exactlearn.pdg.model.decision_graph", "DecisionGraph", "a DecisionGraph", _GRAPH
)

as_network = instance_of(
    "exactlearn.bayesnet.network", "BayesianNetwork", "a BayesianNetwork", _NETWORK
)

as_spec = instance_of(
    "builtins exactlearn.data.missingness",
    "str Spec",
    "a specification of missingness",
    "pass 'mcar:0.1', say",
)

any_model = instance_of(
    "exactlearn.bayesnet.network exactlearn.pdg.model.decision_graph "
    "exactlearn.bayesnet.naive_bayes",
    "BayesianNetwork DecisionGraph NaiveBayes",
    "a BayesianNetwork, a DecisionGraph or a NaiveBayes model",
    "read a file with read_bif(path) or read_pdg(path)",
)

model_check = instance_of(
    "exactlearn.bayesnet.network exactlearn.pdg.model.decision_graph",
    "BayesianNetwork DecisionGraph",
    "a BayesianNetwork or a DecisionGraph",
    "read a file with read_bif(path) or read_pdg(path)",
)

_TEXTS = "method solver variant size cases root state comment separator"
_NUMBERS = (
    "t starts k seed draws rows alpha gap tolerance lambda_ factor least iterations bins threads "
    "node_limit max_size steps rounds node child completions"
)

CHECKS: dict[str, Check] = {
    "network": as_network,
    "model": model_check,
    "p": model_check,
    "q": model_check,
    "pdg": as_graph,
    "graph": as_graph,
    "problem": instance_of(
        "exactlearn.solvers.problem",
        "Problem",
        "a Problem",
        "make one with candidate_parent_sets(dataset, score), or read one with read_jkl(path)",
    ),
    "best": instance_of(
        "exactlearn.augmentation.result",
        "Augmentation",
        "an Augmentation",
        "pass what augment(dataset, score) returned",
    ),
    "rng": instance_of(
        "numpy.random", "Generator", "a numpy Generator", "pass numpy.random.default_rng(seed)"
    ),
    "evidence": _evidence,
    "targets": as_names,
    "variables": as_names,
    "first": as_names,
    "second": as_names,
    "given": as_names,
    "name": _name,
    "target": _pair,
    "parents": _parents,
    "path": _path,
    "required": _arcs,
    "forbidden": _arcs,
    "max_parents": _limit,
    "time_limit": _limit,
    **dict.fromkeys(_TEXTS.split(), as_text),
    **dict.fromkeys(_NUMBERS.split(), _number),
    "budget": instance_of(
        "exactlearn.scoring.candidate_identification",
        "Budget",
        "a Budget",
        "pass Budget(seconds=60), say",
    ),
}
"""The checks of public functions by the names of their parameters."""
