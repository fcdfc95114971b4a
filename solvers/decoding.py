"""Choosing candidates along an order of the variables, and orders that a linear program suggests.

A candidate *needs* its parents: it can be chosen if all of them stand before its variable.

Kernels that search count the candidates they look at in ``work[0]``. Budgets are counts of these
rather than seconds, so that a seed gives the same answer everywhere.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel
from exactlearn._runtime.offsets import owners

from .components import Component

MISSING = -1e15
"""Stands for the score of a variable that has no candidate that can be chosen."""

MIN_GAIN = 1e-9
"""Smallest difference of scores that counts as one."""

ROUNDING = 4e-15
"""What a difference of sums must be, relative to them, to be more than rounding.

Else moves between two ways to miss a candidate could seem to help in turns for ever.
"""

Counts = NDArray[np.int64]
"""Counters of a search: place 0 counts the candidates that it looked at."""

BEFORE = -1
BEHIND = 2**62
"""Positions before and behind all variables."""

TIE = 1e-6
"""Difference of two weights, as :func:`place_by_weight` has them, that does not count."""


class Lists(NamedTuple):
    """The candidates of a component by what they need, and by who needs it.

    Attributes
    ----------
    first, scores
        As in the component.
    need_first, needs
        Variables that each candidate needs, shapes (m + 1,) and (total,).
    arc_first, arc_child
        Variables with candidates that need a variable, increasing: one *arc* for each such pair,
        shapes (n + 1,) and (arcs,).
    arc_rows_first, arc_rows
        Candidates of each arc, by falling score, shapes (arcs + 1,) and (total,).
    source_first, sources
        Variables that some candidate of each variable needs, shapes (n + 1,) and (arcs,).
    """

    first: NDArray[np.int64]
    scores: NDArray[np.float64]
    need_first: NDArray[np.int64]
    needs: NDArray[np.int64]
    arc_first: NDArray[np.int64]
    arc_child: NDArray[np.int64]
    arc_rows_first: NDArray[np.int64]
    arc_rows: NDArray[np.int64]
    source_first: NDArray[np.int64]
    sources: NDArray[np.int64]


def list_candidates(component: Component) -> Lists:
    """Sort out which candidates need which variables."""
    n = component.n_variables
    owner = owners(component.member_first)
    # candidates by the variable they need, then by score
    by_parent = np.argsort(component.members, kind="stable")
    pairs = component.members[by_parent] * n + component.child[owner[by_parent]]
    arcs, starts = np.unique(pairs, return_index=True)
    child = arcs % n
    return Lists(
        first=component.first,
        scores=component.scores,
        need_first=component.member_first,
        needs=component.members,
        arc_first=np.searchsorted(arcs // n, np.arange(n + 1)).astype(np.int64),
        arc_child=child.astype(np.int64),
        arc_rows_first=np.append(starts, len(pairs)).astype(np.int64),
        arc_rows=owner[by_parent].astype(np.int64),
        source_first=np.searchsorted(np.sort(child), np.arange(n + 1)).astype(np.int64),
        sources=(arcs // n)[np.argsort(child, kind="stable")].astype(np.int64),
    )


@in_place_kernel
def score_of(scores: NDArray[np.float64], candidate: int) -> float:
    """Return a candidate's score, or that of a missing one."""
    return scores[candidate] if candidate >= 0 else MISSING


@in_place_kernel
def latest_need(
    lists: Lists, position: NDArray[np.int64], candidate: int, limit: int
) -> int:
    """Return the last position of all that a candidate needs, or some position behind the limit.

    It is -1 if the candidate needs no variable.
    """
    latest = BEFORE
    for at in range(lists.need_first[candidate], lists.need_first[candidate + 1]):
        latest = max(latest, position[lists.needs[at]])
        if latest > limit:
            break
    return latest


@in_place_kernel
def first_before(
    lists: Lists,
    position: NDArray[np.int64],
    begin: int,
    end: int,
    place: int,
    work: Counts,
) -> int:
    """Return the first candidate of a range all whose needs stand before a place, or -1."""
    # needs of consecutive candidates are consecutive
    at = lists.need_first[begin]
    for c in range(begin, end):
        stop = lists.need_first[c + 1]
        while at < stop and position[lists.needs[at]] < place:
            at += 1
        if at == stop:
            work[0] += c - begin + 1
            return c
        at = stop
    work[0] += end - begin
    return -1


@in_place_kernel
def choose_along(
    lists: Lists,
    position: NDArray[np.int64],
    selection: NDArray[np.int64],
    work: Counts,
) -> None:
    """Choose each variable's best candidate for the positions, in place."""
    first = lists.first
    for v in range(len(selection)):
        selection[v] = first_before(
            lists, position, first[v], first[v + 1], position[v], work
        )


@in_place_kernel
def total_of(scores: NDArray[np.float64], selection: NDArray[np.int64]) -> float:
    """Return the score of a selection."""
    total = 0.0
    for v in range(len(selection)):
        total += score_of(scores, selection[v])
    return total


def place_by_weight(lists: Lists, weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Order the variables: next comes the one that can be placed and misses the least.

    Where none can be placed, one is all the same. A variable misses ``1 - (weight of its candidates
    inside what is placed)``; ties go to the one whose best candidate loses the least score. With
    the values of a linear program's solution as weights this is a rounding of that solution.
    """
    n = len(lists.first) - 1
    child = owners(lists.first)
    losses = lists.scores[lists.first[child]] - lists.scores
    wanting = np.diff(lists.need_first)
    missing = np.ones(n)
    lost = np.full(n, np.inf)
    order = np.empty(n, np.int64)
    placed = np.zeros(n, np.bool_)
    ready = np.flatnonzero(wanting == 0)
    for at in range(n):
        # candidates that have become ready
        np.subtract.at(missing, child[ready], weights[ready])
        np.minimum.at(lost, child[ready], losses[ready])
        # the next variable: least weight missing, then least score lost
        left = np.where(placed, np.inf, np.where(lost < np.inf, missing, TIE + 1.0))
        ties = np.flatnonzero(left <= left.min() + TIE)
        order[at] = pick = ties[np.argmin(lost[ties])]
        placed[pick] = True
        # its users need one variable less
        arcs = lists.arc_rows_first[lists.arc_first[pick : pick + 2]]
        rows = lists.arc_rows[arcs[0] : arcs[1]]
        wanting[rows] -= 1
        ready = rows[wanting[rows] == 0]
    return order
