"""Continuing from shaken copies of an order: an iterated local search with local repairs."""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel, overwrite
from exactlearn.solvers.ordering_climb import (
    climb,
    empty_queue,
    order_anew,
    push_all,
)
from exactlearn.solvers.ordering_kicks import kick
from exactlearn.solvers.ordering_moves import State, empty_plan
from exactlearn.solvers.placing import (
    LEAST,
    Lists,
    choose_along,
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
            kick(lists, state, queue, 0.2, rng, work)
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
