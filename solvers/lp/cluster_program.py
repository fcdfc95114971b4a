"""The most violated cluster inequality, exactly, by a small integer program.

One 0/1 variable tells whether a variable is in the cluster, one continuous variable whether a
positive candidate belongs to a member and has a parent in the cluster (Bartlett and Cussens 2017):

    max  sum_c x_c y_c - sum_v member_v     y_c <= member_child(c),  y_c <= sum of member_p, p in PA

The inequality of a cluster is violated when its value exceeds -1.
"""

import numpy as np
from numpy.typing import NDArray
from pyscipopt import Eventhdlr, Model, quicksum
from pyscipopt.scip import PY_SCIP_EVENTTYPE as EVENT
from pyscipopt.scip import PY_SCIP_PARAMEMPHASIS as EMPHASIS

from exactlearn._runtime.interrupts import stopped_by_interrupt

from ..progress import Pause, no_pause
from .clusters import LEAST, Support, violations

MOST_NODES = 300
"""Nodes of the search after which the clusters found so far have to do."""


class Pausing(Eventhdlr):
    """Pauses at each linear program; what a pause raises, or Ctrl-C, ends SCIP and is kept."""

    def __init__(self, pause: Pause) -> None:
        self.pause = pause
        self.failure: BaseException | None = None

    def eventinit(self) -> None:
        """Listen."""
        self.model.catchEvent(EVENT.LPSOLVED, self)

    def eventexec(self, event: object) -> None:
        """Pause."""
        try:
            self.pause()
        except BaseException as failure:
            self.stop(failure)

    def stop(self, failure: BaseException) -> None:
        """End SCIP."""
        self.failure = failure
        self.model.interruptSolve()


def search_clusters(support: Support, n: int, pause: Pause = no_pause) -> NDArray[np.bool_]:
    """Return the violated clusters that an integer program finds, shape (found, n).

    What ``pause`` raises now and then passes through.
    """
    model = Model("cluster")
    model.hideOutput()
    model.setEmphasis(EMPHASIS.FEASIBILITY)
    model.setParams({"limits/nodes": MOST_NODES, "misc/catchctrlc": False})
    fractional = _between(support, n)
    member = [model.addVar(vtype="B", obj=1.0) for _ in range(n)]
    for v in np.flatnonzero(~fractional):
        model.chgVarUb(member[v], 0.0)
    for s in range(len(support.x)):
        parents = support.members[support.member_first[s] : support.member_first[s + 1]]
        if len(parents):
            y = model.addVar(vtype="C", ub=1.0, obj=-float(support.x[s]))
            model.addCons(y <= member[support.child[s]])
            model.addCons(y <= quicksum(member[p] for p in parents))
    model.addCons(quicksum(member) >= 2)
    model.setObjlimit(1.0 - LEAST)
    pausing = Pausing(pause)
    model.includeEventhdlr(pausing, "pausing", "pauses at each linear program")
    with stopped_by_interrupt(lambda: pausing.stop(KeyboardInterrupt())):
        model.optimize()
    if pausing.failure is not None:
        raise pausing.failure
    found = [[model.getSolVal(solution, m) > 0.5 for m in member] for solution in model.getSols()]
    clusters = np.array(found, np.bool_).reshape(-1, n)
    return clusters[violations(*support, clusters) > LEAST]


def _between(support: Support, n: int) -> NDArray[np.bool_]:
    """Tell which variables have a positive parent and a positive child; others help no cluster."""
    has_parent, has_child = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    has_parent[support.child[np.diff(support.member_first) > 0]] = True
    has_child[support.members] = True
    return has_parent & has_child
