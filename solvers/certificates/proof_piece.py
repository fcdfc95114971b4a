"""The linear relaxation of the problem that a node of a proof has been handed.

It turns whole numbers and bits into arrays, and dual values back. Nothing here has to be trusted:
what it finds is a suggestion of multipliers, or of an arc to branch on.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl

from ..lp.clusters import Counted, Support, take_support
from ..lp.multipliers import Multipliers
from ..lp.relaxation import Relaxation, Relaxed
from ..lp.root import solve_root
from ..lp.separation import quick_clusters, separate
from ..parameters import ProofParameters
from ..problem import Problem, offsets
from .certificate import DENOMINATOR, Cluster, Pairs, members_of, rounded
from .checker import Problem as Lists


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
    parameters
        Tuning constants.
    """

    def __init__(
        self, lists: Lists, grid: int, chosen: Sequence[int], parameters: ProofParameters
    ) -> None:
        self.parameters = parameters
        self.lists = lists
        self.variables = list(lists)
        self.problem = _arrays(lists, grid)
        self.chosen = self._rows(chosen)
        self.pool: list[Cluster] = []
        self._rng = np.random.default_rng(0)

    @cached_property
    def relaxation(self) -> Relaxation:
        """The linear program of the nodes, which begins with the pool."""
        pool = self._counted(self.pool)
        return Relaxation(
            self.problem, start=self.chosen, clusters=pool.clusters, counts=pool.counts
        )

    def root(self, clusters: Sequence[Cluster], enough: float, control: SearchControl) -> Pairs:
        """Return rounded multipliers of the whole piece; what they need becomes the pool.

        Parameters
        ----------
        clusters
            Clusters that may help; those not inside of the piece are left out.
        enough
            Stop as soon as the bound is at most this.
        control
            Ends the search for multipliers; those so far are returned.
        """
        known = self._counted(clusters)
        root = solve_root(
            self.problem, chosen=self.chosen, clusters=known, enough=enough, control=control
        )
        pairs = self.pairs(root.multipliers)
        self.pool = [cluster for cluster, _ in pairs]
        return pairs

    def solve(
        self, lists: Lists, enough: float, control: SearchControl
    ) -> tuple[Relaxed, Pairs] | None:
        """Solve the relaxation of a node by cutting planes; return it with rounded multipliers.

        Parameters
        ----------
        lists
            Candidates that may be selected; every variable has one at least.
        enough
            Stop as soon as the bound is at most this.
        control
            Ends the search for cutting planes; then ``None`` is returned.
        """
        tiny = self.parameters.tiny
        self.relaxation.allow(self.held(lists))
        history: list[float] = []
        while control.goes_on() and (relaxed := self.relaxation.solve(control)) is not None:
            history.append(relaxed.objective)
            if not relaxed.feasible or relaxed.objective <= enough or self._stalls(history, enough):
                return relaxed, self.pairs(relaxed.multipliers)
            cuts = self._cuts(relaxed.x)
            if not len(cuts):
                return relaxed, self.pairs(relaxed.multipliers)
            if len(history) == 1 or history[-1] < history[-2] - tiny * abs(history[-2]):
                self.relaxation.keep(relaxed.multipliers.values > tiny)
            self.relaxation.add(cuts.clusters, cuts.counts)
        return None

    def quick_relaxation(
        self, held: NDArray[np.bool_], parent: int, child: int, there: int, control: SearchControl
    ) -> Relaxed | None:
        """Solve the relaxation with or without an arc, without new cuts.

        Return ``None`` when there are no candidates, or the control ends that.

        Parameters
        ----------
        held
            Candidates that may be selected, shape (m,).
        parent, child, there
            The arc, and whether it is there.
        control
            Ends the linear program.
        """
        at = self.variables.index(child)
        own = slice(self.problem.first[at], self.problem.first[at + 1])
        side = held.copy()
        side[own] &= np.array([p >> parent & 1 == there for _, p in self.lists[child]])
        if not side[own].any():
            return None
        self.relaxation.allow(side)
        return self.relaxation.solve(control)

    def pairs(self, multipliers: Multipliers) -> Pairs:
        """Return multipliers, rounded, of clusters in the whole problem's numbers."""
        single = [1 << v for v in self.variables]
        used = multipliers.positive()
        bits = [sum(single[i] for i in np.flatnonzero(row).tolist()) for row in used.clusters]
        return rounded(list(zip(bits, used.counts.tolist(), strict=True)), used.values)

    def arcs(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much of each arc [parent, child] is chosen, shape (n, n)."""
        n, problem = len(self.variables), self.problem
        owner = np.repeat(np.arange(len(x)), np.diff(problem.member_first))
        values = np.zeros((n, n))
        np.add.at(values, (problem.members, problem.child[owner]), x[owner])
        return values

    def _cuts(self, x: NDArray[np.float64]) -> Counted:
        f, n = self.relaxation.families, len(self.variables)
        support = Support(*take_support(x, f.child, f.member_first, f.members))
        most = self.parameters.most_cuts
        quick = Counted.of(quick_clusters(support, n, most, self._rng))
        return separate(support, n, most, self._rng, quick)

    def _stalls(self, history: list[float], enough: float) -> bool:
        """Return whether the last rounds have closed little of the gap."""
        parameters, tail = self.parameters, self.parameters.tail
        if len(history) <= tail:
            return False
        slow = history[-1 - tail] - history[-1] < parameters.least_gain * (history[-1] - enough)
        return slow or len(history) > parameters.most_rounds

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
