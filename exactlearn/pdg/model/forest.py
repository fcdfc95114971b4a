"""Forests of variables as arrays of parent numbers."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn.data.dataset import Dataset
from exactlearn.errors import CheckError, DataError


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


def checked_forest(forest: ArrayLike, dataset: Dataset) -> NDArray[np.int32]:
    """Return the parents of a forest of a table's variables.

    Raises
    ------
    DataError
        If there is not one parent for each variable.
    CheckError
        If they form no forest.
    """
    parents = np.asarray(forest, np.int32)
    if parents.shape != (dataset.n_variables,):
        raise DataError(
            f"a forest of shape ({dataset.n_variables},) was expected, a parent or -1 for each"
            f" column; got {parents.shape}"
        )
    forest_order(parents)
    return parents
