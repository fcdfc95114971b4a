"""Breadth-first search of the order graph below a cost threshold, layer by layer.

States wait in a list for each number of placed variables; all paths into a state have been seen
when its turn comes, whatever the bounds are. A hash table with linear probing finds a state again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel

from .bounds import COMPLETE, OPEN, Scratch, propagate, quick_bound
from .patterns import Patterns, charged, estimate
from .rows import OrderGraph, lowest, size_of

FREE = np.int32(-1)
"""Marks the end of a list, a free slot, and the state before the first."""

DONE, WORKED, FULL = 0, 1, 2
"""Why :func:`expand` returns: nothing is left, enough was done, or the table is full."""

LAYER, NEXT, COUNT, EXPANDED, LAST = 0, 1, 2, 3, 4
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


@in_place_kernel
def expand(
    graph: OrderGraph, patterns: Patterns, scratch: Scratch, table: Table, ascents: int, work: int
) -> int:
    """Expand up to ``work`` states; return why it stops."""
    n = len(graph.first) - 1
    at = table.at
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
        # bound it, and place what can be placed at once
        placed, cost, threshold = table.placed[state], table.cost[state], table.costs[0]
        if ascents > 0:
            became, placed, cost, coming, _ = propagate(
                graph, patterns, scratch, placed, cost, threshold, ascents
            )
        else:
            became, placed, cost, coming, _ = quick_bound(
                graph, patterns, scratch, placed, cost, threshold
            )
        # keep a cheaper path, or add the states that follow
        if became == COMPLETE and cost < table.costs[1]:
            table.costs[1] = cost
            at[LAST] = state
        if became == OPEN:
            add_followers(graph, patterns, scratch, table, state, placed, cost, coming)


@in_place_kernel
def add_followers(
    graph: OrderGraph,
    patterns: Patterns,
    scratch: Scratch,
    table: Table,
    state: int,
    placed: np.uint64,
    cost: float,
    coming: np.uint64,
) -> None:
    """Enter the states in which one of the variables that may come next is placed."""
    everything = ~np.uint64(0) >> np.uint64(65 - len(graph.first))
    while coming:
        v = lowest(coming)
        coming &= coming - np.uint64(1)
        if scratch.best[v] >= 0:
            reached = cost + charged(graph, v, scratch.best[v], placed, np.inf)
            follower = placed | (np.uint64(1) << np.uint64(v))
            if reached + estimate(patterns, everything & ~follower) < table.costs[0]:
                enter(table, follower, reached, state)


@in_place_kernel
def enter(table: Table, placed: np.uint64, cost: float, before: int) -> None:
    """Enter a state, or the cheaper path to it."""
    mask = np.uint64(len(table.slots) - 1)
    slot = mixed(placed) & mask
    while table.slots[slot] != FREE:
        found = table.slots[slot]
        if table.placed[found] == placed:
            if cost < table.cost[found]:
                table.cost[found] = cost
                table.before[found] = before
            return
        slot = (slot + np.uint64(1)) & mask
    count = table.at[COUNT]
    table.at[COUNT] = count + 1
    table.slots[slot] = count
    table.placed[count] = placed
    table.cost[count] = cost
    table.before[count] = before
    size = size_of(placed)
    table.following[count] = table.heads[size]
    table.heads[size] = count


@in_place_kernel
def fill_slots(slots: NDArray[np.int32], placed: NDArray[np.uint64], count: int) -> None:
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
