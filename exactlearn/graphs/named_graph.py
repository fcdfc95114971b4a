"""A graph with the names of its variables: a directed acyclic graph, a pattern or a CPDAG."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from exactlearn._runtime.display import Displayed
from exactlearn.errors import OptionError, did_you_mean
from exactlearn.graphs.dag import arcs_by_name, topological_order
from exactlearn.graphs.equivalence import Arc, Parents, PartiallyDirectedGraph, cpdag, pattern
from exactlearn.graphs.extension import check_cpdag, consistent_extension

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
            raise OptionError(f"expected a DAG, found the undirected edge {a!r} -- {b!r}")
        elif self.kind == "dag":
            topological_order(self.parents, self.names)

    @classmethod
    def of(cls, names: Sequence[str], parents: Sequence[Collection[int]]) -> "NamedGraph":
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
        names, arcs, edges = tuple(names), list(arcs), list(edges)
        index = {name: k for k, name in enumerate(names)}
        if len(index) < len(names):
            twice = next(name for k, name in enumerate(names) if index[name] > k)
            raise OptionError(f"variable {twice!r} stands twice: expected each name once")
        joined: set[frozenset[str]] = set()
        for a, b in (*arcs, *edges):
            for name in (a, b):
                if name not in index:
                    raise OptionError(f"no variable {name!r}{did_you_mean(name, names)}")
            if a == b or frozenset((a, b)) in joined:
                found = f"two links of {a!r} and {b!r}" if a != b else f"a link of {a!r} to itself"
                raise OptionError(
                    f"found {found}: expected at most one arc or edge between two variables"
                )
            joined.add(frozenset((a, b)))
        directed, undirected = (
            frozenset((index[a], index[b]) for a, b in links) for links in (arcs, edges)
        )
        graph = PartiallyDirectedGraph(len(names), directed, undirected)
        return cls(names, graph, kind or _kind_of(graph, names))

    @cached_property
    def parents(self) -> Parents:
        """Parents of each variable in a directed acyclic graph of the class: the graph itself."""
        if self.kind == "dag":
            return tuple(tuple(sorted(family)) for family in self.graph.parents)
        found: Parents = consistent_extension(self.graph, self.names)
        return found

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

        rows = [*((*arc, True) for arc in self.arcs), *((*edge, False) for edge in self.edges)]
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
        known = {*names}
        for name in self.names:
            if name not in known:
                raise OptionError(f"{name!r} is no variable{did_you_mean(name, names)}")
        if lacking := [name for name in names if name not in self.names]:
            raise OptionError(
                f"{len(lacking)} of {len(names)} expected variables are missing, such as "
                f"{lacking[0]!r}"
            )
        return NamedGraph.linked(names, self.arcs, self.edges, self.kind)

    def _named(self, arc: Arc) -> NamedArc:
        return self.names[arc[0]], self.names[arc[1]]


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
            raise OptionError("no network was found, so that there is no graph: give more time")
        return NamedGraph.of(self.names or [*map(str, range(len(self.parents)))], self.parents)

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


def _kind_of(graph: PartiallyDirectedGraph, names: Sequence[str]) -> Kind:
    """Return what a graph is; refuse one that is nothing."""
    if not graph.undirected:
        return "dag"
    member = consistent_extension(graph, names)
    if cpdag(member) != graph == pattern(member):
        return "pattern"
    check_cpdag(graph, names)
    return "cpdag"
