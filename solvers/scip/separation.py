"""Acyclicity as a SCIP constraint handler: violated cluster inequalities, and propagation.

Clusters met before are kept in a pool and looked at first. Propagation excludes candidates that
would close a directed cycle with arcs that every selection left must have: a parent that all
candidates left of a variable share is *forced*; forced arcs make ancestors, and a candidate with a
parent of which its variable is an ancestor is out. That may force further arcs.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pyscipopt import Conshdlr
from pyscipopt.scip import PY_SCIP_RESULT as RESULT
from pyscipopt.scip import PY_SCIP_STAGE as STAGE

from exactlearn._runtime.kernel import kernel

from ..lp.clusters import LEAST, Counted, Support, short_circuits
from ..lp.relaxation import cluster_rows
from ..lp.separation import quick_clusters, search_clusters, separate

if TYPE_CHECKING:
    from .solver import Master

MOST_CUTS = 200
"""Cluster inequalities added in one round of separation."""

MOST_PROGRAMS = 1
"""Exact searches for violated clusters."""

TAIL, LEAST_GAIN = 5, 0.05
"""Rounds at the root that must have closed such a part of the gap, or branching begins."""

Reply = dict[str, Any]


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

    def consinitlp(self, constraints: Any) -> Reply:
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
    ) -> Reply:
        """Accept a selection without a directed cycle."""
        return self.master.guarded(lambda: self._judge(solution), {"result": RESULT.INFEASIBLE})

    def consenfolp(self, constraints: Any, nusefulconss: int, solinfeasible: bool) -> Reply:
        """Cut off the linear program's selection when it has a directed cycle."""
        return self.master.guarded(self._enforce, {"result": RESULT.INFEASIBLE})

    def consenfops(
        self, constraints: Any, nusefulconss: int, solinfeasible: bool, objinfeasible: bool
    ) -> Reply:
        """Accept the pseudo solution when it has no directed cycle."""
        return self.master.guarded(lambda: self._judge(None), {"result": RESULT.INFEASIBLE})

    def conssepalp(self, constraints: Any, nusefulconss: int) -> Reply:
        """Add the most violated cluster inequalities."""
        return self.master.guarded(self._separate, {"result": RESULT.DIDNOTFIND})

    def consprop(
        self, constraints: Any, nusefulconss: int, nmarkedconss: int, proptiming: int
    ) -> Reply:
        """Exclude the candidates that would close a cycle with arcs that are forced."""
        return self.master.guarded(self._propagate, {"result": RESULT.DIDNOTRUN})

    def _propagate(self) -> Reply:
        master, component = self.master, self.master.component
        if master.model.getStage() != STAGE.SOLVING:
            return {"result": RESULT.DIDNOTRUN}
        out = closing_candidates(component.first, component.parents, master.still_allowed())
        if not len(out):
            return {"result": RESULT.DIDNOTFIND}
        return {"result": RESULT.CUTOFF if master.exclude(out) else RESULT.REDUCEDDOM}

    def _judge(self, solution: Any) -> Reply:
        x, _ = self.master.solution(solution)
        support = self.master.support(np.round(x))
        circuits = short_circuits(*support, self.master.component.n_variables, 1)
        return {"result": RESULT.INFEASIBLE if len(circuits) else RESULT.FEASIBLE}

    def _enforce(self) -> Reply:
        x, _ = self.master.relaxed()
        n = self.master.component.n_variables
        circuits = short_circuits(*self.master.support(x), n, MOST_CUTS)
        if not len(circuits):
            return self._judge(None)
        return self._add(Counted.of(circuits), forced=True)

    def _separate(self) -> Reply:
        if self.master.model.getDepth() == 0 and self._tails_off():
            return {"result": RESULT.DIDNOTRUN}
        x, _ = self.master.relaxed()
        support, n = self.master.support(x), self.master.component.n_variables
        found = self._violated(support, n)
        if not len(found) and self._program_is_due(x):
            self.programs += 1
            found = Counted.of(search_clusters(support, n, self.master.control))
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
        quick = Counted.of(quick_clusters(support, n, MOST_CUTS, self.rng))
        return separate(support, n, MOST_CUTS, self.rng, Counted.join(known, quick))

    def _program_is_due(self, x: NDArray[np.float64]) -> bool:
        """Tell whether the exact search is worth its time: at the root, seldom."""
        fractional = bool((np.abs(x - np.round(x)) > LEAST).any())
        return fractional and self.master.model.getDepth() == 0 and self.programs < MOST_PROGRAMS

    def _add(self, found: Counted, *, forced: bool) -> Reply:
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


class ClusterPool:
    """Clusters with counts, each once.

    Parameters
    ----------
    clusters
        Those to begin with.
    """

    def __init__(self, clusters: Counted) -> None:
        self.clusters = clusters.take(np.zeros(0, np.int64))
        self._known: set[tuple[bytes, int]] = set()
        self.add(clusters)

    def __len__(self) -> int:  # noqa: D105
        return len(self.clusters)

    def add(self, found: Counted) -> None:
        """Take in the clusters that are new."""
        keys = list(zip(_rows_as_bytes(found.clusters), found.counts.tolist(), strict=True))
        new = []
        for k, key in enumerate(keys):
            if key not in self._known:
                self._known.add(key)
                new.append(k)
        added, old = found.take(np.array(new, np.int64)), self.clusters
        self.clusters = Counted(
            np.concatenate([old.clusters, added.clusters]),
            np.concatenate([old.counts, added.counts]),
        )

    def violated(self, support: Support, most: int) -> Counted:
        """Return the most violated clusters, at most so many."""
        return self.clusters.violated(support, most)


def _rows_as_bytes(clusters: NDArray[np.bool_]) -> list[bytes]:
    return [row.tobytes() for row in np.packbits(clusters, axis=1)]


@kernel
def closing_candidates(
    first: NDArray[np.int64], parents: NDArray[np.uint64], allowed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the allowed candidates that would close a cycle with forced arcs.

    Parameters
    ----------
    first
        Where each variable's candidates begin, shape (n + 1,).
    parents
        Parents of each candidate as bit sets, shape (m, words).
    allowed
        Which candidates are left, shape (m,).
    """
    n, words = len(first) - 1, parents.shape[1]
    left = allowed.copy()
    out = np.empty(len(left), np.int64)
    n_out = 0
    changed = True
    while changed:
        changed = False
        ancestors = forced_ancestors(first, parents, left)
        for v in range(n):
            word, bit = v >> 6, np.uint64(1) << np.uint64(v & 63)
            descendants = np.zeros(words, np.uint64)
            for u in range(n):
                if ancestors[u, word] & bit:
                    descendants[u >> 6] |= np.uint64(1) << np.uint64(u & 63)
            for c in range(first[v], first[v + 1]):
                if not left[c]:
                    continue
                for w in range(words):
                    if parents[c, w] & descendants[w]:
                        left[c] = False
                        changed = True
                        out[n_out] = c
                        n_out += 1
                        break
    return out[:n_out]


@kernel
def forced_ancestors(
    first: NDArray[np.int64], parents: NDArray[np.uint64], left: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """Return the ancestors of each variable by forced arcs, as bit sets of shape (n, words).

    A variable without candidates has none.
    """
    n, words = len(first) - 1, parents.shape[1]
    ancestors = np.zeros((n, words), np.uint64)
    for v in range(n):
        begun = False
        for c in range(first[v], first[v + 1]):
            if left[c]:
                for w in range(words):
                    ancestors[v, w] = (
                        parents[c, w] if not begun else ancestors[v, w] & parents[c, w]
                    )
                begun = True
    for middle in range(n):  # Warshall's closure
        word, bit = middle >> 6, np.uint64(1) << np.uint64(middle & 63)
        for v in range(n):
            if ancestors[v, word] & bit:
                for w in range(words):
                    ancestors[v, w] |= ancestors[middle, w]
    return ancestors
