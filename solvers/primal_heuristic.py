"""Primal heuristics: selections found quickly, by local search among the orders of a component."""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl

from . import dynamic
from .components import WORD, Component
from .ordering.solver import OrderSearch
from .progress import Progress


def is_solved_at_once(component: Component) -> bool:
    """Return whether :func:`heuristic_selection` returns the best selection of a component."""
    single = component.n_variables == 1 and not len(component.choices)
    return single or dynamic.is_instant(component)


def heuristic_selection(
    component: Component,
    position: NDArray[np.int64] | None,
    *,
    budget: int,
    perturbations: int,
    seed: int,
    control: SearchControl = UNLIMITED,
) -> NDArray[np.int64]:
    """Return the candidate of each variable in the best selection that a search finds.

    Parameters
    ----------
    component
        A component without choices that has a selection.
    position
        Position of each of the problem's variables in an order to begin with. Without it, or where
        it leaves a variable without a candidate, the search begins with a greedy order.
    budget
        About how many candidates to look at.
    perturbations
        How often, for each variable, the search continues from a perturbed copy of its best order.
    seed
        Seed of all randomness.
    control
        Ends the search between blocks of work.
    """
    if component.n_variables == 1:
        return component.first[:-1]
    found: NDArray[np.int64] | None
    if dynamic.is_instant(component):
        found = dynamic.best_selection(component)
        assert found is not None, "the component has a selection"
        return found
    search = OrderSearch(component, np.random.default_rng(seed))
    no_values, perturbations = np.zeros(0, np.int64), perturbations * component.n_variables
    if position is not None:
        order = np.argsort(position[component.variables])
        improved = search.improve(order, no_values, budget, perturbations, control)
        if improved is not None:
            return improved[0]
    greedy = search.greedy_order(no_values, np.zeros(component.n_candidates))
    improved = search.improve(greedy, no_values, budget, perturbations, control)
    assert improved is not None, "the greedy order places every variable"
    return improved[0]


def search_budget(component: Component) -> tuple[int, int]:
    """Return the iteration budget and the number of perturbations of a search for incumbents.

    That takes two seconds at most.
    """
    n = component.n_variables
    return 4 * 10**7 if n > WORD else 2 * 10**6, 100 * n


def climb(
    progress: Progress,
    k: int,
    search: OrderSearch,
    order: NDArray[np.int64],
    values: NDArray[np.int64],
    budget: int = 0,
    perturbations: int = 0,
    control: SearchControl = UNLIMITED,
) -> None:
    """Search from an order; a better selection of component ``k`` becomes the incumbent."""
    found = search.improve(order, values, budget, perturbations, control)
    if found is not None:
        progress.improve(k, *found)
