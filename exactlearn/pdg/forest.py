"""Forests of variables as arrays of parent numbers."""

import numpy as np
from numpy.typing import NDArray

from exactlearn.errors import CheckError


def forest_children(forest: NDArray[np.int32]) -> tuple[tuple[int, ...], ...]:
    """Return the children of each variable of a forest of parent numbers, in variable order."""
    children: list[list[int]] = [[] for _ in forest]
    for variable, parent in enumerate(forest.tolist()):
        if parent >= 0:
            children[parent].append(variable)
    return tuple(tuple(c) for c in children)


def forest_order(forest: NDArray[np.int32]) -> tuple[int, ...]:
    """Return the variables of a forest, each before its descendants (depth first).

    Raises
    ------
    CheckError
        If a parent number is out of range or the parents form a cycle.
    """
    n = len(forest)
    for variable in np.flatnonzero((forest < -1) | (forest >= n)).tolist():
        raise CheckError(f"variable {variable}: forest parent {forest[variable]} is not in -1..{n}")
    children = forest_children(forest)
    order: list[int] = []
    stack: list[int] = np.flatnonzero(forest < 0)[::-1].tolist()
    while stack:
        variable = stack.pop()
        order.append(variable)
        stack.extend(reversed(children[variable]))
    if len(order) < n:
        rest = sorted(set(range(n)) - set(order))
        raise CheckError(f"the forest has a cycle among variables {rest}")
    return tuple(order)
