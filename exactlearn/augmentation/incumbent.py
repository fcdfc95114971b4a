"""Solutions (a DAG with a completion) and the best ones found so far, of which none is lost."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.dataset import Dataset
from exactlearn.scoring.scores import Score, score_family
from exactlearn.solvers.result import Event, OnEvent

IMPROVEMENT = 1e-7
"""Least improvement, relative to the score, that a step must bring: less is rounding."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A DAG and a completion with their score."""

    parents: tuple[tuple[int, ...], ...]
    values: NDArray[np.int64]
    score: float

    @property
    def target(self) -> float:
        """What a pair must score more than to count as better."""
        return self.score + IMPROVEMENT * max(1.0, abs(self.score))


def total_score(dataset: Dataset, parents: Sequence[Sequence[int]], score: Score) -> float:
    """Return the score of a DAG on complete data: the sum over its families."""
    return sum(score_family(dataset, child, tuple(ps), score) for child, ps in enumerate(parents))


@dataclass(frozen=True)
class Unproven:
    """Changes of cells after which a better pair is not excluded.

    Parameters
    ----------
    changes
        How many; changes that lead to the same table but for the order of its rows count once.
    of
        How many there are up to the distance asked for.
    dag
        Whether the DAG is not proven the best one for the completion as it is, either.
    gain
        No pair after any of them, nor with another DAG alone, scores more than this above the pair;
        ``inf`` while some are not bounded.
    """

    changes: int
    of: int
    dag: bool
    gain: float

    @property
    def is_nothing(self) -> bool:
        """Whether the pair is proven to be t-local optimal."""
        return not self.changes and not self.dag

    @property
    def told(self) -> str:
        """The same in words."""
        if self.is_nothing:
            return f"the best pair is t-local optimal, all of its {self.of} changes being excluded"
        left = f"{self.changes} of {self.of} changes"
        left += " and the DAG are unproven" if self.dag else " are unproven"
        if not isfinite(self.gain):
            return f"{left}, and not all are bounded yet"
        return f"{left}; none of them can gain more than {self.gain:.4g} nats"


class Ledger:
    """The changes around a pair that are open at the moment.

    Attributes
    ----------
    left
        What pairs after those that have been bounded score at most, in pieces.
    unseen
        How many have not been bounded.
    dag
        What the pair's own completion allows at most; the pair's score once its DAG is proven.

    Parameters
    ----------
    pair
        The pair.
    total
        How many changes there are.
    """

    def __init__(self, pair: Pair, total: int) -> None:
        self.pair, self.total = pair, total
        self.left: list[NDArray[np.float64]] = []
        self.unseen = total
        self.dag = inf

    @property
    def unproven(self) -> Unproven:
        """What is open now."""
        is_dag_open = self.dag > self.pair.target
        bounds = np.concatenate([np.zeros(0), *self.left])
        open_bounds = [*bounds.tolist(), *([self.dag] if is_dag_open else [])]
        highest = inf if self.unseen else max(open_bounds, default=self.pair.score)
        return Unproven(
            changes=len(bounds) + self.unseen,
            of=self.total,
            dag=is_dag_open,
            gain=max(0.0, highest - self.pair.score),
        )


GRACE = 1.0
"""Seconds beyond the time limit in which a first pair may still be found."""

STEADY = 0.2
"""Seconds after which the listener hears of a search again between two blocks of its work."""

ROUNDING = 1e-12
"""Relative difference of scores that is none."""


@dataclass
class Incumbent:
    """The best DAG and completion so far, with the clock and the trace of improvements.

    Several threads may share it.

    Parameters
    ----------
    time_limit
        Seconds that the whole augmentation may take, or ``None``.
    on_event
        Called at each improvement, and whenever a solver inside reports.
    restore
        For each missing cell of the user's table, its cell in the working table of merged rows;
        ``None`` where they are the same.
    """

    time_limit: float | None = None
    on_event: OnEvent | None = None
    restore: NDArray[np.int64] | None = None
    started: float = field(default_factory=time.monotonic)
    parents: tuple[tuple[int, ...], ...] | None = None
    working_values: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    score: float = -inf
    bound: float = inf
    tops: NDArray[np.float64] = field(default_factory=lambda: np.full(1, inf))
    nodes: int = 0
    trace: list[tuple[float, float, float]] = field(default_factory=list)
    stopped: bool = False
    hurry: float = inf
    ledger: Ledger | None = None
    _told: float = -inf
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def values(self) -> NDArray[np.int64]:
        """State of each missing cell of the user's table; none before there is any pair."""
        if self.restore is None or self.parents is None:
            return self.working_values
        return self.working_values[self.restore]

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.monotonic() - self.started

    @property
    def remaining(self) -> float | None:
        """Seconds left, never negative; ``None`` without a limit."""
        return None if self.time_limit is None else max(0.0, self.time_limit - self.seconds)

    @property
    def out_of_time(self) -> bool:
        """Whether the limit is reached, or the search was told to stop."""
        return self.stopped or self.remaining == 0.0

    @property
    def is_over(self) -> bool:
        """Whether a search is to end: while there is no pair, a grace beyond the limit."""
        limit = inf if self.time_limit is None else self.time_limit
        if self.parents is None:
            return self.seconds >= limit + GRACE
        return self.stopped or self.seconds >= min(limit, self.hurry)

    @contextmanager
    def hurried(self, share: float) -> Iterator[None]:
        """Let what is inside end, once there is a pair, after a share of the time that is left."""
        if self.remaining is not None:
            self.hurry = self.seconds + share * self.remaining
        try:
            yield
        finally:
            self.hurry = inf

    def stop(self) -> None:
        """Tell the searches in all threads to stop at their next look at the clock."""
        self.stopped = True

    def resume(self) -> None:
        """Let other searches begin after those that were told to stop have ended."""
        self.stopped = False

    def count_nodes(self, nodes: int) -> None:
        """Add the nodes of a finished search tree."""
        with self._lock:
            self.nodes += nodes

    def offer(self, pair: Pair) -> None:
        """Keep a pair if it is the best so far, by more than rounding."""
        with self._lock:
            if pair.score > self.score + ROUNDING * max(1.0, abs(pair.score)):
                self.parents, self.working_values = pair.parents, pair.values
                self.score = pair.score
                self._report()

    def confirm(self, pair: Pair) -> None:
        """Prefer a pair that is proven to be locally optimal to another of the same score."""
        with self._lock:
            if self._is_best(pair):
                self.parents, self.working_values = pair.parents, pair.values
                self.score = pair.score

    def examine(self, ledger: Ledger) -> None:
        """Remember what keeps account of the changes around the best pair."""
        with self._lock:
            if self._is_best(ledger.pair):
                self.ledger = ledger

    @property
    def unproven(self) -> Unproven | None:
        """Which changes around the best pair are open, if it has been looked at."""
        known = self.ledger is not None and self._is_best(self.ledger.pair)
        return self.ledger.unproven if self.ledger is not None and known else None

    def _is_best(self, pair: Pair) -> bool:
        return pair.score >= self.score - ROUNDING * max(1.0, abs(pair.score))

    def prove(self, bound: float) -> None:
        """Keep a bound if it is the tightest so far; it is told once there is a pair."""
        if bound < self.bound:
            self.bound = bound
            if self.parents is not None:
                self._report()

    def prove_families(self, tops: NDArray[np.float64]) -> None:
        """Keep bounds on the best family of each variable, shape (n,), and what they prove."""
        self.tops = np.minimum(self.tops, tops)
        self.prove(float(self.tops.sum()))

    def tick(self, nodes: int) -> None:
        """Pass on that a solver inside is alive, at a number of nodes beyond those counted.

        Raises
        ------
        KeyboardInterrupt
            When the searches were told to stop: what solvers take as such.
        """
        if self.stopped:
            raise KeyboardInterrupt
        if self.on_event is not None:
            with self._lock:
                self.on_event(self._event(self.nodes + nodes))

    def look(self) -> None:
        """Pass on that a search is alive, unless that was done a moment ago.

        Raises
        ------
        KeyboardInterrupt
            As :meth:`tick`.
        """
        if self.stopped or time.monotonic() - self._told >= STEADY:
            self.tick(0)

    def _report(self) -> None:
        self.trace.append((self.seconds, self.score, self.bound))
        if self.on_event is not None:
            self.on_event(self._event(self.nodes))

    def _event(self, nodes: int) -> Event:
        self._told = time.monotonic()
        values = () if self.parents is None else tuple(self.values.tolist())
        return Event(self.seconds, self.score, self.bound, nodes, self.parents, values)


TOLERANCE = 1e-9
"""Relative difference of a bound and the answers below which no better one is looked for."""

_Key = tuple[tuple[tuple[int, ...], ...] | None, bytes]


@dataclass
class Answers:
    """The best pairs so far.

    Parameters
    ----------
    incumbent
        Holds the best one, and the clock.
    k
        How many are looked for.
    by_completion
        Whether each completion is wanted once only, with its best DAG.
    """

    incumbent: Incumbent
    k: int = 1
    by_completion: bool = False
    _found: dict[_Key, Pair] = field(default_factory=dict, repr=False)

    def take(self, pair: Pair) -> None:
        """Keep a pair if it is among the best."""
        self.incumbent.offer(pair)
        if self.k == 1:
            return
        key = (None if self.by_completion else pair.parents, pair.values.tobytes())
        known = self._found.get(key)
        if known is None or pair.score > known.score:
            self._found[key] = pair
        if len(self._found) > self.k:
            del self._found[min(self._found, key=lambda key: self._found[key].score)]

    @property
    def ranked(self) -> tuple[Pair, ...]:
        """The pairs, the best first; equal scores in the order of parents and values."""
        best = self.incumbent
        if self.k == 1:
            assert best.parents is not None
            return (Pair(best.parents, best.working_values, best.score),)
        order = sorted(self._found.values(), key=lambda p: (p.parents, p.values.tolist()))
        return tuple(sorted(order, key=lambda p: -round(p.score, 9)))

    @property
    def target(self) -> float:
        """What another pair must score more than to be among the answers."""
        if self.k == 1:
            floor = self.incumbent.score
        elif len(self._found) == self.k:
            floor = min(pair.score for pair in self._found.values())
        else:
            return -inf
        return floor + TOLERANCE * max(1.0, abs(floor))
