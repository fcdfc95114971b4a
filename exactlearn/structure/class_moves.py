"""Moves between Markov equivalence classes: Chickering's Insert and Delete, kept up to date.

The current class is its completed pattern (CPDAG) ``graph``: ``graph[a, b]`` where an edge may be
followed from ``a`` to ``b``, so that ``a - b`` stands twice and ``a -> b`` once. With ``N_y`` and
``Pa_y`` the neighbours (by undirected edges) and the parents of ``y``, and ``NA`` the neighbours of
``y`` that are adjacent to ``x``, a move is a triple ``(x, y, C)`` with ``C`` a clique in ``N_y``:

- Insert, ``x`` and ``y`` not adjacent: ``C`` holds all of ``NA`` and some neighbours not adjacent
  to ``x``. Valid when every path from ``y`` to ``x`` along ``graph`` meets ``C``.
- Delete, ``x -> y`` or ``x - y``: ``C`` lies in ``NA``. Always valid.

With ``P = Pa_y + C - x`` some member of the class has ``y`` with the parents ``P`` (and ``x``); a
move adds the arc ``x -> y`` to it, or takes it away, and gains the difference of the two scores of
``y``. The classes reached are the inclusion boundary (Chickering 2002, "Optimal structure
identification with greedy search", theorems 15 and 17; docs/theory/equivalence.md). Two Insert
moves reach the same class only when they join the same pair from both ends and add no v-structure:
``Pa_y + C`` and ``Pa_x + C'`` hold common neighbours only. Of Delete, ``x - y`` is looked at from
one end.

What a move gains depends on the surroundings of ``y`` and on the adjacencies between ``x`` and
these: gains are computed anew only for pairs for which a step has changed something of that. Paths
are looked for at each step.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.hash_tables import find_row
from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.scoring.set_values import KnownValues, SetKeys

INSERT, DELETE, EITHER = range(3)
"""Which moves are looked at."""

ENDED, MISSING, FULL, PAUSED = range(4)
"""Why a kernel returned: no move improves, values are missing, no room for moves, time to look."""

MOVES, ASKED, STEPS, BOUNDARY, CHOSEN = range(5)
"""What is numbered: moves, sets asked for, steps taken, improving classes, the move chosen."""


class Rules(NamedTuple):
    """How a search moves.

    Attributes
    ----------
    kinds
        Which moves are looked at.
    share
        Share of the improving classes that is drawn at each step; the best of these is taken.
    most_parents
        Most parents of a family that an insertion scores.
    least_gain
        What a move has to gain.
    steps
        Most steps between two looks at the clock.
    """

    kinds: int
    share: float
    most_parents: int
    least_gain: float
    steps: int


class State(NamedTuple):
    """A class, its improving moves, and scratch space.

    Attributes
    ----------
    graph, dag
        The completed pattern, and a member of the class, shape (variables, variables).
    dirty
        Pairs ``x, y`` whose moves are to be found anew.
    ends, sets, gains, is_plain
        The moves: ``x`` and ``y``; ``P``; the gain; whether it inserts without new v-structure.
    asked
        Sets whose values are missing.
    numbers
        See :data:`MOVES`.
    total
        Score of the class less that of the empty network.
    key, squares, lists, heads, valid
        Scratch space: a set; matrices and lists of variables; lists of edges and of moves.
    """

    graph: NDArray[np.bool_]
    dag: NDArray[np.bool_]
    dirty: NDArray[np.bool_]
    ends: NDArray[np.int32]
    sets: SetKeys
    gains: NDArray[np.float64]
    is_plain: NDArray[np.bool_]
    asked: SetKeys
    numbers: NDArray[np.int64]
    total: NDArray[np.float64]
    key: SetKeys
    squares: NDArray[np.int8]
    lists: NDArray[np.int64]
    heads: NDArray[np.int32]
    valid: NDArray[np.int64]


def new_state(n: int, words: int, asked: int) -> State:
    """Return the empty class of ``n`` variables, all of its moves still to be found."""
    room = n * n + 64
    return State(
        graph=np.zeros((n, n), np.bool_),
        dag=np.zeros((n, n), np.bool_),
        dirty=np.ones((n, n), np.bool_),
        ends=np.zeros((room, 2), np.int32),
        sets=np.zeros((room, words), np.uint32),
        gains=np.zeros(room),
        is_plain=np.zeros(room, np.bool_),
        asked=np.zeros((asked + 4, words), np.uint32),
        numbers=np.zeros(5, np.int64),
        total=np.zeros(1),
        key=np.zeros((1, words), np.uint32),
        squares=np.zeros((3, n, n), np.int8),
        lists=np.zeros((4, n + 1), np.int64),
        heads=np.zeros(n * n, np.int32),
        valid=np.zeros(room, np.int64),
    )


def begin(state: State) -> None:
    """Go back to the empty class."""
    state.graph[:], state.dag[:], state.dirty[:] = False, False, True
    state.numbers[:], state.total[:] = 0, 0.0


def with_room(state: State) -> State:
    """Return the state with room for twice as many moves."""
    names = ("ends", "sets", "gains", "is_plain", "valid")
    moves: dict[str, Any] = {name: getattr(state, name) for name in names}
    longer = {name: np.concatenate([old, np.zeros_like(old)]) for name, old in moves.items()}
    return state._replace(**longer)


@kernel
def advance(state: State, known: KnownValues, rules: Rules, rng: np.random.Generator) -> int:
    """Take steps until no move improves, or something is wanted; return why.

    Parameters
    ----------
    state, known, rules
        The class and its moves, the values of sets, and how to move.
    rng
        Draws.
    """
    for _ in range(rules.steps):
        reason = find_moves(state, known, rules)
        if reason != PAUSED:
            return reason
        classes = keep_valid(state)
        if classes == 0:
            return ENDED
        take(state, _drawn(state, classes, rules.share, rng))
    return PAUSED


@in_place_kernel
def find_moves(state: State, known: KnownValues, rules: Rules) -> int:
    """Find the improving moves of all dirty pairs, but for the paths that Insert asks for."""
    graph, numbers = state.graph, state.numbers
    n, kept = len(graph), numbers[MOVES]
    numbers[ASKED] = 0
    for y in range(n):
        for x in range(n):
            if x == y or not state.dirty[x, y]:
                continue
            if graph[x, y] or graph[y, x]:
                if rules.kinds != INSERT and graph[x, y] and (x < y or not graph[y, x]):
                    _find_pair(state, known, rules, x, y, True)
            elif rules.kinds != DELETE:
                _find_pair(state, known, rules, x, y, False)
            if numbers[MOVES] < 0:
                numbers[MOVES] = kept
                return FULL
            if numbers[ASKED] > len(state.asked) - 4:
                numbers[MOVES] = kept
                return MISSING
    if numbers[ASKED] > 0:
        numbers[MOVES] = kept
        return MISSING
    for a in range(n):
        for b in range(n):
            state.dirty[a, b] = False
    return PAUSED


@in_place_kernel
def _find_pair(
    state: State, known: KnownValues, rules: Rules, x: int, y: int, deletes: bool
) -> None:
    """Find the improving moves of a pair: one for each clique ``C``."""
    graph, key, free, chosen = state.graph, state.key, state.lists[0], state.lists[1]
    n_free, size, is_plain = 0, 0, not deletes
    for w in range(key.shape[1]):
        key[0, w] = 0
    for v in range(len(graph)):
        if not graph[v, y] or v == x:
            continue
        close = graph[v, x] or graph[x, v]
        if not graph[y, v]:  # a parent
            is_plain = is_plain and close
            size += 1
            _toggle(key, v)
        elif close and not deletes:  # of NA, which has to be a clique
            if not _fits(graph, key, y, v):
                return
            size += 1
            _toggle(key, v)
        elif close or not deletes:
            free[n_free] = v
            n_free += 1
    _evaluate(state, known, rules, x, y, deletes, size, is_plain)
    depth, at = 0, 0
    while state.numbers[MOVES] >= 0 and state.numbers[ASKED] <= len(state.asked) - 4:
        if at < n_free:
            if _fits(graph, key, y, free[at]):
                chosen[depth] = at
                depth += 1
                _toggle(key, free[at])
                _evaluate(state, known, rules, x, y, deletes, size + depth, False)
            at += 1
        elif depth == 0:
            return
        else:
            depth -= 1
            at = chosen[depth]
            _toggle(key, free[at])
            at += 1


@in_place_kernel
def _toggle(key: SetKeys, v: int) -> None:
    key[0, v >> 5] ^= np.uint32(1) << np.uint32(v & 31)


@in_place_kernel
def _has(keys: SetKeys, i: int, v: int) -> bool:
    return bool((keys[i, v >> 5] >> np.uint32(v & 31)) & np.uint32(1))


@in_place_kernel
def _fits(graph: NDArray[np.bool_], key: SetKeys, y: int, v: int) -> bool:
    """Return whether ``v`` is adjacent to all neighbours of ``y`` in a set."""
    for u in range(len(graph)):
        if _has(key, 0, u) and graph[u, y] and graph[y, u] and not (graph[u, v] or graph[v, u]):
            return False
    return True


@in_place_kernel
def _evaluate(
    state: State,
    known: KnownValues,
    rules: Rules,
    x: int,
    y: int,
    deletes: bool,
    size: int,
    is_plain: bool,
) -> None:
    """Keep the move of a pair and the parents in ``state.key`` if it improves the score."""
    key, numbers = state.key, state.numbers
    if size >= rules.most_parents and not deletes:
        return
    gain = _value(state, known)
    _toggle(key, x)
    gain -= _value(state, known)
    _toggle(key, y)
    gain += _value(state, known)
    _toggle(key, x)
    gain -= _value(state, known)
    _toggle(key, y)
    gain = -gain if deletes else gain
    at = numbers[MOVES]
    if not gain > rules.least_gain:  # nor where a value is missing
        return
    if at == len(state.gains):
        numbers[MOVES] = -1
        return
    state.ends[at, 0], state.ends[at, 1] = x, y
    state.gains[at], state.is_plain[at] = gain, is_plain
    for w in range(key.shape[1]):
        state.sets[at, w] = key[0, w]
    numbers[MOVES] += 1


@in_place_kernel
def _value(state: State, known: KnownValues) -> float:
    """Return the value of the set in ``state.key``, or ask for it."""
    at = find_row(known.slots, known.sets, state.key, 0)
    if at >= 0:
        return float(known.values[at])
    for w in range(state.key.shape[1]):
        state.asked[state.numbers[ASKED], w] = state.key[0, w]
    state.numbers[ASKED] += 1
    return np.nan


@in_place_kernel
def keep_valid(state: State) -> int:
    """List one valid improving move for each class that can be reached, and count them."""
    graph, ends = state.graph, state.ends
    n, reached, plain = len(graph), state.squares[0], state.squares[1]
    first, heads, waiting = state.lists[0], state.heads, state.lists[1]
    _list_heads(graph, first, heads)
    for y in range(n):
        reached[y, y] = 0  # not searched yet
    count = 0
    for m in range(state.numbers[MOVES]):
        x, y = ends[m, 0], ends[m, 1]
        if not (graph[x, y] or graph[y, x]):
            if reached[y, y] == 0:
                _reach(first, heads, waiting, y, state.key, False, 0, reached[y])
            if reached[y, x] != 0:
                _reach(first, heads, waiting, y, state.sets, True, m, state.squares[2, 0])
                if state.squares[2, 0, x] != 0:
                    continue
            if state.is_plain[m]:
                plain[x, y] = 1
        state.valid[count] = m
        count += 1
    kept = 0
    for i in range(count):
        m = state.valid[i]
        x, y = ends[m, 0], ends[m, 1]
        if not (state.is_plain[m] and x > y and plain[y, x] != 0):
            state.valid[kept] = m
            kept += 1
    for a in range(n):
        for b in range(n):
            plain[a, b] = 0
    state.numbers[BOUNDARY] = kept
    return kept


@in_place_kernel
def _list_heads(
    graph: NDArray[np.bool_], first: NDArray[np.int64], heads: NDArray[np.int32]
) -> None:
    """List by variable where its edges may be followed to: from ``heads[first[a]]`` on."""
    count = 0
    for a in range(len(graph)):
        first[a] = count
        for b in range(len(graph)):
            if graph[a, b]:
                heads[count] = b
                count += 1
    first[len(graph)] = count


@in_place_kernel
def _reach(
    first: NDArray[np.int64],
    heads: NDArray[np.int32],
    waiting: NDArray[np.int64],
    y: int,
    sets: SetKeys,
    blocks: bool,
    m: int,
    reached: NDArray[np.int8],
) -> None:
    """Mark what is reached from ``y`` along edges, not through a set if there is one."""
    for v in range(len(reached)):
        reached[v] = 0
    reached[y], waiting[0], n_waiting = 1, y, 1
    while n_waiting > 0:
        n_waiting -= 1
        a = waiting[n_waiting]
        for i in range(first[a], first[a + 1]):
            b = heads[i]
            if reached[b] == 0 and not (blocks and _has(sets, m, b)):
                reached[b] = 1
                waiting[n_waiting] = b
                n_waiting += 1


@in_place_kernel
def _drawn(state: State, classes: int, share: float, rng: np.random.Generator) -> int:
    """Return the best move of a random share of the valid ones; of ties, the one found first."""
    valid, gains = state.valid, state.gains
    size = max(1, int(share * classes + 1e-9))
    best = -1
    for i in range(size):
        if size < classes:
            j = i + int(rng.random() * (classes - i))
            valid[i], valid[j] = valid[j], valid[i]
        m = valid[i]
        if best < 0 or gains[m] > gains[best] or (gains[m] == gains[best] and m < best):
            best = m
    return int(best)


@in_place_kernel
def take(state: State, m: int) -> None:
    """Go to the class that a move leads to, and mark the pairs whose moves may change."""
    x, y = state.ends[m, 0], state.ends[m, 1]
    state.total[0] += state.gains[m]
    state.numbers[STEPS] += 1
    old, labels, graph, dag = state.squares[0], state.squares[1], state.graph, state.dag
    n = len(graph)
    _orient(state, x, y, m)
    dag[x, y] = not dag[x, y]
    _label(dag, state.lists, labels)
    for a in range(n):
        for b in range(n):
            old[a, b] = graph[a, b]
    for a in range(n):
        for b in range(n):
            graph[a, b] = dag[a, b] or labels[b, a] == 2
    for b in range(n):
        changed, near_x, near_y = False, False, False
        for a in range(n):
            changed = changed or (old[a, b] != 0) != graph[a, b] or (old[b, a] != 0) != graph[b, a]
        near_x, near_y = graph[x, b], graph[y, b]
        both = near_x and near_y and graph[b, x] and graph[b, y]
        for a in range(n):
            if changed or both or (a == x and near_y) or (a == y and near_x):
                state.dirty[a, b] = True
    _drop_dirty(state)


@in_place_kernel
def _drop_dirty(state: State) -> None:
    """Forget the moves of dirty pairs."""
    kept = 0
    for m in range(state.numbers[MOVES]):
        if not state.dirty[state.ends[m, 0], state.ends[m, 1]]:
            state.ends[kept, 0], state.ends[kept, 1] = state.ends[m, 0], state.ends[m, 1]
            state.gains[kept], state.is_plain[kept] = state.gains[m], state.is_plain[m]
            for w in range(state.sets.shape[1]):
                state.sets[kept, w] = state.sets[m, w]
            kept += 1
    state.numbers[MOVES] = kept


@in_place_kernel
def _orient(state: State, x: int, y: int, m: int) -> None:
    """Find the member of the class where ``y`` has the parents of a move.

    Neighbours are visited by maximum cardinality search, the clique ``C`` first, then ``x`` if it
    is a neighbour, then ``y``; each edge leads to what is visited later. So the parents of each
    variable by undirected edges are a clique, and no v-structure is added.
    """
    graph, dag, count, order = state.graph, state.dag, state.lists[0], state.lists[1]
    n, done = len(graph), 0
    for v in range(n):
        count[v] = 0
        for u in range(n):
            dag[u, v] = graph[u, v] and not graph[v, u]
    while done < n:
        best, highest = -1, -1
        for v in range(n):
            if count[v] < 0:
                continue
            bonus = count[v]
            if graph[v, y] and graph[y, v] and _has(state.sets, m, v):
                bonus = 3 * n
            elif v == x and graph[x, y] and graph[y, x]:
                bonus = 2 * n + 1
            elif v == y:
                bonus = 2 * n
            if bonus > highest:
                best, highest = v, bonus
        order[done] = best
        done += 1
        count[best] = -1
        for v in range(n):
            if count[v] >= 0 and graph[best, v] and graph[v, best]:
                dag[best, v] = True
                count[v] += 1


@in_place_kernel
def _label(dag: NDArray[np.bool_], lists: NDArray[np.int64], labels: NDArray[np.int8]) -> None:
    """Label the arcs 1 where all members of the class have them, 2 where some are reversed.

    As :func:`exactlearn.graphs.equivalence.cpdag` does (Chickering 1995).
    """
    n, order = len(dag), lists[1]
    _sort(dag, lists)
    for a in range(n):
        for b in range(n):
            labels[a, b] = 0
    for i in range(n):
        child = order[i]
        for k in range(i - 1, -1, -1):
            x = order[k]
            if not dag[x, child] or labels[x, child] != 0:
                continue
            compels = False
            for w in range(n):
                if labels[w, x] == 1:
                    if dag[w, child]:
                        labels[w, child] = 1
                    else:
                        compels = True
            if not compels:
                for z in range(n):
                    compels = compels or (dag[z, child] and z != x and not dag[z, x])
                for p in range(n):
                    if dag[p, child] and labels[p, child] == 0:
                        labels[p, child] = 1 if compels else 2
            else:
                for p in range(n):
                    if dag[p, child]:
                        labels[p, child] = 1


@in_place_kernel
def _sort(dag: NDArray[np.bool_], lists: NDArray[np.int64]) -> None:
    """Sort the variables, parents first, into ``lists[1]``."""
    n, waiting, order, done = len(dag), lists[0], lists[1], 0
    for v in range(n):
        waiting[v] = 0
        for u in range(n):
            waiting[v] += dag[u, v]
        if waiting[v] == 0:
            order[done] = v
            done += 1
    at = 0
    while at < done:
        for v in range(n):
            if dag[order[at], v]:
                waiting[v] -= 1
                if waiting[v] == 0:
                    order[done] = v
                    done += 1
        at += 1
