"""Moves (changes of missing cells), one cell or several at once, and groups of them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Moves(NamedTuple):
    """Completions that differ in the same cells but for a last one.

    Attributes
    ----------
    fixed
        Row, variable and new state of the cells that all of them change, shape (cells, 3).
    last
        The same of the one cell that each changes besides, shape (completions, 3), in order of
        variables.
    bounds
        Bounds on the solutions with each completion, shape (completions,), or nothing.
    """

    fixed: NDArray[np.int64]
    last: NDArray[np.int64]
    bounds: NDArray[np.float64] = np.zeros(0)

    def take(self, some: NDArray[np.intp] | NDArray[np.bool_] | slice) -> "Moves":
        """Return some of the moves."""
        return Moves(self.fixed, self.last[some], self.bounds[some])


Group = tuple[Moves, ...]
"""Moves that are searched together."""


def halves(group: Group) -> list[Group]:
    """Split a group of several completions in two."""
    if len(group) > 1:
        middle = len(group) // 2
        return [group[:middle], group[middle:]]
    middle = len(group[0].last) // 2
    return [(group[0].take(np.s_[:middle]),), (group[0].take(np.s_[middle:]),)]


def parts_of(found: Sequence[Moves], chosen: NDArray[np.intp]) -> Group:
    """Return some of several moves, numbered one after the other, as a group."""
    starts = np.cumsum([0, *(len(moves.last) for moves in found)])
    owner = np.searchsorted(starts, chosen, side="right") - 1
    place = chosen - starts[owner]
    return tuple(found[k].take(place[owner == k]) for k in np.unique(owner).tolist())


def n_moves(singles: NDArray[np.int64], size: int) -> int:
    """Return the number of moves of ``size`` cells that :func:`prefixes` yields."""
    ways = [1, *[0] * size]  # to change so many of the cells seen
    _, states = np.unique(singles[:, :2], axis=0, return_counts=True)
    for n_states in states.tolist():
        for at in range(size, 0, -1):
            ways[at] += n_states * ways[at - 1]
    return ways[size]


def by_variable(moves: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Split moves, in order of variables, by variable."""
    return np.split(moves, 1 + np.flatnonzero(np.diff(moves[:, 1]))) if len(moves) else []


def grouped(best_scores: NDArray[np.float64], limit: float, slack: float) -> list[NDArray[np.intp]]:
    """Split moves into groups that are hardly harder to exclude than their members.

    The bound of a group's envelope is the sum over the children of the highest score that any move
    gives a child. A group begins with the move of the lowest bound left, and takes whichever raises
    its bound least, as long as that stays below a limit.

    Parameters
    ----------
    best_scores
        Each child's best score with multipliers after each move, shape (moves, children).
    limit
        Bound up to which groups grow; beyond it they do by a slack.
    slack
        By how much more than that of its first move a group's bound may be anyway.

    Returns
    -------
    list
        The numbers of each group's moves, increasing.
    """
    totals, left = best_scores.sum(axis=1), np.arange(len(best_scores))
    groups = []
    while len(left):
        seed = left[totals[left].argmin()]
        members, highest, most = [], best_scores[seed], max(limit, float(totals[seed]) + slack)
        while True:
            joins = (best_scores[left] <= highest).all(axis=1)
            members.append(left[joins])
            left = left[~joins]
            raised = np.maximum(best_scores[left], highest).sum(axis=1)
            if raised.min(initial=np.inf) > most:
                break
            highest = np.maximum(best_scores[left[raised.argmin()]], highest)
        groups.append(np.sort(np.concatenate(members)))
    return groups


def prefixes(
    singles: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the moves of ``size`` cells, each with the single moves of the cells after them."""
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
