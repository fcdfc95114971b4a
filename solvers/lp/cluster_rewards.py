"""Which clusters candidates satisfy, and what their multipliers add up to, eight clusters at once.

A member of a cluster of count ``k`` satisfies it with a candidate of fewer than ``k`` parents
inside. With the clusters that hold a variable as bits, those that hold the child and at least ``j``
of its parents take a few operations on bytes; and the sums of the multipliers of each byte's 256
subsets are tabulated, so that a candidate's sum takes one addition for eight clusters (the method
of the four Russians).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel

from ..families import Families

BITS = 8
"""Clusters in a byte."""

SUBSETS = (np.arange(1 << BITS) >> np.arange(BITS)[:, None] & 1).astype(np.float64)
"""Which clusters are in each subset of a byte."""


class Packed(NamedTuple):
    """Clusters as bits, those of lower counts first.

    Attributes
    ----------
    inside
        The clusters that hold each variable, shape (n, bytes).
    of_count
        The clusters of each count, shape (highest count + 1, bytes).
    lowest, highest
        The lowest and the highest count in each byte, shape (bytes,).
    sums
        The sum of the multipliers of each subset of a byte, shape (bytes, 256).
    """

    inside: NDArray[np.int32]
    of_count: NDArray[np.int32]
    lowest: NDArray[np.int32]
    highest: NDArray[np.int32]
    sums: NDArray[np.float64]


def rewards(
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    clusters: NDArray[np.bool_],
    counts: NDArray[np.int64],
    values: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the multipliers of the clusters that each candidate satisfies, summed, shape (m,).

    Parameters
    ----------
    child, member_first, members
        The candidates, as in :class:`~exactlearn.solvers.families.Families`.
    clusters, counts, values
        Members, shape (clusters, n), count and multiplier of each cluster.
    """
    used = np.flatnonzero(values > 0.0)
    used = used[np.argsort(counts[used], kind="stable")]
    packed = _packed(clusters[used], counts[used], values[used])
    nothing = np.zeros((0, 0), np.uint8)
    return _sums(child, member_first, members, packed, nothing)


@dataclass(frozen=True, eq=False)
class Meeting:
    """Which clusters candidates satisfy, kept where multipliers change again and again.

    Parameters
    ----------
    bits
        Eight clusters in a byte, shape (m, bytes).
    order
        The clusters in the order of the bits, shape (clusters,).
    """

    bits: NDArray[np.uint8]
    order: NDArray[np.int64]

    @classmethod
    def of(
        cls, families: Families, clusters: NDArray[np.bool_], counts: NDArray[np.int64]
    ) -> "Meeting":
        """Find out for each candidate and cluster, with its count."""
        order = np.argsort(counts, kind="stable")
        packed = _packed(clusters[order], counts[order], np.zeros(len(order)))
        bits = np.zeros((len(families.child), len(packed.lowest)), np.uint8)
        _sums(families.child, families.member_first, families.members, packed, bits)
        return cls(bits, order)

    def rewards(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what :func:`rewards` returns for the multipliers, shape (clusters,)."""
        return _look_up(self.bits, _subset_sums(values[self.order]))

    @property
    def met(self) -> NDArray[np.bool_]:
        """Which clusters each candidate satisfies, shape (m, clusters)."""
        found = np.empty((len(self.bits), len(self.order)), np.bool_)
        found[:, self.order] = np.unpackbits(
            self.bits, axis=1, count=len(self.order), bitorder="little"
        )
        return found


@kernel
def _look_up(bits: NDArray[np.uint8], sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add up each row's entries of a table with a row for each byte."""
    total = np.zeros(len(bits))
    for c in range(len(bits)):
        for b in range(bits.shape[1]):
            total[c] += sums[b, bits[c, b]]
    return total


def _subset_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of the multipliers of each subset of a byte, shape (bytes, 256)."""
    sums: NDArray[np.float64] = np.pad(values, (0, -len(values) % BITS)).reshape(-1, BITS) @ SUBSETS
    return sums


def _packed(
    clusters: NDArray[np.bool_], counts: NDArray[np.int64], values: NDArray[np.float64]
) -> Packed:
    """Pack clusters in order of their counts."""
    highest = int(counts.max(initial=1))
    pad = -len(counts) % BITS
    of_count = counts == np.arange(highest + 1)[:, None]
    own = np.pad(counts, (0, pad), mode="edge") if pad else counts
    return Packed(
        _bytes(clusters.T),
        _bytes(of_count),
        own.reshape(-1, BITS).min(axis=1).astype(np.int32),
        own.reshape(-1, BITS).max(axis=1).astype(np.int32),
        _subset_sums(values),
    )


def _bytes(rows: NDArray[np.bool_]) -> NDArray[np.int32]:
    return np.packbits(rows, axis=1, bitorder="little").astype(np.int32, order="C")


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
def _sums(
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    packed: Packed,
    bits: NDArray[np.uint8],
) -> NDArray[np.float64]:
    """Return each candidate's sum; fill in which clusters it satisfies if there is room for that.

    Completions of one family stand together, and satisfy the same ones.
    """
    inside, of_count, lowest, highest, sums = packed
    total = np.zeros(len(child))
    many = np.zeros(len(of_count), np.int64)
    for c in range(len(child)):
        if c > 0 and _same_family(c, child, member_first, members):
            total[c] = total[c - 1]
            for b in range(bits.shape[1]):
                bits[c, b] = bits[c - 1, b]
            continue
        for b in range(len(lowest)):
            left = many[0] = inside[child[c], b]
            if left == 0:
                continue
            for j in range(1, highest[b] + 1):
                many[j] = 0
            for at in range(member_first[c], member_first[c + 1]):
                held = inside[members[at], b]
                for j in range(highest[b], 0, -1):
                    many[j] |= many[j - 1] & held
            for j in range(lowest[b], highest[b] + 1):
                left &= ~(many[j] & of_count[j, b])
            total[c] += sums[b, left]
            if len(bits):
                bits[c, b] = left
    return total
