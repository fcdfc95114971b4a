"""Kicks: changes of an order that a climb does not find, and may not undo.

Small ones grant a variable a better candidate or put it elsewhere. Large ones turn round, or move
to either end, what lies around a variable in the network so far: arcs along a chain can often be
turned without loss, but only all of them together (score equivalence), which no sequence of single
insertions does without a loss on the way.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel

from .choices import flip
from .climb import Queue, choose_and_push, force
from .decoding import Lists, latest_need
from .moves import State, needs_node


@kernel
def kick(
    lists: Lists,
    state: State,
    queue: Queue,
    large: float,
    rng: np.random.Generator,
    work: NDArray[np.int64],
) -> None:
    """Change a few things that lie close to each other, and let what that touches wait."""
    n = len(state.order)
    v = int(rng.random() * n)
    if rng.random() < large:
        rearrange(lists, state, queue, v, rng, work)
        return
    while True:
        if len(state.values) and rng.random() < 0.25:
            _change_choice(lists, state, queue, rng, work)
        elif rng.random() < 0.5:
            _grant_better(lists, state, queue, v, rng, work)
        else:
            u = relative(lists, v, rng)
            force(lists, state, queue, v, state.position[u], work)
        if rng.random() < 0.4:
            break
        v = relative(lists, v, rng)


@kernel
def relative(lists: Lists, v: int, rng: np.random.Generator) -> int:
    """Return a random variable that may be a parent or a child of one, or itself."""
    begin, end = lists.source_first[v], lists.source_first[v + 1]
    arc, arcs_end = lists.arc_first[v], lists.arc_first[v + 1]
    pick = int(rng.random() * (end - begin + arcs_end - arc))
    if begin + pick < end:
        node = lists.sources[begin + pick]
        return int(node) if node < len(lists.first) - 1 else v
    return int(lists.arc_child[arc + pick - (end - begin)]) if arc < arcs_end else v


@kernel
def rearrange(
    lists: Lists,
    state: State,
    queue: Queue,
    v: int,
    rng: np.random.Generator,
    work: NDArray[np.int64],
) -> None:
    """Turn round, or move to either end, the variables around one in the network so far."""
    n = len(state.order)
    size = int(2.0 * (n / 4.0) ** (rng.random() ** 2)) + 1
    inside = np.zeros(n, np.bool_)
    ball = _around(lists, state, v, min(size, n), inside)
    how = int(rng.random() * 3)
    before = state.position.copy()
    order, at = state.order.copy(), 0
    if how == 0:
        back = n - 1
        for place in range(n):
            if inside[order[place]]:
                while not inside[order[back]]:
                    back -= 1
                state.order[place] = order[back]
                back -= 1
    else:
        for turn in range(2):
            for place in range(n):
                if inside[order[place]] == ((turn == 0) == (how == 1)):
                    state.order[at] = order[place]
                    at += 1
    for place in range(n):
        state.position[state.order[place]] = place
    for u in ball:
        for arc in range(lists.arc_first[u], lists.arc_first[u + 1]):
            child = lists.arc_child[arc]
            if not inside[child] and (before[u] < before[child]) != (
                state.position[u] < state.position[child]
            ):
                choose_and_push(lists, state, queue, child, work)
        choose_and_push(lists, state, queue, u, work)


@kernel
def _around(
    lists: Lists, state: State, v: int, size: int, inside: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the variables nearest to one in the network so far, and mark them."""
    n = len(state.order)
    ball = np.empty(size, np.int64)
    ball[0], count, at = v, 1, 0
    inside[v] = True
    while at < count < size:
        u = ball[at]
        at += 1
        if state.chosen[u] >= 0:
            for k in range(
                lists.need_first[state.chosen[u]], lists.need_first[state.chosen[u] + 1]
            ):
                w = lists.needs[k]
                if w < n and count < size and not inside[w]:
                    inside[w] = True
                    ball[count] = w
                    count += 1
        for arc in range(lists.arc_first[u], lists.arc_first[u + 1]):
            child = lists.arc_child[arc]
            if (
                count < size
                and not inside[child]
                and needs_node(lists.need_first, lists.needs, state.chosen[child], u)
            ):
                inside[child] = True
                ball[count] = child
                count += 1
    return ball[:count]


@kernel
def _grant_better(
    lists: Lists,
    state: State,
    queue: Queue,
    v: int,
    rng: np.random.Generator,
    work: NDArray[np.int64],
) -> None:
    """Let a variable have a better candidate: move it behind the parents, or them before it."""
    better = state.chosen[v] - lists.first[v]
    if better <= 0:
        return
    c = lists.first[v] + int(rng.random() * better)
    if rng.random() < 0.5:
        n = len(state.order)
        place = latest_need(lists.need_first, lists.needs, state.position, c, n)
        if place < n:
            force(lists, state, queue, v, max(place, state.position[v]), work)
        return
    for at in range(lists.need_first[c], lists.need_first[c + 1]):
        node = lists.needs[at]
        if node < len(state.order) and state.position[node] > state.position[v]:
            force(lists, state, queue, int(node), state.position[v], work)


@kernel
def _change_choice(
    lists: Lists, state: State, queue: Queue, rng: np.random.Generator, work: NDArray[np.int64]
) -> None:
    """Let a random choice take a random value, whatever that costs."""
    choice = int(rng.random() * len(state.values))
    start, old = len(state.order) + lists.option_first[choice], state.values[choice]
    value = int(rng.random() * (lists.option_first[choice + 1] - lists.option_first[choice]))
    flip(lists, state, choice, value)
    for literal in (start + old, start + value):
        for arc in range(lists.arc_first[literal], lists.arc_first[literal + 1]):
            choose_and_push(lists, state, queue, lists.arc_child[arc], work)
