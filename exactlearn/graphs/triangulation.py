"""Chordal graphs made by elimination, and their maximal cliques (Rose 1970).

A variable and the neighbours it still has when it is eliminated are its cluster. Joining every
cluster makes the graph chordal; the clusters that no other one holds are its maximal cliques.
"""

from collections.abc import Sequence

from exactlearn.errors import OptionError
from exactlearn.graphs.elimination import Adjacency


def triangulated(adjacency: Adjacency, order: Sequence[int]) -> tuple[frozenset[int], ...]:
    """Return the graph with all arcs that elimination in this order adds: a chordal graph.

    Raises
    ------
    OptionError
        When ``order`` does not list every variable once.
    """
    filled = [set(neighbours) for neighbours in adjacency]
    for cluster in elimination_clusters(adjacency, order):
        for v in cluster:
            filled[v] |= cluster - {v}
    return tuple(map(frozenset, filled))


def maximal_cliques(adjacency: Adjacency, order: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the maximal cliques of the graph triangulated in this order, sorted.

    Raises
    ------
    OptionError
        When ``order`` does not list every variable once.

    Examples
    --------
    >>> maximal_cliques([(1, 3), (0, 2), (1, 3), (0, 2)], (0, 1, 2, 3))
    ((0, 1, 3), (1, 2, 3))
    """
    position = {v: k for k, v in enumerate(order)}
    clusters = dict(zip(order, elimination_clusters(adjacency, order), strict=True))
    inside: set[int] = set()
    for v, cluster in clusters.items():
        rest = cluster - {v}
        if rest:
            heir = min(rest, key=position.__getitem__)
            if len(clusters[heir]) == len(rest):
                inside.add(heir)
    return tuple(sorted(tuple(sorted(c)) for v, c in clusters.items() if v not in inside))


def elimination_clusters(adjacency: Adjacency, order: Sequence[int]) -> list[set[int]]:
    """Return each variable with its neighbours at the time of its elimination, in the order."""
    if sorted(order) != list(range(len(adjacency))):
        raise OptionError(
            f"the elimination order must list each of {len(adjacency)} variables once, "
            f"found {len(order)} entries, {len(set(order))} different"
        )
    graph = [set(neighbours) for neighbours in adjacency]
    clusters: list[set[int]] = []
    for v in order:
        neighbours = graph[v]
        for u in neighbours:
            graph[u] |= neighbours
            graph[u] -= {u, v}
        clusters.append(neighbours | {v})
    return clusters
