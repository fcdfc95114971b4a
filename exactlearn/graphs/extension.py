"""Consistent extensions of partially directed graphs, and the class that such a graph stands for.

A consistent extension directs the undirected edges without a directed cycle and without a new
v-structure. It is found from its sinks backwards: a variable may become the last one when no arc
leaves it and each neighbour by an edge is adjacent to all its other adjacencies; then it is removed
with its edges (Dor and Tarsi 1992, "A simple algorithm to construct a consistent extension of a
partially oriented graph").
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

from exactlearn._runtime.arguments import checked_arguments, named_results
from exactlearn.errors import OptionError
from exactlearn.graphs.equivalence import (
    PartiallyDirectedGraph,
    as_partially_directed,
    as_structure,
    cpdag,
    named_graph,
)


def _by_index(partial: Any, name: str) -> PartiallyDirectedGraph:
    return as_partially_directed(as_structure(partial, name, None))


@named_results(named_graph("dag"))
@checked_arguments(partial=_by_index)
def consistent_extension(
    partial: PartiallyDirectedGraph | Any, names: Sequence[str] | None = None
) -> Any:
    """Return a directed acyclic graph with the adjacencies, arcs and v-structures of a graph.

    It is the parents of each variable; a :class:`NamedGraph` of a graph by name.

    Parameters
    ----------
    partial
        A pattern, a CPDAG, or another graph with arcs and undirected edges.
    names
        Variable names for the error message; the indices when left out.

    Raises
    ------
    OptionError
        When there is none; the message names variables that no order can hold.

    Examples
    --------
    >>> edges = frozenset({(0, 1), (1, 2)})
    >>> consistent_extension(PartiallyDirectedGraph(3, frozenset(), edges))
    ((), (0,), (1,))
    """
    adjacent = [set(others) for others in partial.adjacencies]
    undirected = [set(others) for others in partial.neighbours]
    offspring: list[set[int]] = [set() for _ in adjacent]
    for parent, child in partial.directed:
        offspring[parent].add(child)
    found: list[tuple[int, ...]] = [()] * partial.n_variables
    left, waiting = set(range(partial.n_variables)), deque(reversed(range(partial.n_variables)))
    while waiting:
        v = waiting.popleft()
        if v not in left or offspring[v]:
            continue
        if any(not adjacent[v] - {u} <= adjacent[u] for u in undirected[v]):
            continue
        found[v] = tuple(sorted(adjacent[v]))
        left.remove(v)
        for u in found[v]:
            for others in (adjacent, undirected, offspring):
                others[u].discard(v)
        waiting.extend(found[v])
    if left:
        shown = [str(v) if names is None else repr(names[v]) for v in sorted(left)]
        raise OptionError(
            "no directed acyclic graph has these adjacencies, arcs and v-structures: no order of "
            f"the variables {', '.join(shown)} directs their edges without a directed cycle or a "
            "new v-structure; remove or redirect an arc among them"
        )
    return tuple(found)


@named_results(named_graph("cpdag"))
@checked_arguments(partial=_by_index)
def completed_pattern(
    partial: PartiallyDirectedGraph | Any, names: Sequence[str] | None = None
) -> Any:
    """Return the CPDAG of the class whose members extend a pattern, or another such graph.

    Arcs that are in no v-structure and follow from none are no longer directed. It is a
    :class:`PartiallyDirectedGraph`, or a :class:`NamedGraph` of a graph by name.

    Raises
    ------
    OptionError
        As :func:`consistent_extension`.

    Examples
    --------
    >>> chain = PartiallyDirectedGraph(3, frozenset({(0, 1), (1, 2)}), frozenset())
    >>> sorted(completed_pattern(chain).undirected)
    [(0, 1), (1, 2)]
    """
    return cpdag(consistent_extension(partial, names))


def check_cpdag(partial: PartiallyDirectedGraph, names: Sequence[str] | None = None) -> None:
    """Verify that a graph is a CPDAG.

    Raises
    ------
    OptionError
        When it has no consistent extension, or is not the CPDAG of its class; names an edge.
    """
    expected = completed_pattern(partial, names)
    arcs, edges = partial.directed - expected.directed, partial.undirected - expected.undirected
    if not arcs and not edges:
        return
    a, b = (str(v) if names is None else repr(names[v]) for v in min(arcs or edges))
    found = f"the arc {a} -> {b}, which some members of its class reverse"
    if not arcs:
        found = f"the undirected edge {a} -- {b}, which all members of its class direct alike"
    raise OptionError(
        f"expected a CPDAG, found {found}: complete the graph first (completed_pattern)"
    )
