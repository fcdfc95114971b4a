"""Acyclicity as a SCIP constraint handler that adds violated cluster inequalities."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pyscipopt import Conshdlr
from pyscipopt.scip import PY_SCIP_RESULT as RESULT

from exactlearn.solvers.cluster_program import search_clusters
from exactlearn.solvers.cluster_search import violated_clusters
from exactlearn.solvers.clusters import LEAST, cluster_row, short_circuits

if TYPE_CHECKING:
    from exactlearn.solvers.scip import Master

MOST_CUTS = 200
"""Cluster inequalities added in one round of separation."""

MOST_FUTILE = 3
"""Exact searches for a cluster that may fail before they are given up."""

Answer = dict[str, Any]


class Acyclicity(Conshdlr):
    """The chosen candidates' arcs form no directed cycle.

    A selection stays acyclic when candidates leave it, so the handler locks candidates upwards
    only; SCIP's other reductions are then safe.
    """

    def __init__(self, master: "Master") -> None:
        self.master = master
        self.futile = 0

    def conslock(self, constraint: Any, locktype: int, nlockspos: int, nlocksneg: int) -> None:
        """Tell SCIP that raising a candidate may break acyclicity."""
        for variable in self.master.x:
            self.master.model.addVarLocksType(variable, locktype, nlocksneg, nlockspos)

    def conscheck(
        self,
        constraints: Any,
        solution: Any,
        checkintegrality: bool,
        checklprows: bool,
        printreason: bool,
        completely: bool,
    ) -> Answer:
        """Accept a selection without a directed cycle."""
        return self.master.guarded(lambda: self._judge(solution), {"result": RESULT.INFEASIBLE})

    def consenfolp(self, constraints: Any, nusefulconss: int, solinfeasible: bool) -> Answer:
        """Cut off the linear program's selection when it has a directed cycle."""
        return self.master.guarded(lambda: self._cut(enforce=True), {"result": RESULT.INFEASIBLE})

    def consenfops(
        self, constraints: Any, nusefulconss: int, solinfeasible: bool, objinfeasible: bool
    ) -> Answer:
        """Accept the pseudo solution when it has no directed cycle."""
        return self.master.guarded(lambda: self._judge(None), {"result": RESULT.INFEASIBLE})

    def conssepalp(self, constraints: Any, nusefulconss: int) -> Answer:
        """Add the most violated cluster inequalities."""
        return self.master.guarded(lambda: self._cut(enforce=False), {"result": RESULT.DIDNOTFIND})

    def _judge(self, solution: Any) -> Answer:
        x, _ = self.master.solution(solution)
        support = self.master.support(np.round(x))
        circuits = short_circuits(*support, self.master.component.n_variables, 1)
        return {"result": RESULT.INFEASIBLE if len(circuits) else RESULT.FEASIBLE}

    def _cut(self, *, enforce: bool) -> Answer:
        master = self.master
        x, _ = master.solution(None)
        support, n = master.support(x), master.component.n_variables
        clusters = violated_clusters(support, n, MOST_CUTS)
        if not len(clusters) and not enforce and self._program_is_due(x):
            clusters = search_clusters(support, n)
            self.futile = 0 if len(clusters) else self.futile + 1
        if enforce and not len(clusters):
            return self._judge(None)
        if not len(clusters):
            return {"result": RESULT.DIDNOTFIND}
        cut_off = [self._add_row(cluster, forced=enforce) for cluster in clusters]
        return {"result": RESULT.CUTOFF if any(cut_off) else RESULT.SEPARATED}

    def _program_is_due(self, x: NDArray[np.float64]) -> bool:
        """Tell whether the exact search is worth its time: at the root, until it fails often."""
        fractional = bool((np.abs(x - np.round(x)) > LEAST).any())
        return fractional and self.master.model.getDepth() == 0 and self.futile < MOST_FUTILE

    def _add_row(self, cluster: NDArray[np.bool_], *, forced: bool) -> bool:
        """Add one cluster inequality; tell whether it makes the node infeasible."""
        master, component = self.master, self.master.component
        rows, at_most = cluster_row(
            cluster, component.first, component.member_first, component.members
        )
        least, most = (None, float(cluster.sum() - 1)) if at_most else (1.0, None)
        row = master.model.createEmptyRowUnspec(
            "cluster", lhs=least, rhs=most, local=False, modifiable=False, removable=True
        )
        master.model.cacheRowExtensions(row)
        for c in rows:
            master.model.addVarToRow(row, master.x[c], 1.0)
        master.model.flushRowExtensions(row)
        cut_off = master.model.addCut(row, forced)
        master.model.releaseRow(row)
        return bool(cut_off)
