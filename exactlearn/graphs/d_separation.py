"""d-separation in directed acyclic graphs: active trails and ancestors.

A trail is active given Z when each of its colliders is in Z or has a descendant there, and none of
its other inner variables is in Z (Pearl 1988, "Probabilistic Reasoning in Intelligent Systems",
section 3.3). It is found by a search over variables and the direction in which they are entered
(Shachter 1998, "Bayes-ball").
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence

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
    offspring = children(parents)
    opened = ancestors(parents, given)
    came: dict[State, State | None] = {(v, False): None for v in sorted(left)}
    waiting = deque(came)
    while waiting:
        state = waiting.popleft()
        v, entered_from_parent = state
        if v in right:
            return _arcs_of(came, state, offspring, opened, given)
        steps: list[State] = []
        if v not in given:
            steps += [(child, True) for child in offspring[v]]
        if (v in opened) if entered_from_parent else (v not in given):
            steps += [(parent, False) for parent in sorted(parents[v])]
        for step in steps:
            if step not in came:
                came[step] = state
                waiting.append(step)
    return None


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


def _arcs_of(
    came: dict[State, State | None],
    end: State,
    offspring: Sequence[Collection[int]],
    opened: frozenset[int],
    given: Collection[int],
) -> frozenset[Arc]:
    arcs: set[Arc] = set()
    state = end
    while (before := came[state]) is not None:
        (v, from_parent), (u, u_from_parent) = state, before
        arcs.add((u, v) if from_parent else (v, u))
        if u_from_parent and not from_parent:  # u is a collider of the trail
            assert u in opened
            opening = directed_path(offspring, u, given)
            assert opening is not None
            arcs.update(opening)
        state = before
    return frozenset(arcs)
