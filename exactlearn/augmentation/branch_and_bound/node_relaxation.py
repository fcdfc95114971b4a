"""What the families of a node of the search can score at most, at prices for reading holes.

Bounds are renewed only where they matter: at other prices a bound still holds when what readings
became cheaper by is added to it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.augmentation.branch_and_bound.family_bounds import read_family
from exactlearn.augmentation.branch_and_bound.incomplete_families import OpenFamilies
from exactlearn.augmentation.branch_and_bound.multipliers import Holes, Prices, sets_of_sinks
from exactlearn.solvers.lp.multipliers import Multipliers


class Reading(NamedTuple):
    """What a family reads.

    Attributes
    ----------
    number
        The family.
    holes, states
        The holes of its columns in increasing order, and the state of each, shapes (k,).
    score
        What the family scores then.
    """

    number: int
    holes: NDArray[np.int64]
    states: NDArray[np.int64]
    score: float


class _Change(NamedTuple):
    """What columns became cheaper by, and where prices changed, shapes (payers, variables)."""

    cheaper: NDArray[np.float64]
    changed: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Adjusted:
    """Bounds of families with the multipliers of clusters, each child's best one being fresh.

    Parameters
    ----------
    scores
        Bound plus multipliers of each family, shape (m,).
    best
        The best of each child, shape (n,).
    total
        What they prove: no network with any completion that the node allows scores more.
    """

    scores: NDArray[np.float64]
    best: NDArray[np.float64]
    total: float


AT_ONCE = 8
"""Families of a child that are bounded anew together with its best."""


@dataclass(eq=False)
class Optimism:
    """Upper bounds of all families under the completions that a node allows.

    Parameters
    ----------
    families
        The families.
    holes
        The node's holes and prices.
    free
        Bounds without prices, shape (m,).
    upper
        Bounds at the prices, shape (m,).
    fresh
        Which of these were computed at these prices for these holes, shape (m,).
    most_nodes
        Nodes spent on each bound.
    """

    families: OpenFamilies
    holes: Holes
    free: NDArray[np.float64]
    upper: NDArray[np.float64]
    fresh: NDArray[np.bool_]
    most_nodes: int

    @classmethod
    def of(
        cls,
        families: OpenFamilies,
        holes: Holes,
        most_nodes: int,
        on_tops: Callable[[NDArray[np.float64]], None] | None = None,
    ) -> "Optimism":
        """Bound all families, child by child.

        ``on_tops`` is called after each with the best bounds so far, infinite where there is none,
        shape (n,).
        """
        free, tops = np.empty(len(families)), np.full(families.n_variables, np.inf)
        for child, (begin, end) in enumerate(pairwise(families.first)):
            free[begin:end] = families.bounds(np.arange(begin, end), holes, most_nodes)
            tops[child] = free[begin:end].max()
            if on_tops is not None:
                on_tops(tops)
        return cls(families, holes, free, free.copy(), np.ones(len(families), np.bool_), most_nodes)

    def price(self, prices: Prices) -> None:
        """Change the prices."""
        old, n = self.holes.prices, self.families.n_variables
        reader, charge = self._change(old.read, prices.read), self._change(old.sink, prices.sink)
        child, has = self.families.child, self.families.has
        cheaper = (reader.cheaper[child] * has).sum(axis=1)
        cheaper += self.families.charged(sets_of_sinks(charge.cheaper, n))
        changed = (reader.changed[child] & has).any(axis=1)
        changed |= self.families.charged(sets_of_sinks(charge.changed.astype(float), n)) > 0.0
        self.upper = np.minimum(self.upper + cheaper, self.free)
        self.fresh = self.fresh & ~changed
        self.holes = self.holes._replace(prices=prices)

    def _change(self, old: NDArray[np.float64], new: NDArray[np.float64]) -> "_Change":
        """Return what each column became cheaper by for each payer, and where any price changed."""
        n, still, variable = self.families.n_variables, self.still_open, self.holes.variables
        cheaper, changed = np.zeros((n, len(old))), np.zeros((n, len(old)), np.bool_)
        fall = np.maximum(old - new, 0.0).max(axis=2)
        np.add.at(cheaper, variable[still], fall[:, still].T)
        np.logical_or.at(changed, variable[still], (old != new).any(axis=2)[:, still].T)
        return _Change(cheaper.T, changed.T)

    def fixed(self, hole: int, state: int) -> "Optimism":
        """Return the bounds with a hole filled, which takes its prices away."""
        values = self.holes.filled
        values[hole] = state
        variable, prices = self.holes.variables[hole], self.holes.prices
        child, has = self.families.child, self.families.has
        touched = has[:, variable]
        refund = np.where(touched, prices.read[child, hole, state], 0.0)
        charge = np.zeros((len(prices.sink), has.shape[1]))
        charge[:, variable] = prices.sink[:, hole, state]
        refund += self.families.charged(sets_of_sinks(charge, has.shape[1]))
        return Optimism(
            self.families,
            self.holes.fill(values),
            self.free,
            self.upper + refund,
            self.fresh & ~touched,
            self.most_nodes,
        )

    def take(self, keep: NDArray[np.bool_]) -> "Optimism":
        """Return the bounds of some families, shape (m,)."""
        return Optimism(
            self.families.take(keep),
            self.holes,
            self.free[keep],
            self.upper[keep],
            self.fresh[keep],
            self.most_nodes,
        )

    @property
    def still_open(self) -> NDArray[np.int64]:
        """The holes that the node has not filled."""
        return np.flatnonzero(self.holes.filled < 0)

    @property
    def _totals(self) -> NDArray[np.float64]:
        """What the prices of each state of each open hole add up to, shape (open, states)."""
        total = self.holes.prices.total[self.still_open]
        total[np.arange(total.shape[1]) >= self.holes.states[self.still_open, None]] = -np.inf
        return total

    @property
    def paid_back(self) -> float:
        """What the prices of all open holes give back."""
        return float(self._totals.max(axis=1, initial=-np.inf).sum())

    @property
    def given_back(self) -> NDArray[np.float64]:
        """The states whose prices are given back, ties in equal parts, shape (holes, states)."""
        total = self._totals
        most = total == total.max(axis=1, keepdims=True)
        back = np.zeros(self.holes.prices.total.shape)
        back[self.still_open] = most / most.sum(axis=1, keepdims=True)
        return back

    def refresh(self, which: NDArray[np.int64]) -> None:
        """Renew some families' bounds."""
        found = self.families.bounds(which, self.holes, self.most_nodes)
        self.upper[which] = np.minimum(self.upper[which], found)
        self.fresh[which] = True

    def freshen(
        self, adjusted: NDArray[np.float64], children: Sequence[int], at_once: int = AT_ONCE
    ) -> None:
        """Renew the bounds of the best families of some children, by their adjusted bounds."""
        first, stale = self.families.first, []
        for child in children:
            start, stop = first[child], first[child + 1]
            most = min(at_once, stop - start)
            top = start + np.argpartition(-adjusted[start:stop], most - 1)[:most]
            stale.append(top[~self.fresh[top]])
        self.refresh(np.concatenate(stale))

    def adjusted(
        self, multipliers: Multipliers, reward: NDArray[np.float64] | None = None
    ) -> Adjusted:
        """Return the bounds with the clusters' multipliers.

        Parameters
        ----------
        multipliers
            The clusters and multipliers.
        reward
            What each family's clusters add, shape (m,), where that is known.
        """
        if reward is None:
            reward = multipliers.adjusted_families(self.families.flat)
        while True:
            scores = self.upper + reward
            tops = self.families.tops(scores)
            stale = np.flatnonzero(~self.fresh[tops])
            if not len(stale):
                best = scores[tops]
                return Adjusted(scores, best, multipliers.total_of(best) + self.paid_back)
            self.freshen(scores, stale.tolist())

    def read_as(self, number: int, values: NDArray[np.int64]) -> Reading:
        """Return what a family reads when the holes have some states, shape (holes,)."""
        return replace(self, holes=self.holes.fill(values)).read(number)

    def read(self, number: int) -> Reading:
        """Return what a family reads at best; what the node has filled is read as well."""
        self.families.pause()
        child, members = int(self.families.child[number]), self.families.members[number]
        return Reading(
            number,
            *read_family(number, child, members, self.holes, self.families.growth, self.most_nodes),
        )
