"""The order graph of a component: its candidates by reduced cost, and the rows that pay for them.

A *counted cluster* is a set C of variables with a number k, ``1 <= k < |C|``. In every acyclic
selection at least k members of C have fewer than k parents in C, since the first k members of any
topological order do (k = 1 is the cluster inequality; the others are the k-cluster inequalities of
Cussens 2011, "Bayesian network learning with cutting planes"; k = ``|C| - 1`` is the set packing of
Bartlett and Cussens 2013). With multipliers ``l >= 0`` this gives the Lagrangian bound

    sum_i max_PA [ s_i(PA) + sum of l over (C, k) with i in C, |PA & C| < k ] - sum of k l

and a candidate's *reduced cost*, by how much its own value lies below its variable's maximum.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel

from ..components import Component, bits_to_matrix
from ..lp.multipliers import Multipliers, rewards
from ..problem import offsets

ONE = np.uint64(1)

WORD = 64
"""Bits in one word of a bit set, and the most variables of an order graph."""


class OrderGraph(NamedTuple):
    """What the kernels know of a component, after candidates that cost too much were dropped.

    Attributes
    ----------
    first
        Where each variable's candidates begin, shape (n + 1,).
    parents, reduced
        Each candidate's parents as a bit set, and its reduced cost, shape (m,).
    members, counts, values
        Rows: members as bit sets, number k and multiplier, shape (rows,).
    own_first, own
        Rows whose sets contain each variable, shapes (n + 1,) and (total,).
    few
        Which of its variable's own rows a candidate has fewer than k parents in, shape (m, words).
    """

    first: NDArray[np.int64]
    parents: NDArray[np.uint64]
    reduced: NDArray[np.float64]
    members: NDArray[np.uint64]
    counts: NDArray[np.int64]
    values: NDArray[np.float64]
    own_first: NDArray[np.int64]
    own: NDArray[np.int64]
    few: NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Priced:
    """A component's Lagrangian bound and reduced costs.

    Parameters
    ----------
    loss
        Least total loss (component's relaxation minus score) that the bound allows.
    reduced
        Reduced cost of each candidate, shape (m,).
    """

    loss: float
    reduced: NDArray[np.float64]


def losses_of(component: Component) -> NDArray[np.float64]:
    """Return the score each candidate loses against its variable's best one, shape (m,)."""
    return component.scores[component.first[component.child]] - component.scores


def price(component: Component, multipliers: Multipliers) -> Priced:
    """Return the bound and the reduced costs that multipliers give."""
    met = rewards(component, multipliers.clusters, multipliers.counts, multipliers.values)
    adjusted = losses_of(component) - met
    least = np.minimum.reduceat(adjusted, component.first[:-1])
    return Priced(float(least.sum()) + multipliers.total, adjusted - least[component.child])


@dataclass(frozen=True, eq=False)
class Numbered:
    """Candidates and rows of a component in an order of its variables of our own.

    Parameters
    ----------
    component, multipliers
        Where they come from, numbered as before.
    child, parents
        Variable, and parents as a bit set, of each candidate, shape (m,).
    members
        Members of each row as a bit set, shape (rows,).
    """

    component: Component
    multipliers: Multipliers
    child: NDArray[np.int64]
    parents: NDArray[np.uint64]
    members: NDArray[np.uint64]

    @classmethod
    def of(
        cls, component: Component, multipliers: Multipliers, position: NDArray[np.int64]
    ) -> "Numbered":
        """Give each variable the number ``position``."""
        bits = ONE << position.astype(np.uint64)
        parents = bits_to_matrix(component.parents, component.n_variables)
        return cls(
            component=component,
            multipliers=multipliers,
            child=position[component.child],
            parents=(parents * bits).sum(axis=1, dtype=np.uint64),
            members=(multipliers.clusters * bits).sum(axis=1, dtype=np.uint64),
        )

    def graph(self, reduced: NDArray[np.float64], keep: NDArray[np.int64]) -> OrderGraph:
        """Return the arrays for some candidates.

        Parameters
        ----------
        reduced
            Reduced cost of each candidate, shape (m,).
        keep
            Candidates in the wanted order, sorted by variable, shape (kept,).
        """
        n, counts = self.component.n_variables, self.multipliers.counts
        parents, members = self.parents[keep], self.members
        first = offsets(np.bincount(self.child[keep], minlength=n))
        inside = ((members >> np.arange(n, dtype=np.uint64)[:, None]) & ONE).astype(np.bool_)
        own_first = offsets(inside.sum(axis=1))
        width = 8 * max(1, -(-int(np.diff(own_first).max(initial=0)) // WORD))
        few = np.zeros((len(keep), width), np.uint8)
        for v in range(n):
            begin, end = first[v : v + 2]
            shared = np.bitwise_count(parents[begin:end, None] & members[inside[v]])
            bits = np.packbits(shared < counts[inside[v]], axis=1, bitorder="little")
            few[begin:end, : bits.shape[1]] = bits
        return OrderGraph(
            first=first,
            parents=parents,
            reduced=reduced[keep],
            members=members,
            counts=counts,
            values=self.multipliers.values,
            own_first=own_first,
            own=np.nonzero(inside)[1].astype(np.int64),
            few=few.view("<u8").astype(np.uint64),
        )


@in_place_kernel
def size_of(bits: np.uint64) -> int:
    """Return the number of members of a bit set; compiled to one machine instruction."""
    x = bits
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@in_place_kernel
def lowest(bits: np.uint64) -> int:
    """Return the smallest member of a bit set that is not empty."""
    return size_of((bits & (~bits + np.uint64(1))) - np.uint64(1))
