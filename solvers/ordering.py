"""Good selections by local search over orders of the variables.

For a fixed order, and fixed values of the choices, each variable's best candidate with its parents
earlier in the order and its literals true is independent of the others. The search moves one
variable at a time to its best place in the order (Scanagatta et al. 2017, "Improved local search in
Bayesian networks structure learning", WINASOBS; Lee and van Beek 2017, MINOBS), one choice at a
time to its best value, and continues from a shaken copy of the best order. It proves nothing.

A candidate *needs* its parents and its literals: one bit set ``needs[c]``, parents first. What is
*there* for a variable is a bit set of the same shape. All kernels count the candidates they look at
in ``work[0]``, so that effort is bounded by counts and the same seed gives the same answer.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel
from exactlearn.solvers.components import Component

MISSING = -1e15
"""Stands for the score of a variable that has no consistent candidate."""

LEAST = 1e-9
"""Smallest improvement that counts as one."""


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
def needs_of_values(
    option_first: NDArray[np.int64], values: NDArray[np.int64], width: int, words: int
) -> NDArray[np.uint64]:
    """Return the bit set of the true literals and of no variable, shape (width,)."""
    there = np.zeros(width, np.uint64)
    for choice in range(len(values)):
        literal = option_first[choice] + values[choice]
        there[words + (literal >> 6)] |= np.uint64(1) << np.uint64(literal & 63)
    return there


@kernel
def first_inside(
    needs: NDArray[np.uint64],
    there: NDArray[np.uint64],
    begin: int,
    end: int,
    work: NDArray[np.int64],
) -> int:
    """Return the first candidate of a range that needs only what is there, or -1."""
    for c in range(begin, end):
        inside = True
        for w in range(needs.shape[1]):
            if needs[c, w] & ~there[w]:
                inside = False
                break
        if inside:
            work[0] += c - begin + 1
            return c
    work[0] += end - begin
    return -1


@kernel
def first_inside_with(
    needs: NDArray[np.uint64],
    there: NDArray[np.uint64],
    begin: int,
    end: int,
    word: int,
    bit: np.uint64,
    work: NDArray[np.int64],
) -> int:
    """Return the first such candidate that also needs one given bit, or -1."""
    for c in range(begin, end):
        if needs[c, word] & bit:
            inside = True
            for w in range(needs.shape[1]):
                if needs[c, w] & ~there[w]:
                    inside = False
                    break
            if inside:
                work[0] += c - begin + 1
                return c
    work[0] += end - begin
    return -1


@kernel
def score_of(scores: NDArray[np.float64], candidate: int) -> float:
    """Return a candidate's score, or that of a missing one."""
    return scores[candidate] if candidate >= 0 else MISSING


@kernel
def choose_along(
    first: NDArray[np.int64],
    scores: NDArray[np.float64],
    needs: NDArray[np.uint64],
    order: NDArray[np.int64],
    literals: NDArray[np.uint64],
    chosen: NDArray[np.int64],
    work: NDArray[np.int64],
) -> float:
    """Choose each variable's best candidate along an order, in place; return the total score."""
    there = literals.copy()
    total = 0.0
    for v in order:
        chosen[v] = first_inside(needs, there, first[v], first[v + 1], work)
        total += score_of(scores, chosen[v])
        there[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
    return total


@kernel
def place_by_weight(
    first: NDArray[np.int64],
    scores: NDArray[np.float64],
    needs: NDArray[np.uint64],
    weights: NDArray[np.float64],
    literals: NDArray[np.uint64],
) -> NDArray[np.int64]:
    """Order the variables: next comes the one that can be placed and misses the least.

    A variable misses ``1 - (weight of its candidates inside what is placed)``, and by the score it
    loses on its best candidate where that is a tie. With the values of a linear program's
    solution as weights this is a rounding of that solution.
    """
    n = len(first) - 1
    there = literals.copy()
    order = np.empty(n, np.int64)
    placed = np.zeros(n, np.bool_)
    missing = np.ones(n)
    best = np.full(n, -1, np.int64)
    done = np.zeros(len(scores), np.bool_)
    for at in range(n):
        pick = -1
        for v in range(n):
            if placed[v]:
                continue
            for c in range(first[v], first[v + 1]):
                if done[c] or (weights[c] <= 0.0 and best[v] >= 0 and c > best[v]):
                    continue
                inside = True
                for w in range(needs.shape[1]):
                    if needs[c, w] & ~there[w]:
                        inside = False
                        break
                if inside:
                    done[c] = True
                    missing[v] -= weights[c]
                    if best[v] < 0 or c < best[v]:
                        best[v] = c
            if pick < 0 or _comes_before(v, pick, best, missing, scores, first):
                pick = v
        order[at] = pick
        placed[pick] = True
        there[pick >> 6] |= np.uint64(1) << np.uint64(pick & 63)
    return order


@kernel
def _comes_before(
    v: int,
    other: int,
    best: NDArray[np.int64],
    missing: NDArray[np.float64],
    scores: NDArray[np.float64],
    first: NDArray[np.int64],
) -> bool:
    if best[v] < 0 or best[other] < 0:
        return bool(best[v] >= 0 > best[other])
    if abs(missing[v] - missing[other]) > 1e-6:
        return bool(missing[v] < missing[other])
    lost, other_lost = (
        scores[first[v]] - scores[best[v]],
        scores[first[other]] - scores[best[other]],
    )
    return bool(lost < other_lost - LEAST)


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
            order[:], values[:], chosen[:] = trial, tried_values, picked


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
    n = len(order)
    here = 0
    while order[here] != v:
        here += 1
    word, bit = v >> 6, np.uint64(1) << np.uint64(v & 63)
    best_gain, best_place = LEAST, -1

    there = literals.copy()
    for at in range(here):
        there[order[at] >> 6] |= np.uint64(1) << np.uint64(order[at] & 63)
    own = chosen[v]
    others = 0.0
    left = there.copy()
    for at in range(here - 1, -1, -1):
        u = order[at]
        left[u >> 6] &= ~(np.uint64(1) << np.uint64(u & 63))
        left[word] |= bit
        end = chosen[u] if chosen[u] >= 0 else first[u + 1]
        better = first_inside_with(needs, left, first[u], end, word, bit, work)
        left[word] &= ~bit
        if better >= 0:
            others += scores[better] - score_of(scores, chosen[u])
        if own >= 0 and needs[own, u >> 6] & (np.uint64(1) << np.uint64(u & 63)):
            own = first_inside(needs, left, own + 1, first[v + 1], work)
        gain = others + score_of(scores, own) - score_of(scores, chosen[v])
        if gain > best_gain:
            best_gain, best_place = gain, at

    own = chosen[v]
    others = 0.0
    for at in range(here + 1, n):
        u = order[at]
        if chosen[u] >= 0 and needs[chosen[u], word] & bit:
            next_best = first_inside(needs, there, chosen[u] + 1, first[u + 1], work)
            others += score_of(scores, next_best) - scores[chosen[u]]
        there[u >> 6] |= np.uint64(1) << np.uint64(u & 63)
        ubit = np.uint64(1) << np.uint64(u & 63)
        end = own if own >= 0 else first[v + 1]
        better = first_inside_with(needs, there, first[v], end, u >> 6, ubit, work)
        if better >= 0:
            own = better
        gain = others + score_of(scores, own) - score_of(scores, chosen[v])
        if gain > best_gain:
            best_gain, best_place = gain, at

    if best_place < 0:
        return False
    move(order, here, best_place)
    choose_along(first, scores, needs, order, literals, chosen, work)
    return True


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
                chosen[:] = trial
            else:
                flip_value(literals, words, option_first[choice], value, values[choice])
    return improved


@kernel
def flip_value(literals: NDArray[np.uint64], words: int, start: int, old: int, new: int) -> None:
    """Make one choice's old literal false and its new one true, in place."""
    before, after = start + old, start + new
    literals[words + (before >> 6)] &= ~(np.uint64(1) << np.uint64(before & 63))
    literals[words + (after >> 6)] |= np.uint64(1) << np.uint64(after & 63)
