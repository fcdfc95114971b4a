"""Component solvers: what each of them is given, and what it must return.

A component solver is a function ``solve(component, incumbent, control) -> Outcome``. It looks for a
better selection of the component's candidates than the incumbent, hands those it meets to
``control.improve`` and bounds to ``control.prove``, looks at ``control.is_over`` between blocks of
work, and returns what it has: an outcome is proven when bound and score differ by at most the
absolute gap among ``control.options``. The registry, and the function that chooses among its
entries, stand in :mod:`exactlearn.solvers.strategy`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl

from .components import Component
from .lp.multipliers import Multipliers
from .progress import Progress
from .result import ROUNDING


@dataclass(frozen=True, kw_only=True)
class OrderGraphParameters:
    """Tuning constants of the search in the order graph.

    Parameters
    ----------
    most_states
        States to be expanded after which the search gives up; ``None`` for never.
    easy
        States to be expanded after which pattern databases are built.
    group
        Most variables of one group of a pattern database; a table of 19 takes 4 MiB.
    first_share
        The first threshold's share of the difference that is to be closed: all of it where no
        selection better than the incumbent is expected.
    growth
        How many times more states the next threshold is to reach.
    ascents
        Clusters at most by which one state's bound is raised.
    """

    most_states: int | None = None
    easy: int = 3000
    group: int = 19
    first_share: float = 0.125
    growth: float = 5.0
    ascents: int = 60


@dataclass(frozen=True, kw_only=True)
class OrderingParameters:
    """Tuning constants of the local search among orders.

    Parameters
    ----------
    islands
        Searches that run side by side.
    round
        Candidates that an island looks at in a round, about a twentieth of a second.
    recombination
        Rounds after which islands learn from the best one.
    stall_limit
        Rounds without gain after which an island begins anew.
    temperature
        Temperature, in nats, at which every second island begins a round.
    budget, least_budget
        Candidates that a search without a time limit looks at: for each candidate there is, and at
        least.
    relaxed
        Candidates in all the linear programs, together, that bound a component without a time
        limit.
    """

    islands: int = 4
    round: int = 1_000_000
    recombination: int = 4
    stall_limit: int = 16
    temperature: float = 1.0
    budget: int = 2_000
    least_budget: int = 40_000_000
    relaxed: int = 1_000_000


@dataclass(frozen=True, kw_only=True)
class BranchingParameters:
    """Tuning constants of branching on arcs in branch and cut.

    Parameters
    ----------
    reliable
        Times an arc is looked ahead before its average cost is trusted.
    most_ahead
        Arcs looked ahead at one node.
    most_futile
        Arcs looked ahead in a row that may turn out no better than the best so far.
    iterations
        Iterations of the linear program of each side.
    within
        Distance from 0 and 1 at which an arc counts as fractional.
    least_cost
        What a side costs at least, so that the other side still counts in the product.
    """

    reliable: int = 2
    most_ahead: int = 8
    most_futile: int = 3
    iterations: int = 50
    within: float = 1e-5
    least_cost: float = 1e-6


@dataclass(frozen=True, kw_only=True)
class SolverOptions:
    """What a component solver may use; each ignores what it has no use for.

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
    order_graph, ordering, branching
        Tuning constants of the search in the order graph, of the one among orders, and of branching
        on arcs.
    """

    absolute_gap: float = 0.0
    seed: int = 0
    threads: int | None = None
    memory_limit: int | None = None
    iteration_budget: int | None = None
    multipliers: Multipliers | None = None
    kept: NDArray[np.bool_] | None = None
    explain: bool = False
    order_graph: OrderGraphParameters = field(default_factory=OrderGraphParameters)
    ordering: OrderingParameters = field(default_factory=OrderingParameters)
    branching: BranchingParameters = field(default_factory=BranchingParameters)


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

    It stands under the control of the whole search, which it tells of better selections and bounds.

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
        """Take a selection as the incumbent if it is better; tell whether it is.

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
    shares_time
        Whether it takes all the time it is given, so that each component gets a share of it.
    require_suitable
        Raises :class:`~exactlearn.errors.TooLargeError` for a component that is too large.
    """

    solve: Solve
    reason: str = "asked for"
    takes_choices: bool = True
    relaxed_first: bool = False
    shares_time: bool = False
    require_suitable: Callable[[Component], None] = accept
