"""Good selections by local search over orders of the variables.

For a fixed order, and fixed values of the choices, each variable's best candidate with its parents
earlier in the order and its literals true is independent of the others. The search moves one
variable at a time to its best place in the order (Scanagatta et al. 2017, "Improved local search in
Bayesian networks structure learning", WINASOBS; Lee and van Beek 2017, MINOBS), one choice at a
time to its best value, and continues from a perturbed copy of the best order. It proves nothing; a
bound is computed beside it: at first that of the quick multipliers of a dual ascent, then those of
the cutting planes. A component with choices keeps the sum of its best scores.
"""

from functools import cached_property
from math import inf
from threading import Event, Thread

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.threads import n_threads

from ..component_solver import SolverOptions
from ..components import Component
from ..lp.multipliers import Multipliers
from ..lp.root import MOST_ROUNDS, solve_root
from ..progress import OutOfTime, Pause, Progress, no_pause
from ..result import ROUNDING, Status
from .decoding import Lists, list_candidates, place_by_weight
from .islands import ISLANDS, ROUND, TEMPERATURE, rounds
from .iterated_local_search import iterated_local_search

BUDGET = 2_000
"""Candidates that a search without a time limit looks at, for each candidate there is."""

LEAST_BUDGET = 40_000_000
"""The same for small components."""

RELAXED = 1_000_000
"""Candidates in all the linear programs, together, that bound a component without a time limit."""

STEP = 0.1
"""Seconds between two looks at the clock while only the bound is waited for."""


DEFAULT = SolverOptions()


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
        self,
        order: NDArray[np.int64],
        values: NDArray[np.int64],
        budget: int,
        perturbations: int,
        pause: Pause = no_pause,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the best selection found and its choice values, or ``None`` if there is none.

        Parameters
        ----------
        order, values
            Where to begin, shapes (n,) and (c,).
        budget
            About how many candidates to look at.
        perturbations
            How often at most to continue from a perturbed copy of the best order.
        pause
            Called between blocks of work; what it raises passes through.
        """
        values = values.copy()
        chosen = np.full(self.component.n_variables, -1, np.int64)
        self.climb(order.copy(), values, chosen, budget, perturbations, pause)
        return None if chosen.min() < 0 else (chosen, values)

    def climb(
        self,
        order: NDArray[np.int64],
        values: NDArray[np.int64],
        chosen: NDArray[np.int64],
        budget: int,
        perturbations: int,
        pause: Pause = no_pause,
    ) -> None:
        """Search as :meth:`improve`, in place: the best so far is there whatever ``pause`` raises.

        A variable without a candidate along the order has the number -1.
        """
        iterated_local_search(
            self.lists, order, values, chosen, budget, perturbations, TEMPERATURE, self.rng, pause
        )

    def greedy_order(
        self, values: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return an order that places next the variable that misses least weight (see kernel)."""
        return place_by_weight(self.lists, weights, values)


class Bounding:
    """Lowers the bound of a component in a thread of its own.

    Parameters
    ----------
    component
        What to bound.
    score
        Score of a selection: the bound need not fall below it.
    relaxations
        How many linear programs to solve at most.

    Attributes
    ----------
    bound
        The lowest so far.
    """

    def __init__(self, component: Component, score: float, relaxations: int) -> None:
        self.component = component
        self.score = score
        self.rounds = relaxations
        self.bound = component.relaxation
        self.failure: BaseException | None = None
        self._stopped = Event()
        # no daemon: a linear program that is still being solved when Python ends would abort it
        self._thread = Thread(target=self._run)
        if not len(component.choices):
            self._thread.start()

    def stop(self) -> None:
        """Stop soon."""
        self._stopped.set()

    def wait(self, seconds: float) -> bool:
        """Wait some seconds for the last bound; tell whether it has come."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        if self.failure is not None:
            raise self.failure
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            solve_root(
                self.component,
                self.score,
                pause=self._pause,
                on_bound=self._take,
                rounds=min(MOST_ROUNDS, self.rounds),
            )
        except OutOfTime:
            return
        except BaseException as failure:  # raised again by the thread that waits
            self.failure = failure

    def _pause(self) -> None:
        if self._stopped.is_set():
            raise OutOfTime

    def _take(self, bound: float, multipliers: Multipliers) -> None:
        self.bound = min(self.bound, bound)


def solve_component(progress: Progress, k: int, options: SolverOptions = DEFAULT) -> Status:
    """Search component ``k`` of the progress, which takes incumbents and bounds.

    With a time limit, the component gets a share of what is left of it, by its number of
    candidates; without one, the iteration budget is in proportion to the component unless given.
    One of the threads is for the bound; the selections found do not depend on their number, unless
    the time limit cuts them short.

    Returns
    -------
    Status
        ``optimal`` when the bound meets the score, otherwise ``feasible``.

    Raises
    ------
    OutOfTime
        At the time limit.
    """
    component = progress.components[k]
    relaxations = LEAST_BUDGET if progress.left < inf else RELAXED // component.n_candidates
    bounding = Bounding(component, progress.scores[k], max(5, relaxations))
    try:
        _search(progress, k, bounding, options)
        return "optimal" if progress.closed[k] else "feasible"
    finally:
        bounding.stop()


def _search(progress: Progress, k: int, bounding: Bounding, options: SolverOptions) -> None:
    component, last = progress.components[k], _last_moment(progress, k)
    limited = progress.left < inf  # else when a bound arrives must not decide the answer
    budget, absolute_gap = options.iteration_budget, options.absolute_gap
    if budget is None:
        wanted = max(LEAST_BUDGET, BUDGET * component.n_candidates)
        budget = 2**62 if limited else wanted
    spent = 0
    start, each = progress.incumbent(k), min(ROUND, budget // ISLANDS)
    threads = max(1, n_threads(options.threads) - 1)
    searches = rounds(
        component,
        start=start,
        seed=options.seed,
        threads=threads,
        budget=each,
        until=progress.deadline,
    )
    for found, work in searches:
        if found is not None:
            progress.improve(k, *found)
        _take_bound(progress, k, bounding, absolute_gap)
        progress.pause()
        spent += work
        is_best = progress.scores[k] + absolute_gap >= component.relaxation
        if is_best or spent >= budget or progress.left <= last:
            break
        if limited and progress.closed[k]:
            break
    while not progress.closed[k] and progress.left > last:
        done = bounding.wait(min(STEP, progress.left))
        _take_bound(progress, k, bounding, absolute_gap)
        progress.pause()
        if done:
            break


def _last_moment(progress: Progress, k: int) -> float:
    """Return how many seconds must be left for the components after this one."""
    if progress.left == inf:
        return -inf
    sizes = [c.n_candidates if c.n_variables > 1 else 0 for c in progress.components]
    open_sizes = [
        size
        for size, closed, number in zip(sizes, progress.closed, range(len(sizes)), strict=True)
        if number > k and not closed
    ]
    return progress.left * sum(open_sizes) / max(1, sum(open_sizes) + sizes[k])


def _take_bound(progress: Progress, k: int, bounding: Bounding, absolute_gap: float) -> None:
    bounding.score = progress.scores[k]
    score = progress.scores[k]
    closed = bounding.bound <= score + max(absolute_gap, ROUNDING * max(1.0, abs(score)))
    progress.prove(k, bounding.bound, closed=closed)
