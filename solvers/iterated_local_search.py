"""Iterated local search: climb, perturb the order, climb again, accept or return.

A perturbed order that lost a little is accepted with the probability of simulated annealing, whose
temperature falls to nothing with the iterations that are left.

A perturbation is a change of an order that a climb does not find, and may not undo: it turns round,
or moves to either end, what lies around a variable in the network so far. Arcs along a chain can
often be turned without loss, but only all of them together (score equivalence), which no sequence
of single insertions does without a loss on the way.
"""

from functools import cached_property
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import in_place_kernel, kernel, overwrite

from .components import WORD, Component
from .decoding import (
    MIN_GAIN,
    Lists,
    choose_along,
    first_before,
    list_candidates,
    place_by_weight,
    total_of,
)
from .moves import Room, State, insert_best, mark_changed, needs_node, room_for

BLOCK = 1_000_000
"""Candidates looked at between two pauses, about a tenth of a second."""

PERTURBATION_COST = 30
"""What a perturbation costs besides, in candidates looked at."""

WORK = 0
CURSOR = 1
OPTIMA = 2
"""What ``SearchState.counts`` holds: candidates looked at, the variable that is looked at next, and
local optima reached, all but the first from a perturbed order."""

INCUMBENT_SHARE = 0.3
"""Share of the time left that a search for incumbents may take."""

TEMPERATURE = 1.0
"""Temperature, in nats, at which a search begins; that of every second walk is 0."""


class OrderSearch:
    """Local search over the orders of one component, from any order.

    Parameters
    ----------
    component
        The piece of the problem to search.
    rng
        Source of randomness.
    """

    def __init__(self, component: Component, rng: np.random.Generator) -> None:
        self.component = component
        self.rng = rng

    @cached_property
    def lists(self) -> Lists:
        """The component's candidates by what they need, and by who needs it."""
        return list_candidates(self.component)

    def improve(
        self,
        order: NDArray[np.int64],
        budget: int,
        perturbations: int,
        control: SearchControl = UNLIMITED,
    ) -> NDArray[np.int64] | None:
        """Return the best selection found, or ``None`` if there is none.

        Parameters
        ----------
        order
            Where to begin, shape (n,).
        budget
            About how many candidates to look at.
        perturbations
            How often at most to continue from a perturbed copy of the best order.
        control
            Ends the search between blocks of work.
        """
        selection = self.search(order, budget, perturbations, control).selection
        return None if selection.min() < 0 else selection

    def search(
        self,
        order: NDArray[np.int64],
        budget: int,
        perturbations: int,
        control: SearchControl = UNLIMITED,
        temperature: float = TEMPERATURE,
    ) -> State:
        """Climb from an order, then from perturbed copies; return the best with its candidates.

        A variable without a candidate along the order has the number -1. ``temperature`` is that in
        the beginning, in nats; the other parameters are those of :meth:`improve`.
        """
        lists = self.lists
        state, kept, top = (
            State(order.copy(), np.argsort(order), np.empty_like(order))
            for _ in range(3)
        )
        counts = np.zeros(3, np.int64)
        # each variable's best candidate along the order
        choose_along(lists, state.position, state.selection, counts)
        search = SearchState(state, kept, top, room_for(lists), np.zeros(2), counts)
        is_over = False
        # blocks of work, between which the control is looked at
        while not is_over:
            until = int(counts[WORK]) + BLOCK
            is_over = continue_search(
                lists, search, budget, perturbations, temperature, until, self.rng
            )
            is_over = is_over or not control.goes_on()
        return top if counts[OPTIMA] else state

    def greedy_order(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return an order that places next the variable that misses least weight (see kernel)."""
        return place_by_weight(self.lists, weights)


def search_budget(component: Component) -> tuple[int, int]:
    """Return the iteration budget and the number of perturbations of a search for incumbents.

    That takes two seconds at most.
    """
    n = component.n_variables
    return 4 * 10**7 if n > WORD else 2 * 10**6, 100 * n


class SearchState(NamedTuple):
    """The state of a search between two blocks of work.

    Attributes
    ----------
    state, kept, top
        Where the search is, where the last accepted copy was, and the best so far.
    room
        What waits to be looked at, and scratch space.
    totals
        Score of the last accepted copy, and the best score, shape (2,).
    counts
        See ``WORK``, shape (3,).
    """

    state: State
    kept: State
    top: State
    room: Room
    totals: NDArray[np.float64]
    counts: NDArray[np.int64]


@kernel
def continue_search(
    lists: Lists,
    search: SearchState,
    budget: int,
    perturbations: int,
    temperature: float,
    until: int,
    rng: np.random.Generator,
) -> bool:
    """Search on until so many candidates were looked at; return whether the search is over."""
    state = search.state
    totals = search.totals
    counts = search.counts
    n = len(state.order)
    while True:
        if not climb(lists, state, search.room, counts, until):
            return False
        # accept the local optimum if it lost nothing, or little for the temperature
        total = total_of(lists.scores, state.selection)
        is_first = counts[OPTIMA] == 0
        is_accepted = is_first or total >= totals[0] - MIN_GAIN
        temperature_now = 0.0
        if not is_first:
            counts[WORK] += PERTURBATION_COST + n // 8
            perturbed = counts[OPTIMA] - 1
            elapsed = max(counts[WORK] / budget, perturbed / perturbations)
            temperature_now = temperature * (1.0 - elapsed)
        if not is_accepted and temperature_now > 0.0:
            is_accepted = total > totals[0] + temperature_now * log(rng.random())
        # go on from it, or from the last one accepted
        if is_accepted:
            totals[0] = total
            copy_state(search.kept, state)
            if is_first or total > totals[1] + MIN_GAIN:
                totals[1] = total
                copy_state(search.top, state)
        else:
            copy_state(state, search.kept)
        counts[OPTIMA] += 1
        if counts[OPTIMA] > perturbations or counts[WORK] > budget:
            return True
        perturb(lists, state, search.room.waiting, rng, counts)


@in_place_kernel
def climb(
    lists: Lists, state: State, room: Room, counts: NDArray[np.int64], until: int
) -> bool:
    """Move variables while what waits helps, in place; return whether nothing waits any more.

    After so many candidates looked at, the rest is left waiting.
    """
    n = len(room.waiting)
    idle = 0
    v = counts[CURSOR]
    while idle < n and counts[WORK] < until:
        # a variable that has moved is looked at again
        if room.waiting[v]:
            room.waiting[v] = False
            insert_best(lists, state, room, v, counts)
            idle = -1
        idle += 1
        v = v + 1 if v + 1 < n else 0
    counts[CURSOR] = v
    return bool(idle >= n)


@in_place_kernel
def copy_state(target: State, source: State) -> None:
    """Copy a state into another."""
    overwrite(target.order, source.order)
    overwrite(target.position, source.position)
    overwrite(target.selection, source.selection)


@kernel
def perturb(
    lists: Lists,
    state: State,
    waiting: NDArray[np.bool_],
    rng: np.random.Generator,
    counts: NDArray[np.int64],
) -> None:
    """Turn round, or move to either end, the variables around one in the network so far."""
    n = len(state.order)
    counts[CURSOR] = 0
    # draw the surroundings: small ones mostly
    size = int(2.0 * (n / 4.0) ** (rng.random() ** 2)) + 1
    inside = np.zeros(n, np.bool_)
    ball = _around(lists, state, int(rng.random() * n), min(size, n), inside)
    # turn them round, or move them to the front or to the back
    change = int(rng.random() * 3)
    before = state.position.copy()
    order = state.order.copy()
    if change == 0:
        _reverse(state.order, order, inside)
    else:
        _gather(state.order, order, inside, change == 1)
    for place in range(n):
        state.position[state.order[place]] = place
    # choose anew where a relation in the order has changed
    touched = inside.copy()
    for u in ball:
        for arc in range(lists.arc_first[u], lists.arc_first[u + 1]):
            v = lists.arc_child[arc]
            touched[v] |= (before[u] < before[v]) != (
                state.position[u] < state.position[v]
            )
    for v in range(n):
        if touched[v]:
            old = state.selection[v]
            begin = lists.first[v]
            end = lists.first[v + 1]
            place = state.position[v]
            state.selection[v] = first_before(
                lists, state.position, begin, end, place, counts
            )
            mark_changed(lists, state, waiting, v, old)


@in_place_kernel
def _reverse(
    target: NDArray[np.int64], order: NDArray[np.int64], inside: NDArray[np.bool_]
) -> None:
    """Write the order with the variables inside turned round, in their places."""
    back = len(order) - 1
    for place in range(len(order)):
        if inside[order[place]]:
            while not inside[order[back]]:
                back -= 1
            target[place] = order[back]
            back -= 1


@in_place_kernel
def _gather(
    target: NDArray[np.int64],
    order: NDArray[np.int64],
    inside: NDArray[np.bool_],
    to_front: bool,
) -> None:
    """Write the order with the variables inside moved to the front, or to the back."""
    at = 0
    for turn in range(2):
        takes_inside = (turn == 0) == to_front
        for place in range(len(order)):
            if inside[order[place]] == takes_inside:
                target[at] = order[place]
                at += 1


@kernel
def _around(
    lists: Lists, state: State, v: int, size: int, inside: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the variables nearest to one in the network so far, and mark them."""
    ball = np.empty(size, np.int64)
    ball[0] = v
    count = 1
    at = 0
    inside[v] = True
    while at < count < size:
        u = ball[at]
        c = state.selection[ball[at]]
        at += 1
        # its parents, and the children that need it
        parents = (
            lists.needs[lists.need_first[c] : lists.need_first[c + 1]]
            if c >= 0
            else ball[:0]
        )
        children = lists.arc_child[lists.arc_first[u] : lists.arc_first[u + 1]]
        for k in range(len(parents) + len(children)):
            is_parent = k < len(parents)
            w = parents[k] if is_parent else children[k - len(parents)]
            if (
                count < size
                and not inside[w]
                and (is_parent or needs_node(lists, state.selection[w], u))
            ):
                inside[w] = True
                ball[count] = w
                count += 1
    return ball[:count]
