"""Inference in a decision graph by in-flow and out-flow (PDG-SEM, section 4.4; THESIS, 3.3.2).

One pass costs time linear in the graph's effective size (THESIS, 3.52). A graph given evidence is a
graph of the same structure, whose parameters are the relative expected counts of the evidence.

Complete rows are drawn from the root downwards. For the most probable ones each node has a list of
the k best configurations of its subtree, made from the lists of its successors, where the out-flow
sums (theorem *Best configurations*, docs/theory/decision_graphs.md).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.network import draw
from exactlearn.data.codes import row_place
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.inference.block_flows import Layout, expect
from exactlearn.pdg.model.decision_graph import DecisionGraph


class Expectation(NamedTuple):
    """Expected counts and what they were computed from.

    Attributes
    ----------
    counts
        Expected weight of the rows that reach a node and have a state there, laid out as
        `DecisionGraph.parameters`.
    log_likelihoods
        Log-likelihood of each row, natural logarithm, shape (rows,).
    """

    counts: NDArray[np.float64]
    log_likelihoods: NDArray[np.float64]


def log_likelihood_rows(
    graph: DecisionGraph, codes: ArrayLike, *, threads: int | None = None
) -> NDArray[np.float64]:
    """Return the log-probability of each row's observed cells (THESIS, 3.51).

    Parameters
    ----------
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.
    threads
        How many share the rows where there are many; all cores when left out. Results do not
        depend on it.

    Returns
    -------
    Natural logarithms, shape (rows,); ``-inf`` for an impossible row.

    Raises
    ------
    DataError
        If the table does not fit the graph's variables and states.
    """
    rows = _checked_rows(graph, codes)
    return expect(graph.layout, graph.parameters, rows, threads=threads)


def log_likelihood(graph: DecisionGraph, dataset: Dataset) -> float:
    """Return the total log-likelihood of a table's observed cells, rows counted by weight.

    Variables and states are matched by name.

    Raises
    ------
    DataError
        If a variable is absent, or a row has a state that the graph does not know.
    """
    return dataset.total(graph.log_likelihood_rows(dataset))


def posteriors(
    graph: DecisionGraph, codes: ArrayLike, *, threads: int | None = None
) -> NDArray[np.float64]:
    """Return the posterior marginals of all variables given each row (PDG-SEM, equation 21).

    Parameters
    ----------
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.
    threads
        As for `log_likelihood_rows`.

    Returns
    -------
    Probabilities, shape (rows, sum of cardinalities): the states of the first variable, then of
    the second, and so on; an observed variable has probability one at its state.

    Raises
    ------
    DataError
        If the table does not fit the graph, or a row is impossible under it.
    """
    posterior, logs = posteriors_and_log_likelihoods(graph, codes, threads=threads)
    refuse_impossible(logs)
    return posterior


def posteriors_and_log_likelihoods(
    graph: DecisionGraph, codes: ArrayLike, *, threads: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return `posteriors` and `log_likelihood_rows` together, for the cost of the former.

    An impossible row has a log-likelihood of ``-inf`` and posteriors of zero.
    """
    rows = _checked_rows(graph, codes)
    posterior = np.zeros((len(rows), graph.n_states))
    logs = expect(graph.layout, graph.parameters, rows, posterior=posterior, threads=threads)
    # Rounding may leave 1.0000000000000002.
    return np.minimum(posterior, 1.0, out=posterior), np.minimum(logs, 0.0, out=logs)


def expected_counts(
    graph: DecisionGraph,
    codes: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Return the expected weight of rows for each node and state (PDG-SEM, equation 22).

    Parameters
    ----------
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.
    weights
        Weight of each row, shape (rows,); every row counts once without it.
    threads
        As for `log_likelihood_rows`.

    Returns
    -------
    Counts laid out as `DecisionGraph.parameters`; each variable's add up to the total weight.

    Raises
    ------
    DataError
        If the table or weights do not fit the graph, or a row is impossible under it.
    """
    rows = _checked_rows(graph, codes)
    w = np.ones(len(rows)) if weights is None else np.require(weights, np.float64, ["C", "W"])
    if w.shape != (len(rows),) or not (w >= 0).all():
        raise DataError(f"{len(rows)} rows need as many weights, none negative; got {w.shape}")
    counts, logs = expect_counts(graph.layout, graph.parameters, rows, w, threads)
    refuse_impossible(logs)
    return counts


def node_probabilities(graph: DecisionGraph, rows: float = 1.0) -> NDArray[np.float64]:
    """Return the probability that a row reaches each node and has each of its states.

    Returns
    -------
    Probabilities, times a number of ``rows``, laid out as `DecisionGraph.parameters`; each
    variable's add up to one such number.
    """
    unknown = np.full((1, graph.n_variables), -1, np.int16)
    return expected_counts(graph, unknown, np.array([rows]))


def expect_counts(
    layout: Layout,
    parameters: NDArray[np.float64],
    rows: NDArray[np.int16],
    weights: NDArray[np.float64],
    threads: int | None = None,
) -> Expectation:
    """Return expected counts of checked rows; impossible rows add nothing."""
    counts = np.zeros(len(parameters))
    logs = expect(layout, parameters, rows, weights, counts, threads=threads)
    return Expectation(counts, logs)


def refuse_impossible(
    log_likelihoods: NDArray[np.float64], lines: NDArray[np.int64] | None = None
) -> None:
    """Raise a `DataError` naming the first row whose log-likelihood is ``-inf``, and its line."""
    if len(log_likelihoods) and log_likelihoods.min() == -np.inf:
        impossible = np.flatnonzero(np.isneginf(log_likelihoods))
        raise DataError(
            f"{row_place(int(impossible[0]), lines)}, one of {len(impossible)}: its observed cells"
            " have probability zero under the model, so nothing can be inferred from them; correct"
            " the row or use a model with smoothed parameters"
        )


def _checked_rows(graph: DecisionGraph, codes: ArrayLike) -> NDArray[np.int16]:
    """Return rows as the kernels want them."""
    table = np.asarray(codes)
    if table.ndim != 2 or table.shape[1] != graph.n_variables:
        raise DataError(
            f"a table of shape (rows, {graph.n_variables}) was expected, one column per variable"
            f" of the graph; got {table.shape}"
        )
    lowest, highest = table.min(axis=0, initial=-1), table.max(axis=0, initial=-1)
    if (lowest < -1).any() or (highest >= graph.cardinalities).any():
        row, variable = np.argwhere((table < -1) | (table >= graph.cardinalities))[0].tolist()
        raise DataError(
            f"{row_place(row)}, variable {graph.names[variable]!r}: state {table[row, variable]}"
            f" is not in -1..{graph.cardinalities[variable] - 1}"
        )
    return np.require(table, np.int16, ["C", "W", "A"])


def condition(graph: DecisionGraph, codes: NDArray[np.int16]) -> DecisionGraph | None:
    """Return the distribution given the states of some variables; ``None`` if that is impossible.

    Parameters
    ----------
    graph
        The distribution before the evidence.
    codes
        State of each variable, -1 where it is not observed, shape (variables,); those of the last
        variables may be missing.

    Returns
    -------
    Graph of the same structure; nodes that the evidence excludes keep their parameters.
    """
    row = np.full((1, graph.n_variables), -1, np.int16)
    row[0, : len(codes)] = codes
    counts, logs = expect_counts(graph.layout, graph.parameters, row, np.ones(1))
    return None if logs[0] == -np.inf else graph.with_counts(counts)


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
