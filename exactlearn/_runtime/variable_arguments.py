"""Checks of arguments that name variables: a name, an index, arcs, parents, evidence.

Where a variable is named by a whole number, as a column of a frame with integer labels is, an
integer is a name and never an index (:func:`variable_index`).
"""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import index
from typing import Any

from exactlearn._runtime.argument_kinds import as_name, as_names, listed, refusal
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
    arcs = []
    for tail, head in as_arcs(value, name):
        arcs.append(
            (variable_index(tail, name, names), variable_index(head, name, names))
        )
    return tuple(arcs)


def as_arcs(value: Any, name: str) -> list[tuple[Any, Any]]:
    """Return arcs as pairs of variables, of pairs or of a frame with an arc in each row.

    Raises
    ------
    ArgumentError
        When they are no pairs.
    """
    expected, instead = (
        "arcs as pairs of variables",
        "pass [('smoke', 'lung')] or [(0, 1)], say",
    )
    if not isinstance(value, Iterable) or isinstance(value, str):
        raise refusal(name, expected, value, instead)
    arcs = []
    for arc in value.itertuples(index=False) if hasattr(value, "itertuples") else value:
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
    key, why = value, ""
    if names is None or not isinstance(value, str):
        try:
            found = _index(value)
        except TypeError:
            expected = (
                "the name or the index of a variable"
                if names
                else "the index of a variable"
            )
            raise refusal(
                name, expected, value, "pass 0 for the first variable, say"
            ) from None
        if names is None:
            return _checked_index(found, name)
        if isinstance(value, Index) or not any(
            n.removeprefix("-").isdecimal() for n in names
        ):
            if 0 <= found < len(names):
                return Index(found)
            last = len(names) - 1
            raise OptionError(
                f"{name}: no variable {found}; expected a name, or an index from 0 to {last}"
            )
        key, why = (
            str(found),
            "; where variables are named by whole numbers, an integer is a name",
        )
    if key not in names:
        raise OptionError(
            f"{name}: no variable {value!r}{why}{did_you_mean(key, names)}"
        )
    return Index(list(names).index(key))


def _checked_index(index_: int, name: str) -> int:
    """Return the index of a variable whose graph has no names, or refuse a negative one."""
    if index_ < 0:
        raise OptionError(
            f"argument {name!r}: expected an index from 0, found {index_}"
        )
    return index_


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
        return str(as_name(value, name))
    return names[variable_index(value, name, names)]


def as_evidence(value: Any, name: str, names: Names) -> Mapping[str, Any]:
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


def parents_by_index(
    value: Any, name: str, names: Names
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
    found, own = getattr(value, "parents", value), getattr(value, "names", None)
    if own and names is not None and tuple(own) != tuple(names) and found is not value:
        strange = sorted({*own} ^ {*names})
        if strange:
            raise OptionError(
                f"{name}: expected the same variables; only one has {strange[0]!r}"
            )
        pairs = zip(own, found, strict=True)
        found = {child: [own[p] for p in family] for child, family in pairs}
    if isinstance(value, str | os.PathLike):
        raise refusal(
            name, "the parents of each variable", value, "pass read_graph(path)"
        )
    try:
        if names is not None and hasattr(found, "adj"):
            if not hasattr(found, "predecessors"):
                raise refusal(
                    name, "the parents of each variable", value, "pass a directed graph"
                )
            families_of_nodes = {child: [*found.predecessors(child)] for child in found}
            found = {
                child: sorted(variables_by_index(family, name, names))
                for child, family in families_of_nodes.items()
            }
        if names is not None and _are_arcs(found):
            arcs = arcs_by_index(found, name, names)
            found = {
                head: sorted({t for t, h in arcs if h == head}) for _, head in arcs
            }
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
        variable_index(one, name, names) if isinstance(one, str) else _index(one)
        for one in listed(family)
    )
