"""The loop of all ascents: where it ends, what it keeps and what it refuses."""

from typing import NamedTuple

import pytest

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.ascent import ascend
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
    seen = []
    last, converged = ascend(
        Step(0, 0.0),
        towards(8.0),
        iterations=50,
        least_gain=1.0,
        on_iteration=seen.append,
    )
    assert [s.objective for s in seen] == [0, 4, 6, 7]
    assert (last, converged) == (seen[-1], True)
    last, converged = ascend(Step(0, 0.0), towards(1.0), iterations=99)
    assert (last.objective, converged) == (1.0, True)


def test_it_ends_where_the_steps_the_time_or_the_wish_end():
    seen = []
    last, converged = ascend(
        Step(0, 0.0), towards(8.0), iterations=2, on_iteration=seen.append
    )
    assert (last, len(seen), converged) == (seen[-1], 3, False)
    never = ascend(Step(0, 0.0), towards(8.0), iterations=2, control=SearchControl(0.0))
    assert never == (Step(0, 0.0), False)
    with SearchControl().running():
        stopped, _ = ascend(
            Step(0, 0.0), towards(8.0), iterations=9, on_iteration=press_ctrl_c
        )
        assert stopped == Step(0, 0.0)


def test_a_fall_is_refused():
    with pytest.raises(CheckError, match="iteration 1 fell from 2"):
        ascend(Step(0, 2.0), lambda state: Step(1, 1.0), iterations=5)
