"""The loop of every ascent: steps until the objective stops rising."""

from collections.abc import Callable
from math import inf, isnan
from typing import Protocol, TypeVar

from exactlearn._runtime.control import UNLIMITED, SearchControl, is_interrupted
from exactlearn.errors import CheckError

FALL = 1e-9
"""Largest relative fall of the objective that counts as rounding."""


class AscentState(Protocol):
    """State of an ascent: the steps done so far, and the objective."""

    @property
    def iteration(self) -> int:
        """Steps done so far."""
        ...

    @property
    def objective(self) -> float:
        """The maximised objective, which no step lowers."""
        ...


State = TypeVar("State", bound=AscentState)


def ascend(
    state: State,
    step: Callable[[State], State | None],
    *,
    iterations: int,
    least_gain: float = -inf,
    on_iteration: Callable[[State], None] = lambda state: None,
    control: SearchControl = UNLIMITED,
) -> tuple[State, bool]:
    """Step until a step gains too little, the steps run out, or the search is to end.

    Parameters
    ----------
    state
        The first state.
    step
        Returns the state that follows one, or nothing where nothing gains; a state whose objective
        is nan, and which is dropped, where the search ended during the step.
    iterations
        Most steps to do.
    least_gain
        The ascent ends when a step gains no more of the objective than this.
    on_iteration
        Called with the first state and after each step.
    control
        Looked at before each step, beside the wish to stop the search that runs in this thread.

    Returns
    -------
    state, converged
        The last state, and whether the last step gained too little or nothing.

    Raises
    ------
    CheckError
        If the objective falls by more than rounding.
    """
    converged = False
    on_iteration(state)
    while not (converged or state.iteration >= iterations or is_over(control)):
        following = step(state)
        if following is None:
            return state, True
        if isnan(following.objective):
            return state, False
        gain = following.objective - state.objective
        if gain < -FALL * max(1.0, abs(state.objective)):
            raise CheckError(
                f"EM iteration {following.iteration} fell from {state.objective!r} to"
                f" {following.objective!r}: please report this with model and data"
            )
        state, converged = following, gain <= least_gain
        on_iteration(state)
    return state, converged


def is_over(control: SearchControl) -> bool:
    """Return whether the control is over, or the search that runs in this thread is to stop."""
    return control.is_over or is_interrupted()
