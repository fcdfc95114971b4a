"""Choosing candidates along an order of the variables, and orders that a linear program suggests.

A candidate *needs* its parents and its literals: one bit set ``needs[c]``, parents first. What is
*there* for a variable is a bit set of the same shape. All kernels count the candidates they look at
in ``work[0]``, so that effort is bounded by counts and the same seed gives the same answer.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn.kernel import kernel

MISSING = -1e15
"""Stands for the score of a variable that has no consistent candidate."""

LEAST = 1e-9
"""Smallest difference of scores that counts as one."""


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
