"""Choosing candidates along an order of the variables, and orders that a linear program suggests.

A candidate *needs* its parents. It can be chosen if all that it needs stands before its variable,
and no bit set as wide as the problem is ever read.

Kernels that search count the candidates they look at in ``work[0]``: budget is bounded by counts,
and the same seed gives the same answer.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel

from ..components import Component

MISSING = -1e15
"""Stands for the score of a variable that has no candidate that can be chosen."""

LEAST = 1e-9
"""Smallest difference of scores that counts as one."""

ROUNDING = 4e-15
"""What a difference of sums must be, relative to them, to be more than rounding.

Else moves between two ways to miss a candidate could seem to help in turns for ever.
"""

BEFORE, BEHIND = -1, 2**62
"""Positions before and behind all variables."""


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
    owner = np.repeat(np.arange(component.n_candidates), np.diff(component.member_first))
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
    need_first: NDArray[np.int64],
    needs: NDArray[np.int64],
    position: NDArray[np.int64],
    candidate: int,
    limit: int,
) -> int:
    """Return the last position of all that a candidate needs, or some position behind the limit.

    It is -1 if the candidate needs no variable.
    """
    latest = BEFORE
    for at in range(need_first[candidate], need_first[candidate + 1]):
        latest = max(latest, position[needs[at]])
        if latest > limit:
            break
    return latest


@in_place_kernel
def first_before(
    need_first: NDArray[np.int64],
    needs: NDArray[np.int64],
    position: NDArray[np.int64],
    begin: int,
    end: int,
    place: int,
    work: NDArray[np.int64],
) -> int:
    """Return the first candidate of a range all whose needs stand before a place, or -1."""
    at = need_first[begin]
    for c in range(begin, end):
        stop = need_first[c + 1]
        while at < stop and position[needs[at]] < place:
            at += 1
        if at == stop:
            work[0] += c - begin + 1
            return c
        at = stop
    work[0] += end - begin
    return -1


@kernel
def positions_along(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of every variable, shape (n,)."""
    position = np.empty(len(order), np.int64)
    for at in range(len(order)):
        position[order[at]] = at
    return position


@in_place_kernel
def choose_along(
    lists: Lists,
    position: NDArray[np.int64],
    chosen: NDArray[np.int64],
    work: NDArray[np.int64],
) -> None:
    """Choose each variable's best candidate for the positions, in place."""
    first = lists.first
    for v in range(len(chosen)):
        chosen[v] = first_before(
            lists.need_first, lists.needs, position, first[v], first[v + 1], position[v], work
        )


@in_place_kernel
def total_of(scores: NDArray[np.float64], chosen: NDArray[np.int64]) -> float:
    """Return the score of a selection."""
    total = 0.0
    for v in range(len(chosen)):
        total += score_of(scores, chosen[v])
    return total


@kernel
def place_by_weight(lists: Lists, weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Order the variables: next comes the one that can be placed and misses the least.

    A variable misses ``1 - (weight of its candidates inside what is placed)``, and by the score it
    loses on its best candidate where that is a tie. With the values of a linear program's
    solution as weights this is a rounding of that solution.
    """
    first, scores = lists.first, lists.scores
    n = len(first) - 1
    order = np.empty(n, np.int64)
    placed = np.zeros(n, np.bool_)
    missing, best = np.ones(n), np.full(n, -1, np.int64)
    wanting = np.empty(len(scores), np.int64)
    # count what each candidate still needs
    for v in range(n):
        for c in range(first[v], first[v + 1]):
            wanting[c] = lists.need_first[c + 1] - lists.need_first[c]
            if wanting[c] == 0:
                missing[v] -= weights[c]
                best[v] = c if best[v] < 0 else min(best[v], c)
    # place the variable that misses least, and grant it to the others
    for at in range(n):
        pick = -1
        for v in range(n):
            if not placed[v] and (pick < 0 or _comes_before(v, pick, best, missing, scores, first)):
                pick = v
        order[at] = pick
        placed[pick] = True
        _grant(lists, pick, weights, wanting, missing, best)
    return order


@in_place_kernel
def _grant(
    lists: Lists,
    node: int,
    weights: NDArray[np.float64],
    wanting: NDArray[np.int64],
    missing: NDArray[np.float64],
    best: NDArray[np.int64],
) -> None:
    """Take note in place that a node stands before all variables to come."""
    for arc in range(lists.arc_first[node], lists.arc_first[node + 1]):
        v = lists.arc_child[arc]
        for at in range(lists.arc_rows_first[arc], lists.arc_rows_first[arc + 1]):
            c = lists.arc_rows[at]
            wanting[c] -= 1
            if wanting[c] == 0:
                missing[v] -= weights[c]
                best[v] = c if best[v] < 0 else min(best[v], c)


@in_place_kernel
def _comes_before(
    v: int,
    other: int,
    best: NDArray[np.int64],
    missing: NDArray[np.float64],
    scores: NDArray[np.float64],
    first: NDArray[np.int64],
) -> bool:
    if best[v] < 0 or best[other] < 0:
        return bool(best[v] >= 0 > best[other])
    if abs(missing[v] - missing[other]) > 1e-6:
        return bool(missing[v] < missing[other])
    lost, other_lost = (
        scores[first[v]] - scores[best[v]],
        scores[first[other]] - scores[best[other]],
    )
    return bool(lost < other_lost - LEAST)
