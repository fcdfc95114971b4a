"""Markov equivalence of directed acyclic graphs, by index and by name.

Two graphs state the same independences exactly when they have the same adjacencies and the same
v-structures (Verma and Pearl 1990, "Equivalence and synthesis of causal models"). A class is
represented by its completed pattern (CPDAG): arcs that all members share are directed, the others
are not (Chickering 2002, "Learning equivalence classes of Bayesian-network structures").

A consistent extension directs the undirected edges without a directed cycle and without a new
v-structure. It is found from its sinks backwards: a variable may become the last one when no arc
leaves it and each neighbour by an edge is adjacent to all its other adjacencies; then it is removed
with its edges (Dor and Tarsi 1992, "A simple algorithm to construct a consistent extension of a
partially oriented graph").
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, overload

from exactlearn._runtime.arguments import Named, checked_arguments, named_results
from exactlearn._runtime.display import Displayed
from exactlearn._runtime.variable_arguments import Names, ParentsLike, parents_by_index
from exactlearn.errors import OptionError, did_you_mean
from exactlearn.graphs.dag import arcs_by_name, names_or_indices, topological_order
from exactlearn.graphs.partially_directed import (
    Arc,
    Parents,
    PartiallyDirectedGraph,
    as_partially_directed,
    skeleton,
    unordered,
    v_structures,
)

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

Kind = Literal["dag", "pattern", "cpdag"]
NamedArc = tuple[str, str]


@dataclass(frozen=True, repr=False)
class NamedGraph(Displayed, shown="kind variables=names arcs edges"):
    """A graph over named variables.

    Parameters
    ----------
    names
        The variables.
    graph
        Arcs and undirected edges, by index.
    kind
        What the graph is: ``"dag"``, ``"pattern"`` (the arcs of v-structures are directed, others
        are not) or ``"cpdag"``.

    Raises
    ------
    OptionError
        When the graph is not of its kind.

    Examples
    --------
    >>> NamedGraph.of(("a", "b"), [(), (0,)]).as_kind("cpdag").edges
    (('a', 'b'),)
    >>> graph = NamedGraph.linked("abc", [("a", "c"), ("b", "c")], [])
    >>> graph.kind, graph.parents, graph.arcs, graph.index("c")
    ('dag', ((), (), (0, 1)), (('a', 'c'), ('b', 'c')), 2)
    >>> graph.reordered(("c", "b", "a")).arcs
    (('b', 'c'), ('a', 'c'))
    """

    names: tuple[str, ...]
    graph: PartiallyDirectedGraph
    kind: Kind

    def __post_init__(self) -> None:
        """Refuse a graph that is not of its kind."""
        if self.kind == "cpdag":
            check_cpdag(self.graph, self.names)
        elif self.kind == "pattern" and pattern(self.parents) != self.graph:
            raise OptionError(
                "expected a pattern, in which the arcs of v-structures are directed "
                "and no others: write its kind as 'cpdag', or leave it out"
            )
        elif self.kind == "dag" and self.edges:
            a, b = self.edges[0]
            raise OptionError(
                f"expected a DAG, found the undirected edge {a!r} -- {b!r}"
            )
        elif self.kind == "dag":
            # Only an order of the variables proves that there is no cycle; the error
            # shows one.
            topological_order(self.parents, self.names)

    @classmethod
    def of(
        cls, names: Sequence[str], parents: Sequence[Collection[int]]
    ) -> "NamedGraph":
        """Return a directed acyclic graph, given by the parents of each variable."""
        return cls(tuple(names), PartiallyDirectedGraph.of(parents), "dag")

    @classmethod
    def linked(
        cls,
        names: Iterable[str],
        arcs: Iterable[NamedArc],
        edges: Iterable[NamedArc],
        kind: Kind | None = None,
    ) -> "NamedGraph":
        """Return the graph with these arcs and undirected edges.

        Parameters
        ----------
        names
            The variables.
        arcs, edges
            Pairs of names.
        kind
            What the graph must be. A graph without edges is a DAG when left out, another one a
            CPDAG or else a pattern.

        Raises
        ------
        OptionError
            When a name stands twice or is unknown, two variables are joined twice, or the graph is
            not of its kind, or of no kind.
        """
        names = tuple(names)
        arcs = list(arcs)
        edges = list(edges)
        index = {name: k for k, name in enumerate(names)}
        if len(index) < len(names):
            twice = next(name for k, name in enumerate(names) if index[name] > k)
            raise OptionError(
                f"variable {twice!r} stands twice: expected each name once"
            )
        _check_links([*arcs, *edges], index)
        directed = frozenset((index[a], index[b]) for a, b in arcs)
        undirected = frozenset((index[a], index[b]) for a, b in edges)
        graph = PartiallyDirectedGraph(len(names), directed, undirected)
        return cls(names, graph, kind or _kind_of(graph, names))

    @cached_property
    def parents(self) -> Parents:
        """Parents of each variable in a directed acyclic graph of the class: the graph itself."""
        if self.kind == "dag":
            return tuple(tuple(sorted(family)) for family in self.graph.parents)
        extension: Parents = consistent_extension(self.graph, self.names)
        return extension

    @property
    def arcs(self) -> tuple[NamedArc, ...]:
        """The arcs, in the order of the variables."""
        return tuple(map(self._named, sorted(self.graph.directed)))

    @property
    def edges(self) -> tuple[NamedArc, ...]:
        """The undirected edges, in the order of the variables."""
        return tuple(map(self._named, sorted(self.graph.undirected)))

    def index(self, name: str) -> int:
        """Return the index of a variable.

        Raises
        ------
        OptionError
            When there is none of that name.
        """
        if name not in self.names:
            raise OptionError(f"no variable {name!r}{did_you_mean(name, self.names)}")
        return self.names.index(name)

    def as_kind(self, kind: Kind) -> "NamedGraph":
        """Return the pattern or CPDAG of the graph's class, or a DAG of it."""
        if kind == "dag":
            return NamedGraph.of(self.names, self.parents)
        return NamedGraph(
            self.names, {"pattern": pattern, "cpdag": cpdag}[kind](self.parents), kind
        )

    def to_frame(self) -> "pd.DataFrame":
        """Return the arcs as a pandas frame: parent, child; and directed, where there are edges.

        Examples
        --------
        >>> NamedGraph.linked("abc", [("a", "c"), ("b", "c")], []).to_frame()
          parent child
        0      a     c
        1      b     c
        """
        import pandas as pd

        rows = [
            *((*arc, True) for arc in self.arcs),
            *((*edge, False) for edge in self.edges),
        ]
        frame = pd.DataFrame(rows, columns=["parent", "child", "directed"])
        return frame if self.edges else frame.drop(columns="directed")

    def to_networkx(self) -> "nx.DiGraph":
        """Return the graph for networkx, as :meth:`PartiallyDirectedGraph.to_networkx`, by name.

        Examples
        --------
        >>> sorted(NamedGraph.linked("ab", [], [("a", "b")]).to_networkx().edges)
        [('a', 'b'), ('b', 'a')]
        """
        graph = self.graph.to_networkx()
        import networkx as nx

        return nx.relabel_nodes(graph, dict(enumerate(self.names)))

    def reordered(self, names: Sequence[str]) -> "NamedGraph":
        """Return the graph with its variables in another order.

        Raises
        ------
        OptionError
            When the variables are others.
        """
        expected = {*names}
        for name in self.names:
            if name not in expected:
                raise OptionError(f"{name!r} is no variable{did_you_mean(name, names)}")
        # No name is foreign, so that a name too few is the only difference left.
        if lacking := [name for name in names if name not in self.names]:
            raise OptionError(
                f"{len(lacking)} of {len(names)} expected variables are missing, such as "
                f"{lacking[0]!r}"
            )
        return NamedGraph.linked(names, self.arcs, self.edges, self.kind)

    def _named(self, arc: Arc) -> NamedArc:
        return self.names[arc[0]], self.names[arc[1]]


def _check_links(links: Iterable[NamedArc], names: Collection[str]) -> None:
    """Refuse links of unknown variables, of a variable to itself, and of two variables twice."""
    joined: set[frozenset[str]] = set()
    for a, b in links:
        for name in (a, b):
            if name not in names:
                raise OptionError(f"no variable {name!r}{did_you_mean(name, names)}")
        if a == b or frozenset((a, b)) in joined:
            problem = (
                f"two links of {a!r} and {b!r}"
                if a != b
                else f"a link of {a!r} to itself"
            )
            raise OptionError(
                f"found {problem}: expected at most one arc or edge between two variables"
            )
        joined.add(frozenset((a, b)))


def _kind_of(graph: PartiallyDirectedGraph, names: Sequence[str]) -> Kind:
    """Return the kind of a graph; refuse one of no kind."""
    if not graph.undirected:
        return "dag"
    # An extension tells both: its pattern, and its CPDAG; the check names the fault of
    # a graph that is neither.
    member = consistent_extension(graph, names)
    if cpdag(member) != graph == pattern(member):
        return "pattern"
    check_cpdag(graph, names)
    return "cpdag"


class Structured:
    """A network, or a result that has one: its arcs and its graph by name."""

    if TYPE_CHECKING:

        @property
        def names(self) -> tuple[str, ...]:
            """Variable names; none where they are not known."""

        @property
        def parents(self) -> Parents | None:
            """Parents of each variable, by index; ``None`` where no network was found."""

    @property
    def arcs(self) -> tuple[NamedArc, ...]:
        """The arcs by name, (parent, child), by child; none where nothing was found.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.read_network("asia").arcs[:2]
        (('asia', 'tub'), ('smoke', 'lung'))
        """
        return () if self.parents is None else arcs_by_name(self.names, self.parents)

    @property
    def structure(self) -> NamedGraph:
        """The directed acyclic graph with the names of its variables.

        Raises
        ------
        OptionError
            When no network was found.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.read_network("asia").structure.as_kind("cpdag").edges
        (('asia', 'tub'), ('smoke', 'lung'), ('smoke', 'bronc'))
        """
        if self.parents is None:
            raise OptionError(
                "no network was found, so that there is no graph: give more time"
            )
        names = names_or_indices(self.names, self.parents)
        return NamedGraph.of(names, self.parents)

    @property
    def cpdag(self) -> NamedGraph:
        """The completed pattern, by name: what all Markov equivalent networks have in common.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.learn(el.read_dataset("cancer-mcar-complete")).cpdag.edges
        (('Smoker', 'Cancer'), ('Cancer', 'Xray'), ('Cancer', 'Dyspnoea'))
        """
        return self.structure.as_kind("cpdag")

    def to_networkx(self) -> "nx.DiGraph":
        """Return the graph for networkx, with names for nodes.

        Raises
        ------
        MissingExtraError, OptionError
            When networkx is not installed, or no network was found.

        Examples
        --------
        >>> import exactlearn as el
        >>> found = el.learn(el.read_dataset("cancer-mcar-complete"))
        >>> sorted(found.to_networkx().edges) == sorted(found.arcs)
        True
        """
        return self.structure.to_networkx()


class ClassOf(Protocol):
    """Makes a directed acyclic graph its class: by name where the variables have names."""

    @overload
    def __call__(
        self, parents: Sequence[Collection[int]]
    ) -> PartiallyDirectedGraph: ...
    @overload
    def __call__(self, parents: Named) -> "NamedGraph": ...


def named_graph(
    kind: Literal["dag", "pattern", "cpdag"],
) -> Callable[[Any, Sequence[str]], "NamedGraph"]:
    """Return a function that names a graph of a kind, for :func:`named_results`."""

    def by_name(graph: Any, names: Sequence[str]) -> "NamedGraph":
        return NamedGraph(tuple(names), as_partially_directed(graph), kind)

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
    # Both arcs of each v-structure; all other links lose their direction.
    directed = {(p, child) for a, child, b in v_structures(parents) for p in (a, b)}
    undirected = skeleton(parents) - unordered(directed)
    return PartiallyDirectedGraph(len(parents), frozenset(directed), undirected)


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
                _compel(x, child, family, parents, compelled)
    directed = frozenset(arc for arc in compelled if compelled[arc])
    return PartiallyDirectedGraph(
        len(parents), directed, frozenset(compelled) - directed
    )


def _compel(
    x: int,
    child: int,
    family: set[int],
    parents: Sequence[Collection[int]],
    compelled: dict[Arc, bool],
) -> None:
    """Label the arc from the last unlabelled parent, and those that follow from it."""
    # A compelled arc w -> x compels w -> child, or all arcs into a child that w is not adjacent to.
    for w in sorted(parents[x]):
        if not compelled[w, x]:
            continue
        if w not in family:
            compelled.update({(p, child): True for p in family})
            return
        compelled[w, child] = True
    # Another parent that is not adjacent to x makes a v-structure.
    enters = any(z != x and z not in parents[x] for z in family)
    for p in family:
        compelled.setdefault((p, child), enters)


def as_structure(value: Any, name: str, names: Names) -> Any:
    """Return a graph, or the parents of each variable, also of a result or of a named graph.

    Raises
    ------
    ArgumentError, OptionError
        As :func:`~exactlearn._runtime.variable_arguments.parents_by_index`.
    """
    if isinstance(value, PartiallyDirectedGraph):
        return value
    if isinstance(value, NamedGraph) and value.kind != "dag":
        return value.graph if names is None else value.reordered(names).graph
    return parents_by_index(value, name, names)


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
    adjacent = [*map(set, partial.adjacencies)]
    undirected = [*map(set, partial.neighbours)]
    offspring: list[set[int]] = [set() for _ in adjacent]
    for parent, child in partial.directed:
        offspring[parent].add(child)
    parents: list[tuple[int, ...]] = [()] * partial.n_variables
    left = set(range(partial.n_variables))
    waiting = deque(reversed(range(partial.n_variables)))
    while waiting:
        # A variable that may be the last one becomes the child of all that are adjacent to it.
        v = waiting.popleft()
        if (
            v not in left
            or offspring[v]
            or not _makes_no_v_structure(v, adjacent, undirected)
        ):
            continue
        parents[v] = tuple(sorted(adjacent[v]))
        left.remove(v)
        for u in parents[v]:
            for links in (adjacent, undirected, offspring):
                links[u].discard(v)
        waiting.extend(parents[v])
    if left:
        shown = ", ".join(_label(v, names) for v in sorted(left))
        raise OptionError(
            "no directed acyclic graph has these adjacencies, arcs and v-structures: no order of "
            f"the variables {shown} directs their edges without a directed cycle or a "
            "new v-structure; remove or redirect an arc among them"
        )
    return tuple(parents)


def _makes_no_v_structure(
    v: int, adjacent: Sequence[set[int]], undirected: Sequence[set[int]]
) -> bool:
    """Return whether each neighbour of a variable is adjacent to all its other adjacencies."""
    return all(adjacent[v] - {u} <= adjacent[u] for u in undirected[v])


def _label(v: int, names: Sequence[str] | None) -> str:
    """Return a variable in a message: its name, or its index without names."""
    return str(v) if names is None else repr(names[v])


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


def check_cpdag(
    partial: PartiallyDirectedGraph, names: Sequence[str] | None = None
) -> None:
    """Verify that a graph is a CPDAG.

    Raises
    ------
    OptionError
        When it has no consistent extension, or is not the CPDAG of its class; names an edge.
    """
    expected = completed_pattern(partial, names)
    arcs = partial.directed - expected.directed
    edges = partial.undirected - expected.undirected
    if not arcs and not edges:
        return
    a, b = (_label(v, names) for v in min(arcs or edges))
    link = f"the arc {a} -> {b}, which some members of its class reverse"
    if not arcs:
        link = f"the undirected edge {a} -- {b}, which all members of its class direct alike"
    raise OptionError(
        f"expected a CPDAG, found {link}: complete the graph first (completed_pattern)"
    )
