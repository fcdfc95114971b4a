"""Directed graphs given as one parent set per variable: order, moral graph and d-separation.

The moral graph is that of Lauritzen and Spiegelhalter 1988, "Local computations with probabilities
on graphical structures and their application to expert systems".

A trail is active given Z when each of its colliders is in Z or has a descendant there, and none of
its other inner variables is in Z (Pearl 1988, "Probabilistic Reasoning in Intelligent Systems",
section 3.3). It is found by a search over variables and the direction in which they are entered
(Shachter 1998, "Bayes-ball"). The same search finds all variables that no active trail reaches,
in time linear in the arcs (Geiger, Verma and Pearl 1990, "d-separation: from theorems to
algorithms"; THESIS Alg. 3.1-3.2).
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import (
    checked_arguments,
    named,
    named_results,
    set_by_name,
)
from exactlearn._runtime.variable_arguments import (
    ParentsLike,
    VariableLike,
    VariablesLike,
    variable_index,
    variables_by_index,
)
from exactlearn.errors import OptionError

Arc = tuple[int, int]
State = tuple[int, bool]
"""A variable, and whether it is entered from a parent."""


def children(parents: Sequence[Collection[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the children of each variable in increasing order.

    Examples
    --------
    >>> children([(), (0,), (0, 1)])
    ((1, 2), (2,), ())
    """
    offspring: list[list[int]] = [[] for _ in parents]
    for child, family in enumerate(parents):
        for parent in family:
            offspring[parent].append(child)
    return tuple(map(tuple, offspring))


def named_parents(
    names: Sequence[str], parents: Sequence[Sequence[int]]
) -> dict[str, list[str]]:
    """Return the parents of each variable by name.

    Examples
    --------
    >>> named_parents(["a", "b"], [(), (0,)])
    {'a': [], 'b': ['a']}
    """
    by_name = {}
    for name, family in zip(names, parents, strict=True):
        by_name[name] = [names[p] for p in family]
    return by_name


def arcs_by_name(
    names: Sequence[str], parents: Sequence[Sequence[int]]
) -> tuple[tuple[str, str], ...]:
    """Return the arcs as pairs of names (parent, child), by child; without names, of indices.

    Examples
    --------
    >>> arcs_by_name(["a", "b"], [(), (0,)]), arcs_by_name([], [(), (0,)])
    ((('a', 'b'),), (('0', '1'),))
    """
    families = named_parents(names_or_indices(names, parents), parents)
    return tuple(
        (parent, child) for child, family in families.items() for parent in family
    )


def names_or_indices(
    names: Sequence[str] | None, parents: Sequence[Collection[int]]
) -> Sequence[str]:
    """Return the names of the variables, or their indices as text where they have none."""
    return names or [*map(str, range(len(parents)))]


def topological_order(
    parents: Sequence[Collection[int]], names: Sequence[str] | None = None
) -> tuple[int, ...]:
    """Return the variables with all parents before their children, smallest index first.

    Parameters
    ----------
    parents
        Parents of each variable, by index.
    names
        Variable names for the error message; the indices when left out.

    Raises
    ------
    OptionError
        When there is a directed cycle; the message shows one.

    Examples
    --------
    >>> topological_order([(2,), (), (1,)])
    (1, 2, 0)
    """
    offspring = children(parents)
    waiting = [len(family) for family in parents]
    ready = [v for v, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order: list[int] = []
    while ready:  # a variable is ready when all its parents stand in the order
        variable = heappop(ready)
        order.append(variable)
        for child in offspring[variable]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heappush(ready, child)
    # Variables on a cycle, and those below it, never become ready.
    if len(order) < len(parents):
        _raise_cycle(parents, names_or_indices(names, parents))
    return tuple(order)


def _raise_cycle(parents: Sequence[Collection[int]], names: Sequence[str]) -> None:
    """Raise the error that shows a directed cycle."""
    sorter = TopologicalSorter(dict(enumerate(map(sorted, parents))))
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = error.args[1]
    shown = " -> ".join(names[v] for v in cycle)
    raise OptionError(
        f"the parents hold the directed cycle {shown}, expected none: remove one of its arcs"
    )


def moral_graph(parents: Sequence[Collection[int]]) -> tuple[frozenset[int], ...]:
    """Return the neighbours of each variable once parents of a common child are joined.

    Examples
    --------
    >>> [sorted(neighbours) for neighbours in moral_graph([(), (), (0, 1)])]
    [[1, 2], [0, 2], [0, 1]]
    """
    neighbours: list[set[int]] = [set() for _ in parents]
    # Each family is a clique.
    for child, family in enumerate(parents):
        for a, b in combinations({child, *family}, 2):
            neighbours[a].add(b)
            neighbours[b].add(a)
    return tuple(map(frozenset, neighbours))


def _require_variables(
    parents: Sequence[Collection[int]], variables: Iterable[int]
) -> None:
    """Refuse the index of a variable that a graph does not have."""
    for variable in variables:
        if not 0 <= variable < len(parents):
            raise OptionError(
                f"variable: expected an index from 0 to {len(parents) - 1}, found {variable}"
            )


@named_results(set_by_name)
@checked_arguments(variable=named(variable_index))
def markov_blanket(parents: ParentsLike, variable: VariableLike) -> frozenset[Any]:
    """Return the parents, children and children's other parents of a variable.

    They are names where the graph's variables have names, else indices. Given its blanket, the
    variable is independent of all others, and no smaller set does that in every distribution of the
    graph (Pearl 1988, section 3.3).

    Examples
    --------
    >>> sorted(markov_blanket([(), (), (0, 1), (2,)], 0))
    [1, 2]
    >>> import exactlearn as el
    >>> sorted(markov_blanket(el.read_network("asia"), "lung"))
    ['either', 'smoke', 'tub']
    """
    _require_variables(parents, [variable])
    return moral_graph(parents)[variable]


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
    previous = _reached(parents, left, given, right)
    end = next((state for state in previous if state[0] in right), None)
    return None if end is None else _arcs_of(previous, end, children(parents), given)


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
    _require_variables(parents, [*variables, *given])
    if both := sorted(set(variables) & set(given)):
        raise OptionError(
            f"variable {both[0]} is among 'variables' and 'given': expected disjoint sets"
        )
    # Separated is whatever no active trail reaches (Bayes ball).
    reached = {v for v, _ in _reached(parents, variables, given)}
    return frozenset(range(len(parents))) - reached - set(given)


def ancestors(parents: Sequence[Collection[int]], of: Iterable[int]) -> frozenset[int]:
    """Return the variables and all their ancestors.

    Examples
    --------
    >>> sorted(ancestors([(), (0,), (1,)], [1]))
    [0, 1]
    """
    seen = set(of)
    waiting = list(seen)
    while waiting:
        for parent in parents[waiting.pop()]:
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return frozenset(seen)


def ancestor_matrix(parents: Sequence[Collection[int]]) -> NDArray[np.bool_]:
    """Return whether ``[ancestor, descendant]`` are such, shape (n, n).

    Examples
    --------
    >>> ancestor_matrix([(), (0,), (1,)])[0].tolist()
    [False, True, True]
    """
    n = len(parents)
    above = np.zeros((n, n), np.bool_)
    # A parent's column is complete before its children's: ancestors of parents are
    # taken over.
    for child in topological_order(parents):
        for parent in parents[child]:
            above[:, child] |= above[:, parent]
            above[parent, child] = True
    return above


def directed_path(
    offspring: Sequence[Collection[int]], start: int, ends: Collection[int]
) -> tuple[Arc, ...] | None:
    """Return the arcs of a shortest directed path to one of the ends; ``None`` without a path.

    Examples
    --------
    >>> directed_path([(1,), (2,), ()], 0, [2])
    ((0, 1), (1, 2))
    """
    previous: dict[int, int] = {start: start}
    waiting = deque([start])
    while waiting:
        v = waiting.popleft()
        if v in ends:  # back from the end to the start
            path = []
            while v != start:
                path.append((previous[v], v))
                v = previous[v]
            return tuple(reversed(path))
        for child in offspring[v]:
            # Breadth first: the first way into a variable is a shortest one.
            if child not in previous:
                previous[child] = v
                waiting.append(child)
    return None


def _reached(
    parents: Sequence[Collection[int]],
    start: Collection[int],
    given: Collection[int],
    ends: Collection[int] = (),
) -> dict[State, State | None]:
    """Return the states on active trails, each with that before it; the search ends at an end."""
    offspring = children(parents)
    # A collider is open if it, or a descendant of it, is given.
    opened = ancestors(parents, given)
    given = frozenset(given)
    previous: dict[State, State | None] = {(v, False): None for v in sorted(start)}
    waiting = deque(previous)
    while waiting:
        state = waiting.popleft()
        v, entered_from_parent = state
        if v in ends:
            break
        # A trail leaves to the children where it is a chain or a fork, and to the parents where it
        # is a chain, or a collider that is opened.
        steps: list[State] = []
        if v not in given:
            steps += [(child, True) for child in offspring[v]]
        if (v in opened) if entered_from_parent else (v not in given):
            steps += [(parent, False) for parent in sorted(parents[v])]
        for step in steps:
            if step not in previous:
                previous[step] = state
                waiting.append(step)
    return previous


def _arcs_of(
    previous: dict[State, State | None],
    end: State,
    offspring: Sequence[Collection[int]],
    given: Collection[int],
) -> frozenset[Arc]:
    """Return the arcs of the trail to an end, with a path that opens each of its colliders."""
    arcs: set[Arc] = set()
    state = end
    while (before := previous[state]) is not None:
        v, from_parent = state
        u, u_from_parent = before
        arcs.add((u, v) if from_parent else (v, u))
        if u_from_parent and not from_parent:  # u is a collider of the trail
            opening = directed_path(offspring, u, given)
            assert opening is not None
            arcs.update(opening)
        state = before
    return frozenset(arcs)


def strongest_dag(
    strengths: NDArray[np.float64], is_linked: NDArray[np.bool_]
) -> list[set[int]]:
    """Return the parents of each variable in a DAG of the strongest arcs.

    Arcs are added by falling strength, equal ones in the order of the variables. One that would
    close a directed cycle is taken the other way, if that has a strength, and else left out.

    Parameters
    ----------
    strengths
        Strength of each arc ``[parent, child]``, shape (n, n); an arc of none is never taken.
    is_linked
        Which pairs of variables may be linked, symmetric, shape (n, n).

    Examples
    --------
    >>> strongest_dag(np.array([[0.0, 0.9], [0.1, 0.0]]), np.ones((2, 2), bool))
    [set(), {0}]
    """
    n = len(strengths)
    arcs = np.argwhere(is_linked & (strengths > 0)).tolist()
    parents: list[set[int]] = [set() for _ in range(n)]
    is_ancestor = np.eye(n, dtype=bool)  # of the column's variable
    for parent, child in sorted(arcs, key=lambda arc: -strengths[*arc]):
        if not is_ancestor[child, parent]:
            parents[child].add(parent)
            is_ancestor |= np.outer(is_ancestor[:, parent], is_ancestor[child])
    return parents
