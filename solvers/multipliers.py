"""Lagrange multipliers of cluster inequalities: an upper bound that needs no search.

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

from exactlearn._runtime.tolerance import rounding

from .clusters import Counted
from .components import Candidates
from .problem import Problem
from .satisfied_clusters import SatisfiedClusters


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
        rows = self.values > 0.0
        return Multipliers(self.clusters[rows], self.values[rows], self.counts[rows])

    def adjusted(self, problem: Candidates) -> NDArray[np.float64]:
        """Return each candidate's score plus the multipliers of the clusters it satisfies.

        The problem may be a component; what candidates read is left out of account.
        """
        return problem.scores + rewards(
            problem, self.clusters, self.counts, self.values
        )

    def bound(self, problem: Candidates) -> float:
        """Return the upper bound on every acyclic selection's score; rounding is allowed for.

        Parameters
        ----------
        problem
            A component, or a problem, of which the constraints are respected.
        """
        return float(self.reach(problem).max())

    def reach(self, problem: Candidates) -> NDArray[np.float64]:
        """Return the upper bound on selections with each candidate, shape (m,); as :meth:`bound`.

        With a candidate in place of the best one of its variable, the bound falls by how much less
        it is worth.
        """
        adjusted = self.adjusted(problem)
        if isinstance(problem, Problem):
            adjusted = np.where(problem.allowed, adjusted, -np.inf)
        return self.reach_of(problem, adjusted)

    def reach_of(
        self, problem: Candidates, adjusted: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the bounds of :meth:`reach` from adjusted scores; ``-inf`` bars a candidate."""
        best = np.maximum.reduceat(adjusted, problem.first[:-1])
        reached: NDArray[np.float64] = self.total_of(best) - (
            best[problem.child] - adjusted
        )
        return reached

    def total_of(self, best: NDArray[np.float64]) -> float:
        """Return a bound no smaller than the exact one, from each variable's best adjusted score.

        It is the sum of these less the multipliers times their counts.
        """
        return fsum(
            [*best.tolist(), *(-self.counts * self.values).tolist(), self.slack(best)]
        )

    def slack(self, best: NDArray[np.float64]) -> float:
        """Return the largest error of the sum of best adjusted scores, by rounding.

        An adjusted score is a sum of up to k + 1 numbers for k multipliers, each addition of which
        is off by at most one unit in the last place of the sum of their sizes.
        """
        additions = np.count_nonzero(self.values) + 2
        multipliers = 2.0 * float(self.clusters.sum(axis=1) @ self.values)
        return additions * rounding(*best.tolist(), multipliers)


def rewards(
    problem: Candidates,
    clusters: NDArray[np.bool_],
    counts: NDArray[np.int64],
    values: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the multipliers of the clusters that each candidate satisfies, summed, shape (m,).

    Parameters
    ----------
    problem
        The candidates.
    clusters, counts, values
        Members, shape (clusters, n), count and multiplier of each cluster.
    """
    used = values > 0.0
    return SatisfiedClusters.of(problem, clusters[used], counts[used]).rewards(
        values[used]
    )
