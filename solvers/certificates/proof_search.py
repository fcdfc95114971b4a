"""Branch and bound that ends in a proof: nodes are leaves when their exact bound is low enough.

A problem is relaxed; candidates that take part in nothing better than the network known are
dropped; what is left is split into its strongly connected parts; a part that is not done by then is
branched on arcs, the node of highest bound first, the arc by trying a few (strong branching). When
time or nodes run out, open nodes are leaves with the bounds they have.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from heapq import heappop, heappush
from math import prod
from operator import or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl

from ..components import strong_components
from ..lp.relaxation import Relaxed
from .certificate import (
    DENOMINATOR,
    Arc,
    Cluster,
    Fix,
    Leaf,
    Node,
    Pairs,
    Split,
    leaf,
    left,
    members_of,
)
from .checker import Problem, placeable
from .proof_piece import Piece

SHRUNK = 0.9
"""Share of its candidates that a part must lose for its relaxation to be solved again."""

FIXED = 0.8
"""Share of its candidates that a node of the tree must lose for that to be written down."""

LEAST_SIDE = 1e-6
"""Share of the gap that a side of a branching counts as closing, at least."""

PENDING = Leaf(0)
"""Stands where a node of the tree will be put."""


@dataclass
class Open:
    """A node of the tree as long as it is not known what becomes of it.

    Parameters
    ----------
    problem
        Candidates left.
    pairs
        Multipliers for them.
    put
        Takes the finished node to where it belongs in the tree; called again, it replaces it.
    known
        The leaf of the node before it, whose multipliers bound what is left of it, too.
    """

    problem: Problem
    pairs: Pairs
    put: Callable[[Node], None]
    known: Leaf


@dataclass
class Proof:
    """Proves bounds on problems whose best known selection is given.

    Parameters
    ----------
    grid
        Least common denominator of the scores.
    chosen, known
        Parents, as bits, of each variable in the best selection known, and the scores of those
        parent sets in multiples of ``1 / grid``.
    control
        Ends the proof between linear programs, with the bounds so far.
    nodes_left
        Nodes that may still be branched on.
    tolerance
        Slack granted only because linear programs are solved in floating point.
    """

    grid: int
    chosen: Sequence[int]
    known: Sequence[int]
    control: SearchControl
    nodes_left: int
    tolerance: int = 0

    def prove(self, problem: Problem, slack: int, clusters: Sequence[Cluster]) -> Node:
        """Return a node for a problem, its bound at most ``slack`` above the known score if it can.

        Parameters
        ----------
        problem
            Candidates of each variable.
        slack
            How far above the known score the bound may stay, in multiples of ``1 / grid``.
        clusters
            Clusters that may help.
        """
        score = sum(self.known[v] for v in problem)
        if not placeable(problem):
            return Leaf(score + slack)
        parts = strong_parts(problem)
        if parts == [tuple(problem)]:
            return self._part(problem, score, slack, clusters)
        share = slack // max(1, len(parts))
        others = sum(
            max(s for s, _ in own) // DENOMINATOR
            for v, own in problem.items()
            if not any(v in part for part in parts)
        )
        proven = [(part, self.prove(restricted(problem, part), share, clusters)) for part in parts]
        return Split(proven, others)

    def _part(self, problem: Problem, score: int, slack: int, clusters: Sequence[Cluster]) -> Node:
        """Relax a strongly connected problem; drop candidates and begin again, or branch."""
        if self.control.is_over:
            return leaf(problem, (), self.grid, score + slack)
        piece = Piece(problem, self.grid, self.chosen, clusters, self.control)
        pairs = piece.root(self.aim(score, slack))
        first = leaf(problem, pairs, self.grid, score + slack)
        if first.bound <= score + slack or self.ends():
            return first
        near = left(problem, pairs, self.grid, score - 1)
        if _size(near) <= SHRUNK * _size(problem):
            return Fix(score - 1, pairs, self.prove(near, slack, [cluster for cluster, _ in pairs]))
        return Tree(self, piece, score, score + slack).grow(first)

    def aim(self, score: int, slack: int) -> float:
        """Return the bound at which a linear program is good enough: without a slack, no gap."""
        return (2 * (score + max(0, slack - self.tolerance)) + 1) / (2 * self.grid)

    def ends(self) -> bool:
        """Return whether time or nodes have run out."""
        return not self.control.goes_on() or self.nodes_left <= 0


class Tree:
    """Branching on the arcs of one piece.

    Parameters
    ----------
    proof
        What the piece is part of.
    piece
        The relaxation.
    score, target
        Score of the selection known, and bound at which a node is a leaf.
    """

    def __init__(self, proof: Proof, piece: Piece, score: int, target: int) -> None:
        self.proof, self.piece, self.score, self.target = proof, piece, score, target
        self.enough = proof.aim(score, target - score)
        self._heap: list[tuple[float, int, Open]] = []
        self._made = 0

    def grow(self, root: Leaf) -> Node:
        """Return the root of a tree that proves the target, or the best bound within the limits.

        What is open when the time is over is left with the bound it inherits, at once.
        """
        found: list[Node] = []
        self._push(np.inf, Open(self.piece.lists, root.pairs, found.append, root))
        while self._heap and not self.proof.ends():
            self.proof.nodes_left -= 1
            node = heappop(self._heap)[-1]
            self._expand(node)
        for _, _, node in self._heap:
            is_over = self.proof.control.is_over
            node.put(node.known if is_over else self._leaf(node.problem, node.pairs))
        return found[-1]

    def _push(self, bound: float, node: Open) -> None:
        self._made += 1
        heappush(self._heap, (-bound, self._made, node))

    def _leaf(self, problem: Problem, pairs: Pairs) -> Leaf:
        return leaf(problem, pairs, self.proof.grid, self.target)

    def _expand(self, node: Open) -> None:
        """Make a node a leaf, or drop candidates from it and branch."""
        if not placeable(node.problem):
            node.put(Leaf(self.target))
            return
        solved = self.piece.solve(node.problem, self.enough)
        if solved is None:
            node.put(node.known)
            return
        relaxed, pairs = solved
        done = self._leaf(node.problem, pairs)
        if done.bound <= self.target:
            node.put(done)
            return
        near = left(node.problem, pairs, self.proof.grid, self.score)
        if _size(near) <= FIXED * _size(node.problem):
            fix = Fix(self.score, pairs, PENDING)
            node.put(fix)
            node = Open(near, pairs, partial(setattr, fix, "rest"), done)
        else:
            node = replace(node, known=done)
        sides = self._branching(node.problem, relaxed) if placeable(node.problem) else None
        if sides is None:
            node.put(self._leaf(node.problem, pairs))
        else:
            self._branch(node, sides)

    def _branch(self, node: Open, sides: tuple["Side", "Side"]) -> None:
        """Put an arc in a node's place, and open the nodes with it and without it."""
        arc = Arc(sides[0].parent, sides[0].child, PENDING, PENDING)
        node.put(arc)
        for there, name in ((1, "present"), (0, "absent")):
            side = sides[1 - there]
            own = [(s, p) for s, p in node.problem[side.child] if p >> side.parent & 1 == there]
            problem, put = {**node.problem, side.child: own}, partial(setattr, arc, name)
            self._push(side.bound, Open(problem, side.pairs, put, node.known))

    def _branching(self, problem: Problem, relaxed: Relaxed) -> tuple["Side", "Side"] | None:
        """Return both sides of the arc whose trial lowers the bound most, if one is undecided.

        Those nearest to one half are tried, each by linear programs without new cuts.
        """
        held = self.piece.held(problem)
        whole = max(relaxed.objective - self.enough, LEAST_SIDE)
        best, gain = None, -np.inf
        for arc in self.piece.undecided(relaxed.x):
            sides = self._try(held, *arc, 1), self._try(held, *arc, 0)
            closed = (min(relaxed.objective - side.bound, whole) / whole for side in sides)
            product = prod(max(share, LEAST_SIDE) for share in closed)
            if product > gain:
                best, gain = sides, product
        return best

    def _try(self, held: NDArray[np.bool_], parent: int, child: int, there: int) -> "Side":
        relaxed = self.piece.quick_relaxation(held, parent, child, there)
        if relaxed is None:
            return Side(parent, child, -np.inf, ())
        return Side(parent, child, relaxed.objective, self.piece.pairs(relaxed.multipliers))


class Side(NamedTuple):
    """One side of a branching on an arc, and the bound that its linear program gives."""

    parent: int
    child: int
    bound: float
    pairs: Pairs


def strong_parts(problem: Problem) -> list[tuple[int, ...]]:
    """Return the strongly connected groups of at least two variables, each in their order."""
    position = {v: i for i, v in enumerate(problem)}
    arcs = [
        (position[u], position[v])
        for v, own in problem.items()
        for u in members_of(reduce(or_, (p for _, p in own), 0))
        if u in position
    ]
    tails, heads = np.array(arcs, np.int64).reshape(-1, 2).T
    labels = strong_components(tails, heads, len(problem)).tolist()
    groups: dict[int, list[int]] = {}
    for v, label in zip(problem, labels, strict=True):
        groups.setdefault(label, []).append(v)
    return sorted(tuple(group) for group in groups.values() if len(group) > 1)


def restricted(problem: Problem, part: tuple[int, ...]) -> Problem:
    """Return the problem of some variables; their parents elsewhere are granted."""
    inside = sum(1 << v for v in part)
    return {v: [(s, p & inside) for s, p in problem[v]] for v in part}


def _size(problem: Problem) -> int:
    return sum(map(len, problem.values()))
