"""Component solvers: what each of them is given, and what it must return.

A component solver is a function ``solve(component, incumbent, control) -> Outcome``. It looks for a
better selection of the component's candidates than the incumbent, hands those it meets to
``control.improve`` and bounds to ``control.prove``, looks at ``control.is_over`` between blocks of
work, and returns what it has: an outcome is proven when bound and score differ by at most the
absolute gap among ``control.options``. The registry, and the function that chooses among its
entries, stand in :mod:`exactlearn.solvers.strategy`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl

from .components import Component
from .lp.multipliers import Multipliers
from .parameters import SolverParameters
from .progress import Progress
from .result import ROUNDING


@dataclass(frozen=True, kw_only=True)
class SolverOptions(SolverParameters):
    """Tuning constants, and what else a component solver may use; each ignores the rest.

    Parameters
    ----------
    absolute_gap
        Difference of bound and score that counts as proven.
    seed
        Seed of all randomness.
    threads
        Number of threads; as many as there are cores if not given.
    memory_limit
        Bytes that states may take.
    iteration_budget
        About how many candidates a local search looks at.
    multipliers
        Clusters of the component's variables with Lagrange multipliers; the closer their bound, the
        less is left to search.
    kept
        Candidates that may be part of a selection better than the incumbent, shape (m,).
    explain
        Whether to note why a search ended without a proof.
    """

    absolute_gap: float = 0.0
    seed: int = 0
    threads: int | None = None
    memory_limit: int | None = None
    iteration_budget: int | None = None
    multipliers: Multipliers | None = None
    kept: NDArray[np.bool_] | None = None
    explain: bool = False


class Selection(NamedTuple):
    """A candidate for each variable of a component, shape (n,), and its choices' values, (c,)."""

    chosen: NDArray[np.int64]
    values: NDArray[np.int64]


class Outcome(NamedTuple):
    """What a component solver found.

    Attributes
    ----------
    selection
        The best selection known, or ``None``: the component has none when that is proven.
    score
        Its score; ``-inf`` without a selection.
    bound
        No selection of the component scores more.
    proven
        Whether score and bound differ by no more than the absolute gap.
    nodes
        Nodes of the search tree, or states.
    """

    selection: Selection | None
    score: float
    bound: float
    proven: bool
    nodes: int = 0


class ComponentControl(SearchControl):
    """The control of the search of one component of a problem.

    It stands under the control of the whole search, which gets the better selections and bounds.

    Parameters
    ----------
    progress, k
        Incumbents and bounds of all components, and the number of this one.
    options
        What the solver may use.
    time_limit
        Seconds from now, or ``None`` for all the time there is.
    """

    def __init__(
        self,
        progress: Progress,
        k: int,
        options: SolverOptions | None = None,
        time_limit: float | None = None,
    ) -> None:
        super().__init__(time_limit, outer=progress.control)
        self.options = SolverOptions() if options is None else options
        self._progress, self._k = progress, k

    @property
    def incumbent(self) -> Selection | None:
        """The best selection known."""
        known = self._progress.incumbent(self._k)
        return None if known is None else Selection(*known)

    @property
    def score(self) -> float:
        """Score of the best selection known; ``-inf`` without one."""
        return self._progress.scores[self._k]

    @property
    def bound(self) -> float:
        """No selection scores more."""
        return self._progress.bounds[self._k]

    @property
    def is_proven(self) -> bool:
        """Whether score and bound differ by no more than the absolute gap, or by rounding."""
        gap = max(self.options.absolute_gap, ROUNDING * max(1.0, abs(self.score)))
        return self.bound <= self.score + gap

    def improve(self, chosen: NDArray[np.int64], values: NDArray[np.int64] | None = None) -> bool:
        """Take a selection as the incumbent if it is better; return whether it is.

        Parameters
        ----------
        chosen
            Candidate of each variable, shape (n,).
        values
            Value of each of the component's choices, shape (c,); may be left out without choices.
        """
        return self._progress.improve(self._k, chosen, values)

    def prove(self, bound: float, nodes: int = 0) -> None:
        """Take a valid bound, and the number of nodes so far."""
        self._progress.prove(self._k, bound, nodes, closed=False)

    def note(self, text: str) -> None:
        """Keep a message for the result."""
        self._progress.note(text)

    def outcome(self, *, proven: bool, bound: float = inf, nodes: int = 0) -> Outcome:
        """Return the incumbent with the best bound, of those proven and a last one."""
        bound = max(self.score, min(bound, self.bound))
        return Outcome(self.incumbent, self.score, bound, proven, nodes)

    def infeasible(self, nodes: int = 0) -> Outcome:
        """Return that the component has no selection."""
        return Outcome(None, -inf, -inf, True, nodes)


Solve = Callable[[Component, Selection | None, ComponentControl], Outcome]


def accept(component: Component) -> None:
    """Accept a component of any size."""


@dataclass(frozen=True, kw_only=True)
class ComponentSolver:
    """An entry of the registry.

    Parameters
    ----------
    solve
        The solver.
    reason
        Why ``auto`` takes it, for the result's message.
    takes_choices
        Whether candidates may read choices.
    relaxed_first
        Whether the linear relaxation is solved first, and the solver takes what it leaves.
    is_exact
        Whether it proves an optimum, given time.
    shares_time
        Whether it takes all the time it is given, so that each component gets a share of it.
    require_suitable
        Raises :class:`~exactlearn.errors.TooLargeError` for a component that is too large.
    """

    solve: Solve
    reason: str = "asked for"
    takes_choices: bool = True
    relaxed_first: bool = False
    is_exact: bool = True
    shares_time: bool = False
    require_suitable: Callable[[Component], None] = accept
