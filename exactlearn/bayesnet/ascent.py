"""EM for the parameters of a model of given structure: one state, one result and one loop.

The loop is that of every ascent: steps until the objective stops rising.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, isnan
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl, is_interrupted
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.progress import counted
from exactlearn.errors import CheckError

Floats = NDArray[np.float64]

FALL = 1e-9
"""Largest relative fall of the objective that counts as rounding."""


STARTS = 5
"""Starts where the first one is symmetric in the states of a variable."""

M = TypeVar("M")
M_co = TypeVar("M_co", covariant=True)


class AscentState(Protocol):
    """State of an ascent: the steps done so far, and the objective."""

    @property
    def iteration(self) -> int:
        """Steps done so far."""

    @property
    def objective(self) -> float:
        """The maximised objective, which no step lowers."""


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
        # EM never lowers the objective: a fall is a fault of the program.
        gain = following.objective - state.objective
        if gain < -FALL * max(1.0, abs(state.objective)):
            raise CheckError(
                f"EM iteration {following.iteration} fell from {state.objective!r} to"
                f" {following.objective!r}: please report this with model and data"
            )
        state = following
        converged = gain <= least_gain
        on_iteration(state)
    return state, converged


def is_over(control: SearchControl) -> bool:
    """Return whether the control is over, or the search that runs in this thread is to stop."""
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
    parameters: Floats
    counts: Floats
    log_likelihood: float
    objective: float


class EMStart(NamedTuple):
    """The course of EM from one start.

    Attributes
    ----------
    objective, log_likelihood
        Of its last parameters.
    iterations
        Number of its iterations.
    converged
        Whether the gain fell below the tolerance.
    """

    objective: float
    log_likelihood: float
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False, repr=False)
class EMResult(
    ByValue,
    Generic[M],
    shown="model log_likelihood iterations converged starts smoothing",
):
    """Fitted parameters and how EM got there.

    Parameters
    ----------
    model
        The model with the last parameters of the best start.
    log_likelihoods, objectives
        Before the first iteration and after each, of the best start: the total log-likelihood of
        the observed cells, and the objective of EM (the same without pseudo-counts).
    converged
        Whether the gain of the best start fell below the tolerance before the iterations ran out.
    starts
        How EM went from each start, as far as it came.
    is_complete
        Whether each start went on until it converged or its iterations ran out: no limit and no
        interrupt ended EM.
    symmetric
        Variables in whose states the first start is symmetric: from there EM cannot tell them
        apart.
    smoothing
        Pseudo-counts for each parameter of a refined decision graph.

    Examples
    --------
    >>> import exactlearn as el
    >>> fit = el.fit_em(el.read_dataset("asia-mnar"), el.read_network("asia").parents)
    >>> fit.converged, fit.iterations, round(fit.log_likelihood, 3)
    (True, 6, -197.776)
    >>> fit.model.names[:3]
    ('asia', 'tub', 'smoke')
    """

    model: M
    log_likelihoods: tuple[float, ...]
    objectives: tuple[float, ...]
    converged: bool
    starts: tuple[EMStart, ...]
    is_complete: bool
    symmetric: tuple[str, ...] = ()
    smoothing: float | None = None

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

    def model(self, parameters: Floats) -> M_co:
        """Return the model with these parameters."""

    def e_step(self, iteration: int, parameters: Floats) -> EMState:
        """Return the state with these parameters, after so many iterations."""

    def m_step(self, state: EMState) -> Floats:
        """Return the parameters that maximise the objective given the counts of a state."""

    def normalised(self, parameters: Floats) -> Floats:
        """Return parameters in proportion to some, each distribution with the sum one."""


def fitted(
    problem: EMProblem[M],
    starts: Sequence[Floats],
    symmetric: tuple[str, ...] = (),
    *,
    iterations: int,
    tolerance: float,
    on_iteration: Callable[[EMState], None] | None = None,
    control: SearchControl = UNLIMITED,
) -> EMResult[M]:
    """Return the best of the ascents from some parameters, of those that a limit leaves time for.

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
    control
        Ends the ascents.
    """
    least_gain = tolerance * problem.total_weight
    ascents: list[tuple[EMState, bool, list[tuple[float, float]]]] = []
    # One ascent from each start, each with its own trace.
    for parameters in counted("start", starts, len(starts)):
        trace: list[tuple[float, float]] = []

        def record(state: EMState, trace: list[tuple[float, float]] = trace) -> None:
            trace.append((state.log_likelihood, state.objective))
            if on_iteration:
                on_iteration(state)

        last, converged = ascend(
            problem.e_step(0, parameters),
            Overrelaxation(problem, least_gain).step,
            iterations=iterations,
            least_gain=least_gain,
            on_iteration=record,
            control=control,
        )
        ascents.append((last, converged, trace))
        if is_over(control):
            break
    # A last ascent that a limit cut short leaves the result unfinished.
    ended = converged or (last.iteration >= iterations and not isnan(last.objective))
    # The ascent with the best objective is the result.
    best, converged, trace = max(ascents, key=lambda ascent: ascent[0].objective)
    log_likelihoods, objectives = zip(*trace, strict=True)
    return EMResult(
        problem.model(best.parameters),
        log_likelihoods,
        objectives,
        converged,
        tuple(
            EMStart(s.objective, s.log_likelihood, s.iteration, c)
            for s, c, _ in ascents
        ),
        ended and len(ascents) == len(starts),
        symmetric,
    )


@dataclass
class Overrelaxation(Generic[M]):
    r"""Steps of EM, made longer as long as that raises the objective.

    EM goes from :math:`\theta` to :math:`\theta'`; a lengthened step goes on in this direction, to
    :math:`\theta'' \propto \theta' (\theta' / \theta)^{\eta - 1}`, where zeros stay zeros. The
    factor :math:`\eta` grows from step to step where EM converges slowly. A lengthened step that
    gains no more than what counts as convergence is replaced by the plain one from the same
    parameters, so that the objective never falls and only a plain step ends EM (Salakhutdinov and
    Roweis 2003, "Adaptive overrelaxed bound optimization methods").

    Parameters
    ----------
    problem
        The parameters to fit.
    least_gain
        Gain of the objective that counts as convergence.
    growth
        Factor of :math:`\eta` after each step that gained; with 1 all steps are plain.
    slow
        Share of the gain of the step before above which plain steps converge slowly.
    reach
        Most that the logarithm of a parameter moves beyond the plain step.
    """

    problem: EMProblem[M]
    least_gain: float
    growth: float = 1.5
    slow: float = 0.3
    reach: float = 5.0
    factor: float = field(default=1.0, init=False)
    _last_gain: float = field(default=inf, init=False)

    def step(self, state: EMState) -> EMState:
        """Return the state after a lengthened step, or a plain one where that gains too little."""
        plain = self.problem.m_step(state)
        # A lengthened step counts where it gains enough; if not, the plain one does.
        if self.factor > 1.0:
            longer = self.problem.e_step(
                state.iteration + 1, self._lengthened(state, plain)
            )
            self._last_gain = longer.objective - state.objective
            if self._last_gain > self.least_gain:
                self.factor *= self.growth
                return longer
            self.factor = 1.0
        following = self.problem.e_step(state.iteration + 1, plain)
        gain = following.objective - state.objective
        # Gains that shrink slowly promise a long way: the next step is lengthened.
        if self._last_gain < inf and gain > self.slow * self._last_gain:
            self.factor *= self.growth
        self._last_gain = gain
        return following

    def _lengthened(self, state: EMState, plain: Floats) -> Floats:
        """Return the parameters of the lengthened step."""
        possible = (plain > 0) & (state.parameters > 0)
        # The step is lengthened in logarithms, so that parameters stay positive.
        ratio = np.divide(
            plain,
            state.parameters,
            out=np.ones_like(plain),
            where=possible,
        )
        lengthening = (self.factor - 1) * np.log(ratio)
        lengthening = np.clip(lengthening, -self.reach, self.reach)
        return self.problem.normalised(plain * np.exp(lengthening))
