"""The task of an augmentation, its table with equal rows merged, and completions to begin with.

A random completion is far from any that a network explains. Filling each row with its most probable
states, by a network learned from the completion, again and again until it stays (hard EM, as in
:mod:`exactlearn.structure.structural_em`), takes less time than the climb's first steps and ends
where climbs reach better solutions: of SPECT with 10 % of its cells hidden by 10 to 25 nats.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.augmentation.families import FamilyRules, network_problem
from exactlearn.augmentation.solutions import (
    Incumbent,
    Solution,
)
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.row_completion import most_probable_completion
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset
from exactlearn.errors import InfeasibleError
from exactlearn.scoring.candidate_search import Budget
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.prior import log_prior, prefers_subsets, with_prior
from exactlearn.scoring.properties import Domain, is_convex
from exactlearn.scoring.scores import Score, score_tolerance, total_score, total_weight
from exactlearn.scoring.terms import TermTables
from exactlearn.solvers import Problem, Result, solve
from exactlearn.solvers.component_solver import DEFAULTS, SolverParameters
from exactlearn.solvers.ordering import heuristic_network

# Candidates that the search for each network of a start by hard EM looks at, about; most networks
# that a start is fitted to, though nearly all completions stay earlier.
FITTED_BUDGET = 10**6
FITTED_ROUNDS = 20


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
    solving
        Tuning constants of the solver inside.
    """

    dataset: Dataset
    score: Score
    rules: FamilyRules
    solver: str = "auto"
    seed: int = 0
    start: NDArray[np.int64] | None = None
    t: int = 1
    starts: int = 10
    solving: SolverParameters = DEFAULTS

    @cached_property
    def domain(self) -> Domain:
        """The states and counts for which the score's functions are evaluated."""
        return Domain.of(self.dataset.cardinalities, self.dataset.row_weights)

    @cached_property
    def tolerance(self) -> float:
        """Difference of scores, in nats, that counts as none."""
        return score_tolerance(self.dataset.n_variables, total_weight(self.dataset))

    @cached_property
    def tables(self) -> TermTables:
        """The score's functions, tabulated for the table's completions."""
        return TermTables(
            self.score, self.dataset.cardinalities, self.dataset.row_weights
        )

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
        problem = candidate_parent_sets(
            self.dataset.complete(values),
            self.score,
            max_parents=self.rules.max_parents,
            required=self.rules.required,
            forbidden=self.rules.forbidden,
            budget=budget,
            prune=prefers_subsets(self.rules.prior),
            on_progress=lambda done, of: control.look(),
            control=control,
        )
        return with_prior(problem, self.rules.prior)

    def sparsest(self, values: NDArray[np.int64]) -> Solution:
        """Return a completion with the network of the required arcs alone.

        Raises
        ------
        InfeasibleError
            When they close a cycle.
        """
        required = self.rules.required
        parent_sets: list[list[int]] = [[] for _ in self.dataset.names]
        for parent, child in sorted(required):
            parent_sets[child].append(parent)
        parents = tuple(map(tuple, parent_sets))
        problem = network_problem(self.dataset.names, parents, required=required)
        problem.require_feasible()
        return self.solution(parents, values)

    def solution(
        self, parents: tuple[tuple[int, ...], ...], values: NDArray[np.int64]
    ) -> Solution:
        """Score a DAG with a completion."""
        total = total_score(self.dataset.complete(values), parents, self.score)
        network = network_problem(self.dataset.names, parents)
        total += float(log_prior(network, self.rules.prior).sum())
        return Solution(parents, values, total, self.tolerance)

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
            raise InfeasibleError(
                result.message or "no network satisfies the constraints"
            )
        return result


def undecided_rows(dataset: Dataset, score: Score) -> NDArray[np.int64]:
    """Return the incomplete rows that stand for several whose best completions may differ.

    Rows stand for several where all weights are whole numbers. Equal rows have a common best
    completion where the score is convex (theorem *Row classes*, docs/theory/augmentation.md).
    """
    weights = dataset.row_weights
    if (weights % 1 != 0).any():
        return np.zeros(0, np.int64)
    several = np.flatnonzero(~dataset.complete_rows & (weights > 1))
    if len(several) and is_convex(score, Domain.of(dataset.cardinalities, weights)):
        return several[:0]
    return several


def merge_rows(
    dataset: Dataset, *, incomplete: bool
) -> tuple[Dataset, NDArray[np.int64]]:
    """Merge equal rows; rows with missing cells only if ``incomplete``.

    Returns the merged table, whose rows all have weights, and the row there of each row.
    """
    key = dataset.codes.astype(np.int32)
    if not incomplete:
        apart = np.where((key == MISSING).any(axis=1), np.arange(1, len(key) + 1), 0)
        key = np.column_stack([key, apart.astype(np.int32)])
    _, first, origin = np.unique(key, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)  # keep the order of first appearance
    origin = np.argsort(order)[origin.reshape(-1)]
    weights = np.bincount(origin, dataset.row_weights, len(order)).astype(np.float64)
    return replace(dataset, codes=dataset.codes[first[order]], weights=weights), origin


Start = tuple[NDArray[np.int64], bool]
"""A completion, and whether to begin where hard EM leads from it."""


def starting_completions(
    task: Task, starts: int, *, fitted: bool = False
) -> Iterator[Start]:
    """Yield a task's own start, the mode, what hard EM makes of it and of random completions.

    Without ``fitted`` the last are the random completions themselves. A complete table has only one
    start.
    """
    mode = mode_completion(task.dataset)
    begin = [] if task.start is None else [(task.start, False)]
    begin += [(mode, False), (mode, True)][: 1 + fitted]
    drawn = ((values, fitted) for values in random_completions(task.dataset, task.seed))
    yield from islice(chain(begin, drawn), starts if len(mode) else 1)


def mode_completion(dataset: Dataset) -> NDArray[np.int64]:
    """Fill each cell with the most frequent observed state of its variable; ties to the first."""
    weights = dataset.row_weights
    modes = np.zeros(dataset.n_variables, np.int64)
    for variable, r in enumerate(dataset.cardinalities):
        seen = dataset.codes[:, variable] >= 0
        counts = np.bincount(
            dataset.codes[seen, variable], weights=weights[seen], minlength=int(r)
        )
        modes[variable] = int(counts.argmax())
    return modes[dataset.missing_cells[:, 1]]


def fitted_completion(
    task: Task, values: NDArray[np.int64], control: SearchControl = UNLIMITED
) -> NDArray[np.int64]:
    """Fill each row with its most probable states in a network fitted to another completion.

    Parameters
    ----------
    task
        The table, the score and the rules.
    values
        The completion from which a good DAG and its parameters are learned.
    control
        When its search is over, the other completion is returned.
    """
    problem = task.families(values, control=control)
    problem.require_feasible()
    parents, _ = heuristic_network(
        problem, None, budget=FITTED_BUDGET, perturbations=1, seed=task.seed
    )
    if not control.goes_on():
        return values
    network = fit_complete(task.dataset.complete(values), parents, smoothing=1.0)
    return most_probable_completion(network, task.dataset)


def hard_em_completion(
    task: Task, values: NDArray[np.int64], incumbent: Incumbent
) -> NDArray[np.int64]:
    """Fit networks until the completion stays or comes back, or the time is up.

    Parameters
    ----------
    task, values
        As for :func:`fitted_completion`.
    incumbent
        Keeps the clock.
    """
    seen: set[bytes] = set()
    for _ in range(FITTED_ROUNDS):
        if values.tobytes() in seen or incumbent.out_of_time:
            break
        seen.add(values.tobytes())
        values = fitted_completion(task, values, incumbent)
    return values


def random_completions(dataset: Dataset, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield completions drawn uniformly, one after the other, for ever."""
    rng = np.random.default_rng(seed)
    states = dataset.cardinalities[dataset.missing_cells[:, 1]]
    while True:
        yield rng.integers(states)
