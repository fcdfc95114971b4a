"""Breadth-first search of the order graph below a cost threshold, layer by layer.

A *state* is the set S of the variables placed so far, R are the others. Its *cost* is what the
placed variables' candidates lie below the Lagrangian bound (see
:mod:`exactlearn.solvers.patterns`): placing X after S with a candidate c costs

    w_S(c) = reduced cost of c + sum of l over rows (C, k) with X in C, |PA & C| < k <= |S & C|

because the first k members of C that are placed satisfy the row, and every further one that has
fewer than k parents in C is surplus. Of the candidates with their parents in S the one of the best
score costs least. States wait in a list for each number of placed variables; all paths into a state
have been seen when its turn comes, whatever the bounds are. A hash table with linear probing finds
a state again.

**Bound.** Pattern databases (:mod:`exactlearn.solvers.patterns`) say what R costs at
least. A candidate that costs as much as the threshold leaves to its variable's group is out of
question below S.

**Who comes next.** Let b_X be the best candidate of X with its parents in S. In some optimal
completion of S each X in R takes b_X or a candidate of higher score that is not out of question:
any other can be replaced by b_X, which makes no cycle. Draw an arc to X from each parent in R of
those better candidates. A set K of variables that no arc enters has all its parents in S and K, so
there is an order of the completion that begins with K, and it suffices to let the members of K come
next. We take a smallest such K: a strongly connected component without arcs from outside. A single
variable without better candidates is placed at once (Karan and Zola 2016, "Exact structure learning
of Bayesian networks by optimal path extension").
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel

from .patterns import (
    ONE,
    OrderGraph,
    Patterns,
    charged,
    estimate,
    estimate_group,
    lowest,
    size_of,
)

NOTHING = np.uint64(0)

FREE = np.int32(-1)
"""Marks the end of a list, a free slot, and the state before the first."""

DONE = 0
WORKED = 1
FULL = 2
"""Why :func:`expand` returns: nothing is left, enough was done, or the table is full."""

LAYER = 0
NEXT = 1
COUNT = 2
EXPANDED = 3
LAST = 4
"""What ``Table.at`` holds: layer, next state in it, number of states and of expanded states, and
the state before the complete set on the cheapest path."""

STATE_BYTES = 8 + 8 + 4 + 4
"""Memory for a state besides its slots in the hash table."""

SLOT_BYTES = 4
SLOTS = 2
"""Least slots for each state."""

COLUMNS = ("placed", "cost", "before", "following")
"""The arrays of a table that have an entry for each state."""


class Table(NamedTuple):
    """The states reached, in the order in which they were.

    Attributes
    ----------
    placed, cost
        Variables placed and least cost so far, shape (capacity,).
    before
        State before it on the cheapest path, shape (capacity,).
    following
        Next state of the same size, shape (capacity,).
    slots
        Hash table of states, its length a power of two.
    heads
        First state of each size, shape (n + 1,).
    at
        Where the search is, see ``LAYER``.
    costs
        Cost that paths must stay below, and least cost of the complete set so far, shape (2,).
    """

    placed: NDArray[np.uint64]
    cost: NDArray[np.float64]
    before: NDArray[np.int32]
    following: NDArray[np.int32]
    slots: NDArray[np.int32]
    heads: NDArray[np.int32]
    at: NDArray[np.int64]
    costs: NDArray[np.float64]


def new_table(n: int, capacity: int, threshold: float) -> Table:
    """Return a table that holds the empty set only."""
    table = Table(
        np.empty(capacity, np.uint64),
        np.empty(capacity),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.full(_slots(capacity), FREE),
        np.full(n + 1, FREE),
        np.zeros(5, np.int64),
        np.array([threshold, np.inf]),
    )
    table.at[LAST] = FREE
    enter(table, np.uint64(0), 0.0, int(FREE))
    table.at[NEXT] = table.heads[0]
    return table


def grown(table: Table, capacity: int) -> Table:
    """Return the table with room for more states."""
    # states keep their numbers, only their slots change
    columns = {name: _resized(getattr(table, name), capacity) for name in COLUMNS}
    larger = table._replace(**columns, slots=np.full(_slots(capacity), FREE))
    fill_slots(larger.slots, larger.placed, int(table.at[COUNT]))
    return larger


def table_bytes(capacity: int) -> int:
    """Return the memory that a table takes."""
    return STATE_BYTES * capacity + SLOT_BYTES * _slots(capacity)


def _slots(capacity: int) -> int:
    return 1 << (SLOTS * capacity - 1).bit_length()


def _resized(array: NDArray, capacity: int) -> NDArray:  # type: ignore[type-arg]
    larger = np.empty(capacity, array.dtype)
    larger[: len(array)] = array
    return larger


class Scratch(NamedTuple):
    """Room for what is known of one state.

    Attributes
    ----------
    best
        Candidate each variable takes when it comes next, or -1, shape (n,).
    reach
        Ancestors of each variable in some digraph, shape (n,).
    """

    best: NDArray[np.int64]
    reach: NDArray[np.uint64]


def scratch_for(graph: OrderGraph) -> Scratch:
    """Return room for the states of a graph."""
    n = len(graph.first) - 1
    return Scratch(np.full(n, -1, np.int64), np.zeros(n, np.uint64))


@in_place_kernel
def expand(
    graph: OrderGraph, patterns: Patterns, scratch: Scratch, table: Table, work: int
) -> int:
    """Expand up to ``work`` states; return why it stops."""
    n = len(graph.first) - 1
    at = table.at
    threshold = table.costs[0]
    everything = ~NOTHING >> np.uint64(64 - n)
    while True:
        if at[COUNT] + n > len(table.placed):
            return FULL
        # take the next state, layer after layer
        while at[NEXT] == FREE and at[LAYER] < n:
            at[LAYER] += 1
            at[NEXT] = table.heads[at[LAYER]]
        if at[NEXT] == FREE:
            return DONE
        if work == 0:
            return WORKED
        work -= 1
        state = at[NEXT]
        at[NEXT] = table.following[state]
        at[EXPANDED] += 1
        # bound it, place what can be placed at once, keep a cheaper path to the complete set
        placed = table.placed[state]
        cost = table.cost[state]
        placed, cost, coming = place_at_once(
            graph, patterns, scratch, placed, cost, threshold
        )
        if placed == everything and cost < min(threshold, table.costs[1]):
            table.costs[1] = cost
            at[LAST] = state
        # enter the states in which one of the variables that may come next is placed
        while coming:
            v = lowest(coming)
            coming &= coming - ONE
            if scratch.best[v] >= 0:
                reached = cost + charged(graph, v, scratch.best[v], placed, np.inf)
                follower = placed | (ONE << np.uint64(v))
                if reached + estimate(patterns, everything & ~follower) < threshold:
                    enter(table, follower, reached, state)


@in_place_kernel
def place_at_once(
    graph: OrderGraph,
    patterns: Patterns,
    scratch: Scratch,
    placed: np.uint64,
    cost: float,
    threshold: float,
) -> tuple[np.uint64, float, np.uint64]:
    """Place the variables that have no better candidates, and find those that come next.

    Returns
    -------
    tuple
        The set placed and its cost after that, and the variables that may come next (their
        candidates are in ``scratch.best``): none when nothing below the threshold follows.
    """
    everything = ~NOTHING >> np.uint64(65 - len(graph.first))
    while True:
        # prune by the patterns
        remaining = everything & ~placed
        bound = cost + estimate(patterns, remaining)
        if bound >= threshold or remaining == NOTHING:
            return placed, cost, NOTHING
        # find each variable's best candidate, and the parents of better ones outside of S
        at_once = NOTHING
        for k in range(len(patterns.starts)):
            part = remaining & patterns.groups[k]
            limit = threshold - bound + estimate_group(patterns, k, remaining)
            while part:
                v = lowest(part)
                bit = ONE << np.uint64(v)
                part ^= bit
                find_best(graph, scratch, v, remaining, limit)
                if scratch.reach[v] == bit:
                    if scratch.best[v] < 0:
                        return placed, cost, NOTHING
                    at_once |= bit
        # place the variables without better candidates, and begin again
        if at_once == NOTHING:
            return placed, cost, smallest_source(remaining, scratch.reach)
        while at_once:
            v = lowest(at_once)
            at_once &= at_once - ONE
            cost += charged(graph, v, scratch.best[v], placed, np.inf)
            placed |= ONE << np.uint64(v)


@in_place_kernel
def find_best(
    graph: OrderGraph, scratch: Scratch, v: int, remaining: np.uint64, limit: float
) -> None:
    """Find a variable's best candidate that all its parents precede, below a limit, in place.

    Its reach is itself and the parents of better candidates that are not placed.
    """
    scratch.best[v] = -1
    reach = ONE << np.uint64(v)
    for c in range(graph.first[v], graph.first[v + 1]):
        missing = graph.parents[c] & remaining
        if graph.reduced[c] < limit:
            reach |= missing
            if missing == NOTHING:
                scratch.best[v] = c
        if missing == NOTHING:
            break
    scratch.reach[v] = reach


@in_place_kernel
def smallest_source(members: np.uint64, reach: NDArray[np.uint64]) -> np.uint64:
    """Close a digraph, given by each member's parents and itself, and return its smallest source.

    Of the sets of a vertex with all its ancestors the smallest is strongly connected: an ancestor's
    set is contained in it.
    """
    # the transitive closure (Warshall)
    left = members
    while left:
        k = lowest(left)
        left &= left - ONE
        unvisited = members
        while unvisited:
            v = lowest(unvisited)
            unvisited &= unvisited - ONE
            if reach[v] >> np.uint64(k) & ONE:
                reach[v] |= reach[k]
    # the smallest set of ancestors
    source = members
    left = members
    while left:
        v = lowest(left)
        left &= left - ONE
        if size_of(reach[v]) < size_of(source):
            source = reach[v]
    return source


@in_place_kernel
def enter(table: Table, placed: np.uint64, cost: float, before: int) -> None:
    """Enter a state, or the cheaper path to it."""
    # look for it by linear probing
    mask = np.uint64(len(table.slots) - 1)
    slot = mixed(placed) & mask
    while table.slots[slot] != FREE:
        state = table.slots[slot]
        if table.placed[state] == placed:
            if cost < table.cost[state]:
                table.cost[state] = cost
                table.before[state] = before
            return
        slot = (slot + np.uint64(1)) & mask
    # it is new: append it, to the list of its size as well
    count = table.at[COUNT]
    table.at[COUNT] = count + 1
    table.slots[slot] = count
    table.placed[count] = placed
    table.cost[count] = cost
    table.before[count] = before
    # its list, by the number of placed variables
    size = size_of(placed)
    table.following[count] = table.heads[size]
    table.heads[size] = count


@in_place_kernel
def fill_slots(
    slots: NDArray[np.int32], placed: NDArray[np.uint64], count: int
) -> None:
    """Enter the states into an empty hash table."""
    mask = np.uint64(len(slots) - 1)
    for state in range(count):
        slot = mixed(placed[state]) & mask
        while slots[slot] != FREE:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = state


@in_place_kernel
def mixed(bits: np.uint64) -> np.uint64:
    """Spread a set over all bits (the finaliser of SplitMix64, Steele et al. 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
