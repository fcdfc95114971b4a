"""Moves from one forest of variables to another.

A forest is described by the sets that its variables form with all below them. Three moves
lead from any forest to any other, each by a single new set, so that the size of the decision graph
changes by a difference of a few products (THESIS, 3.52):

* a variable takes the place of its parent, which goes below it (the rotation of elimination
  trees) with those of the variable's children that depend on it,
* a variable goes, with all below it, under one of its siblings,
* a variable that does not depend on its parent goes up beside it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from exactlearn.pdg.compile.residuals import mask_of

State = tuple[int, int, set[int], int, int]
"""A variable, its parent, children and set, and the border of the set."""


class Move(NamedTuple):
    """A change of a tree.

    Attributes
    ----------
    above
        Variable directly above the changed set, after the move.
    top
        Top variable of the changed set.
    inside
        The changed set.
    below
        What stands directly below ``top`` after the move.
    beside
        What else stands directly below ``above``.
    rotates
        Whether ``above`` stood below ``top`` before.
    """

    above: int
    top: int
    inside: int
    below: tuple[int, ...]
    beside: tuple[int, ...]
    rotates: bool


class Tree:
    """A forest that moves change in place.

    Parameters
    ----------
    adjacency
        Neighbours of each variable in the moral graph.
    order, parents
        Variables, ancestors first, and the parent of each (-1 for a root).
    """

    def __init__(
        self, adjacency: Sequence[frozenset[int]], order: Sequence[int], parents: Sequence[int]
    ) -> None:
        self._near = [mask_of(sorted(a)) for a in adjacency]
        self.parents = list(parents)
        self.children: list[set[int]] = [set() for _ in parents]
        self.inside = [1 << v for v in range(len(parents))]
        self._border = list(self._near)
        for v in reversed(order):
            if parents[v] >= 0:
                self.children[parents[v]].add(v)
                self.inside[parents[v]] |= self.inside[v]
                self._border[parents[v]] |= self._border[v]
        for v in order:
            self._border[v] &= ~self.inside[v]

    def rotation(self, v: int) -> Move | None:
        """Return the move of a variable to its parent's place."""
        p = self.parents[v]
        if p < 0:
            return None
        bit = 1 << p
        with_parent = {e for e in self.children[v] if self._border[e] & bit}
        beside = self.children[v] - with_parent
        inside = self.inside[p] ^ (1 << v)
        for e in beside:
            inside ^= self.inside[e]
        below = (self.children[p] | with_parent) - {v}
        return Move(v, p, inside, tuple(sorted(below)), tuple(sorted(beside)), True)

    def sinking(self, v: int, sibling: int) -> Move | None:
        """Return the move of a variable under one of its siblings."""
        p = self.parents[v]
        if p < 0 or self.parents[sibling] != p or v == sibling:
            return None
        below = self.children[sibling] | {v}
        beside = self.children[p] - {v, sibling}
        inside = self.inside[sibling] | self.inside[v]
        return Move(p, sibling, inside, tuple(sorted(below)), tuple(sorted(beside)), False)

    def rising(self, v: int) -> Move | None:
        """Return the move of a variable up beside its parent, if it does not depend on it."""
        q = self.parents[v]
        p = self.parents[q] if q >= 0 else -1
        if p < 0 or self._border[v] >> q & 1:
            return None
        below = self.children[q] - {v}
        beside = self.children[p] - {q} | {v}
        inside = self.inside[q] ^ self.inside[v]
        return Move(p, q, inside, tuple(sorted(below)), tuple(sorted(beside)), False)

    def apply(self, move: Move) -> list[State]:
        """Change the forest; return what `restore` takes to undo it."""
        above, top = move.above, move.top
        over = self.parents[top] if move.rotates else -1
        involved = {above, top, *move.below, *move.beside} | ({over} if over >= 0 else set())
        before = [
            (v, self.parents[v], self.children[v], self.inside[v], self._border[v])
            for v in involved
        ]
        if move.rotates:
            self.parents[above] = over
            if over >= 0:
                self.children[over] = self.children[over] ^ {above, top}
            self.inside[above], self._border[above] = self.inside[top], self._border[top]
        for child in move.below:
            self.parents[child] = top
        for child in (*move.beside, top):
            self.parents[child] = above
        self.children[top] = set(move.below)
        self.children[above] = {*move.beside, top}
        self.inside[top] = move.inside
        border = self._near[top]
        for child in move.below:
            border |= self._border[child]
        self._border[top] = border & ~move.inside
        return before

    def restore(self, states: list[State]) -> None:
        """Undo one change: the last one that is not undone yet."""
        for v, parent, children, inside, border in states:
            self.parents[v], self.children[v] = parent, children
            self.inside[v], self._border[v] = inside, border
