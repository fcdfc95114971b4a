"""Hill climbing over orders of variables, towards the smallest expanded decision graph.

The expanded size of an order follows from eliminating the moral graph along it, without any
tables. A step takes one variable and puts it where in the order the size is smallest.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel


@kernel
def order_size(
    adjacency: NDArray[np.bool_], order: NDArray[np.int64], cardinalities: NDArray[np.float64]
) -> float:
    """Return the effective size of the expanded graph over an order's forest (THESIS, 3.52).

    Parameters
    ----------
    adjacency
        Moral graph, shape (variables, variables).
    order
        The variables of one connected part, the root first.
    cardinalities
        Number of states of each variable.
    """
    n = len(order)
    above = np.zeros((n, n), np.bool_)
    for i in range(n):
        for j in range(i):
            above[i, j] = adjacency[order[i], order[j]]
    children = np.zeros(n)
    cells = np.empty(n)
    for i in range(n - 1, -1, -1):
        cells[i] = cardinalities[order[i]]
        parent = -1
        for j in range(i - 1, -1, -1):
            if above[i, j]:
                cells[i] *= cardinalities[order[j]]
                if parent < 0:
                    parent = j
                else:
                    above[parent, j] = True
        if parent >= 0:
            children[parent] += 1
    total = 0.0
    for i in range(n):
        total += cells[i] * max(1.0, children[i])
    return total


@kernel
def climb(
    adjacency: NDArray[np.bool_],
    order: NDArray[np.int64],
    cardinalities: NDArray[np.float64],
    fixed: int,
    budget: int,
) -> int:
    """Improve an order in place until no single move helps, or the budget is used up.

    Parameters
    ----------
    adjacency, order, cardinalities
        As in `order_size`.
    fixed
        How many variables at the front must stay where they are.
    budget
        How many orders may be evaluated.

    Returns
    -------
    How many orders were evaluated.
    """
    n = len(order)
    smallest = order_size(adjacency, order, cardinalities)
    evaluated = 1
    improved = True
    while improved:
        improved = False
        for i in range(fixed, n):
            target = -1
            for j in range(fixed, n):
                if j == i:
                    continue
                if evaluated >= budget:
                    return evaluated
                _move(order, i, j)
                size = order_size(adjacency, order, cardinalities)
                _move(order, j, i)
                evaluated += 1
                if size < smallest:
                    smallest, target = size, j
            if target >= 0:
                _move(order, i, target)
                improved = True
    return evaluated


@kernel
def _move(order: NDArray[np.int64], i: int, j: int) -> None:
    """Take the variable at place i out and put it at place j."""
    variable = order[i]
    step = 1 if j > i else -1
    for t in range(i, j, step):
        order[t] = order[t + step]
    order[j] = variable
