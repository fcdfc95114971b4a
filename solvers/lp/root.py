"""The root of the search: cutting planes until the bound of the linear relaxation stays.

Each round solves the relaxation (:mod:`exactlearn.solvers.lp.relaxation`), drops the clusters that
are slack, and adds violated ones. Clusters are sought between the relaxation's solution and a point
inside all cluster inequalities, at first that of the incumbent (the in-out separation of Ben-Ameur
and Neto 2007, "Acceleration of cutting-plane and column generation algorithms"): such cuts are
deeper. The multipliers of the rounds give a bound each, which is computed anew from the scores.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl

from ..components import Candidates, Families, families_of, split
from ..parameters import DEFAULTS, CuttingPlaneParameters
from ..problem import Problem
from .clusters import Counted, Support, take_support
from .dual_bounds import greedy_multipliers
from .multipliers import Multipliers
from .relaxation import Relaxation, Relaxed
from .separation import quick_clusters, separate

OnBound = Callable[[float, Multipliers], None]


@dataclass(frozen=True, eq=False)
class Root:
    """What the relaxation says of a component.

    Parameters
    ----------
    multipliers
        Clusters with multipliers; their bound is the lowest of all rounds.
    bound
        No selection scores more; rounding is allowed for.
    x
        Values of the candidates in the last relaxation solved, shape (m,).
    reduced_costs
        What the bound falls by when a candidate is chosen, at least, shape (m,).
    pool
        Clusters with a positive multiplier in some round.
    rounds
        Relaxations solved.
    """

    multipliers: Multipliers
    bound: float
    x: NDArray[np.float64]
    reduced_costs: NDArray[np.float64]
    pool: Counted
    rounds: int

    def may_reach(self, score: float) -> NDArray[np.bool_]:
        """Return which candidates may be in a selection of such a score, shape (m,)."""
        return self.bound - self.reduced_costs >= score


def no_listener(bound: float, multipliers: Multipliers) -> None:
    """Ignore a bound."""


def solve_root(
    component: Candidates,
    incumbent: float = -np.inf,
    *,
    chosen: NDArray[np.int64] | None = None,
    clusters: Counted | None = None,
    enough: float = -np.inf,
    control: SearchControl = UNLIMITED,
    on_bound: OnBound = no_listener,
    parameters: CuttingPlaneParameters = DEFAULTS.cutting_planes,
) -> Root:
    """Bound a component's selections by cutting planes.

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
    enough
        Stop as soon as the bound is at most this; at the incumbent's score it stops anyway.
    control
        Ends the rounds; the bound is valid all the same.
    on_bound
        Called with each bound that is lower than all before, and its multipliers.
    parameters
        Tuning constants.
    """
    families = families_of(component)
    start = Counted.none(families.n_variables) if clusters is None else clusters
    planes = CuttingPlanes(
        component, families, chosen, start, on_bound, incumbent, control, parameters
    )
    enough = max(enough, incumbent)
    while planes.bound > enough and control.goes_on() and planes.step():
        pass
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
    found = [Multipliers.none(problem.n_variables)]
    components = split(problem)
    bound = sum(component.relaxation for component in components)
    for component in components:
        if component.n_variables == 1:
            continue
        others = bound - component.relaxation
        root = solve_root(component, enough=enough - others, control=control)
        bound = others + root.bound
        found.append(root.multipliers.widened(component.variables, problem.n_variables))
    return Multipliers(
        np.concatenate([own.clusters for own in found]),
        np.concatenate([own.values for own in found]),
        np.concatenate([own.counts for own in found]),
    )


class CuttingPlanes:
    """The rounds of cutting planes, one by one."""

    def __init__(
        self,
        component: Candidates,
        families: Families,
        chosen: NDArray[np.int64] | None,
        start: Counted,
        on_bound: OnBound,
        incumbent: float = -np.inf,
        control: SearchControl = UNLIMITED,
        parameters: CuttingPlaneParameters = DEFAULTS.cutting_planes,
    ) -> None:
        self.families = families
        self.control = control
        self.parameters = parameters
        self.incumbent = incumbent
        self.on_bound = on_bound
        self.multipliers = greedy_multipliers(component, parameters.dual_ascent)
        self.bound = self.multipliers.bound(component)
        on_bound(self.bound, self.multipliers)
        self.pool = Counted.join(Counted.of(self.multipliers.clusters), start)
        self.rng = np.random.default_rng(0)
        self.relaxation = Relaxation(
            component,
            start=chosen,
            clusters=self.pool.clusters,
            counts=self.pool.counts,
            parameters=parameters.columns,
        )
        self.inner = np.zeros(len(families.scores))
        self.has_inner = chosen is not None
        if chosen is not None:
            self.inner[chosen] = 1.0
        self.bounds: list[float] = [self.bound]
        self.last = np.inf
        self.idle = np.zeros(len(self.pool), np.int64)
        self.relaxed: Relaxed | None = None

    def step(self) -> bool:
        """Solve the relaxation and cut its solution off; return whether that could be done."""
        relaxed = self.relaxation.solve(self.control)
        if relaxed is None:
            return False
        self.relaxed = relaxed
        self._note(relaxed)
        if self._is_stuck():
            return False
        found = self._violated(relaxed.x)
        if len(found):
            tight = self._tight(relaxed)
            active = Counted(self.relaxation.clusters[tight], self.relaxation.counts[tight])
            self.pool = Counted.join(self.pool, active)
            self.relaxation.keep(tight)
            self.relaxation.add(found.clusters, found.counts)
            self.idle = np.concatenate([self.idle[tight], np.zeros(len(found), np.int64)])
        return len(found) > 0

    def _tight(self, relaxed: Relaxed) -> NDArray[np.bool_]:
        """Return which clusters to keep in the relaxation, shape (clusters,).

        Those of no value are dropped when the optimum fell; in rounds without progress, which might
        go round in circles, only after some rounds.
        """
        self.idle += 1
        tiny = self.parameters.tiny
        self.idle[relaxed.multipliers.values > tiny] = 0
        fell = self.last - relaxed.objective > tiny * abs(relaxed.objective)
        self.last = relaxed.objective
        return self.idle <= (0 if fell else self.parameters.most_idle)

    def _note(self, relaxed: Relaxed) -> None:
        """Take note of the bound of a round."""
        if relaxed.bound < self.bound:
            self.bound, self.multipliers = relaxed.bound, relaxed.multipliers.positive()
            self.on_bound(self.bound, self.multipliers)
        self.bounds.append(self.bound)

    def _is_stuck(self) -> bool:
        """Return whether the last rounds did little."""
        parameters, rounds = self.parameters, len(self.bounds)
        if rounds > parameters.most_rounds:
            return True
        if rounds <= parameters.tail:
            return False
        gained, gap = self.bounds[-parameters.tail] - self.bound, self.bound - self.incumbent
        least = parameters.least_gain * gap
        if gap == np.inf:
            least = parameters.least_part * (self.bounds[0] - self.bound)
        return gained <= least

    def _violated(self, x: NDArray[np.float64]) -> Counted:
        """Return clusters whose inequality a solution violates."""
        n, support, parameters = self.families.n_variables, self._support(x), self.parameters
        most, inwards = parameters.most_cuts, parameters.inwards
        found = self.pool.violated(support, most)
        if self.has_inner:
            between = inwards * self.inner + (1.0 - inwards) * x
            deep = quick_clusters(self._support(between), n, most, self.rng, parameters.separation)
            if not len(deep):
                self.inner = between
            found = Counted.join(found, Counted.of(deep))
        self.control.look()
        return separate(support, n, most, self.rng, found, parameters.separation)

    def _support(self, x: NDArray[np.float64]) -> Support:
        f = self.families
        return Support(*take_support(x, f.child, f.member_first, f.members))

    def root(self) -> Root:
        """Return what the rounds so far have shown."""
        f = self.families
        adjusted = self.multipliers.adjusted_families(f)
        best = np.maximum.reduceat(adjusted, f.first[:-1])
        costs = best[f.child] - adjusted
        x = np.zeros(len(costs)) if self.relaxed is None else self.relaxed.x
        return Root(
            multipliers=self.multipliers,
            bound=self.bound,
            x=x,
            reduced_costs=costs,
            pool=self.pool,
            rounds=len(self.bounds) - 1,
        )
