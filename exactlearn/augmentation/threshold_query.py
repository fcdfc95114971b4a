"""The threshold query, whether any selection of a problem scores more than a target.

It serves problems whose near relatives are known well. Multipliers of a relative
(:mod:`exactlearn.solvers.multipliers`) take the place of a relaxation of the problem's own, and
the target that of an incumbent: the order graph (:mod:`exactlearn.solvers.order_graph`) then
looks at nothing below it. Where that holds too many states, branch and cut takes over.
"""

from collections.abc import Sequence
from typing import NamedTuple

from exactlearn._runtime.control import SearchControl
from exactlearn.augmentation.families import Dag
from exactlearn.solvers.component_solver import Progress, SolverOptions
from exactlearn.solvers.components import WORD, split
from exactlearn.solvers.multipliers import Multipliers
from exactlearn.solvers.ordering import heuristic_selections, is_solved_at_once
from exactlearn.solvers.problem import Problem
from exactlearn.solvers.strategy import (
    COMPONENT_SOLVERS,
    MOST_STATES,
    solve_component,
    within,
)

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

    parents: Dag | None
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
    # quick selections may answer the question; what is solved at once is proven at once
    selections = heuristic_selections(
        problem, components, start, budget=BUDGET, perturbations=1, seed=seed
    )
    for k, selection in enumerate(selections):
        progress.improve(k, selection)
        if is_solved_at_once(components[k]):
            progress.prove(k, progress.states[k].score)
    if progress.score > target:
        return Decision(progress.parents, False, 0)
    # the best selection of each component, small ones first
    numbers = range(len(components))
    decided = [_decide(progress, k, target, multipliers, seed) for k in numbers]
    is_above = progress.score > target
    parents = progress.parents if is_above else None
    return Decision(parents, not is_above and all(decided), progress.nodes)


def _decide(
    progress: Progress, k: int, target: float, multipliers: Multipliers, seed: int
) -> bool:
    """Find the best selection of a component, the last one's only if it lifts all above a target.

    Return whether that could be done.
    """
    state = progress.states[k]
    component = state.component
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
    for name in ("order-graph", "scip"):
        is_suitable = name == "scip" or component.n_variables <= WORD
        if is_suitable and not state.closed and progress.control.goes_on():
            solve_component(COMPONENT_SOLVERS[name], progress, k, options)
    return state.closed
