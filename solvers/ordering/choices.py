"""Changing the value of one choice for a fixed order of the variables."""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel

from .decoding import FALSE, LEAST, ROUNDING, TRUE, Lists, first_before, score_of
from .moves import (
    Plan,
    State,
    first_of_arc,
    needs_node,
)


@kernel
def change_choice(
    lists: Lists, state: State, choice: int, plan: Plan, work: NDArray[np.int64]
) -> int:
    """Give one choice its best value for the order, in place.

    Returns how many variables changed; the plan tells which, and what they had chosen before.
    """
    options = lists.option_first[choice + 1] - lists.option_first[choice]
    old, best, pick = state.values[choice], LEAST, -1
    for value in range(options):
        if value != old:
            flip(lists, state, choice, value)
            gain, _ = _readers(lists, state, choice, old, plan, work)
            if gain > best:
                best, pick = gain, value
            flip(lists, state, choice, old)
    if pick < 0:
        return 0
    flip(lists, state, choice, pick)
    _, affected = _readers(lists, state, choice, old, plan, work)
    for k in range(affected):
        u = plan.child[k]
        state.chosen[u], plan.candidate[k] = plan.candidate[k], state.chosen[u]
    return affected


@kernel
def flip(lists: Lists, state: State, choice: int, value: int) -> None:
    """Let one choice take a value: its literals change, no candidate does."""
    start = len(state.order) + lists.option_first[choice]
    state.position[start + state.values[choice]] = FALSE
    state.position[start + value] = TRUE
    state.values[choice] = value


@kernel
def _readers(
    lists: Lists, state: State, choice: int, old: int, plan: Plan, work: NDArray[np.int64]
) -> tuple[float, int]:
    """Return what the readers of a choice win by its present value, and how many change."""
    chosen, position, scores = state.chosen, state.position, lists.scores
    start = len(state.order) + lists.option_first[choice]
    false, true = start + old, start + state.values[choice]
    won, size, found = 0.0, 0.0, 0
    for arc in range(lists.arc_first[false], lists.arc_first[false + 1]):
        u = lists.arc_child[arc]
        if needs_node(lists.need_first, lists.needs, chosen[u], false):
            begin, end = lists.first[u], lists.first[u + 1]
            other = first_before(
                lists.need_first, lists.needs, position, begin, end, position[u], work
            )
            gain = score_of(scores, other) - score_of(scores, chosen[u])
            won, size = won + gain, size + abs(gain)
            plan.child[found], plan.candidate[found] = u, other
            found += 1
    for arc in range(lists.arc_first[true], lists.arc_first[true + 1]):
        u = lists.arc_child[arc]
        if not needs_node(lists.need_first, lists.needs, chosen[u], false):
            better = first_of_arc(lists, state, arc, work)
            if better >= 0:
                gain = scores[better] - score_of(scores, chosen[u])
                won, size = won + gain, size + abs(gain)
                plan.child[found], plan.candidate[found] = u, better
                found += 1
    return won - ROUNDING * size, found
