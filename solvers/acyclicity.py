"""Acyclicity as a SCIP constraint handler: violated cluster inequalities.

Clusters met before are kept in a pool and looked at first.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from pyscipopt import Conshdlr
from pyscipopt.scip import PY_SCIP_RESULT as RESULT

from .candidate_table import Row
from .clusters import Counted
from .relaxation import cluster_rows
from .satisfied_clusters import satisfied
from .separation import quick_clusters, separate, short_circuits, tails_off

if TYPE_CHECKING:
    from .branch_and_cut import Master

Reply = dict[str, int]
"""The result of a callback as SCIP takes it."""

MOST_CUTS = 200
"""Cluster inequalities that each search adds in one round of separation."""

TAIL = 5
LEAST_GAIN = 0.05
"""Rounds at the root that must have closed such a part of the gap, or branching begins."""


class Acyclicity(Conshdlr):
    """The chosen candidates' arcs form no directed cycle.

    A selection stays acyclic when candidates leave it, so the handler locks candidates upwards
    only; SCIP's other reductions are then safe.
    """

    def __init__(self, master: "Master", clusters: Counted, seed: int) -> None:
        self.master = master
        self.pool = clusters
        self.rng = np.random.default_rng(seed)
        self.begun = False
        self.gains: list[float] = []

    def conslock(
        self, constraint: Any, locktype: int, nlockspos: int, nlocksneg: int
    ) -> None:
        """Declare to SCIP that raising a candidate may break acyclicity, or more than that."""
        down = nlocksneg if self.master.demands is None else nlocksneg + nlockspos
        for variable in self.master.x:
            self.master.model.addVarLocksType(variable, locktype, down, nlockspos)

    def consinitlp(self, constraints: Any) -> Reply:
        """Begin with the clusters that are known."""
        if self.begun:  # SCIP calls again at each node
            return {}
        self.begun = True
        return self.master.guarded(
            lambda: self._add(self.pool, forced=True), RESULT.DIDNOTRUN
        )

    def conscheck(
        self,
        constraints: Any,
        solution: Any,
        checkintegrality: bool,
        checklprows: bool,
        printreason: bool,
        completely: bool,
    ) -> Reply:
        """Accept a selection without a directed cycle."""
        return self.master.guarded(lambda: self._judge(solution), RESULT.INFEASIBLE)

    def consenfolp(
        self, constraints: Any, nusefulconss: int, solinfeasible: bool
    ) -> Reply:
        """Cut off the linear program's selection when it has a directed cycle."""
        return self.master.guarded(self._enforce, RESULT.INFEASIBLE)

    def consenfops(
        self,
        constraints: Any,
        nusefulconss: int,
        solinfeasible: bool,
        objinfeasible: bool,
    ) -> Reply:
        """Accept the pseudo solution when it has no directed cycle."""
        return self.master.guarded(lambda: self._judge(None), RESULT.INFEASIBLE)

    def conssepalp(self, constraints: Any, nusefulconss: int) -> Reply:
        """Add the most violated cluster inequalities."""
        return self.master.guarded(self._separate, RESULT.DIDNOTFIND)

    def _judge(self, solution: Any) -> int:
        x = self.master.solution(solution)
        # a circuit of whole arcs has length 0, so that any is found
        support = self.master.support(np.round(x))
        circuits = short_circuits(support, self.master.component.n_variables, 1)
        is_out = (
            len(circuits) > 0 or self.master.cut(self.master.selection(x)) is not None
        )
        return RESULT.INFEASIBLE if is_out else RESULT.FEASIBLE

    def _enforce(self) -> int:
        x = self.master.relaxed()
        n = self.master.component.n_variables
        # clusters first: SCIP enforces solutions that are whole
        circuits = short_circuits(self.master.support(x), n, MOST_CUTS)
        if len(circuits):
            return self._add(Counted.of(circuits), forced=True)
        # an acyclic selection may break constraints on the whole network
        row = self.master.cut(self.master.selection(x))
        if row is None:
            return RESULT.FEASIBLE
        cut_off = self._add_row(row, self.master.model.infinity(), forced=True)
        return RESULT.CUTOFF if cut_off else RESULT.SEPARATED

    def _separate(self) -> int:
        if self.master.model.getDepth() == 0 and self._tails_off():
            return RESULT.DIDNOTRUN
        x = self.master.relaxed()
        support = self.master.support(x)
        n = self.master.component.n_variables
        # clusters of the pool, then the searches from quick to thorough
        quick = quick_clusters(support, n, MOST_CUTS, self.rng)
        demands = self.master.demands
        violated = Counted.join(self.pool.violated(support, MOST_CUTS), quick)
        violated = separate(support, n, MOST_CUTS, self.rng, violated, quick)
        # inequalities of constraints on the whole network
        rows = [] if demands is None else demands.violated(x, support.arcs(n))
        endless = self.master.model.infinity()
        cut_off = [self._add_row(row, endless, forced=False) for row in rows]
        if any(cut_off):
            return RESULT.CUTOFF
        if not len(violated):
            return RESULT.SEPARATED if rows else RESULT.DIDNOTFIND
        self.pool = Counted.join(self.pool, violated)
        return self._add(violated, forced=False)

    def _tails_off(self) -> bool:
        """Return whether the last rounds at the root did little; SCIP's zero-half cuts end, too."""
        model = self.master.model
        self.gains.append(-model.getLPObjVal())
        target = -model.getCutoffbound()
        if not tails_off(self.gains, target, TAIL, LEAST_GAIN):
            return False
        model.setParam("separating/zerohalf/maxroundsroot", 0)
        return True

    def _add(self, cuts: Counted, *, forced: bool) -> int:
        """Add cluster inequalities to the linear program."""
        component = self.master.component
        few = satisfied(component, cuts.clusters, cuts.counts)
        # the shorter one of two equivalent rows of each cluster
        uses, forms = cluster_rows(cuts.clusters[:, component.child], few)
        endless = self.master.model.infinity()
        sizes = cuts.clusters.sum(axis=1)
        lower_sides = np.where(forms, -endless, cuts.counts)
        upper_sides = np.where(forms, sizes - cuts.counts, endless)
        cut_off = False
        for k, (lower, upper) in enumerate(
            zip(lower_sides.tolist(), upper_sides.tolist(), strict=True)
        ):
            inside = np.flatnonzero(uses[k])
            row = Row(inside, np.ones(len(inside)), lower)
            cut_off |= self._add_row(row, upper, forced=forced)
        return RESULT.CUTOFF if cut_off else RESULT.SEPARATED

    def _add_row(self, inequality: Row, upper: float, *, forced: bool) -> bool:
        """Add a row to the linear program; return whether it cuts the node off."""
        model = self.master.model
        columns = self.master.columns
        row = model.createEmptyRowUnspec(
            "cut",
            lhs=inequality.lower,
            rhs=upper,
            local=False,
            modifiable=False,
            removable=True,
        )
        model.cacheRowExtensions(row)
        # coefficients are cached until the row is complete
        terms = zip(
            inequality.candidates.tolist(), inequality.weights.tolist(), strict=True
        )
        for c, weight in terms:
            model.addVarToRow(row, columns[c], weight)
        model.flushRowExtensions(row)
        cut_off = bool(model.addCut(row, forced))
        model.releaseRow(row)
        return cut_off
