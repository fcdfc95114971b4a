"""The Lagrangian dual: multipliers for which the families' relaxation has a low bound.

If every family had its best local completion, the sum of their scores would be far above that of
any network. The Lagrangian relaxation dualises these constraints: the families of one variable
whose local completion has state v in cell c are chosen at most ``z[c, v]`` times, and so are those
that are the sink of one set of variables (theorem *Multipliers*, docs/theory/augmentation.md).

Column generation: the best multipliers are the duals of a linear program over local completions,
which enter as they are found, with cluster inequalities for acyclicity.

Subgradient method, before it where many cells are missing: the bound holds for any multipliers, and
the families' local completions are a subgradient. Steps are scaled for each multiplier by how its
slope has varied (Adam: Kingma and Ba 2015, "Adam: a method for stochastic optimization",
Algorithm 1), as multipliers of rare and of frequent states differ much. Multipliers move little in
each step, so few families' bounds need renewing: with hundreds of missing cells, dozens of steps
cost as much as one linear program. The average of late local completions is nearly a solution of
the linear program: clusters that it violates enter.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.branch_and_bound.multipliers import CellMultipliers
from exactlearn.augmentation.branch_and_bound.node_relaxation import (
    Adjusted,
    LocalCompletion,
    NodeRelaxation,
)
from exactlearn.augmentation.branch_and_bound.restricted_master import RestrictedMaster, Solved
from exactlearn.solvers.lp.multipliers import Meeting, Multipliers
from exactlearn.solvers.lp.relaxation import best_candidates


@dataclass(frozen=True, eq=False)
class DualBound:
    """A bound of the Lagrangian dual at a node.

    Parameters
    ----------
    bound
        No network with a completion that the node allows scores more.
    multipliers
        The clusters' multipliers that go with it.
    shares
        Share of each state of each missing cell in the last optimum, shape (cells, states).
    """

    bound: float
    multipliers: Multipliers
    shares: NDArray[np.float64]


def solve_dual(
    master: RestrictedMaster,
    relaxation: NodeRelaxation,
    multipliers: Multipliers,
    target: float,
    on_bound: Callable[[float], None] = lambda bound: None,
    *,
    stall_limit: int | None = None,
) -> DualBound | None:
    """Find multipliers with a low bound by column generation; the relaxation then has them.

    ``None`` when the search is over first.

    Parameters
    ----------
    master
        The local completions known.
    relaxation
        The bounds of the families at a node.
    multipliers
        Clusters with multipliers to begin with.
    target
        Stop when the bound is at most this.
    on_bound
        Called each round with the bound so far.
    stall_limit
        Rounds in which a share of the gap must be closed, other than the tuning constant.
    """
    control, tuning = relaxation.families.control, relaxation.families.tuning
    stall_limit = stall_limit or tuning.stall_limit
    master.restrict(relaxation)
    best, best_cell_multipliers = (
        relaxation.adjusted(multipliers).total,
        relaxation.cells.multipliers,
    )
    trace = [best]
    while True:
        on_bound(best)
        solved = master.solve(control) if control.goes_on() else None
        if solved is None:
            return None
        entered = False
        closed = 1.0 - min(
            1.0, (best - solved.optimum) / max(best - target, tuning.least_reduced_cost)
        )
        weight = tuning.smoothing * max(0.0, closed)
        for cell_multipliers in (
            best_cell_multipliers.blend(solved.cell_multipliers, weight),
            solved.cell_multipliers,
        ):
            relaxation.set_multipliers(cell_multipliers)
            adjusted = relaxation.adjusted(solved.multipliers)
            if adjusted.total < best:
                best, best_cell_multipliers, multipliers = (
                    adjusted.total,
                    cell_multipliers,
                    solved.multipliers,
                )
            entered = _enter(master, relaxation, adjusted, solved)
            if entered:
                break
        found = master.violated(solved.support)
        master.add_clusters(found)
        lead = best - solved.optimum
        joined = (
            master.add_sink_links(solved)
            if lead < tuning.joining * (best - target) or not entered
            else 0
        )
        trace.append(best)
        if (
            best <= target
            or not (entered or len(found) or joined)
            or len(trace) > tuning.most_rounds
        ):
            break
        if not len(found) and not joined and lead < tuning.least_gain * (best - target):
            break
        if len(trace) > stall_limit and trace[-stall_limit] - best < tuning.least_gain * (
            best - target
        ):
            break
    relaxation.set_multipliers(best_cell_multipliers)
    return DualBound(best, multipliers, solved.shares)


def _enter(
    master: RestrictedMaster, relaxation: NodeRelaxation, adjusted: Adjusted, solved: Solved
) -> bool:
    """Add the best local completions of each child that raise the optimum.

    Return whether there is any.
    """
    entered, tuning = False, relaxation.families.tuning
    first = relaxation.families.first
    for number in best_candidates(first, adjusted.scores, tuning.entering).tolist():
        completion = relaxation.best_completion(number)
        if master.reduced_cost(completion, solved) > tuning.least_reduced_cost:
            entered |= master.add(completion)
        if not relaxation.families.control.goes_on():
            break
    return entered


class _Ascent:
    """Multipliers of inequalities that never fall below 0, and Adam's averages of their slopes."""

    MEAN, SQUARE, DAMPING = 0.9, 0.98, 0.03

    def __init__(self, at: NDArray[np.float64]) -> None:
        self.at = at
        self._mean, self._square, self._steps = np.zeros_like(at), np.zeros_like(at), 0

    def extend(self, k: int) -> None:
        """Add ``k`` that are 0."""
        none = np.zeros(k)
        self.at, self._mean, self._square = (
            np.concatenate([old, none]) for old in (self.at, self._mean, self._square)
        )

    def move(self, slope: NDArray[np.float64], step: float | NDArray[np.float64]) -> None:
        """Move all along a slope, by about ``step`` where it is steady."""
        self._steps += 1
        self._mean += (1.0 - self.MEAN) * (slope - self._mean)
        self._square += (1.0 - self.SQUARE) * (slope**2 - self._square)
        mean = self._mean / (1.0 - self.MEAN**self._steps)
        spread = np.sqrt(self._square / (1.0 - self.SQUARE**self._steps)) + self.DAMPING
        self.at = np.maximum(0.0, self.at + step * mean / spread)


class SubgradientMethod:
    """The state of the subgradient method: cell multipliers and cluster multipliers.

    Parameters
    ----------
    master
        Gets the clusters that are found, and local completions; its clusters are those of the
        multipliers.
    relaxation
        The bounds of the families.
    multipliers
        Clusters with multipliers to begin with.
    """

    def __init__(
        self, master: RestrictedMaster, relaxation: NodeRelaxation, multipliers: Multipliers
    ) -> None:
        self._master, self._relaxation = master, relaxation
        cell_multipliers, cells = relaxation.cells.multipliers, relaxation.cells
        self._child, self._sink = _Ascent(cell_multipliers.child), _Ascent(cell_multipliers.sink)
        self._weights = _Ascent(multipliers.values)
        self._meeting = self._meet()
        self._scale = cells.weights[cells.rows][:, None]
        self._chosen = np.zeros(len(relaxation.families))
        self._tuning = relaxation.families.tuning
        self._recent: deque[tuple[LocalCompletion, ...]] = deque(maxlen=self._tuning.memory)
        self._best, self._best_at = inf, (cell_multipliers, multipliers)

    def step(self, size: float) -> float:
        """Bound at the multipliers, and move them; return the best bound so far.

        Where the search is over, they stay where they are.
        """
        master, relaxation = self._master, self._relaxation
        cell_multipliers = CellMultipliers(self._child.at, self._sink.at)
        clusters = master.clusters
        multipliers = Multipliers(clusters.clusters, self._weights.at, clusters.counts)
        relaxation.set_multipliers(cell_multipliers)
        adjusted = relaxation.adjusted(multipliers, self._meeting.rewards(self._weights.at))
        if adjusted.total < self._best:
            self._best, self._best_at = adjusted.total, (cell_multipliers, multipliers)
        chosen = relaxation.families.best(adjusted.scores)
        completions = []
        for number in chosen.tolist():
            if not relaxation.families.control.goes_on():
                return self._best
            completions.append(relaxation.best_completion(number))
        slopes = self._slopes(completions)
        self._child.move(slopes.child, size * self._scale)
        self._sink.move(slopes.sink, size * self._scale)
        self._weights.move(clusters.counts - master.met(chosen).sum(axis=1), size)
        self._chosen *= 1.0 - 1.0 / self._tuning.memory
        self._chosen[chosen] += 1.0 / self._tuning.memory
        self._recent.append(tuple(completions))
        return self._best

    def _slopes(self, completions: Sequence[LocalCompletion]) -> CellMultipliers:
        """Return the subgradient with respect to the cell multipliers.

        Each state counts by how many local completions have it, less its part of the constant.
        """
        cells = self._relaxation.cells
        back = self._relaxation.constant_states
        child = np.zeros_like(cells.multipliers.child) - back
        sink = np.zeros_like(cells.multipliers.sink) - back
        for completion in completions:
            child[
                self._relaxation.families.child[completion.number],
                completion.cells,
                completion.states,
            ] += 1
            sink[tuple(self._master.sink_terms(completion))] += 1.0
        filled = cells.filled >= 0
        child[:, filled] = sink[:, filled] = 0.0
        return CellMultipliers(child, sink)

    def separate(self) -> None:
        """Add the clusters that the average of the last selections violates."""
        average = np.where(self._chosen > self._tuning.negligible, self._chosen, 0.0)
        violated = self._master.violated(self._relaxation.families.support(average))
        self._master.add_clusters(violated)
        self._weights.extend(len(violated))
        self._meeting = self._meet()

    def _meet(self) -> Meeting:
        clusters = self._master.clusters
        return Meeting.of(self._relaxation.families.flat, clusters.clusters, clusters.counts)

    def end(self) -> Multipliers:
        """Add the last local completions to the master and restore the best multipliers.

        A search that is over needs no more local completions.
        """
        control = self._relaxation.families.control
        for completion in chain.from_iterable(self._recent):
            if not control.goes_on():
                break
            self._master.add(completion)
        cell_multipliers, multipliers = self._best_at
        self._relaxation.set_multipliers(cell_multipliers)
        return multipliers


def subgradient_method(
    master: RestrictedMaster,
    relaxation: NodeRelaxation,
    multipliers: Multipliers,
    target: float,
    on_bound: Callable[[float], None],
    steps: int,
) -> Multipliers:
    """Find multipliers with a low bound by subgradient steps; the relaxation then has them.

    The steps end with the search.

    Parameters
    ----------
    master, relaxation, multipliers
        Those of :class:`SubgradientMethod`.
    target
        Stop when the bound is at most this.
    on_bound
        Called after each step with the bound so far.
    steps
        Number of steps.

    Returns
    -------
    Multipliers
        Those of the clusters.
    """
    method, tuning = SubgradientMethod(master, relaxation, multipliers), relaxation.families.tuning
    ratio = tuning.last_step / tuning.first_step
    for k in range(steps):
        best = method.step(tuning.first_step * ratio ** (k / steps))
        on_bound(best)
        if best <= target or not relaxation.families.control.goes_on():
            break
        if k % tuning.memory == tuning.memory - 1:
            method.separate()
    return method.end()
