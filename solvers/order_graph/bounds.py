"""What a state of the order graph costs at least, and which variables can come next.

A *state* is the set S of the variables placed so far, R are the others. Its *cost* is what the
placed variables' candidates lie below the Lagrangian bound (see
:mod:`exactlearn.solvers.order_graph.rows`): placing X after S with a candidate c costs

    w_S(c) = reduced cost of c + sum of l over rows (C, k) with X in C, |PA & C| < k <= |S & C|

because the first k members of C that are placed satisfy the row, and every further one that has
fewer than k parents in C is surplus. Of the candidates with their parents in S the one of the best
score costs least.

**Bound.** S only grows and so does ``w_S(c)``; each variable of R still costs at least its minimum
``low`` over all candidates. *Dual ascent* raises the sum of these: while the candidates of cost
``low`` admit no order of R, some cluster K within R has a member without parents in K in every
selection, though none costs ``low``; the least that such a member costs beyond its ``low`` is added
to the bound and subtracted from those candidates (Trösser, de Givry and Katsirelos 2021, "Improved
acyclicity reasoning for Bayesian network structure learning with constraint programming"). A
candidate that takes the bound to the threshold is out of question below S.

**Who comes next.** Let b_X be the best candidate of X with its parents in S. In some optimal
completion of S each X in R takes b_X or a candidate of higher score that is not out of question:
any other can be replaced by b_X, which makes no cycle. Draw an arc to X from each parent in R of
those better candidates. A set K of variables that no arc enters has all its parents in S and K, so
there is an order of the completion that begins with K, and it suffices to let the members of K come
next. We take a smallest such K: a strongly connected component without arcs from outside. A single
variable without better candidates is placed at once (Karan and Zola 2016, "Exact structure learning
of Bayesian networks by optimal path extension").
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel

from .patterns import (
    Patterns,
    charged,
    estimate,
    estimate_group,
    group_bits,
)
from .rows import OrderGraph, lowest, size_of

PRUNED, OPEN, COMPLETE = 0, 1, 2
"""What becomes of a state."""

LEAST = 1e-9
"""Smallest difference of costs that counts as one."""

ONE = np.uint64(1)
NOTHING = np.uint64(0)


class Scratch(NamedTuple):
    """Room for one state's candidates that are not out of question.

    Attributes
    ----------
    rows, costs
        Candidates and their costs, shape (m,); each variable's from ``begin`` to ``end``.
    low
        Least cost of each variable, shape (n,).
    full
        Which of a variable's own rows have k members placed, shape (n, words).
    reach
        Ancestors of each variable in some digraph, shape (n,).
    best
        Candidate each variable takes when it comes next, or -1, shape (n,).
    """

    rows: NDArray[np.int64]
    costs: NDArray[np.float64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    low: NDArray[np.float64]
    full: NDArray[np.uint64]
    reach: NDArray[np.uint64]
    best: NDArray[np.int64]


def scratch_for(graph: OrderGraph) -> Scratch:
    """Return room for the states of a graph."""
    n, m = len(graph.first) - 1, len(graph.losses)
    return Scratch(
        rows=np.zeros(m, np.int64),
        costs=np.zeros(m),
        begin=np.zeros(n, np.int64),
        end=np.zeros(n, np.int64),
        low=np.zeros(n),
        full=np.zeros((n, graph.few.shape[1]), np.uint64),
        reach=np.zeros(n, np.uint64),
        best=np.full(n, -1, np.int64),
    )


@in_place_kernel
def propagate(
    graph: OrderGraph,
    patterns: Patterns,
    scratch: Scratch,
    placed: np.uint64,
    cost: float,
    threshold: float,
    ascents: int,
) -> tuple[int, np.uint64, float, np.uint64, float]:
    """Place what can be placed at once, then bound the state and find the variables that come next.

    Returns
    -------
    tuple
        What becomes of the state, the set placed and its cost after that, the variables that may
        come next (their candidates are in ``scratch.best``), and the bound on complete paths'
        costs.
    """
    n = len(graph.first) - 1
    everything = ~NOTHING >> np.uint64(64 - n)
    while True:
        # prune by the patterns, then by the state's own dual ascent
        rest = everything & ~placed
        if rest == NOTHING:
            return COMPLETE if cost < threshold else PRUNED, placed, cost, NOTHING, cost
        bound = cost + estimate(patterns, rest)
        if bound >= threshold:
            return PRUNED, placed, cost, NOTHING, bound
        mark_full_rows(graph, scratch, placed, rest)
        bound = lowest_costs(graph, scratch, rest, cost, threshold)
        if bound < threshold:
            list_candidates(graph, scratch, rest, threshold - bound)
            bound = ascend(graph, scratch, rest, bound, threshold, ascents)
        if bound >= threshold:
            return PRUNED, placed, cost, NOTHING, bound
        # narrow what comes next; place the variables without better candidates, begin again
        at_once, feasible = draw_arcs(graph, scratch, placed, rest, threshold - bound)
        if not feasible:
            return PRUNED, placed, cost, NOTHING, threshold
        if at_once == NOTHING:
            return OPEN, placed, cost, smallest_source(rest, scratch.reach), bound
        while at_once:
            v = lowest(at_once)
            at_once &= at_once - ONE
            cost += candidate_cost(graph, scratch, v, scratch.best[v], np.inf)
            placed |= ONE << np.uint64(v)
            mark_full_rows(graph, scratch, placed, at_once)


@in_place_kernel
def quick_bound(
    graph: OrderGraph,
    patterns: Patterns,
    scratch: Scratch,
    placed: np.uint64,
    cost: float,
    threshold: float,
) -> tuple[int, np.uint64, float, np.uint64, float]:
    """Do the same as :func:`propagate` with the patterns' bound alone.

    The candidates stand by falling score. One is out of question below S when it costs as much as
    the threshold leaves to its variable's group.
    """
    n = len(graph.first) - 1
    everything = ~NOTHING >> np.uint64(64 - n)
    while True:
        # prune by the patterns
        rest = everything & ~placed
        bound = cost + estimate(patterns, rest)
        if bound >= threshold:
            return PRUNED, placed, cost, NOTHING, bound
        if rest == NOTHING:
            return COMPLETE, placed, cost, NOTHING, bound
        # find each variable's best candidate, and the parents of better ones outside of S
        at_once = NOTHING
        for k in range(len(patterns.starts)):
            part = rest & group_bits(patterns, k)
            limit = threshold - bound + estimate_group(patterns, k, rest)
            while part:
                v = lowest(part)
                bit = ONE << np.uint64(v)
                part ^= bit
                best, reach = -1, bit
                for c in range(graph.first[v], graph.first[v + 1]):
                    if graph.reduced[c] < limit:
                        missing = graph.parents[c] & rest
                        reach |= missing
                        if missing == NOTHING:
                            best = c
                            break
                    elif graph.parents[c] & rest == NOTHING:
                        break
                scratch.best[v] = best
                scratch.reach[v] = reach
                if reach == bit:
                    if best < 0:
                        return PRUNED, placed, cost, NOTHING, threshold
                    at_once |= bit
        # place the variables without better candidates, and begin again
        if at_once == NOTHING:
            return OPEN, placed, cost, smallest_source(rest, scratch.reach), bound
        while at_once:
            v = lowest(at_once)
            at_once &= at_once - ONE
            cost += charged(graph, v, scratch.best[v], placed, np.inf)
            placed |= ONE << np.uint64(v)


@in_place_kernel
def mark_full_rows(graph: OrderGraph, scratch: Scratch, placed: np.uint64, rest: np.uint64) -> None:
    """Note for the remaining variables which of their own rows have k members placed."""
    while rest:
        v = lowest(rest)
        rest &= rest - ONE
        begin = graph.own_first[v]
        count = graph.own_first[v + 1] - begin
        for word in range(graph.few.shape[1]):
            bits = NOTHING
            for k in range(64 * word, min(count, 64 * word + 64)):
                r = graph.own[begin + k]
                if size_of(graph.members[r] & placed) >= graph.counts[r]:
                    bits |= ONE << np.uint64(k & 63)
            scratch.full[v, word] = bits


@in_place_kernel
def candidate_cost(graph: OrderGraph, scratch: Scratch, v: int, c: int, enough: float) -> float:
    """Return what a candidate costs, or something that is at least ``enough``."""
    cost: float = graph.reduced[c]
    for word in range(graph.few.shape[1]):
        bits = graph.few[c, word] & scratch.full[v, word]
        while bits and cost < enough:
            k = (word << 6) + lowest(bits)
            bits &= bits - ONE
            cost += graph.values[graph.own[graph.own_first[v] + k]]
    return cost


@in_place_kernel
def lowest_costs(
    graph: OrderGraph, scratch: Scratch, rest: np.uint64, cost: float, threshold: float
) -> float:
    """Add each remaining variable's least cost, unless the threshold is reached before."""
    bound = cost
    while rest and bound < threshold:
        v = lowest(rest)
        rest &= rest - ONE
        low = np.inf
        for c in range(graph.first[v], graph.first[v + 1]):
            if graph.reduced[c] >= low:
                break
            low = min(low, candidate_cost(graph, scratch, v, c, low))
        scratch.low[v] = low
        bound += low
    return bound


@in_place_kernel
def list_candidates(graph: OrderGraph, scratch: Scratch, rest: np.uint64, slack: float) -> None:
    """List the candidates that cost less than the slack beyond their variable's least cost."""
    count = 0
    while rest:
        v = lowest(rest)
        rest &= rest - ONE
        scratch.begin[v] = count
        limit = scratch.low[v] + slack
        for c in range(graph.first[v], graph.first[v + 1]):
            if graph.reduced[c] >= limit:
                break
            cost = candidate_cost(graph, scratch, v, c, limit)
            if cost < limit:
                scratch.rows[count] = c
                scratch.costs[count] = cost
                count += 1
        scratch.end[v] = count


@in_place_kernel
def ascend(
    graph: OrderGraph,
    scratch: Scratch,
    rest: np.uint64,
    bound: float,
    threshold: float,
    ascents: int,
) -> float:
    """Raise the bound by clusters that the cheapest candidates violate; lower their costs."""
    for _ in range(ascents):
        stuck = stuck_variables(graph, scratch, rest)
        if stuck == NOTHING:
            break
        cluster = violated_cluster(graph, scratch, stuck)
        step = cheapest_way_out(graph, scratch, cluster)
        bound += step
        if bound >= threshold:
            break
        pay_ways_out(graph, scratch, cluster, step)
    return bound


@in_place_kernel
def stuck_variables(graph: OrderGraph, scratch: Scratch, rest: np.uint64) -> np.uint64:
    """Return the variables that cannot be ordered with candidates of least cost."""
    stuck, moved = rest, True
    while moved and stuck:
        moved = False
        left = stuck
        while left:
            v = lowest(left)
            left &= left - ONE
            limit = scratch.low[v] + LEAST
            for at in range(scratch.begin[v], scratch.end[v]):
                if (
                    scratch.costs[at] <= limit
                    and graph.parents[scratch.rows[at]] & stuck == NOTHING
                ):
                    stuck &= ~(ONE << np.uint64(v))
                    moved = True
                    break
    return stuck


@in_place_kernel
def violated_cluster(graph: OrderGraph, scratch: Scratch, stuck: np.uint64) -> np.uint64:
    """Return a small cluster whose members' cheapest candidates all have parents in it."""
    left = stuck
    while left:
        v = lowest(left)
        left &= left - ONE
        reach = ONE << np.uint64(v)
        limit = scratch.low[v] + LEAST
        for at in range(scratch.begin[v], scratch.end[v]):
            if scratch.costs[at] <= limit:
                reach |= graph.parents[scratch.rows[at]] & stuck
        scratch.reach[v] = reach
    return smallest_source(stuck, scratch.reach)


@in_place_kernel
def cheapest_way_out(graph: OrderGraph, scratch: Scratch, cluster: np.uint64) -> float:
    """Return the least cost, beyond its variable's, of a member without parents in the cluster."""
    step, left = np.inf, cluster
    while left:
        v = lowest(left)
        left &= left - ONE
        for at in range(scratch.begin[v], scratch.end[v]):
            if graph.parents[scratch.rows[at]] & cluster == NOTHING:
                step = min(step, scratch.costs[at] - scratch.low[v])
    return step


@in_place_kernel
def pay_ways_out(graph: OrderGraph, scratch: Scratch, cluster: np.uint64, step: float) -> None:
    """Lower the costs of members' candidates without parents in the cluster."""
    left = cluster
    while left:
        v = lowest(left)
        left &= left - ONE
        for at in range(scratch.begin[v], scratch.end[v]):
            if graph.parents[scratch.rows[at]] & cluster == NOTHING:
                scratch.costs[at] -= step


@in_place_kernel
def draw_arcs(
    graph: OrderGraph, scratch: Scratch, placed: np.uint64, rest: np.uint64, slack: float
) -> tuple[np.uint64, bool]:
    """Find each variable's best candidate and its parents in better ones.

    Returns
    -------
    tuple
        Variables without better candidates, and whether each variable has a candidate at all.
    """
    at_once, left = NOTHING, rest
    while left:
        v = lowest(left)
        bit = ONE << np.uint64(v)
        left ^= bit
        # the best candidate inside S, if it is not excluded
        best, best_loss = -1, np.inf
        for at in range(scratch.begin[v], scratch.end[v]):
            c = scratch.rows[at]
            if graph.parents[c] & ~placed == NOTHING and graph.losses[c] < best_loss:
                best_loss = graph.losses[c]
                best = c if scratch.costs[at] - scratch.low[v] < slack else -1
        # the parents outside of S of better candidates
        reach, better = bit, False
        for at in range(scratch.begin[v], scratch.end[v]):
            c = scratch.rows[at]
            if scratch.costs[at] - scratch.low[v] < slack and graph.losses[c] < best_loss:
                reach |= graph.parents[c] & rest
                better = True
        if best < 0 and not better:
            return NOTHING, False
        scratch.best[v] = best
        scratch.reach[v] = reach
        if not better:
            at_once |= bit
    return at_once, True


@in_place_kernel
def smallest_source(members: np.uint64, reach: NDArray[np.uint64]) -> np.uint64:
    """Close a digraph, given by each member's parents and itself, and return its smallest source.

    Of the sets of a vertex with all its ancestors the smallest is strongly connected: an ancestor's
    set is contained in it.
    """
    left = members
    while left:
        k = lowest(left)
        left &= left - ONE
        bit = ONE << np.uint64(k)
        others = members
        while others:
            v = lowest(others)
            others &= others - ONE
            if reach[v] & bit:
                reach[v] |= reach[k]
    source, size, left = NOTHING, 65, members
    while left:
        v = lowest(left)
        left &= left - ONE
        if size_of(reach[v]) < size:
            source, size = reach[v], size_of(reach[v])
    return source
