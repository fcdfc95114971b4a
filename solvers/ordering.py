"""Good selections by local search over orders of the variables.

For a fixed order, and fixed values of the choices, each variable's best candidate with its parents
earlier in the order and its literals true is independent of the others. The search moves one
variable at a time to its best place in the order (Scanagatta et al. 2017, "Improved local search in
Bayesian networks structure learning", WINASOBS; Lee and van Beek 2017, MINOBS), one choice at a
time to its best value, and continues from a shaken copy of the best order. It proves nothing.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exactlearn.solvers.components import Component
from exactlearn.solvers.ordering_shakes import climb_with_shakes
from exactlearn.solvers.placing import Lists, list_candidates, place_by_weight


class OrderSearch:
    """Local search over the orders of one component, from any order and choice values.

    Parameters
    ----------
    component
        The piece of the problem to search.
    rng
        Source of randomness.
    """

    def __init__(self, component: Component, rng: np.random.Generator) -> None:
        self.component = component
        self.rng = rng

    @cached_property
    def lists(self) -> Lists:
        """The component's candidates by what they need, and by who needs it."""
        return list_candidates(self.component)

    def improve(
        self, order: NDArray[np.int64], values: NDArray[np.int64], effort: int, shakes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the best selection found and its choice values, or ``None`` if there is none.

        Parameters
        ----------
        order, values
            Where to begin, shapes (n,) and (c,).
        effort
            About how many candidates to look at.
        shakes
            How often at most to continue from a shaken copy of the best order.
        """
        order, values = order.copy(), values.copy()
        chosen = np.full(self.component.n_variables, -1, np.int64)
        climb_with_shakes(self.lists, order, values, chosen, effort, shakes, self.rng)
        return None if chosen.min() < 0 else (chosen, values)

    def greedy_order(
        self, values: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return an order that places next the variable that misses least weight (see kernel)."""
        return place_by_weight(self.lists, weights, values)
