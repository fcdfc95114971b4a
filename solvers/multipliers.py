"""Multipliers of cluster inequalities: an upper bound that needs no search.

For clusters C with counts k and multipliers ``l >= 0`` (Jaakkola et al. 2010, "Learning Bayesian
network structure using LP relaxations", by weak duality; counts: Cussens 2011, "Bayesian network
learning with cutting planes")::

    max over DAGs of sum_i s_i(PA_i)
        <= sum_i max_PA [ s_i(PA) + sum of l : i in C, fewer than k of PA in C ] - sum of k l

because in every DAG the first k members of a cluster, in a topological order, have fewer than k
parents in it. Most counts are 1. The inner maximum holds for *any* local scores, so multipliers
found for one problem bound its relatives as well.
"""

from dataclasses import dataclass, field
from math import fsum

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel
from exactlearn.solvers.clusters import Counted
from exactlearn.solvers.families import Candidates, Families, families_of
from exactlearn.solvers.problem import Problem

MOST_STEPS = 150
"""Subgradient steps after which lowering a bound is given up."""

AIM = 0.1
"""How far below the bound that is wanted a subgradient step aims."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Clusters of variables with their multipliers.

    Parameters
    ----------
    clusters
        Members of each cluster, shape (clusters, n).
    values
        Multiplier of each cluster, none negative, shape (clusters,).
    counts
        Members of each cluster that have fewer than so many parents in it, at least; shape
        (clusters,). Without them, all are 1.
    """

    clusters: NDArray[np.bool_]
    values: NDArray[np.float64]
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:  # noqa: D105
        if not len(self.counts):
            object.__setattr__(self, "counts", np.ones(len(self.values), np.int64))

    @classmethod
    def none(cls, n: int) -> "Multipliers":
        """Return no clusters of ``n`` variables at all: each one's best score is its bound."""
        return cls(np.zeros((0, n), np.bool_), np.zeros(0))

    @property
    def counted(self) -> Counted:
        """The clusters with their counts."""
        return Counted(self.clusters, self.counts)

    def widened(self, variables: NDArray[np.int64], n: int) -> "Multipliers":
        """Return those of clusters of some variables as clusters of all ``n``."""
        wide = self.counted.widened(variables, n)
        return Multipliers(wide.clusters, self.values, wide.counts)

    @property
    def total(self) -> float:
        """Sum of the multipliers, each times its count, which the bound subtracts."""
        return float(self.counts @ self.values)

    def positive(self) -> "Multipliers":
        """Return the clusters whose multiplier is positive."""
        positive = self.values > 0.0
        return Multipliers(self.clusters[positive], self.values[positive], self.counts[positive])

    def adjusted(self, problem: Candidates) -> NDArray[np.float64]:
        """Return each candidate's score plus the multipliers of the clusters it satisfies.

        The problem may be a component; what candidates read is left out of account.
        """
        return self.adjusted_families(families_of(problem))

    def adjusted_families(self, families: Families) -> NDArray[np.float64]:
        """Return the same from bare arrays."""
        return families.scores + rewards(
            families.child,
            families.member_first,
            families.members,
            self.clusters,
            self.counts,
            self.values,
        )

    def bound(self, problem: Candidates, allowed: NDArray[np.bool_] | None = None) -> float:
        """Return the upper bound on every acyclic selection's score; rounding is allowed for.

        Parameters
        ----------
        problem
            A component, or a problem, of which the constraints are respected.
        allowed
            Which candidates may be selected, shape (m,).
        """
        adjusted = self.adjusted(problem)
        if isinstance(problem, Problem):
            adjusted = np.where(problem.allowed, adjusted, -np.inf)
        if allowed is not None:
            adjusted = np.where(allowed, adjusted, -np.inf)
        return self.total_of(np.maximum.reduceat(adjusted, problem.first[:-1]))

    def total_of(self, best: NDArray[np.float64]) -> float:
        """Return a bound no smaller than the exact one, from each variable's best adjusted score.

        An adjusted score is a sum of up to k + 1 numbers for k multipliers, each addition of which
        is off by at most one unit in the last place of the sum of their sizes.
        """
        k = np.count_nonzero(self.values)
        sizes = np.abs(best).sum() + 2.0 * float(self.clusters.sum(axis=1) @ self.values)
        slack = (k + 2) * np.finfo(np.float64).eps * sizes
        return fsum([*best.tolist(), *(-self.counts * self.values).tolist(), slack])

    def lowered(self, problem: Problem, enough: float) -> "Multipliers":
        """Change the multipliers until the bound of a related problem is low enough, if that works.

        Steps of Polyak along subgradients: what is wanted is any point of a convex set, and the
        step length that leads to it follows from how far the bound is above ``enough``.

        Parameters
        ----------
        problem
            A problem whose candidates are all allowed, each variable having one at least.
        enough
            The bound to reach.
        """
        if not len(self.values):
            return self
        meets = satisfied(problem, self.clusters, self.counts)
        best = _polyak(
            problem.scores, problem.first, meets, self.counts, self.values, enough, MOST_STEPS
        )
        return Multipliers(self.clusters, best, self.counts)


def satisfied(
    problem: Problem, clusters: NDArray[np.bool_], counts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which candidates of members have too few parents inside, shape (clusters, m)."""
    meets = np.zeros((len(clusters), problem.n_candidates), np.bool_)
    owner = np.repeat(np.arange(problem.n_candidates), np.diff(problem.member_first))
    for k, cluster in enumerate(clusters):
        inside = np.bincount(owner[cluster[problem.members]], minlength=problem.n_candidates)
        meets[k] = cluster[problem.child] & (inside < counts[k])
    return meets


@kernel
def _polyak(
    scores: NDArray[np.float64],
    first: NDArray[np.int64],
    satisfied: NDArray[np.bool_],
    counts: NDArray[np.int64],
    values: NDArray[np.float64],
    enough: float,
    steps: int,
) -> NDArray[np.float64]:
    """Return the multipliers of the lowest bound met, shape (clusters,)."""
    n_clusters, n = len(values), len(first) - 1
    values = values.copy()
    best, lowest = values.copy(), np.inf
    adjusted = np.empty(len(scores))
    excess = np.empty(n_clusters)
    for _ in range(steps):
        adjusted[:] = scores
        bound = 0.0
        for k in range(n_clusters):
            bound -= counts[k] * values[k]
            excess[k] = -counts[k]
            if values[k] > 0.0:
                for c in range(len(scores)):
                    if satisfied[k, c]:
                        adjusted[c] += values[k]
        for i in range(n):
            pick = first[i]
            for c in range(first[i], first[i + 1]):
                if adjusted[c] > adjusted[pick]:
                    pick = c
            bound += adjusted[pick]
            for k in range(n_clusters):
                excess[k] += satisfied[k, pick]
        if bound < lowest:
            lowest = bound
            best[:] = values
        norm = 0.0
        for k in range(n_clusters):
            if excess[k] < 0.0 or values[k] > 0.0:
                norm += excess[k] ** 2
        if lowest <= enough or norm == 0.0:
            break
        length = (bound - enough + AIM) / norm
        for k in range(n_clusters):
            values[k] = max(0.0, values[k] - length * excess[k])
    return best


@kernel
def _same_family(
    c: int, child: NDArray[np.int64], member_first: NDArray[np.int64], members: NDArray[np.int64]
) -> bool:
    """Tell whether a candidate has the child and the parents of the one before it."""
    size = member_first[c + 1] - member_first[c]
    if child[c] != child[c - 1] or size != member_first[c] - member_first[c - 1]:
        return False
    for p in range(size):
        if members[member_first[c] + p] != members[member_first[c - 1] + p]:
            return False
    return True


@kernel
def rewards(
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    clusters: NDArray[np.bool_],
    counts: NDArray[np.int64],
    values: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the multipliers of the clusters that each candidate satisfies, summed, shape (m,)."""
    n = clusters.shape[1]
    positive = np.flatnonzero(values > 0.0)
    own = np.empty((n, len(positive)), np.int64)
    n_own = np.zeros(n, np.int64)
    for k in positive:
        for v in range(n):
            if clusters[k, v]:
                own[v, n_own[v]] = k
                n_own[v] += 1
    total = np.zeros(len(child))
    for c in range(len(child)):
        if c > 0 and _same_family(c, child, member_first, members):
            total[c] = total[c - 1]  # completions of one family stand together
            continue
        v, begin, end = child[c], member_first[c], member_first[c + 1]
        for j in range(n_own[v]):
            k = own[v, j]
            inside = 0
            for at in range(begin, end):
                if clusters[k, members[at]]:
                    inside += 1
                    if inside == counts[k]:
                        break
            if inside < counts[k]:
                total[c] += values[k]
    return total
