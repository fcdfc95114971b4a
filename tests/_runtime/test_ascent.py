"""The loop of all ascents: where it ends, what it keeps and what it refuses."""

from typing import NamedTuple

import pytest

from exactlearn._runtime.ascent import ascend, best_ascent, best_so_far
from exactlearn._runtime.control import SearchControl
from exactlearn.errors import CheckError
from tests.interrupts import press_ctrl_c


class Step(NamedTuple):
    """A state of a plain ascent."""

    iteration: int
    objective: float


def towards(limit):
    """Return a step that halves the distance from a limit; at the limit there is none."""

    def step(state):
        if state.objective == limit:
            return None
        return Step(state.iteration + 1, (state.objective + limit) / 2)

    return step


def test_it_ends_where_little_or_nothing_is_gained():
    states, converged = ascend(Step(0, 0.0), towards(8.0), iterations=50, least_gain=1.0)
    assert [s.objective for s in states] == [0, 4, 6, 7]
    assert converged
    states, converged = ascend(Step(0, 0.0), towards(1.0), iterations=99)
    assert states[-1].objective == 1.0
    assert converged


def test_it_ends_where_the_steps_the_time_or_the_wish_end():
    seen = []
    states, converged = ascend(Step(0, 0.0), towards(8.0), iterations=2, on_iteration=seen.append)
    assert (states, converged) == (seen, False)
    assert len(states) == 3
    never = ascend(Step(0, 0.0), towards(8.0), iterations=2, control=SearchControl(0.0))
    assert never == ([Step(0, 0.0)], False)
    with SearchControl().running():
        stopped, _ = ascend(Step(0, 0.0), towards(8.0), iterations=9, on_iteration=press_ctrl_c)
        assert stopped == [Step(0, 0.0)]


def test_the_best_start_counts_and_a_stop_begins_no_other():
    starts = [Step(0, 0.0), Step(0, 5.0), Step(0, 1.0)]
    states, _ = best_ascent(starts, towards(8.0), iterations=1, least_gain=0.0)
    assert states == [Step(0, 5.0), Step(1, 6.5)]
    over = SearchControl(0.0)
    first, _ = best_ascent(starts, towards(8.0), iterations=1, least_gain=0.0, control=over)
    assert first == starts[:1]
    assert best_so_far([*starts[:1], *states, Step(0, 2.0)]) == states


def test_a_fall_is_refused():
    with pytest.raises(CheckError, match="iteration 1 fell from 2"):
        ascend(Step(0, 2.0), lambda state: Step(1, 1.0), iterations=5)
