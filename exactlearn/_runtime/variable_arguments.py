"""Checks of arguments that name variables: a name, an index, arcs, parents, evidence.

Where a variable is named by a whole number, as a column of a frame with integer labels is, an
integer is a name and never an index (:func:`variable_index`).
"""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import index
from typing import Any

from exactlearn._runtime.argument_kinds import (
    as_list,
    as_name,
    as_names,
    listed,
    refusal,
)
from exactlearn.errors import OptionError, did_you_mean

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
    return tuple(
        (variable_index(tail, name, names), variable_index(head, name, names))
        for tail, head in as_arcs(value, name)
    )


def as_arcs(value: Any, name: str) -> list[tuple[Any, Any]]:
    """Return arcs as pairs of variables, of pairs or of a frame with an arc in each row.

    Raises
    ------
    ArgumentError
        When they are no pairs.
    """
    expected = "arcs as pairs of variables"
    instead = "pass [('smoke', 'lung')] or [(0, 1)], say"
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise refusal(name, expected, value, instead)
    if hasattr(value, "itertuples"):
        value = value.itertuples(index=False)
    arcs = []
    for arc in value:
        if isinstance(arc, str) or not isinstance(arc, Collection) or len(arc) != 2:
            raise refusal(name, expected, arc, instead)
        arcs.append(tuple(arc))
    return arcs


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
    if names is not None and isinstance(value, str):
        return _index_of_name(value, name, names)
    try:
        number = _index(value)
    except TypeError:
        expected = f"{'the name or ' if names else ''}the index of a variable"
        instead = "pass 0 for the first variable, say"
        raise refusal(name, expected, value, instead) from None
    # A graph without names, whose size is not known here.
    if names is None:
        if number < 0:
            raise OptionError(
                f"argument {name!r}: expected an index from 0, found {number}"
            )
        return number
    # Where names are whole numbers, an integer is one of these names.
    has_numbers = any(text.removeprefix("-").isdecimal() for text in names)
    if has_numbers and not isinstance(value, Index):
        return _index_of_name(value, name, names)
    if not 0 <= number < len(names):
        raise OptionError(
            f"{name}: no variable {number}; expected a name, or an index from 0 to "
            f"{len(names) - 1}"
        )
    return Index(number)


def _index_of_name(value: Any, name: str, names: Sequence[str]) -> int:
    """Return the index of the variable of a name, which may be a whole number."""
    key = str(value)
    if key not in names:
        reason = "; where variables are named by whole numbers, an integer is a name"
        if isinstance(value, str):
            reason = ""
        raise OptionError(
            f"{name}: no variable {value!r}{reason}{did_you_mean(key, names)}"
        )
    return Index(list(names).index(key))


def _index(value: Any) -> int:
    """Return a whole number that is no truth value as an int, or raise a :class:`TypeError`."""
    if isinstance(value, bool):
        raise TypeError
    return index(value)


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
    variables = as_list(value)
    return tuple(variable_index(variable, name, names) for variable in variables)


def names_of(value: Any, name: str, names: Names) -> list[str]:
    """Return the names of variables by name or index; a single one stands for a list of it.

    A name that is unknown is left for the function to refuse.

    Examples
    --------
    >>> names_of([1, "a"], "drop", ["a", "b"]), names_of(2, "drop", ["3", "2"])
    (['b', 'a'], ['2'])
    """
    variables = as_names(value, name, object)
    return [name_of(variable, name, names) for variable in variables]


def name_of(value: Any, name: str, names: Names) -> str:
    """Return the name of a variable, given by its name or its index."""
    if isinstance(value, str) or names is None:
        return str(as_name(value, name))
    return names[variable_index(value, name, names)]


def as_evidence(value: Any, name: str, names: Names) -> Mapping[str, Any]:
    """Return the observed states by name, of a mapping or of a row of a pandas frame."""
    from pandas import isna  # graphs need none

    value = {} if value is None else value
    if not (isinstance(value, Mapping) or type(value).__name__ == "Series"):
        instead = "pass {'smoke': 'yes'}, say, or a row of a frame"
        raise refusal(name, "a mapping of variables to states", value, instead)
    observed = {}
    for key, state in value.items():
        if isna(state) is not True:
            observed[name_of(key, name, names)] = state
    return observed


def parents_by_index(
    value: Any,
    name: str,
    names: Names,
) -> tuple[tuple[int, ...], ...]:
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
    expected = "the parents of each variable"
    if isinstance(value, str | os.PathLike):
        raise refusal(name, expected, value, "pass read_graph(path)")
    try:
        # The parents of all variables in order, or of those that have any.
        families = _families(value, name, names)
        if names is None or not isinstance(families, Mapping):
            return tuple(parent_set(family, name, names) for family in families)
        parents: list[tuple[int, ...]] = [()] * len(names)
        for child, family in families.items():
            child_index = variable_index(child, name, names)
            parents[child_index] = variables_by_index(family, name, names)
        return tuple(parents)
    except TypeError:
        if names is None:
            expected += ", by index"
        instead = "pass the .parents of a result, or [(), (0,)] for the arc 0 -> 1"
        raise refusal(name, expected, value, instead) from None


def _families(value: Any, name: str, names: Names) -> Any:
    """Return the parents of each variable in order, or of some variables as a mapping."""
    families = getattr(value, "parents", value)
    if names is None:
        return families
    labels = getattr(value, "names", None)
    if labels and families is not value and tuple(labels) != tuple(names):
        # A result or a model, whose variables stand in another order.
        if strange := sorted({*labels} ^ {*names}):
            raise OptionError(
                f"{name}: expected the same variables; only one has {strange[0]!r}"
            )
        by_name = {}
        for child, family in zip(labels, families, strict=True):
            by_name[child] = [labels[parent] for parent in family]
        return by_name
    if hasattr(families, "adj"):
        return _families_of_graph(families, name, names)
    # No list of parent sets has pairs alone, as a DAG has a root.
    is_list = isinstance(families, list | tuple | set | frozenset) and len(families) > 0
    if is_list and all(map(_is_pair, families)):
        return _families_of_arcs(families, name, names)
    return families


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def _families_of_graph(
    graph: Any,
    name: str,
    names: Sequence[str],
) -> dict[Any, list[int]]:
    """Return the parents of each node of a graph of networkx."""
    if not hasattr(graph, "predecessors"):
        expected = "the parents of each variable"
        raise refusal(name, expected, graph, "pass a directed graph")
    return {
        child: sorted(variables_by_index(graph.predecessors(child), name, names))
        for child in graph
    }


def _families_of_arcs(
    arcs: Any,
    name: str,
    names: Sequence[str],
) -> dict[Any, list[int]]:
    """Return the parents of each variable that an arc leads to."""
    families = defaultdict(set)
    for tail, head in arcs_by_index(arcs, name, names):
        families[head].add(tail)
    return {child: sorted(parents) for child, parents in families.items()}


def parent_set(family: Any, name: str, names: Names) -> tuple[int, ...]:
    """Return the parents of one variable, where an integer is always an index."""
    # That an index is one of a variable is for the function to check.
    parents: list[int] = []
    for parent in listed(family):
        if isinstance(parent, str):
            parents.append(variable_index(parent, name, names))
        else:
            parents.append(_index(parent))
    return tuple(parents)
