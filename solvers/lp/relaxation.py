"""The linear relaxation of parent-set selection, by row and column generation.

    max  sum_c s_c x_c     sum over the candidates of i of x_c = 1  for every variable i
                           cluster inequalities of the clusters so far (Jaakkola et al. 2010;
                           Bartlett and Cussens 2017, "Integer linear programming for the Bayesian
                           network structure learning problem")

Only some candidates are columns of the linear program. With the multipliers of the clusters, any
other candidate's reduced cost is a sum over clusters, so that a kernel prices all of them at once:
those whose adjusted score exceeds the best one among their variable's columns enter. A variable
whose columns may exclude each other by a cluster has an artificial column besides, which satisfies
every cluster at a price.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import in_place_kernel, kernel

from ..components import Candidates, families_of
from ..parameters import DEFAULTS, ColumnParameters
from ..problem import offsets
from .linear_program import LinearProgram
from .multipliers import Multipliers


@dataclass(frozen=True, eq=False)
class Relaxed:
    """An optimal solution of the relaxation.

    Parameters
    ----------
    objective
        The optimum, up to the tolerance of the solver.
    bound
        No selection of allowed candidates scores more: the bound of the multipliers.
    x
        Value of each candidate, shape (m,).
    multipliers
        The clusters with their dual values, none negative.
    variable_duals
        Dual value of each variable's equation, shape (n,).
    feasible
        False when the allowed candidates and the clusters contradict each other.
    """

    objective: float
    bound: float
    x: NDArray[np.float64]
    multipliers: Multipliers
    variable_duals: NDArray[np.float64]
    feasible: bool


class Relaxation:
    """A relaxation to which clusters are added, and from which candidates are barred.

    Parameters
    ----------
    problem
        A component, or a problem whose candidates are all allowed.
    start
        Candidates that are columns from the beginning besides the best ones, such as those of the
        incumbent.
    clusters, counts
        Clusters to begin with, shape (clusters, n), and their counts, all 1 if not given.
    parameters
        Tuning constants of column generation.
    """

    def __init__(
        self,
        problem: Candidates,
        *,
        start: NDArray[np.int64] | None = None,
        clusters: NDArray[np.bool_] | None = None,
        counts: NDArray[np.int64] | None = None,
        parameters: ColumnParameters = DEFAULTS.cutting_planes.columns,
    ) -> None:
        self.parameters = parameters
        self.families = families_of(problem)
        n, m = self.families.n_variables, len(self.families.scores)
        self.clusters = np.zeros((0, n), np.bool_)
        self.counts = np.zeros(0, np.int64)
        self.allowed = np.ones(m, np.bool_)
        self._meets = np.zeros(0, np.bool_)
        self._candidates = np.zeros(0, np.int64)
        self._is_column = np.zeros(m, np.bool_)
        self._grown = False
        self._lp = LinearProgram()
        self._lp.add_rows(np.ones(n), np.ones(n), np.zeros(n + 1, np.int64), np.zeros(0, np.int64))
        self._add_artificial()
        best = best_candidates(self.families.first, self.families.scores, parameters.beginning)
        parentless = np.flatnonzero(np.diff(self.families.member_first) == 0)
        given = start if start is not None else parentless
        self._enter(np.unique(np.concatenate([best, parentless, given])))
        if clusters is not None:
            self.add(clusters, counts)

    @property
    def n_clusters(self) -> int:
        """Number of cluster rows."""
        return len(self.clusters)

    def add(self, clusters: NDArray[np.bool_], counts: NDArray[np.int64] | None = None) -> None:
        """Add the rows of clusters, shape (clusters, n), with their counts, if not all are 1."""
        f = self.families
        counts = np.ones(len(clusters), np.int64) if counts is None else counts
        starts, items, meets = cluster_rows(
            f.child, f.member_first, f.members, clusters, counts, self._candidates
        )
        starts, columns = _with_artificial(starts, items, meets, clusters, f.n_variables)
        lower = np.where(meets, -np.inf, counts)
        upper = np.where(meets, clusters.sum(axis=1) - counts, np.inf)
        self._lp.add_rows(lower, upper, starts, columns)
        self.clusters = np.concatenate([self.clusters, clusters])
        self.counts = np.concatenate([self.counts, counts])
        self._meets = np.concatenate([self._meets, meets])

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop the rows of all clusters but those where ``kept``, shape (clusters,), is true."""
        if not kept.all():
            self._lp.delete_rows(self.families.n_variables + np.flatnonzero(~kept))
            self.clusters, self.counts = self.clusters[kept], self.counts[kept]
            self._meets = self._meets[kept]

    def allow(self, allowed: NDArray[np.bool_]) -> None:
        """Bar all candidates but those where ``allowed``, shape (m,), is true."""
        changed = (allowed != self.allowed)[self._candidates]
        self.allowed = allowed.copy()
        upper = np.where(allowed[self._candidates[changed]], np.inf, 0.0)
        self._lp.bound_columns(self.families.n_variables + np.flatnonzero(changed), upper)

    def solve(self, control: SearchControl = UNLIMITED) -> Relaxed | None:
        """Solve the linear program, with further columns until no allowed candidate improves it.

        Return ``None`` when the control ends that.
        """
        while (relaxed := self._solve_columns(control)) is not None:
            f = self.families
            adjusted = relaxed.multipliers.adjusted_families(f)
            entering = priced_in(
                f.first,
                adjusted,
                self.allowed,
                self._is_column,
                relaxed.variable_duals,
                self.parameters.most_priced,
                self.parameters.tolerance,
            )
            if not len(entering):
                best = np.maximum.reduceat(np.where(self.allowed, adjusted, -np.inf), f.first[:-1])
                return replace(relaxed, bound=relaxed.multipliers.total_of(best))
            self._enter(entering)
        return None

    def _solve_columns(self, control: SearchControl) -> Relaxed | None:
        n = self.families.n_variables
        solved = self._lp.solve(dual=not self._grown, control=control)
        if solved is None:
            return None
        objective, values, duals = solved
        self._grown = False
        x = np.zeros(len(self.allowed))
        x[self._candidates] = np.maximum(values[n:], 0.0)
        cluster_duals = np.maximum(np.where(self._meets, duals[n:], -duals[n:]), 0.0)
        multipliers = Multipliers(self.clusters, cluster_duals, self.counts)
        shift = self.clusters[self._meets].T.astype(np.float64) @ cluster_duals[self._meets]
        feasible = bool(values[:n].max(initial=0.0) <= self.parameters.tolerance)
        return Relaxed(objective, np.inf, x, multipliers, duals[:n] + shift, feasible)

    def _add_artificial(self) -> None:
        f, n = self.families, self.families.n_variables
        lowest = np.minimum.reduceat(f.scores, f.first[:-1])
        spread = float((np.maximum.reduceat(f.scores, f.first[:-1]) - lowest).sum())
        self._lp.add_columns(lowest - 10.0 * (1.0 + spread), np.arange(n + 1), np.arange(n))

    def _enter(self, candidates: NDArray[np.int64]) -> None:
        """Make candidates columns."""
        f = self.families
        starts, rows = column_rows(
            f.child, f.member_first, f.members, self.clusters, self.counts, self._meets, candidates
        )
        self._lp.add_columns(f.scores[candidates], starts, rows)
        self._candidates = np.concatenate([self._candidates, candidates])
        self._is_column[candidates] = True
        self._grown = True


def _with_artificial(
    starts: NDArray[np.int64],
    items: NDArray[np.int64],
    meets: NDArray[np.bool_],
    clusters: NDArray[np.bool_],
    n: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows with the artificial columns, after which the others are numbered.

    These satisfy every cluster of their variable, so they appear in the rows that sum those that
    do, not in the others.
    """
    row, variable = np.nonzero(clusters & ~meets[:, None])
    rows = np.concatenate([np.repeat(np.arange(len(meets)), np.diff(starts)), row])
    columns = np.concatenate([items + n, variable])[np.argsort(rows, kind="stable")]
    counts = np.bincount(rows, minlength=len(meets))
    return offsets(counts), columns


@in_place_kernel
def satisfies(
    c: int,
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    cluster: NDArray[np.bool_],
    count: int,
) -> bool:
    """Return whether a candidate has fewer parents in a cluster than the count."""
    inside = 0
    for at in range(member_first[c], member_first[c + 1]):
        inside += cluster[members[at]]
    return inside < count


@kernel
def cluster_rows(
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    clusters: NDArray[np.bool_],
    counts: NDArray[np.int64],
    candidates: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the rows of clusters, in the shorter form of each: starts, positions and form.

    True: those with k parents or more inside, at most ``|C| - k`` of them. False: those with
    fewer, at least k. The count k is mostly 1.
    """
    forms = np.empty(len(clusters), np.bool_)
    starts = np.zeros(len(clusters) + 1, np.int64)
    for k in range(len(clusters)):
        sizes = np.zeros(2, np.int64)
        for c in candidates:
            if clusters[k, child[c]]:
                sizes[int(satisfies(c, member_first, members, clusters[k], counts[k]))] += 1
        forms[k] = sizes[0] < sizes[1]
        starts[k + 1] = starts[k] + min(sizes[0], sizes[1])
    items = np.empty(starts[-1], np.int64)
    for k in range(len(clusters)):
        at = starts[k]
        for j in range(len(candidates)):
            c = candidates[j]
            inside = clusters[k, child[c]]
            if inside and satisfies(c, member_first, members, clusters[k], counts[k]) != forms[k]:
                items[at] = j
                at += 1
    return starts, items, forms


@kernel
def column_rows(
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    clusters: NDArray[np.bool_],
    counts: NDArray[np.int64],
    forms: NDArray[np.bool_],
    candidates: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of each candidate: its variable's, then those of clusters, after all n."""
    n = clusters.shape[1]
    starts = np.zeros(len(candidates) + 1, np.int64)
    rows = np.empty(len(candidates) * (1 + len(clusters)), np.int64)
    at = 0
    for j in range(len(candidates)):
        c = candidates[j]
        rows[at] = child[c]
        at += 1
        for k in range(len(clusters)):
            inside = clusters[k, child[c]]
            if inside and satisfies(c, member_first, members, clusters[k], counts[k]) != forms[k]:
                rows[at] = n + k
                at += 1
        starts[j + 1] = at
    return starts, rows[:at]


@kernel
def best_candidates(
    first: NDArray[np.int64], values: NDArray[np.float64], most: int
) -> NDArray[np.int64]:
    """Return the candidates of highest value of each variable, at most ``most`` of each."""
    n = len(first) - 1
    best = np.empty(n * most, np.int64)
    count = 0
    for i in range(n):
        begin = count
        for c in range(first[i], first[i + 1]):
            at = count
            while at > begin and values[best[at - 1]] < values[c]:
                if at - begin < most:
                    best[at] = best[at - 1]
                at -= 1
            if at - begin < most:
                best[at] = c
                count = min(count + 1, begin + most)
    return best[:count]


@kernel
def priced_in(
    first: NDArray[np.int64],
    adjusted: NDArray[np.float64],
    allowed: NDArray[np.bool_],
    is_column: NDArray[np.bool_],
    prices: NDArray[np.float64],
    most: int,
    tolerance: float,
) -> NDArray[np.int64]:
    """Return allowed candidates, not yet columns, that are worth more than their variable's price.

    At most ``most`` for each variable, those worth most.
    """
    values = np.full(len(adjusted), -np.inf)
    for i in range(len(first) - 1):
        for c in range(first[i], first[i + 1]):
            if allowed[c] and not is_column[c] and adjusted[c] > prices[i] + tolerance:
                values[c] = adjusted[c]
    best = best_candidates(first, values, most)
    return best[values[best] > -np.inf]
