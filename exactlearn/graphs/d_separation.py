"""d-separation in directed acyclic graphs: active trails, separated variables and ancestors.

A trail is active given Z when each of its colliders is in Z or has a descendant there, and none of
its other inner variables is in Z (Pearl 1988, "Probabilistic Reasoning in Intelligent Systems",
section 3.3). It is found by a search over variables and the direction in which they are entered
(Shachter 1998, "Bayes-ball"). The same search finds all variables that no active trail reaches,
in time linear in the arcs (Geiger, Verma and Pearl 1990, "d-separation: from theorems to
algorithms"; THESIS Alg. 3.1-3.2).
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from exactlearn._runtime.arguments import (
    ParentsLike,
    VariablesLike,
    checked_arguments,
    named,
    named_results,
    set_by_name,
    variables_by_index,
)
from exactlearn.errors import OptionError
from exactlearn.graphs.dag import children

Arc = tuple[int, int]
State = tuple[int, bool]
"""A variable, and whether it is entered from a parent."""


def active_trail(
    parents: Sequence[Collection[int]],
    left: Collection[int],
    right: Collection[int],
    given: Collection[int],
) -> frozenset[Arc] | None:
    """Return the arcs of an active trail, with those that open its colliders.

    Every acyclic graph that has these arcs connects the two sides given the same variables, so the
    arcs witness the dependence whatever else is there.

    Parameters
    ----------
    parents
        Parents of each variable.
    left, right, given
        Disjoint sets of variables.

    Returns
    -------
    frozenset or None
        Arcs of a trail with the fewest steps, or ``None`` when the sides are separated.

    Examples
    --------
    >>> active_trail([(), (), (0, 1)], [0], [1], []) is None
    True
    >>> sorted(active_trail([(), (), (0, 1)], [0], [1], [2]))
    [(0, 2), (1, 2)]
    """
    came = _reached(parents, left, given, right)
    end = next((state for state in came if state[0] in right), None)
    return None if end is None else _arcs_of(came, end, children(parents), given)


@named_results(set_by_name)
@checked_arguments(variables=named(variables_by_index), given=named(variables_by_index))
def d_separated(
    parents: ParentsLike, variables: VariablesLike, given: VariablesLike
) -> frozenset[Any]:
    """Return all variables that are d-separated from some variables given others.

    They are names where the graph's variables have names, else indices.

    Parameters
    ----------
    parents
        Parents of each variable, or a model, a result or a graph by name.
    variables, given
        Disjoint sets of variables.

    Raises
    ------
    OptionError
        When a variable is in both sets.

    Examples
    --------
    >>> sorted(d_separated([(), (0,), (1,), ()], [0], [1]))
    [2, 3]
    >>> import exactlearn as el
    >>> sorted(d_separated(el.read_network("asia"), "asia", "tub"))[:3]
    ['bronc', 'dysp', 'either']
    """
    if both := sorted(set(variables) & set(given)):
        raise OptionError(
            f"variable {both[0]} is among 'variables' and 'given': expected disjoint sets"
        )
    reached = {v for v, _ in _reached(parents, variables, given)}
    return frozenset(range(len(parents))) - reached - set(given)


def ancestors(parents: Sequence[Collection[int]], of: Iterable[int]) -> frozenset[int]:
    """Return the variables and all their ancestors.

    Examples
    --------
    >>> sorted(ancestors([(), (0,), (1,)], [1]))
    [0, 1]
    """
    found = set(of)
    waiting = list(found)
    while waiting:
        for parent in parents[waiting.pop()]:
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return frozenset(found)


def directed_path(
    offspring: Sequence[Collection[int]], start: int, ends: Collection[int]
) -> tuple[Arc, ...] | None:
    """Return the arcs of a shortest directed path to one of the ends; ``None`` without a path.

    Examples
    --------
    >>> directed_path([(1,), (2,), ()], 0, [2])
    ((0, 1), (1, 2))
    """
    came: dict[int, int] = {start: start}
    waiting = deque([start])
    while waiting:
        v = waiting.popleft()
        if v in ends:
            path = []
            while v != start:
                path.append((came[v], v))
                v = came[v]
            return tuple(reversed(path))
        for child in offspring[v]:
            if child not in came:
                came[child] = v
                waiting.append(child)
    return None


def _reached(
    parents: Sequence[Collection[int]],
    start: Collection[int],
    given: Collection[int],
    ends: Collection[int] = (),
) -> dict[State, State | None]:
    """Return the states on active trails, each with that before it; the search ends at an end."""
    offspring, opened, given = children(parents), ancestors(parents, given), frozenset(given)
    came: dict[State, State | None] = {(v, False): None for v in sorted(start)}
    waiting = deque(came)
    while waiting:
        state = waiting.popleft()
        v, entered_from_parent = state
        if v in ends:
            break
        steps: list[State] = []
        if v not in given:
            steps += [(child, True) for child in offspring[v]]
        if (v in opened) if entered_from_parent else (v not in given):
            steps += [(parent, False) for parent in sorted(parents[v])]
        for step in steps:
            if step not in came:
                came[step] = state
                waiting.append(step)
    return came


def _arcs_of(
    came: dict[State, State | None],
    end: State,
    offspring: Sequence[Collection[int]],
    given: Collection[int],
) -> frozenset[Arc]:
    arcs: set[Arc] = set()
    state = end
    while (before := came[state]) is not None:
        (v, from_parent), (u, u_from_parent) = state, before
        arcs.add((u, v) if from_parent else (v, u))
        if u_from_parent and not from_parent:  # u is a collider of the trail
            opening = directed_path(offspring, u, given)
            assert opening is not None
            arcs.update(opening)
        state = before
    return frozenset(arcs)
