"""The linear relaxation of the problem that a node of a proof has been handed.

It turns whole numbers and bits into arrays, and dual values back. Nothing here has to be trusted:
what it finds is a suggestion of multipliers or of an arc to branch on.
"""

from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from exactlearn.solvers.certificate_checker import Problem
from exactlearn.solvers.cluster_search import violated_clusters
from exactlearn.solvers.clusters import Support, take_support
from exactlearn.solvers.families import Families
from exactlearn.solvers.problem import Problem as Selection
from exactlearn.solvers.problem import offsets
from exactlearn.solvers.proof_tree import DENOMINATOR, Pairs, members_of, rounded
from exactlearn.solvers.relaxation import Relaxation, Relaxed

MOST_CUTS = 200
"""Clusters added in one round."""

TIGHT = 1e-9
"""Dual value above which a cluster is kept."""

MOST_ROUNDS = 500
"""Rounds of cuts at one node."""

SLOW, PATIENCE = 0.02, 5
"""Away from the root, cuts are given up that close less of the gap than this in so many rounds."""


class Piece:
    """The relaxation of a problem over some variables, with clusters that are added as needed.

    Parameters
    ----------
    problem
        Candidates of each variable; none empty.
    grid
        Least common denominator of the scores.
    clusters
        Bits of clusters to begin with; those that are not inside of the piece are left out.
    """

    def __init__(self, problem: Problem, grid: int, clusters: list[int]) -> None:
        self.problem, self.grid = problem, grid
        self.variables = list(problem)
        inside = sum(1 << v for v in self.variables)
        known = [c for c in dict.fromkeys(clusters) if not c & ~inside]
        self.relaxation = Relaxation(self.selection, clusters=self._matrix(known))

    @cached_property
    def selection(self) -> Selection:
        """The same problem as arrays, its variables numbered from 0."""
        position = {v: i for i, v in enumerate(self.variables)}
        rows = [c for own in self.problem.values() for c in own]
        members = [[position[v] for v in members_of(p)] for _, p in rows]
        unit = self.grid * DENOMINATOR
        return Selection(
            names=tuple(map(str, self.variables)),
            first=offsets([len(own) for own in self.problem.values()]),
            scores=np.array([s / unit for s, _ in rows]),
            member_first=offsets([len(own) for own in members]),
            members=np.fromiter(chain.from_iterable(members), np.int32),
        )

    @property
    def families(self) -> Families:
        """The arrays that kernels take."""
        return self.relaxation.families

    def narrowed(self, allowed: NDArray[np.bool_]) -> Problem:
        """Return the problem with the candidates that are allowed, shape (m,)."""
        kept = iter(allowed.tolist())
        return {v: [c for c in own if next(kept)] for v, own in self.problem.items()}

    def rows_of(self, problem: Problem) -> NDArray[np.bool_]:
        """Return which candidates a narrowed problem holds, shape (m,)."""
        held = {v: {p for _, p in own} for v, own in problem.items()}
        rows = (p in held[v] for v, own in self.problem.items() for _, p in own)
        return np.fromiter(rows, np.bool_, self.selection.n_candidates)

    def solve(
        self, allowed: NDArray[np.bool_], enough: float, *, patient: bool
    ) -> tuple[Relaxed, Pairs]:
        """Solve the relaxation by cutting planes; return it with its rounded multipliers.

        Parameters
        ----------
        allowed
            Candidates that may be selected, shape (m,); every variable has one at least.
        enough
            Stop as soon as the bound is at most this.
        patient
            Whether to go on as long as there are cuts, however little they help.
        """
        self.relaxation.allow(allowed)
        history: list[float] = []
        while True:
            relaxed = self.relaxation.solve()
            history.append(relaxed.objective)
            done = not relaxed.feasible or relaxed.objective <= enough
            if done or len(history) > MOST_ROUNDS or (not patient and _stalls(history, enough)):
                return relaxed, self.pairs(relaxed)
            cuts = self._cuts(relaxed.x)
            if not len(cuts):
                return relaxed, self.pairs(relaxed)
            if len(history) == 1 or history[-1] < history[-2] - TIGHT * abs(history[-2]):
                self.relaxation.keep(relaxed.multipliers.values > TIGHT)
            self.relaxation.add(cuts)

    def pairs(self, relaxed: Relaxed) -> Pairs:
        """Return the clusters of a solution, in the whole problem's numbers, with multipliers."""
        return rounded(self._bits(relaxed.multipliers.clusters), relaxed.multipliers.values)

    def arcs(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much of each arc [parent, child] is chosen, shape (n, n)."""
        f, n = self.families, len(self.variables)
        owner = np.repeat(np.arange(len(x)), np.diff(f.member_first))
        values = np.zeros((n, n))
        np.add.at(values, (f.members, f.child[owner]), x[owner])
        return values

    def _cuts(self, x: NDArray[np.float64]) -> NDArray[np.bool_]:
        f = self.families
        support = Support(*take_support(x, f.child, f.member_first, f.members))
        return violated_clusters(support, len(self.variables), MOST_CUTS)

    def _matrix(self, clusters: list[int]) -> NDArray[np.bool_]:
        held = [[bool(c >> v & 1) for v in self.variables] for c in clusters]
        return np.array(held, np.bool_).reshape(-1, len(self.variables))

    def _bits(self, clusters: NDArray[np.bool_]) -> list[int]:
        single = [1 << v for v in self.variables]
        return [sum(single[i] for i in np.flatnonzero(row)) for row in clusters]


def _stalls(history: list[float], enough: float) -> bool:
    """Tell whether the last rounds have closed little of the gap."""
    if len(history) <= PATIENCE:
        return False
    return history[-1 - PATIENCE] - history[-1] < SLOW * (history[-1] - enough)
