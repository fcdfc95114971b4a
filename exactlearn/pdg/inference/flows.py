"""Inference in a decision graph by in-flow and out-flow (PDG-SEM, section 4.4; THESIS, 3.3.2).

One pass costs time linear in the graph's effective size (THESIS, 3.52). A graph given evidence is a
graph of the same structure, whose parameters are the relative expected counts of the evidence.

Complete rows are drawn from the root downwards. The most probable ones are found best first: the
largest product below each node, where the out-flow sums, says what the best row with given states
of the first variables is (theorem *Best configurations*, docs/theory/decision_graphs.md).
"""

from heapq import heappop, heappush
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.network import draw
from exactlearn.data.codes import row_place
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.pdg.inference.block_flows import Layout, expect
from exactlearn.pdg.model.decision_graph import DecisionGraph


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
    logs = expect(
        graph.layout, graph.parameters, rows, posterior=posterior, threads=threads
    )
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
    w = (
        np.ones(len(rows))
        if weights is None
        else np.require(weights, np.float64, ["C", "W"])
    )
    if w.shape != (len(rows),) or not (w >= 0).all():
        raise DataError(
            f"{len(rows)} rows need as many weights, none negative; got {w.shape}"
        )
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
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return `expected_counts` of checked rows, to which impossible ones add nothing.

    The second result is the log-likelihood of each row, natural logarithm, shape (rows,).
    """
    counts = np.zeros(len(parameters))
    return counts, expect(layout, parameters, rows, weights, counts, threads=threads)


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
    lowest = table.min(axis=0, initial=-1)
    highest = table.max(axis=0, initial=-1)
    if (lowest < -1).any() or (highest >= graph.cardinalities).any():
        row, variable = np.argwhere((table < -1) | (table >= graph.cardinalities))[
            0
        ].tolist()
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
def sample_rows(
    graph: DecisionGraph, rows: int, rng: np.random.Generator
) -> NDArray[np.int16]:
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
    codes = np.empty((rows, graph.n_variables), np.int16)
    reached = np.zeros((graph.n_variables, rows), np.int64)
    for v in graph.order.tolist():
        states = np.empty(rows, np.int16)
        draw(
            graph.parameters_of(v).cumsum(axis=1), reached[v], rng.random(rows), states
        )
        codes[:, v] = states
        successors = graph.successors_of(v)[reached[v], states]
        for place, child in enumerate(graph.children[v]):
            reached[child] = successors[:, place] - graph.first_nodes[child]
    return codes


def best_rows(
    graph: DecisionGraph, k: int
) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Return the ``k`` most probable complete rows, best first, and their log-probabilities.

    Returns
    -------
    rows
        Different rows of positive probability, shape (at most k, variables). Of equally probable
        ones those with lower states of the variables nearest to the root come first.
    logs
        Shape (at most k,).
    """
    order, (best, losses) = graph.order.tolist(), _losses_of_states(graph)
    rows: list[tuple[int, ...]] = []
    lost: list[float] = []
    # Prefixes of rows: what the best row of each loses, its states, and the nodes that it reaches.
    queue = [(0.0, tuple[int, ...](), [0] * len(order))]
    while queue and len(rows) < k:
        loss, states, nodes = heappop(queue)
        nodes = nodes.copy()
        for place in range(max(0, len(states) - 1), len(order)):
            v = order[place]
            if place == len(states):
                of_states = losses[v][nodes[v]].tolist()
                state = of_states.index(0.0)
                for x, more in enumerate(of_states):
                    if x != state and more < inf:
                        heappush(queue, (round(loss + more, 12), (*states, x), nodes))
                states += (state,)
            after = graph.successors_of(v)[nodes[v], states[place]]
            for child, node in zip(graph.children[v], after.tolist(), strict=True):
                nodes[child] = node - graph.first_nodes[child]
        rows.append(states)
        lost.append(loss)
    codes = np.empty((len(rows), len(order)), np.int16)
    codes[:, order] = rows
    return codes, best - np.array(lost)


def _losses_of_states(
    graph: DecisionGraph,
) -> tuple[float, dict[int, NDArray[np.float64]]]:
    """Return the log-probability of the best row, and what a row loses by each state of a node.

    The losses of each variable have the shape (nodes, states). They are relative to the best state
    of the node, with all that is below, and infinite for an impossible one.
    """
    total = 0.0
    best: dict[int, NDArray[np.float64]] = {}
    losses: dict[int, NDArray[np.float64]] = {}
    for v in graph.order[::-1].tolist():
        with np.errstate(divide="ignore"):
            logs = np.log(graph.parameters_of(v))
        successors = graph.successors_of(v)
        for place, child in enumerate(graph.children[v]):
            logs += best[child][successors[:, :, place] - graph.first_nodes[child]]
        best[v] = logs.max(axis=1)
        losses[v] = best[v][:, None] - logs
        total += float(best[v][0]) if graph.forest[v] < 0 else 0.0
    return total, losses
