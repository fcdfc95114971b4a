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

from exactlearn._runtime.arguments import ParentsLike, checked_arguments, named, named_results
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
    others
        T of an insertion, H of a deletion.
    """

    tail: int
    head: int
    others: frozenset[int]


class BoundarySize(NamedTuple):
    """Number of classes in the inclusion boundary.

    Parameters
    ----------
    upper, lower
        Classes with one edge more, and with one edge less.
    """

    upper: int
    lower: int

    @property
    def total(self) -> int:
        """Number of all classes in the boundary."""
        return self.upper + self.lower


@named_results(lambda found, names: (NamedGraph.of(names, parents) for parents in found))
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
    own = _cpdag_of(parents)
    for operator in insertions(own):
        yield consistent_extension(inserted(own, operator))
    for operator in deletions(own):
        yield consistent_extension(deleted(own, operator))


@checked_arguments(parents=named(as_structure))
def inclusion_boundary_size(
    parents: ParentsLike | PartiallyDirectedGraph,
) -> BoundarySize:
    """Return the number of classes in the inclusion boundary, without building their graphs.

    Raises
    ------
    OptionError
        As :func:`inclusion_boundary`.

    Examples
    --------
    >>> inclusion_boundary_size([(), (0,), ()])
    BoundarySize(upper=4, lower=1)
    """
    links = _Links(_cpdag_of(parents))
    upper = 0
    for pair in _joinable(links):
        own_way = (1 for t in _cliques(pair.joint, links.adjacent) if links.blocks(pair, t))
        upper += _n_cliques(pair.joint, links.adjacent) if pair.is_free else sum(own_way)
        upper -= _is_mirror_image(pair, links)
    lower = sum(_n_cliques(common, links.adjacent) for _, _, common in _removable(links))
    return BoundarySize(upper, lower)


def insertions(own: PartiallyDirectedGraph) -> Iterator[Operator]:
    """Yield the valid insertions of a CPDAG, one for each class in the upper boundary."""
    links = _Links(own)
    for pair in _joinable(links):
        is_image = _is_mirror_image(pair, links)
        for chosen in _cliques(pair.joint, links.adjacent):
            if links.blocks(pair, chosen) and (chosen or not is_image):
                yield Operator(pair.x, pair.y, chosen)


def deletions(own: PartiallyDirectedGraph) -> Iterator[Operator]:
    """Yield the valid deletions of a CPDAG, one for each class in the lower boundary."""
    links = _Links(own)
    for x, y, common in _removable(links):
        for kept in _cliques(common, links.adjacent):
            yield Operator(x, y, common - kept)


def inserted(own: PartiallyDirectedGraph, operator: Operator) -> PartiallyDirectedGraph:
    """Return the graph after a valid insertion; its consistent extensions are the new class."""
    x, y, others = operator
    arcs = {(t, y) for t in others}
    return PartiallyDirectedGraph(
        own.n_variables, own.directed | arcs | {(x, y)}, own.undirected - unordered(arcs)
    )


def deleted(own: PartiallyDirectedGraph, operator: Operator) -> PartiallyDirectedGraph:
    """Return the graph after a valid deletion; its consistent extensions are the new class."""
    x, y, others = operator
    arcs = {(v, h) for v in (x, y) for h in others}
    return PartiallyDirectedGraph(
        own.n_variables,
        (own.directed | arcs) - {(x, y)},
        own.undirected - unordered({*arcs, (x, y)}),
    )


def _cpdag_of(
    given: Sequence[Collection[int]] | PartiallyDirectedGraph,
) -> PartiallyDirectedGraph:
    if isinstance(given, PartiallyDirectedGraph):
        check_cpdag(given)
        return given
    return cpdag(given)


class _Pair(NamedTuple):
    """Two variables to join: ``NA(y, x)``, the candidates for T, and whether any T is valid."""

    x: int
    y: int
    common: frozenset[int]
    joint: frozenset[int]
    is_free: bool


class _Links:
    """What each variable of a CPDAG is linked with."""

    def __init__(self, own: PartiallyDirectedGraph) -> None:
        self.own = own
        self.adjacent, self.neighbours, self.parents = own.adjacencies, own.neighbours, own.parents
        self.onward = [a - b for a, b in zip(self.adjacent, self.parents, strict=True)]

    def common(self, x: int, y: int) -> frozenset[int]:
        """Return ``NA(y, x)``."""
        return self.neighbours[y] & self.adjacent[x]

    def reached(self, start: int, avoided: Collection[int] = ()) -> set[int]:
        """Return the variables on semi-directed paths from one that avoid others."""
        found, waiting = {start}, [start]
        while waiting:
            new = self.onward[waiting.pop()] - found
            new = new.difference(avoided)
            found |= new
            waiting += new
        return found

    def blocks(self, pair: _Pair, chosen: frozenset[int]) -> bool:
        """Tell whether ``NA(y, x)`` and T meet every semi-directed path from y to x."""
        if pair.is_free or not chosen:
            return pair.is_free
        return pair.x not in self.reached(pair.y, pair.common | chosen)


def _joinable(links: _Links) -> Iterator[_Pair]:
    """Yield each ordered pair that is not adjacent and whose ``NA(y, x)`` is a clique."""
    adjacent = links.adjacent
    for y, near in enumerate(adjacent):
        reached = links.reached(y)
        for x in sorted(set(range(len(adjacent))) - near - {y}):
            common = links.common(x, y)
            if not _is_clique(common, adjacent):
                continue
            joint = {t for t in links.neighbours[y] - common if common <= adjacent[t]}
            is_free = x not in reached or bool(common and x not in links.reached(y, common))
            yield _Pair(x, y, common, frozenset(joint), is_free)


def _is_mirror_image(pair: _Pair, links: _Links) -> bool:
    """Tell whether ``Insert(y, x, {})`` is listed already and leads to the class of this one."""
    x, y = pair.x, pair.y
    if not (pair.is_free and y < x):
        return False
    if not (links.parents[y] <= links.adjacent[x] and links.parents[x] <= links.adjacent[y]):
        return False
    common = links.common(y, x)
    return _is_clique(common, links.adjacent) and y not in links.reached(x, common)


def _removable(links: _Links) -> Iterator[tuple[int, int, frozenset[int]]]:
    """Yield each arc and each edge ``x, y`` with ``NA(y, x)``."""
    for x, y in sorted(links.own.directed | links.own.undirected):
        yield x, y, links.common(x, y)


def _is_clique(variables: frozenset[int], adjacent: Sequence[frozenset[int]]) -> bool:
    return all(variables - {v} <= adjacent[v] for v in variables)


def _cliques(
    variables: Collection[int], adjacent: Sequence[frozenset[int]]
) -> Iterator[frozenset[int]]:
    """Yield the cliques among some variables, the empty one included."""
    yield frozenset()
    left = set(variables)
    for v in sorted(variables):
        left.remove(v)
        for rest in _cliques(left & adjacent[v], adjacent):
            yield rest | {v}


def _n_cliques(variables: Collection[int], adjacent: Sequence[frozenset[int]]) -> int:
    """Count the cliques among variables that undirected edges of a CPDAG join to another one.

    These edges are chordal, so that some variable's neighbours are a clique.
    """
    left, count = frozenset(variables), 1
    while left:
        v = next(v for v in left if _is_clique(left & adjacent[v], adjacent))
        left -= {v}
        count += 2 ** len(left & adjacent[v])
    return count
