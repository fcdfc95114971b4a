"""A good network quickly, from one that was good a moment ago; of few variables, the best one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn.graph import topological_order
from exactlearn.solvers import Problem, dynamic
from exactlearn.solvers.components import Component, split
from exactlearn.solvers.ordering import OrderSearch

Dag = tuple[tuple[int, ...], ...]
"""Parents of each variable."""


def good_network(
    problem: Problem, start: Sequence[Sequence[int]] | None, *, effort: int, shakes: int, seed: int
) -> tuple[Dag, float]:
    """Search among the orders of the variables; proves nothing.

    Parameters
    ----------
    problem
        A feasible problem without choices.
    start
        Parents of each variable in a network to begin with; its order is what counts. Without it,
        the search begins with a greedy order.
    effort
        About how many candidates to look at, in all components together.
    shakes
        How often, for each variable, the search continues from a shaken copy of its best order.
    seed
        Seed of all randomness.

    Returns
    -------
    tuple
        Parents of each variable, and their score. The same arguments give the same.
    """
    chosen = np.zeros(problem.n_variables, np.int64)
    position = None if start is None else positions(start)
    for component in split(problem):
        if component.n_variables == 1:
            found: NDArray[np.int64] | None = component.first[:-1]
        elif dynamic.is_instant(component):
            found = dynamic.best_selection(component)
        else:
            order = None if position is None else np.argsort(position[component.variables])
            share = effort * component.n_candidates // problem.n_candidates
            found = _good_selection(component, order, share, shakes, seed)
        assert found is not None, "the problem is feasible"
        chosen[component.variables] = component.candidate[found]
    return tuple(problem.parent_set(int(c)) for c in chosen), float(problem.scores[chosen].sum())


def _good_selection(
    component: Component, order: NDArray[np.int64] | None, effort: int, shakes: int, seed: int
) -> NDArray[np.int64]:
    """Return the candidate of each variable in the best selection that a search finds."""
    search = OrderSearch(component, np.random.default_rng(seed))
    no_values, shakes = np.zeros(0, np.int64), shakes * component.n_variables
    if order is not None:
        found = search.improve(order, no_values, effort, shakes)
        if found is not None:
            return found[0]
    # there is no order, or it leaves a variable without a candidate
    greedy = search.greedy_order(no_values, np.zeros(component.n_candidates))
    found = search.improve(greedy, no_values, effort, shakes)
    assert found is not None, "the greedy order places every variable"
    return found[0]


def positions(parents: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return the position of each variable in an order of a network, parents first."""
    order = topological_order(tuple(tuple(p) for p in parents))
    position = np.empty(len(order), np.int64)
    position[list(order)] = np.arange(len(order))
    return position
