"""Markov equivalence of directed acyclic graphs.

Two graphs state the same independences exactly when they have the same adjacencies and the same
v-structures (Verma and Pearl 1990, "Equivalence and synthesis of causal models"). A class is
represented by its completed pattern (CPDAG): arcs that all members share are directed, the others
are not (Chickering 2002, "Learning equivalence classes of Bayesian-network structures").
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import prod

from exactlearn.errors import OptionError
from exactlearn.graphs.dag import topological_order

Arc = tuple[int, int]
Parents = tuple[tuple[int, ...], ...]
Links = frozenset[Arc]
"""Undirected links, each with the smaller variable first."""


@dataclass(frozen=True)
class PartiallyDirectedGraph:
    """A graph with arcs and undirected edges: a pattern or a completed pattern (CPDAG).

    Parameters
    ----------
    n_variables
        Number of variables.
    directed
        Arcs that every member of the class has.
    undirected
        Adjacencies that members direct differently, the smaller variable first.
    """

    n_variables: int
    directed: frozenset[Arc]
    undirected: Links

    @property
    def size(self) -> int:
        """Number of directed acyclic graphs in the class."""
        return prod(_orientations(part) for part in _parts(self.undirected))

    def members(self) -> Iterator[Parents]:
        """Yield the directed acyclic graphs of the class.

        Examples
        --------
        >>> sorted(cpdag([(), (0,), (1,)]).members())
        [((), (0,), (1,)), ((1,), (), (1,)), ((1,), (2,), ())]
        """
        choices = [list(_oriented(part)) for part in _parts(self.undirected)]
        for chosen in product(*choices):
            parents: list[set[int]] = [set() for _ in range(self.n_variables)]
            for parent, child in self.directed.union(*chosen):
                parents[child].add(parent)
            yield tuple(tuple(sorted(family)) for family in parents)


def skeleton(parents: Sequence[Collection[int]]) -> Links:
    """Return the adjacencies, the smaller variable first."""
    arcs = [(p, child) for child, family in enumerate(parents) for p in family]
    return frozenset((min(arc), max(arc)) for arc in arcs)


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


def cpdag(parents: Sequence[Collection[int]]) -> PartiallyDirectedGraph:
    """Return the completed pattern (CPDAG) of a directed acyclic graph's class.

    The arcs are labelled in an order in which what decides on each comes before it (Chickering
    1995, "A transformational characterization of equivalent Bayesian network structures").

    Raises
    ------
    OptionError
        When the graph has a directed cycle.

    Examples
    --------
    >>> found = cpdag([(), (0,), (1, 3), ()])
    >>> sorted(found.directed), sorted(found.undirected)
    ([(1, 2), (3, 2)], [(0, 1)])
    """
    order = topological_order([tuple(family) for family in parents])
    place = {v: k for k, v in enumerate(order)}
    compelled: dict[Arc, bool] = {}
    for child in order:
        family = set(parents[child])
        for x in sorted(family, key=place.__getitem__, reverse=True):
            if (x, child) not in compelled:
                _label(x, child, family, parents, compelled)
    directed = frozenset(arc for arc, known in compelled.items() if known)
    rest = (arc for arc, known in compelled.items() if not known)
    return PartiallyDirectedGraph(len(parents), directed, frozenset((min(a), max(a)) for a in rest))


def structural_hamming_distance(
    first: Sequence[Collection[int]] | PartiallyDirectedGraph,
    second: Sequence[Collection[int]] | PartiallyDirectedGraph,
) -> int:
    """Return the number of pairs of variables whose edge differs between two graphs.

    A missing, a surplus, a reversed and an edge directed in one graph only count one each. Between
    patterns this is the distance of Tsamardinos, Brown and Aliferis (2006, "The max-min
    hill-climbing Bayesian network structure learning algorithm"), which is 0 exactly for Markov
    equivalent graphs; between directed acyclic graphs, that of Acid and de Campos (2003,
    "Searching for Bayesian network structures in the space of restricted acyclic partially
    directed graphs").

    Parameters
    ----------
    first, second
        Graphs over the same variables, each by the parents of each variable, or as a CPDAG.

    Raises
    ------
    OptionError
        When the graphs have different numbers of variables.

    Examples
    --------
    >>> chain, reversed_chain = [(), (0,), (1,)], [(1,), (2,), ()]
    >>> structural_hamming_distance(chain, reversed_chain)
    2
    >>> structural_hamming_distance(cpdag(chain), cpdag(reversed_chain))
    0
    """
    n_variables = [
        g.n_variables if isinstance(g, PartiallyDirectedGraph) else len(g) for g in (first, second)
    ]
    if n_variables[0] != n_variables[1]:
        raise OptionError(
            f"the distance of two graphs needs the same variables, found {n_variables[0]} and "
            f"{n_variables[1]}"
        )
    return len({(min(arc), max(arc)) for arc in _marks(first) ^ _marks(second)})


def _marks(graph: Sequence[Collection[int]] | PartiallyDirectedGraph) -> set[Arc]:
    """Return the arcs, an undirected edge as both."""
    if isinstance(graph, PartiallyDirectedGraph):
        return {*graph.directed, *graph.undirected, *((b, a) for a, b in graph.undirected)}
    return {(p, child) for child, family in enumerate(graph) for p in family}


def _label(
    x: int,
    child: int,
    family: set[int],
    parents: Sequence[Collection[int]],
    compelled: dict[Arc, bool],
) -> None:
    """Label the arc from the last unlabelled parent, and those that follow from it."""
    for w in sorted(parents[x]):
        if not compelled[w, x]:
            continue
        if w not in family:
            compelled.update({(p, child): True for p in family})
            return
        compelled[w, child] = True
    enters = any(z != x and z not in parents[x] for z in family)
    for p in family:
        compelled.setdefault((p, child), enters)


def _parts(links: Links) -> list[Links]:
    """Return the connected parts of an undirected graph."""
    left, parts = set(links), []
    while left:
        reached = set(min(left))
        while grown := {v for link in left if reached & set(link) for v in link} - reached:
            reached |= grown
        part = frozenset(link for link in left if link[0] in reached)
        parts.append(part)
        left -= part
    return sorted(parts, key=min)


@lru_cache(maxsize=2**14)
def _orientations(links: Links) -> int:
    """Count the ways to direct a connected part without cycle and without new v-structure.

    Each way has exactly one source (He, Jia and Yu 2015, "Counting and exploring sizes of Markov
    equivalence classes of directed acyclic graphs").
    """
    sources = {v for link in links for v in link}
    if len(links) == len(sources) - 1:  # a tree: the source decides everything
        return len(sources)
    if 2 * len(links) == len(sources) * (len(sources) - 1):
        return prod(range(1, len(sources) + 1))
    return sum(
        prod(_orientations(part) for part in _parts(_rooted(links, source)[1]))
        for source in sources
    )


def _oriented(links: Links) -> Iterator[frozenset[Arc]]:
    """Yield the ways to direct a connected part."""
    for source in sorted({v for link in links for v in link}):
        directed, rest = _rooted(links, source)
        for chosen in product(*([*_oriented(part)] for part in _parts(rest))):
            yield directed.union(*chosen)


def _rooted(links: Links, source: int) -> tuple[frozenset[Arc], Links]:
    """Direct what follows when one variable is the only source; return that and what is left.

    Arcs lead away from the source, layer by layer; inside a layer, a link is directed when else
    there were a new v-structure.
    """
    neighbours: dict[int, set[int]] = {}
    for a, b in links:
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    directed: set[Arc] = set()
    done, layer = {source}, {source}
    rest: set[Arc] = set()
    while layer:
        following = {v for u in layer for v in neighbours[u]} - done
        directed |= {(u, v) for u in layer for v in neighbours[u] & following}
        inside = {(u, v) for u in following for v in neighbours[u] & following if u < v}
        while inside:
            forced = {
                (u, v)
                for a, b in inside
                for u, v in ((a, b), (b, a))
                if any((w, u) in directed and w not in neighbours[v] for w in neighbours[u])
            }
            if not forced:
                break
            directed |= forced
            inside -= {(min(arc), max(arc)) for arc in forced}
        rest |= inside
        done |= following
        layer = following
    return frozenset(directed), frozenset(rest)
