"""Best-first search for the parent sets of one child.

The allowed parents are put in order, those that gain most alone first; every parent set is then
reached once, by adding parents in that order. A queue holds the sets next to those that were
scored, ordered by an estimate of their scores (the BIC* of Scanagatta, de Campos, Corani and
Zaffalon 2015, "Learning Bayesian networks with thousands of variables", with terms for pairs).
With ``L`` the likelihood part of a score, that is the score plus its penalty, and
``g(y) = L(y) - L()``::

    L(P + y) = L(P) + max(0, g(y) + sum over z in P of [L(y, z) - L() - g(y) - g(z)])

where the sum runs over the pairs that were scored. A penalty is taken to be proportional to ``q``,
as that of the likelihood scores is; of a score without penalty, to be half a logarithm of the rows
of each configuration for each free parameter, ``(r - 1) / 2 q log(1 + N / q)``. A set must exceed
the best score of its subsets to be of use. So it is worth its estimate less most of the best score
known of these: neighbours of the best set, which are mostly dominated, do not crowd out the sets
that other orders of the variables need.

Estimates decide about the order only: every score is exact, and a branch is left out only where the
bounds of :mod:`exactlearn.scoring.set_scores` close it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel, kernel
from exactlearn.scoring.candidate_tree import Child, Queue, Tree, pop, push
from exactlearn.scoring.set_scores import ceiling, count_set, lacks_entropy, prefix_sum, sum_counts
from exactlearn.scoring.set_tables import Rows, Stack
from exactlearn.scoring.terms import Terms, find

BATCH = 32
"""Sets that leave the queue together and are scored parent by parent, which shares tables."""
EXPAND = -1
"""Stands in the queue for the place of a parent: the node's neighbours are to be queued."""
GAIN_WEIGHT = 0.9
"""Weight of what is gained over the best subset, and the rest of the score itself."""
NODES, EXPANDED, QUEUED, SCORED, DROPPED = range(5)
"""What a search counts: nodes, nodes that were queued, the queue, tables, what was given up."""


@in_place_kernel
def _family(child: Child, tree: Tree, node: int, place: int) -> int:
    """Write the child and its parents, the ones added last first: node -1 is above the root."""
    subset, at = child.family, 1
    subset[0] = child.child
    if place >= 0:
        subset[at] = child.parents[place]
        at += 1
    while node > 0:
        subset[at] = child.parents[tree.place[node]]
        node = tree.above[node]
        at += 1
    for u in range(len(child.required)):
        subset[at] = child.required[u]
        at += 1
    return at


@in_place_kernel
def _best_part(child: Child, tree: Tree, node: int, place: int) -> float:
    """Return the highest known score of a proper subset of a node's parents and one more."""
    best = tree.best[node]
    if tree.depth[node] > 0:
        best = max_known(best, child.single[place])
    if place < len(child.pair):
        while node > 0:
            best = max_known(best, child.pair[tree.place[node], place])
            node = tree.above[node]
    return float(best)


@in_place_kernel
def max_known(value: float, other: float) -> float:
    """Return the larger of a number and another that may be not-a-number."""
    return other if other > value else value


@in_place_kernel
def _score_node(
    child: Child,
    tree: Tree,
    node: int,
    place: int,
    rows: Rows,
    stack: Stack,
    terms: Terms,
    numbers: NDArray[np.int64],
) -> int:
    """Score a node's parents and one more; return the new node, or -1 where bounds close it."""
    r, slack = rows.cardinalities[child.child], child.slack
    added = rows.cardinalities[child.parents[place]]
    space = tree.space[node] * added
    best = _best_part(child, tree, node, place)
    at, own_at = find(terms.sizes, space * r), find(terms.sizes, space)
    penalty = terms.penalty[at, r]
    if ceiling(terms.rate[r], penalty, tree.cells[node]) + slack <= best:
        return -1
    size, functions = _family(child, tree, node, place), terms.functions
    found, cells = count_set(child.family[:size], rows, stack)
    own = prefix_sum(size - 1, stack, functions, terms.function[own_at, terms.configuration[r]])
    numbers[SCORED] += 1
    if terms.has_entropy and lacks_entropy(tree.own[node] - own, penalty, added, slack):
        return -1
    total = sum_counts(functions, terms.function[at, terms.cell[r]], stack.counts, found)
    score = total - own - penalty
    new = numbers[NODES]
    tree.above[new], tree.place[new], tree.depth[new] = node, place, tree.depth[node] + 1
    tree.score[new], tree.best[new], tree.own[new] = score, max(best, score), own
    tree.space[new], tree.cells[new], tree.useful[new] = space, cells, score > best
    numbers[NODES] += 1
    return int(new)


@in_place_kernel
def _likely_cost(space: float, r: int, rows: Rows) -> float:
    """Return about what a family's size costs in a score without penalty."""
    return float(0.5 * (r - 1) * space * math.log1p(rows.total / space))


@in_place_kernel
def _cost(space: float, r: int, rows: Rows, terms: Terms) -> float:
    """Return about what a family's size costs; its penalty, where there is one."""
    if terms.has_penalty:
        return float(terms.penalty[find(terms.sizes, space * r), r])
    return _likely_cost(space, r, rows)


@in_place_kernel
def _enqueue(
    child: Child,
    queue: Queue,
    numbers: NDArray[np.int64],
    worth: float,
    node: int,
    place: int,
) -> None:
    if worth < child.floor[0]:
        numbers[DROPPED] += 1
    else:
        push(queue, numbers[QUEUED], worth, node, place)
        numbers[QUEUED] += 1


@in_place_kernel
def _is_closed(child: Child, tree: Tree, node: int, rows: Rows, terms: Terms) -> bool:
    """Return whether all supersets of a node's parents are dominated or too large."""
    if tree.depth[node] + len(child.required) >= child.max_parents:
        return True
    r = rows.cardinalities[child.child]
    penalty = terms.penalty[find(terms.sizes, tree.space[node] * r), r]
    highest = ceiling(terms.rate[r], penalty, tree.cells[node])
    return bool(highest + child.slack <= tree.best[node])


@in_place_kernel
def _expand(
    child: Child,
    tree: Tree,
    node: int,
    rows: Rows,
    terms: Terms,
    queue: Queue,
    numbers: NDArray[np.int64],
) -> None:
    """Queue a node with one more parent of a later place."""
    r = rows.cardinalities[child.child]
    space, best = tree.space[node], tree.best[node]
    own_cost = _cost(space, r, rows, terms)
    scored = tree.score[node] + own_cost
    first, known, cost = tree.place[node] + 1, 0, 0.0
    if tree.depth[node] == 1:
        first = max(first, len(child.pair))
    for place in range(first, len(child.parents)):
        added = rows.cardinalities[child.parents[place]]
        if added != known:
            known = added
            cost = own_cost * added if terms.has_penalty else _likely_cost(space * added, r, rows)
        gain = child.gain[place]
        if place < len(child.interaction):
            z = node
            while z > 0:
                gain += child.interaction[tree.place[z], place]
                z = tree.above[z]
        estimate = scored + max(0.0, gain) - cost
        _enqueue(child, queue, numbers, estimate - GAIN_WEIGHT * best, node, place)


@in_place_kernel
def score_singles(
    child: Child,
    tree: Tree,
    rows: Rows,
    stack: Stack,
    terms: Terms,
    numbers: NDArray[np.int64],
) -> None:
    """Score the required parents alone, the root of the tree, and with each other parent."""
    r = rows.cardinalities[child.child]
    space = 1.0
    for u in range(len(child.required)):
        space *= rows.cardinalities[child.required[u]]
    size, functions = _family(child, tree, -1, -1), terms.functions
    at, own_at = find(terms.sizes, space * r), find(terms.sizes, space)
    found, cells = count_set(child.family[:size], rows, stack)
    own = prefix_sum(size - 1, stack, functions, terms.function[own_at, terms.configuration[r]])
    total = sum_counts(functions, terms.function[at, terms.cell[r]], stack.counts, found)
    score = total - own - terms.penalty[at, r]
    tree.score[0] = tree.best[0] = score
    tree.own[0], tree.space[0], tree.cells[0], tree.useful[0] = own, space, cells, True
    numbers[NODES] = numbers[EXPANDED] = 1
    numbers[SCORED] += 1
    if len(child.required) >= child.max_parents:
        return
    root = score + _cost(space, r, rows, terms)
    for place in range(len(child.parents)):
        new = _score_node(child, tree, 0, place, rows, stack, terms, numbers)
        if new > 0:
            child.single[place] = tree.score[new]
            part = tree.score[new] + _cost(tree.space[new], r, rows, terms)
            child.gain[place] = part - root


@in_place_kernel
def score_pairs(
    child: Child,
    tree: Tree,
    rows: Rows,
    stack: Stack,
    terms: Terms,
    numbers: NDArray[np.int64],
) -> None:
    """Grow the tree of single parents by the pairs of the first ones."""
    r, covered = rows.cardinalities[child.child], len(child.pair)
    if len(child.required) + 1 >= child.max_parents:
        return
    root = tree.score[0] + _cost(tree.space[0], r, rows, terms)
    for node in range(1, numbers[NODES]):
        place = tree.place[node]
        for other in range(place + 1, covered):
            new = _score_node(child, tree, node, other, rows, stack, terms, numbers)
            if new > 0:
                child.pair[place, other] = tree.score[new]
                part = tree.score[new] + _cost(tree.space[new], r, rows, terms)
                gains = child.gain[place] + child.gain[other]
                child.interaction[place, other] = part - root - gains


@in_place_kernel
def take_pairs(
    child: Child, tree: Tree, rows: Rows, terms: Terms, numbers: NDArray[np.int64]
) -> None:
    """Grow the tree of single parents by all pairs whose scores are known already.

    Of these nodes the parents' own term is not known, and of the observed configurations only that
    they are no fewer than those of the single parent.
    """
    r, root = rows.cardinalities[child.child], tree.score[0]
    root += _cost(tree.space[0], r, rows, terms)
    for node in range(1, numbers[NODES]):
        place = tree.place[node]
        for other in range(place + 1, len(child.pair)):
            score = child.pair[place, other]
            if np.isnan(score):
                continue
            space = tree.space[node] * rows.cardinalities[child.parents[other]]
            gains = child.gain[place] + child.gain[other]
            part = score + _cost(space, r, rows, terms)
            child.interaction[place, other] = part - root - gains
            best = max_known(tree.best[node], child.single[other])
            new = numbers[NODES]
            tree.above[new], tree.place[new], tree.depth[new] = node, other, 2
            tree.score[new], tree.best[new], tree.own[new] = score, max(best, score), np.nan
            tree.space[new], tree.cells[new], tree.useful[new] = (
                space,
                tree.cells[node],
                score > best,
            )
            numbers[NODES] += 1


@kernel
def search(
    child: Child,
    tree: Tree,
    rows: Rows,
    stack: Stack,
    terms: Terms,
    queue: Queue,
    numbers: NDArray[np.int64],
    effort: int,
    batches: int,
) -> float:
    """Score the most promising sets until the effort is spent or the room used up.

    A set that was scored waits in the queue, for its worth, until its neighbours are estimated.

    Parameters
    ----------
    child, tree, queue, numbers
        The state of the search, changed in place.
    rows, stack, terms
        The data, scratch space and the score.
    effort
        Number of tables at which to pause.
    batches
        Number of times to take the most promising sets from the queue, at most.

    Returns
    -------
    float
        A number of parent configurations that the score has to be tabulated for before the search
        can go on; 0 if there is none.
    """
    r = rows.cardinalities[child.child]
    nodes, places = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    for _ in range(batches):
        # New nodes enter the queue.
        while numbers[EXPANDED] < numbers[NODES] and numbers[QUEUED] < len(queue.node):
            node = numbers[EXPANDED]
            if not _is_closed(child, tree, node, rows, terms):
                worth = tree.score[node] - GAIN_WEIGHT * tree.best[node]
                _enqueue(child, queue, numbers, worth, node, EXPAND)
            numbers[EXPANDED] += 1
        stuck = is_crowded(child, queue, numbers) or numbers[NODES] + BATCH > len(tree.score)
        if stuck or numbers[QUEUED] == 0 or numbers[SCORED] >= effort:
            return 0.0
        # The best entries leave it, sorted by node, so that sets next to each other share tables.
        count, unknown = min(BATCH, numbers[QUEUED]), 0.0
        for i in range(count):
            pop(queue, numbers[QUEUED])
            numbers[QUEUED] -= 1
            node, place = queue.node[numbers[QUEUED]], queue.position[numbers[QUEUED]]
            if place != EXPAND:
                space = tree.space[node] * rows.cardinalities[child.parents[place]]
                if min(find(terms.sizes, space), find(terms.sizes, space * r)) < 0:
                    unknown = space
            at = i
            while at > 0 and nodes[at - 1] > node:
                nodes[at], places[at] = nodes[at - 1], places[at - 1]
                at -= 1
            nodes[at], places[at] = node, place
        if unknown > 0.0:  # put them back: they lie behind the queue, the first one last
            for _ in range(count):
                at = numbers[QUEUED]
                push(queue, at, queue.priority[at], queue.node[at], queue.position[at])
                numbers[QUEUED] += 1
            return unknown
        # Neighbours of scored sets are estimated; estimated sets are scored.
        for i in range(count):
            if places[i] == EXPAND:
                _expand(child, tree, nodes[i], rows, terms, queue, numbers)
            else:
                _score_node(child, tree, nodes[i], places[i], rows, stack, terms, numbers)
    return 0.0


@in_place_kernel
def is_crowded(child: Child, queue: Queue, numbers: NDArray[np.int64]) -> bool:
    """Return whether another batch may not fit into the queue."""
    return bool(numbers[QUEUED] + BATCH * len(child.parents) > len(queue.node))


@kernel
def undominated(
    child: Child,
    tree: Tree,
    nodes: NDArray[np.int64],
    n: int,
    sets: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Return which parent sets no other of the given ones dominates.

    Parameters
    ----------
    child, tree
        The search.
    nodes
        Nodes by falling score, ties by size.
    n
        Number of variables.
    sets
        Receives the parents of each node, in any order, filled up with -1.

    Returns
    -------
    NDArray[np.bool_]
        Whether no set before it in the order is a subset.
    """
    words = (n + 62) // 63
    bits = np.zeros((len(nodes), words), np.int64)
    kept = np.zeros(len(nodes), np.bool_)
    earlier, count = np.empty(len(nodes), np.int64), 0
    for i in range(len(nodes)):
        for u in range(1, _family(child, tree, nodes[i], -1)):
            v = child.family[u]
            sets[i, u - 1] = v
            bits[i, v // 63] |= 1 << (v % 63)
        dominated = False
        for j in range(count):
            missing = 0
            for w in range(words):
                missing |= bits[earlier[j], w] & ~bits[i, w]
            if missing == 0:
                dominated = True
                break
        if not dominated:
            kept[i] = True
            earlier[count] = i
            count += 1
    return kept
