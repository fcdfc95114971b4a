"""A problem taken apart into pieces that can be solved on their own.

A directed cycle never leaves a strongly connected component of the graph that has an arc for every
parent of every allowed candidate. So each component is solved alone, with the parents outside of it
granted, and the optima add up.

Inside a component the candidates of a variable are sorted by falling score, and a candidate is
dropped when a better one needs a subset of its parents.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.checkpoint import digest
from exactlearn._runtime.kernel import kernel
from exactlearn._runtime.offsets import offsets, owners

from .problem import Problem

WORD = 64
"""Bits in one word of a bit set."""

SPREAD = 1 << 18
"""Words whose bits are spread over bytes at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Component:
    """A piece of a problem; its variables and candidates are numbered from 0.

    Parameters
    ----------
    variables
        Index in the problem of each variable, shape (n,).
    first
        Where each variable's candidates begin, shape (n + 1,). Scores fall within a variable.
    scores
        Score of each candidate, shape (m,).
    parents
        Parents of each candidate as bit sets over the component, shape (m, words).
    candidate
        Row in the problem of each candidate, shape (m,).
    """

    variables: NDArray[np.int64]
    first: NDArray[np.int64]
    scores: NDArray[np.float64]
    parents: NDArray[np.uint64]
    candidate: NDArray[np.int64]

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.variables)

    @property
    def n_candidates(self) -> int:
        """Number of candidates."""
        return len(self.scores)

    @cached_property
    def child(self) -> NDArray[np.int64]:
        """Variable of each candidate, shape (m,)."""
        return owners(self.first)

    @cached_property
    def losses(self) -> NDArray[np.float64]:
        """Score that each candidate loses against its variable's best one, shape (m,)."""
        return self.scores[self.first[self.child]] - self.scores

    @cached_property
    def relaxation(self) -> float:
        """Sum of every variable's best score: a bound on every selection."""
        return fsum(self.scores[self.first[:-1]].tolist())

    @cached_property
    def member_first(self) -> NDArray[np.int64]:
        """Where each candidate's parents begin in :attr:`members`, shape (m + 1,)."""
        return offsets(np.bitwise_count(self.parents).sum(axis=1, dtype=np.int64))

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """Parents of all candidates, one after the other, shape (total,)."""
        parts = np.array_split(self.parents, 1 + self.parents.size // SPREAD)
        bits = [
            np.nonzero(bits_to_matrix(part, WORD * part.shape[1]))[1] for part in parts
        ]
        return np.concatenate(bits).astype(np.int64)

    @cached_property
    def max_parents(self) -> int:
        """Most parents inside the component that a candidate has."""
        return int(np.diff(self.member_first).max(initial=0))

    @cached_property
    def digest(self) -> str:
        """Names what a search in the component depends on, for the states that it keeps."""
        return digest(self.first, self.scores, self.parents)

    def total(self, selection: NDArray[np.int64]) -> float:
        """Return the score of one chosen candidate for each variable."""
        return fsum(self.scores[selection].tolist())


def split(
    problem: Problem, candidates: NDArray[np.int64] | None = None
) -> tuple[Component, ...]:
    """Take a problem apart, in the order of each component's smallest variable.

    Every variable must have an allowed candidate (see :meth:`Problem.require_feasible`).

    Parameters
    ----------
    problem
        The problem.
    candidates
        Take apart only these rows of the problem, and the variables they belong to; without them
        all allowed ones.
    """
    kept = problem.allowed
    if candidates is not None:
        kept = np.zeros(problem.n_candidates, np.bool_)
        kept[candidates] = True
    # only candidates that may be chosen make arcs
    numbers = np.flatnonzero(kept)
    problem = problem.select(kept)
    parts = strong_parts(problem)
    # All candidates by part, then by variable, then by falling score.
    part = parts[problem.child]
    rows = np.lexsort((np.arange(len(part)), -problem.scores, problem.child, part))
    starts = np.flatnonzero(np.diff(part[rows], prepend=-1))
    local = np.full(problem.n_variables + 1, -1, np.int64)
    # each part with its own numbers, and rows of the whole problem
    components = [
        _component(problem, part_rows, local)
        for part_rows in np.split(rows, starts)[1:]
    ]
    return tuple(replace(c, candidate=numbers[c.candidate]) for c in components)


def strong_parts(problem: Problem) -> NDArray[np.int64]:
    """Return the strongly connected part of each variable, numbered by smallest variable."""
    n = problem.n_variables
    child = np.repeat(problem.child, np.diff(problem.member_first)).astype(np.int64)
    # an arc for each parent of some candidate
    arcs = np.unique(problem.members.astype(np.int64) * n + child)
    labels = strong_components(arcs // n, arcs % n, n)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)


def strong_components(
    tails: NDArray[np.int64], heads: NDArray[np.int64], n: int
) -> NDArray[np.int64]:
    """Return a number below ``n`` for each vertex, the same in a strongly connected component.

    Parameters
    ----------
    tails, heads
        The arcs, shape (arcs,).
    n
        Number of vertices.

    Examples
    --------
    >>> labels = strong_components(np.array([0, 1, 2]), np.array([1, 2, 1]), 3)
    >>> bool(labels[1] == labels[2]), bool(labels[0] == labels[1])
    (True, False)
    """
    if n == 0:
        return np.zeros(0, np.int64)
    from scipy.sparse import coo_array  # takes long to import
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(n, n))
    labels = connected_components(graph.tocsr(), connection="strong")[1]
    return np.asarray(labels, np.int64)


def _component(
    problem: Problem, rows: NDArray[np.int64], local: NDArray[np.int64]
) -> Component:
    """Return a part of a problem, of the candidates in these rows.

    ``local`` is -1 for every variable, before and after the call.
    """
    variables = np.unique(problem.child[rows]).astype(np.int64)
    first = offsets(problem.first[variables + 1] - problem.first[variables])
    width = -(-len(variables) // WORD)
    local[variables] = np.arange(len(variables))
    # parents inside the part as bits; those outside are granted
    parents = bit_sets(problem.member_first, problem.members, rows, local, width)
    local[variables] = -1
    # candidates of which a better one needs a subset of the parents leave
    keep = undominated(first, parents)
    kept = np.add.reduceat(keep.astype(np.int64), first[:-1])
    return Component(
        variables=variables,
        first=offsets(kept),
        scores=problem.scores[rows][keep],
        parents=parents[keep],
        candidate=rows[keep],
    )


def bit_sets(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    rows: NDArray[np.int64],
    local: NDArray[np.int64],
    words: int,
) -> NDArray[np.uint64]:
    """Return the items of each row as a bit set of their local numbers, shape (rows, words)."""
    sizes = starts[rows + 1] - starts[rows]
    owner = np.repeat(np.arange(len(rows)), sizes)
    first = offsets(sizes)[:-1]
    # members outside have the number -1
    bits = local[items[np.arange(len(owner)) + np.repeat(starts[rows] - first, sizes)]]
    owner = owner[bits >= 0]
    bits = bits[bits >= 0]
    masks = np.zeros(len(rows) * words, np.uint64)
    np.add.at(
        masks,
        owner * words + (bits >> 6),
        np.uint64(1) << (bits & 63).astype(np.uint64),
    )
    return masks.reshape(len(rows), words)


@kernel
def undominated(
    first: NDArray[np.int64], masks: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Return whether each row contains no earlier kept row of its variable, shape (m,)."""
    keep = np.ones(len(masks), np.bool_)
    # Kept rows are listed by their largest member: a row contains those of its own members only.
    none = WORD * masks.shape[1]
    earlier = np.empty(len(masks), np.int64)
    for v in range(len(first) - 1):
        last = np.full(none + 1, -1, np.int64)
        for c in range(first[v], first[v + 1]):
            for b in range(-1, none):
                if b < 0 or masks[c, b >> 6] >> np.uint64(b & 63) & np.uint64(1):
                    largest = b
                    k = last[b]
                    # kept rows whose largest member is b
                    while k >= 0:
                        outside = np.uint64(0)
                        for w in range(masks.shape[1]):
                            outside |= masks[k, w] & ~masks[c, w]
                        if outside == np.uint64(0):
                            keep[c] = False
                            break
                        k = earlier[k]
            if keep[c]:
                earlier[c] = last[largest]
                last[largest] = c
    return keep


def bits_to_matrix(masks: NDArray[np.uint64], n: int) -> NDArray[np.bool_]:
    """Return bit sets as the rows of a matrix, shape (m, n)."""
    bytes_ = (
        np.ascontiguousarray(masks).astype("<u8").view(np.uint8).reshape(len(masks), -1)
    )
    return np.unpackbits(bytes_, axis=1, count=n, bitorder="little").astype(np.bool_)


class Candidates(Protocol):
    """The candidates of a problem or component: those of a variable stand together."""

    @property
    def n_variables(self) -> int: ...  # noqa: D102
    @property
    def first(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def scores(self) -> NDArray[np.float64]: ...  # noqa: D102
    @property
    def child(self) -> NDArray[np.integer]: ...  # noqa: D102
    @property
    def member_first(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def members(self) -> NDArray[np.integer]: ...  # noqa: D102
