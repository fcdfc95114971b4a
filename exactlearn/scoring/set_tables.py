"""Contingency tables of one set of variables after another, counted along a stack.

The rows carry the number of their configuration of the current prefix of variables. One more
variable then only visits the rows that deviate from its most common state; the cells of that state
follow by subtraction (the idea of AD-trees: Moore and Lee 1998, "Cached sufficient statistics").
Configurations are renumbered to the observed ones whenever they outnumber the rows, so memory does
not depend on cardinalities.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel

LARGEST_EXACT_TOTAL = 2.0**53
"""Up to this total, sums and differences of whole weights are exact."""


class Rows(NamedTuple):
    """Distinct rows, by column, with the rows that deviate from each column's common state."""

    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    total: float
    cardinalities: NDArray[np.int64]
    common: NDArray[np.int64]
    deviant_first: NDArray[np.int64]
    deviants: NDArray[np.int32]
    subtract: bool


class Stack(NamedTuple):
    """Configurations of a growing prefix of variables, and scratch space of the kernels."""

    variables: NDArray[np.int64]
    sizes: NDArray[np.int64]
    ids: NDArray[np.int32]
    totals: NDArray[np.float64]
    table: NDArray[np.float64]
    rest: NDArray[np.float64]
    counts: NDArray[np.float64]
    numbers: NDArray[np.int32]
    depth: NDArray[np.int64]


def index_rows(
    codes: NDArray[np.int16], weights: NDArray[np.float64], cardinalities: NDArray[np.int64]
) -> Rows:
    """Find each column's most common state and the rows that deviate from it.

    Weights that are not whole numbers forbid subtraction, whose rounding would turn empty cells
    into nearly empty ones; then every row is listed as deviant.
    """
    total = float(weights.sum())
    subtract = bool((weights == np.floor(weights)).all()) and total < LARGEST_EXACT_TOTAL
    common, deviants = [], []
    for column, r in zip(codes, cardinalities.tolist(), strict=True):
        common.append(int(np.bincount(column, weights, minlength=r).argmax()))
        listed = column != common[-1] if subtract else np.ones(len(column), np.bool_)
        deviants.append(np.flatnonzero(listed).astype(np.int32))
    return Rows(
        codes,
        weights,
        total,
        cardinalities,
        np.array(common, np.int64),
        np.cumsum([0, *map(len, deviants)]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int32), *deviants]),
        subtract,
    )


def new_stack(rows: Rows, depth: int) -> Stack:
    """Allocate a stack for sets of up to ``depth`` variables."""
    n = rows.codes.shape[1]
    largest = np.sort(rows.cardinalities)[::-1][:depth].astype(np.float64)
    width = max(1, int(min(n, np.prod(largest[:-1]))))
    cells = width * int(largest[0]) if len(largest) else 1
    stack = Stack(
        np.full(depth, -1, np.int64),
        np.ones(depth + 1, np.int64),
        np.zeros((depth + 1, n), np.int32),
        np.zeros((depth + 1, width)),
        np.zeros(cells),
        np.zeros(width),
        np.zeros(min(n, cells)),
        np.zeros(cells, np.int32),
        np.zeros(1, np.int64),
    )
    stack.totals[0, 0] = rows.total
    return stack


@in_place_kernel
def n_cells(subset: NDArray[np.int64], cardinalities: NDArray[np.int64]) -> float:
    """Return the number of configurations of a set of variables, observed or not."""
    cells = 1.0
    for t in range(len(subset)):
        cells *= float(cardinalities[subset[t]])
    return cells


@in_place_kernel
def count(rows: Rows, stack: Stack, depth: int, variable: int) -> None:
    """Count the prefix's configurations by the states of one more variable, deviant rows only."""
    r = rows.cardinalities[variable]
    ids, column = stack.ids[depth], rows.codes[variable]
    for t in range(rows.deviant_first[variable], rows.deviant_first[variable + 1]):
        row = rows.deviants[t]
        stack.table[ids[row] * r + column[row]] += rows.weights[row]


@in_place_kernel
def complete(rows: Rows, stack: Stack, depth: int, variable: int) -> None:
    """Fill in the cells of the variable's most common state."""
    if not rows.subtract:
        return
    r, common = rows.cardinalities[variable], rows.common[variable]
    for c in range(stack.sizes[depth]):
        rest = stack.totals[depth, c]
        for k in range(r):
            rest -= stack.table[c * r + k]
        stack.table[c * r + common] = rest


@in_place_kernel
def _push(rows: Rows, stack: Stack, depth: int, variable: int) -> None:
    """Extend the prefix by a variable."""
    r, n = rows.cardinalities[variable], rows.codes.shape[1]
    cells = stack.sizes[depth] * r
    count(rows, stack, depth, variable)
    complete(rows, stack, depth, variable)
    old, new, column = stack.ids[depth], stack.ids[depth + 1], rows.codes[variable]
    if cells <= stack.rest.shape[0]:
        for c in range(cells):
            stack.totals[depth + 1, c] = stack.table[c]
            stack.table[c] = 0
        for row in range(n):
            new[row] = old[row] * r + column[row]
        observed = cells
    else:
        observed = 0
        for c in range(cells):
            if stack.table[c] > 0:
                stack.totals[depth + 1, observed] = stack.table[c]
                stack.numbers[c] = observed
                observed += 1
            stack.table[c] = 0
        for row in range(n):
            new[row] = stack.numbers[old[row] * r + column[row]]
    stack.variables[depth] = variable
    stack.sizes[depth + 1] = observed


@in_place_kernel
def climb(subset: NDArray[np.int64], rows: Rows, stack: Stack) -> None:
    """Make the stack's prefix all variables of the set but the first, the last one lowest."""
    top = len(subset) - 1
    same = 0
    while same < min(top, stack.depth[0]) and stack.variables[same] == subset[top - same]:
        same += 1
    for depth in range(same, top):
        _push(rows, stack, depth, subset[top - depth])
    stack.depth[0] = top
