"""Solutions (a DAG with a completion) and the best ones found so far, of which none is lost."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.compilation_notice import clock
from exactlearn._runtime.control import Event, OnEvent, SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn.data.dataset import Dataset
from exactlearn.scoring.scores import Score, scored_family

IMPROVEMENT = 1e-7
"""Least improvement, relative to the score, that a step must bring: less is rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class Solution(ByValue, shown="score values"):
    """A DAG and a completion with their score."""

    parents: tuple[tuple[int, ...], ...]
    values: NDArray[np.int64]
    score: float

    @property
    def target(self) -> float:
        """Score that a solution must exceed to count as better."""
        return self.score + IMPROVEMENT * max(1.0, abs(self.score))


def total_score(dataset: Dataset, parents: Sequence[Sequence[int]], score: Score) -> float:
    """Return the score of a DAG on complete data: the sum over its families."""
    return sum(scored_family(dataset, child, tuple(ps), score) for child, ps in enumerate(parents))


@dataclass(frozen=True)
class Unproven:
    """Moves after which a better solution is not excluded.

    Parameters
    ----------
    changes
        Their number; moves that lead to the same table but for the order of its rows count once.
    of
        Number of moves up to the distance asked for.
    dag
        Whether the DAG is not proven the best one for the completion as it is, either.
    gain
        No solution after any of them, nor with another DAG alone, scores more than this above the
        current one; ``inf`` while some are not bounded.
    """

    changes: int
    of: int
    dag: bool
    gain: float

    @property
    def is_nothing(self) -> bool:
        """Whether the solution is proven to be t-local optimal."""
        return not self.changes and not self.dag

    @property
    def message(self) -> str:
        """The same in words."""
        if self.is_nothing:
            return f"the best solution is t-local optimal: all of its {self.of} moves are excluded"
        left = f"{self.changes} of {self.of} moves"
        left += " and the DAG are unproven" if self.dag else " are unproven"
        if not isfinite(self.gain):
            return f"{left}, and not all are bounded yet"
        return f"{left}; none of them can gain more than {self.gain:.4g} nats"


class Ledger:
    """The moves around a solution that are open at the moment.

    Attributes
    ----------
    left
        Bounds on the solutions after the moves that have been bounded, in pieces.
    unseen
        Number of moves that have not been bounded.
    dag
        Bound of the DAGs for the solution's own completion; its score once its DAG is proven.

    Parameters
    ----------
    solution
        The solution.
    total
        Number of moves.
    """

    def __init__(self, solution: Solution, total: int) -> None:
        self.solution, self.total = solution, total
        self.left: list[NDArray[np.float64]] = []
        self.unseen = total
        self.dag = inf

    @property
    def unproven(self) -> Unproven:
        """The moves that are open now."""
        is_dag_open = self.dag > self.solution.target
        bounds = np.concatenate([np.zeros(0), *self.left])
        open_bounds = [*bounds.tolist(), *([self.dag] if is_dag_open else [])]
        highest = inf if self.unseen else max(open_bounds, default=self.solution.score)
        return Unproven(
            changes=len(bounds) + self.unseen,
            of=self.total,
            dag=is_dag_open,
            gain=max(0.0, highest - self.solution.score),
        )


GRACE = 1.0
"""Seconds beyond the time limit in which a first solution may still be found."""

ROUNDING = 1e-12
"""Relative difference of scores that is none."""


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
    client
        The client of a cluster that climbs from the starts, if there is one.
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
        self.score, self.bound = -inf, inf
        self.family_bounds = np.full(1, inf)
        self.nodes = self.open_nodes = 0
        self.ledger: Ledger | None = None
        self._hurried_until = inf
        self.client: Any = None
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
        """How a search ended that is over, in a word."""
        return "interrupted" if self.is_stopped else "stopped"

    @contextmanager
    def hurried(self, share: float) -> Iterator[None]:
        """End what is inside, once there is a solution, after a share of the time that is left."""
        self._hurried_until = clock() + share * self.left
        try:
            yield
        finally:
            self._hurried_until = inf

    def count_nodes(self, nodes: int) -> None:
        """Add the nodes of a finished search tree."""
        with self._lock:
            self.nodes += nodes

    def offer(self, solution: Solution) -> None:
        """Keep a solution if it is the best so far, by more than rounding."""
        with self._lock:
            if solution.score > self.score + ROUNDING * max(1.0, abs(solution.score)):
                self.parents, self.working_values = solution.parents, solution.values
                self.score = solution.score
                self.record()

    def confirm(self, solution: Solution) -> None:
        """Prefer a solution that is proven to be locally optimal to another of the same score."""
        with self._lock:
            if self._is_best(solution):
                self.parents, self.working_values = solution.parents, solution.values
                self.score = solution.score

    def examine(self, ledger: Ledger) -> None:
        """Keep the account of the moves around the best solution."""
        with self._lock:
            if self._is_best(ledger.solution):
                self.ledger = ledger

    @property
    def unproven(self) -> Unproven | None:
        """Which moves around the best solution are open, if it has been looked at."""
        known = self.ledger is not None and self._is_best(self.ledger.solution)
        return self.ledger.unproven if self.ledger is not None and known else None

    def _is_best(self, solution: Solution) -> bool:
        return solution.score >= self.score - ROUNDING * max(1.0, abs(solution.score))

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
        values = () if self.parents is None else tuple(self.values.tolist())
        nodes += self.nodes
        score, bound, left = self.score, self.bound, self.open_nodes
        return Event(self.seconds, score, bound, nodes, self.parents, values, left)


TOLERANCE = 1e-9
"""Relative difference of bound and score below which no better solution is looked for."""

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
    """

    incumbent: Incumbent
    k: int = 1
    by_completion: bool = False
    _found: dict[_Key, Solution] = field(default_factory=dict, repr=False)

    def take(self, solution: Solution) -> None:
        """Keep a solution if it is among the best."""
        self.incumbent.offer(solution)
        if self.k == 1:
            return
        key = (None if self.by_completion else solution.parents, solution.values.tobytes())
        known = self._found.get(key)
        if known is None or solution.score > known.score:
            self._found[key] = solution
        if len(self._found) > self.k:
            del self._found[min(self._found, key=lambda key: self._found[key].score)]

    @property
    def ranked(self) -> tuple[Solution, ...]:
        """The solutions, the best first; equal scores in the order of parents and values."""
        best = self.incumbent
        if self.k == 1:
            assert best.parents is not None
            return (Solution(best.parents, best.working_values, best.score),)
        order = sorted(self._found.values(), key=lambda p: (p.parents, p.values.tolist()))
        return tuple(sorted(order, key=lambda p: -round(p.score, 9)))

    @property
    def target(self) -> float:
        """Score that another solution must exceed to be among the best."""
        if self.k == 1:
            floor = self.incumbent.score
        elif len(self._found) == self.k:
            floor = min(solution.score for solution in self._found.values())
        else:
            return -inf
        return floor + TOLERANCE * max(1.0, abs(floor))
