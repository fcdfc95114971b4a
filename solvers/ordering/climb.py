"""Climbing by insertions, where only what a change touches is looked at again.

The variables to look at wait in a queue for their best place. After a change come those whose
candidate changed, those they may take as parents, and the relatives that were passed. A
perturbation changes a few neighbouring things, so climbing back costs as much as its surroundings,
not as much as the problem.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel

from .decoding import Lists, first_before, score_of
from .moves import Plan, State, choose_again, insert_best, move, needs_node


class Queue(NamedTuple):
    """Variables to look at, first in, first out, none twice: a ring with its head and length."""

    ring: NDArray[np.int64]
    waits: NDArray[np.bool_]
    head_length: NDArray[np.int64]


@kernel
def empty_queue(lists: Lists) -> Queue:
    """Return a queue for the variables of a component."""
    size = len(lists.first) - 1
    return Queue(np.empty(size, np.int64), np.zeros(size, np.bool_), np.zeros(2, np.int64))


@in_place_kernel
def push(queue: Queue, node: int) -> None:
    """Let a variable wait unless it does."""
    if not queue.waits[node]:
        queue.waits[node] = True
        queue.ring[(queue.head_length[0] + queue.head_length[1]) % len(queue.ring)] = node
        queue.head_length[1] += 1


@in_place_kernel
def pop(queue: Queue) -> int:
    """Take the variable that waited longest."""
    head = queue.head_length[0]
    node = queue.ring[head]
    queue.waits[node] = False
    queue.head_length[0] = (head + 1) % len(queue.ring)
    queue.head_length[1] -= 1
    return int(node)


@in_place_kernel
def push_changed(lists: Lists, state: State, queue: Queue, v: int, old: int) -> None:
    """Let those wait who may win by a variable's change of candidates.

    They are those who could serve it by coming earlier, if it lost, and those it needs no more.
    """
    new = state.chosen[v]
    if new == old:
        return
    push(queue, v)
    if score_of(lists.scores, new) < score_of(lists.scores, old):
        for at in range(lists.source_first[v], lists.source_first[v + 1]):
            if state.position[lists.sources[at]] > state.position[v]:
                push(queue, lists.sources[at])
    if old >= 0:
        for at in range(lists.need_first[old], lists.need_first[old + 1]):
            if not needs_node(lists.need_first, lists.needs, new, lists.needs[at]):
                push(queue, lists.needs[at])


@in_place_kernel
def push_moved(lists: Lists, state: State, queue: Queue, v: int, here: int) -> None:
    """Let those wait who may win by a variable's move away from a place."""
    there = state.position[v]
    push(queue, v)
    if there > here:
        end = state.chosen[v] if state.chosen[v] >= 0 else lists.first[v + 1]
        for c in range(lists.first[v], end):
            _push_only_missing(lists, state, queue, c, there)
        return
    for arc in range(lists.arc_first[v], lists.arc_first[v + 1]):
        u = lists.arc_child[arc]
        if there < state.position[u] <= here:
            push(queue, u)
            for at in range(lists.arc_rows_first[arc], lists.arc_rows_first[arc + 1]):
                c = lists.arc_rows[at]
                if 0 <= state.chosen[u] <= c:
                    break
                _push_only_missing(lists, state, queue, c, state.position[u])


@in_place_kernel
def _push_only_missing(lists: Lists, state: State, queue: Queue, c: int, place: int) -> None:
    """Let a variable wait without which a candidate could be chosen."""
    only = -1
    for at in range(lists.need_first[c], lists.need_first[c + 1]):
        if state.position[lists.needs[at]] > place:
            if only >= 0:
                return
            only = lists.needs[at]
    if only >= 0:
        push(queue, only)


@in_place_kernel
def force(
    lists: Lists, state: State, queue: Queue, v: int, place: int, work: NDArray[np.int64]
) -> None:
    """Move a variable to a place, whatever that costs, and choose anew where that matters."""
    here = state.position[v]
    move(state, v, place)
    low, high = min(here, place), max(here, place)
    for arc in range(lists.arc_first[v], lists.arc_first[v + 1]):
        u = lists.arc_child[arc]
        if low <= state.position[u] <= high:
            choose_and_push(lists, state, queue, u, work)
    choose_and_push(lists, state, queue, v, work)
    push_moved(lists, state, queue, v, here)


@in_place_kernel
def choose_and_push(
    lists: Lists, state: State, queue: Queue, v: int, work: NDArray[np.int64]
) -> None:
    """Choose a variable's best candidate, and let those wait who may win by the change."""
    old = state.chosen[v]
    choose_again(lists, state, v, work)
    push_changed(lists, state, queue, v, old)


@kernel
def push_all(queue: Queue, rng: np.random.Generator) -> None:
    """Let all variables wait, in random order."""
    nodes = np.arange(len(queue.waits))
    for i in range(len(nodes) - 1, -1, -1):
        j = int(rng.random() * (i + 1))
        nodes[i], nodes[j] = nodes[j], nodes[i]
        push(queue, nodes[i])


@in_place_kernel
def climb(
    lists: Lists,
    state: State,
    queue: Queue,
    earlier: Plan,
    later: Plan,
    work: NDArray[np.int64],
    until: int,
) -> None:
    """Move variables while what waits helps, in place.

    After so many candidates looked at, the rest is left waiting.
    """
    while queue.head_length[1] > 0 and work[0] < until:
        node = pop(queue)
        here, old = state.position[node], state.chosen[node]
        sign, passed = insert_best(lists, state, node, earlier, later, work)
        if sign != 0:
            plan = earlier if sign < 0 else later
            for k in range(passed):
                push_changed(lists, state, queue, plan.child[k], plan.candidate[k])
            push_changed(lists, state, queue, node, old)
            push_moved(lists, state, queue, node, here)


@kernel
def order_anew(
    lists: Lists, state: State, rng: np.random.Generator, work: NDArray[np.int64]
) -> bool:
    """Take a random order that the selection fits, and better candidates where it allows them.

    Orders of one selection differ in what they allow next; none loses anything. Return whether
    there is one; if not, the state's order is spoilt.
    """
    n = len(state.order)
    need_first, needs, chosen = lists.need_first, lists.needs, state.chosen
    child_first, wanting = np.zeros(n + 2, np.int64), np.zeros(n, np.int64)
    # count each variable's parents and children in the selection
    for v in range(n):
        if chosen[v] >= 0:
            for at in range(need_first[chosen[v]], need_first[chosen[v] + 1]):
                child_first[needs[at] + 2] += 1
                wanting[v] += 1
    for v in range(2, n + 2):
        child_first[v] += child_first[v - 1]
    children = np.empty(child_first[n + 1], np.int64)
    # list the children, and the variables without parents
    ready, n_ready = np.empty(n, np.int64), 0
    for v in range(n):
        if wanting[v] == 0:
            ready[n_ready] = v
            n_ready += 1
            continue
        for at in range(need_first[chosen[v]], need_first[chosen[v] + 1]):
            children[child_first[needs[at] + 1]] = v
            child_first[needs[at] + 1] += 1
    # place one that is ready at random, which may make its children ready
    for place in range(n):
        if n_ready == 0:
            return False
        pick = int(rng.random() * n_ready)
        v = ready[pick]
        n_ready -= 1
        ready[pick] = ready[n_ready]
        state.order[place], state.position[v] = v, place
        for at in range(child_first[v], child_first[v + 1]):
            wanting[children[at]] -= 1
            if wanting[children[at]] == 0:
                ready[n_ready] = children[at]
                n_ready += 1
    # take better candidates that the order allows
    for v in range(n):
        end = chosen[v] if chosen[v] >= 0 else lists.first[v + 1]
        better = first_before(
            need_first, needs, state.position, lists.first[v], end, state.position[v], work
        )
        chosen[v] = better if better >= 0 else chosen[v]
    return True
