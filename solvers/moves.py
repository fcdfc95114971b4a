"""Moves of the search among orders: one variable to its best place.

Only the variable itself and those that may take it as a parent are affected by an insertion, and
what a child ``u`` of ``v`` wins or loses when ``v`` passes it does not depend on how far ``v``
goes. So the order is swept from child to child, not from neighbour to neighbour: the cost is that
of the candidates of the children, whatever the number of variables (compare the swap-by-swap sweeps
of Alonso-Barba et al. 2011; Lee and van Beek 2017, MINOBS).

Variables that are worth a look are marked as *waiting*: after a change those whose candidate
changed, those they may take as parents, and the children that were passed. So a climb from a
perturbed order costs as much as the surroundings of the perturbation, not as much as the problem.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel

from .decoding import (
    BEFORE,
    BEHIND,
    MIN_GAIN,
    ROUNDING,
    Lists,
    first_before,
    latest_need,
    score_of,
)


class State(NamedTuple):
    """An order with its positions and best candidates; changed in place."""

    order: NDArray[np.int64]
    position: NDArray[np.int64]
    selection: NDArray[np.int64]


class Room(NamedTuple):
    """Which variables wait to be looked at, and scratch space for the moves of one variable.

    Attributes
    ----------
    waiting
        Shape (n,).
    place, child, candidate, gain
        Children that a move may pass, by increasing position; what they choose when passed, and
        what they win by that, shape (n,).
    step_place, step_candidate
        Better candidates of the variable itself, and where their last parent stands, the best and
        farthest first.
    """

    waiting: NDArray[np.bool_]
    place: NDArray[np.int64]
    child: NDArray[np.int64]
    candidate: NDArray[np.int64]
    gain: NDArray[np.float64]
    step_place: NDArray[np.int64]
    step_candidate: NDArray[np.int64]


def room_for(lists: Lists) -> Room:
    """Return the room for a search among the orders of a component; all variables wait."""
    n = len(lists.first) - 1
    longest = int(np.diff(lists.first).max())
    place, child, candidate = np.empty((3, n), np.int64)
    step_place, step_candidate = np.empty((2, longest), np.int64)
    waiting = np.ones(n, np.bool_)
    gain = np.empty(n)
    return Room(waiting, place, child, candidate, gain, step_place, step_candidate)


@in_place_kernel
def insert_best(
    lists: Lists, state: State, room: Room, v: int, work: NDArray[np.int64]
) -> None:
    """Move one variable to its best place if that is better, in place; mark those to look at."""
    selection = state.selection
    here = state.position[v]
    old = state.selection[v]
    # the best place, if it gains more than rounding
    gain, place, candidate, begin, end = best_place(lists, state, room, v, work)
    if gain <= MIN_GAIN:
        return
    selection[v] = candidate
    move(state, v, place)
    # the children passed choose anew; the room keeps what they had
    for k in range(begin, end):
        u = room.child[k]
        previous = selection[u]
        selection[u] = room.candidate[k]
        room.candidate[k] = previous
    for k in range(begin, end):
        mark_changed(lists, state, room.waiting, room.child[k], room.candidate[k])
    mark_changed(lists, state, room.waiting, v, old)
    mark_moved(lists, state, room.waiting, v, here)


@in_place_kernel
def best_place(
    lists: Lists, state: State, room: Room, v: int, work: NDArray[np.int64]
) -> tuple[float, int, int, int, int]:
    """Return the best move of a variable: gain, place, its candidate, and the children it passes.

    On the way to the front it loses those it passes, and they win it; to the back it is the other
    way round. The children passed stand in the room, from one index to another.
    """
    scores = lists.scores
    here = state.position[v]
    current = state.selection[v]
    own_score = score_of(scores, current)
    end = lists.first[v + 1]
    # better candidates of v buy moves to the back; children passed lose or win
    steps = _list_steps(lists, state, room, v, work)
    farthest = room.step_place[0] if steps > 0 else here
    before, n_children, hope = _list_children(lists, state, room, v, farthest, work)
    best = 0.0
    place = here
    best_own = current
    low = 0
    high = 0
    # to the back, from one better candidate of v to the next, farther one
    lost = 0.0
    k = before
    for step in range(steps - 1, -1, -1):
        at = room.step_place[step]
        candidate = room.step_candidate[step]
        while k < n_children and room.place[k] <= at:
            lost -= room.gain[k]
            k += 1
        won = scores[candidate] - own_score
        gain = won - lost - ROUNDING * (won + lost)
        if gain > best:
            best = gain
            place = at
            best_own = candidate
            low = before
            high = k
    # to the front, past one child after the other, while v loses candidates that need them
    won = 0.0
    candidate = current
    for k in range(before - 1, -1, -1):
        at = room.place[k]
        won += room.gain[k]
        if candidate >= 0 and latest_need(lists, state.position, candidate, at) >= at:
            candidate = first_before(
                lists, state.position, candidate + 1, end, at, work
            )
        lost = own_score - score_of(scores, candidate)
        gain = won - lost - ROUNDING * (won + lost)
        if gain > best:
            best = gain
            place = at
            best_own = candidate
            low = k
            high = before
        # nothing that is still to be passed makes up for the loss
        if hope - lost <= best:
            break
    return best, place, best_own, low, high


@in_place_kernel
def _list_steps(
    lists: Lists, state: State, room: Room, v: int, work: NDArray[np.int64]
) -> int:
    """List the better candidates of a variable that shorter moves buy; return how many."""
    end = state.selection[v] if state.selection[v] >= 0 else lists.first[v + 1]
    steps = 0
    nearest = len(state.order)
    for c in range(lists.first[v], end):
        at = latest_need(lists, state.position, c, nearest)
        if at < nearest:
            room.step_place[steps] = nearest = at
            room.step_candidate[steps] = c
            steps += 1
    work[0] += end - lists.first[v]
    return steps


@in_place_kernel
def _list_children(
    lists: Lists,
    state: State,
    room: Room,
    v: int,
    farthest: int,
    work: NDArray[np.int64],
) -> tuple[int, int, float]:
    """List the children that win, or lose, when a variable passes them.

    Return how many stand before it, how many there are, and what those before it win together.
    """
    position = state.position
    selection = state.selection
    scores = lists.scores
    here = position[v]
    arcs = (lists.arc_first[v], lists.arc_first[v + 1])
    count = 0
    hope = 0.0
    # children before it win what its place before them allows
    position[v] = BEFORE
    for arc in range(arcs[0], arcs[1]):
        u = lists.arc_child[arc]
        if position[u] < here:
            c = _first_of_arc(lists, state, arc, work)
            if c >= 0:
                gain = scores[c] - score_of(scores, selection[u])
                hope += gain
                _insert(room, count, position[u], u, c, gain)
                count += 1
    before = count
    # children behind it that need it lose their candidates
    position[v] = BEHIND
    for arc in range(arcs[0], arcs[1]):
        u = lists.arc_child[arc]
        at = position[u]
        c = selection[u]
        if here < at <= farthest and needs_node(lists, c, v):
            following = first_before(
                lists, position, c + 1, lists.first[u + 1], at, work
            )
            _insert(
                room, count, at, u, following, score_of(scores, following) - scores[c]
            )
            count += 1
    position[v] = here
    work[0] += arcs[1] - arcs[0]
    return before, count, hope


@in_place_kernel
def _first_of_arc(lists: Lists, state: State, arc: int, work: NDArray[np.int64]) -> int:
    """Return the best candidate of an arc that beats its child's and can be chosen, or -1."""
    u = lists.arc_child[arc]
    current = state.selection[u]
    place = state.position[u]
    for at in range(lists.arc_rows_first[arc], lists.arc_rows_first[arc + 1]):
        c = lists.arc_rows[at]
        if 0 <= current <= c:
            return -1
        work[0] += 1
        if latest_need(lists, state.position, c, place) < place:
            return int(c)
    return -1


@in_place_kernel
def needs_node(lists: Lists, candidate: int, node: int) -> bool:
    """Return whether a candidate needs a variable; -1 needs nothing."""
    if candidate >= 0:
        for at in range(lists.need_first[candidate], lists.need_first[candidate + 1]):
            if lists.needs[at] == node:
                return True
    return False


@in_place_kernel
def _insert(
    room: Room, count: int, place: int, child: int, candidate: int, gain: float
) -> None:
    """Insert a child into the room, by increasing place."""
    k = count
    while k > 0 and room.place[k - 1] > place:
        room.place[k] = room.place[k - 1]
        room.child[k] = room.child[k - 1]
        room.candidate[k] = room.candidate[k - 1]
        room.gain[k] = room.gain[k - 1]
        k -= 1
    room.place[k] = place
    room.child[k] = child
    room.candidate[k] = candidate
    room.gain[k] = gain


@in_place_kernel
def move(state: State, v: int, place: int) -> None:
    """Take a variable out of the order and insert it at a place, in place."""
    order = state.order
    position = state.position
    here = position[v]
    step = 1 if place > here else -1
    # those between move by one
    for at in range(here, place, step):
        order[at] = order[at + step]
        position[order[at]] = at
    order[place] = v
    position[v] = place


@in_place_kernel
def mark_changed(
    lists: Lists, state: State, waiting: NDArray[np.bool_], v: int, old: int
) -> None:
    """Mark those who may win by a variable's change of candidates.

    They are those who could serve it by coming earlier, if it lost, and those it needed.
    """
    new = state.selection[v]
    if new == old:
        return
    waiting[v] = True
    # parents behind it may now serve it by coming earlier
    if score_of(lists.scores, new) < score_of(lists.scores, old):
        mark_later_parents(lists, state, waiting, v)
    if old >= 0:
        for at in range(lists.need_first[old], lists.need_first[old + 1]):
            waiting[lists.needs[at]] = True


@in_place_kernel
def mark_moved(
    lists: Lists, state: State, waiting: NDArray[np.bool_], v: int, here: int
) -> None:
    """Mark those who may win by a variable's move away from a place."""
    waiting[v] = True
    # to the back it may lose parents that others now offer
    if state.position[v] > here:
        mark_later_parents(lists, state, waiting, v)
        return
    for arc in range(lists.arc_first[v], lists.arc_first[v + 1]):
        u = lists.arc_child[arc]
        if state.position[v] < state.position[u] <= here:
            mark_later_parents(lists, state, waiting, u)


@in_place_kernel
def mark_later_parents(
    lists: Lists, state: State, waiting: NDArray[np.bool_], v: int
) -> None:
    """Mark a variable, and those behind it that it may take as parents."""
    waiting[v] = True
    for at in range(lists.source_first[v], lists.source_first[v + 1]):
        if state.position[lists.sources[at]] > state.position[v]:
            waiting[lists.sources[at]] = True
