"""Cluster inequalities that a fractional selection violates.

In an acyclic selection every cluster C of variables has a member without parents in C:
``sum over i in C of x(candidates of i with no parent in C) >= 1`` (Jaakkola et al. 2010; Bartlett
and Cussens 2017). With one candidate chosen for each variable, the violation of C is

    v(C) = 1 - |C| + sum over i in C of x(candidates of i with a parent in C).

More generally, k of its members have fewer than k parents in it, because the first k in an order do
(Cussens 2011, "Bayesian network learning with cutting planes"). Of such a *counted* cluster,

    v(C, k) = k - |C| + sum over i in C of x(candidates of i with k parents or more in C).

Circuits of length below one, where the arc j -> i has length ``1 - x(candidates of i with parent
j)``, are violated clusters; :mod:`exactlearn.solvers.lp.separation` finds others. All kernels
see the *support* only: candidates with x > 0.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import count_true, kernel, overwrite, true_places

LEAST = 1e-4
"""Smallest violation worth a cut."""

POSITIVE = 1e-7
"""Smallest value of a candidate that counts as positive."""


class Support(NamedTuple):
    """The positive candidates of a fractional selection.

    Attributes
    ----------
    child, x
        Variable and value of each, shape (s,).
    member_first, members
        Their parents, shapes (s + 1,) and (total,).
    """

    child: NDArray[np.int64]
    x: NDArray[np.float64]
    member_first: NDArray[np.int64]
    members: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Counted:
    """Clusters with counts, in rows.

    Parameters
    ----------
    clusters
        Members of each, shape (rows, n).
    counts
        How many members have fewer than so many parents in the cluster, at least, shape (rows,).
    """

    clusters: NDArray[np.bool_]
    counts: NDArray[np.int64]

    @classmethod
    def none(cls, n: int) -> "Counted":
        """Return no clusters of ``n`` variables."""
        return cls.of(np.zeros((0, n), np.bool_))

    @classmethod
    def of(cls, clusters: NDArray[np.bool_], count: int = 1) -> "Counted":
        """Give all clusters the same count."""
        return cls(clusters, np.full(len(clusters), count, np.int64))

    @classmethod
    def join(cls, *parts: "Counted") -> "Counted":
        """Return the rows of all parts, each once."""
        clusters = np.concatenate([part.clusters for part in parts])
        counts = np.concatenate([part.counts for part in parts])
        rows = first_of_each(np.column_stack([counts, clusters]))
        return cls(clusters[rows], counts[rows])

    def __len__(self) -> int:  # noqa: D105
        return len(self.counts)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> "Counted":
        """Return some rows."""
        return Counted(self.clusters[rows], self.counts[rows])

    def violated(self, support: Support, most: int) -> "Counted":
        """Return the most violated rows, at most so many."""
        violation = counted_violations(*support, self.clusters, self.counts)
        rank = np.argsort(-violation, kind="stable")[:most]
        return self.take(rank[violation[rank] > LEAST])

    def widened(self, variables: NDArray[np.int64], n: int) -> "Counted":
        """Return clusters of some variables as clusters of all ``n``."""
        clusters = np.zeros((len(self), n), np.bool_)
        clusters[:, variables] = self.clusters
        return Counted(clusters, self.counts)


def first_of_each(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the first of all rows that are equal, in order, shape (different,)."""
    first: dict[bytes, int] = {}
    for k, row in enumerate(rows.astype(np.uint8)):
        first.setdefault(row.tobytes(), k)
    return np.fromiter(first.values(), np.int64)


@kernel
def take_support(
    x: NDArray[np.float64],
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the arrays of :class:`Support` for the values of all candidates."""
    at = true_places(x > POSITIVE)
    first = np.zeros(len(at) + 1, np.int64)
    for s in range(len(at)):
        first[s + 1] = first[s] + member_first[at[s] + 1] - member_first[at[s]]
    held = np.empty(first[-1], np.int64)
    for s in range(len(at)):
        own = members[member_first[at[s]] : member_first[at[s] + 1]]
        overwrite(held[first[s] : first[s + 1]], own)
    return child[at], x[at], first, held


def violations(support: Support, clusters: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the violation of each cluster, shape (found,)."""
    return counted_violations(*support, clusters, np.ones(len(clusters), np.int64))


@kernel
def counted_violations(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    clusters: NDArray[np.bool_],
    counts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the violation of each cluster with its count, shape (found,)."""
    violation = np.empty(len(clusters))
    for k in range(len(clusters)):
        cluster = clusters[k]
        violation[k] = counts[k] - count_true(cluster)
        for s in range(len(x)):
            if cluster[child[s]]:
                inside = 0
                for at in range(member_first[s], member_first[s + 1]):
                    if cluster[members[at]]:
                        inside += 1
                        if inside == counts[k]:
                            violation[k] += x[s]
                            break
    return violation


@kernel
def arc_lengths(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    n: int,
) -> NDArray[np.float64]:
    """Return the length of each arc [parent, child]: one minus its value, shape (n, n)."""
    length = np.ones((n, n))
    for s in range(len(x)):
        for at in range(member_first[s], member_first[s + 1]):
            length[members[at], child[s]] -= x[s]
    return np.maximum(length, 0.0)


@kernel
def short_circuits(
    child: NDArray[np.int64],
    x: NDArray[np.float64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    n: int,
    most: int,
) -> NDArray[np.bool_]:
    """Return the variables on circuits of length below one, shape (found, n).

    From each variable, shortest paths (Dijkstra) are followed while they are short enough to close.
    """
    length = arc_lengths(child, x, member_first, members, n)
    heads = np.empty((n, n), np.int64)
    n_heads = np.zeros(n, np.int64)
    for tail in range(n):
        for head in range(n):
            if length[tail, head] < 1.0 - LEAST:
                heads[tail, n_heads[tail]] = head
                n_heads[tail] += 1
    found = np.zeros((4 * most, n), np.bool_)
    n_found = 0
    for source in range(n):
        if n_found == len(found):
            break
        n_found = _circuits_through(source, length, heads, n_heads, found, n_found)
    return found[:n_found]


@kernel
def _circuits_through(
    source: int,
    length: NDArray[np.float64],
    heads: NDArray[np.int64],
    n_heads: NDArray[np.int64],
    found: NDArray[np.bool_],
    n_found: int,
) -> int:
    """Add the circuits of a source and variables after it to those found; return their number."""
    n = len(length)
    limit = 1.0 - LEAST
    distance = np.full(n, np.inf)
    before = np.full(n, -1, np.int64)
    done = np.zeros(n, np.bool_)
    reached = np.empty(n, np.int64)
    reached[0] = source
    n_reached = 1
    distance[source] = 0.0
    while True:
        # settle the nearest variable reached
        tail = -1
        for k in range(n_reached):
            v = reached[k]
            if not done[v] and (tail < 0 or distance[v] < distance[tail]):
                tail = v
        if tail < 0:
            return n_found
        done[tail] = True
        # close a circuit at the source, or reach further variables
        for k in range(n_heads[tail]):
            head = heads[tail, k]
            to = distance[tail] + length[tail, head]
            if to >= limit or head < source:
                continue
            if head == source:
                if n_found < len(found):
                    v = tail
                    while v >= 0:
                        found[n_found, v] = True
                        v = before[v]
                    n_found += 1
            elif to < distance[head]:
                if distance[head] == np.inf:
                    reached[n_reached] = head
                    n_reached += 1
                distance[head] = to
                before[head] = tail
