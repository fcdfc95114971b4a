"""Good selections by local search over orders of the variables.

For a fixed order, each variable's best candidate with its parents earlier in the order is
independent of the others. The search moves one variable at a time to its best place in the order
(Scanagatta et al. 2017, "Improved local search in Bayesian networks structure learning", WINASOBS;
Lee and van Beek 2017, MINOBS), and continues from a perturbed copy of the best order. Several
searches run side by side. They prove nothing; a bound is computed beside them: at first that of the
quick multipliers of a dual ascent, then those of the cutting planes.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from math import inf

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.executors import n_threads
from exactlearn.graphs.dag import topological_order

from . import dynamic
from .component_solver import ComponentControl, Outcome, Selection
from .components import Component, split
from .decoding import MIN_GAIN
from .iterated_local_search import TEMPERATURE, OrderSearch
from .problem import Problem
from .root import ROOT_LIMITS, RoundLimits, solve_root

STEP = 0.1
"""Seconds between two looks at the clock while only the bound is waited for."""

WALKS = 4
"""Independent searches; neither their number nor the answer depends on the number of threads."""

ROUND = 1_000_000
"""Candidates that a walk looks at between two reports, about a twentieth of a second."""

STALL_LIMIT = 16
"""Rounds without gain after which a walk begins anew."""

UNBOUNDED = 2**62
"""A budget or a number of perturbations that does not count."""


def is_solved_at_once(component: Component) -> bool:
    """Return whether :func:`heuristic_selections` yields the best selection of a component."""
    return component.n_variables == 1 or dynamic.is_instant(component)


def heuristic_network(
    problem: Problem,
    start: Sequence[Sequence[int]] | None,
    *,
    budget: int,
    perturbations: int,
    seed: int,
    control: SearchControl = UNLIMITED,
) -> tuple[tuple[tuple[int, ...], ...], float]:
    """Primal heuristic: search among the orders of the variables; proves nothing.

    Parameters
    ----------
    problem
        A feasible problem without choices.
    start
        Parents of each variable in a network to begin with; its order is what counts. Without it,
        the search begins with a greedy order.
    budget
        About how many candidates to look at, in all components together.
    perturbations
        How often, for each variable, the search continues from a perturbed copy of its best order.
    seed
        Seed of all randomness.
    control
        Ends the search with the best network so far.

    Returns
    -------
    tuple
        Parents of each variable, and their score. The same arguments give the same.
    """
    components = split(problem)
    selections = heuristic_selections(
        problem,
        components,
        start,
        budget=budget,
        perturbations=perturbations,
        seed=seed,
        control=control,
    )
    rows = np.zeros(problem.n_variables, np.int64)
    for component, selection in zip(components, selections, strict=True):
        rows[component.variables] = component.candidate[selection]
    return problem.parent_sets(rows), float(problem.scores[rows].sum())


def heuristic_selections(
    problem: Problem,
    components: Sequence[Component],
    start: Sequence[Sequence[int]] | None,
    *,
    budget: int,
    perturbations: int,
    seed: int,
    control: SearchControl = UNLIMITED,
) -> Iterator[Selection]:
    """Yield the best selection of each component that a search among orders finds.

    Each has a selection; the other parameters are those of
    :func:`heuristic_network`.
    """
    position = None if start is None else positions(start)
    for component in components:
        component_budget = budget * component.n_candidates // problem.n_candidates
        yield _heuristic_selection(
            component, position, component_budget, perturbations, seed, control
        )


def _heuristic_selection(
    component: Component,
    position: NDArray[np.int64] | None,
    budget: int,
    perturbations: int,
    seed: int,
    control: SearchControl,
) -> Selection:
    """Return the best selection of a component that a search finds.

    The search begins with the order of the problem's variables by their positions; without these,
    or where the order leaves a variable without a candidate, with a greedy order.
    """
    if component.n_variables == 1:
        return component.first[:-1]
    # few variables: dynamic programming is faster than any search
    if dynamic.is_instant(component):
        selection = dynamic.best_selection(component)
        assert selection is not None, "the component has a selection"
        return selection
    search = OrderSearch(component, np.random.default_rng(seed))
    perturbations *= component.n_variables
    # from the given order, then from a greedy one
    if position is not None:
        order = np.argsort(position[component.variables])
        improved = search.improve(order, budget, perturbations, control)
        if improved is not None:
            return improved
    greedy = search.greedy_order(np.zeros(component.n_candidates))
    improved = search.improve(greedy, budget, perturbations, control)
    assert improved is not None, "the greedy order places every variable"
    return improved


class Walk:
    """One of several independent searches: its best order, and since when it has not been bettered.

    A search that stalls begins anew from a random order.
    """

    def __init__(
        self, component: Component, seed: np.random.SeedSequence, temperature: float
    ) -> None:
        self.search = OrderSearch(component, np.random.default_rng(seed))
        self.temperature = temperature
        self.begin(self.search.rng.permutation(component.n_variables))

    def begin(self, order: NDArray[np.int64]) -> None:
        """Begin anew from an order."""
        self.order = order
        self.score = -inf
        self.stalled = 0

    def go_on(self, budget: int, control: SearchControl) -> Selection | None:
        """Search on for a round; return the best selection if there is one."""
        if self.stalled >= STALL_LIMIT:
            self.begin(self.search.rng.permutation(len(self.order)))
        state = self.search.search(
            self.order, budget, UNBOUNDED, control, self.temperature
        )
        self.order = state.order
        # a variable without a candidate along the order
        if state.selection.min() < 0:
            return None
        score = self.search.component.total(state.selection)
        self.stalled = 0 if score > self.score + MIN_GAIN else self.stalled + 1
        self.score = max(score, self.score)
        return state.selection


def rounds(
    component: Component, start: Selection | None, control: ComponentControl
) -> Iterator[list[Selection | None]]:
    """Yield the best selections of all walks after each round, until the budget is used up.

    One of the threads is left for the bound; what is found does not depend on their number.

    Parameters
    ----------
    component
        What to search.
    start
        A selection to begin with.
    control
        Breaks off a round; its options give budget, seed and threads.
    """
    options = control.options
    budget = max(
        options.least_order_budget, options.order_budget * component.n_candidates
    )
    budget = UNBOUNDED if _uses_time(control) else budget
    round_budget = min(ROUND, budget // WALKS)
    seeds = np.random.SeedSequence(options.seed).spawn(WALKS)
    walks = [Walk(component, s, TEMPERATURE * (k % 2)) for k, s in enumerate(seeds)]
    # one walk begins greedily, one from the start
    walks[-1].begin(walks[-1].search.greedy_order(np.zeros(component.n_candidates)))
    if start is not None:
        walks[0].begin(order_of(component, start))
    pool = ThreadPoolExecutor(max(1, n_threads(options.threads) - 1))
    aside = control.aside()
    try:
        while True:
            running = [pool.submit(walk.go_on, round_budget, aside) for walk in walks]
            yield [future.result() for future in running]
            budget -= round_budget * WALKS
            is_best = control.score + options.absolute_gap >= component.relaxation
            if is_best or budget <= 0 or not control.goes_on():
                return
    finally:
        aside.stop()
        pool.shutdown(cancel_futures=True)


def positions(parents: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return the position of each variable in an order of a network, parents first."""
    return np.argsort(topological_order(tuple(map(tuple, parents))))


def order_of(component: Component, selection: Selection) -> NDArray[np.int64]:
    """Return an order that an acyclic selection fits."""
    members = [
        component.members[slice(*component.member_first[c : c + 2])] for c in selection
    ]
    return np.array(
        topological_order([tuple(map(int, parents)) for parents in members])
    )


def solve_component(
    component: Component, incumbent: Selection | None, control: ComponentControl
) -> Outcome:
    """Search a component; the outcome is proven when the bound meets the score.

    Without a time limit, the budget is in proportion to the component unless given. The selections
    found do not depend on the number of threads, unless the time limit cuts them short.
    """
    aside = control.aside()
    # without a time limit, rounds of the bound are limited instead
    limits = ROOT_LIMITS
    bounds = [component.relaxation]
    if not _uses_time(control):
        relaxations = max(
            5, control.options.relaxation_budget // component.n_candidates
        )
        limits = RoundLimits(most_rounds=min(limits.most_rounds, relaxations))
    # the bound is computed beside the walks
    pool = ThreadPoolExecutor(
        1
    )  # Python waits for it at its end: it may still solve a program
    bounding = pool.submit(
        solve_root,
        component,
        control.score,
        control=aside,
        on_bound=lambda bound, _: bounds.append(bound),
        limits=limits,
    )
    try:
        for selections in rounds(component, incumbent, control):
            for selection in selections:
                control.improve(selection)
            control.prove(min(bounds))
            if _uses_time(control) and control.is_proven:
                break
        # the walks are over: only the bound may still prove the score
        while not control.is_proven and control.goes_on():
            done = bool(wait([bounding], min(STEP, control.left)).done)
            control.prove(min(bounds))
            if done:
                bounding.result()  # which raises what went wrong
                break
        return control.outcome(proven=control.is_proven)
    finally:
        aside.stop()
        pool.shutdown(wait=False)


def _uses_time(control: ComponentControl) -> bool:
    """Return whether the search goes on until its time limit.

    Else when a bound arrives must not decide the answer.
    """
    return control.options.uses_up_time and control.left < inf
