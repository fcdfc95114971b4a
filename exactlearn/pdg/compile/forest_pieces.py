"""The best forest that pieces of many forests make together.

What a subtree costs depends on nothing above it, because the nodes of its variables depend on the
sets they form with all below (`exactlearn.pdg.compile.set_table`). So whatever way some walk has
met to arrange a set, a variable on top and smaller sets below it, can be used in any forest that
holds the set; a dynamic program over all ways met finds the smallest forest they make.
"""

from collections.abc import Mapping, Sequence

from exactlearn.pdg.compile.forest_moves import Move, Tree

Way = tuple[int, tuple[int, ...]]
"""A top variable, and the sets directly below it."""


class Pieces:
    """All ways met to arrange sets.

    Parameters
    ----------
    cardinalities
        Number of states of each variable.
    """

    def __init__(self, cardinalities: Sequence[int]) -> None:
        self._cardinalities = cardinalities
        self._ways: dict[int, dict[Way, None]] = {}

    def add_tree(self, tree: Tree, variables: Sequence[int]) -> None:
        """Remember all pieces of a forest."""
        for v in variables:
            below = tuple(sorted(tree.inside[c] for c in tree.children[v]))
            self._ways.setdefault(tree.inside[v], {})[v, below] = None

    def add_move(self, tree: Tree, move: Move) -> None:
        """Remember the two pieces that a move makes, before it is done."""
        inside = tree.inside
        lower = tuple(sorted(inside[c] for c in move.below))
        upper = tuple(sorted((move.inside, *(inside[c] for c in move.beside))))
        over = inside[move.top if move.rotates else move.above]
        self._ways.setdefault(move.inside, {})[move.top, lower] = None
        self._ways.setdefault(over, {})[move.above, upper] = None

    def smallest(self, nodes: Mapping[int, int], whole: int, root: int) -> dict[int, int]:
        """Return the parent of each variable in the smallest forest of the pieces.

        Parameters
        ----------
        nodes
            How many nodes each set's top variable needs.
        whole
            The set of all variables.
        root
            Variable that must be the root, or -1.
        """
        best: dict[int, tuple[int, Way]] = {}
        for inside in sorted(self._ways, key=int.bit_count):
            found = [
                (self._cost(inside, way, nodes, best), way)
                for way in self._ways[inside]
                if all(s in best for s in way[1]) and (inside != whole or root in (-1, way[0]))
            ]
            if found:
                best[inside] = min(found, key=lambda pair: pair[0])
        parents: dict[int, int] = {}
        stack = [(whole, -1)]
        while stack:
            inside, above = stack.pop()
            top, below = best[inside][1]
            parents[top] = above
            stack += [(s, top) for s in below]
        return parents

    def _cost(
        self,
        inside: int,
        way: Way,
        nodes: Mapping[int, int],
        best: Mapping[int, tuple[int, Way]],
    ) -> int:
        """Return the effective size of a set's subtree, THESIS (3.52)."""
        top, below = way
        own = self._cardinalities[top] * nodes[inside] * max(1, len(below))
        return own + sum(best[s][0] for s in below)
