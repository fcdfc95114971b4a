"""How often the arcs are in the best networks: plainly, and weighted by the networks' probability.

Scores are logarithms, so under a uniform prior on the networks listed a network's probability given
the data is proportional to the exponential of its score (Madigan and Raftery 1994, "Model selection
and accounting for model uncertainty in graphical models using Occam's window").
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.graphs.equivalence import Arc, PartiallyDirectedGraph


class ArcSupport(NamedTuple):
    """The support of one arc, as shares of 1.

    Attributes
    ----------
    parent, child
        The arc.
    support, weight
        Share of the networks that have it, and of their probability.
    adjacency_support, adjacency_weight
        The same of the networks that have it in either direction.
    """

    parent: int
    child: int
    support: float
    weight: float
    adjacency_support: float
    adjacency_weight: float


def arc_support(
    networks: Sequence[tuple[Sequence[Sequence[int]], float]],
) -> tuple[ArcSupport, ...]:
    """Return the support of every arc that any of some networks has.

    Parameters
    ----------
    networks
        The parents of each variable, and the score, of each network.

    Returns
    -------
    tuple
        By falling weight, then falling support, then by parent and child.

    Examples
    --------
    >>> [(arc.parent, arc.child, arc.support) for arc in arc_support([([(), (0,)], -1.0)])]
    [(0, 1, 1.0)]
    """
    arcs = [{(p, v) for v, family in enumerate(dag) for p in family} for dag, _ in networks]
    scores = [score for _, score in networks]
    return _supports(arcs, [set()] * len(arcs), scores, [1] * len(arcs))


def class_support(
    classes: Sequence[tuple[PartiallyDirectedGraph, float, int]],
) -> tuple[ArcSupport, ...]:
    """Return the support of every arc and edge of the completed patterns of some classes.

    An undirected edge is an adjacency only, in a record with the smaller variable as the parent.

    Parameters
    ----------
    classes
        The completed pattern, the score, and how often it was found, of each class; the support
        counts that, the weight takes each class once.

    Examples
    --------
    >>> both = PartiallyDirectedGraph(2, frozenset(), frozenset({(0, 1)}))
    >>> [(found.support, found.adjacency_support) for found in class_support([(both, -1.0, 5)])]
    [(0.0, 1.0)]
    """
    arcs = [set(graph.directed) for graph, _, _ in classes]
    edges = [set(graph.undirected) for graph, _, _ in classes]
    return _supports(arcs, edges, [score for _, score, _ in classes], [n for _, _, n in classes])


def _supports(
    arcs: Sequence[set[Arc]],
    edges: Sequence[set[Arc]],
    scores: Sequence[float],
    counts: Sequence[int],
) -> tuple[ArcSupport, ...]:
    """Add up the shares of the graphs that have each arc, and each adjacency."""
    if not scores:
        return ()
    found: dict[Arc, NDArray[np.float64]] = {}
    adjacent: dict[Arc, NDArray[np.float64]] = {}
    shares = zip(np.array(counts) / sum(counts), probabilities(scores), strict=True)
    for own, either, share in zip(arcs, edges, shares, strict=True):
        for a, b in own | either:
            pair = min(a, b), max(a, b)
            adjacent[pair] = adjacent.get(pair, np.zeros(2)) + share
            arc = (a, b) if (a, b) in own else pair
            found[arc] = found.get(arc, np.zeros(2)) + np.array(share) * ((a, b) in own)
    rows = [
        ArcSupport(a, b, *np.minimum([*own, *adjacent[min(a, b), max(a, b)]], 1.0).tolist())
        for (a, b), own in found.items()
    ]
    return tuple(sorted(rows, key=lambda r: (-r.weight, -r.support, r.parent, r.child)))


def probabilities(scores: Sequence[float]) -> NDArray[np.float64]:
    """Return the probability of each of some networks, by their scores, as shares of 1."""
    weights = np.exp(np.array(scores) - max(scores))
    found: NDArray[np.float64] = weights / weights.sum()
    return found


def support_record(names: Sequence[str], rows: Sequence[ArcSupport]) -> list[dict[str, Any]]:
    """Return the JSON records of the supports."""
    return [
        {**row._asdict(), "parent": names[row.parent], "child": names[row.child]} for row in rows
    ]
