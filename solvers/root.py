"""The root of the search: cutting planes until the bound of the linear relaxation stays.

Each round solves the relaxation (:mod:`exactlearn.solvers.relaxation`), drops the clusters that
are slack, and adds violated ones. The multipliers of the rounds give a bound each, which is
computed anew from the scores.

As a component solver, the last relaxation suggests an order of the variables, from which a local
search sets out. The outcome is proven when the bound meets the score; where a gap is left, the
reduced costs say which candidates a better selection may have (:meth:`Root.may_reach`).
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import ENGINE, UNLIMITED, SearchControl
from exactlearn._runtime.tolerance import TOLERANCE

from .clusters import Counted, Support
from .component_solver import ComponentControl, Outcome, Selection
from .components import Candidates, Component, split
from .dual_bounds import greedy_multipliers
from .iterated_local_search import INCUMBENT_SHARE, OrderSearch, search_budget
from .multipliers import Multipliers
from .problem import Problem
from .relaxation import Relaxation, Relaxed
from .separation import separate, tails_off

LONG = 1.0
"""Seconds of work whose result is kept, where a search keeps its state."""

WENT_ON = (
    "it went on where an earlier search had stopped, whose time does not count here"
)


OnBound = Callable[[float, Multipliers], None]

ASSUMED_GAP = 0.01
"""Gap where no selection is known, as a share of what all rounds together closed."""

MOST_IDLE = 25
"""Rounds without progress that a cluster of no value stays in the relaxation."""

TINY = 1e-9
"""Multiplier of a cluster that is dropped."""


class RoundLimits(NamedTuple):
    """The limits of the rounds of cutting planes.

    Attributes
    ----------
    most_cuts
        Clusters that each search adds in one round.
    most_rounds
        Rounds after which the multipliers so far are taken.
    tail, least_gain
        Rounds in which so much of the gap must be closed.
    """

    most_cuts: int = 50
    most_rounds: int = 2000
    tail: int = 60
    least_gain: float = 0.01


ROOT_LIMITS = RoundLimits()


@dataclass(frozen=True, eq=False)
class Root:
    """The bound, multipliers and reduced costs that the relaxation of a component gives.

    Parameters
    ----------
    multipliers
        Clusters with multipliers; their bound is the lowest of all rounds.
    bound
        No selection scores more; rounding is allowed for.
    x
        Values of the candidates in the last relaxation solved, shape (m,).
    reach
        No selection with a candidate scores more, by the multipliers of all rounds, shape (m,).
    pool
        Clusters with a positive multiplier in some round.
    """

    multipliers: Multipliers
    bound: float
    x: NDArray[np.float64]
    reach: NDArray[np.float64]
    pool: Counted

    def may_reach(self, score: float) -> NDArray[np.bool_]:
        """Return whether each candidate may be in a selection of such a score, shape (m,)."""
        return self.reach >= score


def solve_root(
    component: Candidates,
    incumbent: float = -np.inf,
    *,
    enough: float = -np.inf,
    **options: Any,
) -> Root:
    """Bound a component's selections by cutting planes.

    Parameters
    ----------
    component, incumbent, options
        As :class:`CuttingPlanes` takes them.
    enough
        Stop as soon as the bound is at most this; at the incumbent's score it stops anyway.
    """
    planes = CuttingPlanes(component, incumbent, **options)
    planes.run(max(enough, incumbent))
    return planes.root()


def cluster_multipliers(
    problem: Problem, control: SearchControl = UNLIMITED, enough: float = -np.inf
) -> Multipliers:
    """Return the multipliers of the linear relaxation of a problem without constraints.

    Parameters
    ----------
    problem
        The problem.
    control
        Ends the search for multipliers; those so far are valid.
    enough
        Stop when the bound is at most this.
    """
    if not problem.is_feasible:
        return Multipliers.none(problem.n_variables)
    parts = [Multipliers.none(problem.n_variables)]
    components = split(problem)
    bound = sum(component.relaxation for component in components)
    for component in components:
        if component.n_variables == 1:
            continue
        bound_elsewhere = bound - component.relaxation
        # the other components have their bounds so far
        root = solve_root(component, enough=enough - bound_elsewhere, control=control)
        bound = bound_elsewhere + root.bound
        parts.append(root.multipliers.widened(component.variables, problem.n_variables))
    return Multipliers(
        np.concatenate([part.clusters for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )


class CuttingPlanes:
    """The rounds of cutting planes, one by one.

    Parameters
    ----------
    component
        A component, or a problem whose candidates are all allowed.
    incumbent
        Score of the best selection known.
    chosen
        Its candidate for each variable, shape (n,).
    clusters
        Clusters to begin with, besides those of a quick dual ascent.
    control
        Ends the rounds; the bound is valid all the same.
    on_bound
        Called with each bound that is lower than all before, and its multipliers.
    limits
        How long the rounds go on.

    Attributes
    ----------
    bound, multipliers
        The lowest bound met since the beginning, or since :meth:`begin_again`.
    relaxed
        The last relaxation solved.
    """

    def __init__(
        self,
        component: Candidates,
        incumbent: float = -np.inf,
        *,
        selection: NDArray[np.int64] | None = None,
        clusters: Counted | None = None,
        control: SearchControl = UNLIMITED,
        on_bound: OnBound | None = None,
        limits: RoundLimits = ROOT_LIMITS,
    ) -> None:
        self.control = control
        self.on_bound = on_bound
        self.limits = limits
        # the multipliers of a dual ascent begin
        self.multipliers = greedy_multipliers(component)
        self.rng = np.random.default_rng(0)
        initial = [
            Counted.of(self.multipliers.clusters),
            *([] if clusters is None else [clusters]),
        ]
        self.pool = Counted.join(*initial)
        self.relaxation = Relaxation(component, start=selection, clusters=self.pool)
        self.component = component
        self.target = incumbent
        self.idle = np.zeros(len(self.pool), np.int64)
        self.reach = self.multipliers.reach(component)
        self._begin(float(self.reach.max()))

    def _begin(self, bound: float) -> None:
        self.bound = bound
        self.last = np.inf
        self.bounds: list[float] = [bound]
        self.relaxed: Relaxed | None = None
        if self.on_bound is not None:
            self.on_bound(bound, self.multipliers)

    def begin_again(
        self, allowed: NDArray[np.bool_], target: float, limits: RoundLimits
    ) -> None:
        """Let the rounds that follow bound the selections of some candidates, shape (m,)."""
        self.relaxation.allow(allowed)
        self.limits = limits
        self.target = target
        self._begin(np.inf)

    def run(self, enough: float) -> None:
        """Go on until the bound is at most so much, or nothing is gained any more."""
        while self.bound > enough and self.control.goes_on() and self.step():
            pass

    def step(self) -> bool:
        """Solve the relaxation and cut its solution off; return whether that could be done."""
        relaxed = self.relaxation.solve(self.control)
        if relaxed is None:
            return False
        self.relaxed = relaxed
        self._note(relaxed)
        if self._is_stuck() or not relaxed.feasible:
            return False

        # slack clusters leave, violated ones enter
        cuts = self._violated(relaxed.x)
        self._log_round(cuts)
        if len(cuts):
            tight = self._tight(relaxed)
            self.pool = Counted.join(self.pool, self.relaxation.pool.take(tight))
            self.relaxation.keep(tight)
            self.relaxation.add(cuts)
            self.idle = np.concatenate(
                [self.idle[tight], np.zeros(len(cuts), np.int64)]
            )
        return len(cuts) > 0

    def _log_round(self, cuts: Counted) -> None:
        """Log the size of the relaxation, its cuts and the candidates left at DEBUG."""
        if ENGINE.isEnabledFor(logging.DEBUG):
            n_counted = int((cuts.counts > 1).sum())
            ENGINE.debug(
                "round %d: bound %.6f, %s, cuts: %d clusters, %d counted; %d of %d candidates left",
                len(self.bounds) - 1,
                self.bound,
                self.relaxation.size_in_words,
                len(cuts) - n_counted,
                n_counted,
                int((self.reach > self.target).sum()),
                len(self.reach),
            )

    def _tight(self, relaxed: Relaxed) -> NDArray[np.bool_]:
        """Return whether each cluster is kept in the relaxation, shape (clusters,).

        Those of no value are dropped when the optimum fell; in rounds without progress, which might
        go round in circles, only after some rounds.
        """
        self.idle += 1
        self.idle[relaxed.multipliers.values > TINY] = 0
        fell = self.last - relaxed.objective > TOLERANCE
        self.last = relaxed.objective
        return self.idle <= (0 if fell else MOST_IDLE)

    def _note(self, relaxed: Relaxed) -> None:
        """Take note of the bound of a round."""
        if relaxed.bound < self.bound:
            self.bound = relaxed.bound
            self.multipliers = relaxed.multipliers.positive()
            if self.on_bound is not None:
                self.on_bound(self.bound, self.multipliers)
        self.reach = np.minimum(self.reach, relaxed.reach)
        self.bounds.append(self.bound)

    def _is_stuck(self) -> bool:
        """Return whether the last rounds did little; a gap is a share of what all rounds closed."""
        limits = self.limits
        target = self.target
        # without an incumbent a gap is assumed
        if target == -np.inf:
            target = self.bound - ASSUMED_GAP * (self.bounds[0] - self.bound)
        return len(self.bounds) > limits.most_rounds or tails_off(
            self.bounds, target, limits.tail, limits.least_gain
        )

    def _violated(self, x: NDArray[np.float64]) -> Counted:
        """Return clusters whose inequality a solution violates."""
        n = self.component.n_variables
        limit = self.limits.most_cuts
        support = Support.of(self.component, x)
        self.control.look()
        return separate(support, n, limit, self.rng, self.pool.violated(support, limit))

    def root(self) -> Root:
        """Return the bound, multipliers and reduced costs of the rounds so far."""
        return Root(
            multipliers=self.multipliers,
            bound=self.bound,
            x=np.zeros(len(self.reach)) if self.relaxed is None else self.relaxed.x,
            reach=self.reach,
            pool=self.pool,
        )


def solve_component(
    component: Component, incumbent: Selection | None, control: ComponentControl
) -> Outcome:
    """Bound a component by cutting planes; search from the order that their solution suggests."""
    root = relax(component, incumbent, control)
    if not (control.is_proven or control.is_over):
        climb_from(root, component, control)
    if control.options.explain and not (control.is_proven or control.is_over):
        control.note(
            "the linear relaxation leaves a gap, which another solver may close"
        )
    return control.outcome(proven=control.is_proven, nodes=1)


def relax(
    component: Component, incumbent: Selection | None, control: ComponentControl
) -> Root:
    """Solve the relaxation by cutting planes; clusters of the options' multipliers help.

    The bounds go to the control on the way, and the clusters are kept with the states when the
    rounds take long or a limit ends them. They end when the absolute gap is reached.
    """
    options = control.options
    key = f"relaxation-{component.digest}"
    multipliers = options.multipliers
    kept = control.states.load(key)
    begun = control.seconds
    if multipliers is None and kept:
        multipliers = Multipliers(**kept)
        control.note(WENT_ON)
        control.prove(multipliers.bound(component))

    # the rounds, which report bounds on the way
    root = solve_root(
        component,
        control.score,
        selection=incumbent,
        clusters=None if multipliers is None else multipliers.counted,
        enough=control.score + options.absolute_gap,
        control=control,
        on_bound=lambda bound, _: control.prove(bound),
    )
    control.prove(root.bound, 1)
    # clusters of long rounds are kept for a later search
    if control.is_over or control.seconds - begun >= LONG:
        control.states.save(key, vars(root.multipliers))
    return root


def climb_from(root: Root, component: Component, control: ComponentControl) -> None:
    """Search from the order that a solution of the relaxation suggests."""
    # the solution of the relaxation as weights of an order
    search = OrderSearch(component, np.random.default_rng(control.options.seed))
    order = search.greedy_order(root.x)
    part = control.part(INCUMBENT_SHARE)
    control.improve(search.improve(order, *search_budget(component), part))
