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

A row inside of G only shifts costs: as long as fewer than k members of C are placed, every
candidate that X in C may take has fewer than k parents in C. So we leave these rows out, which
leaves few candidates that are not dominated, and add afterwards what they shift.
"""

from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.executors import n_threads
from exactlearn._runtime.kernel import in_place_kernel, kernel

from ..components import undominated
from ..lp.multipliers import Multipliers
from ..parameters import OrderGraphParameters
from ..problem import offsets
from .rows import (
    ONE,
    Numbered,
    OrderGraph,
    lowest,
    size_of,
)

BLOCK = 1 << 13
"""Subsets computed between two looks at the clock."""

PATIENCE = 0.1
"""Seconds between two pauses while other threads compute."""


def coupling(rows: Multipliers) -> NDArray[np.float64]:
    """Return how strongly the rows' multipliers tie each two variables, shape (n, n)."""
    inside = rows.clusters.astype(np.float64)
    weights = rows.values / np.maximum(inside.sum(axis=1) - 1.0, 1.0)
    tie: NDArray[np.float64] = (inside * weights[:, None]).T @ inside
    np.fill_diagonal(tie, 0.0)
    return tie


def partition(
    tie: NDArray[np.float64],
    sizes: NDArray[np.int64],
    rng: np.random.Generator,
    tries: int = OrderGraphParameters.partitions,
) -> NDArray[np.int64]:
    """Return the group of each variable such that ties within groups are strong, shape (n,).

    Random partitions are improved by exchanging two variables as long as that helps.
    """
    best, strongest = np.repeat(np.arange(len(sizes)), sizes), -1.0
    for _ in range(tries if len(sizes) > 1 else 0):
        group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        exchange(tie, group, len(sizes))
        strength = float(tie[group[:, None] == group].sum())
        if strength > strongest + 1e-9:
            best, strongest = group, strength
    return best


@kernel
def exchange(tie: NDArray[np.float64], group: NDArray[np.int64], groups: int) -> None:
    """Exchange the groups of the two variables that gain most until none gain, in place."""
    n = len(group)
    to = np.zeros((n, groups))
    for v in range(n):
        for u in range(n):
            to[v, group[u]] += tie[v, u]
    while True:
        most, one, other = 1e-9, -1, -1
        for v in range(n):
            for u in range(v):
                a, b = group[v], group[u]
                gain = to[v, b] - to[v, a] + to[u, a] - to[u, b] - 2.0 * tie[v, u]
                if a != b and gain > most:
                    most, one, other = gain, v, u
        if one < 0:
            return
        a, b = group[one], group[other]
        for v in range(n):
            to[v, a] += tie[v, other] - tie[v, one]
            to[v, b] += tie[v, one] - tie[v, other]
        group[one], group[other] = b, a


class Patterns(NamedTuple):
    """The tables of consecutive groups.

    Attributes
    ----------
    values
        ``h_G`` of each group's subsets, one table after the other, shape (total,).
    starts
        Where each table begins, shape (groups,).
    shifts
        First variable of each group, and the number of variables, shape (groups + 1,).
    """

    values: NDArray[np.float64]
    starts: NDArray[np.int64]
    shifts: NDArray[np.int64]


def no_patterns(n: int) -> Patterns:
    """Return a table that says nothing."""
    return Patterns(np.zeros(0), np.zeros(0, np.int64), np.zeros(1, np.int64))


def patterns_of(
    numbered: Numbered,
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
    keep
        Candidates that need to be considered, shape (m,).
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
    with ThreadPoolExecutor(n_threads(threads)) as pool:
        filled = [
            pool.submit(_fill, values[a:b], numbered, keep, int(shift), int(size), aside)
            for a, b, shift, size in zip(starts[:-1], starts[1:], shifts[:-1], sizes, strict=True)
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
    return Patterns(values, starts[:-1], shifts)


def _fill(
    table: NDArray[np.float64],
    numbered: Numbered,
    keep: NDArray[np.bool_],
    shift: int,
    size: int,
    control: SearchControl,
) -> None:
    group = np.uint64(len(table) - 1) << np.uint64(shift)
    inside = numbered.members & ~group == 0
    crossing, within = numbered.select(~inside), numbered.select(inside)
    member = (numbered.child >= shift) & (numbered.child < shift + size)
    costs = crossing.adjusted
    ours = np.flatnonzero(keep & member)
    ours = ours[np.lexsort((costs[ours], numbered.child[ours]))]
    graph = crossing.graph(costs, ours)
    masks = np.hstack([(graph.parents & group)[:, None], graph.few])
    graph = crossing.graph(costs, ours[undominated(graph.first, masks)])
    for start in range(0, len(table), BLOCK):
        if control.is_over:
            return
        fill_patterns(graph, table, shift, start, min(start + BLOCK, len(table)))
    least = np.full(numbered.component.n_variables, np.inf)
    np.minimum.at(least, numbered.child, numbered.adjusted)
    counts, values = within.multipliers.counts, within.multipliers.values
    shift_back(table, least[shift : shift + size], shift, within.members, counts, values)


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
        best, left = np.inf, last
        while left:
            v = lowest(left)
            left &= left - np.uint64(1)
            rest = table[subset ^ (1 << (v - shift))]
            if rest < best:
                best = rest + cheapest_without(graph, v, last, placed, best - rest)
        table[subset] = best


@in_place_kernel
def cheapest_without(
    graph: OrderGraph, v: int, absent: np.uint64, placed: np.uint64, enough: float
) -> float:
    """Return the least cost of a variable's candidates without absent parents, at most ``enough``.

    The rows that have enough members among those placed are charged.
    """
    least = enough
    for c in range(graph.first[v], graph.first[v + 1]):
        if graph.reduced[c] >= least:
            break
        if graph.parents[c] & absent == np.uint64(0):
            least = min(least, charged(graph, v, c, placed, least))
    return least


@in_place_kernel
def charged(graph: OrderGraph, v: int, c: int, placed: np.uint64, enough: float) -> float:
    """Return what a candidate costs after some variables, or something that is ``enough``."""
    cost: float = graph.reduced[c]
    for word in range(graph.few.shape[1]):
        bits = graph.few[c, word]
        while bits and cost < enough:
            r = graph.own[graph.own_first[v] + (word << 6) + lowest(bits)]
            bits &= bits - ONE
            if size_of(graph.members[r] & placed) >= graph.counts[r]:
                cost += graph.values[r]
    return cost


def useful_candidates(
    patterns: Patterns, graph: OrderGraph, goal: float, control: SearchControl
) -> NDArray[np.bool_] | None:
    """Return which candidates may be on a path that costs less than a goal, shape (m,).

    Return ``None`` when the control ends that.

    Parameters
    ----------
    patterns
        The tables.
    graph
        The candidates, sorted by reduced cost within each variable, and all rows.
    goal
        The cost to stay below.
    control
        Ends the computation between blocks of work.
    """
    useful = np.zeros(len(graph.losses), np.bool_)
    ends = np.append(patterns.starts[1:], len(patterns.values))
    tables = [patterns.values[a:b] for a, b in zip(patterns.starts, ends, strict=True)]
    total = sum(float(table[-1]) for table in tables)
    for table, shift in zip(tables, patterns.shifts[:-1].tolist(), strict=True):
        forward = np.full(len(table), np.inf)
        forward[0] = 0.0
        limit = goal - (total - float(table[-1]))
        for start in range(0, len(table), BLOCK):
            if not control.goes_on():
                return None
            stop = min(start + BLOCK, len(table))
            pass_through(graph, table, forward, useful, shift, limit, start, stop)
    return useful


@in_place_kernel
def pass_through(
    graph: OrderGraph,
    table: NDArray[np.float64],
    forward: NDArray[np.float64],
    useful: NDArray[np.bool_],
    shift: int,
    limit: float,
    start: int,
    stop: int,
) -> None:
    """Place the variables of a group in all orders that cost less than a limit; mark candidates.

    Parameters
    ----------
    graph, table, shift
        The candidates, the group's table and its first variable.
    forward
        Least cost of placing each subset first, shape of the table; grows.
    useful
        Set true for candidates that such an order may use, shape (m,).
    limit
        Cost of the whole group to stay below.
    start, stop
        The subsets from which to go on.
    """
    whole = len(table) - 1
    group = np.uint64(whole) << np.uint64(shift)
    for subset in range(start, stop):
        if forward[subset] + table[whole ^ subset] >= limit:
            continue
        placed = np.uint64(subset) << np.uint64(shift)
        absent = group & ~placed
        left = absent
        while left:
            v = lowest(left)
            left &= left - ONE
            reached = subset | (1 << (v - shift))
            most = limit - forward[subset] - table[whole ^ reached]
            # its candidates with their parents placed or outside of the group
            for c in range(graph.first[v], graph.first[v + 1]):
                if graph.reduced[c] >= most:
                    break
                if graph.parents[c] & absent:
                    continue
                total = forward[subset]
                if useful[c] and total + graph.reduced[c] >= forward[reached]:
                    continue
                cost = charged(graph, v, c, placed, most)
                if cost < most:
                    useful[c] = True
                    forward[reached] = min(forward[reached], total + cost)


@in_place_kernel
def shift_back(
    table: NDArray[np.float64],
    least: NDArray[np.float64],
    shift: int,
    members: NDArray[np.uint64],
    counts: NDArray[np.int64],
    values: NDArray[np.float64],
) -> None:
    """Subtract from each set what rows inside the group pay for it, and its variables' minima."""
    group = np.uint64(len(table) - 1) << np.uint64(shift)
    for subset in range(len(table)):
        placed = group & ~(np.uint64(subset) << np.uint64(shift))
        paid, left = 0.0, np.uint64(subset)
        while left:
            paid += least[lowest(left)]
            left &= left - np.uint64(1)
        for r in range(len(members)):
            paid += values[r] * max(0, counts[r] - size_of(members[r] & placed))
        table[subset] = max(0.0, table[subset] - paid)


@in_place_kernel
def estimate(patterns: Patterns, rest: np.uint64) -> float:
    """Return the least cost of placing the variables that are left."""
    total = 0.0
    for k in range(len(patterns.starts)):
        total += estimate_group(patterns, k, rest)
    return total


@in_place_kernel
def estimate_group(patterns: Patterns, k: int, rest: np.uint64) -> float:
    """Return the least cost of placing those of one group that are left."""
    subset = (rest & group_bits(patterns, k)) >> np.uint64(patterns.shifts[k])
    value: float = patterns.values[patterns.starts[k] + np.int64(subset)]
    return value


@in_place_kernel
def group_bits(patterns: Patterns, k: int) -> np.uint64:
    """Return the variables of one group."""
    width = np.uint64(patterns.shifts[k + 1] - patterns.shifts[k])
    return np.uint64(((ONE << width) - ONE) << np.uint64(patterns.shifts[k]))
