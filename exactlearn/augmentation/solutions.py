"""Solutions (a DAG with a completion), the best ones found so far, and the result of a search."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import instance_of
from exactlearn._runtime.arguments import checked_arguments, register
from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import Event, OnEvent, SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.tolerance import TOLERANCE, gap_between
from exactlearn.augmentation.coordinate_ascent import cell_losses
from exactlearn.augmentation.families import FamilyRules, network_problem
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import CheckError
from exactlearn.graphs.dag import topological_order
from exactlearn.graphs.equivalence import Structured
from exactlearn.scoring.prior import log_prior
from exactlearn.scoring.scores import (
    Score,
    ScoreLike,
    score_tolerance,
    total_score,
    total_weight,
)
from exactlearn.solvers.constraints import MaxParents

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Solution(ByValue, shown="score values"):
    """A DAG and a completion with their score.

    Parameters
    ----------
    parents
        Parents of each variable.
    values
        State of each missing cell.
    score
        Score of the DAG on the completed table.
    tolerance
        Difference of scores, in nats, that counts as none.
    """

    parents: tuple[tuple[int, ...], ...]
    values: NDArray[np.int64]
    score: float
    tolerance: float = TOLERANCE

    @property
    def target(self) -> float:
        """Score that a solution must exceed to count as better."""
        return self.score + self.tolerance

    @property
    def order(self) -> tuple[float, tuple[tuple[int, ...], ...], list[int]]:
        """The key that sorts solutions: the best first, then by parents and values."""
        return -round(self.score, 9), self.parents, self.values.tolist()


def require_score(
    score: float,
    dataset: Dataset,
    parents: Sequence[Sequence[int]],
    criterion: Score,
    subject: str,
) -> None:
    """Refuse a score of a DAG that is not its score on complete data, up to rounding.

    Raises
    ------
    CheckError
        When they differ; the message names the subject.
    """
    total = total_score(dataset, parents, criterion)
    slack = score_tolerance(dataset.n_variables, total_weight(dataset))
    if abs(total - score) > slack:
        raise CheckError(f"the score of the {subject} is {total!r}, not {score!r}")


# Seconds beyond the time limit in which a first solution may still be found.
GRACE = 1.0


class Incumbent(SearchControl):
    """The control of an augmentation, with the best DAG and completion so far.

    Several threads may share it. Loops end when it is over, and what they return is unfinished
    then. As it stays over, one look at it after any computation says whether that was cut short:
    without it, no proof is claimed. Scores and bounds that are returned hold anyway.

    Parameters
    ----------
    time_limit
        Seconds that the whole augmentation may take, or ``None``.
    on_event
        Called at each improvement, and at a steady rate.

    Attributes
    ----------
    restore
        For each missing cell of the user's table, its cell in the working table of merged rows;
        ``None`` where they are the same.
    """

    def __init__(
        self,
        time_limit: float | None = None,
        on_event: OnEvent | None = None,
        checkpoint: Path | None = None,
    ) -> None:
        super().__init__(time_limit, on_event, checkpoint=checkpoint)
        self.state = self._event
        self.restore: NDArray[np.int64] | None = None
        self.parents: tuple[tuple[int, ...], ...] | None = None
        self.working_values = np.zeros(0, np.int64)
        self.score = -inf
        self.bound = inf
        self.family_bounds = np.full(1, inf)
        self.nodes = self.open_nodes = 0
        self._hurried_until = inf
        self._order: tuple[Any, ...] = (inf,)
        self._lock = threading.RLock()

    @property
    def values(self) -> NDArray[np.int64]:
        """State of each missing cell of the user's table; none before there is any solution."""
        if self.restore is None or self.parents is None:
            return self.working_values
        return self.working_values[self.restore]

    @property
    def is_over(self) -> bool:
        """Whether a search is to end: while there is no solution, a grace beyond the limit."""
        if self.is_stopped:
            return True
        if self.parents is None:
            return clock() >= self.deadline + GRACE
        return clock() >= min(self.deadline, self._hurried_until)

    @property
    def out_of_time(self) -> bool:
        """Whether the limit is reached or the search was stopped, solution or not."""
        return super().is_over

    @property
    def ending(self) -> str:
        """The end of a search that is over, in a word."""
        return "interrupted" if self.is_stopped else "stopped"

    @contextmanager
    def hurried(self, part: float) -> Iterator[None]:
        """End the search inside, once it has a solution, after a part of the time left."""
        self._hurried_until = clock() + part * self.left
        try:
            yield
        finally:
            self._hurried_until = inf

    def count_nodes(self, nodes: int) -> None:
        """Add the nodes of a finished search tree."""
        with self._lock:
            self.nodes += nodes

    def offer(self, solution: Solution) -> None:
        """Keep a solution if it is the best so far, or of equal ones the first in their order.

        So the answer does not depend on which thread comes first.
        """
        with self._lock:
            if solution.order < self._order:
                self.parents = solution.parents
                self.working_values = solution.values
                self.score = max(self.score, solution.score)
                self._order = solution.order
                self.record()

    def prove(self, bound: float) -> None:
        """Keep a bound if it is the tightest so far; it is reported once there is a solution."""
        if bound < self.bound:
            self.bound = bound
            if self.parents is not None:
                self.record()

    def prove_families(self, family_bounds: NDArray[np.float64]) -> None:
        """Keep bounds on the best family of each variable, shape (n,), and what they prove."""
        self.family_bounds = np.minimum(self.family_bounds, family_bounds)
        self.prove(float(self.family_bounds.sum()))

    def tick(self, nodes: int) -> None:
        """Report that a solver inside is at a number of nodes beyond those counted."""
        with self._lock:
            self._report(self._event(nodes))

    def record(self) -> None:
        """Report the state, and keep it in the trace if it is new."""
        with self._lock:
            super().record()

    def report(self) -> None:
        """Report the state."""
        with self._lock:
            super().report()

    def _event(self, nodes: int = 0) -> Event:
        return Event(
            self.seconds,
            self.score,
            self.bound,
            self.nodes + nodes,
            self.parents,
            () if self.parents is None else tuple(self.values.tolist()),
            self.open_nodes,
        )


_Key = tuple[tuple[tuple[int, ...], ...] | None, bytes]


@dataclass
class SolutionPool:
    """The best solutions so far, of which ``k`` are kept.

    Parameters
    ----------
    incumbent
        Holds the best one, and the clock.
    k
        Number of solutions looked for.
    by_completion
        Whether each completion is wanted once only, with its best DAG.
    tolerance
        Difference of scores, in nats, that counts as none.
    """

    incumbent: Incumbent
    k: int = 1
    by_completion: bool = False
    tolerance: float = TOLERANCE
    _kept: dict[_Key, Solution] = field(default_factory=dict, repr=False)

    def take(self, solution: Solution) -> None:
        """Keep a solution if it is among the best."""
        self.incumbent.offer(solution)
        key = (
            None if self.by_completion else solution.parents,
            solution.values.tobytes(),
        )
        kept = self._kept
        if key not in kept or solution.score > kept[key].score:
            kept[key] = solution
        if len(kept) > self.k:
            del kept[min(kept, key=lambda key: kept[key].score)]

    @property
    def ranked(self) -> tuple[Solution, ...]:
        """The solutions, the best first; equal scores in the order of parents and values."""
        return tuple(sorted(self._kept.values(), key=lambda solution: solution.order))

    @property
    def target(self) -> float:
        """Score that another solution must exceed to be among the best."""
        if self.k == 1:
            return self.incumbent.score + self.tolerance
        if len(self._kept) < self.k:
            return -inf
        return min(kept.score for kept in self._kept.values()) + self.tolerance


AugmentationStatus = Literal[
    "optimal", "t-local", "heuristic", "feasible", "infeasible", "interrupted"
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Augmentation(
    Structured, ByValue, shown="status score bound method t values seconds"
):
    """A DAG and a completion of all missing cells, with the proof state of the solution.

    Parameters
    ----------
    parents
        Parents of each variable, or ``None`` when the limit came before any network was found.
    values
        State index of each missing cell, in the order of ``Dataset.missing_cells``.
    score
        Score of the DAG on the completed table.
    bound
        No DAG and completion score more; ``inf`` where the method proves no such bound.
    status
        ``optimal`` (over all DAGs and completions), ``t-local`` (over all DAGs and all completions
        within Hamming distance ``t``), ``heuristic`` (the method proves nothing), ``feasible``
        (a limit was reached), ``infeasible`` or ``interrupted``.
    method
        The method that found it.
    t
        Radius of the local optimality, for the method ``t-local``.
    seconds, nodes
        Wall time, and nodes of all search trees.
    trace
        Improvements over time as ``(seconds, score, bound)``.
    message
        What a user should know beyond the status.
    names
        Names of the table's variables.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar").part(slice(20))
    >>> result = el.augment(table, "bdeu", max_parents=1)
    >>> result.status, result.method, result.gap, result.arcs
    ('optimal', 'branching', 0.0, ())
    >>> result.completed(table).is_complete
    True
    """

    parents: tuple[tuple[int, ...], ...] | None
    values: NDArray[np.int64]
    score: float
    bound: float
    status: AugmentationStatus
    method: str
    t: int | None = None
    seconds: float = 0.0
    nodes: int = 0
    trace: tuple[tuple[float, float, float], ...] = ()
    message: str = ""
    names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        incumbent: Incumbent,
        status: AugmentationStatus,
        method: str,
        *,
        t: int | None = None,
        message: str = "",
    ) -> "Augmentation":
        """Return the result of a search: its best solution and its bound."""
        return cls(
            parents=incumbent.parents,
            values=incumbent.values,
            score=incumbent.score,
            bound=incumbent.bound,
            status=status,
            method=method,
            t=t,
            seconds=incumbent.seconds,
            nodes=incumbent.nodes,
            trace=tuple(incumbent.trace),
            message=message,
        )

    @property
    def gap(self) -> float:
        """Difference of bound and score in nats; infinite without a bound."""
        return gap_between(self.score, self.bound)

    @checked_arguments()
    def completed(self, dataset: DatasetLike) -> Dataset:
        """Return the table with its missing cells filled."""
        return dataset.complete(self.values)

    @checked_arguments()
    def to_frame(
        self, dataset: DatasetLike, score: ScoreLike | None = None
    ) -> "pd.DataFrame":
        """Return the values of the missing cells as a pandas frame: row, variable, value.

        With the score that was maximised, ``next_best`` and ``loss_of_next_best`` say what each
        cell's next best value loses while network and other cells stay
        (:func:`~exactlearn.augmentation.coordinate_ascent.cell_losses`).

        Examples
        --------
        >>> import exactlearn as el
        >>> table = el.read_dataset("cancer-mcar").part(slice(20))
        >>> result = el.augment(table, "bdeu", max_parents=1)
        >>> result.to_frame(table, "bdeu").round(3).head(2)
           row  variable  value next_best  loss_of_next_best
        0    2  Dyspnoea  False      True              0.511
        1    3    Cancer  False      True              3.664
        """
        if score is None or self.parents is None:
            return dataset.completion_frame(self.values)
        losses = cell_losses(dataset, score, self.parents, self.values)
        return dataset.completion_frame(self.values, losses=losses)

    def check_score(self, dataset: Dataset, score: Score, rules: FamilyRules) -> None:
        """Recompute the score from the incomplete table.

        Raises
        ------
        CheckError
            When a family breaks the rules, the arcs close a cycle, the score is not that of the
            completed table, the score exceeds the bound, or ``optimal`` is claimed with a gap.

        Examples
        --------
        >>> import exactlearn as el
        >>> from exactlearn.augmentation import FamilyRules
        >>> table = el.read_dataset("cancer-mcar").part(slice(20))
        >>> result = el.augment(table, "bdeu", max_parents=1)
        >>> result.check_score(table, el.BDeu(), FamilyRules.of(1, (), ()))
        """
        if self.parents is None:
            return
        topological_order(self.parents)
        limits = [MaxParents(v, rules.max_parents) for v in range(dataset.n_variables)]
        problem = network_problem(
            dataset.names,
            self.parents,
            required=rules.required,
            forbidden=rules.forbidden,
            constraints=limits,
        )
        for violation in problem.violations(self.parents):
            raise CheckError(f"the network breaks a constraint: {violation}")
        completed = self.completed(dataset)
        without_prior = self.score - float(log_prior(problem, rules.prior).sum())
        require_score(without_prior, completed, self.parents, score, "completed table")
        slack = score_tolerance(dataset.n_variables, total_weight(dataset))
        if self.score > self.bound + slack:
            raise CheckError(
                f"the score {self.score!r} exceeds its bound {self.bound!r}"
            )
        if self.status == "optimal" and self.bound > self.score + slack:
            raise CheckError(f"'optimal' was claimed with the gap {self.gap:.3g}")


register(
    best=instance_of(
        Augmentation, "an Augmentation", "pass what augment(dataset, score) returned"
    )
)
