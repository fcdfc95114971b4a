"""Iterated local search: climb, perturb the order, climb again, accept or return.

A perturbed order that lost a little is accepted with the probability of simulated annealing, whose
temperature falls to nothing with the iterations that are left.

Perturbations are changes of an order that a climb does not find, and may not undo. Small ones grant
a variable a better candidate or put it elsewhere. Large ones turn round, or move to either end,
what lies around a variable in the network so far: arcs along a chain can often be turned without
loss, but only all of them together (score equivalence), which no sequence of single insertions does
without a loss on the way.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import in_place_kernel, kernel, overwrite

from ..parameters import DEFAULTS, OrderingParameters
from .climb import Queue, choose_and_push, climb, empty_queue, force, order_anew, push_all
from .decoding import LEAST, Lists, choose_along, latest_need, positions_along, total_of
from .moves import Plan, State, empty_plan, needs_node

BLOCK = 1_000_000
"""Candidates looked at between two pauses, about a tenth of a second."""


class SearchState(NamedTuple):
    """The state of a search between two blocks of work.

    Attributes
    ----------
    state, kept, top
        Where the search is, where the last accepted copy was, and the best so far.
    queue, earlier, later
        What waits to be looked at, and room for two plans.
    totals
        Score of the last accepted copy, and the best score, shape (2,).
    work, perturbations
        Candidates and arcs looked at, and perturbations done, shape (1,); -1 before the
        first local optimum.
    """

    state: State
    kept: State
    top: State
    queue: Queue
    earlier: Plan
    later: Plan
    totals: NDArray[np.float64]
    work: NDArray[np.int64]
    perturbations: NDArray[np.int64]


def iterated_local_search(
    lists: Lists,
    order: NDArray[np.int64],
    chosen: NDArray[np.int64],
    budget: int,
    perturbations: int,
    temperature: float,
    rng: np.random.Generator,
    control: SearchControl = UNLIMITED,
    parameters: OrderingParameters = DEFAULTS.ordering,
) -> int:
    """Climb from an order, then from perturbed copies; leave the best in place.

    ``temperature`` is that in the beginning, in nats. Returns the number of candidates and arcs
    looked at. The control ends the search between two blocks of work.
    """
    search = begin_search(lists, order, chosen, rng)
    while not continue_search(
        lists, search, budget, perturbations, temperature, parameters.large,
        parameters.perturbation_cost, int(search.work[0]) + BLOCK, rng,
    ):  # fmt: skip
        if not control.goes_on():
            break
    best = search.state if search.perturbations[0] < 0 else search.top
    order[:], chosen[:] = best.order, best.chosen
    return int(search.work[0])


@kernel
def begin_search(
    lists: Lists,
    order: NDArray[np.int64],
    chosen: NDArray[np.int64],
    rng: np.random.Generator,
) -> SearchState:
    """Return the beginning of a search: the best candidates along an order."""
    work = np.zeros(1, np.int64)
    state = State(order.copy(), positions_along(order), chosen.copy())
    queue = empty_queue(lists)
    choose_along(lists, state.position, state.chosen, work)
    push_all(queue, rng)
    return SearchState(
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
def continue_search(
    lists: Lists,
    search: SearchState,
    budget: int,
    perturbations: int,
    temperature: float,
    large: float,
    perturbation_cost: int,
    until: int,
    rng: np.random.Generator,
) -> bool:
    """Search on until so many candidates were looked at; return whether the search is over."""
    state, work, totals = search.state, search.work, search.totals
    n = len(state.order)
    while True:
        # climb to a local optimum, or until the block of work is done
        climb(lists, state, search.queue, search.earlier, search.later, work, until)
        if search.queue.head_length[1] > 0:
            return False
        total = total_of(lists.scores, state.chosen)
        # accept it, or go back to the last one
        done = search.perturbations[0]
        if done < 0:
            totals[0] = totals[1] = total
            take_over(search.kept, state)
            take_over(search.top, state)
        else:
            work[0] += perturbation_cost + n // 8
            _accept(
                search,
                total,
                temperature * (1.0 - max(work[0] / budget, done / perturbations)),
                rng,
            )
        done += 1
        search.perturbations[0] = done
        if done >= perturbations or work[0] > budget:
            return True
        # order anew now and then, else perturb
        if done % n == n - 1:
            order_anew(lists, state, rng, work)
            push_all(search.queue, rng)
        else:
            perturb(lists, state, search.queue, large, rng, work)


@in_place_kernel
def _accept(
    search: SearchState, total: float, temperature: float, rng: np.random.Generator
) -> None:
    """Go on from a copy that lost nothing, or little for the temperature, else from the last."""
    totals = search.totals
    is_kept = total >= totals[0] - LEAST
    if is_kept or (temperature > 0.0 and total > totals[0] + temperature * np.log(rng.random())):
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
    return State(state.order.copy(), state.position.copy(), state.chosen.copy())


@in_place_kernel
def take_over(target: State, source: State) -> None:
    """Copy a state into another."""
    overwrite(target.order, source.order)
    overwrite(target.position, source.position)
    overwrite(target.chosen, source.chosen)


@kernel
def perturb(
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
        if rng.random() < 0.5:
            _grant_better(lists, state, queue, v, rng, work)
        else:
            u = relative(lists, v, rng)
            force(lists, state, queue, v, state.position[u], work)
        if rng.random() < 0.4:
            break
        v = relative(lists, v, rng)


@in_place_kernel
def relative(lists: Lists, v: int, rng: np.random.Generator) -> int:
    """Return a random variable that may be a parent or a child of one, or itself."""
    begin, end = lists.source_first[v], lists.source_first[v + 1]
    arc, arcs_end = lists.arc_first[v], lists.arc_first[v + 1]
    pick = int(rng.random() * (end - begin + arcs_end - arc))
    if begin + pick < end:
        return int(lists.sources[begin + pick])
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
    # draw the surroundings: small ones mostly
    size = int(2.0 * (n / 4.0) ** (rng.random() ** 2)) + 1
    inside = np.zeros(n, np.bool_)
    ball = _around(lists, state, v, min(size, n), inside)
    how = int(rng.random() * 3)
    before = state.position.copy()
    order, at = state.order.copy(), 0
    # turn them round, or move them to the front or to the back
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
    # choose anew where a relation in the order has changed
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
                if count < size and not inside[w]:
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


@in_place_kernel
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
        parent = lists.needs[at]
        if state.position[parent] > state.position[v]:
            force(lists, state, queue, int(parent), state.position[v], work)
