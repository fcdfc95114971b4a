"""Cluster inequalities that a fractional selection violates.

In an acyclic selection every cluster C of variables has a member without parents in C:
``sum over i in C of x(candidates of i with no parent in C) >= 1`` (Jaakkola et al. 2010; Bartlett
and Cussens 2017). With one candidate chosen for each variable, the violation of C is

    v(C) = 1 - |C| + sum over i in C of x(candidates of i with a parent in C).

More generally, k of its members have fewer than k parents in it, because the first k in an order do
(Cussens 2011, "Bayesian network learning with cutting planes"). Of such a *counted* cluster,

    v(C, k) = k - |C| + sum over i in C of x(candidates of i with k parents or more in C).

Searches see the *support* only: candidates with x > 0.

Variables with a listed candidate whose parents are all placed are placed; those that never are form
a cluster, every listed candidate of whose members has a parent in it. It is made minimal by placing
further members by force as long as a cluster remains (the idea of Trösser, de Givry and Katsirelos
2021, "Improved acyclicity reasoning for Bayesian network structure learning with constraint
programming"). Counts of the parents still missing make each placing linear in what it touches.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import count_true, in_place_kernel, kernel, overwrite
from exactlearn._runtime.offsets import offsets

from .components import Candidates
from .satisfied_clusters import satisfied

MIN_VIOLATION = 1e-4
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

    @classmethod
    def of(cls, problem: Candidates, x: NDArray[np.float64]) -> "Support":
        """Take the positive ones of all candidates, shape (m,)."""
        positive = x > POSITIVE
        sizes = np.diff(problem.member_first)
        members = problem.members[np.repeat(positive, sizes)].astype(np.int64)
        child = problem.child[positive].astype(np.int64)
        return cls(child, x[positive], offsets(sizes[positive]), members)

    def arcs(self, n: int) -> NDArray[np.float64]:
        """Return the value of each arc [parent, child], shape (n, n)."""
        sizes = np.diff(self.member_first)
        # an arc has the value of all candidates that contain it
        arcs = self.members * n + np.repeat(self.child, sizes)
        values = np.bincount(arcs, np.repeat(self.x, sizes), n * n)
        return np.asarray(values, np.float64).reshape(n, n)


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
        rows = parts[0].append(*parts[1:])
        packed = np.packbits(rows.clusters, axis=1)
        return rows.take(first_of_each(np.column_stack([rows.counts, packed])))

    def __len__(self) -> int:  # noqa: D105
        return len(self.counts)

    def append(self, *parts: "Counted") -> "Counted":
        """Return these rows, and then those of the parts."""
        counted = (self, *parts)
        return Counted(
            np.concatenate([part.clusters for part in counted]),
            np.concatenate([part.counts for part in counted]),
        )

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> "Counted":
        """Return some rows."""
        return Counted(self.clusters[rows], self.counts[rows])

    def violated(
        self, support: Support, limit: int, threshold: float = MIN_VIOLATION
    ) -> "Counted":
        """Return the rows violated more than ``threshold``, at most ``limit``, worst first."""
        violation = violations(support, self.clusters, self.counts)
        rank = np.argsort(-violation, kind="stable")[:limit]
        return self.take(rank[violation[rank] > threshold])

    def widened(self, variables: NDArray[np.int64], n: int) -> "Counted":
        """Return clusters of some variables as clusters of all ``n``."""
        clusters = np.zeros((len(self), n), np.bool_)
        clusters[:, variables] = self.clusters
        return Counted(clusters, self.counts)


def first_of_each(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return the first of all rows that are equal, in order, shape (different,)."""
    whole = rows.view(f"V{rows.shape[1] * rows.itemsize}")[:, 0]
    return np.sort(np.unique(whole, return_index=True)[1])


def violations(
    support: Support, clusters: NDArray[np.bool_], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the violation v(C, k) of each cluster with its count, shape (clusters,)."""
    inside = clusters[:, support.child]
    few = satisfied(support, clusters, counts)
    blocked = (inside & ~few) @ support.x
    violation: NDArray[np.float64] = counts - clusters.sum(axis=1) + blocked
    return violation


@kernel
def disjoint_clusters(
    listed: NDArray[np.int64],
    child: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    order: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return minimal clusters of listed candidates, without common members, shape (found, n).

    Variables without a listed candidate count as placed; members are placed by force in ``order``.
    """
    n = len(order)
    owner = child[listed]
    missing = member_first[listed + 1] - member_first[listed]
    # the listed candidates that have each variable as a parent
    starts, users = _users(listed, member_first, members, n)
    # place all that can be
    left = np.zeros(n, np.bool_)
    queue = np.empty(n, np.int64)
    waiting = _start(queue, owner, missing, left)
    _place(queue, waiting, owner, starts, users, missing, left)
    # one cluster after the other, each of which is then placed
    clusters = np.zeros((n // 2, n), np.bool_)
    n_clusters = 0
    while count_true(left):
        cluster = _minimal_cluster(owner, starts, users, missing, left, order)
        overwrite(clusters[n_clusters], cluster)
        n_clusters += 1
        waiting = 0
        for v in range(n):
            if cluster[v]:
                queue[waiting] = v
                left[v] = False
                waiting += 1
        _place(queue, waiting, owner, starts, users, missing, left)
    return clusters[:n_clusters]


@kernel
def _users(
    listed: NDArray[np.int64],
    member_first: NDArray[np.int64],
    members: NDArray[np.int64],
    n: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the users of each variable begin, shape (n + 2,), and all users.

    Users of a variable are the listed candidates that have it as a parent, by their place in the
    list.
    """
    # counts stand two places behind their variable, so that filling moves starts to theirs
    starts = np.zeros(n + 2, np.int64)
    for c in listed:
        for at in range(member_first[c], member_first[c + 1]):
            starts[members[at] + 2] += 1
    for v in range(n):
        starts[v + 2] += starts[v + 1]
    users = np.empty(starts[n + 1], np.int64)
    for s in range(len(listed)):
        for at in range(member_first[listed[s]], member_first[listed[s] + 1]):
            users[starts[members[at] + 1]] = s
            starts[members[at] + 1] += 1
    return starts, users


@in_place_kernel
def _start(
    queue: NDArray[np.int64],
    owner: NDArray[np.int64],
    missing: NDArray[np.int64],
    left: NDArray[np.bool_],
) -> int:
    """Queue the variables without a listed candidate or with one that has no parents, in place.

    ``left`` becomes those that are not queued. Return the length of the queue.
    """
    waiting = 0
    for v in owner:
        left[v] = True
    for v in range(len(left)):
        if not left[v]:
            queue[waiting] = v
            waiting += 1
    for s in range(len(owner)):
        if missing[s] == 0 and left[owner[s]]:
            left[owner[s]] = False
            queue[waiting] = owner[s]
            waiting += 1
    return waiting


@in_place_kernel
def _place(
    queue: NDArray[np.int64],
    waiting: int,
    owner: NDArray[np.int64],
    starts: NDArray[np.int64],
    users: NDArray[np.int64],
    missing: NDArray[np.int64],
    left: NDArray[np.bool_],
) -> int:
    """Place the variables of the queue, and all that can be then, in place; return how many.

    Those in the queue, ``waiting`` of them, are taken from ``left`` already. ``missing`` counts
    the parents of each candidate that are left.
    """
    done = 0
    while done < waiting:
        v = queue[done]
        done += 1
        for at in range(starts[v], starts[v + 1]):
            s = users[at]
            missing[s] -= 1
            if missing[s] == 0 and left[owner[s]]:
                left[owner[s]] = False
                queue[waiting] = owner[s]
                waiting += 1
    return done


@kernel
def _minimal_cluster(
    owner: NDArray[np.int64],
    starts: NDArray[np.int64],
    users: NDArray[np.int64],
    missing: NDArray[np.int64],
    left: NDArray[np.bool_],
    order: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return a minimal cluster among the variables left, shape (n,); none are placed for good."""
    # the cluster so far, and a trial in which one member more is placed by force
    cluster = left.copy()
    short = missing.copy()
    size = count_true(cluster)
    queue = np.empty(len(left), np.int64)
    trial = cluster.copy()
    tried = short.copy()
    for v in order:
        if not cluster[v]:
            continue
        trial[v] = False
        queue[0] = v
        # what is left without it is a smaller cluster, unless nothing is
        placed = _place(queue, 1, owner, starts, users, tried, trial)
        if placed < size:
            size -= placed
            overwrite(cluster, trial)
            overwrite(short, tried)
        else:
            overwrite(trial, cluster)
            overwrite(tried, short)
    return cluster
