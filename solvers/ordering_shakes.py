"""Continuing from shaken copies of an order: an iterated local search with local repairs."""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel, overwrite
from exactlearn.solvers.ordering_choices import force_value
from exactlearn.solvers.ordering_climb import (
    Queue,
    climb,
    empty_queue,
    order_anew,
    push_all,
    push_passed,
    push_readers,
)
from exactlearn.solvers.ordering_moves import State, empty_plan, force
from exactlearn.solvers.placing import (
    LEAST,
    Lists,
    choose_along,
    latest_need,
    positions_along,
    total_of,
)


@kernel
def climb_with_shakes(
    lists: Lists,
    order: NDArray[np.int64],
    values: NDArray[np.int64],
    chosen: NDArray[np.int64],
    effort: int,
    shakes: int,
    rng: np.random.Generator,
) -> int:
    """Climb from an order and values, then from shaken copies of the best; all in place.

    Returns the number of candidates and arcs looked at.
    """
    n = len(order)
    work = np.zeros(1, np.int64)
    state = State(order.copy(), positions_along(lists, order, values), values.copy(), chosen.copy())
    earlier, later, queue = empty_plan(lists), empty_plan(lists), empty_queue(lists)
    choose_along(lists, state.position, state.chosen, work)
    push_all(queue, rng)
    climb(lists, state, queue, earlier, later, work)
    kept = copy_of(state)
    best = total_of(lists.scores, kept.chosen)
    for shake in range(shakes):
        if work[0] > effort:
            break
        if shake % n == n - 1:
            order_anew(lists, state, rng, work)
            push_all(queue, rng)
        else:
            kick(lists, state, queue, rng, work)
        climb(lists, state, queue, earlier, later, work)
        work[0] += n // 8
        total = total_of(lists.scores, state.chosen)
        if total >= best - LEAST:
            best = max(best, total)
            take_over(kept, state)
        else:
            take_over(state, kept)
    overwrite(order, kept.order)
    overwrite(values, kept.values)
    overwrite(chosen, kept.chosen)
    return int(work[0])


@kernel
def copy_of(state: State) -> State:
    """Return a copy that shares nothing."""
    return State(
        state.order.copy(), state.position.copy(), state.values.copy(), state.chosen.copy()
    )


@kernel
def take_over(target: State, source: State) -> None:
    """Copy a state into another."""
    overwrite(target.order, source.order)
    overwrite(target.position, source.position)
    overwrite(target.values, source.values)
    overwrite(target.chosen, source.chosen)


@kernel
def kick(
    lists: Lists, state: State, queue: Queue, rng: np.random.Generator, work: NDArray[np.int64]
) -> None:
    """Change a few things that lie close to each other, and let what that touches wait."""
    n = len(state.order)
    v = int(rng.random() * n)
    while True:
        if len(state.values) and rng.random() < 0.25:
            _kick_choice(lists, state, queue, rng, work)
        elif rng.random() < 0.5:
            _grant_better(lists, state, queue, v, rng, work)
        else:
            u = relative(lists, v, rng)
            _put(lists, state, queue, v, state.position[u], work)
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
def _put(
    lists: Lists, state: State, queue: Queue, v: int, place: int, work: NDArray[np.int64]
) -> None:
    here = state.position[v]
    force(lists, state, v, place, work)
    push_passed(lists, state, queue, v, here)


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
        place = latest_need(lists, state.position, c)
        if place < len(state.order):
            _put(lists, state, queue, v, max(place, state.position[v]), work)
        return
    for at in range(lists.need_first[c], lists.need_first[c + 1]):
        node = lists.needs[at]
        if node < len(state.order) and state.position[node] > state.position[v]:
            _put(lists, state, queue, int(node), state.position[v], work)


@kernel
def _kick_choice(
    lists: Lists, state: State, queue: Queue, rng: np.random.Generator, work: NDArray[np.int64]
) -> None:
    choice = int(rng.random() * len(state.values))
    options = lists.option_first[choice + 1] - lists.option_first[choice]
    force_value(lists, state, choice, int(rng.random() * options), work)
    push_readers(lists, queue, choice)
