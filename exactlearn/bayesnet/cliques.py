"""Clique trees: the maximal cliques of a triangulated moral graph, joined into a forest.

Triangulation and the running-intersection property are as in Lauritzen and Spiegelhalter 1988
and in section 3.2.3 of Nielsen's thesis. A spanning tree of the cliques has the
running-intersection property exactly when its separators are as large as possible (Jensen and
Jensen 1994, "Optimal junction trees").
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import prod

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.triangulation import best_elimination_order, maximal_cliques
from exactlearn.errors import CheckError
from exactlearn.graphs.dag import children, moral_graph
from exactlearn.graphs.equivalence import Structured


@dataclass(frozen=True)
class CliqueTree:
    """A forest of cliques.

    Parameters
    ----------
    cliques
        Variables of each clique, in increasing order.
    parent
        Index of each clique's parent; -1 for a root. One root per connected part of the network.
    """

    cliques: tuple[tuple[int, ...], ...]
    parent: tuple[int, ...]

    @property
    def roots(self) -> tuple[int, ...]:
        """The cliques without a parent."""
        return tuple(c for c, p in enumerate(self.parent) if p < 0)

    @cached_property
    def separators(self) -> tuple[tuple[int, ...], ...]:
        """The variables that each clique shares with its parent; empty for a root."""
        separators = []
        for clique, p in zip(self.cliques, self.parent, strict=True):
            above = self.cliques[p] if p >= 0 else ()
            separators.append(tuple(v for v in clique if v in above))
        return tuple(separators)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each clique in increasing order."""
        return children([{p} - {-1} for p in self.parent])

    @cached_property
    def top_down(self) -> tuple[int, ...]:
        """All cliques, parents before their children, one tree after the other."""
        order: list[int] = []
        stack = list(reversed(self.roots))
        while stack:
            order.append(stack.pop())
            stack.extend(reversed(self.children[order[-1]]))
        return tuple(order)

    def size(self, cardinalities: Sequence[int] | NDArray[np.int64]) -> int:
        """Return the effective size: configurations of all cliques (Nielsen, thesis, eq. 3.20).

        Parameters
        ----------
        cardinalities
            Number of states of each variable.
        """
        return sum(self.clique_sizes(cardinalities))

    def clique_sizes(
        self, cardinalities: Sequence[int] | NDArray[np.int64]
    ) -> list[int]:
        """Return the number of configurations of each clique.

        Examples
        --------
        >>> CliqueTree(((0, 1), (1, 2)), (-1, 0)).clique_sizes([2, 3, 4])
        [6, 12]
        """
        sizes = np.asarray(cardinalities).tolist()
        return [prod(sizes[v] for v in clique) for clique in self.cliques]

    def rooted_at(self, clique: int) -> "CliqueTree":
        """Return the same forest with this clique as the root of its tree."""
        # The arcs on the way to the old root are reversed.
        parent = list(self.parent)
        below = -1
        while clique >= 0:
            above = parent[clique]
            parent[clique] = below
            below = clique
            clique = above
        return CliqueTree(self.cliques, tuple(parent))

    @classmethod
    def along(
        cls, parents: Sequence[Collection[int]], order: Sequence[int]
    ) -> "CliqueTree":
        """Return the clique forest of a directed acyclic graph, triangulated along an order.

        Raises
        ------
        OptionError
            When ``order`` does not list every variable once.
        """
        cliques = maximal_cliques(moral_graph(parents), order)
        return cls(cliques, _spanning_forest(cliques, len(parents)))

    def check(self, network: Structured) -> None:
        """Verify that this is a clique forest of a network.

        Parameters
        ----------
        network
            The network, or a result that has one.

        Raises
        ------
        CheckError
            When the parents do not form a forest, a clique lists an unknown variable or lies
            inside another, no clique holds some family, or the cliques of some variable are not
            connected (running-intersection property).
        """
        n_cliques = len(self.cliques)
        if not n_cliques == len(self.parent) == len(self.top_down):
            raise CheckError(f"the clique parents {self.parent} do not form a forest")
        self._check_members(network)
        # In a forest, a set of cliques is connected if it has one arc less than cliques.
        n = len(network.names)
        cliques = np.bincount([*chain(*self.cliques)], minlength=n)
        arcs = np.bincount([*chain(*self.separators)], minlength=n)
        broken = np.flatnonzero(cliques - arcs != 1)
        if len(broken):
            raise CheckError(
                f"the cliques that hold {network.names[broken[0]]!r} are not connected in the "
                "clique tree: the running-intersection property fails"
            )
        # Then a clique inside another lies inside a neighbour.
        for c, p in enumerate(self.parent):
            if p >= 0 and self.separators[c] in (self.cliques[c], self.cliques[p]):
                raise CheckError(
                    f"clique {c} or its parent {p} lies inside the other: merge them"
                )

    def _check_members(self, network: Structured) -> None:
        """Verify that cliques list variables in order, and that one holds each family."""
        for clique in self.cliques:
            if list(clique) != [v for v in range(len(network.names)) if v in clique]:
                raise CheckError(
                    f"clique {clique} is not an increasing list of variables"
                )
        # Each family lies within one clique, where its table is multiplied in.
        members = [*map(frozenset, self.cliques)]
        for v, parents in enumerate(network.parents or ()):
            family = (*parents, v)
            if not any(clique.issuperset(family) for clique in members):
                shown = ", ".join(network.names[u] for u in family)
                raise CheckError(
                    f"no clique holds the family {shown}: triangulate its moral graph"
                )


def clique_tree(
    network: BayesianNetwork,
    order: Sequence[int] | None = None,
    *,
    control: SearchControl = UNLIMITED,
) -> CliqueTree:
    """Return a clique forest of a network.

    Parameters
    ----------
    network
        Any network; its disconnected parts give one tree each.
    order
        Order of elimination; the best of many heuristics when left out
        (:func:`~exactlearn.bayesnet.triangulation.best_elimination_order`).
    control
        Once it is over no further heuristic is tried.

    Raises
    ------
    OptionError
        When ``order`` does not list every variable once.
    """
    if order is None:
        graph = moral_graph(network.parents)
        order = best_elimination_order(graph, network.cardinalities, control=control)
    return CliqueTree.along(network.parents, order)


def _spanning_forest(cliques: Sequence[tuple[int, ...]], n: int) -> tuple[int, ...]:
    """Return the parents in a spanning forest with the largest separators (Prim 1957).

    Among equally large separators the clique that stands first is joined first, to the clique
    of the tree that came first.
    """
    holders: list[list[int]] = [[] for _ in range(n)]
    for c, clique in enumerate(cliques):
        for v in clique:
            holders[v].append(c)
    parent = np.full(len(cliques), -1)
    # The largest separator from the growing tree to each clique; -1 once it is in a tree.
    widest = np.zeros(len(cliques), np.int64)
    for _ in cliques:
        joined = int(widest.argmax())
        widest[joined] = -1
        meeting = [c for v in cliques[joined] for c in holders[v]]
        shared = np.bincount(meeting, minlength=len(cliques))
        better = (shared > widest) & (widest >= 0)
        parent[better] = joined
        widest[better] = shared[better]
    return tuple(parent.tolist())
