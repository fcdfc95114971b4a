"""The task of an augmentation, and its table with equal rows merged."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.incumbent import Incumbent, Solution, total_score
from exactlearn.augmentation.parameters import BranchingParameters, ClimbingParameters
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.errors import InfeasibleError
from exactlearn.scoring.candidate_identification import Budget
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.properties import Domain
from exactlearn.scoring.scores import Score
from exactlearn.scoring.terms import TermTables
from exactlearn.solvers import Problem, Result, solve
from exactlearn.solvers.parameters import DEFAULTS, SolverParameters


@dataclass(frozen=True, eq=False)
class Task:
    """The table, the score, the rules and the solver inside.

    Parameters
    ----------
    dataset
        The incomplete table.
    score
        The score to maximise.
    rules
        The parent sets to consider.
    solver, seed
        The solver of every network problem inside, and the seed of all that is random.
    start
        A completion that the first climb begins with, or ``None``.
    t, starts
        Radius and number of starts of the hill-climber.
    climbing, branching, solving
        Tuning constants; the last ones are those of the solver inside.
    """

    dataset: Dataset
    score: Score
    rules: FamilyRules
    solver: str = "auto"
    seed: int = 0
    start: NDArray[np.int64] | None = None
    t: int = 1
    starts: int = 10
    climbing: ClimbingParameters = field(default_factory=ClimbingParameters)
    branching: BranchingParameters = field(default_factory=BranchingParameters)
    solving: SolverParameters = DEFAULTS

    @cached_property
    def domain(self) -> Domain:
        """What the score's functions are evaluated for."""
        return Domain.of(self.dataset.cardinalities, self.dataset.row_weights)

    @cached_property
    def tables(self) -> TermTables:
        """The score's functions, tabulated for the table's completions."""
        return TermTables(self.score, self.dataset.cardinalities, self.dataset.row_weights)

    def on(self, dataset: Dataset, start: NDArray[np.int64] | None) -> "Task":
        """Return the same task on another table."""
        return replace(self, dataset=dataset, start=start)

    def families(
        self,
        values: NDArray[np.int64],
        *,
        budget: Budget | None = None,
        control: SearchControl = UNLIMITED,
    ) -> Problem:
        """Return the candidate parent sets of the table completed with some values.

        With a budget, those that a search so long identifies; where the control's search is over,
        those found so far.
        """
        return candidate_parent_sets(
            self.dataset.complete(values),
            self.score,
            max_parents=self.rules.max_parents,
            required=self.rules.required,
            forbidden=self.rules.forbidden,
            budget=budget,
            on_progress=lambda done, of: control.look(),
            control=control,
        )

    def sparsest(self, values: NDArray[np.int64]) -> Solution:
        """Return a completion with the network of the required arcs alone.

        Raises
        ------
        InfeasibleError
            When they close a cycle.
        """
        n, required = self.dataset.n_variables, self.rules.required
        parents = tuple(tuple(sorted(p for p, c in required if c == v)) for v in range(n))
        alone = Problem.from_candidates(self.dataset.names, [{own: 0.0} for own in parents])
        replace(alone, required=required).require_feasible()
        return self.solution(parents, values)

    def solution(self, parents: tuple[tuple[int, ...], ...], values: NDArray[np.int64]) -> Solution:
        """Score a DAG with a completion."""
        return Solution(
            parents, values, total_score(self.dataset.complete(values), parents, self.score)
        )

    def solve(
        self, problem: Problem, incumbent: Incumbent, start: Solution | None = None
    ) -> Result:
        """Solve a problem inside within the time that is left, which may be too little for any DAG.

        Raises
        ------
        InfeasibleError
            When the constraints exclude every network.
        """
        result = solve(
            problem,
            solver=self.solver,
            time_limit=incumbent.remaining,
            start=None if start is None else start.parents,
            seed=self.seed,
            on_event=lambda event: incumbent.tick(event.nodes),
            parameters=self.solving,
        )
        incumbent.count_nodes(result.nodes)
        if result.status == "infeasible":
            raise InfeasibleError(result.message or "no network satisfies the constraints")
        return result


@dataclass(frozen=True, eq=False)
class Rows:
    """A table whose equal rows are merged, and where each original row went.

    Parameters
    ----------
    dataset
        The merged table; every row has a weight.
    origin
        For each original row, its row in the merged table.
    """

    dataset: Dataset
    origin: NDArray[np.int64]


def merge_rows(dataset: Dataset, *, incomplete: bool) -> Rows:
    """Merge equal rows; rows with missing cells only if ``incomplete``."""
    codes = dataset.codes
    key = codes.astype(np.int32)
    if not incomplete:
        incomplete_row = (codes == MISSING).any(axis=1)
        tag = np.where(incomplete_row, np.arange(1, len(codes) + 1), 0).astype(np.int32)
        key = np.column_stack([key, tag])
    _, first, origin = np.unique(key, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # keep the order of first appearance
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    origin = rank[origin.reshape(-1)]
    weights = np.bincount(origin, weights=dataset.weights, minlength=len(order))
    merged = replace(dataset, codes=codes[first[order]], weights=weights.astype(np.float64))
    return Rows(merged, origin.astype(np.int64))
