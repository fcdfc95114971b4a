"""Constraints written with the names of variables, as the command line and run files have them.

An arc is ``A -> B``, an adjacency ``A - B``, tiers are lists of names set apart by commas, and an
independence is ``A, B | C, D``. A name that holds such a mark itself is found all the same as long
as one reading only makes sense; in a list it can stand in double quotes.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
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
        found += [kind(*pair(entry, mark, _TOLD[mark], names)) for entry in entries]
    if search.tiers:
        groups = tuple(listed(tier, f"tier {tier!r}", names) for tier in search.tiers)
        _refuse_twice(groups, names)
        found.append(Tiers(groups))
    found += _limits(search.max_parents_of, names)
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
    return tuple(pair(entry, "->", "arc", names) for entry in entries)


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
    found = read_declared(path, lambda table: _from_file(table, names))
    more: dict[str, Any] = {}
    for one in fields(Constrained):
        own, other = getattr(search, one.name), getattr(found, one.name)
        if own in (None, (), {}) or other in (None, (), {}):
            more[one.name] = other if own in (None, (), {}) else own
        elif isinstance(own, tuple) and one.name != "tiers":
            more[one.name] = tuple(dict.fromkeys((*own, *other)))
        elif isinstance(own, dict) and all(own.get(k, v) == v for k, v in other.items()):
            more[one.name] = {**other, **own}
        elif own != other:
            raise OptionError(
                f"{path}: key '{one.name}' has {other!r}, and the options have {own!r}; leave one "
                "of them out"
            )
    return replace(search, constraints=None, **more)


def _from_file(table: Mapping[str, Any], names: Sequence[str]) -> Constrained:
    """Return the constraints of a parsed file, each key checked on its own."""
    inner = table.get("constraints", table.get("search", table))
    if not isinstance(inner, Mapping) or (inner is not table and len(table) > 1):
        raise OptionError(
            "expected the section [constraints] or [search] alone, or its keys without a section"
        )
    found = from_table(inner, Constrained)
    for key in inner:
        try:
            alone = Selection(**{key: getattr(found, key)})
            arcs((*alone.required, *alone.forbidden), names)
            declared_constraints(alone, names)
        except OptionError as error:
            raise OptionError(f"key '{key}': {error}") from None
    return found


def pair(entry: str, mark: str, what: str, names: Sequence[str]) -> Pair:
    """Return two variables written with a mark between them; names may hold the mark themselves.

    Raises
    ------
    OptionError
        When the entry is no such pair, or has one variable twice.

    Examples
    --------
    >>> pair("x-ray - age", "-", "adjacency", ["age", "x-ray"])
    (1, 0)
    """
    known = list(names)
    _refuse_marks(entry, mark, f"{what} {entry[:40]!r}", names)
    pieces = entry.split(mark)
    ends = [
        (mark.join(pieces[:k]).strip(), mark.join(pieces[k:]).strip())
        for k in range(1, len(pieces))
    ]
    for a, b in ends:
        if a in known and b in known:
            if a == b:
                raise OptionError(f"{what} {entry!r}: expected two different variables")
            return Index(known.index(a)), Index(known.index(b))
    if not ends:
        raise OptionError(
            f"{what} {entry!r}: expected 'A {mark} B' with the names of two variables"
        )
    unknown = next(name for name in ends[0] if name not in known)
    raise OptionError(f"{what} {entry!r}: no variable {unknown!r}{did_you_mean(unknown, known)}")


_TOLD = {"-": "adjacency", "->": "ancestor"}


def _limits(table: Mapping[str, int], names: Sequence[str]) -> list[Constraint]:
    return [MaxParents(_index(name, "max_parents_of", names), most) for name, most in table.items()]


def independence(entry: str, names: Sequence[str]) -> Independence:
    """Return the independence that ``A, B | C, D`` states.

    Raises
    ------
    OptionError
        When the entry is of another form, names no variable, or one twice.
    """
    what = f"independence {entry!r}"
    if entry in names or "," not in entry:
        raise OptionError(f"{what}: expected 'A, B | C, D' for A independent of B given C and D")
    _refuse_marks(entry, "|", f"independence {entry[:40]!r}", names)
    known = list(names)
    pieces = entry.split("|")
    for k in range(1, len(pieces) + 1):
        sides, given = _fields("|".join(pieces[:k])), _fields("|".join(pieces[k:]))
        if len(sides) == 2 and all(name in known for name in (*sides, *given)):
            if len({*sides, *given}) < 2 + len(given):
                raise OptionError(f"{what}: expected each variable once")
            one, other, *rest = (_index(name, what, names) for name in (*sides, *given))
            return Independence(frozenset({one}), frozenset({other}), frozenset(rest))
    sides = _fields(pieces[0])
    if len(sides) != 2:
        raise OptionError(f"{what}: expected two variables before '|', found {len(sides)}")
    for name in (*sides, *_fields("|".join(pieces[1:]))):
        _index(name, what, names)
    raise OptionError(f"{what}: expected 'A, B | C, D'")


def listed(entry: str, what: str, names: Sequence[str]) -> tuple[int, ...]:
    """Return the variables that a list names; each may stand in double quotes.

    Raises
    ------
    OptionError
        When it names no variable.
    """
    if entry.strip() in names:
        return (_index(entry.strip(), what, names),)
    return tuple(_index(name, what, names) for name in _fields(entry))


def _fields(entry: str) -> list[str]:
    """Return the names of a list, of which each may stand in double quotes."""
    if not entry.strip():
        return []
    try:
        return [name.strip() for name in next(csv.reader([entry], skipinitialspace=True))]
    except csv.Error as error:
        raise OptionError(f"{entry[:40]!r}...: expected a list of names ({error})") from None


def _refuse_marks(entry: str, mark: str, what: str, names: Sequence[str]) -> None:
    """Refuse an entry with more marks than its own and those that the names can hold."""
    held = sum(name.count(mark) for name in names)
    if entry.count(mark) > 1 + 2 * held:
        raise OptionError(f"{what}: expected one {mark!r}, found {entry.count(mark)}")


def _index(name: str, what: str, names: Sequence[str]) -> int:
    if name not in names:
        raise OptionError(f"{what}: no variable {name!r}{did_you_mean(name, names)}")
    return Index(list(names).index(name))


def _refuse_twice(groups: Iterable[Sequence[int]], names: Sequence[str]) -> None:
    seen: set[int] = set()
    for group in groups:
        for v in group:
            if v in seen:
                raise OptionError(f"tiers: {names[v]!r} stands in them twice; give each name once")
            seen.add(v)
