"""The linear relaxation of the problem that a node of a proof has been handed.

It turns whole numbers and bits into arrays, and dual values back. Nothing here has to be trusted:
what it finds is a suggestion of multipliers, or of an arc to branch on.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl

from ..lp.clusters import Counted, Support
from ..lp.multipliers import Multipliers
from ..lp.relaxation import Relaxed
from ..lp.root import CuttingPlanes, Rounds
from ..problem import Problem, offsets
from .certificate import DENOMINATOR, Cluster, Pairs, members_of, rounded
from .checker import Problem as Lists

ROUNDS = Rounds(most_cuts=200, most_rounds=100, tail=5, least_gain=0.02)
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
        lists: Lists,
        grid: int,
        chosen: Sequence[int],
        clusters: Sequence[Cluster],
        control: SearchControl,
    ) -> None:
        self.lists = lists
        self.variables = list(lists)
        self.problem = _arrays(lists, grid)
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

    def solve(self, lists: Lists, enough: float) -> tuple[Relaxed, Pairs] | None:
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
        planes.begin_again(self.held(lists), enough, ROUNDS)
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

    def held(self, lists: Lists) -> NDArray[np.bool_]:
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


def _arrays(lists: Lists, grid: int) -> Problem:
    """Return the same problem as arrays, its variables numbered from 0."""
    position = {v: i for i, v in enumerate(lists)}
    rows = [c for own in lists.values() for c in own]
    members = [[position[v] for v in members_of(p)] for _, p in rows]
    unit = grid * DENOMINATOR
    return Problem(
        names=tuple(map(str, lists)),
        first=offsets([len(own) for own in lists.values()]),
        scores=np.array([s / unit for s, _ in rows]),
        member_first=offsets([len(own) for own in members]),
        members=np.fromiter(chain.from_iterable(members), np.int32),
    )
