"""A good network quickly, from one that was good a moment ago; of few variables, the best one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn.graphs.dag import topological_order
from exactlearn.solvers import Problem
from exactlearn.solvers.components import split
from exactlearn.solvers.primal_heuristic import good_selection
from exactlearn.solvers.progress import Pause, no_pause

Dag = tuple[tuple[int, ...], ...]
"""Parents of each variable."""


def good_network(
    problem: Problem,
    start: Sequence[Sequence[int]] | None,
    *,
    effort: int,
    shakes: int,
    seed: int,
    pause: Pause = no_pause,
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
    pause
        Called between blocks of work; what it raises passes through.

    Returns
    -------
    tuple
        Parents of each variable, and their score. The same arguments give the same.
    """
    chosen = np.zeros(problem.n_variables, np.int64)
    position = None if start is None else positions(start)
    for component in split(problem):
        share = effort * component.n_candidates // problem.n_candidates
        found = good_selection(
            component, position, effort=share, shakes=shakes, seed=seed, pause=pause
        )
        chosen[component.variables] = component.candidate[found]
    return tuple(problem.parent_set(int(c)) for c in chosen), float(problem.scores[chosen].sum())


def positions(parents: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return the position of each variable in an order of a network, parents first."""
    order = topological_order(tuple(tuple(p) for p in parents))
    position = np.empty(len(order), np.int64)
    position[list(order)] = np.arange(len(order))
    return position
