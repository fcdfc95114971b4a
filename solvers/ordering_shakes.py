"""Continuing from shaken copies of an order: an iterated local search with local repairs.

A copy that lost a little is accepted with the probability of simulated annealing, whose
temperature falls to nothing with the effort that is left.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel, overwrite
from exactlearn.solvers.ordering_climb import climb, empty_queue, order_anew, push_all
from exactlearn.solvers.ordering_kicks import kick
from exactlearn.solvers.ordering_moves import State, empty_plan
from exactlearn.solvers.placing import LEAST, Lists, choose_along, positions_along, total_of

LARGE = 0.35
"""Share of the kicks that rearrange whole surroundings."""

SHAKE = 30
"""What a shake costs besides, in candidates looked at."""


@kernel
def climb_with_shakes(
    lists: Lists,
    order: NDArray[np.int64],
    values: NDArray[np.int64],
    chosen: NDArray[np.int64],
    effort: int,
    shakes: int,
    heat: float,
    rng: np.random.Generator,
) -> int:
    """Climb from an order and values, then from shaken copies; leave the best in place.

    ``heat`` is the temperature in the beginning, in nats. Returns the number of candidates and arcs
    looked at.
    """
    n = len(order)
    work = np.zeros(1, np.int64)
    state = State(order.copy(), positions_along(lists, order, values), values.copy(), chosen.copy())
    earlier, later, queue = empty_plan(lists), empty_plan(lists), empty_queue(lists)
    choose_along(lists, state.position, state.chosen, work)
    push_all(queue, rng)
    climb(lists, state, queue, earlier, later, work)
    kept, top = copy_of(state), copy_of(state)
    now = best = total_of(lists.scores, kept.chosen)
    for shake in range(shakes):
        if work[0] > effort:
            break
        if shake % n == n - 1:
            order_anew(lists, state, rng, work)
            push_all(queue, rng)
        else:
            kick(lists, state, queue, LARGE, rng, work)
        climb(lists, state, queue, earlier, later, work)
        work[0] += SHAKE + n // 8
        total = total_of(lists.scores, state.chosen)
        left = heat * (1.0 - max(work[0] / effort, shake / shakes))
        if total >= now - LEAST or (left > 0.0 and total > now + left * np.log(rng.random())):
            now = total
            take_over(kept, state)
            if now > best + LEAST:
                best = now
                take_over(top, state)
        else:
            take_over(state, kept)
    overwrite(order, top.order)
    overwrite(values, top.values)
    overwrite(chosen, top.chosen)
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
