"""Changes of cells: which completions near another one are asked of, one by one or together."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Changes(NamedTuple):
    """Completions that differ in the same cells but for a last one.

    Attributes
    ----------
    fixed
        Row, variable and new state of the cells that all of them change, shape (cells, 3).
    last
        The same of the one cell that each changes besides, shape (completions, 3), in order of
        variables.
    """

    fixed: NDArray[np.int64]
    last: NDArray[np.int64]


Group = tuple[Changes, ...]
"""Changes that are asked of together."""


def halves(group: Group) -> list[Group]:
    """Split a group of several completions."""
    if len(group) > 1:
        middle = len(group) // 2
        return [group[:middle], group[middle:]]
    fixed, last = group[0]
    middle = len(last) // 2
    return [(Changes(fixed, last[:middle]),), (Changes(fixed, last[middle:]),)]


def by_variable(changes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Split changes, in order of variables, by variable."""
    return np.split(changes, 1 + np.flatnonzero(np.diff(changes[:, 1]))) if len(changes) else []


def prefixes(
    singles: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the changes of ``size`` cells, each with the single changes of the cells after them."""
    if size == 0:
        yield singles[:0], singles
        return
    cell = np.concatenate([[0], np.cumsum((np.diff(singles[:, :2], axis=0) != 0).any(axis=1))])
    for fixed, left in prefixes(singles, size - 1):
        begin = len(singles) - len(left)
        for at in range(begin, len(singles)):
            after = int(np.searchsorted(cell, cell[at], side="right"))
            if after < len(singles):
                yield np.concatenate([fixed, singles[at : at + 1]]), singles[after:]
