"""Acyclicity as a SCIP constraint handler that adds violated cluster inequalities."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pyscipopt import Conshdlr
from pyscipopt.scip import PY_SCIP_RESULT as RESULT
from pyscipopt.scip import PY_SCIP_STAGE as STAGE

from ..forced_arcs import closing_candidates
from ..lp.cluster_program import search_clusters
from ..lp.cluster_search import FEW, quick_clusters, slow_clusters
from ..lp.clusters import LEAST, Counted, Support, short_circuits
from ..lp.counted_search import counted_clusters
from ..lp.relaxation import cluster_rows
from .pool import ClusterPool

if TYPE_CHECKING:
    from .solver import Master

MOST_CUTS = 200
"""Cluster inequalities added in one round of separation."""

MOST_PROGRAMS = 1
"""Exact searches for violated clusters."""

TAIL, LEAST_GAIN = 5, 0.05
"""Rounds at the root that must have closed such a part of the gap, or branching begins."""

Answer = dict[str, Any]


class Acyclicity(Conshdlr):
    """The chosen candidates' arcs form no directed cycle.

    A selection stays acyclic when candidates leave it, so the handler locks candidates upwards
    only; SCIP's other reductions are then safe.
    """

    def __init__(self, master: "Master", clusters: Counted, seed: int) -> None:
        self.master = master
        self.pool = ClusterPool(clusters)
        self.rng = np.random.default_rng(seed)
        self.programs = 0
        self.begun = False
        self.losses: list[float] = []

    def conslock(self, constraint: Any, locktype: int, nlockspos: int, nlocksneg: int) -> None:
        """Tell SCIP that raising a candidate may break acyclicity."""
        for variable in self.master.x:
            self.master.model.addVarLocksType(variable, locktype, nlocksneg, nlockspos)

    def consinitlp(self, constraints: Any) -> Answer:
        """Begin with the clusters that are known."""
        if self.begun:  # SCIP asks again at each node
            return {}
        self.begun = True
        return self.master.guarded(lambda: self._add(self.pool.clusters, forced=True), {})

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
        return self.master.guarded(self._enforce, {"result": RESULT.INFEASIBLE})

    def consenfops(
        self, constraints: Any, nusefulconss: int, solinfeasible: bool, objinfeasible: bool
    ) -> Answer:
        """Accept the pseudo solution when it has no directed cycle."""
        return self.master.guarded(lambda: self._judge(None), {"result": RESULT.INFEASIBLE})

    def conssepalp(self, constraints: Any, nusefulconss: int) -> Answer:
        """Add the most violated cluster inequalities."""
        return self.master.guarded(self._separate, {"result": RESULT.DIDNOTFIND})

    def consprop(
        self, constraints: Any, nusefulconss: int, nmarkedconss: int, proptiming: int
    ) -> Answer:
        """Exclude the candidates that would close a cycle with arcs that are forced."""
        return self.master.guarded(self._propagate, {"result": RESULT.DIDNOTRUN})

    def _propagate(self) -> Answer:
        master, component = self.master, self.master.component
        if master.model.getStage() != STAGE.SOLVING:
            return {"result": RESULT.DIDNOTRUN}
        out = closing_candidates(component.first, component.parents, master.still_allowed())
        if not len(out):
            return {"result": RESULT.DIDNOTFIND}
        return {"result": RESULT.CUTOFF if master.exclude(out) else RESULT.REDUCEDDOM}

    def _judge(self, solution: Any) -> Answer:
        x, _ = self.master.solution(solution)
        support = self.master.support(np.round(x))
        circuits = short_circuits(*support, self.master.component.n_variables, 1)
        return {"result": RESULT.INFEASIBLE if len(circuits) else RESULT.FEASIBLE}

    def _enforce(self) -> Answer:
        x, _ = self.master.relaxed()
        n = self.master.component.n_variables
        circuits = short_circuits(*self.master.support(x), n, MOST_CUTS)
        if not len(circuits):
            return self._judge(None)
        return self._add(Counted.of(circuits), forced=True)

    def _separate(self) -> Answer:
        if self.master.model.getDepth() == 0 and self._tails_off():
            return {"result": RESULT.DIDNOTRUN}
        x, _ = self.master.relaxed()
        support, n = self.master.support(x), self.master.component.n_variables
        found = self._violated(support, n)
        if not len(found) and self._program_is_due(x):
            self.programs += 1
            found = Counted.of(search_clusters(support, n, self.master.pause))
        if not len(found):
            return {"result": RESULT.DIDNOTFIND}
        self.pool.add(found)
        return self._add(found, forced=False)

    def _tails_off(self) -> bool:
        """Tell whether the last rounds at the root did little; SCIP's zero-half cuts end, too."""
        model = self.master.model
        self.losses.append(model.getLPObjVal())
        if len(self.losses) <= TAIL:
            return False
        before, now = self.losses[-1 - TAIL], self.losses[-1]
        if now - before >= LEAST_GAIN * (model.getCutoffbound() - before):
            return False
        model.setParam("separating/zerohalf/maxroundsroot", 0)
        return True

    def _violated(self, support: Support, n: int) -> Counted:
        """Return violated clusters, first those met before."""
        known = self.pool.violated(support, MOST_CUTS)
        plain = quick_clusters(support, n, MOST_CUTS, self.rng)
        found = Counted.join(known, Counted.of(plain), counted_clusters(support, n, MOST_CUTS))
        if len(found) < FEW:
            plain = slow_clusters(support, n, plain, MOST_CUTS, self.rng)
            found = Counted.join(found, Counted.of(plain))
        return found

    def _program_is_due(self, x: NDArray[np.float64]) -> bool:
        """Tell whether the exact search is worth its time: at the root, seldom."""
        fractional = bool((np.abs(x - np.round(x)) > LEAST).any())
        return fractional and self.master.model.getDepth() == 0 and self.programs < MOST_PROGRAMS

    def _add(self, found: Counted, *, forced: bool) -> Answer:
        """Add cluster inequalities to the linear program."""
        component = self.master.component
        starts, items, forms = cluster_rows(
            component.child,
            component.member_first,
            component.members,
            found.clusters,
            found.counts,
            np.arange(component.n_candidates),
        )
        sizes = found.clusters.sum(axis=1)
        cut_off = False
        for k in range(len(found)):
            count = float(found.counts[k])
            least, most = (None, float(sizes[k]) - count) if forms[k] else (count, None)
            cut_off |= self._add_row(items[starts[k] : starts[k + 1]], least, most, forced)
        return {"result": RESULT.CUTOFF if cut_off else RESULT.SEPARATED}

    def _add_row(
        self, rows: NDArray[np.int64], least: float | None, most: float | None, forced: bool
    ) -> bool:
        """Add a bound on the sum of candidates; tell whether it makes the node infeasible."""
        model, columns = self.master.model, self.master.columns
        row = model.createEmptyRowUnspec(
            "cluster", lhs=least, rhs=most, local=False, modifiable=False, removable=True
        )
        model.cacheRowExtensions(row)
        for c in rows:
            model.addVarToRow(row, columns[c], 1.0)
        model.flushRowExtensions(row)
        cut_off = model.addCut(row, forced)
        model.releaseRow(row)
        return bool(cut_off)
