"""Rounding a linear program's solution to an acyclic selection, inside SCIP."""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pyscipopt import Heur
from pyscipopt.scip import PY_SCIP_RESULT as RESULT

from ..ordering.solver import OrderSearch

if TYPE_CHECKING:
    from .solver import Master

EFFORT = 200
"""Candidates looked at after each rounding, for each candidate of the problem."""


class Rounding(Heur):
    """Order the variables by the solution, choose the best candidates along it, and climb."""

    def __init__(self, master: "Master", rng: np.random.Generator) -> None:
        self.master = master
        self.search = OrderSearch(master.component, rng)
        self.seen = np.zeros(0)

    def heurexec(self, heurtiming: int, nodeinfeasible: bool) -> dict[str, Any]:
        """Offer SCIP the rounded selection when it beats the incumbent."""
        return self.master.guarded(self._round, {"result": RESULT.DIDNOTRUN})

    def _round(self) -> dict[str, Any]:
        master = self.master
        x, z = master.relaxed()
        if np.array_equal(x, self.seen):
            return {"result": RESULT.DIDNOTRUN}
        self.seen = x
        values = round_choices(z, master.component.option_first)
        order = self.search.greedy_order(values, x)
        found = self.search.improve(order, values, EFFORT * len(x), 0)
        if found is not None and master.offer(*found):
            return {"result": RESULT.FOUNDSOL}
        return {"result": RESULT.DIDNOTFIND}


def round_choices(z: NDArray[np.float64], option_first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give every choice its most likely value, shape (c,)."""
    return np.array([int(np.argmax(z[a:b])) for a, b in pairwise(option_first)], np.int64)
