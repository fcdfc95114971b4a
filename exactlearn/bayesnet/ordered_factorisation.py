"""Ordered factorisations: distributions as sums and products of those of available cases.

The rules are those of Mohan, Pearl and Tian 2013, "Graphical models for inference with missing
data": a sum over more variables, a chain of two distributions, or a joint distribution that is
conditioned; see ``docs/theory/recoverability.md``.
"""

from collections.abc import Iterator
from itertools import combinations

from exactlearn.bayesnet.estimands import Chained, Conditioned, Summed, Tree
from exactlearn.bayesnet.indexed_missingness import IndexedGraph, Indices


class FactorisationSearch:
    """A search for ordered factorisations, with what it has found.

    Parameters
    ----------
    graph
        The graph, with the limits of the search.
    wide
        Whether sums over any small sets of variables are tried, not only over causes.
    """

    def __init__(self, graph: IndexedGraph, *, wide: bool) -> None:
        self.graph, self.wide = graph, wide
        self.tests = 0
        self.known: dict[tuple[Indices, Indices, int], Tree | None] = {}

    @property
    def is_over(self) -> bool:
        """Whether the limit of tests is reached."""
        return self.tests > self.graph.limits.tests

    def tree(self, variables: Indices, given: Indices, depth: int) -> Tree | None:
        """Return an ordered factorisation with sums, if the search finds one."""
        key = (variables, given, depth)
        if key not in self.known:
            self.known[key] = self._new_tree(variables, given, depth)
        return self.known[key]

    def _new_tree(self, variables: Indices, given: Indices, depth: int) -> Tree | None:
        if self.is_over or self.graph.is_too_large(variables | given):
            return None
        self.tests += 1
        if (found := self.graph.available(variables, given)) is not None or depth == 0:
            return found
        for over in self._sums(variables, given):
            if self.is_over:
                return None
            if self.graph.is_too_large(variables | given | over):
                continue
            self.tests += 1
            inner = self.graph.available(variables, given | over)
            outer = inner and self.tree(over, given, depth - 1)
            if inner is not None and outer is not None:
                return Summed(self.graph.sorted(over), inner, outer)
        for v in sorted(variables) if len(variables) > 1 else ():
            rest = variables - {v}
            first = self.tree(frozenset({v}), given | rest, depth - 1)
            second = first and self.tree(rest, given, depth - 1)
            if first is not None and second is not None:
                return Chained(first, second)
        joint = self.tree(variables | given, frozenset(), depth - 1) if given else None
        return joint and Conditioned(self.graph.sorted(variables), joint)

    def _sums(self, variables: Indices, given: Indices) -> Iterator[Indices]:
        """Yield sets of variables to sum over: the causes of indicators, then any small sets."""
        known, lacking = variables | given, self.graph.incomplete(variables | given)
        causes = frozenset(self.graph.all_causes(lacking) - known)
        if causes:
            yield causes
        if self.wide:
            pool = sorted(self.graph.ancestors(known, lacking) - known)
            for size in range(1, self.graph.limits.separator + 1):
                yield from map(frozenset, combinations(pool, size))
