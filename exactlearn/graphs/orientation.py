"""Arcs whose direction follows from an equivalence class and from known arcs.

Where some arcs of a class are known, others follow: those that would else close a directed cycle or
a new v-structure. Four rules direct all of them (Meek 1995, "Causal inference and causal
explanation with background knowledge", rules R1 to R4 and theorem 4).
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from exactlearn.graphs.equivalence import cpdag
from exactlearn.graphs.partially_directed import Arc, PartiallyDirectedGraph, symmetric


def known_directions(
    required: Iterable[Arc], forbidden: Iterable[Arc]
) -> frozenset[Arc]:
    """Return the directions that constraints on single arcs leave to their adjacencies.

    Examples
    --------
    >>> sorted(known_directions(required=[(0, 1)], forbidden=[(3, 2)]))
    [(0, 1), (2, 3)]
    """
    return frozenset({*required, *((child, parent) for parent, child in forbidden)})


def maximally_oriented(
    graph: PartiallyDirectedGraph, background: Collection[Arc]
) -> PartiallyDirectedGraph:
    """Return a CPDAG with the edges directed that known arcs decide on.

    Parameters
    ----------
    graph
        The CPDAG.
    background
        Arcs that some member of the class has together; those between variables that are not
        adjacent do not count.

    Examples
    --------
    >>> chain = cpdag([(), (0,), (1,)])
    >>> sorted(maximally_oriented(chain, {(0, 1)}).directed)
    [(0, 1), (1, 2)]
    """
    adjacent = graph.adjacencies
    arcs = set(graph.directed)
    edges = symmetric(graph.undirected)
    new = edges & set(background)
    while new:  # the rules are applied until nothing follows any more
        arcs |= new
        edges -= symmetric(new)
        new = {arc for arc in edges if _follows(arc, arcs, edges, adjacent)}
        new -= {(b, a) for a, b in new}  # contradicting knowledge directs nothing
    return PartiallyDirectedGraph(graph.n_variables, frozenset(arcs), frozenset(edges))


def oriented_class(
    parents: Sequence[Collection[int]], background: Collection[Arc] = ()
) -> PartiallyDirectedGraph:
    """Return the CPDAG of a network, with the edges directed that its known arcs decide on.

    Parameters
    ----------
    parents
        Parents of each variable.
    background
        Directions that are known; those that the network has not do not count.

    Examples
    --------
    >>> sorted(oriented_class([(), (0,), (1,)], {(0, 1)}).directed)
    [(0, 1), (1, 2)]
    """
    arcs = PartiallyDirectedGraph.of(parents).directed
    return maximally_oriented(cpdag(parents), arcs & frozenset(background))


def reversible_arcs(
    parents: Sequence[Collection[int]], background: Collection[Arc] = ()
) -> frozenset[Arc]:
    """Return the arcs that another network of the class has in the other direction.

    Parameters
    ----------
    parents
        Parents of each variable.
    background
        Arcs that the other networks must have, too.

    Examples
    --------
    >>> sorted(reversible_arcs([(), (0,), (1,)]))
    [(0, 1), (1, 2)]
    """
    return (
        PartiallyDirectedGraph.of(parents).directed
        - oriented_class(parents, background).directed
    )


def _follows(
    arc: Arc, arcs: set[Arc], edges: set[Arc], adjacent: Sequence[frozenset[int]]
) -> bool:
    """Return whether one of the four rules directs an edge as the arc."""
    a, b = arc
    before = {c for c in adjacent[a] if (c, a) in arcs}
    into = {c for c in adjacent[b] if (c, b) in arcs}
    beside = {c for c in adjacent[a] if (a, c) in edges}
    return (
        not before <= adjacent[b]  # R1: c -> a, and c not adjacent to b
        or any((a, c) in arcs for c in into)  # R2: a -> c -> b
        # R3: a -- c -> b and a -- d -> b, and c not adjacent to d
        or any(d not in adjacent[c] for c, d in combinations(beside & into, 2))
        # R4: a -- d -> c -> b, c adjacent to a and d not to b
        or any((d, c) in arcs for c in into & adjacent[a] for d in beside - adjacent[b])
    )
