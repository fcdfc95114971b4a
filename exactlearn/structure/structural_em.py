"""Structural EM: completion of the table by a network and learning of the best DAG, in turns.

``expected`` (Friedman 1997, "Learning belief networks in the presence of missing values and hidden
variables"; 1998, "The Bayesian structural EM algorithm"): the E-step weights the completions of
each row by their posterior probabilities, which gives the expected counts of all families; the
M-step finds the DAG with the best score of expected counts, by an exact solver; EM re-estimates its
parameters from the incomplete rows. A start ends when no DAG scores more than its own. For BIC and
AIC, without smoothing, the score of the observed cells rises in each iteration.

``hard`` (Rancoita, Zaffalon, Zucca, Bertoni and de Campos 2016, "Bayesian network data imputation
with application to survival tree analysis"): the E-step fills each row with its most probable
completion, the M-step finds the best DAG of the completed table and its smoothed frequencies. A
start ends when the completion stays, or one comes back.

The first start begins with the completions by independent variables, fitted to the observed cells
(a network, too, and the first to be kept where no arc is required); the others with random
completions.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.incumbent import IMPROVEMENT, Incumbent, Solution
from exactlearn.augmentation.task import Task
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import most_probable_completion
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError, did_you_mean
from exactlearn.scoring.candidates import candidate_parent_sets
from exactlearn.scoring.scores import Score
from exactlearn.solvers.parameters import INNER_SEARCH
from exactlearn.solvers.problem import Arc
from exactlearn.solvers.result import Result
from exactlearn.structure.expansion import expand
from exactlearn.structure.result import (
    FittedNetwork,
    Parents,
    StructuralEM,
    StructuralStatus,
    Variant,
    complete_score,
)

VARIANTS: tuple[Variant, ...] = ("expected", "hard")
"""What the E-step completes rows by: all completions weighted, or the most probable one."""


@checked_arguments()
def structural_em(
    dataset: Dataset,
    score: Score,
    *,
    variant: str = "expected",
    max_parents: int = 3,
    alpha: float = 1.0,
    starts: int = 1,
    solver: str = "auto",
    time_limit: float | None = None,
    seed: int = 0,
    required: Iterable[Arc] = (),
    forbidden: Iterable[Arc] = (),
    completions: int = 512,
    on_event: OnEvent | None = None,
) -> StructuralEM:
    """Learn a network from incomplete rows by structural EM, with an exact M-step.

    Parameters
    ----------
    dataset
        Table with missing cells; of one without, the best network is learned.
    score
        The decomposable score to maximise; BDeu is that of the expected counts.
    variant
        ``expected`` or ``hard``, see the module.
    max_parents
        Largest number of parents.
    alpha
        Smoothing of the parameters, added to every expected count.
    starts
        Number of starts; the best network over all of them is returned. A variable that no row
        observes needs more than one: the first start leaves it independent of the others.
    solver
        Solver of the M-steps, as for :func:`~exactlearn.solvers.solve`. With ``ordering`` the
        M-step is a local search; the message says so.
    time_limit
        Seconds; when they are over, the best network so far is returned.
    seed
        Seed of the random starts and draws; same seed, same answer, unless the limit is reached.
    required, forbidden
        Arcs (parent, child) by variable index.
    completions
        Most completions of a row that ``expected`` lists; up to so many, expected counts are
        exact. Draws from its posterior stand for a row with more
        (:func:`~exactlearn.structure.expansion.expand`), and the message says so.
    on_event
        Called at each better network, and whenever the solver reports: the score is
        ``observed_score`` for ``expected``, ``score`` for ``hard``; the values are those of the
        missing cells.

    Returns
    -------
    StructuralEM
        Checked: completion and score are recomputed.

    Raises
    ------
    OptionError
        When an option is unknown or out of range.
    InfeasibleError
        When the constraints exclude every network.
    TooLargeError
        When there are too many parent sets, or the missing cells of a row depend on each other
        too much for exact inference.

    Examples
    --------
    >>> import numpy as np
    >>> from exactlearn.scoring.scores import BDeu
    >>> rows = np.array([[0, 0], [1, 1], [0, 0], [1, 1], [1, -1], [0, -1], [0, 0], [1, 1]])
    >>> found = structural_em(Dataset(rows, ("a", "b"), (("n", "y"),) * 2), BDeu())
    >>> found.status, found.values
    ('converged', array([1, 0]))
    """
    chosen = next((v for v in VARIANTS if v == variant), None)
    if chosen is None:
        raise OptionError(f"there is no variant {variant!r}{did_you_mean(variant, VARIANTS)}")
    if min(max_parents, seed) < 0 or min(starts, completions) < 1:
        raise OptionError(
            "expected max_parents and seed of at least 0, starts and completions of at least 1; "
            f"found max_parents {max_parents}, seed {seed}, starts {starts}, "
            f"completions {completions}"
        )
    rules = FamilyRules.of(max_parents, required, forbidden)
    task = Task(dataset, score, rules, solver, seed, solving=INNER_SEARCH)
    with Incumbent(time_limit, on_event).running() as incumbent:
        result = _Alternation(task, chosen, alpha, completions, incumbent).run(starts)
    result.check(dataset, score)
    return result


MOST_ITERATIONS = 100
"""Most M-steps of a start."""

NO_VALUES = np.zeros(0, np.int64)


@dataclass(eq=False)
class _Alternation:
    """The state over all starts: the networks met, and what was done.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    variant, alpha, completions
        As for :func:`~exactlearn.structure.structural_em.structural_em`.
    incumbent
        Where the best network and the clock are kept.
    """

    task: Task
    variant: Variant
    alpha: float
    completions: int
    incumbent: Incumbent
    offered: list[FittedNetwork] = field(default_factory=list)
    iterations: int = 0
    drawn_rows: int = 0
    remarks: list[str] = field(default_factory=list)

    def run(self, starts: int) -> StructuralEM:
        """Alternate E- and M-steps from every start, within the limits."""
        status: StructuralStatus = "converged"
        for start in range(1 if self.task.dataset.is_complete else starts):
            if self._alternate(self._first_table(start)):
                continue
            status = self.incumbent.status
            if self.incumbent.out_of_time:
                break
            self._remark(f"a start had not converged after {MOST_ITERATIONS} M-steps")
        return self._result(status)

    def _first_table(self, start: int) -> Dataset:
        """Return the complete table from which a start learns first."""
        dataset = self.task.dataset
        if start == 0:
            network = fit_em(dataset, ((),) * dataset.n_variables, alpha=self.alpha).model
            if not self.task.rules.required:
                self._offer(FittedNetwork.of(network, dataset, self.task.score))
            return self._completed(network)
        rng = np.random.default_rng((self.task.seed, start))
        return dataset.complete(rng.integers(dataset.cardinalities[dataset.missing_cells[:, 1]]))

    def _alternate(self, table: Dataset) -> bool:
        """Alternate M- and E-steps from a complete table; return whether they converged."""
        current: Parents | None = None
        seen: set[Parents | bytes] = set()
        for _ in range(MOST_ITERATIONS):
            result = self._best_dag(table, current)
            if result is None or result.parents is None:
                return False
            parents = result.parents
            if self.variant == "expected" and (
                parents in seen or self._is_best(current, table, result)
            ):
                return True
            if self.offered and self.incumbent.is_stopped:
                return False
            network = self._fitted(table, parents, random=not seen)
            fitted = FittedNetwork.of(network, self.task.dataset, self.task.score)
            self._offer(fitted)
            if self.incumbent.out_of_time:
                return False
            met = parents if self.variant == "expected" else fitted.values.tobytes()
            if met in seen:
                self.incumbent.confirm(self._solution(fitted))
                return True
            seen.add(met)
            current, table = parents, self._completed(network)
        return False

    def _best_dag(self, table: Dataset, start: Parents | None) -> Result | None:
        """Return the best DAG of a complete weighted table: the M-step over structures.

        ``None`` when its scores cannot be had in time.
        """
        rules = self.task.rules
        problem = candidate_parent_sets(
            table,
            self.task.score,
            max_parents=rules.max_parents,
            required=rules.required,
            forbidden=rules.forbidden,
            on_progress=lambda done, total: self.incumbent.look(),
            control=SearchControl(outer=self.incumbent),
        )
        if problem.stopped:
            return None
        solution = None if start is None else Solution(start, NO_VALUES, -inf)
        result = self.task.solve(problem, self.incumbent, solution)
        self.iterations += 1
        if result.status == "feasible" and not self.incumbent.out_of_time:
            self._remark(f"the M-step of '{result.solver}' is not proven optimal")
        return result

    def _is_best(self, parents: Parents | None, table: Dataset, result: Result) -> bool:
        """Return whether the current DAG has the best score of its own expected counts."""
        if parents is None:
            return False
        score = complete_score(table, parents, self.task.score)
        return result.score <= score + IMPROVEMENT * max(1.0, abs(score))

    def _fitted(self, table: Dataset, parents: Parents, *, random: bool) -> BayesianNetwork:
        """Return the network of a DAG with parameters from its table or, by EM, from all rows."""
        # A zero in the frequencies of a random completion would stay zero throughout EM.
        alpha = max(self.alpha, 1.0) if random and self.variant == "expected" else self.alpha
        network = fit_complete(table, parents, alpha=alpha)
        if self.variant == "hard":
            return network
        fitted = fit_em(self.task.dataset, parents, alpha=self.alpha, start=network, starts=1)
        return fitted.model

    def _completed(self, network: BayesianNetwork) -> Dataset:
        """Return the completed, perhaps weighted, table: the E-step."""
        dataset = self.task.dataset
        if self.variant == "hard":
            return dataset.complete(most_probable_completion(network, dataset))
        expansion = expand(network, dataset, completions=self.completions, seed=self.task.seed)
        self.drawn_rows = max(self.drawn_rows, expansion.drawn_rows)
        return expansion.table

    def _offer(self, fitted: FittedNetwork) -> None:
        """Keep a network if it is the best so far."""
        self.offered.append(fitted)
        self.incumbent.offer(self._solution(fitted))

    def _solution(self, fitted: FittedNetwork) -> Solution:
        value = fitted.observed_score if self.variant == "expected" else fitted.score
        return Solution(fitted.network.parents, fitted.values, value)

    def _remark(self, remark: str) -> None:
        if remark not in self.remarks:
            self.remarks.append(remark)

    def _result(self, status: StructuralStatus) -> StructuralEM:
        if self.drawn_rows:
            self._remark(
                f"{self.drawn_rows} rows have too many completions to list all: their expected "
                "counts are averages over draws"
            )
        values = self.incumbent.working_values
        best = next((fitted for fitted in self.offered if fitted.values is values), None)
        return StructuralEM(
            parents=None if best is None else best.network.parents,
            network=None if best is None else best.network,
            values=NO_VALUES if best is None else best.values,
            score=-inf if best is None else best.score,
            expected_score=-inf if best is None else best.expected_score,
            observed_score=-inf if best is None else best.observed_score,
            status=status,
            variant=self.variant,
            iterations=self.iterations,
            seconds=self.incumbent.seconds,
            nodes=self.incumbent.nodes,
            trace=tuple(self.incumbent.trace),
            drawn_rows=self.drawn_rows,
            message="; ".join(self.remarks),
        )
