"""EM from several starts: which one counts, and what limits and interrupts keep."""

import numpy as np
import pytest

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.bayesnet.ascent import EMState, fitted
from tests.interrupts import press_ctrl_c


class Climb:
    """An EM problem of one parameter, whose objective it is: a step halves the distance from 8."""

    total_weight, is_approximate = 1.0, False

    def __init__(self, stopped_by=None):
        self.stopped_by = stopped_by

    def model(self, parameters):
        """Return the parameter."""
        return float(parameters[0])

    def e_step(self, iteration, parameters):
        """Return the state at a parameter."""
        objective = float(parameters[0])
        if self.stopped_by is not None and objective == self.stopped_by:
            press_ctrl_c()
        return EMState(iteration, parameters, parameters, objective, objective)

    def m_step(self, state):
        """Return the next parameter."""
        return (state.parameters + 8.0) / 2

    def normalised(self, parameters):
        """Return a longer step that always falls."""
        return parameters - 100.0


def climbed(problem, starts, **options):
    """Return the result of climbing from some numbers."""
    given = {
        "iterations": 1,
        "tolerance": 0.0,
        "on_iteration": None,
        "control": UNLIMITED,
        **options,
    }
    return fitted(problem, [np.array([float(s)]) for s in starts], (), **given)


def test_the_best_start_counts():
    found = climbed(Climb(), [0, 5, 1])
    assert (found.model, found.objectives, found.iterations) == (6.5, (5.0, 6.5), 1)
    assert [s.objective for s in found.starts] == [4.0, 6.5, 4.5]
    assert found.is_complete
    assert not found.converged
    assert climbed(Climb(), [0, 7.9], tolerance=0.5, iterations=9).converged


def test_a_limit_keeps_the_best_start_and_begins_no_other():
    found = climbed(Climb(), [0, 5], control=SearchControl(0.0))
    assert (found.model, len(found.starts), found.is_complete) == (0.0, 1, False)


@pytest.mark.parametrize("last", [6.5, 7.25, 2.5, 5.25])
def test_an_interrupt_keeps_the_best_start_so_far(last):
    # from 5: 6.5, 7.25, 7.625; from -3: 2.5, 5.25, 6.625
    with SearchControl().running():
        found = climbed(Climb(stopped_by=last), [5, -3, 7], iterations=3)
    assert not found.is_complete
    assert found.model == (last if last in (6.5, 7.25) else 7.625)
    assert [s.objective for s in found.starts] == (
        [last] if found.model == last else [7.625, last]
    )
