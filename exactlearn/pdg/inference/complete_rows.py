"""Complete rows of a decision graph: drawn, or the most probable ones.

Rows are drawn from the root downwards. For the most probable rows each node has a list of the k
best configurations of its subtree, made from the lists of its successors, where the out-flow
(PDG-SEM, equation 17) sums. Theorem *Best configurations*, docs/theory/decision_graphs.md.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.network import draw
from exactlearn.errors import OptionError
from exactlearn.pdg.model.decision_graph import DecisionGraph


@checked_arguments()
def sample_rows(graph: DecisionGraph, rows: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """Draw independent complete rows.

    Parameters
    ----------
    rows
        How many, 0 or more.
    rng
        Source of randomness; same generator state, same rows.

    Returns
    -------
    State numbers, shape (rows, variables).

    Raises
    ------
    OptionError
        When ``rows`` is negative.

    Examples
    --------
    >>> import exactlearn as el
    >>> graph = el.compile_network(el.read_network("asia"))
    >>> sample_rows(graph, 1000, np.random.default_rng(1)).shape
    (1000, 8)
    """
    if rows < 0:
        raise OptionError(f"{rows} rows to draw: give a number that is 0 or more")
    codes = np.empty((rows, graph.n_variables), np.int16)
    reached = np.zeros((graph.n_variables, rows), np.int64)
    for v in graph.order.tolist():
        states = np.empty(rows, np.int16)
        draw(graph.parameters_of(v).cumsum(axis=1), reached[v], rng.random(rows), states)
        codes[:, v] = states
        successors = graph.successors_of(v)[reached[v], states]
        for place, child in enumerate(graph.children[v]):
            reached[child] = successors[:, place] - graph.first_nodes[child]
    return codes


class _Best(NamedTuple):
    """The best configurations below each node of a variable, best first.

    Attributes
    ----------
    logs
        Log-probability, ``-inf`` where there are fewer, shape (nodes, k).
    state
        State of the variable, shape (nodes, k).
    ranks
        Rank taken from the list of the successor, for each child, shape (nodes, k, children).
    """

    logs: NDArray[np.float64]
    state: NDArray[np.int64]
    ranks: NDArray[np.int64]


def best_rows(graph: DecisionGraph, k: int) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Return the ``k`` most probable complete rows, best first, and their log-probabilities.

    Returns
    -------
    rows
        Different rows of positive probability, shape (at most k, variables). Of equally probable
        ones those with lower states of the variables nearest to the root come first.
    logs
        Shape (at most k,).
    """
    first, second = _few_pairs(k)
    best: list[_Best] = [_Best(*(np.empty(0),) * 3)] * graph.n_variables  # type: ignore[arg-type]
    roots = [v for v in graph.order.tolist() if graph.forest[v] < 0]
    for v in graph.order[::-1].tolist():
        best[v] = _best_below(graph, v, best, k, first, second)
    logs, ranks = np.full(k, -np.inf), np.zeros((k, 0), np.int64)
    logs[0] = 0.0
    for root in roots:
        logs, ranks = _joined(logs, ranks, best[root].logs[0], first, second, k)
    logs = logs[np.isfinite(logs)]
    return _rows(graph, best, dict(zip(roots, ranks[: len(logs)].T, strict=True))), logs


def _few_pairs(k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of all pairs that can be among the k best, in lexicographic order."""
    pairs = [(i, j) for i in range(k) for j in range(k // (i + 1))]
    first, second = np.array(pairs, np.int64).T
    return first, second


def _best_below(
    graph: DecisionGraph,
    v: int,
    best: list[_Best],
    k: int,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
) -> _Best:
    theta, successors = graph.parameters_of(v), graph.successors_of(v)
    logs = np.full((*theta.shape, k), -np.inf)
    logs[..., 0] = np.log(theta, out=logs[..., 0].copy(), where=theta > 0)
    ranks = np.zeros((*logs.shape, 0), np.int64)
    for place, child in enumerate(graph.children[v]):
        below = best[child].logs[successors[:, :, place] - graph.first_nodes[child]]
        logs, ranks = _joined(logs, ranks, below, first, second, k)
    n = len(theta)
    merged = logs.reshape(n, -1)
    chosen = _largest(merged, k)
    return _Best(
        np.take_along_axis(merged, chosen, 1),
        chosen // k,
        np.take_along_axis(
            ranks.reshape(n, merged.shape[1], ranks.shape[-1]), chosen[..., None], 1
        ),
    )


def _joined(
    logs: NDArray[np.float64],
    ranks: NDArray[np.int64],
    below: NDArray[np.float64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    k: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the k best sums of two sorted lists, and the ranks that they are made of."""
    chosen = _largest(logs[..., first] + below[..., second], k)
    i, j = first[chosen], second[chosen]
    sums = np.take_along_axis(logs, i, -1) + np.take_along_axis(below, j, -1)
    before = np.take_along_axis(ranks, i[..., None], -2)
    return sums, np.concatenate((before, j[..., None]), axis=-1)


def _largest(values: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return where the k largest values of the last axis are, the first of equal ones first."""
    if k == 1:
        return np.expand_dims(values.argmax(axis=-1), -1)
    return np.argsort(-values, axis=-1, kind="stable")[..., :k]


def _rows(
    graph: DecisionGraph, best: list[_Best], rank: dict[int, NDArray[np.int64]]
) -> NDArray[np.int16]:
    """Follow the ranks from the roots; ``rank`` holds each root's, shape (rows,)."""
    count = len(next(iter(rank.values())))
    codes = np.empty((count, graph.n_variables), np.int16)
    nodes = dict.fromkeys(rank, np.zeros(count, np.int64))
    for v in graph.order.tolist():
        node, own = nodes.pop(v), rank.pop(v)
        state = best[v].state[node, own]
        codes[:, v] = state
        successors = graph.successors_of(v)[node, state]
        for place, child in enumerate(graph.children[v]):
            nodes[child] = successors[:, place] - graph.first_nodes[child]
            rank[child] = best[v].ranks[node, own, place]
    return codes
