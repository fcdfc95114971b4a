"""Structural EM: completion of the table by a network and learning of the best DAG, in turns.

Friedman (1997, "Learning belief networks in the presence of missing values and hidden
variables"; 1998, "The Bayesian structural EM algorithm"): the E-step yields the expected counts of
all families (:mod:`exactlearn.scoring.expected_counts`); the M-step finds the DAG with the best
score of expected counts, by an exact solver; EM re-estimates its parameters from the incomplete
rows. A start ends when no DAG scores more than its own. For BIC and AIC, without smoothing, the
score of the observed cells rises in each iteration.

It ends at a network that is the best for its own expected counts, of which there are many. From the
network without arcs it hardly moves: by its posteriors missing cells are independent of all others,
and their share of the counts speaks against every arc. So the first start is the best network by
counts that deletion estimates; others begin with networks of random completions.

Hard structural EM (Ramoni and Sebastiani 1997, "Learning Bayesian networks from incomplete
databases"; Rancoita, Zaffalon, Zucca, Bertoni and de Campos 2016, "Bayesian network data imputation
with application to survival tree analysis") is what Adel and de Campos compare augmentation with:
the E-step fills each row with its most probable completion, the M-step finds the best DAG of the
completed table and its smoothed frequencies. The first start completes by the most frequent states,
the others at random; a start ends when a completion comes back. For BIC and AIC, without smoothing,
the score of the completed table rises in each iteration (docs/theory/structural_em.md).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import OnEvent, SearchControl
from exactlearn._runtime.progress import counted
from exactlearn._runtime.variable_arguments import ArcsLike
from exactlearn.augmentation.families import FamilyRules
from exactlearn.augmentation.solutions import Incumbent, Solution
from exactlearn.augmentation.task import Start, Task, starting_completions
from exactlearn.bayesnet.complete_data import fit_complete, smoothed
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import DataError
from exactlearn.scoring.candidates import candidate_parent_sets, n_families
from exactlearn.scoring.deletion_counts import DeletionCounts
from exactlearn.scoring.expected_counts import ExpectedCounts, expected_counts
from exactlearn.scoring.scores import ScoreLike
from exactlearn.solvers.component_solver import INNER_SEARCH
from exactlearn.solvers.result import Result
from exactlearn.structure.result import (
    FittedNetwork,
    Parents,
    StructuralEM,
    StructuralStatus,
)

MAX_ITERATIONS = 100
"""Most M-steps of a start."""

FIRST_PARENTS = 2
"""Most parents of the first start: the estimates of larger families cost most of its time."""

FIRST_FAMILIES = 50_000
"""Most families that the first start estimates; where there are more, those of pairs."""

FIRST_ROWS = 10_000
"""Most rows of the first start, drawn from more: a start need not be exact."""

FIRST_SHARE = 0.3
"""Most of the time that is left for the counts of the first start."""

NO_VALUES = np.zeros(0, np.int64)


@checked_arguments()
def structural_em(
    dataset: DatasetLike,
    score: ScoreLike,
    *,
    hard: bool = False,
    max_parents: int = 3,
    smoothing: float = 1.0,
    starts: int = 1,
    solver: str = "auto",
    time_limit: float | None = None,
    seed: int = 0,
    required: ArcsLike = (),
    forbidden: ArcsLike = (),
    on_event: OnEvent | None = None,
) -> StructuralEM:
    """Learn a network from incomplete rows by structural EM, with an exact M-step.

    Parameters
    ----------
    dataset
        Table with missing cells; of one without, the best network is learned.
    score
        The decomposable score to maximise; BDeu is that of the expected counts.
    hard
        Fill each row with its most probable completion in place of all of them, weighted (hard
        EM); the best network is that with the largest ``score``.
    max_parents
        Largest number of parents.
    smoothing
        Smoothing of the parameters, added to every expected count.
    starts
        Number of starts; the best network over all of them is returned. A variable that no row
        observes needs a second one: the first leaves it independent. Of hard EM the most frequent
        states first, then random completions.
    solver
        Solver of the M-steps, as for :func:`~exactlearn.solvers.solve`. With ``ordering`` the
        M-step is a local search; the message says so.
    time_limit
        Seconds; when they are over, the best network so far is returned.
    seed
        Seed of the random starts and draws; same seed, same answer, unless the limit is reached.
    required, forbidden
        Arcs (parent, child) by variable index.
    on_event
        Called at each better network, and whenever the solver reports: the score is
        ``observed_score``, of hard EM ``score``; the values are those of the missing cells.

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
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar")
    >>> el.structural_em(table, "bdeu", hard=True, starts=3).to_frame(table).head(2)
       row   variable value
    0    2   Dyspnoea False
    1    3     Cancer False
    """
    rules = FamilyRules.of(max_parents, required, forbidden)
    task = Task(dataset, score, rules, solver, seed, solving=INNER_SEARCH)
    with Incumbent(time_limit, on_event).running() as incumbent:
        incumbent.stage("structural EM from %d rows", dataset.n_rows)
        alternation = _HardAlternation if hard else _Alternation
        result = alternation(task, smoothing, incumbent).run(starts)
    result.check(dataset, score)
    return result


@dataclass(eq=False)
class _Alternation:
    """The state over all starts: the networks so far, and the work that was done.

    Parameters
    ----------
    task
        The table, the score, the rules and the solver inside.
    smoothing
        As for :func:`~exactlearn.structure.structural_em.structural_em`.
    incumbent
        The best solution so far, and the clock.
    best
        The network of this solution, with its scores.
    iterations, drawn_rows, remarks
        M-steps; most rows whose expected counts were drawn; remarks for a user, each once.
    """

    task: Task
    smoothing: float
    incumbent: Incumbent
    best: FittedNetwork | None = None
    iterations: int = 0
    drawn_rows: int = 0
    remarks: dict[str, None] = field(default_factory=dict)

    def run(self, starts: int) -> StructuralEM:
        """Alternate E- and M-steps from every start, within the limits."""
        self._offered(self._by_em(self._without_arcs()))
        status: StructuralStatus = "converged"
        n_starts = 1 if self.task.dataset.is_complete else starts
        for has_converged in self._ends_of_starts(n_starts):
            if has_converged:
                continue
            status = self.incumbent.status
            if self.incumbent.out_of_time:
                break
            remark = f"a start had not converged after {MAX_ITERATIONS} M-steps"
            self.remarks[remark] = None
        return self._result(status)

    def _ends_of_starts(self, starts: int) -> Iterator[bool]:
        """Alternate from one start after the other; yield whether each converged."""
        return map(self._alternate, counted("start", range(starts), starts))

    def _objective(self, fitted: FittedNetwork) -> float:
        """Return the score that the best network of all starts is chosen by."""
        return fitted.observed_score

    def _first(self, number: int) -> BayesianNetwork | None:
        """Return the network of a start."""
        if number == 0:
            parents = self._from_deletion()
            return self._by_em(self._without_arcs() if parents is None else parents)
        dataset = self.task.dataset
        # The best DAG of a random completion.
        rng = np.random.default_rng((self.task.seed, number))
        values = rng.integers(dataset.cardinalities[dataset.missing_cells[:, 1]])
        table = dataset.complete(values)
        result = self._m_step(table, None)
        if result is None or result.parents is None:
            return None
        # A zero in the frequencies of a random completion would stay zero throughout EM.
        first = fit_complete(table, result.parents, smoothing=max(self.smoothing, 1.0))
        return self._by_em(result.parents, first)

    def _without_arcs(self) -> Parents:
        """Return the DAG of the required arcs alone."""
        return self.task.sparsest(self.task.dataset.missing_cells[:, 1] * 0).parents

    def _from_deletion(self) -> Parents | None:
        """Return the best DAG, with few parents, by counts that deletion estimates (``f-mcar``).

        Nothing where some variable is never observed, or when it takes much of the time.
        """
        rules = self.task.rules
        dataset = self.task.dataset
        is_large = n_families(dataset.n_variables, FIRST_PARENTS) > FIRST_FAMILIES
        n_required = Counter(child for _, child in rules.required)
        max_parents = max(*n_required.values(), 0, 1 if is_large else FIRST_PARENTS)
        # Deletion needs no inference; few rows and few parents do for a start.
        try:
            problem = candidate_parent_sets(
                dataset.drawn(FIRST_ROWS, np.random.default_rng(self.task.seed)),
                self.task.score,
                max_parents=min(max_parents, rules.max_parents),
                required=rules.required,
                forbidden=rules.forbidden,
                counts=DeletionCounts("f-mcar"),
                control=self.incumbent.part(FIRST_SHARE),
            )
        except DataError:
            return None
        if problem.stopped:
            return None
        return self.task.solve(problem, self.incumbent).parents

    def _alternate(self, number: int) -> bool:
        """Alternate E- and M-steps; return whether they converged."""
        network = self._first(number)
        if network is None:
            return not self.incumbent.out_of_time
        seen: set[Parents] = set()
        for _ in range(MAX_ITERATIONS):
            current = self._offered(network)
            seen.add(network.parents)
            if self.incumbent.out_of_time:
                return False
            # E-step: the expected counts of all families (Friedman 1998).
            counts = expected_counts(
                network,
                self.task.dataset,
                min(self.task.rules.max_parents, self.task.dataset.n_variables - 1) + 1,
                seed=self.task.seed,
                control=self.incumbent,
            )
            self.drawn_rows = max(self.drawn_rows, counts.drawn_rows)
            # M-step: the best DAG for these counts, from the current one.
            result = self._m_step(counts, network.parents)
            if result is None or result.parents is None:
                return False
            # Converged where no DAG scores more for its own counts, or where one comes back.
            target = current.expected_score + self.task.tolerance
            if result.score <= target or result.parents in seen:
                return True
            # EM begins with the parameters of the expected counts.
            tables = tuple(
                smoothed(counts.family(child, parents), self.smoothing)
                for child, parents in enumerate(result.parents)
            )
            start = replace(network, parents=result.parents, tables=tables)
            network = self._by_em(result.parents, start)
        return False

    def _m_step(
        self, table: Dataset | ExpectedCounts, start: Parents | None
    ) -> Result | None:
        """Return the best DAG of a complete table or of expected counts: the M-step.

        ``None`` when there is no time for the scores.
        """
        if isinstance(table, ExpectedCounts) and not table.finished:
            return None
        # Scores of a completed table, or of expected counts, which stand for the
        # table's.
        rules = self.task.rules
        problem = candidate_parent_sets(
            table if isinstance(table, Dataset) else self.task.dataset,
            self.task.score,
            max_parents=rules.max_parents,
            required=rules.required,
            forbidden=rules.forbidden,
            counts=None if isinstance(table, Dataset) else table,
            on_progress=lambda done, total: self.incumbent.look(),
            control=SearchControl(outer=self.incumbent),
        )
        if problem.stopped:
            return None
        # The last DAG is the incumbent: no M-step lowers the objective, even when it is
        # cut short.
        solution = None if start is None else Solution(start, NO_VALUES, -inf)
        result = self.task.solve(problem, self.incumbent, solution)
        self.iterations += 1
        # The time limit is told by the status; a limit of the solver only here.
        if result.status == "feasible" and not self.incumbent.out_of_time:
            remark = f"the M-step of '{result.solver}' is not proven optimal"
            self.remarks[remark] = None
        return result

    def _by_em(
        self, parents: Parents, start: BayesianNetwork | None = None
    ) -> BayesianNetwork:
        """Return the network of a DAG with parameters from the incomplete rows by EM."""
        return fit_em(
            self.task.dataset,
            parents,
            smoothing=self.smoothing,
            start=start,
            starts=1,
            time_limit=self.incumbent.remaining,
        ).model

    def _offered(self, network: BayesianNetwork) -> FittedNetwork:
        """Return a network with its scores; it is kept if it is the best so far."""
        fitted = FittedNetwork.of(network, self.task.dataset, self.task.score)
        objective = self._objective(fitted)
        self.incumbent.offer(Solution(network.parents, fitted.values, objective))
        if self.incumbent.working_values is fitted.values:
            self.best = fitted
        return fitted

    def _result(self, status: StructuralStatus) -> StructuralEM:
        """Return the result of all starts."""
        if self.drawn_rows:
            remark = (
                f"the missing cells of {self.drawn_rows} rows depend on each other too much: their "
                "expected counts are averages over draws"
            )
            self.remarks[remark] = None
        best = self.best
        assert best is not None  # the network without arcs is offered first
        return StructuralEM(
            parents=best.network.parents,
            network=best.network,
            values=best.values,
            score=best.score,
            expected_score=best.expected_score,
            observed_score=best.observed_score,
            status=status,
            iterations=self.iterations,
            seconds=self.incumbent.seconds,
            nodes=self.incumbent.nodes,
            trace=tuple(self.incumbent.trace),
            drawn_rows=self.drawn_rows,
            message="; ".join(self.remarks),
        )


class _HardAlternation(_Alternation):
    """Hard structural EM: the E-step yields the most probable completion of each row."""

    def _ends_of_starts(self, starts: int) -> Iterator[bool]:
        return map(self._alternate_from, starting_completions(self.task, starts))

    def _objective(self, fitted: FittedNetwork) -> float:
        return fitted.score

    def _alternate_from(self, start: Start) -> bool:
        """Alternate M- and E-steps from a completion; return whether one came back."""
        values, _ = start
        completions_seen: set[bytes] = set()
        for _ in range(MAX_ITERATIONS):
            completions_seen.add(values.tobytes())
            # M-step: the best DAG of the completed table, with its smoothed frequencies.
            table = self.task.dataset.complete(values)
            result = self._m_step(table, None)
            if result is None or result.parents is None:
                return False
            network = fit_complete(table, result.parents, smoothing=self.smoothing)
            # E-step: the most probable completion under this network.
            values = self._offered(network).values
            if values.tobytes() in completions_seen:
                return True
            if self.incumbent.out_of_time:
                return False
        return False
