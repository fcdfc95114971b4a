"""Merging of equivalent nodes: those with the same parameters and the same successors.

Nodes are compared from the leaves of the forest to its roots, so successors are already merged
when their predecessors are compared. Where a state has probability zero its successor does not
matter ("don't care"). For a fixed forest the result is the smallest graph of the distribution
(theorem *Smallest graph over a forest*, docs/theory/decision_graphs.md). Two numbers count as equal
when they differ by rounding only.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import index_rows
from exactlearn._runtime.kernel import kernel

TOLERANCE = 1e-13
"""Relative difference up to which two parameters count as equal: rounding, nothing more."""


@kernel
def merge_signatures(
    weights: NDArray[np.float64], nodes: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]:
    """Group the keys of one variable that have equal distributions and successors.

    Parameters
    ----------
    weights
        Weight of each key and state with all that is below, shape (keys, states).
    nodes
        Groups of the successors, shape (keys, states, children); ignored where the weight is 0.

    Returns
    -------
    values, labels
        Weight of each key, the largest being 1, and its group, numbered by first appearance (-1
        where all weights are 0); both with one entry more at the end, 0 and -1, for keys that are
        not there.
    representatives
        First key of each group.
    """
    n, r, children = nodes.shape
    # Weights of the keys, and their distributions.
    values, largest = np.zeros(n + 1), 0.0
    for i in range(n):
        for x in range(r):
            values[i] += weights[i, x]
        largest = max(largest, values[i])
    parameters = weights.copy()
    for i in range(n):
        for x in range(r):
            parameters[i, x] /= values[i] if values[i] > 0 else 1.0
    # A row for each possible key: numbers of its parameters, and successors where they matter.
    numbers = number_values(parameters.reshape(n * r)).reshape(n, r)
    rows = np.full((n, r * (1 + children)), -1, np.int32)
    origin = np.empty(n, np.int64)
    possible = 0
    for i in range(n):
        if values[i] > 0:
            origin[possible] = i
            for x in range(r):
                rows[possible, x] = numbers[i, x]
                if weights[i, x] > 0:
                    for j in range(children):
                        rows[possible, r + x * children + j] = nodes[i, x, j]
            possible += 1
    # Equal rows are one group.
    groups, first, _ = index_rows(rows[:possible])
    labels = np.full(n + 1, -1, np.int32)
    for k in range(possible):
        values[origin[k]] /= largest
        labels[origin[k]] = groups[k]
    return values, labels, origin[first]


def prune_unreached(
    order: Sequence[int],
    children: Sequence[Sequence[int]],
    parameters: Mapping[int, NDArray[np.float64]],
    successors: Mapping[int, NDArray[np.int32]],
) -> tuple[dict[int, NDArray[np.float64]], dict[int, NDArray[np.int32]]]:
    """Remove the nodes that no row of positive probability reaches.

    Successors at zero parameters are set to the first node that remains.

    Parameters
    ----------
    order
        The variables, each before its children.
    children
        Forest children of each variable.
    parameters, successors
        For each variable, shapes (nodes, states) and (nodes, states, children), a node given by
        its place among the nodes of its variable.
    """
    kept = {v: np.zeros(len(parameters[v]), np.bool_) for v in order}
    for variable in order:
        if not kept[variable].any():
            kept[variable][0] = True  # the only node of a root
        used = (parameters[variable] > 0) & kept[variable][:, None]
        for place, child in enumerate(children[variable]):
            kept[child][successors[variable][:, :, place][used]] = True
    remaining = {v: parameters[v][kept[v]] for v in order}
    numbers = {v: np.cumsum(kept[v], dtype=np.int32) - 1 for v in order}
    renumbered: dict[int, NDArray[np.int32]] = {}
    for variable in order:
        old = successors[variable][kept[variable]]
        new = np.zeros_like(old)
        used = remaining[variable] > 0
        for place, child in enumerate(children[variable]):
            new[used, place] = numbers[child][old[used, place]]
        renumbered[variable] = new
    return remaining, renumbered


def equal_values(values: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the same number for values >= 0 that differ only by rounding, shape as ``values``.

    Numbers go by first appearance; a value gets the number of an earlier one within `TOLERANCE`.
    """
    return number_values(np.ascontiguousarray(values).ravel()).reshape(values.shape)


@kernel
def number_values(values: NDArray[np.float64]) -> NDArray[np.int32]:
    """Give a vector's values >= 0 their numbers, by cells that are wider than the tolerance."""
    n = len(values)
    bits = values.view(np.int64)
    size = 8
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, np.int32)
    seen = np.empty(n, np.int64)
    numbers = np.empty(n, np.int32)
    count, free = 0, np.int64(0)
    for i in range(n):
        # An earlier value within the tolerance lies in this cell or a neighbour of it.
        number = -1
        cell = bits[i] >> 10
        for shift in range(3):
            near = cell + (shift + 1) % 3 - 1
            mixed = np.uint64(near) * np.uint64(0x9E3779B97F4A7C15)
            slot = np.int64((mixed >> np.uint64(32)) & np.uint64(size - 1))
            while number < 0 and slots[slot] >= 0:
                other = seen[slots[slot]]
                difference = abs(values[i] - values[other])
                if bits[other] >> 10 == near and difference <= TOLERANCE * values[other]:
                    number = slots[slot]
                slot = (slot + 1) & (size - 1)
            if number >= 0:
                break
            if shift == 0:
                free = slot
        # Otherwise the value gets a number of its own, where the search in its cell ended.
        if number < 0:
            number = count
            slots[free] = number
            seen[number] = i
            count += 1
        numbers[i] = number
    return numbers
