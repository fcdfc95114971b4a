"""Island model: several local searches side by side, recombined with the best one.

Each round, every island continues its own search with its own randomness; every few rounds it is
recombined with the best island's selection by *partition crossover* (the idea of Whitley, Hains and
Howe 2009, for tours). Where two selections differ, the variables fall apart into parts: two of them
belong together if one is a parent of the other in either selection. A part whose score is better in
the other selection is taken over if no cycle arises, so that what several searches found in
different places adds up.

An island whose search stalls begins anew from a random order. How many islands there are does not
depend on the number of threads, and rounds are bounded by counts: neither does the answer.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.kernel import in_place_kernel, kernel, overwrite

from ..components import Component
from ..parameters import OrderingParameters
from .climb import order_anew
from .decoding import LEAST, Lists, list_candidates, place_by_weight, positions_along, score_of
from .iterated_local_search import copy_of, iterated_local_search, take_over
from .moves import State

UNLIMITED = 2**62
"""A number of perturbations that the budget bounds."""


class Island:
    """One search: an order with its selection, and since when it has not been bettered."""

    def __init__(
        self,
        lists: Lists,
        temperature: float,
        rng: np.random.Generator,
        parameters: OrderingParameters,
    ) -> None:
        self.lists = lists
        self.temperature = temperature
        self.parameters = parameters
        self.rng = rng
        self.begin(rng.permutation(len(lists.first) - 1))

    def begin(self, order: NDArray[np.int64]) -> None:
        """Begin anew from an order."""
        self.order = order.astype(np.int64)
        self.chosen = np.full(len(order), -1, np.int64)
        self.score = -np.inf
        self.stalled = 0

    def search(
        self, budget: int, best: NDArray[np.int64] | None, control: SearchControl
    ) -> "Island":
        """Search on for a round, after a look at the best selection if there is one."""
        if best is not None and self.chosen.min() >= 0:
            recombine(self.lists, self.order, self.chosen, best, self.rng)
        iterated_local_search(
            self.lists, self.order, self.chosen, budget, UNLIMITED, self.temperature, self.rng,
            control, self.parameters,
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
    start: NDArray[np.int64] | None,
    seed: int,
    threads: int,
    parameters: OrderingParameters,
    control: SearchControl,
) -> Iterator[tuple[NDArray[np.int64] | None, int]]:
    """Yield the best selection after each round, without end, with the budget of the round.

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
    parameters
        How many islands there are, and how long a round is.
    control
        Breaks off a round.
    """
    lists, budget = list_candidates(component), parameters.round
    seeds = np.random.SeedSequence(seed).spawn(parameters.islands)
    islands = [
        Island(lists, parameters.temperature * (k % 2), np.random.default_rng(s), parameters)
        for k, s in enumerate(seeds)
    ]
    islands[-1].begin(place_by_weight(lists, np.zeros(len(lists.scores))))
    best, best_score = start, -np.inf
    if start is not None:
        best_score = component.total(start)
        islands[0].begin(order_of(lists, start, islands[0].rng))
    pool, aside = ThreadPoolExecutor(threads), control.aside()
    number = 0
    try:
        while True:
            number += 1
            guide = best if number % parameters.recombination == 0 else None
            running = [pool.submit(island.search, budget, guide, aside) for island in islands]
            for future in running:
                island = future.result()
                if island.score > best_score:
                    best, best_score = island.chosen.copy(), island.score
            yield best, budget * parameters.islands
            for island in islands[1:]:
                if island.stalled >= parameters.stall_limit:
                    island.begin(island.rng.permutation(component.n_variables))
    finally:
        aside.stop()
        pool.shutdown(cancel_futures=True)


@kernel
def recombine(
    lists: Lists,
    order: NDArray[np.int64],
    chosen: NDArray[np.int64],
    other: NDArray[np.int64],
    rng: np.random.Generator,
) -> float:
    """Take over the parts that another selection does better, in place; return what that wins."""
    n = len(order)
    work = np.zeros(1, np.int64)
    state = State(order.copy(), positions_along(order), chosen.copy())
    part = parts_of_difference(lists, chosen, other)
    won = 0.0
    for root in range(n):
        if part[root] != root or chosen[root] == other[root]:
            continue
        trial, gain = copy_of(state), 0.0
        for v in range(n):
            if part[v] == root:
                gain += score_of(lists.scores, other[v]) - score_of(lists.scores, trial.chosen[v])
                trial.chosen[v] = other[v]
        if gain > LEAST and order_anew(lists, trial, rng, work):
            won += gain
            take_over(state, trial)
    overwrite(order, state.order)
    overwrite(chosen, state.chosen)
    return won


@kernel
def parts_of_difference(
    lists: Lists, chosen: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the smallest variable of each variable's part; its own where there is no difference.

    Only variables that differ are joined.
    """
    n = len(chosen)
    part = np.arange(n)
    for v in range(n):
        if chosen[v] == other[v]:
            continue
        for c in (chosen[v], other[v]):
            if c >= 0:
                for at in range(lists.need_first[c], lists.need_first[c + 1]):
                    u = lists.needs[at]
                    if chosen[u] != other[u]:
                        _join(part, v, u)
    for v in range(n):
        part[v] = _root(part, v)
    return part


@in_place_kernel
def _join(part: NDArray[np.int64], u: int, v: int) -> None:
    u, v = _root(part, u), _root(part, v)
    part[max(u, v)] = min(u, v)


@in_place_kernel
def _root(part: NDArray[np.int64], v: int) -> int:
    while part[v] != v:
        part[v] = part[part[v]]
        v = part[v]
    return v


@kernel
def order_of(
    lists: Lists, chosen: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return a random order that an acyclic selection fits."""
    order, work = np.arange(len(chosen)), np.zeros(1, np.int64)
    order_anew(lists, State(order, positions_along(order), chosen.copy()), rng, work)
    return order
