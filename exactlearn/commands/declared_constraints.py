"""Constraints written with the names of variables, as the command line and run files have them.

An arc is ``A -> B``, an adjacency ``A - B``, tiers are lists of names set apart by commas, and an
independence is ``A, B | C, D``. A mark with a space on each side divides where names hold the mark
themselves; in a list, a name with a comma stands in double quotes.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from exactlearn._runtime.arguments import Index
from exactlearn.commands.sections import Constrained, Selection
from exactlearn.errors import OptionError, did_you_mean
from exactlearn.formats.run_file import from_table, read_declared
from exactlearn.solvers.constraints import (
    ArcTotal,
    Constraint,
    ForbiddenAdjacency,
    ForbiddenAncestor,
    Independence,
    MaxParents,
    RequiredAdjacency,
    RequiredAncestor,
    Tiers,
)

Pair = tuple[int, int]


def declared_constraints(search: Selection, names: Sequence[str]) -> tuple[Constraint, ...]:
    """Return the declared constraints other than single arcs.

    Raises
    ------
    OptionError
        When an entry is not of its form, or names no variable.

    Examples
    --------
    >>> declared_constraints(Selection(required_adjacent=("b - a",), max_arcs=3), ["a", "b"])
    (RequiredAdjacency(a=1, b=0), ArcTotal(least=0, most=3))
    """
    found: list[Constraint] = []
    for kind, mark, entries in (
        (RequiredAdjacency, "-", search.required_adjacent),
        (ForbiddenAdjacency, "-", search.forbidden_adjacent),
        (RequiredAncestor, "->", search.required_ancestors),
        (ForbiddenAncestor, "->", search.forbidden_ancestors),
    ):
        found += [kind(*pair(entry, mark, names)) for entry in entries]
    if search.tiers:
        groups = tuple(_listed(tier, f"tier {tier!r}", names) for tier in search.tiers)
        members = [v for group in groups for v in group]
        if twice := [names[v] for v in members if members.count(v) > 1]:
            raise OptionError(f"tiers: {twice[0]!r} stands in them twice; give each name once")
        found.append(Tiers(groups))
    for name, most in search.max_parents_of.items():
        found.append(MaxParents(_index(name, "max_parents_of", names), most))
    found += [independence(entry, names) for entry in search.independent]
    if search.min_arcs is not None:
        found.append(ArcTotal(least=search.min_arcs))
    if search.max_arcs is not None:
        found.append(ArcTotal(most=search.max_arcs))
    return tuple(found)


def arcs(entries: Sequence[str], names: Sequence[str]) -> tuple[Pair, ...]:
    """Return arcs written ``A -> B`` as pairs of variable indices.

    Raises
    ------
    OptionError
        When an entry is no arc between two of the variables.

    Examples
    --------
    >>> arcs(["b -> a"], ["a", "b"])
    ((1, 0),)
    """
    return tuple(pair(entry, "->", names) for entry in entries)


def with_file(search: Selection, names: Sequence[str]) -> Selection:
    """Return options with the constraints of the file that they name, if any, as their own.

    Raises
    ------
    FormatError
        When the file is not TOML.
    OptionError
        When a key is unknown or an entry not of its form; when file and options contradict.
    """
    if search.constraints is None:
        return search
    path = Path(search.constraints)
    found = read_declared(path, partial(_from_file, names=names))
    more: dict[str, Any] = {}
    for one in fields(Constrained):
        own, other = getattr(search, one.name), getattr(found, one.name)
        if isinstance(own, tuple) and one.name != "tiers":
            more[one.name] = tuple(dict.fromkeys((*own, *other)))
        elif own in (None, (), {}) or other in (None, (), {}, own):
            more[one.name] = other if own in (None, (), {}) else own
        else:
            raise OptionError(
                f"{path}: key '{one.name}' has {other!r}, and the options have {own!r}; leave one "
                "of them out"
            )
    return replace(search, constraints=None, **more)


def _from_file(table: Mapping[str, Any], names: Sequence[str]) -> Constrained:
    """Return the constraints of a parsed file, each key checked on its own."""
    found = from_table(table, Constrained)
    for key in table:
        try:
            alone = Selection(**{key: getattr(found, key)})
            arcs((*alone.required, *alone.forbidden), names)
            declared_constraints(alone, names)
        except OptionError as error:
            raise OptionError(f"key '{key}': {error}") from None
    return found


def pair(entry: str, mark: str, names: Sequence[str]) -> Pair:
    """Return two variables written with a mark between them.

    Raises
    ------
    OptionError
        When the entry is no such pair, or has one variable twice.

    Examples
    --------
    >>> pair("x-ray - age", "-", ["age", "x-ray"])
    (1, 0)
    """
    ends = _split(entry, mark)
    if len(ends) != 2:
        raise OptionError(
            f"{entry[:40]!r}: expected 'A {mark} B' with the names of two variables, and spaces "
            f"around '{mark}' where names hold it"
        )
    first, second = (_index(end, repr(entry[:40]), names) for end in ends)
    if first == second:
        raise OptionError(f"{entry!r}: expected two different variables")
    return first, second


def independence(entry: str, names: Sequence[str]) -> Independence:
    """Return the independence that ``A, B | C, D`` states.

    Raises
    ------
    OptionError
        When the entry is of another form, names no variable, or one twice.
    """
    what, parts = f"independence {entry[:40]!r}", _split(entry, "|")
    sides = _listed(parts[0], what, names)
    if len(sides) != 2 or len(parts) > 2:
        raise OptionError(f"{what}: expected 'A, B | C, D' for A independent of B given C and D")
    given = _listed(parts[1], what, names) if len(parts) == 2 else ()
    if len({*sides, *given}) < 2 + len(given):
        raise OptionError(f"{what}: expected each variable once")
    return Independence(frozenset(sides[:1]), frozenset(sides[1:]), frozenset(given))


def _split(entry: str, mark: str) -> list[str]:
    """Return the parts of an entry; a mark with spaces divides it, if there is one."""
    spaced = f" {mark} "
    return [part.strip() for part in entry.split(spaced if spaced in entry else mark)]


def _listed(entry: str, what: str, names: Sequence[str]) -> tuple[int, ...]:
    """Return the variables that a list names; each may stand in double quotes."""
    if entry.strip() in names:
        return (_index(entry, what, names),)
    parts = next(csv.reader([entry], skipinitialspace=True), [])
    return tuple(_index(name, what, names) for name in parts)


def _index(name: str, what: str, names: Sequence[str]) -> int:
    known = list(names)
    if name.strip() not in known:
        raise OptionError(f"{what}: no variable {name.strip()!r}{did_you_mean(name, known)}")
    return Index(known.index(name.strip()))
