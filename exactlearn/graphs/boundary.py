"""The inclusion boundary of a graph's model: the equivalence classes one step away from it.

A class is in the boundary when its model includes that of the graph, or is included in it, with no
other model between them (THESIS Def. 3.11). These are the classes that some member of the graph's
class leads to by one arc more or less (Castelo and Kočka 2003, "On inclusion-driven learning of
Bayesian networks", Theorem 3.2; THESIS Theorem 3.4). They are enumerated without the members, by
the valid operators on the CPDAG (Chickering 2002, "Optimal structure identification with greedy
search", Theorems 15 and 17):

========================  ==============================================================
``NA(y, x)``              neighbours of y by undirected edges that are adjacent to x
``Insert(x, y, T)``       adds ``x -> y`` and directs ``t -> y`` for t in T; valid when
                          ``NA(y, x)`` and T together are a clique that every
                          semi-directed path from y to x passes
``Delete(x, y, H)``       removes the edge of x and y and directs ``y -> h`` and
                          ``x -> h`` for h in H, a part of ``NA(y, x)``; valid when the
                          rest of ``NA(y, x)`` is a clique
========================  ==============================================================

Two operators lead to one class only where both join or part the same two variables from the other
end: the two insertions with empty T that make no v-structure with the new arc, and the two
deletions of an undirected edge with the same H (proof in ``docs/theory/equivalence.md``). Of these,
the first is listed.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from exactlearn._runtime.arguments import checked_arguments, named, named_results
from exactlearn._runtime.variable_arguments import ParentsLike
from exactlearn.graphs.equivalence import (
    NamedGraph,
    as_structure,
    check_cpdag,
    consistent_extension,
    cpdag,
)
from exactlearn.graphs.partially_directed import PartiallyDirectedGraph, unordered


class Operator(NamedTuple):
    """An insertion, or a deletion, of an edge of a CPDAG.

    Parameters
    ----------
    tail, head
        The two variables, x and y of the module's table.
    clique
        ``NA(y, x)`` and T of an insertion, ``NA(y, x)`` without H of a deletion: a bit mask.
    inserts
        Which of the two it is.
    """

    tail: int
    head: int
    clique: int
    inserts: bool


@named_results(
    lambda graphs, names: (NamedGraph.of(names, parents) for parents in graphs)
)
@checked_arguments(parents=named(as_structure))
def inclusion_boundary(
    parents: ParentsLike | PartiallyDirectedGraph,
) -> Iterator[Any]:
    """Yield a directed acyclic graph of each class in the inclusion boundary, the upper ones first.

    It is the parents of each variable; a :class:`NamedGraph` where the graph's variables have
    names.

    Parameters
    ----------
    parents
        Parents of each variable, or the CPDAG of the class.

    Raises
    ------
    OptionError
        When the graph has a directed cycle, or a partially directed graph is no CPDAG.

    Examples
    --------
    >>> list(inclusion_boundary([(), ()]))
    [((), (0,))]
    """
    links = ClassLinks(_cpdag_of(parents))
    for operator in operators(links):
        yield consistent_extension(links.after(operator))


def operators(links: "ClassLinks") -> Iterator[Operator]:
    """Yield a valid operator for each class in the boundary, the insertions first."""
    for x, y in links.separate:
        for clique in links.insertions(x, y):
            if links.is_valid(x, y, clique) and not links.is_mirror_image(x, y, clique):
                yield Operator(x, y, clique, inserts=True)
    for x, y in links.joined:
        for clique in links.deletions(x, y):
            yield Operator(x, y, clique, inserts=False)


def _cpdag_of(
    given: Sequence[Collection[int]] | PartiallyDirectedGraph,
) -> PartiallyDirectedGraph:
    """Return the CPDAG of a directed acyclic graph, or a CPDAG as it is."""
    if isinstance(given, PartiallyDirectedGraph):
        check_cpdag(given)
        return given
    return cpdag(given)


class ClassLinks:
    """The links of each variable of a CPDAG: sets of variables are bit masks.

    Parameters
    ----------
    graph
        The CPDAG.

    Attributes
    ----------
    parents, neighbours, adjacent
        Of each variable: parents, variables that an undirected edge joins to it, and all that are
        joined to it.
    onward
        Where a semi-directed path may go on from each variable.
    """

    def __init__(self, graph: PartiallyDirectedGraph) -> None:
        self.graph = graph
        self.parents = [0] * graph.n_variables
        self.neighbours = [0] * graph.n_variables
        self.onward = [0] * graph.n_variables
        # Sets of variables are bit masks: most of the work is intersections.
        for a, b in graph.directed:
            self.parents[b] |= 1 << a
            self.onward[a] |= 1 << b
        for a, b in graph.undirected:
            self.neighbours[a] |= 1 << b
            self.neighbours[b] |= 1 << a
        self.onward = [a | b for a, b in zip(self.onward, self.neighbours, strict=True)]
        self.adjacent = [a | b for a, b in zip(self.onward, self.parents, strict=True)]

    @property
    def separate(self) -> Iterator[tuple[int, int]]:
        """Each ordered pair of variables that no edge joins."""
        n = len(self.adjacent)
        pairs = ((x, y) for y in range(n) for x in range(n) if x != y)
        return ((x, y) for x, y in pairs if not self.adjacent[x] >> y & 1)

    @property
    def joined(self) -> list[tuple[int, int]]:
        """Each arc, and each undirected edge once."""
        return sorted(self.graph.directed | self.graph.undirected)

    def common(self, x: int, y: int) -> int:
        """Return ``NA(y, x)``."""
        return self.neighbours[y] & self.adjacent[x]

    def insertions(self, x: int, y: int) -> Iterator[int]:
        """Yield ``NA(y, x)`` with each T that makes it a clique."""
        # NA(y, x) and T together must be a clique (Chickering 2002, Theorem 15).
        common = self.common(x, y)
        if self._is_clique(common):
            yield from self._cliques(common, self._addable(x, y))

    def deletions(self, x: int, y: int) -> Iterator[int]:
        """Yield each clique in ``NA(y, x)``: what remains of it without H."""
        yield from self._cliques(0, self.common(x, y))

    def is_valid(self, x: int, y: int, clique: int) -> bool:
        """Tell whether a set meets every semi-directed path from y to x."""
        return not self.reached(y, clique) >> x & 1

    def reached(self, start: int, avoided: int) -> int:
        """Return the variables on semi-directed paths from one that avoid others."""
        reached = waiting = 1 << start
        while waiting:
            v = waiting.bit_length() - 1
            waiting ^= 1 << v
            # A semi-directed path goes along arcs and undirected edges, never against
            # an arc.
            new = self.onward[v] & ~reached & ~avoided
            reached |= new
            waiting |= new
        return reached

    def is_plain(self, x: int, y: int, clique: int) -> bool:
        """Tell whether an insertion adds no v-structure: x is joined to all other parents of y."""
        return not (self.parents[y] | clique) & ~self.adjacent[x]

    def is_mirror_image(self, x: int, y: int, clique: int) -> bool:
        """Tell whether the insertion of y -> x is listed before and leads to the same class."""
        mirrored = self.common(y, x)  # with an empty T
        return (
            y < x
            and self.is_plain(x, y, clique)
            and self.is_plain(y, x, mirrored)
            and self._is_clique(mirrored)
            and self.is_valid(y, x, mirrored)
        )

    def after(self, operator: Operator) -> PartiallyDirectedGraph:
        """Return the graph after a valid operator; its consistent extensions are the new class."""
        x, y, clique, inserts = operator
        graph = self.graph
        common = self.common(x, y)
        # The arcs that the operator directs, from T and the new one, or to H.
        if inserts:
            arcs = {(t, y) for t in members(clique & ~common)} | {(x, y)}
            directed = graph.directed | arcs
        else:
            arcs = {(v, h) for h in members(common & ~clique) for v in (x, y)}
            directed = (graph.directed | arcs) - {(x, y)}
        undirected = graph.undirected - unordered({*arcs, (x, y)})
        return PartiallyDirectedGraph(graph.n_variables, directed, undirected)

    def _addable(self, x: int, y: int) -> int:
        """Return the neighbours of y that T may hold."""
        addable = self.neighbours[y] & ~self.adjacent[x]
        # T joins NA(y, x) to a clique: its members are adjacent to all of it.
        for v in members(self.common(x, y)):
            addable &= self.adjacent[v]
        return addable

    def _is_clique(self, variables: int) -> bool:
        return all(
            not variables & ~(1 << v) & ~self.adjacent[v] for v in members(variables)
        )

    def _cliques(self, clique: int, candidates: int) -> Iterator[int]:
        """Yield a clique with each clique among candidates that are adjacent to all of it."""
        yield clique
        for v in members(candidates):
            candidates ^= 1 << v  # each clique once, by its lowest candidate first
            yield from self._cliques(clique | 1 << v, candidates & self.adjacent[v])


def members(variables: int) -> Iterator[int]:
    """Yield the variables of a bit mask in increasing order."""
    while variables:
        lowest = variables & -variables
        yield lowest.bit_length() - 1
        variables ^= lowest
