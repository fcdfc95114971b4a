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
from exactlearn._runtime.offsets import offsets

from .certificate import (
    DENOMINATOR,
    Arc,
    Cluster,
    Fix,
    Leaf,
    Node,
    Pairs,
    Split,
    bits_of,
    leaf,
    left,
    members_of,
    rounded,
)
from .certificate_checker import Problem, group, placeable, relax, sides
from .clusters import Counted, Support
from .components import strong_components
from .multipliers import Multipliers
from .problem import Problem as Arrays
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
    network
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
        network: Sequence[int],
        clusters: Sequence[Cluster],
        control: SearchControl,
    ) -> None:
        self.lists = lists
        self.variables = list(lists)
        self.inside = bits_of(self.variables)
        best = [max(candidates)[0] for candidates in lists.values()]
        self.problem = _arrays(lists, best, grid)
        self.offset = sum(best) // DENOMINATOR
        self.planes = CuttingPlanes(
            self.problem,
            selection=self._rows(network),
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
        i = self.variables.index(child)
        of_child = slice(self.problem.first[i], self.problem.first[i + 1])
        # candidates of the child on this side of the branching
        side = held.copy()
        side[of_child] &= np.array(
            [p >> parent & 1 == there for _, p in self.lists[child]]
        )
        if not side[of_child].any():
            return None
        relaxation = self.planes.relaxation
        relaxation.allow(side)
        return relaxation.solve(self.planes.control)

    def pairs(self, multipliers: Multipliers) -> Pairs:
        """Return multipliers, rounded, of clusters in the whole problem's numbers."""
        used = multipliers.positive()
        variables = np.array(self.variables, np.int64)
        bits = [bits_of(variables[row].tolist()) for row in used.clusters]
        return rounded(list(zip(bits, used.counts.tolist(), strict=True)), used.values)

    def undecided(self, x: NDArray[np.float64]) -> list[tuple[int, int]]:
        """Return the arcs, parent and child, whose values are nearest to one half."""
        arcs = Support.of(self.problem, x).arcs(len(self.variables))
        distance = np.abs(arcs - 0.5)
        order = np.argsort(distance, axis=None, kind="stable")[:TRIED]
        order = order[distance.ravel()[order] < 0.5 - UNDECIDED]
        parents, children = np.unravel_index(order, arcs.shape)
        variables = self.variables
        return [
            (variables[p], variables[c]) for p, c in zip(parents, children, strict=True)
        ]

    def held(self, lists: Problem) -> NDArray[np.bool_]:
        """Return whether each candidate is in the lists, shape (m,)."""
        held: list[bool] = []
        for v, candidates in self.lists.items():
            parent_sets = {p for _, p in lists[v]}
            held += (p in parent_sets for _, p in candidates)
        return np.array(held, np.bool_)

    def _rows(self, network: Sequence[int]) -> NDArray[np.int64]:
        """Return the best rows with these parents; the best at all, where there is none."""
        best = []
        for v, candidates in self.lists.items():
            parents = network[v] & self.inside
            same = [candidate for candidate in candidates if candidate[1] == parents]
            best.append(candidates.index(max(same or candidates)))
        return self.problem.first[:-1] + np.array(best, np.int64)

    def _counted(self, clusters: Sequence[Cluster]) -> Counted:
        """Return the clusters that lie inside of the piece."""
        # each cluster once
        within = [
            cluster
            for cluster in dict.fromkeys(clusters)
            if not cluster[0] & ~self.inside
        ]
        rows = np.zeros((len(within), len(self.variables)), np.bool_)
        for row, (bits, _) in zip(rows, within, strict=True):
            row[:] = [bits >> v & 1 for v in self.variables]
        return Counted(rows, np.array([count for _, count in within], np.int64))


def _arrays(lists: Problem, best: Sequence[int], grid: int) -> Arrays:
    """Return the same problem as arrays, its variables numbered from 0.

    Scores are relative to each variable's best one.
    """
    position = {v: i for i, v in enumerate(lists)}
    scores: list[float] = []
    members = []
    for top, candidates in zip(best, lists.values(), strict=True):
        for score, parents in candidates:
            scores.append((score - top) / (grid * DENOMINATOR))
            members.append([position[v] for v in members_of(parents)])
    return Arrays(
        names=tuple(map(str, lists)),
        first=offsets(list(map(len, lists.values()))),
        scores=np.array(scores),
        member_first=offsets(list(map(len, members))),
        members=np.fromiter(chain.from_iterable(members), np.int32),
    )


SHRUNK = 0.9
"""Share of its candidates that a part must lose for its relaxation to be solved again."""

FIXED = 0.8
"""Share of its candidates that a node of the tree must lose for that to be written down."""

MIN_SIDE = 1e-6
"""Share of the gap that a side of a branching counts as closing, at least."""

PENDING = Leaf(0)
"""Stands where a node of the tree will be put."""


@dataclass
class Open:
    """A node of the tree that is still to be expanded.

    Parameters
    ----------
    problem
        Candidates left.
    pairs
        Multipliers for them.
    put
        Takes the finished node to where it belongs in the tree; called again, it replaces it.
    inherited
        The leaf of the node before it, whose multipliers bound the candidates left, too.
    """

    problem: Problem
    pairs: Pairs
    put: Callable[[Node], None]
    inherited: Leaf


@dataclass
class Proof:
    """Proves bounds on problems whose best known selection is given.

    Parameters
    ----------
    grid
        Least common denominator of the scores.
    network, scores
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
    network: Sequence[int]
    scores: Sequence[int]
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
        score = sum(self.scores[v] for v in problem)
        if not placeable(problem):
            return Leaf(score + slack)
        parts = strong_parts(problem)
        if parts == [tuple(problem)]:
            return self._part(problem, score, slack, clusters)
        # the slack is divided among the parts; the other variables take their best candidates
        part_slack = slack // max(1, len(parts))
        proven = []
        outside = problem
        for part in parts:
            inside = bits_of(part)
            node = self.prove(group(problem, part, inside), part_slack, clusters)
            proven.append((part, node))
            outside = {v: outside[v] for v in outside if not inside >> v & 1}
        return Split(proven, relax(outside, [])[0] // DENOMINATOR)

    def _part(
        self, problem: Problem, score: int, slack: int, clusters: Sequence[Cluster]
    ) -> Node:
        """Relax a strongly connected problem; drop candidates and begin again, or branch."""
        if self.control.is_over:
            return leaf(problem, (), self.grid, score + slack)
        # the relaxation, whose multipliers give an exact bound
        piece = Piece(problem, self.grid, self.network, clusters, self.control)
        pairs = piece.root(self.aim(score - piece.offset, slack))
        first = leaf(problem, pairs, self.grid, score + slack)
        if first.bound <= score + slack or self.ends():
            return first
        # candidates of nothing better leave; if those are many, begin again
        near = left(problem, pairs, self.grid, score - 1)
        if _size(near) <= SHRUNK * _size(problem):
            return Fix(
                score - 1,
                pairs,
                self.prove(near, slack, [cluster for cluster, _ in pairs]),
            )
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
        roots: list[Node] = []  # the last one replaces those before
        self._push(np.inf, Open(self.piece.lists, root.pairs, roots.append, root))
        # the open node of the highest bound first
        while self._heap and not self.proof.ends():
            self.proof.nodes_left -= 1
            node = heappop(self._heap)[-1]
            self._expand(node)
        # what is left open is a leaf with the bound it has
        for _, _, node in self._heap:
            is_over = self.proof.control.is_over
            node.put(
                node.inherited if is_over else self._leaf(node.problem, node.pairs)
            )
        return roots[-1]

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
        # the relaxation of the node
        solved = self.piece.solve(node.problem, self.enough)
        if solved is None:
            node.put(node.inherited)
            return

        # a leaf, if its exact bound is low enough
        relaxed, pairs = solved
        done = self._leaf(node.problem, pairs)
        if done.bound <= self.target:
            node.put(done)
            return

        # candidates that take part in nothing better are dropped, if that is worth a node
        near = left(node.problem, pairs, self.proof.grid, self.score)
        if _size(near) <= FIXED * _size(node.problem):
            fix = Fix(self.score, pairs, PENDING)
            node.put(fix)
            node = Open(near, pairs, partial(setattr, fix, "remaining"), done)
        else:
            node = replace(node, inherited=done)

        # what is left is branched on an arc
        branching = (
            self._branching(node.problem, relaxed) if placeable(node.problem) else None
        )
        if branching is None:
            node.put(self._leaf(node.problem, pairs))
        else:
            self._branch(node, branching)

    def _branch(self, node: Open, branching: "Branching") -> None:
        """Put an arc in a node's place, and open the nodes with it and without it."""
        parent = branching[0].parent
        child = branching[0].child
        arc = Arc(parent, child, PENDING, PENDING)
        node.put(arc)
        problems = sides(node.problem, parent, child)
        for name, side, problem in zip(
            ("present", "absent"), branching, problems, strict=True
        ):
            put = partial(setattr, arc, name)
            self._push(side.bound, Open(problem, side.pairs, put, node.inherited))

    def _branching(self, problem: Problem, relaxed: Relaxed) -> "Branching | None":
        """Return both sides of the arc whose trial lowers the bound most, if one is undecided.

        Those nearest to one half are tried, each by linear programs without new cuts.
        """
        held = self.piece.held(problem)
        whole = max(relaxed.objective - self.enough, MIN_SIDE)
        best = None
        gain = -np.inf
        for arc in self.piece.undecided(relaxed.x):
            branching = self._try(held, *arc, 1), self._try(held, *arc, 0)
            # the product of what both sides close of the gap
            closed = (
                min(relaxed.objective - side.bound, whole) / whole for side in branching
            )
            product = prod(max(part, MIN_SIDE) for part in closed)
            if product > gain:
                best = branching
                gain = product
        return best

    def _try(
        self, held: NDArray[np.bool_], parent: int, child: int, there: int
    ) -> "Side":
        relaxed = self.piece.quick_relaxation(held, parent, child, there)
        if relaxed is None:
            return Side(parent, child, -np.inf, ())
        return Side(
            parent, child, relaxed.objective, self.piece.pairs(relaxed.multipliers)
        )


class Side(NamedTuple):
    """One side of a branching on an arc, and the bound that its linear program gives."""

    parent: int
    child: int
    bound: float
    pairs: Pairs


Branching = tuple[Side, Side]
"""The sides with an arc and without it."""


def strong_parts(problem: Problem) -> list[tuple[int, ...]]:
    """Return the strongly connected groups of at least two variables, each in their order."""
    position = {v: i for i, v in enumerate(problem)}
    arcs: list[tuple[int, int]] = []
    for v, candidates in problem.items():
        parents = members_of(reduce(or_, (p for _, p in candidates), 0))
        arcs += [(position[u], position[v]) for u in parents if u in position]
    tails, heads = np.array(arcs, np.int64).reshape(-1, 2).T
    labels = strong_components(tails, heads, len(problem))
    variables = np.array(list(problem), np.int64)
    parts = [tuple(variables[labels == label].tolist()) for label in np.unique(labels)]
    return sorted(part for part in parts if len(part) > 1)


def _size(problem: Problem) -> int:
    return sum(map(len, problem.values()))
