"""Exact parent-set selection by branch and cut on SCIP.

One 0/1 variable for each candidate, one row for each variable (exactly one candidate is chosen),
cluster inequalities added when the linear program breaks them (Bartlett and Cussens 2017).

SCIP minimises the score lost against each variable's best candidate, so the linear program's
numbers stay small whatever the scores' offset.
"""

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pyscipopt import Heur, Model, Variable, quicksum
from pyscipopt.scip import PY_SCIP_HEURTIMING as TIMING
from pyscipopt.scip import PY_SCIP_PARAMSETTING as SETTING
from pyscipopt.scip import PY_SCIP_RESULT as RESULT
from pyscipopt.scip import PY_SCIP_STAGE as STAGE

from exactlearn._runtime.offsets import owners
from exactlearn.errors import SolverError, as_written

from .acyclicity import Acyclicity, Reply
from .clusters import Counted, Support
from .component_solver import ComponentControl, Outcome, Selection
from .components import Component
from .iterated_local_search import OrderSearch

if TYPE_CHECKING:
    from .candidate_table import Row
    from .constrained import Demands

PROOFS = ("optimal", "gaplimit", "infeasible")
"""SCIP's ways to say that nothing is better than the incumbent by more than the absolute gap."""

LIMITS = ("timelimit", "userinterrupt", "terminate")
"""SCIP's ways to stop before a proof."""

ROUNDING_BUDGET = 200
"""Candidates looked at after each rounding, for each candidate of the problem."""

MANY_CANDIDATES = 2000
"""Candidates above which steepest edge pricing pays: a third of the iterations, slower ones."""

PRECISION = 1e-9
FEASIBILITY = 1e-6
"""SCIP's tolerances, by which its bounds are off: of sums, relative to them, and of rows."""

LARGE_LOSS = 1e3
"""Loss above which a finer feasibility tolerance is needed."""

SETTINGS: dict[str, Any] = {
    "misc/catchctrlc": False,  # SCIP's own handler prints on standard output
    "misc/usesymmetry": 0,
    "presolving/maxrestarts": 0,
    "estimation/restarts/restartpolicy": "n",
    "timing/clocktype": 2,
    "separating/maxstallroundsroot": -1,
    "separating/maxroundsroot": -1,
    "separating/gomory/freq": -1,
    "separating/aggregation/freq": -1,
    "constraints/knapsack/sepafreq": -1,
    "branching/relpscost/initcand": 15,  # strong branching took most of the time by default
    "branching/relpscost/inititer": 20,
    "branching/relpscost/maxlookahead": 4,
    "branching/relpscost/sbiterofs": 5000,
    "branching/relpscost/sbiterquot": 0.3,
    "limits/gap": 0.0,
    "limits/absgap": 0.0,
    "separating/zerohalf/maxroundsroot": -1,
    "separating/zerohalf/maxsepacutsroot": 500,
    "separating/zerohalf/densityoffset": 10**6,  # cluster inequalities are long
    "separating/zerohalf/badscore": 0.0,
    "separating/zerohalf/goodscore": 0.5,
    "conflict/enable": False,
    "presolving/donotaggr": True,  # each candidate keeps a variable of its own, to branch on
    "presolving/donotmultaggr": True,
}
"""Settings of SCIP.

Zero-half cuts from cluster inequalities close much of the gap at the root, but SCIP leaves rows out
that are as long as theirs.
"""


class Master:
    """The integer program of one component, with what its callbacks share."""

    def __init__(
        self,
        component: Component,
        incumbent: Selection | None,
        control: ComponentControl,
        demands: "Demands | None" = None,
    ) -> None:
        self.component = component
        self.control = control
        options = control.options
        self.demands = demands
        seed = options.seed
        self.failure: BaseException | None = None
        self.cutoff = self.bound = np.inf
        self.model = new_model(component, component.losses, seed)
        self.model.setParam("limits/absgap", options.absolute_gap)
        # the integer program without cycles excluded
        self.x = add_variables(self.model, component, component.losses)
        add_pair_rows(self.model, component, self.x)
        # constraints on the whole network
        for row in [] if demands is None else demands.rows:
            terms = zip(row.candidates.tolist(), row.weights.tolist(), strict=True)
            self.model.addCons(
                quicksum(weight * self.x[c] for c, weight in terms) >= row.lower
            )
        multipliers = options.multipliers
        clusters = (
            Counted.none(component.n_variables)
            if multipliers is None
            else multipliers.counted
        )
        # acyclicity: cluster inequalities as they are violated
        self.acyclicity = Acyclicity(self, clusters, seed)
        self.model.includeConshdlr(
            self.acyclicity, "acyclicity", "no directed cycle is chosen", sepapriority=1000,
            enfopriority=-1000, chckpriority=-1000, sepafreq=1, propfreq=-1, eagerfreq=-1,
            maxprerounds=0, needscons=False,
        )  # fmt: skip
        self.model.includeHeur(
            Rounding(self, np.random.default_rng(seed)), "acyclicrounding", "rounds to a DAG", "D",
            priority=10**6, freq=1, timingmask=TIMING.DURINGLPLOOP | TIMING.AFTERLPNODE,
        )  # fmt: skip
        # the incumbent, and the score that selections must exceed
        if incumbent is not None:
            self._begin_with(incumbent, options.absolute_gap)
        self._raise_floor()

    def _begin_with(self, incumbent: Selection, absolute_gap: float) -> None:
        """Look only for selections that beat the incumbent by more than the absolute gap."""
        if absolute_gap > 0.0:
            self.cutoff = self.component.relaxation - self.control.score - absolute_gap
            self.model.setObjlimit(self.cutoff)
        else:
            self._add_solution(incumbent)

    def _add_solution(self, selection: Selection) -> bool:
        solution = self.model.createSol()
        for c in selection:
            self.model.setSolVal(solution, self.x[c], 1.0)
        return bool(self.model.addSol(solution))

    def cut(self, selection: Selection) -> "Row | None":
        """Return an inequality that excludes an acyclic selection, if more is demanded of it."""
        if self.demands is None:
            return None
        row = self.demands.cut(selection)
        self._raise_floor()
        return row

    def _raise_floor(self) -> None:
        """Look only for selections above what is demanded."""
        floor = -np.inf if self.demands is None else self.demands.floor
        if self.component.relaxation - floor < self.cutoff:
            self.cutoff = self.component.relaxation - floor
            self.model.setObjlimit(self.cutoff)

    def guarded(self, callback: Callable[[], int], otherwise: int) -> Reply:
        """Run a callback's body; keep what it raises for after SCIP has stopped."""
        if self.failure is None:
            try:
                self.listen()
                if self.control.goes_on():
                    return {"result": callback()}
            except BaseException as failure:
                self.failure = failure
        if (
            self.model.getStage() != STAGE.INITSOLVE
        ):  # where it may not; callbacks follow
            self.model.interruptSolve()
        return {"result": otherwise}

    def listen(self) -> None:
        """Take over SCIP's bound and, if it found one by itself, its better selection."""
        self._take_bound()
        ours = self.component.relaxation - self.control.score
        if self.model.getNSols() and self.model.getPrimalbound() < ours - PRECISION:
            self._take_best()

    def _bound(self, loss: float) -> float:
        """Turn a lower bound on the loss into an upper bound on the score, rounded up.

        SCIP's linear programs are solved up to its tolerances, so their bounds are not exact.
        """
        return self.component.relaxation - max(
            0.0, loss * (1.0 - PRECISION) - FEASIBILITY
        )

    def relaxed(self) -> NDArray[np.float64]:
        """Return the values of the candidates in the current LP."""
        return np.fromiter(
            map(Variable.getLPSol, self.columns), np.float64, len(self.x)
        )

    @cached_property
    def columns(self) -> list[Variable]:
        """SCIP's own variables of the candidates, of which reading is quick."""
        return [self.model.getTransformedVar(v) for v in self.x]

    def solution(self, solution: Any) -> NDArray[np.float64]:
        """Return the values of the candidates in a solution of SCIP."""
        read = self.model.getSolVal
        return np.array([read(solution, variable) for variable in self.x])

    def support(self, x: NDArray[np.float64]) -> Support:
        """Return the positive candidates."""
        return Support.of(self.component, x)

    def offer(self, selection: Selection) -> bool:
        """Offer a selection to the listener and to SCIP; return whether it is better."""
        if self.cut(selection) is not None:
            repaired = (
                self.demands.repaired(selection) if self.demands is not None else None
            )
            if repaired is None:
                return False
            selection = repaired
        return self.control.improve(selection) and self._add_solution(selection)

    def optimise(self) -> Outcome:
        """Solve; incumbents and bounds go to the control on the way."""
        if self.control.left < 1e20:
            self.model.setParam("limits/time", self.control.left)
        self.model.optimize()
        # what the last callback did not see
        if self.model.getNSols():
            self._take_best()
        self._take_bound()
        if self.failure is not None:
            raise self.failure
        control = self.control
        nodes = self.model.getNTotalNodes()
        # SCIP's status as an outcome
        status = self.model.getStatus()
        if status == "infeasible" and control.incumbent is None:
            return control.infeasible(nodes)
        if status in (*PROOFS, *LIMITS):
            bound = np.inf
            if status in PROOFS:
                bound = (
                    control.score + (status != "optimal") * control.options.absolute_gap
                )
            return control.outcome(proven=status in PROOFS, bound=bound, nodes=nodes)
        raise SolverError(
            f"SCIP stopped with the status {status!r} on a component of "
            f"{self.component.n_variables} variables and {self.component.n_candidates} "
            f"candidates; expected an optimum or a limit: use {as_written('solver', 'dynamic')} if "
            "it is small"
        )

    def _take_bound(self) -> None:
        model = self.model
        is_solving = self.model.getStage() == STAGE.SOLVING
        self.bound = bound = self._bound(min(model.getDualbound(), self.cutoff))
        left = model.getNNodesLeft() if is_solving else 0
        self.control.prove(bound, model.getNTotalNodes(), left)

    def _take_best(self) -> None:
        """Read SCIP's best solution; its score is recomputed from the candidates."""
        self.control.improve(self.selection(self.solution(self.model.getBestSol())))

    def selection(self, x: NDArray[np.float64]) -> Selection:
        """Return the candidate of the highest value of each variable."""
        first = self.component.first
        return np.array(
            [a + int(np.argmax(x[a:b])) for a, b in pairwise(first)], np.int64
        )


def solve_component(
    component: Component, incumbent: Selection | None, control: ComponentControl
) -> Outcome:
    """Solve a component; cluster inequalities among the multipliers are there from the beginning.

    Raises
    ------
    SolverError
        When SCIP stops for another reason than an optimum or a limit.
    """
    return Master(component, incumbent, control).optimise()


class Rounding(Heur):
    """Order the variables by the solution, choose the best candidates along it, and climb."""

    def __init__(self, master: "Master", rng: np.random.Generator) -> None:
        self.master = master
        self.search = OrderSearch(master.component, rng)
        self.seen = np.zeros(0)

    def heurexec(self, heurtiming: int, nodeinfeasible: bool) -> Reply:
        """Offer SCIP the rounded selection when it beats the incumbent."""
        return self.master.guarded(self._round, RESULT.DIDNOTRUN)

    def _round(self) -> int:
        master = self.master
        # the same solution is rounded once
        x = master.relaxed()
        if np.array_equal(x, self.seen):
            return RESULT.DIDNOTRUN
        self.seen = x
        order = self.search.greedy_order(x)
        selection = self.search.improve(order, ROUNDING_BUDGET * len(x), 0)
        if selection is not None and master.offer(selection):
            return RESULT.FOUNDSOL
        return RESULT.DIDNOTFIND


def new_model(component: Component, losses: NDArray[np.float64], seed: int) -> Model:
    """Return a model with SCIP's settings, still without variables."""
    model = Model("parent sets")
    model.hideOutput()
    model.setHeuristics(SETTING.OFF)
    model.setParams(SETTINGS | {"randomization/randomseedshift": seed % 2**31})
    if component.n_candidates > MANY_CANDIDATES:
        model.setParam("lp/pricing", "s")
    if losses.max(initial=0.0) > LARGE_LOSS:
        model.setParam("numerics/feastol", 1e-9)
    return model


def add_variables(
    model: Model, component: Component, losses: NDArray[np.float64]
) -> list[Variable]:
    """Add a variable for each candidate; one is 1 among those of each variable."""
    x = [model.addVar(vtype="B", obj=float(loss)) for loss in losses]
    for start, stop in pairwise(component.first.tolist()):
        model.addCons(quicksum(x[start:stop]) == 1)
    return x


def add_pair_rows(model: Model, component: Component, x: list[Variable]) -> None:
    """At most one of two variables is a parent of the other."""
    owner = owners(component.member_first)
    child = component.child[owner]
    parent = component.members
    key = np.minimum(child, parent) * component.n_variables + np.maximum(child, parent)
    order = np.argsort(key, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        if len(np.unique(child[rows])) == 2:
            model.addCons(quicksum(x[c] for c in owner[rows]) <= 1)
