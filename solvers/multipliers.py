"""Lagrange multipliers of cluster inequalities: an upper bound that needs no search.

For clusters C with counts k and multipliers ``l >= 0`` (Jaakkola et al. 2010, "Learning Bayesian
network structure using LP relaxations", by weak duality; counts: Cussens 2011, "Bayesian network
learning with cutting planes")::

    max over DAGs of sum_i s_i(PA_i)
        <= sum_i max_PA [ s_i(PA) + sum of l : i in C, fewer than k of PA in C ] - sum of k l

because in every DAG the first k members of a cluster, in a topological order, have fewer than k
parents in it. Most counts are 1. The inner maximum holds for *any* local scores, so multipliers
found for one problem bound its relatives as well.

The inner sum takes one addition for eight clusters. With the clusters that hold a variable as bits,
those that hold the child and at least ``j`` of its parents take a few operations on bytes; the sums
of the multipliers of each byte's 256 subsets are tabulated (the method of the four Russians).
"""

from dataclasses import dataclass, field
from math import fsum

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn._runtime.tolerance import rounding

from .clusters import Counted
from .components import Candidates, families_of
from .problem import Problem

BITS = 8
"""Clusters in a byte."""

SUBSETS = (np.arange(1 << BITS) >> np.arange(BITS)[:, None] & 1).astype(np.float64)
"""Which clusters are in each subset of a byte."""


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


def satisfied(
    problem: Candidates, clusters: NDArray[np.bool_], counts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether candidates of members have too few parents inside, shape (clusters, m)."""
    return SatisfiedClusters.of(problem, clusters, counts).columns_of(slice(None))


def reaching(
    adjusted: NDArray[np.float64], child: NDArray[np.integer], best: NDArray[np.float64],
    bound: float, target: float,
) -> NDArray[np.bool_]:  # fmt: skip
    """Return whether a selection above a target may have each candidate, shape (m,).

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
    reaches: NDArray[np.bool_] = bound - (best[child] - adjusted) > target
    return reaches


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


@dataclass(frozen=True, eq=False)
class SatisfiedClusters:
    """The clusters that each candidate satisfies, kept while multipliers change again and again.

    Parameters
    ----------
    bits
        Eight clusters in a byte, shape (bytes, m).
    order
        The cluster of each bit, or -1 where it counts no more, shape (8 * bytes,).
    """

    bits: NDArray[np.uint8]
    order: NDArray[np.int64]

    @classmethod
    def of(
        cls, problem: Candidates, clusters: NDArray[np.bool_], counts: NDArray[np.int64]
    ) -> "SatisfiedClusters":
        """Return the clusters, sorted by count, that candidates satisfy with their counts."""
        order = np.argsort(counts, kind="stable")
        # clusters of one count stand together, so that a byte has few counts
        f = families_of(problem)
        counts = counts[order]
        of_count = counts == np.arange(int(counts.max(initial=1)) + 1)[:, None]
        each = (
            np.pad(counts, (0, -len(counts) % BITS), mode="edge")
            if len(counts)
            else counts
        )
        highest = each.reshape(-1, BITS).max(axis=1)
        inside = _bytes(clusters[order].T)
        # eight clusters at a time
        bits = _satisfied_bits(
            f.child, f.member_first, f.members, inside, _bytes(of_count), highest
        )
        return cls(bits, np.pad(order, (0, -len(order) % BITS), constant_values=-1))

    def append(self, added: "SatisfiedClusters", k: int) -> "SatisfiedClusters":
        """Return the relation of ``k`` clusters of this relation, and then of those added."""
        order = np.where(added.order < 0, -1, added.order + k)
        bits = np.concatenate([self.bits, added.bits])
        return SatisfiedClusters(bits, np.concatenate([self.order, order]))

    def keep(self, kept: NDArray[np.bool_]) -> "SatisfiedClusters":
        """Return the relation of some clusters; bytes without any are dropped."""
        # new numbers of the clusters kept, -1 for the others
        order = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)[self.order]
        used = (order.reshape(-1, BITS) >= 0).any(axis=1)
        return SatisfiedClusters(self.bits[used], order.reshape(-1, BITS)[used].ravel())

    def rewards(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the multipliers that each candidate is rewarded with, shape (m,)."""
        each = np.append(values, 0.0)[self.order]
        return _look_up(self.bits, each.reshape(-1, BITS) @ SUBSETS)

    def columns_of(self, candidates: NDArray[np.int64] | slice) -> NDArray[np.bool_]:
        """Return whether some candidates satisfy each cluster, shape (clusters, candidates)."""
        # bits back to rows, in the order of the clusters
        held = np.unpackbits(self.bits[:, candidates], axis=0, bitorder="little")
        of_clusters = np.argsort(self.order, kind="stable")[(self.order < 0).sum() :]
        return held[of_clusters].astype(np.bool_)


@kernel
def _look_up(bits: NDArray[np.uint8], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up each column's entries of a table with a row for each byte."""
    total = np.zeros(bits.shape[1])
    for b in range(len(bits)):
        for c in range(len(total)):
            total[c] += sums[b, bits[b, c]]
    return total


def _bytes(rows: NDArray[np.bool_]) -> NDArray[np.int32]:
    return np.packbits(rows, axis=1, bitorder="little").astype(np.int32, order="C")


@kernel
def _satisfied_bits(
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    inside: NDArray[np.int32],
    of_count: NDArray[np.int32],
    highest: NDArray[np.int64],
) -> NDArray[np.uint8]:
    """Return the clusters that each candidate satisfies as bits, shape (bytes, m).

    The clusters that hold each variable, those of each count, and the highest count of each byte
    are given.
    """
    bits = np.zeros((len(highest), len(child)), np.uint8)
    many = np.zeros(len(of_count), np.int64)
    for c in range(len(child)):
        for b in range(len(highest)):
            left = many[0] = inside[child[c], b]
            if left == 0:
                continue
            # many[j]: clusters that hold the child and j of the parents
            for j in range(1, highest[b] + 1):
                many[j] = 0
            for at in range(member_first[c], member_first[c + 1]):
                held = inside[members[at], b]
                for j in range(highest[b], 0, -1):
                    many[j] |= many[j - 1] & held
            # left: clusters with fewer parents than their count
            for j in range(1, highest[b] + 1):
                left &= ~(many[j] & of_count[j, b])
            bits[b, c] = left
    return bits
