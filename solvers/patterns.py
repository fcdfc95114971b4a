"""Pattern databases: the cheapest way to place a group of variables, all others being there.

The variables are taken apart into groups. For a group G and a subset U of it,

    h_G(U) = min over X in U of [ h_G(U - X) + min cost of X's candidates without parents in U ]

is what U costs at least when it is placed last, after the rest of G, with all variables outside of
G free to be parents; a row (C, k) is charged when the rest of G has k members of C. The sum over
the groups of ``h_G(G - S)`` bounds the cost of completing a state S, since each candidate is
counted in one group (additive pattern databases: Felner, Korf and Hanan 2004; in the order graph:
Yuan and Malone 2013, "Learning optimal Bayesian networks: a shortest path perspective", static
k-cycle conflict). Groups are exact about what happens inside of them, so variables are put together
that share rows of large multipliers.

The order graph of a component has its candidates by reduced cost, and the rows that pay for them.

A *counted cluster* is a set C of variables with a number k, ``1 <= k < |C|``. In every acyclic
selection at least k members of C have fewer than k parents in C, since the first k members of any
topological order do (k = 1 is the cluster inequality; the others are the k-cluster inequalities of
Cussens 2011, "Bayesian network learning with cutting planes"; k = ``|C| - 1`` is the set packing of
Bartlett and Cussens 2013). With multipliers ``l >= 0`` this gives the Lagrangian bound

    sum_i max_PA [ s_i(PA) + sum of l over (C, k) with i in C, |PA & C| < k ] - sum of k l

and a candidate's *reduced cost*, by how much its own value lies below its variable's maximum.
"""

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.executors import n_threads
from exactlearn._runtime.kernel import in_place_kernel
from exactlearn._runtime.offsets import offsets

from .components import WORD, Component, bits_to_matrix, undominated
from .multipliers import Multipliers, rewards

ONE = np.uint64(1)


class OrderGraph(NamedTuple):
    """The candidates and rows of a component as kernels take them, without too costly ones.

    Attributes
    ----------
    first
        Where each variable's candidates begin, shape (n + 1,).
    parents, reduced
        Each candidate's parents as a bit set, and its reduced cost, shape (m,).
    members, counts, values
        Rows: members as bit sets, number k and multiplier, shape (rows,).
    row_first, rows
        Rows whose sets contain each variable, shapes (n + 1,) and (total,).
    few
        Which of its variable's rows a candidate has fewer than k parents in, shape (m, words).
    """

    first: NDArray[np.int64]
    parents: NDArray[np.uint64]
    reduced: NDArray[np.float64]
    members: NDArray[np.uint64]
    counts: NDArray[np.int64]
    values: NDArray[np.float64]
    row_first: NDArray[np.int64]
    rows: NDArray[np.int64]
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
    slack
        How far the cost of a path is off at most, by rounding.
    """

    loss: float
    reduced: NDArray[np.float64]
    slack: float


def price(component: Component, multipliers: Multipliers) -> Priced:
    """Return the bound and the reduced costs that multipliers give."""
    met = rewards(
        component, multipliers.clusters, multipliers.counts, multipliers.values
    )
    # losses less multipliers: the least of each variable is the bound's share
    adjusted = component.losses - met
    lowest_adjusted = np.minimum.reduceat(adjusted, component.first[:-1])
    # a path adds up a reduced cost for each variable, and the multipliers charged
    slack = 2.0 * multipliers.slack(lowest_adjusted)
    loss = fsum([*lowest_adjusted.tolist(), multipliers.total])
    return Priced(loss, adjusted - lowest_adjusted[component.child], slack)


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
        # variables by their new numbers
        bits = ONE << position.astype(np.uint64)
        parents = bits_to_matrix(component.parents, component.n_variables)
        return cls(
            component=component,
            multipliers=multipliers,
            child=position[component.child],
            parents=(parents * bits).sum(axis=1, dtype=np.uint64),
            members=(multipliers.clusters * bits).sum(axis=1, dtype=np.uint64),
        )

    def graph(
        self, reduced: NDArray[np.float64], keep: NDArray[np.int64]
    ) -> OrderGraph:
        """Return the arrays for some candidates.

        Parameters
        ----------
        reduced
            Reduced cost of each candidate, shape (m,).
        keep
            Candidates in the wanted order, sorted by variable, shape (kept,).
        """
        n = self.component.n_variables
        counts = self.multipliers.counts
        parents = self.parents[keep]
        members = self.members
        first = offsets(np.bincount(self.child[keep], minlength=n))
        inside = ((members >> np.arange(n, dtype=np.uint64)[:, None]) & ONE).astype(
            np.bool_
        )
        row_first = offsets(inside.sum(axis=1))
        width = 8 * max(1, -(-int(np.diff(row_first).max(initial=0)) // WORD))
        few = np.zeros((len(keep), width), np.uint8)
        for v in range(n):
            begin, end = first[v : v + 2]
            # parents that each candidate shares with each row of its variable
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
            row_first=row_first,
            rows=np.nonzero(inside)[1].astype(np.int64),
            few=few.view("<u8").astype(np.uint64),
        )


@in_place_kernel
def size_of(bits: np.uint64) -> int:
    """Return the number of members of a bit set; compiled to one machine instruction."""
    x = bits
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + (
        (x >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@in_place_kernel
def lowest(bits: np.uint64) -> int:
    """Return the smallest member of a bit set that is not empty."""
    return size_of((bits & (~bits + np.uint64(1))) - np.uint64(1))


BLOCK = 1 << 13
"""Subsets computed between two looks at the clock."""

PARTITIONS = 30
"""Random partitions into groups that are improved."""

PATIENCE = 0.1
"""Seconds between two pauses while other threads compute."""


def coupling(rows: Multipliers) -> NDArray[np.float64]:
    """Return the strength of the ties of each two variables by multipliers, shape (n, n)."""
    inside = rows.clusters.astype(np.float64)
    weights = rows.values / np.maximum(inside.sum(axis=1) - 1.0, 1.0)
    tie: NDArray[np.float64] = (inside * weights[:, None]).T @ inside
    np.fill_diagonal(tie, 0.0)
    return tie


def partition(
    tie: NDArray[np.float64], sizes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the group of each variable such that ties within groups are strong, shape (n,).

    Random partitions are improved by exchanging two variables as long as that helps.
    """
    best = np.repeat(np.arange(len(sizes)), sizes)
    strongest = -1.0
    for _ in range(PARTITIONS if len(sizes) > 1 else 0):
        group = _exchanged(
            tie, rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        )
        strength = float(tie[group[:, None] == group].sum())
        if strength > strongest + 1e-9:
            best = group
            strongest = strength
    return best


def _exchanged(tie: NDArray[np.float64], group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Exchange the groups of the two variables that gain most until none gain."""
    n = len(group)
    group = group.copy()
    while True:
        inside = group[:, None] == group
        # gain of an exchange: ties won less ties lost, of both
        to = tie @ inside  # ties of each variable to the group of each other one
        gain = to - to.diagonal()[:, None]
        gain = np.where(inside, 0.0, gain + gain.T - 2.0 * tie)
        u, v = divmod(int(gain.argmax()), n)
        if gain[u, v] <= 1e-9:
            return group
        group[[u, v]] = group[[v, u]]


class Patterns(NamedTuple):
    """The tables of consecutive groups.

    Attributes
    ----------
    values
        ``h_G`` of each group's subsets, one table after the other, shape (total,).
    starts
        Where each table begins, shape (groups,).
    shifts
        First variable of each group, shape (groups,).
    groups
        The variables of each group as a bit set, shape (groups,).
    """

    values: NDArray[np.float64]
    starts: NDArray[np.int64]
    shifts: NDArray[np.uint64]
    groups: NDArray[np.uint64]


def patterns_of(
    numbered: Numbered,
    reduced: NDArray[np.float64],
    keep: NDArray[np.bool_],
    sizes: NDArray[np.int64],
    control: SearchControl,
    threads: int | None = None,
) -> Patterns | None:
    """Compute the tables of groups of consecutive variables; ``None`` when the control ends that.

    Parameters
    ----------
    numbered
        Candidates and rows, numbered such that groups are consecutive.
    reduced, keep
        Reduced cost of each candidate, and whether it needs to be considered, shapes (m,).
    sizes
        Variables in each group.
    control
        Ends the computation between blocks of work.
    threads
        Number of threads; as many as there are cores if not given.
    """
    shifts = offsets(sizes)
    starts = offsets(1 << sizes)
    values = np.zeros(starts[-1])
    aside = control.aside()
    # a thread for each table, as long as the control goes on
    with ThreadPoolExecutor(n_threads(threads)) as pool:
        filled = [
            pool.submit(
                _fill,
                values[a:b],
                numbered,
                reduced,
                keep,
                int(shift),
                int(size),
                aside,
            )
            for a, b, shift, size in zip(
                starts[:-1], starts[1:], shifts[:-1], sizes, strict=True
            )
        ]
        try:
            while wait(filled, PATIENCE).not_done and control.goes_on():
                pass
        finally:
            aside.stop()
    for done in filled:
        done.result()
    if control.is_over:
        return None
    firsts = shifts[:-1].astype(np.uint64)
    groups = ((ONE << sizes.astype(np.uint64)) - ONE) << firsts
    return Patterns(values, starts[:-1], firsts, groups)


def _fill(
    table: NDArray[np.float64],
    numbered: Numbered,
    reduced: NDArray[np.float64],
    keep: NDArray[np.bool_],
    shift: int,
    size: int,
    control: SearchControl,
) -> None:
    """Compute the table of one group, block by block, in place."""
    # the group's candidates by reduced cost, without those that a cheaper one dominates
    group = np.uint64(len(table) - 1) << np.uint64(shift)
    member = (numbered.child >= shift) & (numbered.child < shift + size)
    ours = np.flatnonzero(keep & member)
    ours = ours[np.lexsort((reduced[ours], numbered.child[ours]))]
    graph = numbered.graph(reduced, ours)
    masks = np.hstack([(graph.parents & group)[:, None], graph.few])
    graph = numbered.graph(reduced, ours[undominated(graph.first, masks)])
    for start in range(0, len(table), BLOCK):
        if control.is_over:
            return
        fill_patterns(graph, table, shift, start, min(start + BLOCK, len(table)))


@in_place_kernel
def fill_patterns(
    graph: OrderGraph, table: NDArray[np.float64], shift: int, start: int, stop: int
) -> None:
    """Compute ``h_G`` of the subsets ``start`` to ``stop`` of a group of consecutive variables.

    Parameters
    ----------
    graph
        The candidates and rows.
    table
        The values, those of smaller subsets being known, shape (2 ** size of the group,).
    shift
        The group's first variable.
    """
    group = np.uint64(len(table) - 1) << np.uint64(shift)
    for subset in range(max(start, 1), stop):
        last = np.uint64(subset) << np.uint64(shift)
        placed = group & ~last
        # the first variable to be placed of the subset, with its cheapest candidate
        best = np.inf
        left = last
        while left:
            v = lowest(left)
            left &= left - np.uint64(1)
            cost = table[subset ^ (1 << (v - shift))]
            for c in range(graph.first[v], graph.first[v + 1]):
                if cost + graph.reduced[c] >= best:
                    break
                if graph.parents[c] & last == np.uint64(0):
                    best = min(best, cost + charged(graph, v, c, placed, best - cost))
        table[subset] = best


@in_place_kernel
def charged(
    graph: OrderGraph, v: int, c: int, placed: np.uint64, enough: float
) -> float:
    """Return the cost of a candidate after some variables, or a lower bound of ``enough``."""
    cost: float = graph.reduced[c]
    for word in range(graph.few.shape[1]):
        bits = graph.few[c, word]
        while bits and cost < enough:
            r = graph.rows[graph.row_first[v] + (word << 6) + lowest(bits)]
            bits &= bits - ONE
            if size_of(graph.members[r] & placed) >= graph.counts[r]:
                cost += graph.values[r]
    return cost


@in_place_kernel
def estimate(patterns: Patterns, remaining: np.uint64) -> float:
    """Return the least cost of placing the variables that are left."""
    total = 0.0
    for k in range(len(patterns.starts)):
        total += estimate_group(patterns, k, remaining)
    return total


@in_place_kernel
def estimate_group(patterns: Patterns, k: int, remaining: np.uint64) -> float:
    """Return the least cost of placing those of one group that are left."""
    subset = (remaining & patterns.groups[k]) >> patterns.shifts[k]
    value: float = patterns.values[patterns.starts[k] + np.int64(subset)]
    return value
