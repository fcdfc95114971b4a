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

from ..families import Candidates, Families, families_of
from ..problem import Problem
from .cluster_rewards import Meeting, rewards
from .clusters import Counted


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


def satisfied(
    problem: Problem, clusters: NDArray[np.bool_], counts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which candidates of members have too few parents inside, shape (clusters, m)."""
    return Meeting.of(families_of(problem), clusters, counts).met.T


def reaching(
    adjusted: NDArray[np.float64], child: NDArray[np.integer], best: NDArray[np.float64],
    bound: float, target: float,
) -> NDArray[np.bool_]:  # fmt: skip
    """Tell which candidates a selection above a target may have.

    With a candidate in place of the best one of its variable, the bound falls by how much less it
    is worth.

    Parameters
    ----------
    adjusted, child
        Score and multipliers, and variable, of each candidate, shapes (m,).
    best
        The highest adjusted score of each variable, shape (n,).
    bound
        What follows from these.
    target
        What a selection must score more than.
    """
    found: NDArray[np.bool_] = bound - (best[child] - adjusted) > target
    return found
