"""Constraints on networks, and the clauses that exclude networks which violate them.

Each constraint names the arcs it rules out at once, and answers for a network that violates it
with a *clause*: conditions on single parent sets, at least one of which holds in every network that
satisfies the constraint and none of which holds in this one. As a linear inequality, the clause
excludes the network and no other that is wanted (:mod:`exactlearn.solvers.constrained`).

Constraints that contradict each other are reported as a minimal conflict: a set without any one of
which the rest can be satisfied. It is found by halving (Junker 2004, "QuickXplain"), so that few
tests are needed when few of many constraints matter.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from typing import Any, ClassVar, Literal, TypeVar

from exactlearn._runtime.argument_kinds import refusal
from exactlearn._runtime.arguments import check_fields
from exactlearn._runtime.number_arguments import SIZE
from exactlearn._runtime.variable_arguments import Names, variable_index
from exactlearn.errors import OptionError
from exactlearn.graphs.dag import active_trail, ancestors, children, directed_path

Kind = Literal["all", "not all", "any", "none", "same", "other"]

_OPPOSITE: dict[Kind, Kind] = {
    "all": "not all", "not all": "all", "any": "none", "none": "any", "same": "other",
    "other": "same",
}  # fmt: skip

Arc = tuple[int, int]
Parents = Sequence[Collection[int]]

T = TypeVar("T")


@dataclass(frozen=True)
class Condition:
    """A condition on the parents of one variable.

    Parameters
    ----------
    variable
        The variable.
    kind
        The variable has all, not all, any or none of ``parents``; the same parents or others.
    parents
        What ``kind`` compares with.
    """

    variable: int
    kind: Kind
    parents: frozenset[int]

    @property
    def opposite(self) -> "Condition":
        """The condition that holds exactly when this one does not."""
        return Condition(self.variable, _OPPOSITE[self.kind], self.parents)


Clause = tuple[Condition, ...]
"""Conditions of which one holds at least."""


@dataclass(frozen=True)
class Constraint:
    """A condition on every network; this base names two variables, and rules out single arcs.

    Attributes
    ----------
    is_local
        Whether candidates can be judged one by one.
    removable
        Whether the constraint still holds when arcs are taken away, so that dominated parent sets
        are not needed.
    """

    is_local = False
    removable: ClassVar[bool] = True
    _words: ClassVar[str] = ""

    @property
    def variables(self) -> tuple[int, ...]:
        """All variables that the constraint names."""
        return tuple(vars(self).values())

    @property
    def forbidden_arcs(self) -> frozenset[Arc]:
        """Arcs that no network satisfying the constraint has."""
        return frozenset()

    def clause(self, parents: Parents) -> Clause | None:
        """Return the clause that a network violates; ``None`` if it satisfies the constraint."""
        for parent, child in sorted(self.forbidden_arcs):
            if parent in parents[child]:
                return (Condition(child, "none", frozenset({parent})),)
        return None

    def describe(self, names: Sequence[str]) -> str:
        """Return the constraint in words."""
        return self._words.format(*(names[v] for v in self.variables))


@dataclass(frozen=True)
class RequiredAdjacency(Constraint):
    """Two variables with an arc between them, in either direction."""

    a: int
    b: int
    _words = "required adjacency {} - {}"
    removable = False

    def clause(self, parents: Parents) -> Clause | None:
        """Return the clause that a network violates; ``None`` if it satisfies the constraint."""
        if self.a in parents[self.b] or self.b in parents[self.a]:
            return None
        return (
            Condition(self.b, "all", frozenset({self.a})),
            Condition(self.a, "all", frozenset({self.b})),
        )


@dataclass(frozen=True)
class ForbiddenAdjacency(Constraint):
    """Two variables without an arc between them."""

    a: int
    b: int
    _words = "forbidden adjacency {} - {}"
    is_local = True

    @property
    def forbidden_arcs(self) -> frozenset[Arc]:
        """Arcs that no network satisfying the constraint has."""
        return frozenset({(self.a, self.b), (self.b, self.a)})


@dataclass(frozen=True)
class Tiers(Constraint):
    """Groups of variables in order: none has a parent in a later group.

    Variables in no group are free.
    """

    groups: tuple[tuple[int, ...], ...]
    is_local = True

    def __post_init__(self) -> None:
        """Refuse a variable in two groups."""
        if len(set(self.variables)) < len(self.variables):
            twice = next(v for v in self.variables if self.variables.count(v) > 1)
            raise OptionError(
                f"variable {twice} stands in two tiers; give each variable once"
            )

    @property
    def variables(self) -> tuple[int, ...]:
        """All variables that the constraint names."""
        return tuple(chain.from_iterable(self.groups))

    @property
    def forbidden_arcs(self) -> frozenset[Arc]:
        """Arcs that no network satisfying the constraint has."""
        arcs: set[Arc] = set()
        for earlier, later in combinations(self.groups, 2):
            arcs.update(product(later, earlier))
        return frozenset(arcs)

    def describe(self, names: Sequence[str]) -> str:
        """Return the constraint in words."""
        return "tiers " + "; ".join(_listed(group, names) for group in self.groups)


@dataclass(frozen=True)
class MaxParents(Constraint):
    """A variable with at most so many parents."""

    variable: int
    most: int
    is_local = True

    def __post_init__(self) -> None:
        """Refuse a negative number."""
        check_fields(self, most=SIZE)

    @property
    def variables(self) -> tuple[int, ...]:
        """All variables that the constraint names."""
        return (self.variable,)

    def clause(self, parents: Parents) -> Clause | None:
        """Return the clause that a network violates; ``None`` if it satisfies the constraint."""
        family = frozenset(parents[self.variable])
        if len(family) <= self.most:
            return None
        return (Condition(self.variable, "other", family),)

    def describe(self, names: Sequence[str]) -> str:
        """Return the constraint in words."""
        return f"at most {self.most} parents of {names[self.variable]}"


@dataclass(frozen=True)
class RequiredAncestor(Constraint):
    """A variable from which a directed path leads to another."""

    ancestor: int
    descendant: int
    _words = "required ancestor {} of {}"
    removable = False

    @property
    def forbidden_arcs(self) -> frozenset[Arc]:
        """Arcs that no network satisfying the constraint has."""
        return frozenset({(self.descendant, self.ancestor)})

    def clause(self, parents: Parents) -> Clause | None:
        """Return the clause that a network violates; ``None`` if it satisfies the constraint.

        No arc enters the set of the descendant and its ancestors here; a path would have to.
        """
        inside = ancestors(parents, [self.descendant])
        if self.ancestor in inside:
            return None
        outside = frozenset(range(len(parents))) - inside
        return tuple(Condition(v, "any", outside) for v in sorted(inside))


@dataclass(frozen=True)
class ForbiddenAncestor(Constraint):
    """A variable from which no directed path leads to another."""

    ancestor: int
    descendant: int
    _words = "forbidden ancestor {} of {}"

    @property
    def forbidden_arcs(self) -> frozenset[Arc]:
        """Arcs that no network satisfying the constraint has."""
        return frozenset({(self.ancestor, self.descendant)})

    def clause(self, parents: Parents) -> Clause | None:
        """Return the clause that a network violates; ``None`` if it satisfies the constraint."""
        # some arc of the path must leave
        path = directed_path(children(parents), self.ancestor, {self.descendant})
        return None if path is None else _not_all(path)


@dataclass(frozen=True)
class Independence(Constraint):
    """Two sets of variables that a third one separates in the graph (d-separation)."""

    left: frozenset[int]
    right: frozenset[int]
    given: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        """Refuse sets that overlap, or nothing to separate."""
        if not self.left or not self.right:
            raise OptionError("an independence needs variables on both sides")
        if len(self.left | self.right | self.given) < len(self.variables):
            raise OptionError("the variables of an independence must be all different")

    @property
    def variables(self) -> tuple[int, ...]:
        """All variables that the constraint names."""
        return (*sorted(self.left), *sorted(self.right), *sorted(self.given))

    @property
    def forbidden_arcs(self) -> frozenset[Arc]:
        """Arcs that no network satisfying the constraint has."""
        return frozenset(
            [*product(self.left, self.right), *product(self.right, self.left)]
        )

    def clause(self, parents: Parents) -> Clause | None:
        """Return the clause that a network violates; ``None`` if it satisfies the constraint."""
        # some arc of the trail must leave
        trail = active_trail(parents, self.left, self.right, self.given)
        return None if trail is None else _not_all(trail)

    def describe(self, names: Sequence[str]) -> str:
        """Return the constraint in words."""
        sides = (
            f"{_listed(self.left, names)} independent of {_listed(self.right, names)}"
        )
        return f"{sides} given {_listed(self.given, names)}" if self.given else sides


def ruled_out_arcs(
    forbidden: frozenset[Arc], constraints: Iterable[Constraint]
) -> frozenset[Arc]:
    """Return the arcs that are forbidden, or that a constraint leaves to no network."""
    return forbidden.union(*(c.forbidden_arcs for c in constraints))


def validate(constraint: Constraint, n_variables: int) -> None:
    """Refuse a constraint that does not fit a problem.

    Raises
    ------
    OptionError
        When it names no variable of the problem, or one twice where two are meant.
    """
    named = constraint.variables
    if any(not 0 <= v < n_variables for v in named):
        raise OptionError(
            f"{constraint} names a variable that the problem does not have"
        )
    if len(set(named)) < len(named):
        raise OptionError(f"{constraint} needs two different variables")


def _not_all(arcs: Iterable[Arc]) -> Clause:
    """Return the clause that one of the arcs is missing."""
    required_arcs: dict[int, set[int]] = {}
    for parent, child in arcs:
        required_arcs.setdefault(child, set()).add(parent)
    return tuple(
        Condition(v, "not all", frozenset(required_arcs[v]))
        for v in sorted(required_arcs)
    )


def _listed(variables: Iterable[int], names: Sequence[str]) -> str:
    return ", ".join(names[v] for v in sorted(variables))


def minimal_conflict(
    requirements: Sequence[T], is_feasible: Callable[[Sequence[T]], bool]
) -> tuple[T, ...]:
    """Return requirements that cannot be satisfied together, none of which can be spared.

    Parameters
    ----------
    requirements
        Requirements that cannot be satisfied together; earlier ones are rather kept.
    is_feasible
        Returns whether some of them can be; fewer are never harder to satisfy.

    Examples
    --------
    >>> minimal_conflict([5, 1, 7, 4], lambda some: sum(some) < 11)
    (5, 7)
    """
    return tuple(_needed([], [], list(requirements), is_feasible))


def _needed(
    given: list[T],
    added: list[T],
    remaining: list[T],
    is_feasible: Callable[[Sequence[T]], bool],
) -> list[T]:
    """Return a smallest part of the remaining requirements that conflicts with those given.

    ``added`` are those that were given last: where these alone conflict, nothing else is needed.
    """
    if added and not is_feasible(given):
        return []
    if len(remaining) <= 1:
        return remaining
    half = len(remaining) // 2
    first = remaining[:half]
    second = remaining[half:]
    # what the second half needs beside the first, then the first beside that
    late = _needed([*given, *first], first, second, is_feasible)
    early = _needed([*given, *late], late, first, is_feasible)
    return [*early, *late]


def constraints_by_index(
    constraints: Iterable[Constraint], name: str, names: Names
) -> tuple[Constraint, ...]:
    """Return constraints whose variables were given by name with their indices.

    Raises
    ------
    OptionError
        When there is no such variable.

    Examples
    --------
    >>> constraints_by_index([RequiredAncestor("a", "b")], "constraints", ["a", "b"])
    (RequiredAncestor(ancestor=0, descendant=1),)
    """
    instead = "pass [MaxParents('smoke', 1)], say"
    if isinstance(constraints, str) or not isinstance(constraints, Iterable):
        raise refusal(name, "a list of constraints", constraints, instead)
    listed = list(constraints)
    for constraint in listed:
        if not isinstance(constraint, Constraint):
            raise refusal(name, "constraints", constraint, instead)
    return _renamed(listed, lambda v: variable_index(v, name, names))


def constraints_by_name(
    constraints: Iterable[Constraint], name: str, names: Sequence[str]
) -> tuple[Constraint, ...]:
    """Return constraints whose variables were given by index with their names.

    Raises
    ------
    OptionError
        When there is no such variable.

    Examples
    --------
    >>> constraints_by_name([MaxParents(1, 1)], "constraints", ["a", "b"])
    (MaxParents(variable='b', most=1),)
    """
    return _renamed(constraints, lambda v: names[variable_index(v, name, names)])


def _renamed(
    constraints: Iterable[Constraint], renamed: Callable[[Any], Any]
) -> tuple[Constraint, ...]:
    """Return constraints with other names, or numbers, of the variables in their fields."""

    def changed(value: Any) -> Any:
        if isinstance(value, tuple | list | set | frozenset):
            kind = frozenset if isinstance(value, set | frozenset) else tuple
            return kind(map(changed, value))
        return renamed(value)

    results = []
    for constraint in constraints:
        variables = dict(vars(constraint))
        variables.pop("most", None)  # a number of variables
        changes = {name: changed(value) for name, value in variables.items()}
        results.append(replace(constraint, **changes))
    return tuple(results)
