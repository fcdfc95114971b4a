"""The nodes of a proof of optimality, their exact bounds, and how they are written.

The kinds of nodes are told in :mod:`exactlearn.solvers.certificates.certificate`. Scores and
multipliers are whole numbers, so that bounds are exact; a bound counts multiples of ``1 / grid``,
the unit of the scores, and a multiplier is a whole number over :data:`DENOMINATOR`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .certificate import decimal
from .checker import Problem, placeable, relax

DENOMINATOR = 2**40
"""Of all multipliers: a thousand clusters of a hundred variables are off by 1e-7 at most."""

Cluster = tuple[int, int]
"""The members as bits, and the count."""

Pairs = tuple[tuple[Cluster, int], ...]
"""Clusters with the numerators of their multipliers."""


@dataclass(frozen=True)
class Leaf:
    """A node proven by its multipliers, or without any acyclic selection."""

    bound: int
    pairs: Pairs = ()


@dataclass
class Arc:
    """Two nodes: the networks with an arc, and those without."""

    parent: int
    child: int
    present: "Node"
    absent: "Node"

    @property
    def bound(self) -> int:
        """Largest bound of the two nodes."""
        return max(self.present.bound, self.absent.bound)


@dataclass
class Fix:
    """A node after candidates have been dropped that take part in nothing above the limit."""

    limit: int
    pairs: Pairs
    rest: "Node"

    @property
    def bound(self) -> int:
        """Bound of all selections, with the candidates dropped and without."""
        return max(self.limit, self.rest.bound)


@dataclass
class Split:
    """A node for each of several groups of variables, and the best of the other variables."""

    parts: list[tuple[tuple[int, ...], "Node"]]
    others: int

    @property
    def bound(self) -> int:
        """Sum of the parts' bounds and the others' best scores."""
        return self.others + sum(node.bound for _, node in self.parts)


Node = Leaf | Arc | Fix | Split


@dataclass
class Writing:
    """Turns nodes into what a certificate holds of them.

    Parameters
    ----------
    grid
        Least common denominator of the scores.

    Attributes
    ----------
    number
        Number of each cluster in the certificate.
    """

    grid: int
    number: dict[Cluster, int] = field(default_factory=dict)

    def tree(self, root: Node) -> list[list[Any]]:
        """Return the nodes in the order of depth-first search."""
        told: list[list[Any]] = []
        stack = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, Leaf):
                told.append(["leaf", self._multipliers(node.pairs)])
            elif isinstance(node, Arc):
                told.append(["arc", node.parent, node.child])
                stack += [node.absent, node.present]
            elif isinstance(node, Fix):
                told.append(["fix", self.score(node.limit), self._multipliers(node.pairs)])
                stack.append(node.rest)
            else:
                parts = [[list(members), self.score(part.bound)] for members, part in node.parts]
                told.append(["split", *parts])
                stack += [part for _, part in reversed(node.parts)]
        return told

    def clusters(self) -> list[list[Any]]:
        """Return count and members of each cluster that the nodes written so far use."""
        return [[count, members_of(bits)] for bits, count in self.number]

    def score(self, units: int) -> str:
        """Return a bound as a decimal number."""
        return decimal(Fraction(units, self.grid))

    def _multipliers(self, pairs: Pairs) -> list[list[int]]:
        return sorted([self.number.setdefault(c, len(self.number)), m] for c, m in pairs)


def members_of(bits: int) -> list[int]:
    """Return the variables in a set given as bits."""
    return [v for v in range(bits.bit_length()) if bits >> v & 1]


def rounded(clusters: Sequence[Cluster], values: NDArray[np.float64]) -> Pairs:
    """Return the multipliers of clusters as whole numbers; without those of 0."""
    numerators = (round(value * DENOMINATOR) for value in values.tolist())
    return tuple((c, m) for c, m in zip(clusters, numerators, strict=True) if m > 0)


def leaf(problem: Problem, pairs: Pairs, grid: int, target: int) -> Leaf:
    """Return the leaf of these multipliers; the target is its bound where nothing can be chosen."""
    if not placeable(problem):
        return Leaf(target)
    return Leaf(relax(problem, _scaled(pairs, grid))[0] // DENOMINATOR, pairs)


def left(problem: Problem, pairs: Pairs, grid: int, limit: int) -> Problem:
    """Return the candidates that may take part in a selection above the limit."""
    _, each = relax(problem, _scaled(pairs, grid))
    return {v: [c for b, c in own if b // DENOMINATOR > limit] for v, own in each.items()}


def _scaled(pairs: Pairs, grid: int) -> list[tuple[int, ...]]:
    return [(*cluster, m * grid) for cluster, m in pairs]
