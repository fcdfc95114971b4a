"""Markov equivalence of directed acyclic graphs.

Two graphs state the same independences exactly when they have the same adjacencies and the same
v-structures (Verma and Pearl 1990, "Equivalence and synthesis of causal models"). A class is
represented by its completed pattern (CPDAG): arcs that all members share are directed, the others
are not (Chickering 2002, "Learning equivalence classes of Bayesian-network structures").
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, overload

from exactlearn._runtime.arguments import (
    Named,
    Names,
    ParentsLike,
    checked_arguments,
    named,
    named_results,
    parents_by_index,
)
from exactlearn._runtime.display import Displayed
from exactlearn.errors import MissingExtraError, OptionError
from exactlearn.graphs.dag import topological_order

if TYPE_CHECKING:
    import networkx as nx

    from exactlearn.graphs.named_graph import NamedGraph

Arc = tuple[int, int]
Parents = tuple[tuple[int, ...], ...]
Links = frozenset[Arc]
"""Undirected links, each with the smaller variable first."""


@dataclass(frozen=True, repr=False)
class PartiallyDirectedGraph(Displayed, shown="n_variables arcs=directed edges=undirected"):
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
        known = range(self.n_variables)
        for a, b in (*self.directed, *self.undirected):
            if a == b or a not in known or b not in known:
                raise OptionError(
                    f"found an edge of variables {a} and {b}: expected two different ones from 0 "
                    f"to {self.n_variables - 1}"
                )
        if len(self.skeleton) < len(self.directed) + len(self.undirected):
            raise OptionError("two variables are joined twice: expected one arc or edge at most")

    @classmethod
    def of(cls, parents: Sequence[Collection[int]]) -> "PartiallyDirectedGraph":
        """Return a directed graph, with all its arcs directed."""
        arcs = frozenset((p, child) for child, family in enumerate(parents) for p in family)
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
        found: list[set[int]] = [set() for _ in range(self.n_variables)]
        for parent, child in self.directed:
            found[child].add(parent)
        return tuple(map(frozenset, found))

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
        graph.add_edges_from(sorted(_marks(self)))
        return graph

    @property
    def size(self) -> int:
        """Number of directed acyclic graphs in the class of a CPDAG, which this must be."""
        return prod(_orientations(part) for part in _parts(self.undirected))

    def members(self) -> Iterator[Parents]:
        """Yield the directed acyclic graphs of the class of a CPDAG, which this must be.

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


class ClassOf(Protocol):
    """Makes a directed acyclic graph its class: by name where the variables have names."""

    @overload
    def __call__(self, parents: Sequence[Collection[int]]) -> PartiallyDirectedGraph: ...
    @overload
    def __call__(self, parents: Named) -> "NamedGraph": ...


def named_graph(
    kind: Literal["dag", "pattern", "cpdag"],
) -> Callable[[Any, Sequence[str]], "NamedGraph"]:
    """Return what names a graph of a kind, for :func:`named_results`."""

    def by_name(found: Any, names: Sequence[str]) -> "NamedGraph":
        from exactlearn.graphs.named_graph import NamedGraph  # stands on this module

        graph = found if kind != "dag" else PartiallyDirectedGraph.of(found)
        return NamedGraph(tuple(names), graph, kind)

    return by_name


def _class_of(
    kind: Literal["pattern", "cpdag"],
) -> Callable[[Callable[[Sequence[Collection[int]]], PartiallyDirectedGraph]], ClassOf]:
    named = named_results(named_graph(kind))
    return lambda function: cast(ClassOf, named(checked_arguments()(function)))


@named_results(lambda arcs, names: tuple((names[a], names[b]) for a, b in arcs))
@checked_arguments()
def covered_edges(parents: ParentsLike) -> tuple[tuple[Any, Any], ...]:
    """Return the arcs ``(a, b)`` where b has no other parents than a and those of a, sorted.

    They are pairs of names where the graph's variables have names, else of indices.
    Reversing an arc leads to an equivalent graph exactly when it is covered (Chickering 1995,
    Lemma 1; THESIS Lemma 3.3).

    Examples
    --------
    >>> covered_edges([(), (0,), (0, 1), (2,)])
    ((0, 1), (1, 2))
    """
    return tuple(
        sorted(
            (p, child)
            for child, family in enumerate(parents)
            for p in family
            if set(family) == {p, *parents[p]}
        )
    )


@_class_of("pattern")
def pattern(parents: Sequence[Collection[int]]) -> PartiallyDirectedGraph:
    """Return the pattern of a directed acyclic graph's class: only its v-structures are directed.

    It is a :class:`NamedGraph` where the graph's variables have names. Every class has one pattern
    (THESIS Alg. 3.3), and one completed pattern, :func:`cpdag`, which also directs the arcs that
    follow.

    Raises
    ------
    OptionError
        When the graph has a directed cycle.

    Examples
    --------
    >>> found = pattern([(), (), (0, 1), (2,)])
    >>> sorted(found.directed), sorted(found.undirected)
    ([(0, 2), (1, 2)], [(2, 3)])
    """
    topological_order([tuple(family) for family in parents])
    found = v_structures(parents)
    directed = {(p, child) for a, child, b in found for p in (a, b)}
    rest = skeleton(parents) - unordered(directed)
    return PartiallyDirectedGraph(len(parents), frozenset(directed), rest)


@_class_of("cpdag")
def cpdag(parents: Sequence[Collection[int]]) -> PartiallyDirectedGraph:
    """Return the completed pattern (CPDAG) of a directed acyclic graph's class.

    It is a :class:`NamedGraph` where the graph's variables have names: those of a model, a result
    or a graph by name. The arcs are labelled in an order in which what decides on each comes before
    it (Chickering 1995, "A transformational characterization of equivalent Bayesian network
    structures").

    Raises
    ------
    OptionError
        When the graph has a directed cycle.

    Examples
    --------
    >>> found = cpdag([(), (0,), (1, 3), ()])
    >>> sorted(found.directed), sorted(found.undirected)
    ([(1, 2), (3, 2)], [(0, 1)])
    >>> import exactlearn as el
    >>> cpdag(el.read_network("cancer")).arcs[:2]
    (('Pollution', 'Cancer'), ('Smoker', 'Cancer'))
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
    rest = frozenset(arc for arc, known in compelled.items() if not known)
    return PartiallyDirectedGraph(len(parents), directed, rest)


def as_structure(value: Any, name: str, names: Names) -> Any:
    """Return a graph, or the parents of each variable, also of a result or of a named graph.

    Raises
    ------
    ArgumentError, OptionError
        As :func:`~exactlearn._runtime.arguments.parents_by_index`.
    """
    if isinstance(value, PartiallyDirectedGraph):
        return value
    graph = getattr(value, "graph", None)
    if isinstance(graph, PartiallyDirectedGraph) and value.kind != "dag":  # a NamedGraph
        return value.graph if names is None else value.reordered(names).graph
    return parents_by_index(value, name, names)


@checked_arguments(first=named(as_structure), second=named(as_structure))
def structural_hamming_distance(
    first: ParentsLike | PartiallyDirectedGraph,
    second: ParentsLike | PartiallyDirectedGraph,
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
    one, other = as_partially_directed(first), as_partially_directed(second)
    if one.n_variables != other.n_variables:
        raise OptionError(
            f"the distance of two graphs needs the same variables, found {one.n_variables} and "
            f"{other.n_variables}"
        )
    return len(unordered(_marks(one) ^ _marks(other)))


def as_partially_directed(
    given: Sequence[Collection[int]] | PartiallyDirectedGraph,
) -> PartiallyDirectedGraph:
    """Return a graph given by the parents of each variable, or as it is."""
    return given if isinstance(given, PartiallyDirectedGraph) else PartiallyDirectedGraph.of(given)


def unordered(pairs: Iterable[Arc]) -> Links:
    """Return pairs without their order, the smaller variable first."""
    return frozenset((min(pair), max(pair)) for pair in pairs)


def _adjacent(n_variables: int, pairs: Collection[Arc]) -> tuple[frozenset[int], ...]:
    found: list[set[int]] = [set() for _ in range(n_variables)]
    for a, b in pairs:
        found[a].add(b)
        found[b].add(a)
    return tuple(map(frozenset, found))


def _marks(graph: PartiallyDirectedGraph) -> set[Arc]:
    """Return the arcs, an undirected edge as both."""
    return {*graph.directed, *graph.undirected, *((b, a) for a, b in graph.undirected)}


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
