"""Inference for a block of rows as a list of sums of products, each of a whole row of numbers.

Evidence, out-flows, in-flows and marginals are the rows of one table, with the block's rows side by
side in each. Everything in PDG-SEM, equations 17 to 22, is then a weighted sum of products of two
of them, and one loop computes all.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel


class Program(NamedTuple):
    """Sums of products.

    Attributes
    ----------
    size
        How many sums there are, and how many terms they have together, shape (2,).
    target, first
        Of each sum: the row that it is put in, and where its terms begin; and the end.
    weight, left, right
        Of each term: its weight, and the two rows.
    """

    size: NDArray[np.int64]
    target: NDArray[np.int64]
    first: NDArray[np.int64]
    weight: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]


class Items(NamedTuple):
    """Terms before they are sorted; ``key`` is the number of the sum that a term belongs to."""

    key: NDArray[np.int64]
    weight: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]


@kernel
def program_space(sums: int, terms: int) -> Program:
    """Return room for so many sums and terms."""
    return Program(
        np.zeros(2, np.int64),
        np.empty(sums, np.int64),
        np.zeros(sums + 1, np.int64),
        np.empty(terms),
        np.empty(terms, np.int64),
        np.empty(terms, np.int64),
    )


@in_place_kernel
def append_sums(
    program: Program, items: Items, n: np.int64, keys: np.int64, target: np.int64
) -> None:
    """Append a sum for each key, into rows from ``target`` on, of ``n`` items."""
    first, weight, left, right = program.first, program.weight, program.left, program.right
    key, item_weight, item_left, item_right = items.key, items.weight, items.left, items.right
    sums, terms = program.size[0], program.size[1]
    for i in range(keys):
        program.target[sums + i] = target + i
        first[sums + i + 1] = 0
    # While items are placed, entry i + 1 is where the next one of key i goes.
    for a in range(n):
        first[sums + key[a] + 1] += 1
    total = terms
    for i in range(keys):
        size = first[sums + i + 1]
        first[sums + i + 1] = total
        total += size
    for a in range(n):
        at = first[sums + key[a] + 1]
        first[sums + key[a] + 1] += 1
        weight[at], left[at], right[at] = item_weight[a], item_left[a], item_right[a]
    program.size[0], program.size[1] = sums + keys, total


@in_place_kernel
def append_product(program: Program, target: np.int64, left: np.int64, right: np.int64) -> None:
    """Append the product of two rows."""
    sums, terms = program.size[0], program.size[1]
    program.target[sums] = target
    program.weight[terms], program.left[terms], program.right[terms] = 1.0, left, right
    program.first[sums + 1] = terms + 1
    program.size[0], program.size[1] = sums + 1, terms + 1


@in_place_kernel
def run(program: Program, backwards: bool, flow: NDArray[np.float64], n: int) -> None:
    """Compute all sums in their order, or the last first.

    Parameters
    ----------
    flow
        The rows, shape (rows, block).
    n
        How many of the block are in use.
    """
    first, targets, weight = program.first, program.target, program.weight
    left, right, sums = program.left, program.right, program.size[0]
    for number in range(sums):
        at = sums - 1 - number if backwards else number
        to, begin, end = targets[at], first[at], first[at + 1]
        head = begin + (end - begin - 1) % 3 + 1 if end > begin else begin
        # Each pass does all it can: loading and storing costs more than arithmetic.
        if head == begin:
            for b in range(n):
                flow[to, b] = 0.0
        elif head == begin + 1:
            i, x, u = left[begin], right[begin], weight[begin]
            for b in range(n):
                flow[to, b] = u * flow[i, b] * flow[x, b]
        elif head == begin + 2:
            i, x, u = left[begin], right[begin], weight[begin]
            j, y, v = left[begin + 1], right[begin + 1], weight[begin + 1]
            for b in range(n):
                flow[to, b] = u * flow[i, b] * flow[x, b] + v * flow[j, b] * flow[y, b]
        else:
            i, x, u = left[begin], right[begin], weight[begin]
            j, y, v = left[begin + 1], right[begin + 1], weight[begin + 1]
            k, z, w = left[begin + 2], right[begin + 2], weight[begin + 2]
            for b in range(n):
                flow[to, b] = (
                    u * flow[i, b] * flow[x, b]
                    + v * flow[j, b] * flow[y, b]
                    + w * flow[k, b] * flow[z, b]
                )
        for a in range(head, end, 3):
            i, x, u = left[a], right[a], weight[a]
            j, y, v = left[a + 1], right[a + 1], weight[a + 1]
            k, z, w = left[a + 2], right[a + 2], weight[a + 2]
            for b in range(n):
                flow[to, b] += (
                    u * flow[i, b] * flow[x, b]
                    + v * flow[j, b] * flow[y, b]
                    + w * flow[k, b] * flow[z, b]
                )
