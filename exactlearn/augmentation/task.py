"""The task of an augmentation, its tuning constants, and its table with equal rows merged."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.incumbent import Incumbent, Solution, total_score
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


@dataclass(frozen=True, kw_only=True)
class ClimbingParameters:
    """Tuning constants of the t-local climber: none changes what it claims.

    Parameters
    ----------
    fitted_budget, fitted_rounds
        Candidates that the search for each network of a start by hard EM looks at, about; most
        networks that a start is fitted to, though nearly all completions stay earlier.
    budget, budget_each
        Candidates that a search for a good network looks at, about: in all, or, if more, for each
        candidate there is.
    perturbations, perturbations_again
        Restarts of that search, for each variable, from a perturbed copy of its best order: at
        first, and when a network is known that was good a moment ago.
    tables, tables_each
        Tables counted where not all families can be: for all variables together, or, if more, for
        each pair of a variable with another.
    rounds, most_rounds
        Rounds of cutting planes for the first completion, and for one around which there is proof.
    tail, least_gain
        Rounds in which such a share of the gap must be closed: else more cost more than they save.
    slack
        By how much the bound of a group of moves may be higher than that of one: a share of the gap
        of the solution's own DAG.
    batch_size
        Moves that are split into groups at once.
    grace_period
        Seconds for bounds of moves after a search has been stopped.
    family_loss_share, family_loss
        Loss that a search without proof allows a family: a share of the gap of the solution's own
        DAG, which all families of a better network lose together, and so many nats more.
    target_gaps, target_steps
        Bounds that multipliers are tightened to, one after the other: so many gaps of the
        solution's own DAG above the target, and subgradient steps towards each.
    weights, weight_exponent
        Weights of the scores before the moves in the objective cut, falling; of two with the same
        bound the higher one leaves fewer families and states, so a bound that a weight is worth
        counts divided by this power of it.
    shrinking_share
        Share of the families that may be left when sequential pruning drops the others.
    most_tried
        Multipliers, the latest ones, that it tries on moves not seen before.
    tightening_rounds, margin
        Rounds of its subgradient steps, each on the candidates that the one before leaves; and how
        much lower than necessary bounds are made, so that they exclude other moves, too.
    """

    fitted_budget: int = 10**6
    fitted_rounds: int = 20
    budget: int = 10**7
    budget_each: int = 1_000
    perturbations: int = 20
    perturbations_again: int = 4
    tables: int = 1_000_000
    tables_each: int = 2
    rounds: int = 100
    most_rounds: int = 400
    tail: int = 40
    least_gain: float = 0.03
    slack: float = 0.35
    batch_size: int = 2048
    grace_period: float = 0.5
    family_loss_share: float = 0.75
    family_loss: float = 3.0
    target_gaps: tuple[float, ...] = (1.3, 0.8, 0.4, 0.0)
    target_steps: int = 100
    weights: tuple[float, ...] = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18)
    weight_exponent: float = 0.5
    shrinking_share: float = 0.5
    most_tried: int = 4
    tightening_rounds: int = 2
    margin: float = 0.5


@dataclass(frozen=True, kw_only=True)
class BranchingParameters:
    """Tuning constants of branch and bound, and of what the exact methods begin with.

    Parameters
    ----------
    starts, climbing
        Most starts of the climber that finds the first incumbent, and the share of a time limit
        after which it leaves the rest to bounds.
    first_node_budget, node_budget
        Nodes spent on a family's bound: on all families once, then where it matters.
    at_once
        Families of a child that are bounded anew together with its best.
    many_cells
        Missing cells from which on the subgradient method comes first; with fewer, linear programs
        find the best multipliers sooner.
    steps, first_step, last_step
        Its steps for each missing cell, and the nats that a multiplier moves at most in the first
        and in the last one.
    memory, negligible
        Steps over which its local completions are averaged, and after which clusters are separated;
        average below which a family is taken for not chosen.
    most_rounds
        Linear programs that are solved for one node.
    entering, least_reduced_cost
        Local completions of each child that enter between two linear programs, and the reduced cost
        from which on they do.
    smoothing
        Most weight of the best multipliers so far in the next ones: duals alone jump about.
    most_clusters, most_sinks, least_violation
        Clusters and sink links that enter between two linear programs, and the violation from which
        on a sink link does.
    joining
        Share of the gap below which the linear program's lead must be before sink links are sought.
    root_stall_limit, stall_limit, least_gain
        Rounds in which such a share of the gap must be closed, at the root and elsewhere.
    """

    starts: int = 3
    climbing: float = 0.6
    first_node_budget: int = 20
    node_budget: int = 8_000
    at_once: int = 8
    many_cells: int = 100
    steps: int = 12
    first_step: float = 0.2
    last_step: float = 0.003
    memory: int = 20
    negligible: float = 1e-3
    most_rounds: int = 200
    entering: int = 5
    least_reduced_cost: float = 1e-7
    smoothing: float = 0.5
    most_clusters: int = 20
    most_sinks: int = 200
    least_violation: float = 1e-3
    joining: float = 0.7
    root_stall_limit: int = 60
    stall_limit: int = 10
    least_gain: float = 0.1


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
