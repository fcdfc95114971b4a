"""Elimination orders, the chordal graphs they make, and their maximal cliques (Rose 1970).

Eliminating a variable joins its remaining neighbours and removes it; it and those neighbours are
its cluster. Joining every cluster makes the graph chordal; the clusters that no other one holds
are its maximal cliques. Finding the order with the smallest total clique size is NP-hard. The
greedy rules compared here eliminate next the variable with the least

* ``weighted-min-fill``: sum, over the pairs it joins, of the product of their cardinalities,
* ``min-fill``: number of pairs it joins,
* ``min-weight``: number of configurations of its cluster (Kjaerulff 1990, "Triangulation of
  graphs - algorithms giving small total state space"),
* ``min-boundary``: the same without its own states (Cano and Moral 1995, "Heuristic algorithms
  for the triangulation of graphs").

Ties go to the variable that stands first.
"""

from collections import deque
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.kernel import in_place_kernel, kernel, true_places
from exactlearn.errors import OptionError, did_you_mean

RULES = ("weighted-min-fill", "min-fill", "min-weight", "min-boundary")
"""The greedy rules, in the order in which ties between them are broken."""

MIN_TRIALS = 20
MAX_TRIALS = 320
TRIAL_WORK = 60_000_000
"""Fewest and most orders that are tried beyond one for each rule; in between, so many that
trials times squared variables are the last number."""

Adjacency = Sequence[Collection[int]]
"""The neighbours of each variable in an undirected graph."""


def elimination_order(
    adjacency: Adjacency,
    cardinalities: Sequence[int] | NDArray[np.int64],
    *,
    rule: str = "weighted-min-fill",
) -> tuple[int, ...]:
    """Return an order of elimination found by one greedy rule.

    Parameters
    ----------
    adjacency
        Neighbours of each variable, symmetric and without loops, as ``moral_graph`` gives them.
    cardinalities
        Number of states of each variable.
    rule
        One of :data:`RULES`.

    Raises
    ------
    OptionError
        When there is no such rule.

    Examples
    --------
    >>> elimination_order([(1, 3), (0, 2), (1, 3), (0, 2)], [9, 2, 9, 2])
    (0, 1, 2, 3)
    """
    if rule not in RULES:
        raise OptionError(f"no elimination rule {rule!r}{did_you_mean(rule, RULES)}")
    matrix = _matrix(adjacency)
    sizes = np.asarray(cardinalities, np.float64)
    order = greedy_elimination(
        matrix,
        sizes,
        RULES.index(rule),
        np.ones(len(sizes)),
    )
    return tuple(order.tolist())


def best_elimination_order(
    adjacency: Adjacency,
    cardinalities: Sequence[int] | NDArray[np.int64],
    *,
    control: SearchControl = UNLIMITED,
) -> tuple[int, ...]:
    """Return the order with the smallest total clique size that a short search finds.

    Every rule is tried as it is; then a quarter of the trials multiply the costs of the
    variables by random preferences, from slight to strong, and the others change the best
    preferences found so far for a few variables (hill climbing). There are `MAX_TRIALS`
    of them, fewer above 430 variables, down to `MIN_TRIALS` above 1,700.

    Parameters
    ----------
    adjacency, cardinalities
        As in :func:`elimination_order`.
    control
        Once it is over no further order is tried; one is tried in any case.
    """
    matrix = _matrix(adjacency)
    sizes = np.asarray(cardinalities, np.float64)
    trials = TRIAL_WORK // max(1, len(sizes)) ** 2
    trials = max(MIN_TRIALS, min(MAX_TRIALS, trials))
    rng = np.random.default_rng(0)
    best = np.arange(len(sizes))
    smallest = np.inf
    rule = 0
    preference = np.ones(len(sizes))
    for trial in range(-len(RULES), trials):
        if smallest < np.inf and control.is_over:
            break
        # An order by another rule or other preferences, and the size of its cliques.
        tried = _variant(trial, trials, rule, preference, rng)
        order = greedy_elimination(matrix, sizes, *tried)
        size = sum(
            float(sizes[list(c)].prod())
            for c in maximal_cliques(adjacency, order.tolist())
        )
        if size < smallest or (size == smallest and trial >= 0):
            best = order
            smallest = size
            rule, preference = tried
    return tuple(best.tolist())


def _variant(
    trial: int,
    trials: int,
    rule: int,
    preference: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[int, NDArray[np.float64]]:
    """Return the rule and the preferences of one trial, given the best ones so far."""
    n = len(preference)
    # First each rule as it is, then random preferences, then changes of the best ones.
    if trial < 0:
        return trial + len(RULES), np.ones(n)
    if trial < trials // 4:
        spread = 0.001 * 2000.0 ** (4 * trial / trials)
        return trial % len(RULES), 1.0 + spread * rng.random(n)
    if rng.random() < 0.1:
        rule = int(rng.integers(len(RULES)))
    is_changed = rng.random(n) < max(2 / n, 0.1)
    factors = np.exp(rng.normal(size=n))
    return rule, np.where(is_changed, preference * factors, preference)


def _matrix(adjacency: Adjacency) -> NDArray[np.bool_]:
    """Return the graph as a matrix, shape (n, n)."""
    matrix = np.zeros((len(adjacency), len(adjacency)), np.bool_)
    for v, neighbours in enumerate(adjacency):
        matrix[v, list(neighbours)] = True
    return matrix


@in_place_kernel
def elimination_cost(
    adjacency: NDArray[np.bool_],
    sizes: NDArray[np.float64],
    rule: int,
    variable: int,
    neighbours: NDArray[np.int64],
) -> float:
    """Return the cost of eliminating a variable now, by a rule of :data:`RULES`.

    Costs are sums and products of whole numbers, so equal costs compare equal.
    """
    # The weight of the cluster, with the variable or without.
    cost = 0.0
    if rule >= 2:
        cost = sizes[variable] if rule == 2 else 1.0
        for u in neighbours:
            cost *= sizes[u]
        return cost
    # The pairs of neighbours that are not joined yet, weighted or counted.
    for a in range(len(neighbours)):
        for b in range(a):
            if not adjacency[neighbours[a], neighbours[b]]:
                cost += (
                    sizes[neighbours[a]] * sizes[neighbours[b]] if rule == 0 else 1.0
                )
    return cost


@in_place_kernel
def eliminate(
    adjacency: NDArray[np.bool_],
    variable: int,
    neighbours: NDArray[np.int64],
) -> None:
    """Join the neighbours of a variable and take it out of the graph, in place."""
    for u in neighbours:
        for w in neighbours:
            if u != w:
                adjacency[u, w] = True
    for u in neighbours:
        adjacency[u, variable] = False
        adjacency[variable, u] = False


@kernel
def greedy_elimination(
    adjacency: NDArray[np.bool_],
    sizes: NDArray[np.float64],
    rule: int,
    preference: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return the order that always eliminates a variable of least cost times preference.

    Parameters
    ----------
    adjacency
        The graph, shape (n, n); left as it is.
    sizes, preference
        Cardinality of each variable, and the factor on its costs, shape (n,).
    rule
        Index in :data:`RULES`.
    """
    n = len(sizes)
    graph = adjacency.copy()
    costs = np.empty(n)
    stale = np.ones(n, np.bool_)
    left = np.ones(n, np.bool_)
    order = np.empty(n, np.int64)
    for step in range(n):
        # The cheapest variable; costs are computed anew where a neighbour changed.
        best = -1
        for v in range(n):
            if not left[v]:
                continue
            if stale[v]:
                costs[v] = preference[v] * elimination_cost(
                    graph,
                    sizes,
                    rule,
                    v,
                    true_places(graph[v]),
                )
                stale[v] = False
            if best < 0 or costs[v] < costs[best]:
                best = v
        # Its elimination.
        neighbours = true_places(graph[best])
        eliminate(graph, best, neighbours)
        left[best] = False
        order[step] = best
        for u in neighbours:
            stale[u] = True
            # A new arc between neighbours only changes the fill of those who see both.
            if rule < 2:
                for w in true_places(graph[u]):
                    stale[w] = True
    return order


def breadth_first_order(adjacency: Adjacency, sources: Collection[int]) -> list[int]:
    """Return all vertices by their distance from the sources, then those that none reaches.

    Eliminated in the reverse order, a grid keeps a frontier that moves towards the sources, which
    is narrower there than what the greedy rules find.

    Examples
    --------
    >>> breadth_first_order([(1,), (0, 2), (1,), ()], [2])
    [2, 1, 0, 3]
    """
    order: list[int] = []
    seen: set[int] = set()
    for starts in (sources, *((v,) for v in range(len(adjacency)))):
        queue = deque(v for v in starts if v not in seen)
        seen.update(queue)
        while queue:
            v = queue.popleft()
            order.append(v)
            neighbours = sorted(u for u in adjacency[v] if u not in seen)
            seen.update(neighbours)
            queue.extend(neighbours)
    return order


def maximal_cliques(
    adjacency: Adjacency, order: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """Return the maximal cliques of the graph triangulated in this order, sorted.

    Raises
    ------
    OptionError
        When ``order`` does not list every variable once.

    Examples
    --------
    >>> maximal_cliques([(1, 3), (0, 2), (1, 3), (0, 2)], (0, 1, 2, 3))
    ((0, 1, 3), (1, 2, 3))
    """
    position = {v: k for k, v in enumerate(order)}
    clusters = dict(zip(order, elimination_clusters(adjacency, order), strict=True))
    inside: set[int] = set()
    for v, cluster in clusters.items():
        # The next cluster that is eliminated with these variables holds no others: it is no clique.
        separator = cluster - {v}
        if separator:
            parent = min(separator, key=position.__getitem__)
            if len(clusters[parent]) == len(separator):
                inside.add(parent)
    return tuple(
        sorted(tuple(sorted(c)) for v, c in clusters.items() if v not in inside)
    )


def elimination_clusters(adjacency: Adjacency, order: Sequence[int]) -> list[set[int]]:
    """Return each variable with its neighbours at the time of its elimination, in the order."""
    if sorted(order) != list(range(len(adjacency))):
        raise OptionError(
            f"the elimination order must list each of {len(adjacency)} variables once, "
            f"found {len(order)} entries, {len(set(order))} different"
        )
    graph = [set(neighbours) for neighbours in adjacency]
    clusters: list[set[int]] = []
    for v in order:  # its neighbours are joined, and it is removed
        neighbours = graph[v]
        for u in neighbours:
            graph[u] |= neighbours
            graph[u] -= {u, v}
        clusters.append(neighbours | {v})
    return clusters
