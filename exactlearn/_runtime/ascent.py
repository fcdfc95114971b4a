"""The loop of every expectation maximisation: steps until the objective stops rising."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from exactlearn.errors import CheckError

FALL = 1e-9
"""Largest relative fall of the objective that counts as rounding."""

STARTS = 5
"""Starts where the first one is symmetric in the states of a variable."""


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
    step: Callable[[State], State],
    *,
    iterations: int,
    least_gain: float,
    on_iteration: Callable[[State], None] | None = None,
) -> tuple[list[State], bool]:
    """Step until a step gains too little, or the steps run out.

    Parameters
    ----------
    state
        The first state.
    step
        Returns the state that follows one.
    iterations
        Most steps to do.
    least_gain
        The ascent ends when a step gains no more of the objective than this.
    on_iteration
        Called with the first state and after each step.

    Returns
    -------
    states, converged
        All states, and whether the last step gained too little.

    Raises
    ------
    CheckError
        If the objective falls by more than rounding.
    """
    states = [state]
    converged = False
    if on_iteration:
        on_iteration(state)
    while not converged and states[-1].iteration < iterations:
        states.append(step(states[-1]))
        converged = _gain(states[-2], states[-1]) <= least_gain
        if on_iteration:
            on_iteration(states[-1])
    return states, converged


def best_ascent(
    starts: Iterable[State],
    step: Callable[[State], State],
    *,
    iterations: int,
    least_gain: float,
    on_iteration: Callable[[State], None] | None = None,
) -> tuple[list[State], bool]:
    """Ascend from each start as :func:`ascend`; return the ascent of the best objective."""
    ascents = (
        ascend(start, step, iterations=iterations, least_gain=least_gain, on_iteration=on_iteration)
        for start in starts
    )
    return max(ascents, key=lambda ascent: ascent[0][-1].objective)


def best_so_far(states: Sequence[State]) -> Sequence[State]:
    """Return the ascent of the best objective among the states of one or more, one after another.

    Parameters
    ----------
    states
        At least one; each ascent begins with iteration 0.
    """
    best = max(range(len(states)), key=lambda k: states[k].objective)
    return states[best - states[best].iteration : best + 1]


def _gain(before: AscentState, after: AscentState) -> float:
    gain = after.objective - before.objective
    if gain < -FALL * max(1.0, abs(before.objective)):
        raise CheckError(
            f"EM iteration {after.iteration} fell from {before.objective!r} to"
            f" {after.objective!r}: please report this with model and data"
        )
    return gain
