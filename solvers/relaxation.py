"""The linear relaxation of parent-set selection, by row and column generation.

    max  sum_c s_c x_c     sum over the candidates of i of x_c = 1  for every variable i
                           cluster inequalities of the clusters so far (Jaakkola et al. 2010;
                           Bartlett and Cussens 2017, "Integer linear programming for the Bayesian
                           network structure learning problem")

Only some candidates are columns of the linear program. With the multipliers of the clusters, any
other candidate's reduced cost is a sum over clusters, so that a kernel prices all of them at once:
those whose adjusted score exceeds the best one among their variable's columns enter. A variable
whose columns may exclude each other by a cluster has an artificial column besides, which satisfies
every cluster at a price.

The linear program grows and shrinks by rows and columns and is solved again from its basis, by a
thin layer over HiGHS.
Columns are nonnegative, rows hold ones only, and the sense is to maximise.
Everything goes in and out as arrays. (On the larger roots its simplex method is over ten times as
fast as the one behind SCIP's interface for linear programs.)
"""

from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import kernel
from exactlearn._runtime.offsets import offsets
from exactlearn.errors import SolverError

from .clusters import Counted
from .components import Candidates
from .multipliers import Multipliers
from .satisfied_clusters import SatisfiedClusters

Starts = NDArray[np.int64]
"""Where each stretch of a concatenation begins, and where the last one ends."""

PAUSE = 0.05
"""Seconds between two pauses of the simplex method."""

DUAL_SIMPLEX = 1
PRIMAL_SIMPLEX = 4
"""Values of the option ``simplex_strategy``."""


class LinearProgram:
    """Maximise over nonnegative columns under rows of ones with lower and upper sides.

    ``seconds`` is the wall time of the simplex method so far.
    """

    def __init__(self) -> None:
        import highspy  # takes long to import

        self._engine: Any = highspy  # its own annotations are incomplete
        self.seconds = 0.0
        # Made plainly, HiGHS 1.16 greets on standard output as it enables callbacks not used here.
        silent = {"enableCallbacks": highspy.Highs.silent}
        self._highs: Any = type("Silent", (highspy.Highs,), silent)()
        for option, value in (
            ("presolve", "off"),
            ("solver", "simplex"),
            ("parallel", "off"),
            ("threads", 1),
        ):
            self._highs.setOptionValue(option, value)
        self._highs.changeObjectiveSense(self._engine.ObjSense.kMaximize)

    def add_columns(
        self, costs: NDArray[np.float64], starts: Starts, rows: Starts
    ) -> None:
        """Add columns with a one in each of their rows.

        Parameters
        ----------
        costs
            Objective of each column, shape (k,).
        starts, rows
            Rows of the columns, shapes (k + 1,) and (total,).
        """
        k = len(costs)
        self._highs.addCols(
            k, costs, np.zeros(k), np.full(k, np.inf), *_ones(starts, rows)
        )

    def add_rows(
        self,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        starts: Starts,
        columns: Starts,
    ) -> None:
        """Add rows with a one in each of their columns; sides may be infinite."""
        self._highs.addRows(len(lower), lower, upper, *_ones(starts, columns))

    def delete_rows(self, rows: NDArray[np.int64]) -> None:
        """Delete rows, given in increasing order."""
        self._highs.deleteRows(len(rows), rows.astype(np.int32))

    def bound_columns(
        self, columns: NDArray[np.int64], upper: NDArray[np.float64]
    ) -> None:
        """Change the upper bounds of columns."""
        k = len(columns)
        self._highs.changeColsBounds(k, columns.astype(np.int32), np.zeros(k), upper)

    def solve(
        self, *, dual: bool, control: SearchControl = UNLIMITED
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the optimum, the columns' values and the rows' duals; ``None`` when it is over.

        Parameters
        ----------
        dual
            Whether to begin with the dual simplex method (after rows were added) or the primal one.
        control
            Ends the simplex method.
        """
        begun = monotonic()
        highs = self._highs
        status = self._engine.HighsModelStatus
        highs.setOptionValue(
            "simplex_strategy", DUAL_SIMPLEX if dual else PRIMAL_SIMPLEX
        )
        if self._ended_early(control):
            return None
        if highs.getModelStatus() != status.kOptimal:
            highs.clearSolver()  # the basis may be what it stumbles over
            if self._ended_early(control):
                return None
        self.seconds += monotonic() - begun
        outcome = highs.getModelStatus()
        if outcome != status.kOptimal:
            message = highs.modelStatusToString(outcome)
            raise SolverError(
                f"the linear relaxation was not solved; its solver says {message!r}"
            )
        solution = highs.getSolution()
        values = np.array(solution.col_value)
        duals = np.array(solution.row_dual)
        return float(highs.getObjectiveValue()), values, duals

    def _ended_early(self, control: SearchControl) -> bool:
        """Solve; return whether the control ended that. What a listener raises is raised then.

        The solver calls back at each iteration; an exception must not leave that call.
        """
        failures: list[BaseException] = []
        looked = monotonic()
        is_over = False

        def look(kind: Any, message: str, state: Any, answer: Any, data: Any) -> None:
            nonlocal looked, is_over
            if not is_over and monotonic() - looked >= PAUSE:
                looked = monotonic()
                try:
                    is_over = not control.goes_on()
                except BaseException as failure:
                    failures.append(failure)
                    is_over = True
            answer.user_interrupt = is_over

        highs = self._highs
        highs.setCallback(look, None)
        highs.startCallback(self._engine.cb.HighsCallbackType.kCallbackSimplexInterrupt)
        if highs.run() == self._engine.HighsStatus.kError:
            # HiGHS has one pool of threads, which another user of it in this process has made
            highs.setOptionValue("threads", 0)
            highs.run()
        if failures:
            raise failures[0]
        return is_over


def _ones(
    starts: Starts, items: NDArray[np.int64]
) -> tuple[int, NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return a matrix of ones as HiGHS takes it: its size, starts, indices and values."""
    return (
        len(items),
        starts[:-1].astype(np.int32),
        items.astype(np.int32),
        np.ones(len(items)),
    )


BEGINNING = 4
"""Candidates of each variable that are columns from the beginning."""

MOST_PRICED = 6
"""Columns that enter for one variable between two linear programs."""

TOLERANCE = 1e-7
"""Price at which a candidate enters, and value of artificial columns that counts as none."""


@dataclass(frozen=True, eq=False)
class Relaxed:
    """An optimal solution of the relaxation.

    Parameters
    ----------
    objective
        The optimum, up to the tolerance of the solver.
    bound
        No selection of allowed candidates scores more: the bound of the multipliers.
    reach
        The same of selections with each candidate, shape (m,).
    x
        Value of each candidate, shape (m,).
    multipliers
        The clusters with their dual values, none negative.
    variable_duals
        Dual value of each variable's equation, shape (n,).
    feasible
        False when the allowed candidates and the clusters contradict each other.
    """

    objective: float
    bound: float
    reach: NDArray[np.float64]
    x: NDArray[np.float64]
    multipliers: Multipliers
    variable_duals: NDArray[np.float64]
    feasible: bool


class Relaxation:
    """A relaxation to which clusters are added, and from which candidates are barred.

    Parameters
    ----------
    problem
        A component, or a problem whose candidates are all allowed.
    start
        Candidates that are columns from the beginning besides the best ones, such as those of the
        incumbent.
    clusters
        Clusters to begin with.
    """

    def __init__(
        self,
        problem: Candidates,
        *,
        start: NDArray[np.int64] | None = None,
        clusters: Counted | None = None,
    ) -> None:
        self.problem = problem
        n = self.problem.n_variables
        m = len(self.problem.scores)
        self.pool = Counted.none(n)
        self._satisfied = SatisfiedClusters.of(
            self.problem, self.pool.clusters, self.pool.counts
        )
        self.allowed = np.ones(m, np.bool_)
        self._forms = np.zeros(0, np.bool_)
        self._candidates = np.zeros(0, np.int64)
        self._is_column = np.zeros(m, np.bool_)
        self._grown = False
        self._lp = LinearProgram()
        self._lp.add_rows(
            np.ones(n), np.ones(n), np.zeros(n + 1, np.int64), np.zeros(0, np.int64)
        )
        self._add_artificial()
        # columns to begin with: the best, those without parents, the given ones
        best = best_candidates(self.problem.first, self.problem.scores, BEGINNING)
        parentless = np.flatnonzero(np.diff(self.problem.member_first) == 0)
        given = start if start is not None else parentless
        self._enter(np.unique(np.concatenate([best, parentless, given])))
        if clusters is not None:
            self.add(clusters)

    @property
    def size_in_words(self) -> str:
        """Rows and columns of the linear program, and the time it took so far."""
        n = self.problem.n_variables
        return (
            f"{n + len(self.pool)} rows, {n + len(self._candidates)} columns,"
            f" simplex {self._lp.seconds:.2f} s"
        )

    def add(self, cuts: Counted) -> None:
        """Add the rows of clusters; artificial columns satisfy all clusters of their variable."""
        new = SatisfiedClusters.of(self.problem, cuts.clusters, cuts.counts)
        # the rows' entries: artificial columns of members, and candidates
        inside = cuts.clusters[:, self.problem.child[self._candidates]]
        uses, forms = cluster_rows(inside, new.columns_of(self._candidates))
        entries = np.hstack([cuts.clusters & ~forms[:, None], uses])
        # the sides of both forms of a row
        lower = np.where(forms, -np.inf, cuts.counts)
        upper = np.where(forms, cuts.clusters.sum(axis=1) - cuts.counts, np.inf)
        self._lp.add_rows(lower, upper, *_listed(entries))
        self._satisfied = self._satisfied.append(new, len(self.pool))
        self.pool = self.pool.append(cuts)
        self._forms = np.concatenate([self._forms, forms])

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop the rows of all clusters but those where ``kept``, shape (clusters,), is true."""
        if not kept.all():
            self._lp.delete_rows(self.problem.n_variables + np.flatnonzero(~kept))
            self.pool = self.pool.take(kept)
            self._forms = self._forms[kept]
            self._satisfied = self._satisfied.keep(kept)

    def allow(self, allowed: NDArray[np.bool_]) -> None:
        """Bar all candidates but those where ``allowed``, shape (m,), is true."""
        changed = (allowed != self.allowed)[self._candidates]
        self.allowed = allowed.copy()
        upper = np.where(allowed[self._candidates[changed]], np.inf, 0.0)
        self._lp.bound_columns(
            self.problem.n_variables + np.flatnonzero(changed), upper
        )

    def solve(self, control: SearchControl = UNLIMITED) -> Relaxed | None:
        """Solve the linear program, with further columns until no allowed candidate improves it.

        Return ``None`` when the control ends that.
        """
        f = self.problem
        while (relaxed := self._solve_columns(control)) is not None:
            # price all candidates: adjusted score against the variable's dual value
            rewards = self._satisfied.rewards(relaxed.multipliers.values)
            adjusted = np.where(self.allowed, f.scores + rewards, -np.inf)
            price = relaxed.variable_duals[f.child] + TOLERANCE
            worth = np.where(self._is_column | (adjusted <= price), -np.inf, adjusted)
            # the best of each variable that improve enter
            entering = best_candidates(f.first, worth, MOST_PRICED)
            entering = entering[worth[entering] > -np.inf]
            if not len(entering):
                reach = relaxed.multipliers.reach_of(f, adjusted)
                return replace(relaxed, bound=float(reach.max()), reach=reach)
            self._enter(entering)
        return None

    def _solve_columns(self, control: SearchControl) -> Relaxed | None:
        n = self.problem.n_variables
        solved = self._lp.solve(dual=not self._grown, control=control)
        if solved is None:
            return None
        objective, values, duals = solved
        self._grown = False
        x = np.zeros(len(self.allowed))
        x[self._candidates] = np.maximum(values[n:], 0.0)
        pool = self.pool
        forms = self._forms
        # multipliers are the rows' dual values, with the sign of their form
        cluster_duals = np.maximum(np.where(forms, duals[n:], -duals[n:]), 0.0)
        multipliers = Multipliers(pool.clusters, cluster_duals, pool.counts)
        # a row of the form True is the other one less the variables' equations
        shift = pool.clusters[forms].T.astype(np.float64) @ cluster_duals[forms]
        feasible = bool(values[:n].max(initial=0.0) <= TOLERANCE)
        return Relaxed(
            objective, np.inf, x, x, multipliers, duals[:n] + shift, feasible
        )

    def _add_artificial(self) -> None:
        f = self.problem
        n = self.problem.n_variables
        lowest = np.minimum.reduceat(f.scores, f.first[:-1])
        spread = float((np.maximum.reduceat(f.scores, f.first[:-1]) - lowest).sum())
        self._lp.add_columns(
            lowest - 10.0 * (1.0 + spread), np.arange(n + 1), np.arange(n)
        )

    def _enter(self, candidates: NDArray[np.int64]) -> None:
        """Make candidates columns."""
        f = self.problem
        inside = self.pool.clusters[:, f.child[candidates]]
        few = self._satisfied.columns_of(candidates)
        uses, _ = cluster_rows(inside, few, self._forms)
        is_child = f.child[candidates][:, None] == np.arange(f.n_variables)
        self._lp.add_columns(
            f.scores[candidates], *_listed(np.hstack([is_child, uses.T]))
        )
        self._candidates = np.concatenate([self._candidates, candidates])
        self._is_column[candidates] = True
        self._grown = True


def _listed(entries: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each row of a matrix begins, and the columns of its entries."""
    rows, columns = np.nonzero(entries)
    return offsets(np.bincount(rows, minlength=len(entries))), columns


def cluster_rows(
    inside: NDArray[np.bool_],
    few: NDArray[np.bool_],
    forms: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the candidates in the rows of clusters, and the rows' forms; the shorter by default.

    The form True holds those with k parents or more inside, at most ``|C| - k`` of them; the form
    False those with fewer, at least k. The count k is mostly 1.

    Parameters
    ----------
    inside, few
        Which candidates are of members, and which of these have fewer than k parents inside,
        shapes (clusters, candidates).
    forms
        The form of each row, shape (clusters,).

    Returns
    -------
    uses, forms
        Shapes (clusters, candidates) and (clusters,).
    """
    if forms is None:
        forms = inside.sum(axis=1) < 2 * few.sum(axis=1)
    return np.where(forms[:, None], inside & ~few, few), forms


@kernel
def best_candidates(
    first: NDArray[np.int64], values: NDArray[np.float64], limit: int
) -> NDArray[np.int64]:
    """Return the candidates of highest value of each variable, at most ``limit`` of each."""
    n = len(first) - 1
    best = np.empty(n * limit, np.int64)
    count = 0
    for i in range(n):
        begin = count
        for c in range(first[i], first[i + 1]):
            # insertion into the sorted list of the variable
            at = count
            while at > begin and values[best[at - 1]] < values[c]:
                if at - begin < limit:
                    best[at] = best[at - 1]
                at -= 1
            if at - begin < limit:
                best[at] = c
                count = min(count + 1, begin + limit)
    return best[:count]
