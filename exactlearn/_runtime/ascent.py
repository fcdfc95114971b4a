"""The loop of every expectation maximisation: steps until the objective stops rising.

EM for the parameters of a model of given structure has one state, one result and one loop, whatever
the model.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl, is_interrupted
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
M = TypeVar("M")
M_co = TypeVar("M_co", covariant=True)


def ascend(
    state: State,
    step: Callable[[State], State | None],
    *,
    iterations: int,
    least_gain: float = -inf,
    on_iteration: Callable[[State], None] | None = None,
    control: SearchControl = UNLIMITED,
) -> tuple[list[State], bool]:
    """Step until a step gains too little, the steps run out, or the search is to end.

    Parameters
    ----------
    state
        The first state.
    step
        Returns the state that follows one, or nothing where nothing gains.
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
    states, converged
        All states, and whether the last step gained too little or nothing.

    Raises
    ------
    CheckError
        If the objective falls by more than rounding.
    """
    states = [state]
    converged = False
    if on_iteration:
        on_iteration(state)
    while not (converged or states[-1].iteration >= iterations or _is_over(control)):
        following = step(states[-1])
        if following is None:
            return states, True
        states.append(following)
        converged = _gain(states[-2], following) <= least_gain
        if on_iteration:
            on_iteration(following)
    return states, converged


def best_ascent(
    starts: Iterable[State],
    step: Callable[[State], State],
    *,
    iterations: int,
    least_gain: float,
    on_iteration: Callable[[State], None] | None = None,
    control: SearchControl = UNLIMITED,
) -> tuple[list[State], bool]:
    """Ascend from each start as :func:`ascend`; return the ascent of the best objective."""
    ascents = []
    for start in starts:
        ascents.append(
            ascend(
                start,
                step,
                iterations=iterations,
                least_gain=least_gain,
                on_iteration=on_iteration,
                control=control,
            )
        )
        if _is_over(control):
            break
    return max(ascents, key=lambda ascent: ascent[0][-1].objective)


def _is_over(control: SearchControl) -> bool:
    return control.is_over or is_interrupted()


class EMState(NamedTuple):
    """State of EM for the parameters of a model: the parameters, and the counts under them.

    Attributes
    ----------
    iteration
        M-steps done so far.
    parameters, counts
        All probabilities of the model one after the other, and their expected counts.
    log_likelihood
        Log-likelihood of the observed cells under ``parameters``, natural logarithm, total over
        rows.
    objective
        The objective of EM: ``log_likelihood`` plus each pseudo-count times its log parameter.
    """

    iteration: int
    parameters: NDArray[np.float64]
    counts: NDArray[np.float64]
    log_likelihood: float
    objective: float


@dataclass(frozen=True, eq=False)
class EMResult(Generic[M]):
    """Fitted parameters and how EM got there.

    Parameters
    ----------
    model
        The model with the last parameters of the best start.
    log_likelihoods, objectives
        Before the first iteration and after each, of the best start: the total log-likelihood of
        the observed cells, and the objective of EM (the same without pseudo-counts).
    converged
        Whether the gain fell below the tolerance before the iterations ran out.
    starts
        Number of starts.
    symmetric
        Variables in whose states the first start is symmetric: from there EM cannot tell them
        apart.
    """

    model: M
    log_likelihoods: tuple[float, ...]
    objectives: tuple[float, ...]
    converged: bool
    starts: int = 1
    symmetric: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        model: M,
        states: Sequence[EMState],
        converged: bool = False,
        starts: int = 1,
        symmetric: tuple[str, ...] = (),
    ) -> Self:
        """Return the result of an ascent."""
        log_likelihoods = tuple(s.log_likelihood for s in states)
        objectives = tuple(s.objective for s in states)
        return cls(model, log_likelihoods, objectives, converged, starts, symmetric)

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the observed cells: a total, natural logarithm."""
        return self.log_likelihoods[-1]

    @property
    def iterations(self) -> int:
        """Number of iterations of the best start."""
        return len(self.log_likelihoods) - 1


class EMProblem(Protocol[M_co]):
    """The parameters of a model to be fitted by EM: ``init`` and ``step`` give the states."""

    total_weight: float
    """Weight of all rows."""

    def model(self, parameters: NDArray[np.float64]) -> M_co:
        """Return the model with these parameters."""
        ...

    def init(self, parameters: NDArray[np.float64]) -> EMState:
        """Return the state at some parameters."""
        ...

    def step(self, state: EMState) -> EMState:
        """Return the state after one M-step and the E-step under its parameters."""
        ...


def fitted(
    problem: EMProblem[M],
    starts: Sequence[NDArray[np.float64]],
    symmetric: tuple[str, ...],
    *,
    iterations: int,
    tolerance: float,
    on_iteration: Callable[[EMState], None] | None,
    time_limit: float | None,
) -> EMResult[M]:
    """Return the best of the ascents from some parameters.

    Parameters
    ----------
    problem
        The parameters to fit.
    starts
        The parameters to start from.
    symmetric
        Variables in whose states the first of them are symmetric.
    iterations
        Most iterations from each start.
    tolerance
        Gain of the objective for each row (unit of weight) that ends an ascent.
    on_iteration
        Called with the first state of each start and after each iteration.
    time_limit
        Seconds after which no other iteration begins.
    """
    states, converged = best_ascent(
        map(problem.init, starts),
        problem.step,
        iterations=iterations,
        least_gain=tolerance * problem.total_weight,
        on_iteration=on_iteration,
        control=SearchControl(time_limit),
    )
    model = problem.model(states[-1].parameters)
    return EMResult.of(model, states, converged, len(starts), symmetric)


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
