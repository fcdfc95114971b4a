"""The component solvers, which of them proves which component of a problem, and why.

Few variables: dynamic programming. At most one parent each: a maximum arborescence. Choices: branch
and cut. Else the linear relaxation with its cluster cuts comes first; what it leaves of the
candidates falls apart into smaller components, and each of those is searched. :func:`choose`
decides, by the component's figures alone.

A new component solver is one file and one entry of :data:`COMPONENT_SOLVERS`; what it is given and
must return is written in :mod:`exactlearn.solvers.component_solver`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.arguments import register
from exactlearn._runtime.checkpoint import Checkpoint

from . import arborescence, dynamic, order_graph, ordering
from . import root as lp
from .clusters import Counted
from .component_solver import (
    ComponentControl,
    ComponentSolver,
    Outcome,
    Progress,
    Selection,
    SolverOptions,
)
from .components import WORD, Component
from .multipliers import Multipliers
from .result import Status
from .root import LONG, WENT_ON

FASTEST_DYNAMIC = 18
"""Variables up to which dynamic programming surely takes a fraction of a second."""

FEW_PLACED = 40
"""Variables up to which the order graph beats branch and cut, whatever the number of candidates."""

FEW_CANDIDATES = 2_000
"""Candidates that the relaxation leaves of more variables, below which branch and cut is faster."""

MOST_STATES = 150_000
"""States of the order graph after which a larger component is left to branch and cut."""

SHRUNK = 0.9
"""Share of the variables that a piece must lose before its relaxation is solved once more."""


def _branch_and_cut(
    component: Component, incumbent: Selection | None, control: ComponentControl
) -> Outcome:
    from .branch_and_cut import (
        solve_component as branch_and_cut,
    )  # SCIP takes long to import

    return branch_and_cut(component, incumbent, control)


COMPONENT_SOLVERS: dict[str, ComponentSolver] = {
    "scip": ComponentSolver(
        solve=_branch_and_cut,
        reason="few candidates, or more variables or states than the order graph holds",
        relaxed_first=True,
    ),
    "order-graph": ComponentSolver(
        solve=order_graph.solve_component,
        reason=f"the relaxation left a gap, and at most {WORD} variables",
        relaxed_first=True,
    ),
    "root": ComponentSolver(
        solve=lp.solve_component,
        reason="the linear relaxation with cluster cuts has the score of the selection found",
        is_exact=False,
    ),
    "dynamic": ComponentSolver(
        solve=dynamic.solve_component,
        reason=f"at most {FASTEST_DYNAMIC} variables that may form cycles with each other",
        require_suitable=dynamic.refuse_if_too_large,
    ),
    "ordering": ComponentSolver(
        solve=ordering.solve_component, is_exact=False, shares_time=True
    ),
}
"""The component solvers by name, as :func:`exactlearn.solvers.solve` takes them."""

SPECIAL_SOLVERS: dict[str, ComponentSolver] = {
    "arborescence": ComponentSolver(
        solve=arborescence.solve_component,
        reason="no parent set has two members that may form cycles with each other",
    ),
}
"""The solvers of components of a special form, which nobody names."""


def _as_solver(value: Any, name: str) -> Any:
    """Return the name of a solver, or ``auto``; solvers may be registered later."""
    return one_of(("auto", *COMPONENT_SOLVERS))(value, name)


register(solver=_as_solver)

SINGLE = "a single variable takes its best candidate"
"""Why a component needs no component solver."""


class Choice(NamedTuple):
    """The name of what comes next for a component, and why: a solver, or ``single``."""

    name: str
    reason: str


def choose(
    component: Component, solver: str = "auto", left: int | None = None
) -> Choice:
    """Choose what solves a component, by its figures.

    ``root`` comes before a search that is better with the multipliers of the relaxation.

    Parameters
    ----------
    component
        The component.
    solver
        The solver that the user names, or ``auto``.
    left
        Candidates that the linear relaxation has left; ``None`` before it is solved.
    """
    n = component.n_variables
    if n == 1:
        return _choice("single")
    if solver != "auto":
        needs_root = COMPONENT_SOLVERS[solver].relaxed_first and left is None
        return _choice("root" if needs_root else solver)
    if n <= FASTEST_DYNAMIC:
        return _choice("dynamic")
    if arborescence.is_suitable(component):
        return _choice("arborescence")
    if left is None:
        return _choice("root")
    is_faster = n <= FEW_PLACED or left >= FEW_CANDIDATES
    return _choice("order-graph" if n <= WORD and is_faster else "scip")


def _choice(name: str) -> Choice:
    return Choice(name, SINGLE if name == "single" else _solver(name).reason)


def _solver(name: str) -> ComponentSolver:
    return SPECIAL_SOLVERS.get(name) or COMPONENT_SOLVERS[name]


@dataclass(kw_only=True)
class Strategy:
    """Proves the components of a progress one after the other.

    Parameters
    ----------
    progress
        Holds components, incumbents and bounds.
    solver
        The solver that the user names, or ``auto``.
    gap
        Difference of bound and score, in nats, that counts as optimal.
    options
        What the component solvers may use.

    Attributes
    ----------
    used
        What each solver took: variables of each piece, by name of the solver.
    """

    progress: Progress
    solver: str
    gap: float = 0.0
    options: SolverOptions = field(default_factory=SolverOptions)
    used: dict[str, list[int]] = field(default_factory=dict)
    _clusters: list[Counted] = field(default_factory=list)

    def method(self, k: int) -> str:
        """Return the name of the solver of component ``k``, or ``single``."""
        return choose(self.progress.states[k].component, self.solver).name

    def prove(self) -> Status:
        """Solve all components; one that stays open does not keep the others from being done."""
        return _worst([self._prove(k) for k in range(len(self.progress.states))])

    @property
    def absolute_gap(self) -> float:
        """Gap that the next component may have: those of closed components are used up."""
        progress = self.progress
        used = sum(
            state.bound - state.score for state in progress.states if state.closed
        )
        return max(0.0, self.gap - used)

    @property
    def clusters(self) -> Counted:
        """Clusters of the problem's variables that bounds have used."""
        return Counted.join(
            Counted.none(self.progress.problem.n_variables), *self._clusters
        )

    def is_instant(self, k: int) -> bool:
        """Return whether component ``k`` is solved faster than a first selection is found."""
        method = self.method(k)
        is_soon = self.solver == "auto" or dynamic.is_instant(
            self.progress.states[k].component
        )
        return method == "arborescence" or (is_soon and method == "dynamic")

    def _prove(self, k: int) -> Status:
        progress = self.progress
        method = self.method(k)
        if progress.states[k].closed:
            return "optimal"
        if method == "single":
            progress.prove(k, progress.states[k].score)
            return "optimal"
        if self._was_proven(k):
            return "optimal"
        if progress.control.is_over:
            return progress.control.status

        # an auto search begins with the relaxation of a component that nothing proves at once
        begun = progress.control.seconds
        relaxed_first = method == "root" and self.solver != "root"
        status = self._relax(k, None) if relaxed_first else self.solve(method, k)
        if status == "optimal" and progress.control.seconds - begun >= LONG:
            self._keep_proof(k)
        return status

    @property
    def _states(self) -> Checkpoint:
        return Checkpoint(self.progress.control.checkpoint)

    def _keep_proof(self, k: int) -> None:
        """Keep the best selection of a component that is proven."""
        progress = self.progress
        component = progress.states[k].component
        if self.gap == 0.0:
            best = progress.selection[component.variables]
            selection = np.flatnonzero(np.isin(component.candidate, best))
            self._states.save(f"proof-{component.digest}", {"chosen": selection})

    def _was_proven(self, k: int) -> bool:
        """Take over the best selection of a component from an earlier search that proved it."""
        proof = self._states.load(f"proof-{self.progress.states[k].component.digest}")
        if proof:
            self.progress.note(WENT_ON)
            self.progress.improve(k, proof["chosen"])
            self.progress.prove(k, self.progress.states[k].score)
        return bool(proof)

    def solve(
        self, name: str, k: int, multipliers: Multipliers | None = None
    ) -> Status:
        """Solve component ``k`` by the solver of a name."""
        self._count(name, k)
        options = self._options(k, multipliers)
        solver = _solver(name)
        time_limit = self._share(k) if solver.shares_time else None
        return solve_component(solver, self.progress, k, options, time_limit)

    def _options(self, k: int, multipliers: Multipliers | None) -> SolverOptions:
        most_states = self.options.most_states
        n = self.progress.states[k].component.n_variables
        if self.solver == "auto" and n > FEW_PLACED and most_states is None:
            most_states = MOST_STATES
        return replace(
            self.options,
            absolute_gap=self.absolute_gap,
            most_states=most_states,
            multipliers=multipliers,
        )

    def _share(self, k: int) -> float | None:
        """Return a component's share of the time left, by its number of candidates, in seconds."""
        progress = self.progress
        size = progress.states[k].component.n_candidates
        following = 0
        for state in progress.states[k + 1 :]:
            if state.component.n_variables > 1 and not state.closed:
                following += state.component.n_candidates
        left = progress.control.remaining
        return None if left is None else left * size / (size + following)

    def _relax(self, k: int, multipliers: Multipliers | None) -> Status:
        """Solve the relaxation of a component and search what it leaves."""
        progress = self.progress
        component = progress.states[k].component
        control = ComponentControl(progress, k, self._options(k, multipliers))
        # cutting planes: a bound, and multipliers
        root = lp.relax(component, control.incumbent, control)
        pool = root.pool.widened(component.variables, progress.problem.n_variables)
        self._clusters.append(pool)
        progress.prove(
            k, root.bound, 1, closed=root.bound <= control.score + self.absolute_gap
        )

        # where a gap is left, a local search narrows it, and reduced costs drop candidates
        status: Status = "optimal"
        if progress.states[k].closed:
            self._count("root", k)
        elif progress.control.is_over:
            return progress.control.status
        else:
            lp.climb_from(root, component, control)
            parts = progress.refine(k, np.flatnonzero(root.may_reach(control.score)))
            status = _worst([self._search(k, part, root.multipliers) for part in parts])
        if status == "optimal":
            self._states.drop(f"relaxation-{component.digest}")
        return status

    def _search(self, whole: int, k: int, multipliers: Multipliers) -> Status:
        """Solve a part of what the relaxation of a whole component has left."""
        progress = self.progress
        old = progress.states[whole].component
        component = progress.states[k].component
        multipliers = within(
            multipliers, np.searchsorted(old.variables, component.variables)
        )

        # the whole component's multipliers may prove the part at once
        bound = multipliers.bound(component)
        progress.prove(
            k, bound, closed=bound <= progress.states[k].score + self.absolute_gap
        )
        if progress.states[k].closed:
            return "optimal"
        if self.method(k) != "root":
            return self._prove(k)

        # a part that is much smaller is relaxed anew; the others are searched
        if component.n_variables <= SHRUNK * old.n_variables:
            return self._relax(k, multipliers)
        if progress.control.is_over:
            return progress.control.status
        name = choose(component, self.solver, component.n_candidates).name
        status = self.solve(name, k, multipliers)

        # the order graph gave up: branch and cut
        is_open = status == "feasible" and not progress.control.is_over
        if is_open and self.solver == "auto" and name != "scip":
            status = self.solve("scip", k, multipliers)
        return status

    def _count(self, method: str, k: int) -> None:
        self.used.setdefault(method, []).append(
            self.progress.states[k].component.n_variables
        )


def solve_component(
    solver: ComponentSolver,
    progress: Progress,
    k: int,
    options: SolverOptions | None = None,
    time_limit: float | None = None,
) -> Status:
    """Solve component ``k`` of a progress by a solver, and keep what it returns.

    Parameters
    ----------
    solver
        The solver.
    progress, k
        Incumbents and bounds of all components, and the number of this one.
    options
        What the solver may use.
    time_limit
        Seconds that the component may take, or ``None``.
    """
    # the solver reports to the progress on the way; its outcome comes last
    component = progress.states[k].component
    control = ComponentControl(progress, k, options, time_limit)
    outcome = solver.solve(component, control.incumbent, control)
    if outcome.selection is not None:
        progress.improve(k, outcome.selection)
    elif outcome.proven:
        return "infeasible"
    progress.prove(k, outcome.bound, outcome.nodes, closed=outcome.proven)
    return "optimal" if outcome.proven else control.status


def explanation(used: dict[str, list[int]]) -> list[str]:
    """Return a sentence for each solver: the pieces that it took, and why."""
    sentences = []
    for method, sizes in used.items():
        listed = ", ".join(map(str, sizes[:5])) + (", ..." if len(sizes) > 5 else "")
        pieces = "a piece" if len(sizes) == 1 else f"{len(sizes)} pieces"
        sentences.append(
            f"{method} took {pieces} of {listed} variables ({_choice(method).reason})"
        )
    return sentences or [
        "no cycle is possible: every variable takes its best candidate"
    ]


def within(multipliers: Multipliers, variables: NDArray[np.int64]) -> Multipliers:
    """Return the multipliers for a part of the variables: what a cluster has there is one, too."""
    clusters = multipliers.clusters[:, variables]
    # a cluster with fewer members left than its count counts these
    sizes = clusters.sum(axis=1)
    some = sizes > 0
    counts = np.minimum(multipliers.counts, sizes)
    return Multipliers(clusters[some], multipliers.values[some], counts[some])


def _worst(statuses: Sequence[Status]) -> Status:
    order: tuple[Status, ...] = ("infeasible", "interrupted", "feasible", "optimal")
    return next((status for status in order if status in statuses), "optimal")
