"""The decision problem whether there is a selection above a target.

It serves problems whose near relatives are known well. Multipliers of a relative
(:mod:`exactlearn.solvers.multipliers`) take the place of a relaxation of the problem's own, and
the target that of an incumbent: the order graph (:mod:`exactlearn.solvers.order_graph`) then
looks at nothing below it. Where that holds too many states, branch and cut takes over.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl
from exactlearn.graphs.dag import topological_order

from .component_solver import Progress, SolverOptions
from .components import WORD, split
from .multipliers import Multipliers
from .ordering import heuristic_selection, is_solved_at_once
from .problem import Problem
from .strategy import COMPONENT_SOLVERS, MOST_STATES, solve_component, within

BUDGET = 10**5
"""Candidates that the search for a first selection looks at, about, in all components."""

GROUP = 13
"""Most variables of one group of a pattern database: tables of this size take a millisecond."""


class Decision(NamedTuple):
    """The outcome of a threshold query: whether a selection scores more than a target.

    Attributes
    ----------
    parents
        Parents of each variable of one of them, or ``None`` when none was found.
    proven
        Whether there is none.
    nodes
        States and nodes searched.
    """

    parents: tuple[tuple[int, ...], ...] | None
    proven: bool
    nodes: int


def best_above(
    problem: Problem,
    target: float,
    multipliers: Multipliers,
    start: Sequence[Sequence[int]],
    *,
    seed: int = 0,
    control: SearchControl | None = None,
) -> Decision:
    """Search a selection that scores more than a target: any that is found quickly, or the best.

    Parameters
    ----------
    problem
        A feasible problem, its candidates all allowed.
    target
        What selections in question score more than.
    multipliers
        Clusters of the problem's variables; the closer their bound, the fewer states.
    start
        Parents of each variable in a network whose order the search begins with.
    seed
        As in :func:`exactlearn.solvers.solve`.
    control
        Ends the search; only this search may report to it.

    Returns
    -------
    Decision
        What was found by the time the search was over.
    """
    # scores relative to each variable's best one
    target -= problem.offset
    problem = problem.relative
    components = sorted(split(problem), key=lambda component: component.n_variables)
    progress = Progress(problem, components, control or SearchControl())
    position = np.argsort(topological_order(tuple(map(tuple, start))))
    # quick selections may answer the question
    for k in range(len(components)):
        _first_selection(progress, k, position, seed)
    if progress.score > target:
        return Decision(progress.parents, False, 0)
    # the best selection of each component, small ones first
    numbers = range(len(components))
    decided = [_decide(progress, k, target, multipliers, seed) for k in numbers]
    is_above = progress.score > target
    parents = progress.parents if is_above else None
    return Decision(parents, not is_above and all(decided), progress.nodes)


def _first_selection(
    progress: Progress, k: int, position: NDArray[np.int64], seed: int
) -> None:
    """Search from a network's order; what is solved at once is proven at once."""
    component = progress.states[k].component
    budget = BUDGET * component.n_candidates // progress.problem.n_candidates
    selection = heuristic_selection(
        component, position, budget=budget, perturbations=1, seed=seed
    )
    progress.improve(k, selection)
    if is_solved_at_once(component):
        progress.prove(k, progress.states[k].score)


def _decide(
    progress: Progress, k: int, target: float, multipliers: Multipliers, seed: int
) -> bool:
    """Find the best selection of a component, the last one's only if it lifts all above a target.

    Return whether that could be done.
    """
    component = progress.states[k].component
    if progress.states[k].closed:
        return True
    is_last = k == len(progress.states) - 1
    # the last component need only lift the total above the target
    absolute_gap = max(0.0, target - progress.score) if is_last else 0.0
    options = SolverOptions(
        absolute_gap=absolute_gap,
        seed=seed,
        multipliers=within(multipliers, component.variables),
        most_states=MOST_STATES,
        pattern_group=GROUP,
        first_share=1.0,
    )
    names: tuple[str, ...] = ("scip",)
    if component.n_variables <= WORD:
        names = ("order-graph", "scip")
    for name in names:
        if progress.control.goes_on():
            solve_component(COMPONENT_SOLVERS[name], progress, k, options)
        if progress.states[k].closed:
            return True
    return False
