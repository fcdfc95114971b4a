"""Moves of the search among orders: one variable to its best place.

Only the variable itself and those that may take it as a parent are affected by an insertion, and
what a child ``u`` of ``v`` wins or loses when ``v`` passes it does not depend on how far ``v``
goes. So both directions are swept from relative to relative, not from neighbour to neighbour in the
order: the cost is that of the candidates of the relatives, whatever the number of variables
(compare the swap-by-swap sweeps of Alonso-Barba et al. 2011; Lee and van Beek 2017, MINOBS).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel

from .decoding import BEFORE, BEHIND, LEAST, ROUNDING, Lists, first_before, latest_need, score_of


class State(NamedTuple):
    """An order with its positions and best candidates; changed in place."""

    order: NDArray[np.int64]
    position: NDArray[np.int64]
    chosen: NDArray[np.int64]


class Plan(NamedTuple):
    """Relatives that a move passes, in the order of passing; scratch space of the sweeps.

    ``step_place``, ``step_candidate`` are the better candidates of the variable itself, by where
    their last need stands.
    """

    place: NDArray[np.int64]
    child: NDArray[np.int64]
    candidate: NDArray[np.int64]
    gain: NDArray[np.float64]
    step_place: NDArray[np.int64]
    step_candidate: NDArray[np.int64]


@kernel
def empty_plan(lists: Lists) -> Plan:
    """Return scratch space for the sweeps of a component."""
    n, longest = len(lists.first) - 1, 0
    for v in range(n):
        longest = max(longest, lists.first[v + 1] - lists.first[v])
    return Plan(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
    )


@in_place_kernel
def insert_best(
    lists: Lists, state: State, v: int, earlier: Plan, later: Plan, work: NDArray[np.int64]
) -> tuple[int, int]:
    """Move one variable to its best place if that is better.

    Returns
    -------
    sign, passed
        -1 if it moved to the front, 1 if to the back, 0 if not; and how many relatives of
        ``earlier`` or ``later`` it passed.
    """
    gain, place, own, passed = best_earlier(lists, state, v, earlier, work)
    later_gain, later_place, later_own, later_passed = best_later(lists, state, v, later, work)
    if max(gain, later_gain) <= LEAST:
        return 0, 0
    if later_gain > gain:
        _apply(state, v, later_place, later_own, later, later_passed)
        return 1, later_passed
    _apply(state, v, place, own, earlier, passed)
    return -1, passed


@in_place_kernel
def best_earlier(
    lists: Lists, state: State, v: int, plan: Plan, work: NDArray[np.int64]
) -> tuple[float, int, int, int]:
    """Return the best move of a variable to the front: gain, place, its candidate, passed.

    Those it passes may take it as a parent; it loses them.
    """
    position, chosen, scores = state.position, state.chosen, lists.scores
    here = position[v]
    best, place, best_own, passed = 0.0, here, chosen[v], 0
    # what the variables passed would win with v before them, nearest first
    position[v] = BEFORE
    found, hope = 0, 0.0
    for arc in range(lists.arc_first[v], lists.arc_first[v + 1]):
        u = lists.arc_child[arc]
        if position[u] < here:
            better = first_of_arc(lists, state, arc, work)
            if better >= 0:
                gain = scores[better] - score_of(scores, chosen[u])
                hope += gain
                _insert(plan, found, -position[u], u, better, gain)
                found += 1
    work[0] += lists.arc_first[v + 1] - lists.arc_first[v]
    position[v] = here
    # pass one after the other, while v loses candidates that need them
    won, own = 0.0, chosen[v]
    for k in range(found):
        at = -plan.place[k]
        won += plan.gain[k]
        if own >= 0 and latest_need(lists.need_first, lists.needs, position, own, at) >= at:
            own = first_before(
                lists.need_first, lists.needs, position, own + 1, lists.first[v + 1], at, work
            )
        lost = score_of(scores, chosen[v]) - score_of(scores, own)
        gain = won - lost - ROUNDING * (won + lost)
        if gain > best:
            best, place, best_own, passed = gain, at, own, k + 1
        if hope - lost <= best:
            break
    return best, place, best_own, passed


@in_place_kernel
def best_later(
    lists: Lists, state: State, v: int, plan: Plan, work: NDArray[np.int64]
) -> tuple[float, int, int, int]:
    """Return the best move of a variable to the back: gain, place, its candidate, passed.

    It may take those it passes as parents; they lose it.
    """
    position, chosen, scores = state.position, state.chosen, lists.scores
    here = position[v]
    best, place, best_own, passed = 0.0, here, chosen[v], 0
    steps = _steps(lists, state, v, plan, work)
    if steps == 0:
        return best, place, best_own, passed
    farthest = plan.step_place[0]
    # what the variables passed would lose without v before them, nearest first
    position[v] = BEHIND
    found = 0
    for arc in range(lists.arc_first[v], lists.arc_first[v + 1]):
        u = lists.arc_child[arc]
        at = position[u]
        if here < at <= farthest and needs_node(lists.need_first, lists.needs, chosen[u], v):
            other = first_before(
                lists.need_first, lists.needs, position, chosen[u] + 1, lists.first[u + 1], at, work
            )
            gain = score_of(scores, other) - scores[chosen[u]]
            _insert(plan, found, at, u, other, gain)
            found += 1
    work[0] += lists.arc_first[v + 1] - lists.arc_first[v]
    position[v] = here
    # go from one better candidate of v to the next, farther one
    lost, k = 0.0, 0
    for step in range(steps - 1, -1, -1):
        at, own = plan.step_place[step], plan.step_candidate[step]
        while k < found and plan.place[k] <= at:
            lost -= plan.gain[k]
            k += 1
        own_gain = scores[own] - score_of(scores, chosen[v])
        gain = own_gain - lost - ROUNDING * (own_gain + lost)
        if gain > best:
            best, place, best_own, passed = gain, at, own, k
    return best, place, best_own, passed


@in_place_kernel
def _steps(lists: Lists, state: State, v: int, plan: Plan, work: NDArray[np.int64]) -> int:
    """Collect the better candidates of a variable that fewer moves buy; return how many."""
    need_first, needs, position = lists.need_first, lists.needs, state.position
    end = state.chosen[v] if state.chosen[v] >= 0 else lists.first[v + 1]
    steps, nearest = 0, len(state.order)
    for c in range(lists.first[v], end):
        at = latest_need(need_first, needs, position, c, nearest)
        if at < nearest:
            plan.step_place[steps] = nearest = at
            plan.step_candidate[steps] = c
            steps += 1
    work[0] += end - lists.first[v]
    return steps


@in_place_kernel
def first_of_arc(lists: Lists, state: State, arc: int, work: NDArray[np.int64]) -> int:
    """Return the best candidate of an arc that beats its child's and can be chosen, or -1."""
    need_first, needs, position = lists.need_first, lists.needs, state.position
    u = lists.arc_child[arc]
    current, place = state.chosen[u], position[u]
    for at in range(lists.arc_rows_first[arc], lists.arc_rows_first[arc + 1]):
        c = lists.arc_rows[at]
        if 0 <= current <= c:
            return -1
        work[0] += 1
        if latest_need(need_first, needs, position, c, place) < place:
            return int(c)
    return -1


@in_place_kernel
def needs_node(
    need_first: NDArray[np.int64], needs: NDArray[np.int64], candidate: int, node: int
) -> bool:
    """Return whether a candidate needs a variable; -1 needs nothing."""
    if candidate >= 0:
        for at in range(need_first[candidate], need_first[candidate + 1]):
            if needs[at] == node:
                return True
    return False


@in_place_kernel
def _insert(plan: Plan, count: int, place: int, child: int, candidate: int, gain: float) -> None:
    """Insert a relative into the plan, by increasing place."""
    k = count
    while k > 0 and plan.place[k - 1] > place:
        plan.place[k], plan.child[k] = plan.place[k - 1], plan.child[k - 1]
        plan.candidate[k], plan.gain[k] = plan.candidate[k - 1], plan.gain[k - 1]
        k -= 1
    plan.place[k], plan.child[k], plan.candidate[k], plan.gain[k] = place, child, candidate, gain


@in_place_kernel
def _apply(state: State, v: int, place: int, own: int, plan: Plan, passed: int) -> None:
    """Move a variable; the plan keeps what those it passed had chosen before."""
    chosen = state.chosen
    for k in range(passed):
        u = plan.child[k]
        chosen[u], plan.candidate[k] = plan.candidate[k], chosen[u]
    chosen[v] = own
    move(state, v, place)


@in_place_kernel
def move(state: State, v: int, place: int) -> None:
    """Take a variable out of the order and insert it at a place, in place."""
    order, position = state.order, state.position
    here = position[v]
    step = 1 if place > here else -1
    for at in range(here, place, step):
        order[at] = order[at + step]
        position[order[at]] = at
    order[place] = v
    position[v] = place


@in_place_kernel
def choose_again(lists: Lists, state: State, v: int, work: NDArray[np.int64]) -> None:
    """Choose a variable's best candidate for the positions, in place."""
    begin, end = lists.first[v], lists.first[v + 1]
    state.chosen[v] = first_before(
        lists.need_first, lists.needs, state.position, begin, end, state.position[v], work
    )
