"""Good selections by local search over orders of the variables.

For a fixed order, and fixed values of the choices, each variable's best candidate with its parents
earlier in the order and its literals true is independent of the others. The search moves one
variable at a time to its best place in the order (Scanagatta et al. 2017, "Improved local search in
Bayesian networks structure learning", WINASOBS; Lee and van Beek 2017, MINOBS), one choice at a
time to its best value, and continues from a shaken copy of the best order. It proves nothing.

The bit sets ``needs``, ``there`` and the count ``work`` are those of
:mod:`exactlearn.solvers.placing`.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel, overwrite
from exactlearn.solvers.components import Component
from exactlearn.solvers.placing import (
    LEAST,
    choose_along,
    first_inside,
    first_inside_with,
    needs_of_values,
    place_by_weight,
    score_of,
)


class OrderSearch:
    """Local search over the orders of one component, from any order and choice values.

    Parameters
    ----------
    component
        The piece of the problem to search.
    rng
        Source of randomness.
    """

    def __init__(self, component: Component, rng: np.random.Generator) -> None:
        self.component = component
        self.rng = rng
        self.words = component.parents.shape[1]
        self.needs = np.ascontiguousarray(np.hstack([component.parents, component.reads]))
        self._arrays = (component.first, component.scores, self.needs)

    def improve(
        self, order: NDArray[np.int64], values: NDArray[np.int64], effort: int, shakes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the best selection found and its choice values, or ``None`` if there is none.

        Parameters
        ----------
        order, values
            Where to begin, shapes (n,) and (c,).
        effort
            About how many candidates to look at.
        shakes
            How often at most to continue from a shaken copy of the best order.
        """
        component = self.component
        order, values = order.copy(), values.copy()
        chosen = np.full(component.n_variables, -1, np.int64)
        climb_with_shakes(
            *self._arrays,
            self.words,
            component.option_first,
            order,
            values,
            chosen,
            effort,
            shakes,
            self.rng,
        )
        return None if chosen.min() < 0 else (chosen, values)

    def greedy_order(
        self, values: NDArray[np.int64], weights: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Return an order that places next the variable that misses least weight (see kernel)."""
        option_first = self.component.option_first
        there = needs_of_values(option_first, values, self.needs.shape[1], self.words)
        return place_by_weight(*self._arrays, weights, there)


@kernel
def climb_with_shakes(
    first: NDArray[np.int64],
    scores: NDArray[np.float64],
    needs: NDArray[np.uint64],
    words: int,
    option_first: NDArray[np.int64],
    order: NDArray[np.int64],
    values: NDArray[np.int64],
    chosen: NDArray[np.int64],
    effort: int,
    shakes: int,
    rng: np.random.Generator,
) -> None:
    """Climb from an order and values, then from shaken copies of the best; all in place."""
    work = np.zeros(1, np.int64)
    best = climb(first, scores, needs, words, option_first, order, values, chosen, work, rng)
    for _ in range(shakes):
        if work[0] > effort:
            break
        trial, tried_values, picked = order.copy(), values.copy(), chosen.copy()
        shake(trial, tried_values, option_first, rng)
        total = climb(
            first, scores, needs, words, option_first, trial, tried_values, picked, work, rng
        )
        if total >= best - LEAST:
            best = max(best, total)
            overwrite(order, trial)
            overwrite(values, tried_values)
            overwrite(chosen, picked)


@kernel
def shake(
    order: NDArray[np.int64],
    values: NDArray[np.int64],
    option_first: NDArray[np.int64],
    rng: np.random.Generator,
) -> None:
    """Move a few random variables to random places, and change a choice now and then."""
    n = len(order)
    for _ in range(2 + n // 16):
        if n > 1:
            move(order, int(rng.random() * n), int(rng.random() * n))
    for _ in range(min(len(values), 1 + len(values) // 8)):
        choice = int(rng.random() * len(values))
        options = option_first[choice + 1] - option_first[choice]
        values[choice] = int(rng.random() * options)


@kernel
def move(order: NDArray[np.int64], source: int, target: int) -> None:
    """Take the variable at one place out of the order and insert it at another, in place."""
    v = order[source]
    step = 1 if target > source else -1
    for at in range(source, target, step):
        order[at] = order[at + step]
    order[target] = v


@kernel
def climb(
    first: NDArray[np.int64],
    scores: NDArray[np.float64],
    needs: NDArray[np.uint64],
    words: int,
    option_first: NDArray[np.int64],
    order: NDArray[np.int64],
    values: NDArray[np.int64],
    chosen: NDArray[np.int64],
    work: NDArray[np.int64],
    rng: np.random.Generator,
) -> float:
    """Move variables and change choices while that helps, in place; return the total score."""
    literals = needs_of_values(option_first, values, needs.shape[1], words)
    total = choose_along(first, scores, needs, order, literals, chosen, work)
    improved = True
    while improved:
        improved = False
        for v in shuffled(len(order), rng):
            improved |= insert_best(first, scores, needs, order, literals, chosen, v, work)
        if len(values):
            improved |= change_choices(
                first, scores, needs, words, option_first, order, values, literals, chosen, work
            )
    total = 0.0
    for v in range(len(chosen)):
        total += score_of(scores, chosen[v])
    return total


@kernel
def shuffled(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random permutation."""
    items = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        items[i], items[j] = items[j], items[i]
    return items


@kernel
def insert_best(
    first: NDArray[np.int64],
    scores: NDArray[np.float64],
    needs: NDArray[np.uint64],
    order: NDArray[np.int64],
    literals: NDArray[np.uint64],
    chosen: NDArray[np.int64],
    v: int,
    work: NDArray[np.int64],
) -> bool:
    """Move one variable to the place in the order where the total is best, if that is better."""
    here = 0
    there = literals.copy()
    while order[here] != v:
        there[order[here] >> 6] |= np.uint64(1) << np.uint64(order[here] & 63)
        here += 1
    gain, place = _best_earlier(first, scores, needs, order, there, chosen, here, work)
    later_gain, later = _best_later(first, scores, needs, order, there, chosen, here, work)
    if later_gain > gain:
        gain, place = later_gain, later
    if gain <= LEAST:
        return False
    move(order, here, place)
    choose_along(first, scores, needs, order, literals, chosen, work)
    return True


@kernel
def _best_earlier(
    first: NDArray[np.int64],
    scores: NDArray[np.float64],
    needs: NDArray[np.uint64],
    order: NDArray[np.int64],
    there: NDArray[np.uint64],
    chosen: NDArray[np.int64],
    here: int,
    work: NDArray[np.int64],
) -> tuple[float, int]:
    """Return the best gain, and its place, of moving a variable to the front of others.

    Those it passes may take it as a parent; it loses them.
    """
    v = order[here]
    word, bit = v >> 6, np.uint64(1) << np.uint64(v & 63)
    left, own, others = there.copy(), chosen[v], 0.0
    best, place = 0.0, here
    for at in range(here - 1, -1, -1):
        u = order[at]
        passed = np.uint64(1) << np.uint64(u & 63)
        left[u >> 6] &= ~passed
        left[word] |= bit
        end = chosen[u] if chosen[u] >= 0 else first[u + 1]
        better = first_inside_with(needs, left, first[u], end, word, bit, work)
        left[word] &= ~bit
        if better >= 0:
            others += scores[better] - score_of(scores, chosen[u])
        if own >= 0 and needs[own, u >> 6] & passed:
            own = first_inside(needs, left, own + 1, first[v + 1], work)
        gain = others + score_of(scores, own) - score_of(scores, chosen[v])
        if gain > best:
            best, place = gain, at
    return best, place


@kernel
def _best_later(
    first: NDArray[np.int64],
    scores: NDArray[np.float64],
    needs: NDArray[np.uint64],
    order: NDArray[np.int64],
    there: NDArray[np.uint64],
    chosen: NDArray[np.int64],
    here: int,
    work: NDArray[np.int64],
) -> tuple[float, int]:
    """Return the best gain, and its place, of moving a variable behind others.

    It may take those it passes as parents; they lose it.
    """
    v = order[here]
    word, bit = v >> 6, np.uint64(1) << np.uint64(v & 63)
    reached, own, others = there.copy(), chosen[v], 0.0
    best, place = 0.0, here
    for at in range(here + 1, len(order)):
        u = order[at]
        if chosen[u] >= 0 and needs[chosen[u], word] & bit:
            left_with = first_inside(needs, reached, chosen[u] + 1, first[u + 1], work)
            others += score_of(scores, left_with) - scores[chosen[u]]
        passed = np.uint64(1) << np.uint64(u & 63)
        reached[u >> 6] |= passed
        end = own if own >= 0 else first[v + 1]
        better = first_inside_with(needs, reached, first[v], end, u >> 6, passed, work)
        if better >= 0:
            own = better
        gain = others + score_of(scores, own) - score_of(scores, chosen[v])
        if gain > best:
            best, place = gain, at
    return best, place


@kernel
def change_choices(
    first: NDArray[np.int64],
    scores: NDArray[np.float64],
    needs: NDArray[np.uint64],
    words: int,
    option_first: NDArray[np.int64],
    order: NDArray[np.int64],
    values: NDArray[np.int64],
    literals: NDArray[np.uint64],
    chosen: NDArray[np.int64],
    work: NDArray[np.int64],
) -> bool:
    """Give each choice in turn its best value for the order, in place; tell if that helped."""
    best = 0.0
    for v in range(len(chosen)):
        best += score_of(scores, chosen[v])
    improved = False
    trial = chosen.copy()
    for choice in range(len(values)):
        old = values[choice]
        for value in range(option_first[choice + 1] - option_first[choice]):
            if value == old:
                continue
            flip_value(literals, words, option_first[choice], values[choice], value)
            total = choose_along(first, scores, needs, order, literals, trial, work)
            if total > best + LEAST:
                best, improved = total, True
                values[choice] = value
                overwrite(chosen, trial)
            else:
                flip_value(literals, words, option_first[choice], value, values[choice])
    return improved


@kernel
def flip_value(literals: NDArray[np.uint64], words: int, start: int, old: int, new: int) -> None:
    """Make one choice's old literal false and its new one true, in place."""
    before, after = start + old, start + new
    literals[words + (before >> 6)] &= ~(np.uint64(1) << np.uint64(before & 63))
    literals[words + (after >> 6)] |= np.uint64(1) << np.uint64(after & 63)
