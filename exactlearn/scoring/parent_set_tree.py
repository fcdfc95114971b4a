"""The tree of the parent sets of one child, searched best first.

The allowed parents of a child are put in order, those that gain most alone first; every parent set
is then reached once, by adding parents in that order. A queue holds the sets next to those that
were scored, ordered by an estimate of their scores (the BIC* of Scanagatta, de Campos, Corani and
Zaffalon 2015, "Learning Bayesian networks with thousands of variables", with terms for pairs). With
``L`` the likelihood part of a score, that is the score plus its penalty, and
``g(y) = L(y) - L()``::

    L(P + y) = L(P) + max(0, g(y) + sum over z in P of [L(y, z) - L() - g(y) - g(z)])

where the sum runs over the pairs that were scored. A penalty is taken to be proportional to ``q``,
as that of the likelihood scores is; of a score without penalty, to be half a logarithm of the rows
of each configuration for each free parameter, ``(r - 1) / 2 q log(1 + N / q)``. A set must exceed
the best score of its subsets to be of use. So it is worth its estimate less most of the best score
of a subset. A set is counted when it leaves the queue, unless the bounds of
:mod:`exactlearn.scoring.set_sums` close it.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from exactlearn.scoring.candidate_enumeration import SizedCandidates
from exactlearn.scoring.set_sums import Floats, SetSums, ceiling, largest_penalty
from exactlearn.scoring.set_tables import Space
from exactlearn.solvers.components import undominated

QUEUE_ROOM = 2**19
"""Most sets that wait for one child; the less promising half is given up when there are more."""
BATCH = 256
BATCH_SHARE = 64
"""Sets that leave the queue together, or one part in so many of it, if that is more."""
BATCH_CELLS = 2**18
"""Most sets of one batch by parents that are estimated."""
GAIN_WEIGHT = 0.9
"""Weight of what is gained over the best subset, and the rest of the score itself."""
EXPAND = -1
"""Stands in the queue for the place of a parent: the node's neighbours are to be queued."""

NODE = np.dtype(
    [(name, np.int64) for name in ("subset", "place", "depth", "is_useful")]
    + [(name, np.float64) for name in ("score", "best", "parents_sum", "q", "cells")]
)
"""A parent set that was scored: it adds one parent, by place, to another node, its subset.

``best`` is the highest known score of a subset, the set included, ``parents_sum`` the sum over the
table of the parents alone, ``q`` the number of their configurations and ``cells`` that of the
observed configurations of the family. A node is useful while no known subset scores as much.
"""

Places = NDArray[np.int64]


class _Queue:
    """Steps that wait for their turn: their worth, a node, and the place of one parent more.

    ``steps`` has shape (3, steps).
    """

    def __init__(self) -> None:
        self.steps = np.zeros((3, 0))

    @property
    def size(self) -> int:
        """Number of steps."""
        return self.steps.shape[1]

    def put(self, worth: Floats, node: Places, place: Places | int) -> None:
        """Add steps."""
        steps = np.stack(np.broadcast_arrays(worth, node, place))
        self.steps = np.concatenate([self.steps, steps], axis=1)

    def take(self, n: int) -> Floats:
        """Take out the ``n`` steps that are worth most, or all."""
        order = np.arange(self.size)
        if n < len(order):
            order = np.argpartition(-self.steps[0], n)
        taken = self.steps[:, order[:n]]
        self.steps = self.steps[:, order[n:]]
        return taken


class _ScoredSets:
    """The table of the parent sets that were scored: a tree, from the required parents alone."""

    def __init__(self) -> None:
        self.size = 1
        self._nodes = np.zeros(1, NODE)

    @property
    def nodes(self) -> NDArray[np.void]:
        """The sets, a view that is written to, shape (sets,)."""
        return self._nodes[: self.size]

    def append(self, nodes: NDArray[np.void]) -> Places:
        """Add sets; return their rows."""
        first = self.size
        self.size += len(nodes)
        if self.size > len(self._nodes):
            room = np.zeros(self.size, NODE)  # for as many again
            self._nodes = np.concatenate([self._nodes, room])
        self._nodes[first : self.size] = nodes
        return np.arange(first, self.size)

    def members(self, node: Places) -> Places:
        """Return the places of the parents of nodes, the last one first, filled up with -1."""
        columns = [np.full(len(node), -1)]
        # From each node to its subset, up to the root: node 0 adds no parent.
        while (node > 0).any():
            place = self._nodes["place"][node]
            columns.append(np.where(node > 0, place, -1))
            node = self._nodes["subset"][node]
        return np.column_stack(columns[1:] or columns)


class ParentSetTree:
    """The search for the parent sets of one child.

    By place in the order of parents, ``single`` and ``pair`` hold the scores of the required
    parents with one and with two more, not-a-number where not known; ``gain`` and ``interaction``
    hold the likelihood part of what they gain, and of what a pair gains beyond that, 0 where not
    known. The matrices cover the first places only, their upper triangles, and have a last row for
    all other places.
    """

    def __init__(
        self,
        sums: SetSums,
        space: Space,
        max_parents: int,
        variable: int,
        required: list[int],
        barred: set[int],
    ) -> None:
        place = np.argsort(sums.order)
        states = sums.rows.cardinalities
        allowed = [p for p in range(len(place)) if p not in barred]
        self.sums = sums
        self.space = space
        self.child = int(place[variable])
        self.r = int(states[self.child])
        self.required = np.sort(place[required])
        self.parents = np.sort(place[allowed])
        self.deepest = max_parents - len(required)
        self.single = np.full(len(allowed), np.nan)
        self.gain = np.zeros(len(allowed))
        self.pair = np.zeros((1, 0))
        self.interaction = np.zeros((1, 0))
        self.scored = _ScoredSets()
        self.queue = _Queue()
        self.n_tables = 0
        self.is_cut = False
        largest_batch = min(BATCH_CELLS // max(1, len(allowed)), sums.block)
        self.largest_batch = max(32, largest_batch)
        self.scored.nodes["q"] = states[self.required].prod(dtype=np.float64)

    @property
    def states(self) -> Floats:
        """Number of states of each parent."""
        return self.sums.rows.cardinalities[self.parents].astype(np.float64)

    def score_singles(self, goes_on: Callable[[], bool]) -> None:
        """Score the required parents alone and with each other parent; put these in order."""
        # The root of the tree: the required parents alone.
        root = self.scored.nodes
        self._tabulate(root["q"])
        no_members = np.zeros((1, 0), np.int64)
        root["score"], root["parents_sum"], root["cells"] = self._count(no_members)
        root["score"] -= self._penalty(root["q"])
        root["best"] = root["score"]
        root["is_useful"] = True
        if self.deepest <= 0:
            return
        # One parent more each: its score, and the likelihood that it gains.
        places = np.arange(len(self.parents))
        new = self._score_all(np.zeros_like(places), places, goes_on)
        nodes = self.scored.nodes
        place = nodes["place"][new]
        self.single[place] = nodes["score"][new]
        self.gain[place] = self._gained(new)
        # The best parents come first, those that bounds close last.
        order = np.argsort(-self.single, kind="stable")
        nodes["place"][new] = np.argsort(order)[place]
        self.parents = self.parents[order]
        self.single = self.single[order]
        self.gain = self.gain[order]

    def score_pairs(self, covered: int, goes_on: Callable[[], bool]) -> None:
        """Score all pairs of the first parents; then all that was scored waits to be extended."""
        covered = min(len(self.parents), covered) if self.deepest > 1 else 0
        # One row more than places, for all places that the matrices do not cover.
        self.pair = np.full((covered + 1, covered), np.nan)
        self.interaction = np.zeros((covered + 1, covered))
        singles = np.arange(1, self.scored.size)
        place = self.scored.nodes["place"][singles]
        # Each pair once, the later place second.
        is_later = np.arange(covered) > place[:, None]
        row, second = np.nonzero(is_later)
        new = self._score_all(singles[row], second, goes_on)
        nodes = self.scored.nodes[new]
        first = self.scored.nodes["place"][nodes["subset"]]
        second = nodes["place"]
        # What a pair gains beyond its two parents is their interaction.
        self.pair[first, second] = nodes["score"]
        gains = self.gain[first] + self.gain[second]
        self.interaction[first, second] = self._gained(new) - gains
        self._enqueue(np.arange(1, self.scored.size))

    def advance(self, left: int) -> None:
        """Extend and score the sets of the queue that are worth most, ``left`` at most."""
        # A share of the queue at a time, so that kernels have enough to do.
        batch = max(BATCH, self.queue.size // BATCH_SHARE)
        batch = min(batch, self.largest_batch, max(32, left))
        steps = self.queue.take(batch)
        by_node = np.argsort(steps[1], kind="stable")
        node, place = steps[1:, by_node].astype(np.int64)
        # A step extends a scored set, or scores an estimated one.
        is_scored = place == EXPAND
        self._extend(node[is_scored], left)
        self._enqueue(self._score(node[~is_scored], place[~is_scored]))
        # The worse half of a full queue is given up: the search is not exhaustive.
        if self.queue.size > QUEUE_ROOM:
            self.queue.steps = self.queue.take(self.queue.size // 2)
            self.is_cut = True

    def candidates(self) -> SizedCandidates:
        """Return the sets that no other scored set dominates."""
        nodes = self.scored.nodes
        order = self.sums.order
        n = len(order)
        # Best first, of equal scores the smallest sets first.
        useful = np.flatnonzero(nodes["is_useful"])
        scores = nodes["score"][useful]
        best_first = np.lexsort((nodes["depth"][useful], -scores))
        useful = useful[best_first]
        sets = self._sets(self.scored.members(useful))
        # A set as bits in words of 64, to compare it with its subsets.
        masks = np.zeros((len(sets), -(-n // 64)), np.uint64)
        for column in sets.T:
            row = np.flatnonzero(column >= 0)
            place = column[row]
            bit = (place & 63).astype(np.uint64)
            masks[row, place >> 6] |= np.uint64(1) << bit
        kept = undominated(np.array([0, len(sets)]), masks)
        # Increasing parents by the index of their variables, -1 last.
        sets = sets[kept]
        parents = np.where(sets >= 0, order[sets], n)
        parents = np.sort(parents, axis=1)
        parents = np.where(parents < n, parents, -1)
        return SizedCandidates(
            child=np.full(len(parents), order[self.child], np.int32),
            parents=parents.astype(np.int32),
            scores=scores[best_first[kept]],
        )

    def _sets(self, members: Places) -> NDArray[np.int32]:
        """Return sets of parents, the required ones last but for -1 that fill up."""
        required = np.tile(self.required, (len(members), 1))
        parents = np.append(self.parents, -1)[members]
        sets = np.concatenate([parents, required], axis=1)
        at_end = np.argsort(sets < 0, axis=1, kind="stable")
        return np.take_along_axis(sets, at_end, axis=1).astype(np.int32)

    def _tabulate(self, q: Floats) -> None:
        """Tabulate the score for families with so many configurations of parents."""
        sizes = np.unique([q, q * self.r])
        self.terms = self.sums.tables.covering(sizes)

    def _penalty(self, q: Floats) -> Floats:
        place = self.terms.places(q * self.r)
        penalty: Floats = self.terms.penalty[place, self.r]
        return penalty

    def _cost(self, q: Floats) -> Floats:
        """Return about the cost of a family's size: its penalty, where there is one."""
        if self.terms.has_penalty:
            return self._penalty(q)
        size = (self.r - 1) * q
        rows_per_configuration = self.sums.rows.total / q
        return 0.5 * size * np.log1p(rows_per_configuration)

    def _gained(self, node: Places) -> Floats:
        """Return the likelihood part that nodes gain over the required parents alone."""
        nodes = self.scored.nodes
        likelihood = nodes["score"] + self._cost(nodes["q"])
        return np.asarray(likelihood[node] - likelihood[0])

    def _ceiling(self, penalty: Floats, cells: Floats) -> Floats:
        """Bound the scores of families and of all their supersets (theorem *Distinct cells*)."""
        rate = self.terms.rate[self.r]
        return ceiling(rate, penalty, cells) + self.sums.slack

    def _count(self, members: Places) -> tuple[Floats, Floats, Floats]:
        """Count families; return their scores without penalty, the parents' sums, and cells."""
        child = np.full((len(members), 1), self.child, np.int32)
        sets = np.concatenate([child, self._sets(members)], axis=1)
        totals, parents_sums, cells = self.sums.family_sums(
            sets,
            self.terms,
            self.space,
        )
        self.n_tables += len(sets)
        return totals - parents_sums, parents_sums, cells

    def _score_all(
        self,
        node: Places,
        place: Places,
        goes_on: Callable[[], bool],
    ) -> Places:
        """Score sets, a batch at a time; return the new nodes."""
        first = self.scored.size
        for start in range(0, len(node), self.largest_batch):
            if not goes_on():
                self.is_cut = True
                break
            batch = slice(start, start + self.largest_batch)
            self._score(node[batch], place[batch])
        return np.arange(first, self.scored.size)

    def _score(self, node: Places, place: Places) -> Places:
        """Score nodes with one more parent each, unless bounds close them; return the new nodes."""
        subset = self.scored.nodes[node]
        members = self.scored.members(node)
        new = np.zeros(len(node), NODE)
        new["subset"] = node
        new["place"] = place
        new["depth"] = subset["depth"] + 1
        new["q"] = subset["q"] * self.states[place]
        new["best"] = self._best_subset(subset, members, place)
        # Only sets that the ceiling of their subset leaves open are counted.
        self._tabulate(new["q"])
        penalty = self._penalty(new["q"])
        is_open = ~(self._ceiling(penalty, subset["cells"]) <= new["best"])
        new = new[is_open]
        penalty = penalty[is_open]
        families = np.column_stack([new["place"], members[is_open]])
        score, new["parents_sum"], new["cells"] = self._count(families)
        new["score"] = score - penalty
        new["is_useful"] = new["score"] > new["best"]
        new["best"] = np.maximum(new["best"], new["score"])
        # A parent of too little entropy closes its set (theorem *Entropy*).
        if self.terms.has_entropy:
            gain = subset["parents_sum"][is_open] - new["parents_sum"]
            states = self.states[new["place"]]
            largest = largest_penalty(gain + self.sums.slack, states)
            new = new[largest > penalty]
        return self.scored.append(new)

    def _best_subset(
        self,
        subset: NDArray[np.void],
        members: Places,
        place: Places,
    ) -> Floats:
        """Return the best score of a node, and of the new parent with one or none of its own."""
        single = np.where(subset["depth"] > 0, self.single[place], np.nan)
        best: Floats = np.fmax(subset["best"], single)
        # Pairs of the new parent with each parent that the matrix covers.
        inside = np.flatnonzero(place < self.pair.shape[1])
        row = self._covered(members[inside])
        pairs = self.pair[row, place[inside, None]]
        best_pair = np.fmax.reduce(pairs, axis=1)
        best[inside] = np.fmax(best[inside], best_pair)
        return best

    def _covered(self, members: Places) -> Places:
        """Return the rows of the matrices of pairs for places."""
        covered = self.pair.shape[1]
        is_covered = (members >= 0) & (members < covered)
        return np.where(is_covered, members, covered)

    def _enqueue(self, node: Places) -> None:
        """Queue nodes to be extended, but for those whose supersets are all dominated or too large.

        A set that was scored waits in the queue, for its worth, until its neighbours are estimated.
        """
        nodes = self.scored.nodes[node]
        bound = self._ceiling(self._penalty(nodes["q"]), nodes["cells"])
        is_open = ~(bound <= nodes["best"]) & (nodes["depth"] < self.deepest)
        worth = nodes["score"] - GAIN_WEIGHT * nodes["best"]
        self.queue.put(worth[is_open], node[is_open], EXPAND)

    def _extend(self, node: Places, left: int) -> None:
        """Queue nodes with one more parent of a later place, by their estimates: BIC* with pairs.

        No more than ``left`` are queued.
        """
        nodes = self.scored.nodes[node]
        covered = self.pair.shape[1]
        # The likelihood part that each parent is estimated to gain, shape (nodes, parents).
        gains = np.tile(self.gain, (len(node), 1))
        members = self._covered(self.scored.members(node))
        gains[:, :covered] += self.interaction[members].sum(axis=1)
        # The cost of the extended sets' size: a penalty is taken to be proportional to q.
        cost = self._cost(nodes["q"])
        if self.terms.has_penalty:
            costs = cost[:, None] * self.states
        else:
            costs = self._cost(nodes["q"][:, None] * self.states)
        likelihood = nodes["score"] + cost
        worth = (likelihood - GAIN_WEIGHT * nodes["best"])[:, None]
        worth = worth + np.maximum(gains, 0.0) - costs
        # Later places only; of single parents, those whose pairs were not scored.
        first = nodes["place"] + 1
        is_single = nodes["depth"] == 1
        first[is_single] = np.maximum(first[is_single], covered)
        is_earlier = np.arange(len(self.parents)) < first[:, None]
        worth[is_earlier] = -np.inf
        worth = worth.ravel()
        promising = np.arange(worth.size)
        if left < worth.size:  # no more than these will leave the queue
            promising = np.argpartition(-worth, left)[:left]
            self.is_cut = True
        promising = promising[worth[promising] > -np.inf]
        row, place = np.divmod(promising, len(self.parents))
        self.queue.put(worth[promising], node[row], place)
