"""Several local searches side by side that learn from the best one.

Each round, every island continues its own search with its own randomness; every few rounds it takes
over what the best island does better (:mod:`exactlearn.solvers.ordering.partition_crossover`). An
island whose search stalls begins anew from a random order. How many islands there are does not
depend on the number of threads, and rounds are bounded by counts: neither does the answer.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import inf
from threading import Event
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from ..components import Component
from ..progress import OutOfTime
from .decoding import Lists, list_candidates, place_by_weight
from .iterated_local_search import climb_with_shakes
from .partition_crossover import adopt, order_of

Found = tuple[NDArray[np.int64], NDArray[np.int64]]
"""A selection and its choice values."""

ISLANDS = 4
"""Searches that run side by side."""

ROUND = 1_000_000
"""Candidates that an island looks at in a round, about a twentieth of a second."""

CROSSING = 4
"""Rounds after which islands learn from the best one."""

PATIENCE = 16
"""Rounds without gain after which an island begins anew."""

HEAT = 1.0
"""Temperature, in nats, at which every second island begins a round."""

EVERY_SHAKE = 2**62
"""A number of shakes that the effort bounds."""


class Island:
    """One search: an order with its selection, and since when it has not been bettered."""

    def __init__(self, lists: Lists, heat: float, rng: np.random.Generator, options: int) -> None:
        self.lists = lists
        self.heat = heat
        self.rng = rng
        self.values = np.zeros(options, np.int64)
        self.begin(rng.permutation(len(lists.first) - 1))

    def begin(self, order: NDArray[np.int64]) -> None:
        """Begin anew from an order."""
        self.order = order.astype(np.int64)
        self.chosen = np.full(len(order), -1, np.int64)
        self.score = -np.inf
        self.stalled = 0

    def search(
        self, effort: int, best: NDArray[np.int64] | None, is_late: Callable[[], bool]
    ) -> "Island":
        """Search on for a round, after a look at the best selection if there is one."""

        def pause() -> None:
            if is_late():
                raise OutOfTime

        if best is not None and self.chosen.min() >= 0:
            adopt(self.lists, self.order, self.values, self.chosen, best, self.rng)
        with suppress(OutOfTime):
            climb_with_shakes(
                self.lists, self.order, self.values, self.chosen, effort, EVERY_SHAKE, self.heat,
                self.rng, pause,
            )  # fmt: skip
        complete = self.chosen.min() >= 0
        score = float(self.lists.scores[self.chosen].sum()) if complete else -np.inf
        gained = score > self.score + 1e-9 * abs(score)
        self.stalled = 0 if gained else self.stalled + 1
        self.score = max(score, self.score)
        return self


def rounds(
    component: Component,
    *,
    start: Found | None,
    seed: int,
    threads: int,
    effort: int = ROUND,
    until: float = inf,
) -> Iterator[tuple[Found | None, int]]:
    """Yield the best selection after each round, without end, with the effort of the round.

    Parameters
    ----------
    component
        What to search.
    start
        A selection to begin with.
    seed
        Seed of all islands.
    threads
        How many islands are searched at a time; the outcome does not depend on it.
    effort
        Candidates that an island looks at in a round.
    until
        When a round is broken off, by the monotonic clock.
    """
    lists = list_candidates(component)
    options = len(component.options)
    seeds = np.random.SeedSequence(seed).spawn(ISLANDS)
    islands = [
        Island(lists, HEAT * (k % 2), np.random.default_rng(s), options)
        for k, s in enumerate(seeds)
    ]
    islands[-1].begin(place_by_weight(lists, np.zeros(len(lists.scores)), islands[-1].values))
    best, best_score = start, -np.inf
    if start is not None:
        best_score = component.total(start[0])
        islands[0].values = start[1].copy()
        islands[0].begin(order_of(lists, start[0], start[1], islands[0].rng))
    pool, stopped = ThreadPoolExecutor(threads), Event()

    def is_late() -> bool:
        return stopped.is_set() or monotonic() >= until

    number = 0
    try:
        while True:
            number += 1
            guide = best[0] if best is not None and number % CROSSING == 0 else None
            running = [pool.submit(island.search, effort, guide, is_late) for island in islands]
            for future in running:
                island = future.result()
                if island.score > best_score:
                    best, best_score = (island.chosen.copy(), island.values.copy()), island.score
            yield best, effort * ISLANDS
            for island in islands[1:]:
                if island.stalled >= PATIENCE:
                    island.begin(island.rng.permutation(component.n_variables))
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)
