"""Good selections by local search over orders of the variables.

For a fixed order, each variable's best candidate with its parents earlier in the order is
independent of the others. The search moves one variable at a time to its best place in the order
(Scanagatta et al. 2017, "Improved local search in Bayesian networks structure learning", WINASOBS;
Lee and van Beek 2017, MINOBS), and continues from a perturbed copy of the best order. It proves
nothing; a bound is computed beside it: at first that of the quick multipliers of a dual ascent,
then those of the cutting planes.
"""

from dataclasses import replace
from functools import cached_property
from math import inf
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.executors import n_threads

from .. import dynamic
from ..component_solver import ComponentControl, Outcome, Selection
from ..components import WORD, Component
from ..lp.multipliers import Multipliers
from ..lp.root import solve_root
from ..parameters import DEFAULTS, CuttingPlaneParameters, OrderingParameters
from .decoding import Lists, list_candidates, place_by_weight
from .islands import rounds
from .iterated_local_search import iterated_local_search

STEP = 0.1
"""Seconds between two looks at the clock while only the bound is waited for."""


class OrderSearch:
    """Local search over the orders of one component, from any order.

    Parameters
    ----------
    component
        The piece of the problem to search.
    rng
        Source of randomness.
    parameters
        Tuning constants; each search begins at their temperature.
    """

    def __init__(
        self,
        component: Component,
        rng: np.random.Generator,
        parameters: OrderingParameters = DEFAULTS.ordering,
    ) -> None:
        self.component = component
        self.rng = rng
        self.parameters = parameters

    @cached_property
    def lists(self) -> Lists:
        """The component's candidates by what they need, and by who needs it."""
        return list_candidates(self.component)

    def improve(
        self,
        order: NDArray[np.int64],
        budget: int,
        perturbations: int,
        control: SearchControl = UNLIMITED,
    ) -> Selection | None:
        """Return the best selection found, or ``None`` if there is none.

        Parameters
        ----------
        order
            Where to begin, shape (n,).
        budget
            About how many candidates to look at.
        perturbations
            How often at most to continue from a perturbed copy of the best order.
        control
            Ends the search between blocks of work.
        """
        chosen = np.full(self.component.n_variables, -1, np.int64)
        self.climb(order.copy(), chosen, budget, perturbations, control)
        return None if chosen.min() < 0 else chosen

    def climb(
        self,
        order: NDArray[np.int64],
        chosen: NDArray[np.int64],
        budget: int,
        perturbations: int,
        control: SearchControl = UNLIMITED,
    ) -> None:
        """Search as :meth:`improve`, in place.

        A variable without a candidate along the order has the number -1.
        """
        iterated_local_search(
            self.lists, order, chosen, budget, perturbations, self.parameters.temperature, self.rng,
            control, self.parameters,
        )  # fmt: skip

    def greedy_order(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return an order that places next the variable that misses least weight (see kernel)."""
        return place_by_weight(self.lists, weights)


def is_solved_at_once(component: Component) -> bool:
    """Return whether :func:`heuristic_selection` returns the best selection of a component."""
    return component.n_variables == 1 or dynamic.is_instant(component)


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
        A component that has a selection.
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
    perturbations *= component.n_variables
    if position is not None:
        order = np.argsort(position[component.variables])
        improved = search.improve(order, budget, perturbations, control)
        if improved is not None:
            return improved
    greedy = search.greedy_order(np.zeros(component.n_candidates))
    improved = search.improve(greedy, budget, perturbations, control)
    assert improved is not None, "the greedy order places every variable"
    return improved


def search_budget(component: Component) -> tuple[int, int]:
    """Return the iteration budget and the number of perturbations of a search for incumbents.

    That takes two seconds at most.
    """
    n = component.n_variables
    return 4 * 10**7 if n > WORD else 2 * 10**6, 100 * n


class Bounding:
    """Lowers the bound of a component in a thread of its own.

    Parameters
    ----------
    component
        What to bound.
    score
        Score of a selection: the bound need not fall below it.
    parameters
        Tuning constants of the cutting planes.
    control
        The control of the search.

    Attributes
    ----------
    bound
        The lowest so far.
    """

    def __init__(
        self,
        component: Component,
        score: float,
        parameters: CuttingPlaneParameters,
        control: SearchControl,
    ) -> None:
        self.component = component
        self.score = score
        self.parameters = parameters
        self.bound = component.relaxation
        self.failure: BaseException | None = None
        self._control = control.aside()
        # no daemon: a linear program that is still being solved when Python ends would abort it
        self._thread = Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        """Stop soon."""
        self._control.stop()

    def wait(self, seconds: float) -> bool:
        """Wait some seconds for the last bound; return whether it has come."""
        self._thread.join(seconds)
        if self.failure is not None:
            raise self.failure
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            solve_root(
                self.component,
                self.score,
                control=self._control,
                on_bound=self._take,
                parameters=self.parameters,
            )
        except BaseException as failure:  # raised again by the thread that waits
            self.failure = failure

    def _take(self, bound: float, multipliers: Multipliers) -> None:
        self.bound = min(self.bound, bound)


def solve_component(
    component: Component, incumbent: Selection | None, control: ComponentControl
) -> Outcome:
    """Search a component; the outcome is proven when the bound meets the score.

    Without a time limit, the iteration budget is in proportion to the component unless given. One
    of the threads is for the bound; the selections found do not depend on their number, unless the
    time limit cuts them short.
    """
    planes = control.options.cutting_planes
    if not _uses_time(control):
        relaxations = max(5, control.options.ordering.relaxed // component.n_candidates)
        planes = replace(planes, most_rounds=min(planes.most_rounds, relaxations))
    bounding = Bounding(component, control.score, planes, control)
    try:
        _search(component, incumbent, control, bounding)
        return control.outcome(proven=control.is_proven)
    finally:
        bounding.stop()


def _search(
    component: Component,
    incumbent: Selection | None,
    control: ComponentControl,
    bounding: Bounding,
) -> None:
    limited = _uses_time(control)  # else when a bound arrives must not decide the answer
    options = control.options
    parameters, budget = options.ordering, options.iteration_budget
    if budget is None:
        wanted = max(parameters.least_budget, parameters.budget * component.n_candidates)
        budget = 2**62 if limited else wanted
    spent = 0
    searches = rounds(
        component,
        start=incumbent,
        seed=options.seed,
        threads=max(1, n_threads(options.threads) - 1),
        parameters=replace(parameters, round=min(parameters.round, budget // parameters.islands)),
        control=control,
    )
    for found, work in searches:
        if found is not None:
            control.improve(found)
        _take_bound(control, bounding)
        spent += work
        is_best = control.score + options.absolute_gap >= component.relaxation
        if is_best or spent >= budget or not control.goes_on():
            break
        if limited and control.is_proven:
            break
    while not control.is_proven and control.goes_on():
        done = bounding.wait(min(STEP, control.left))
        _take_bound(control, bounding)
        if done:
            break


def _uses_time(control: ComponentControl) -> bool:
    """Return whether the search goes on until its time limit."""
    return control.options.ordering.timed and control.left < inf


def _take_bound(control: ComponentControl, bounding: Bounding) -> None:
    bounding.score = control.score
    control.prove(bounding.bound)
