"""Simulated annealing among networks whose cliques stay within a number of configurations.

A state is a network, one candidate parent set for each variable, and an elimination order of its
moral graph, along which no cluster has more configurations than allowed. A move gives a random
variable another candidate, and lets a second variable, mostly one of its new parents, make up for
the loss: so an arc may turn round. How much a move may lose (Metropolis) is drawn first, and then
one of the second variable's candidates that lose no more: they stand by rising loss.
"""

from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel, overwrite
from exactlearn.bayesnet.triangulation import greedy_elimination

STRANGERS = 0.3
"""Probability that the second variable of a move is not drawn from the family of the first."""

ORDERS = 30.0
"""A move that is too large along its order has a greedy one tried with the probability of this
number by the variables: of 109, one for each move takes 12 of 15 seconds of a million moves."""

MIN_GAIN = 1e-9
"""Nats by which a network must be better than the best one so far: above rounding."""


class Candidates(NamedTuple):
    """The candidates of a problem, those of each variable by rising loss.

    Attributes
    ----------
    first
        Where each variable's candidates begin, shape (n + 1,).
    losses
        Nats that each one scores less than the best of its variable, shape (m,).
    families
        Each one's parents, and its child as often as the row is long, shape (m, width).
    cardinalities
        Number of states of each variable, shape (n,).
    """

    first: NDArray[np.int64]
    losses: NDArray[np.float64]
    families: NDArray[np.int64]
    cardinalities: NDArray[np.float64]


class Chain(NamedTuple):
    """The state of annealing, and the best state so far.

    Attributes
    ----------
    current, best
        A candidate of each variable, and an elimination order, shape (2, n).
    loss
        Loss of the best network, shape (1,).
    """

    current: NDArray[np.int64]
    best: NDArray[np.int64]
    loss: NDArray[np.float64]


@kernel
def moral_matrix(
    candidates: Candidates, selection: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the moral graph of a selection, shape (n, n)."""
    n = len(selection)
    adjacency = np.zeros((n, n), np.bool_)
    for candidate in selection:
        family = candidates.families[candidate]
        for u in family:
            for v in family:
                adjacency[u, v] = u != v
    return adjacency


@kernel
def is_within_along(
    candidates: Candidates,
    selection: NDArray[np.int64],
    order: NDArray[np.int64],
    limit: float,
) -> bool:
    """Return whether all clusters along an elimination order have few enough configurations.

    A cluster without its variable lies inside the cluster that is eliminated next among its
    variables: joining these two takes the place of joining all neighbours (symbolic Cholesky
    factorisation).
    """
    n = len(order)
    adjacency = moral_matrix(candidates, selection)
    position = np.empty(n, np.int64)
    for k in range(n):
        position[order[k]] = k
    for v in order:
        size = candidates.cardinalities[v]
        following = n
        for u in range(n):
            if adjacency[v, u] and position[u] > position[v]:
                size *= candidates.cardinalities[u]
                following = min(following, position[u])
        if size > limit:
            return False
        if following < n:
            for u in range(n):
                adjacency[order[following], u] |= adjacency[v, u]
    return True


@kernel
def is_acyclic_from(
    candidates: Candidates, selection: NDArray[np.int64], variable: int
) -> bool:
    """Return whether a variable is no ancestor of itself."""
    seen = np.zeros(len(selection), np.bool_)
    stack = np.full(len(selection), variable)
    height = 1
    while height > 0:
        height -= 1
        child = stack[height]
        for parent in candidates.families[selection[child]]:
            # rows hold their child, too
            if parent == child or seen[parent]:
                continue
            if parent == variable:
                return False
            seen[parent] = True
            stack[height] = parent
            height += 1
    return True


@kernel
def anneal(
    candidates: Candidates,
    chain: Chain,
    limit: float,
    temperatures: NDArray[np.float64],
    rng: np.random.Generator,
) -> None:
    """Try one move at each temperature, in place.

    Parameters
    ----------
    candidates, chain
        The candidates, and the state, which is within the limit.
    limit
        Configurations that a cluster may have.
    temperatures
        In nats, shape (moves,).
    rng
        Source of randomness.
    """
    first = candidates.first
    losses = candidates.losses
    selection, order = chain.current
    n = len(selection)
    for temperature in temperatures:
        # A variable with any candidate, and a second one, which may be the same.
        v = int(rng.random() * n)
        candidate = first[v] + int(rng.random() ** 2 * (first[v + 1] - first[v]))
        family = candidates.families[candidate]
        w = family[int(rng.random() * len(family))]
        if rng.random() < STRANGERS:
            w = int(rng.random() * n)
        # The second one takes a candidate that loses little enough.
        threshold = losses[selection[w]] - temperature * log(1.0 - rng.random())
        if w != v:
            threshold += losses[selection[v]] - losses[candidate]
        choices = losses[first[w] : first[w + 1]]
        count = np.searchsorted(choices, threshold, "right")
        if count == 0:
            continue
        before = selection[v], selection[w]
        selection[v] = candidate
        selection[w] = first[w] + int(rng.random() * count)

        # A cycle, or a large cluster, undoes the move.
        if (
            is_acyclic_from(candidates, selection, v)
            and is_acyclic_from(candidates, selection, w)
            and is_within(candidates, chain, limit, rng)
        ):
            loss = losses[selection].sum()
            if loss < chain.loss[0] - MIN_GAIN:
                chain.loss[0] = loss
                overwrite(chain.best[0], selection)
                overwrite(chain.best[1], order)
        else:
            selection[v], selection[w] = before


@kernel
def is_within(
    candidates: Candidates, chain: Chain, limit: float, rng: np.random.Generator
) -> bool:
    """Return whether an order keeps all clusters within the limit; the chain takes a new one."""
    selection, order = chain.current
    n = len(selection)
    if is_within_along(candidates, selection, order, limit):
        return True
    # Along a greedy order, with random preferences; less often the longer it takes.
    if rng.random() * n > ORDERS:
        return False
    graph = moral_matrix(candidates, selection)
    preference = 1.0 + rng.random() * rng.random(n)
    order = greedy_elimination(graph, candidates.cardinalities, 0, preference)
    if not is_within_along(candidates, selection, order, limit):
        return False
    overwrite(chain.current[1], order)
    return True
