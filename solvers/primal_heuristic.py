"""A good selection of a component quickly, from an order if there is one; of few, the best one."""

import numpy as np
from numpy.typing import NDArray

from . import dynamic
from .components import Component
from .ordering.solver import OrderSearch
from .progress import Pause, no_pause


def is_solved_at_once(component: Component) -> bool:
    """Tell whether a component's good selection is its best one."""
    single = component.n_variables == 1 and not len(component.choices)
    return single or dynamic.is_instant(component)


def good_selection(
    component: Component,
    position: NDArray[np.int64] | None,
    *,
    effort: int,
    shakes: int,
    seed: int,
    pause: Pause = no_pause,
) -> NDArray[np.int64]:
    """Return the candidate of each variable in the best selection that a search finds.

    Parameters
    ----------
    component
        A component without choices that has a selection.
    position
        Position of each of the problem's variables in an order to begin with. Without it, or where
        it leaves a variable without a candidate, the search begins with a greedy order.
    effort
        About how many candidates to look at.
    shakes
        How often, for each variable, the search continues from a shaken copy of its best order.
    seed
        Seed of all randomness.
    pause
        Called between blocks of work; what it raises passes through.
    """
    if component.n_variables == 1:
        return component.first[:-1]
    found: NDArray[np.int64] | None
    if dynamic.is_instant(component):
        found = dynamic.best_selection(component)
        assert found is not None, "the component has a selection"
        return found
    search = OrderSearch(component, np.random.default_rng(seed))
    no_values, shakes = np.zeros(0, np.int64), shakes * component.n_variables
    if position is not None:
        order = np.argsort(position[component.variables])
        improved = search.improve(order, no_values, effort, shakes, pause)
        if improved is not None:
            return improved[0]
    greedy = search.greedy_order(no_values, np.zeros(component.n_candidates))
    improved = search.improve(greedy, no_values, effort, shakes, pause)
    assert improved is not None, "the greedy order places every variable"
    return improved[0]
