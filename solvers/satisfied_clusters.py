"""The clusters that each candidate satisfies, eight in a byte.

A candidate satisfies a cluster C with count k when its variable is in C and fewer than k of its
parents are. With the clusters that hold a variable as bits, those that hold the child and at least
``j`` of its parents take a few operations on bytes. A sum of multipliers takes one addition for
eight clusters: the sums of each byte's 256 subsets are tabulated (the method of the four Russians).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel

BITS = 8
"""Clusters in a byte."""

SUBSETS = (np.arange(1 << BITS) >> np.arange(BITS)[:, None] & 1).astype(np.float64)
"""Which clusters are in each subset of a byte."""


class ParentSets(Protocol):
    """Parent sets of variables: candidates of a problem or component, or a fractional selection."""

    @property
    def child(self) -> NDArray[np.integer]: ...  # noqa: D102
    @property
    def member_first(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def members(self) -> NDArray[np.integer]: ...  # noqa: D102


def satisfied(
    candidates: ParentSets, clusters: NDArray[np.bool_], counts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether candidates of members have too few parents inside, shape (clusters, m)."""
    return SatisfiedClusters.of(candidates, clusters, counts).columns_of(slice(None))


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
        cls,
        candidates: ParentSets,
        clusters: NDArray[np.bool_],
        counts: NDArray[np.int64],
    ) -> "SatisfiedClusters":
        """Return the clusters, sorted by count, that candidates satisfy with their counts."""
        order = np.argsort(counts, kind="stable")
        # clusters of one count stand together, so that a byte has few counts
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
            candidates.child.astype(np.int64, copy=False),
            candidates.member_first,
            candidates.members.astype(np.int64, copy=False),
            inside,
            _bytes(of_count),
            highest,
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

    def columns_of(
        self, candidates: int | slice | NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return whether some candidates satisfy each cluster, shape (clusters, candidates).

        Of a single candidate, by its number, the shape is (clusters,).
        """
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
