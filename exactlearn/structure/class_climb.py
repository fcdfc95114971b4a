"""A climb over Markov equivalence classes, by the operators of the inclusion boundary.

An operator joins or parts ``x`` and ``y`` in the member of the class in which ``y`` has the other
parents ``P = Pa_y + C`` (:mod:`exactlearn.graphs.boundary`; docs/theory/equivalence.md): its gain
is ``V(P + x + y) - V(P + x) - V(P + y) + V(P)``, with V of :mod:`exactlearn.scoring.set_sums`, or
that with the other sign.

What an operator gains depends on the surroundings of ``y`` and on the adjacencies between ``x`` and
these: gains are computed anew only for pairs for which a step has changed something of that. Paths
are looked for at each step.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from exactlearn._runtime.control import SearchControl
from exactlearn.graphs.boundary import ClassLinks, Operator, members
from exactlearn.graphs.equivalence import consistent_extension, cpdag
from exactlearn.graphs.partially_directed import Parents, PartiallyDirectedGraph
from exactlearn.scoring.set_sums import SetValues

LEAST_GAIN = 1e-6
"""What an operator has to gain, in nats, so that rounding makes no moves."""

ROWS_TO_LOOK = 2**26
"""About how many rows are counted between two looks at the clock."""


class Rules(NamedTuple):
    """How a climb moves.

    Attributes
    ----------
    inserts, deletes
        Which operators are looked at.
    share
        Share of the improving classes that is drawn at each step; the best of these is taken.
    max_parents
        Most parents of a family that an insertion scores.
    """

    inserts: bool
    deletes: bool
    share: float
    max_parents: int


class Move(NamedTuple):
    """An operator, what it gains, and the sets of variables that the gain is computed from."""

    operator: Operator
    sets: tuple[int, int, int, int]
    gain: float = 0.0


class ClassClimb:
    """A class, and the improving operators of its boundary.

    Parameters
    ----------
    values
        The values of sets of variables.
    n_rows
        Rows of the table.

    Attributes
    ----------
    graph, parents
        The completed pattern of the class, and a member of it.
    gain
        Score of the class less that of the empty network.
    steps
        Number of operators applied.
    """

    def __init__(self, values: SetValues, n_rows: int) -> None:
        self._values, self._batch = values, max(64, ROWS_TO_LOOK // max(1, n_rows))
        self.graph = PartiallyDirectedGraph(values.n, frozenset(), frozenset())
        self.parents: Parents = ((),) * values.n
        self.gain, self.steps = 0.0, 0
        self._links = ClassLinks(self.graph)
        self._moves: list[dict[int, list[Move]]] = [{} for _ in range(values.n)]  # by head and tail
        self._dirty = self._all_pairs()

    def run(self, rules: Rules, rng: np.random.Generator, control: SearchControl) -> bool:
        """Apply operators until none improves; return whether that was reached."""
        self._dirty = self._all_pairs()
        while control.goes_on():
            if not self.find_moves(rules, control):
                return False
            move = self._draw(rules.share, rng)
            if move is None:
                return True
            self.apply(move)
        return False

    def _all_pairs(self) -> list[tuple[int, int]]:
        n = self._values.n
        return [(x, y) for y in range(n) for x in range(n) if x != y]

    def find_moves(self, rules: Rules, control: SearchControl) -> bool:
        """Find the improving operators of all dirty pairs, but for the paths that block insertions.

        Returns whether that was done before the end of the search.
        """
        for x, y in self._dirty:
            self._moves[y].pop(x, None)
        candidates = (move for x, y in self._dirty for move in self._operators(x, y, rules))
        while batch := list(islice(candidates, self._batch)):
            self._values.count(members for move in batch for members in move.sets)
            for move in self._improving(batch):
                operator = move.operator
                self._moves[operator.head].setdefault(operator.tail, []).append(move)
            if not control.goes_on():
                return False
        self._dirty = []
        return True

    def _operators(self, x: int, y: int, rules: Rules) -> Iterator[Move]:
        """Yield the operators of a pair, valid or not."""
        links = self._links
        inserts = not links.adjacent[x] >> y & 1
        if inserts:
            cliques = links.insertions(x, y) if rules.inserts else ()
        else:  # an undirected edge is looked at from one end
            leads = links.onward[x] >> y & 1 and (x < y or not links.onward[y] >> x & 1)
            cliques = links.deletions(x, y) if rules.deletes and leads else ()
        ends = 1 << x, 1 << y
        for clique in cliques:
            parents = (links.parents[y] | clique) & ~ends[0]
            if not inserts or parents.bit_count() < rules.max_parents:
                sets = parents, parents | ends[0], parents | ends[1], parents | ends[0] | ends[1]
                yield Move(Operator(x, y, clique, inserts), sets)

    def _improving(self, moves: Iterable[Move]) -> Iterator[Move]:
        known = self._values.known
        for move in moves:
            apart, with_x, with_y, together = move.sets
            gain = known[together] - known[with_x] - known[with_y] + known[apart]
            gain = gain if move.operator.inserts else -gain
            if gain > LEAST_GAIN:
                yield move._replace(gain=gain)

    def classes(self) -> Iterator[Move]:
        """Yield the operators to the improving classes, best first, each class once."""
        found = [move for tails in self._moves for moves in tails.values() for move in moves]
        plain = set[tuple[int, int]]()
        for move in sorted(found, key=lambda move: (-move.gain, move.operator)):
            x, y, clique, inserts = move.operator
            if inserts and not self._links.is_valid(x, y, clique):
                continue
            if inserts and self._links.is_plain(x, y, clique):
                if (y, x) in plain:  # which leads to the same class
                    continue
                plain.add((x, y))
            yield move

    def _draw(self, share: float, rng: np.random.Generator) -> Move | None:
        """Return the best of a random share of the improving classes."""
        if share >= 1:
            return next(self.classes(), None)
        found = list(self.classes())
        size = max(1, int(share * len(found) + 1e-9))
        return found[min(rng.choice(len(found), size, replace=False))] if found else None

    def apply(self, move: Move) -> None:
        """Go to the class that an operator leads to; list the pairs whose operators may change."""
        old, (x, y) = self.graph, move.operator[:2]
        self.parents = consistent_extension(self._links.after(move.operator))
        self.graph = cpdag(self.parents)
        self._links = links = ClassLinks(self.graph)
        self.gain += move.gain
        self.steps += 1
        changed = (old.directed ^ self.graph.directed) | (old.undirected ^ self.graph.undirected)
        heads = {v for link in changed for v in link}
        heads.update(members(links.neighbours[x] & links.neighbours[y]))
        dirty = {(a, b) for b in heads for a in range(self._values.n) if a != b}
        dirty |= {(x, b) for b in members(links.onward[y])} - {(x, x)}
        dirty |= {(y, b) for b in members(links.onward[x])} - {(y, y)}
        self._dirty = sorted(dirty)
