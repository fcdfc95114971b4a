"""Taking over what another selection does better, part by part.

Where two selections differ, the variables fall apart into parts: two of them belong together if one
is a parent of the other in either selection. A part whose score is better in the other selection is
taken over if no cycle arises (the idea of partition crossover: Whitley, Hains and Howe 2009, for
tours). So what several searches found in different places adds up.
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel, overwrite

from .climb import order_anew
from .decoding import LEAST, Lists, positions_along, score_of
from .iterated_local_search import copy_of, take_over
from .moves import State


@kernel
def adopt(
    lists: Lists,
    order: NDArray[np.int64],
    values: NDArray[np.int64],
    chosen: NDArray[np.int64],
    other: NDArray[np.int64],
    rng: np.random.Generator,
) -> float:
    """Take over the parts that another selection does better, in place; return what that wins.

    The choices keep their values: parts that read others are not taken over.
    """
    n = len(order)
    work = np.zeros(1, np.int64)
    state = State(order.copy(), positions_along(lists, order, values), values.copy(), chosen.copy())
    part = parts_of_difference(lists, chosen, other)
    won = 0.0
    for root in range(n):
        if part[root] != root or chosen[root] == other[root]:
            continue
        trial, gain, possible = copy_of(state), 0.0, True
        for v in range(n):
            if part[v] == root:
                gain += score_of(lists.scores, other[v]) - score_of(lists.scores, trial.chosen[v])
                possible = possible and reads_truth(lists, trial, other[v])
                trial.chosen[v] = other[v]
        if gain > LEAST and possible and order_anew(lists, trial, rng, work):
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
                    if u < n and chosen[u] != other[u]:
                        _join(part, v, u)
    for v in range(n):
        part[v] = _root(part, v)
    return part


@kernel
def _join(part: NDArray[np.int64], u: int, v: int) -> None:
    u, v = _root(part, u), _root(part, v)
    part[max(u, v)] = min(u, v)


@kernel
def _root(part: NDArray[np.int64], v: int) -> int:
    while part[v] != v:
        part[v] = part[part[v]]
        v = part[v]
    return v


@kernel
def reads_truth(lists: Lists, state: State, candidate: int) -> bool:
    """Tell whether all literals that a candidate reads are true."""
    if candidate >= 0:
        for at in range(lists.need_first[candidate], lists.need_first[candidate + 1]):
            node = lists.needs[at]
            if node >= len(state.order) and state.position[node] >= 0:
                return False
    return True


@kernel
def order_of(
    lists: Lists,
    chosen: NDArray[np.int64],
    values: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return a random order that an acyclic selection fits."""
    order, work = np.arange(len(chosen)), np.zeros(1, np.int64)
    position = positions_along(lists, order, values)
    order_anew(lists, State(order, position, values.copy(), chosen.copy()), rng, work)
    return order
