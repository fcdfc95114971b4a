"""Continuing from shaken copies of an order: an iterated local search with local repairs.

A copy that lost a little is accepted with the probability of simulated annealing, whose
temperature falls to nothing with the effort that is left.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel, overwrite

from ..progress import Pause, no_pause
from .climb import Queue, climb, empty_queue, order_anew, push_all
from .decoding import LEAST, Lists, choose_along, positions_along, total_of
from .moves import Plan, State, empty_plan
from .perturbations import kick

LARGE = 0.35
"""Share of the kicks that rearrange whole surroundings."""

SHAKE = 30
"""What a shake costs besides, in candidates looked at."""

BLOCK = 1_000_000
"""Candidates looked at between two pauses, about a tenth of a second."""


class Shaken(NamedTuple):
    """The state of a search between two blocks of work.

    Attributes
    ----------
    state, kept, top
        Where the search is, where the last accepted copy was, and the best so far.
    queue, earlier, later
        What waits to be looked at, and room for two plans.
    totals
        Score of the last accepted copy, and the best score, shape (2,).
    work, shakes
        Candidates and arcs looked at, and shakes done, shape (1,); -1 shakes before the first
        local optimum.
    """

    state: State
    kept: State
    top: State
    queue: Queue
    earlier: Plan
    later: Plan
    totals: NDArray[np.float64]
    work: NDArray[np.int64]
    shakes: NDArray[np.int64]


def climb_with_shakes(
    lists: Lists,
    order: NDArray[np.int64],
    values: NDArray[np.int64],
    chosen: NDArray[np.int64],
    effort: int,
    shakes: int,
    heat: float,
    rng: np.random.Generator,
    pause: Pause = no_pause,
) -> int:
    """Climb from an order and values, then from shaken copies; leave the best in place.

    ``heat`` is the temperature in the beginning, in nats. Returns the number of candidates and arcs
    looked at. What ``pause`` raises between two blocks of work passes through, and the best so far
    is left in place all the same.
    """
    search = begin_shaking(lists, order, values, chosen, rng)
    try:
        while not shake_on(lists, search, effort, shakes, heat, int(search.work[0]) + BLOCK, rng):
            pause()
    finally:
        best = search.state if search.shakes[0] < 0 else search.top
        order[:], values[:], chosen[:] = best.order, best.values, best.chosen
    return int(search.work[0])


@kernel
def begin_shaking(
    lists: Lists,
    order: NDArray[np.int64],
    values: NDArray[np.int64],
    chosen: NDArray[np.int64],
    rng: np.random.Generator,
) -> Shaken:
    """Return the beginning of a search: the best candidates along an order."""
    work = np.zeros(1, np.int64)
    state = State(order.copy(), positions_along(lists, order, values), values.copy(), chosen.copy())
    queue = empty_queue(lists)
    choose_along(lists, state.position, state.chosen, work)
    push_all(queue, rng)
    return Shaken(
        state,
        copy_of(state),
        copy_of(state),
        queue,
        empty_plan(lists),
        empty_plan(lists),
        np.zeros(2),
        work,
        np.full(1, -1, np.int64),
    )


@kernel
def shake_on(
    lists: Lists,
    search: Shaken,
    effort: int,
    shakes: int,
    heat: float,
    until: int,
    rng: np.random.Generator,
) -> bool:
    """Search on until so many candidates were looked at; tell whether the search is over."""
    state, work, totals = search.state, search.work, search.totals
    n = len(state.order)
    while True:
        climb(lists, state, search.queue, search.earlier, search.later, work, until)
        if search.queue.head_length[1] > 0:
            return False
        total = total_of(lists.scores, state.chosen)
        shake = search.shakes[0]
        if shake < 0:
            totals[0] = totals[1] = total
            take_over(search.kept, state)
            take_over(search.top, state)
        else:
            work[0] += SHAKE + n // 8
            _accept(search, total, heat * (1.0 - max(work[0] / effort, shake / shakes)), rng)
        shake += 1
        search.shakes[0] = shake
        if shake >= shakes or work[0] > effort:
            return True
        if shake % n == n - 1:
            order_anew(lists, state, rng, work)
            push_all(search.queue, rng)
        else:
            kick(lists, state, search.queue, LARGE, rng, work)


@kernel
def _accept(search: Shaken, total: float, heat: float, rng: np.random.Generator) -> None:
    """Go on from a copy that lost nothing, or little for the temperature, else from the last."""
    totals = search.totals
    is_kept = total >= totals[0] - LEAST
    if is_kept or (heat > 0.0 and total > totals[0] + heat * np.log(rng.random())):
        totals[0] = total
        take_over(search.kept, search.state)
        if total > totals[1] + LEAST:
            totals[1] = total
            take_over(search.top, search.state)
    else:
        take_over(search.state, search.kept)


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
