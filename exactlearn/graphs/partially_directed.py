"""Graphs with arcs and undirected edges: patterns, completed patterns (CPDAGs), and their members.

The class of a CPDAG has as many members as its undirected parts have orientations without cycle and
without new v-structure (He, Jia and Yu 2015, "Counting and exploring sizes of Markov equivalence
classes of directed acyclic graphs").
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import factorial, prod
from typing import TYPE_CHECKING

from exactlearn._runtime.display import Displayed
from exactlearn.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    import networkx as nx

Arc = tuple[int, int]
Parents = tuple[tuple[int, ...], ...]
Links = frozenset[Arc]
"""Undirected links, each with the smaller variable first."""


@dataclass(frozen=True, repr=False)
class PartiallyDirectedGraph(
    Displayed, shown="n_variables arcs=directed edges=undirected"
):
    """A graph with arcs and undirected edges: a pattern or a completed pattern (CPDAG).

    Parameters
    ----------
    n_variables
        Number of variables.
    directed
        Arcs that every member of the class has.
    undirected
        Adjacencies that members direct differently; kept with the smaller variable first.

    Raises
    ------
    OptionError
        When a variable is out of range, joined to itself or twice to another one.

    Examples
    --------
    >>> graph = PartiallyDirectedGraph(3, [(0, 2)], [(0, 1)])
    >>> graph.parents[2], graph.neighbours[0], sorted(graph.adjacencies[0]), sorted(graph.skeleton)
    (frozenset({0}), frozenset({1}), [1, 2], [(0, 1), (0, 2)])
    >>> PartiallyDirectedGraph.of([(), (0,)]).directed
    frozenset({(0, 1)})
    >>> from exactlearn.graphs import cpdag
    >>> cpdag([(), (0,), (1,)]).size
    3
    """

    n_variables: int
    directed: frozenset[Arc]
    undirected: Links

    def __post_init__(self) -> None:
        """Order the undirected edges; refuse what is no graph."""
        object.__setattr__(self, "directed", frozenset(self.directed))
        object.__setattr__(self, "undirected", unordered(self.undirected))
        variables = range(self.n_variables)
        for a, b in (*self.directed, *self.undirected):
            if a == b or a not in variables or b not in variables:
                raise OptionError(
                    f"found an edge of variables {a} and {b}: expected two different ones from 0 "
                    f"to {self.n_variables - 1}"
                )
        # A pair that is both an arc and an edge, or two arcs, stands once in the
        # skeleton.
        if len(self.skeleton) < len(self.directed) + len(self.undirected):
            raise OptionError(
                "two variables are joined twice: expected one arc or edge at most"
            )

    @classmethod
    def of(cls, parents: Sequence[Collection[int]]) -> "PartiallyDirectedGraph":
        """Return a directed graph, with all its arcs directed."""
        arcs = frozenset(
            (p, child) for child, family in enumerate(parents) for p in family
        )
        return cls(len(parents), arcs, frozenset())

    @property
    def neighbours(self) -> tuple[frozenset[int], ...]:
        """Variables that an undirected edge joins to each variable."""
        return _adjacent(self.n_variables, self.undirected)

    @property
    def skeleton(self) -> Links:
        """All arcs and edges without direction, the smaller variable first."""
        return self.undirected | unordered(self.directed)

    @property
    def adjacencies(self) -> tuple[frozenset[int], ...]:
        """Variables that an arc or an edge joins to each variable."""
        return _adjacent(self.n_variables, self.skeleton)

    @property
    def parents(self) -> tuple[frozenset[int], ...]:
        """Variables that an arc leads from, to each variable."""
        return _parents(self.n_variables, self.directed)

    def to_networkx(self) -> "nx.DiGraph":
        """Return the graph for networkx, each undirected edge as two arcs.

        Raises
        ------
        MissingExtraError
            When networkx is not installed.

        Examples
        --------
        >>> sorted(PartiallyDirectedGraph(3, [(0, 2)], [(0, 1)]).to_networkx().edges)
        [(0, 1), (0, 2), (1, 0)]
        """
        try:
            import networkx as nx
        except ImportError:
            raise MissingExtraError(
                "networkx is not installed: pip install networkx, or use the arcs as they are"
            ) from None
        graph = nx.DiGraph()
        graph.add_nodes_from(range(self.n_variables))
        graph.add_edges_from(sorted(both_ways(self)))
        return graph

    @property
    def size(self) -> int:
        """Number of directed acyclic graphs in the class of a CPDAG, which this must be."""
        return _n_orientations(self.undirected)

    def members(self) -> Iterator[Parents]:
        """Yield the directed acyclic graphs of the class of a CPDAG, which this must be.

        Examples
        --------
        >>> from exactlearn.graphs import cpdag
        >>> sorted(cpdag([(), (0,), (1,)]).members())
        [((), (0,), (1,)), ((1,), (), (1,)), ((1,), (2,), ())]
        """
        for arcs in _orientations(self.undirected):
            parents = _parents(self.n_variables, self.directed | arcs)
            yield tuple(tuple(sorted(family)) for family in parents)


def skeleton(parents: Sequence[Collection[int]]) -> Links:
    """Return the adjacencies, the smaller variable first."""
    return PartiallyDirectedGraph.of(parents).skeleton


def v_structures(parents: Sequence[Collection[int]]) -> frozenset[tuple[int, int, int]]:
    """Return the triples ``(a, child, b)`` with ``a < b`` not adjacent and both parents.

    Examples
    --------
    >>> v_structures([(), (), (0, 1)])
    frozenset({(0, 2, 1)})
    """
    links = skeleton(parents)
    return frozenset(
        (a, child, b)
        for child, family in enumerate(parents)
        for a, b in combinations(sorted(family), 2)
        if (a, b) not in links
    )


def as_partially_directed(
    given: Sequence[Collection[int]] | PartiallyDirectedGraph,
) -> PartiallyDirectedGraph:
    """Return a graph given by the parents of each variable, or as it is."""
    return (
        given
        if isinstance(given, PartiallyDirectedGraph)
        else PartiallyDirectedGraph.of(given)
    )


def unordered(pairs: Iterable[Arc]) -> Links:
    """Return pairs without their order, the smaller variable first."""
    return frozenset((min(pair), max(pair)) for pair in pairs)


def both_ways(graph: PartiallyDirectedGraph) -> set[Arc]:
    """Return the arcs, and each undirected edge as two."""
    return symmetric(graph.undirected) | graph.directed


def symmetric(links: Collection[Arc]) -> set[Arc]:
    """Return pairs in both orders."""
    return {*links, *((b, a) for a, b in links)}


def _parents(n_variables: int, arcs: Collection[Arc]) -> tuple[frozenset[int], ...]:
    """Return the parents of each variable."""
    parents: list[set[int]] = [set() for _ in range(n_variables)]
    for parent, child in arcs:
        parents[child].add(parent)
    return tuple(map(frozenset, parents))


def _adjacent(n_variables: int, pairs: Collection[Arc]) -> tuple[frozenset[int], ...]:
    """Return the neighbours of each variable."""
    return _parents(n_variables, symmetric(pairs))


def _parts(links: Links) -> list[Links]:
    """Return the connected parts of an undirected graph."""
    left = set(links)
    parts = []
    while left:  # a part grows from its least variable
        reached = set(min(left))
        while (
            grown := {v for link in left if reached & set(link) for v in link} - reached
        ):
            reached |= grown
        part = frozenset(link for link in left if link[0] in reached)
        parts.append(part)
        left -= part
    return sorted(parts, key=min)


def _n_orientations(links: Links) -> int:
    """Return the number of orientations of an undirected graph, that of a product of its parts."""
    return prod(map(_n_rooted, _parts(links)))


@lru_cache(maxsize=2**14)
def _n_rooted(links: Links) -> int:
    """Return the number of ways to direct a connected part without cycle and new v-structure.

    Each way has exactly one source (He, Jia and Yu 2015, "Counting and exploring sizes of Markov
    equivalence classes of directed acyclic graphs").
    """
    sources = set[int]().union(*links)
    n = len(sources)
    if len(links) == n - 1:  # a tree: the source decides everything
        return n
    if 2 * len(links) == n * (n - 1):  # a clique: an orientation for each order
        return factorial(n)
    return sum(_n_orientations(_rooted(links, source)[1]) for source in sources)


def _orientations(links: Links) -> Iterator[frozenset[Arc]]:
    """Yield the ways to direct an undirected graph without cycle and without new v-structure."""
    for ways in product(*map(_oriented, _parts(links))):
        yield frozenset[Arc]().union(*ways)


def _oriented(links: Links) -> Iterator[frozenset[Arc]]:
    """Yield the ways to direct a connected part, by their source."""
    for source in sorted(set[int]().union(*links)):
        directed, undirected = _rooted(links, source)
        for arcs in _orientations(undirected):
            yield directed | arcs


def _rooted(links: Links, source: int) -> tuple[frozenset[Arc], Links]:
    """Direct the links that follow when one variable is the only source.

    Returns
    -------
    directed, undirected
        The arcs, which lead away from the source, layer by layer; and the links inside of a layer
        that either direction leaves without a new v-structure.
    """
    neighbours: dict[int, set[int]] = {}
    for a, b in symmetric(links):
        neighbours.setdefault(a, set()).add(b)
    directed: set[Arc] = set()
    undirected: set[Arc] = set()
    done: set[int] = set()
    layer = {source}
    # Layers by distance from the source: links between two of them lead away from it.
    while layer:
        done |= layer
        following = {v for u in layer for v in neighbours[u]} - done
        directed |= {(u, v) for u in layer for v in neighbours[u] & following}
        inside = {(u, v) for u in following for v in neighbours[u] & following if u < v}
        # Inside of a layer an arc is forced where its reversal would make a v-structure
        # (Meek's rule 1), until none is.
        while forced := _forced(inside, directed, neighbours):
            directed |= forced
            inside -= unordered(forced)
        undirected |= inside
        layer = following
    return frozenset(directed), frozenset(undirected)


def _forced(
    links: Collection[Arc], directed: set[Arc], neighbours: dict[int, set[int]]
) -> set[Arc]:
    """Return the links, as arcs, that make a new v-structure in the other direction."""
    forced = set()
    for u, v in symmetric(links):
        # w -> u -- v without w -- v: v -> u would be a new v-structure.
        if any((w, u) in directed for w in neighbours[u] - neighbours[v]):
            forced.add((u, v))
    return forced
