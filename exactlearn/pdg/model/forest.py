"""Forests of variables as arrays of parent numbers, made from orders, and orders from clique trees.

Eliminating the variables of a moral graph in the reverse of an order leaves each variable with a
context: the variables before it that separate its subtree from all others. Its forest parent is
the last of them, at first. A decision graph over that forest needs at most one node of a variable
for each configuration of its context (THESIS, section 4.6: new(C) of a clique makes a chain below
the variables it shares with the clique above).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn.bayesnet.cliques import CliqueTree
from exactlearn.data.codes import as_array
from exactlearn.errors import CheckError, DataError


def forest_children(forest: NDArray[np.int32]) -> tuple[tuple[int, ...], ...]:
    """Return the children of each variable of a forest of parent numbers, in variable order."""
    children: list[list[int]] = [[] for _ in forest]
    for variable, parent in enumerate(forest.tolist()):
        if parent >= 0:
            children[parent].append(variable)
    return tuple(map(tuple, children))


def forest_order(forest: NDArray[np.int32]) -> tuple[int, ...]:
    """Return the variables of a forest, each before its descendants (depth first).

    Raises
    ------
    CheckError
        If a parent number is out of range or the parents form a cycle.
    """
    n = len(forest)
    for variable in np.flatnonzero((forest < -1) | (forest >= n)).tolist():
        raise CheckError(
            f"variable {variable}: forest parent {forest[variable]} is not in -1..{n}"
        )
    children = forest_children(forest)
    order: list[int] = []
    stack: list[int] = np.flatnonzero(forest < 0)[::-1].tolist()
    while stack:
        variable = stack.pop()
        order.append(variable)
        stack.extend(reversed(children[variable]))
    if len(order) < n:
        # Variables on a cycle are below no root, so that the stack never holds them.
        in_cycles = sorted(set(range(n)) - set(order))
        raise CheckError(f"the forest has a cycle among variables {in_cycles}")
    return tuple(order)


def checked_forest(forest: ArrayLike, n_variables: int) -> NDArray[np.int32]:
    """Return the parents of a forest of so many variables.

    Raises
    ------
    DataError
        If there is not one parent for each variable.
    CheckError
        If they form no forest.
    """
    parents = as_array(forest, np.int32, "forest")
    if parents.shape != (n_variables,):
        raise DataError(
            f"a forest of shape ({n_variables},) was expected, one parent or -1 for each variable;"
            f" got {parents.shape}"
        )
    forest_order(parents)
    return parents


@dataclass(frozen=True)
class VariableForest:
    """A forest of variables with what each depends on.

    Parameters
    ----------
    order
        The variables, ancestors first; perhaps only those of one connected part.
    contexts
        For each variable (by number, not place), its context in that order. Variables outside
        the order have none.
    parents
        Forest parent of each variable, -1 for a root; its context and itself hold the contexts
        of its children.
    """

    order: tuple[int, ...]
    contexts: tuple[tuple[int, ...], ...]
    parents: tuple[int, ...]

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Forest children of each variable, in variable order."""
        return forest_children(np.array(self.parents, np.int32))

    @cached_property
    def inside(self) -> tuple[int, ...]:
        """Each variable with all below it in the forest, a bit mask."""
        inside = [1 << v for v in range(len(self.parents))]
        for v in reversed(self.order):
            if self.parents[v] >= 0:
                inside[self.parents[v]] |= inside[v]
        return tuple(inside)

    def expanded_size(self, cardinalities: Sequence[int]) -> int:
        """Return the effective size with a node per context configuration (THESIS, 3.52).

        Parameters
        ----------
        cardinalities
            Number of states of each variable.
        """
        size = 0
        for v in self.order:
            states = prod(cardinalities[u] for u in (*self.contexts[v], v))
            size += states * max(1, len(self.children[v]))
        return size


def forest_over(
    adjacency: Sequence[frozenset[int]],
    parents: Sequence[int],
    part: Sequence[int],
) -> VariableForest:
    """Return a tree given by its parents, with the context of each variable.

    Raises
    ------
    CheckError
        If the parents are no forest, or a variable of the part and one next to it in the moral
        graph do not stand one above the other.
    """
    inside = set(part)
    order = [v for v in forest_order(np.array(parents, np.int32)) if v in inside]
    return variable_forest(adjacency, order, parents)


def variable_forest(
    adjacency: Sequence[frozenset[int]] | Sequence[set[int]],
    order: Sequence[int],
    parents: Sequence[int] | None = None,
) -> VariableForest:
    """Return the elimination forest of a graph, eliminating ``order`` from its end.

    Parameters
    ----------
    adjacency
        Neighbours of each variable in the moral graph.
    order
        All variables, or those of one connected part, roots first.
    parents
        The forest's parents; left out, the nearest ones that are possible.

    Raises
    ------
    CheckError
        As `forest_over`.
    """
    # A neighbour that is no part of the order counts as above all: no given root may have any.
    place = [-1] * len(adjacency)
    above: dict[int, set[int]] = {}
    below = set(order)
    for i, v in enumerate(order):
        place[v] = i
        below.discard(v)
        above[v] = set(adjacency[v] - below)
    contexts: list[tuple[int, ...]] = [()] * len(adjacency)
    parent_of = [-1] * len(adjacency) if parents is None else list(parents)
    for variable in reversed(order):
        context = tuple(sorted(above[variable], key=place.__getitem__))
        contexts[variable] = context
        if parents is None and context:
            parent_of[variable] = context[-1]
        parent = parent_of[variable]
        # What stands beside the parent, and not above it, is never met on the way to the root.
        if context and (parent < 0 or place[parent] < place[context[-1]]):
            raise CheckError(
                f"variables {context[-1]} and {variable}, or one below it, belong to one family,"
                " but neither stands above the other in the forest"
            )
        if parent >= 0:
            above[parent].update(above[variable] - {parent})
    return VariableForest(tuple(order), tuple(contexts), tuple(parent_of))


def components(adjacency: Sequence[frozenset[int]]) -> list[tuple[int, ...]]:
    """Return the connected components of a graph, each in increasing order."""
    parts: list[tuple[int, ...]] = []
    unseen = set(range(len(adjacency)))
    while unseen:
        part = {min(unseen)}
        stack = list(part)
        while stack:
            neighbours = adjacency[stack.pop()] - part
            part |= neighbours
            stack.extend(neighbours)
        unseen -= part
        parts.append(tuple(sorted(part)))
    return parts


def clique_orders(
    tree: CliqueTree,
    cardinalities: Sequence[int],
    component: Sequence[int],
) -> list[tuple[int, ...]]:
    """Return orders of a component's variables, each with another clique of the tree as its root.

    Within a clique the new variables stand so that those which more other cliques hold come
    first, then those with fewer states: separators near the top have few configurations.
    """
    members = set(component)
    cliques = [i for i, c in enumerate(tree.cliques) if members.issuperset(c)]
    n_cliques = Counter(v for i in cliques for v in tree.cliques[i])
    rank = {v: (-n_cliques[v], cardinalities[v], v) for v in component}
    return [_top_down(tree.rooted_at(i), members, rank) for i in cliques]


def _top_down(
    tree: CliqueTree,
    members: set[int],
    rank: dict[int, tuple[int, int, int]],
) -> tuple[int, ...]:
    """List the new variables of each clique (THESIS, 4.55), from the root down."""
    order: dict[int, None] = {}
    for clique in tree.top_down:
        new = [v for v in tree.cliques[clique] if v in members and v not in order]
        order.update(dict.fromkeys(sorted(new, key=rank.__getitem__)))
    return tuple(order)
