"""Branching on an arc: the variable has the parent, or it has not.

A branch on one candidate hardly changes the side without it. A branch on an arc excludes about half
of the candidates of its head on either side, and with the arc also the candidates that reverse it.
The arc is chosen by what it costs on both sides: looked ahead a few times for each arc by solving
the linear programs of both sides for some iterations, later by the average cost so far (reliability
branching: Achterberg, Koch and Martin 2005, "Branching rules revisited", there for variables).
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pyscipopt import Branchrule
from pyscipopt.scip import PY_SCIP_RESULT as RESULT

from ..components import bits_to_matrix
from ..parameters import ArcBranchingParameters

if TYPE_CHECKING:
    from .solver import Master


Side = NDArray[np.int64]
"""The candidates that a side excludes."""


class ArcBranching(Branchrule):
    """Branches on the fractional arc that costs most on both sides."""

    def __init__(self, master: "Master", parameters: ArcBranchingParameters) -> None:
        n = master.component.n_variables
        self.master = master
        self.parameters = parameters
        self.has_parent = bits_to_matrix(master.component.parents, n)
        self.cost = np.zeros((2, n, n))
        self.looks = np.zeros((2, n, n), np.int64)

    def branchexeclp(self, allowaddcons: bool) -> dict[str, Any]:
        """Branch on an arc; leave it to SCIP's own rule when no arc is fractional."""
        return self.master.guarded(self._branch, {"result": RESULT.DIDNOTRUN})

    def _branch(self) -> dict[str, Any]:
        parent, child, value = self._fractional_arcs()
        if not len(value):
            return {"result": RESULT.DIDNOTRUN}
        allowed = self.master.still_allowed()
        expected = self._expected(parent, child, value)
        best, best_costs, best_product, futile, looked = 0, expected[:, 0], -np.inf, 0, 0
        for k in np.argsort(-self._product(expected), kind="stable"):
            costs = expected[:, k]
            if self._is_unreliable(parent[k], child[k], looked, futile):
                looked += 1
                measured = self._look_ahead(self._sides(parent[k], child[k], allowed))
                if np.isinf(measured).any():
                    return self._exclude(measured, self._sides(parent[k], child[k], allowed))
                self._learn(parent[k], child[k], value[k], measured)
                costs = measured
            product = float(self._product(costs))
            futile = 0 if product > best_product else futile + 1
            if product > best_product:
                best, best_costs, best_product = int(k), costs, product
        return self._divide(self._sides(parent[best], child[best], allowed), best_costs)

    def _fractional_arcs(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return parents, children and values of the arcs between 0 and 1."""
        x = self.master.relaxed()
        value = self.master.support(x).arcs(self.master.component.n_variables)
        within = self.parameters.within
        parent, child = np.nonzero((value > within) & (value < 1.0 - within))
        return parent, child, value[parent, child]

    def _expected(
        self, parent: NDArray[np.int64], child: NDArray[np.int64], value: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the cost of both sides of each arc by what was learnt, shape (2, arcs)."""
        cost, looks = self.cost[:, parent, child], self.looks[:, parent, child]
        average = self.cost.sum(axis=(1, 2)) / np.maximum(self.looks.sum(axis=(1, 2)), 1)
        unit = np.where(looks > 0, cost / np.maximum(looks, 1), np.maximum(average, 1.0)[:, None])
        return unit * np.stack([value, 1.0 - value])

    def _is_unreliable(self, parent: int, child: int, looked: int, futile: int) -> bool:
        if looked == self.parameters.most_ahead or futile >= self.parameters.most_futile:
            return False
        return bool(self.looks[:, parent, child].min() < self.parameters.reliable)

    def _learn(self, parent: int, child: int, value: float, measured: NDArray[np.float64]) -> None:
        """Take note of the cost for each unit that the arc's value changes."""
        self.cost[:, parent, child] += measured / (value, 1.0 - value)
        self.looks[:, parent, child] += 1

    def _sides(self, parent: int, child: int, allowed: NDArray[np.bool_]) -> tuple[Side, Side]:
        """Return the candidates excluded without the arc, and with it."""
        own, reversing = self._of(child, allowed), self._of(parent, allowed)
        has = self.has_parent[own, parent]
        reversing = reversing[self.has_parent[reversing, child]]
        return own[has], np.concatenate([own[~has], reversing])

    def _of(self, variable: int, allowed: NDArray[np.bool_]) -> NDArray[np.int64]:
        first = self.master.component.first
        start, stop = int(first[variable]), int(first[variable + 1])
        return start + np.flatnonzero(allowed[start:stop])

    def _look_ahead(self, sides: tuple[Side, Side]) -> NDArray[np.float64]:
        """Return the cost of each side; infinite when nothing better can be in it."""
        model = self.master.model
        before, costs = model.getLPObjVal(), np.zeros(2)
        model.startProbing()
        for side, excluded in enumerate(sides):
            model.newProbingNode()
            for c in excluded:
                model.chgVarUbProbing(self.master.columns[c], 0.0)
            cut_off, _ = model.propagateProbing(1)
            failed = False
            if not cut_off:
                failed, cut_off = model.solveProbingLP(self.parameters.iterations)
            if cut_off and not failed:
                costs[side] = np.inf
            elif not failed:
                costs[side] = max(0.0, model.getLPObjVal() - before)
            model.backtrackProbing(0)
        model.endProbing()
        return costs

    def _exclude(self, costs: NDArray[np.float64], sides: tuple[Side, Side]) -> dict[str, Any]:
        """Go on with the side that is left, if any."""
        if np.isinf(costs).all():
            return {"result": RESULT.CUTOFF}
        cut_off = self.master.exclude(sides[int(np.argmin(costs))])
        return {"result": RESULT.CUTOFF if cut_off else RESULT.REDUCEDDOM}

    def _divide(self, sides: tuple[Side, Side], costs: NDArray[np.float64]) -> dict[str, Any]:
        """Make a node of each side, the one with the arc to be looked at first."""
        model = self.master.model
        for side in (1, 0):
            child = model.createChild(float(side), model.getLPObjVal() + costs[side])
            for c in sides[side]:
                model.chgVarUbNode(child, self.master.columns[c], 0.0)
        return {"result": RESULT.BRANCHED}

    def _product(self, costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the product of both sides' costs."""
        least = np.maximum(costs, self.parameters.least_cost)
        product: NDArray[np.float64] = np.multiply.reduce(least, axis=0)
        return product
