"""Directed graphs given as one parent set per variable: order and moral graph.

The definitions are those of Lauritzen and Spiegelhalter 1988, "Local computations with
probabilities on graphical structures and their application to expert systems".
"""

from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Any

from exactlearn._runtime.arguments import (
    ParentsLike,
    VariableLike,
    checked_arguments,
    named,
    named_results,
    set_by_name,
    variable_index,
)
from exactlearn.errors import OptionError


def children(parents: Sequence[Collection[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the children of each variable in increasing order.

    Examples
    --------
    >>> children([(), (0,), (0, 1)])
    ((1, 2), (2,), ())
    """
    found: list[list[int]] = [[] for _ in parents]
    for child, family in enumerate(parents):
        for parent in family:
            found[parent].append(child)
    return tuple(map(tuple, found))


def named_parents(names: Sequence[str], parents: Sequence[Sequence[int]]) -> dict[str, list[str]]:
    """Return the parents of each variable by name.

    Examples
    --------
    >>> named_parents(["a", "b"], [(), (0,)])
    {'a': [], 'b': ['a']}
    """
    return {name: [names[p] for p in family] for name, family in zip(names, parents, strict=True)}


def arcs_by_name(
    names: Sequence[str], parents: Sequence[Sequence[int]]
) -> tuple[tuple[str, str], ...]:
    """Return the arcs as pairs of names (parent, child), by child; without names, of indices.

    Examples
    --------
    >>> arcs_by_name(["a", "b"], [(), (0,)]), arcs_by_name([], [(), (0,)])
    ((('a', 'b'),), (('0', '1'),))
    """
    found = named_parents(names or [str(v) for v in range(len(parents))], parents).items()
    return tuple((parent, child) for child, family in found for parent in family)


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
    while ready:
        variable = heappop(ready)
        order.append(variable)
        for child in offspring[variable]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heappush(ready, child)
    if len(order) < len(parents):
        _raise_cycle(parents, set(order), names)
    return tuple(order)


def _raise_cycle(
    parents: Sequence[Collection[int]], ordered: set[int], names: Sequence[str] | None
) -> None:
    """Walk from parent to parent among the unordered variables until one comes again."""
    walk = [min(v for v in range(len(parents)) if v not in ordered)]
    while walk[-1] not in walk[:-1]:
        walk.append(min(p for p in parents[walk[-1]] if p not in ordered))
    cycle = walk[walk.index(walk[-1]) :][::-1]
    shown = " -> ".join(str(v) if names is None else names[v] for v in cycle)
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
    for child, family in enumerate(parents):
        for a, b in combinations({child, *family}, 2):
            neighbours[a].add(b)
            neighbours[b].add(a)
    return tuple(map(frozenset, neighbours))


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
    return moral_graph(parents)[variable]
