"""Component solvers: what each of them is given, and what it must return.

A component solver is a function ``solve(component, incumbent, control) -> Outcome``. It looks for a
better selection of the component's candidates than the incumbent, hands those it meets to
``control.improve`` and bounds to ``control.prove``, looks at ``control.is_over`` between blocks of
work, and returns what it has: an outcome is proven when bound and score differ by at most the
absolute gap among ``control.options``. The registry, and the function that chooses among its
entries, stand in :mod:`exactlearn.solvers.strategy`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.checkpoint import Checkpoint
from exactlearn._runtime.control import Event, SearchControl
from exactlearn._runtime.tolerance import TOLERANCE

from .components import Component, bits_to_matrix, split
from .multipliers import Multipliers
from .problem import Problem

SOON = 0.05
"""Seconds between two reports of a bound that improves all the time."""


@dataclass(frozen=True, kw_only=True)
class SolverParameters:
    """Tuning constants that callers change: how long a search takes, not what is proven.

    Parameters
    ----------
    most_states
        States of the order graph to be expanded after which its search gives up; ``None``: never.
    pattern_group
        Most variables of one group of a pattern database; a table of 19 takes 4 MiB.
    first_share
        The order graph's first threshold, as a share of the difference that is to be closed: all of
        it where no selection better than the incumbent is expected.
    order_budget, least_order_budget
        Candidates that a search among orders without a time limit looks at: for each candidate
        there is, and at least.
    relaxation_budget
        Candidates in all the linear programs, together, that bound a component without a time
        limit in a search among orders.
    uses_up_time
        Whether a search among orders uses a time limit up. Otherwise it ends as one without a
        limit, at the latest at the limit: for a search that is a part of another one.

    Examples
    --------
    >>> SolverParameters(pattern_group=17).pattern_group
    17
    """

    most_states: int | None = None
    pattern_group: int = 19
    first_share: float = 0.125
    order_budget: int = 2_000
    least_order_budget: int = 40_000_000
    relaxation_budget: int = 1_000_000
    uses_up_time: bool = True


DEFAULTS = SolverParameters()
"""The defaults of all tuning constants."""

INNER_SEARCH = SolverParameters(uses_up_time=False)
"""For one of several problems of a longer search, which leaves time for the others."""


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
    multipliers
        Clusters of the component's variables with Lagrange multipliers; the closer their bound, the
        less is left to search.
    explain
        Whether to note why a search ended without a proof.
    """

    absolute_gap: float = 0.0
    seed: int = 0
    threads: int | None = None
    memory_limit: int | None = None
    multipliers: Multipliers | None = None
    explain: bool = False


Selection = NDArray[np.int64]
"""A candidate for each variable of a component, shape (n,)."""


class Outcome(NamedTuple):
    """The result of a component solver.

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


@dataclass(eq=False)
class ComponentState:
    """The state of the search of one component.

    Attributes
    ----------
    component
        The component.
    bound
        No selection of it scores more.
    selection, score
        Its incumbent in its own numbers, ``None`` and ``-inf`` without one.
    closed
        Whether its search is done.
    refined
        Whether smaller components count in its place.
    nodes
        Nodes, or states, of its search.
    """

    component: Component
    bound: float
    selection: Selection | None = None
    score: float = -inf
    closed: bool = False
    refined: bool = False
    nodes: int = 0


class Progress:
    """The incumbent and the bound of every component; their totals go to the search control.

    A component may be refined into smaller ones; it then counts no more, they do.

    Attributes
    ----------
    states
        The state of each component, by its number.
    selection
        The incumbent's row in the problem for each variable, -1 without one, shape (n,).
    notes
        Remarks for the user.
    open_nodes
        Nodes or states that the search of the current component is still to process.
    tolerance
        Difference of bound and score of a component that counts as none: of all components
        together, it is that of results.

    Parameters
    ----------
    problem, components
        What is solved, and its pieces.
    control
        The control of the whole search.
    offset
        What the scores of a relative problem are short of, in reports.
    """

    def __init__(
        self,
        problem: Problem,
        components: Sequence[Component],
        control: SearchControl,
        offset: float = 0.0,
    ) -> None:
        self.problem = problem
        self.offset = offset
        self.tolerance = TOLERANCE / max(1, len(components))
        self.states = [ComponentState(c, c.relaxation) for c in components]
        self.control = control
        control.state = self._event
        self._without_incumbent = len(components)
        self.selection = np.full(problem.n_variables, -1, np.int64)
        self.open_nodes = 0
        self.notes: list[str] = []
        self._lowest = inf

    @property
    def relative_score(self) -> float:
        """Score of the incumbent without the offset; ``-inf`` while a component has none."""
        if self._without_incumbent:
            return -inf
        return fsum(self.problem.scores[self.selection].tolist())

    @property
    def relative_bound(self) -> float:
        """Lowest sum of the bounds so far, without the offset, never below the score's."""
        bounds = [state.bound for state in self.states if not state.refined]
        self._lowest = min(self._lowest, fsum(bounds))
        return max(self.relative_score, self._lowest)

    @property
    def score(self) -> float:
        """Total score of the incumbent; ``-inf`` while a component has none."""
        return self.offset + self.relative_score

    @property
    def bound(self) -> float:
        """No selection scores more."""
        return self.offset + self.relative_bound

    @property
    def parents(self) -> tuple[tuple[int, ...], ...] | None:
        """The incumbent's parent sets."""
        if self._without_incumbent:
            return None
        return self.problem.parent_sets(self.selection)

    @property
    def nodes(self) -> int:
        """Nodes, or states, of all searches together."""
        return sum(state.nodes for state in self.states)

    def improve(self, k: int, selection: Selection | None) -> bool:
        """Take a selection of component ``k``, if any, as the incumbent if it is better."""
        if selection is None:
            return False
        state = self.states[k]
        component = state.component
        score = component.total(selection)
        # only better ones count
        if score <= state.score:
            return False
        self._without_incumbent -= state.selection is None
        state.score = score
        state.selection = selection
        self.selection[component.variables] = component.candidate[selection]
        self._record()
        return True

    def prove(
        self,
        k: int,
        bound: float,
        nodes: int = 0,
        *,
        open_nodes: int = 0,
        closed: bool = True,
    ) -> None:
        """Take a valid bound on component ``k``; it never falls below the incumbent's score.

        ``closed``: the component is done.
        """
        state = self.states[k]
        state.closed = closed
        state.nodes = max(state.nodes, nodes)
        self.open_nodes = open_nodes
        # no bound is below a score
        bound = max(bound, state.score)
        if bound < state.bound:
            state.bound = bound
            if self.control.is_due(SOON):
                self._record()

    def refine(self, k: int, candidates: NDArray[np.int64]) -> range:
        """Replace component ``k``, which has an incumbent, by the components left of it.

        Return their numbers.

        Parameters
        ----------
        k
            Number of the component.
        candidates
            Its candidates, in its own numbers, that a better selection may choose. The
            incumbent's are kept besides.
        """
        old = self.states[k]
        assert old.selection is not None, "the component has an incumbent"
        # the incumbent's candidates stay, so that each part has an incumbent
        kept = np.union1d(candidates, old.selection)
        first = len(self.states)
        for part in split(self.problem, old.component.candidate[kept]):
            selection = _inherited(old.component, old.selection, part)
            score = part.total(selection)
            self.states.append(ComponentState(part, part.relaxation, selection, score))
            self.selection[part.variables] = part.candidate[selection]
        # the parts count in its place
        old.refined = True
        old.closed = True
        old.score = sum(state.score for state in self.states[first:])
        old.bound = old.score
        self._record()
        return range(first, len(self.states))

    def note(self, text: str) -> None:
        """Keep a message for the result."""
        if text not in self.notes:
            self.notes.append(text)

    def _record(self) -> None:
        if (
            self._without_incumbent
        ):  # thousands of components have their first selections to come
            self.control.look()
        else:
            self.control.record()

    def _event(self) -> Event:
        return Event(
            self.control.seconds,
            self.score,
            self.bound,
            self.nodes,
            self.parents,
            open_nodes=self.open_nodes,
        )


def _inherited(old: Component, incumbent: Selection, part: Component) -> Selection:
    """Return the part's best candidates within the parent sets of a component's incumbent."""
    # the incumbent's arcs inside the part
    place = np.searchsorted(old.variables, part.variables)
    inside = np.ix_(place, place)
    is_parent = bits_to_matrix(old.parents[incumbent], old.n_variables)[inside]
    parents = bits_to_matrix(part.parents, part.n_variables)
    # candidates stand by falling score: the first that fits is the best
    fitting = np.flatnonzero(~(parents & ~is_parent[part.child]).any(axis=1))
    return fitting[np.searchsorted(part.child[fitting], np.arange(part.n_variables))]


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
        self._progress = progress
        self._k = k
        self._state = progress.states[k]

    @property
    def incumbent(self) -> Selection | None:
        """The best selection known."""
        return self._state.selection

    @property
    def score(self) -> float:
        """Score of the best selection known; ``-inf`` without one."""
        return self._state.score

    @property
    def bound(self) -> float:
        """No selection scores more."""
        return self._state.bound

    @property
    def is_proven(self) -> bool:
        """Whether score and bound differ by no more than the absolute gap and the tolerance."""
        return (
            self.bound
            <= self.score + self.options.absolute_gap + self._progress.tolerance
        )

    @property
    def states(self) -> Checkpoint:
        """Where the search keeps its state, to go on from there."""
        return Checkpoint(self.checkpoint)

    def improve(self, selection: Selection | None) -> bool:
        """Take a selection as the incumbent if it is better; return whether it is."""
        return self._progress.improve(self._k, selection)

    def prove(self, bound: float, nodes: int = 0, open_nodes: int = 0) -> None:
        """Take a valid bound, and the numbers of nodes so far and of those to be processed."""
        self._progress.prove(self._k, bound, nodes, open_nodes=open_nodes, closed=False)

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
    relaxed_first: bool = False
    is_exact: bool = True
    shares_time: bool = False
    require_suitable: Callable[[Component], None] = accept
