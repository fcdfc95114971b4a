"""Branch and bound that ends in a proof: nodes are leaves when their exact bound is low enough.

A problem is relaxed; candidates that take part in nothing better than the network known are
dropped; what is left is split into its strongly connected parts; a part that is not done by then is
branched on arcs, the node of highest bound first, the arc by trying a few (strong branching). When
time or nodes run out, open nodes are leaves with the bounds they have.

The linear relaxation of a node turns whole numbers and bits into arrays, and dual values back.
Nothing of it has to be trusted: what it finds is a suggestion of multipliers, or of an arc to
branch on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from heapq import heappop, heappush
from itertools import chain
from math import prod
from operator import or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl

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
    rounded,
)
from .certificate_checker import Problem, placeable
from .clusters import Counted, Support
from .components import strong_components
from .multipliers import Multipliers
from .problem import Problem as Arrays
from .problem import offsets
from .relaxation import Relaxed
from .root import CuttingPlanes, RoundLimits

NODE_LIMITS = RoundLimits(most_cuts=200, most_rounds=100, tail=5, least_gain=0.02)
"""Of cutting planes at one node."""

TRIED = 20
"""Arcs tried before one is branched on."""

UNDECIDED = 1e-6
"""Distance from 0 and 1 within which an arc counts as decided."""


class Piece:
    """The relaxation of a problem over some variables.

    Parameters
    ----------
    lists
        Candidates of each variable; none empty.
    grid
        Least common denominator of the scores.
    chosen
        Parents, as bits, of the selection known; it need not be among the candidates.
    clusters
        Clusters that may help; those not inside of the piece are left out.
    control
        Ends the search for multipliers; those so far are returned.
    """

    def __init__(
        self,
        lists: Problem,
        grid: int,
        chosen: Sequence[int],
        clusters: Sequence[Cluster],
        control: SearchControl,
    ) -> None:
        self.lists = lists
        self.variables = list(lists)
        best = [max(score for score, _ in own) for own in lists.values()]
        self.problem = _arrays(lists, best, grid)
        self.offset = sum(best) // DENOMINATOR
        self.planes = CuttingPlanes(
            self.problem,
            chosen=self._rows(chosen),
            clusters=self._counted(clusters),
            control=control,
        )

    def root(self, enough: float) -> Pairs:
        """Return rounded multipliers of the whole piece; a bound of ``enough`` will do."""
        self.planes.run(enough)
        return self.pairs(self.planes.multipliers)

    def solve(self, lists: Problem, enough: float) -> tuple[Relaxed, Pairs] | None:
        """Solve the relaxation of a node by cutting planes; return it with rounded multipliers.

        ``None`` when the control ends that.

        Parameters
        ----------
        lists
            Candidates that may be selected; every variable has one at least.
        enough
            Stop as soon as the bound is at most this.
        """
        planes = self.planes
        planes.begin_again(self.held(lists), enough, NODE_LIMITS)
        planes.run(enough)
        if planes.relaxed is None:
            return None
        return planes.relaxed, self.pairs(planes.multipliers)

    def quick_relaxation(
        self, held: NDArray[np.bool_], parent: int, child: int, there: int
    ) -> Relaxed | None:
        """Solve the relaxation with or without an arc, without new cuts.

        Return ``None`` when there are no candidates, or the control ends that.

        Parameters
        ----------
        held
            Candidates that may be selected, shape (m,).
        parent, child, there
            The arc, and whether it is there.
        """
        at = self.variables.index(child)
        own = slice(self.problem.first[at], self.problem.first[at + 1])
        side = held.copy()
        side[own] &= np.array([p >> parent & 1 == there for _, p in self.lists[child]])
        if not side[own].any():
            return None
        relaxation = self.planes.relaxation
        relaxation.allow(side)
        return relaxation.solve(self.planes.control)

    def pairs(self, multipliers: Multipliers) -> Pairs:
        """Return multipliers, rounded, of clusters in the whole problem's numbers."""
        single = [1 << v for v in self.variables]
        used = multipliers.positive()
        bits = [sum(single[i] for i in np.flatnonzero(row).tolist()) for row in used.clusters]
        return rounded(list(zip(bits, used.counts.tolist(), strict=True)), used.values)

    def undecided(self, x: NDArray[np.float64]) -> list[tuple[int, int]]:
        """Return the arcs, parent and child, whose values are nearest to one half."""
        chosen = Support.of(self.problem, x).arcs(len(self.variables))
        distance = np.abs(chosen - 0.5)
        order = np.argsort(distance, axis=None, kind="stable")[:TRIED]
        order = order[distance.ravel()[order] < 0.5 - UNDECIDED]
        parents, children = np.unravel_index(order, chosen.shape)
        variables = self.variables
        return [(variables[p], variables[c]) for p, c in zip(parents, children, strict=True)]

    def held(self, lists: Problem) -> NDArray[np.bool_]:
        """Return which candidates are in the lists, shape (m,)."""
        held = {v: {p for _, p in own} for v, own in lists.items()}
        rows = (p in held[v] for v, own in self.lists.items() for _, p in own)
        return np.fromiter(rows, np.bool_, self.problem.n_candidates)

    def _rows(self, chosen: Sequence[int]) -> NDArray[np.int64]:
        """Return the best rows with these parents; the best at all, where there is none."""
        inside = sum(1 << v for v in self.variables)
        best = []
        for v, own in self.lists.items():
            wanted = [(s, p) for s, p in own if p == chosen[v] & inside]
            best.append(own.index(max(wanted or own)))
        return self.problem.first[:-1] + np.array(best, np.int64)

    def _counted(self, clusters: Sequence[Cluster]) -> Counted:
        """Return the clusters that lie inside of the piece."""
        inside = sum(1 << v for v in self.variables)
        known = [(bits, k) for bits, k in dict.fromkeys(clusters) if not bits & ~inside]
        held = [[bool(bits >> v & 1) for v in self.variables] for bits, _ in known]
        return Counted(
            np.array(held, np.bool_).reshape(-1, len(self.variables)),
            np.array([k for _, k in known], np.int64),
        )


def _arrays(lists: Problem, best: Sequence[int], grid: int) -> Arrays:
    """Return the same problem as arrays, its variables numbered from 0.

    Scores are relative to each variable's best one.
    """
    position = {v: i for i, v in enumerate(lists)}
    rows = [c for own in lists.values() for c in own]
    members = [[position[v] for v in members_of(p)] for _, p in rows]
    unit = grid * DENOMINATOR
    return Arrays(
        names=tuple(map(str, lists)),
        first=offsets([len(own) for own in lists.values()]),
        scores=np.array(
            [
                (s - top) / unit
                for top, own in zip(best, lists.values(), strict=True)
                for s, _ in own
            ]
        ),
        member_first=offsets([len(own) for own in members]),
        members=np.fromiter(chain.from_iterable(members), np.int32),
    )


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
        pairs = piece.root(self.aim(score - piece.offset, slack))
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
        self.proof = proof
        self.piece = piece
        self.score = score
        self.target = target
        self.enough = proof.aim(score - piece.offset, target - score)
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
            problem = {**node.problem, side.child: own}
            put = partial(setattr, arc, name)
            self._push(side.bound, Open(problem, side.pairs, put, node.known))

    def _branching(self, problem: Problem, relaxed: Relaxed) -> tuple["Side", "Side"] | None:
        """Return both sides of the arc whose trial lowers the bound most, if one is undecided.

        Those nearest to one half are tried, each by linear programs without new cuts.
        """
        held = self.piece.held(problem)
        whole = max(relaxed.objective - self.enough, LEAST_SIDE)
        best = None
        gain = -np.inf
        for arc in self.piece.undecided(relaxed.x):
            sides = self._try(held, *arc, 1), self._try(held, *arc, 0)
            closed = (min(relaxed.objective - side.bound, whole) / whole for side in sides)
            product = prod(max(share, LEAST_SIDE) for share in closed)
            if product > gain:
                best = sides
                gain = product
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
