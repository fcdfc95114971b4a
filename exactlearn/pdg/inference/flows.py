"""Inference in a decision graph by in-flow and out-flow (PDG-SEM, section 4.4; THESIS, 3.3.2).

One pass costs time linear in the graph's effective size (THESIS, 3.52). A graph given evidence is a
graph of the same structure, whose parameters are the relative expected counts of the evidence.

Complete rows are drawn from the root downwards. The most probable ones are found best first: the
largest product below each node, where the out-flow sums, says what the best row with given states
of the first variables is (theorem *Best configurations*, docs/theory/decision_graphs.md).
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.network import draw
from exactlearn.data.codes import row_place
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.pdg.inference.block_flows import expect
from exactlearn.pdg.inference.row_blocks import Layout
from exactlearn.pdg.model.decision_graph import DecisionGraph


def log_likelihood_rows(
    graph: DecisionGraph, codes: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the log-probability of each row's observed cells (THESIS, 3.51).

    Parameters
    ----------
    graph
        The distribution.
    codes
        State numbers of the graph's variables, shape (rows, variables); -1 for a missing cell.

    Returns
    -------
    Natural logarithms, shape (rows,); ``-inf`` for an impossible row.
    """
    return expect(graph.layout, graph.parameters, codes)


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
    graph: DecisionGraph,
    codes: NDArray[np.integer],
    *,
    threads: int | None = None,
) -> NDArray[np.float64]:
    """Return the posterior marginals of all variables given each row (PDG-SEM, equation 21).

    Parameters
    ----------
    graph, codes
        As for `log_likelihood_rows`.
    threads
        How many share the rows where there are many; all cores when left out. Results do not
        depend on it.

    Returns
    -------
    Probabilities, shape (rows, sum of cardinalities): the states of the first variable, then of
    the second, and so on; an observed variable has probability one at its state.

    Raises
    ------
    DataError
        If a row is impossible under the graph.
    """
    posterior, logs = posteriors_and_log_likelihoods(graph, codes, threads=threads)
    refuse_impossible(logs)
    return posterior


def posteriors_and_log_likelihoods(
    graph: DecisionGraph,
    codes: NDArray[np.integer],
    *,
    threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return `posteriors` and `log_likelihood_rows` together, for the cost of the former.

    An impossible row has a log-likelihood of ``-inf`` and posteriors of zero.
    """
    posterior = np.zeros((len(codes), graph.n_states))
    logs = expect(
        graph.layout,
        graph.parameters,
        codes,
        posterior=posterior,
        threads=threads,
    )
    # Rounding may leave 1.0000000000000002.
    return np.minimum(posterior, 1.0, out=posterior), np.minimum(logs, 0.0, out=logs)


def expected_counts(
    graph: DecisionGraph,
    codes: NDArray[np.integer],
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the expected weight of rows for each node and state (PDG-SEM, equation 22).

    Parameters
    ----------
    graph, codes
        As for `log_likelihood_rows`.
    weights
        Weight of each row, shape (rows,); every row counts once without it.

    Returns
    -------
    Counts laid out as `DecisionGraph.parameters`; each variable's add up to the total weight.

    Raises
    ------
    DataError
        If a row is impossible under the graph.
    """
    counts, logs = expect_counts(graph.layout, graph.parameters, codes, weights)
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
    codes: NDArray[np.integer],
    weights: NDArray[np.float64] | None = None,
    threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return `expected_counts`, to which impossible rows add nothing.

    The second result is the log-likelihood of each row, natural logarithm, shape (rows,).
    """
    counts = np.zeros(len(parameters))
    return counts, expect(layout, parameters, codes, weights, counts, threads=threads)


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
    counts, logs = expect_counts(graph.layout, graph.parameters, row)
    return None if logs[0] == -np.inf else graph.with_counts(counts)


@checked_arguments()
def sample_rows(
    graph: DecisionGraph,
    rows: int,
    rng: np.random.Generator,
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
    nodes = np.zeros((graph.n_variables, rows), np.int64)
    for v in graph.order.tolist():
        parent = graph.forest[v]
        if parent >= 0:
            nodes[v] = graph.edges_into(v)[nodes[parent], codes[:, parent]]
        states = np.empty(rows, np.int16)
        cumulative = graph.parameters_of(v).cumsum(axis=1)
        draw(cumulative, nodes[v], rng.random(rows), states)
        codes[:, v] = states
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
    order = graph.order.tolist()
    edges = [graph.edges_into(v) for v in range(len(order))]
    best_log, losses = _losses_of_states(graph, edges)
    rows: list[tuple[int, ...]] = []
    logs: list[float] = []
    # Prefixes of rows, by the loss of the best row with this prefix: its states in the order of
    # the graph, and the nodes that it reaches.
    queue: list[tuple[float, tuple[int, ...], list[int]]] = [
        (0.0, (), [0] * len(order))
    ]
    while queue and len(rows) < k:
        loss, states, nodes = heappop(queue)
        nodes = nodes.copy()
        # The last state of the prefix is the first whose successors are not yet looked up.
        for place in range(max(0, len(states) - 1), len(order)):
            v = order[place]
            if place == len(states):
                # The row goes on with the best state; each other state is a new prefix.
                state_losses = losses[v][nodes[v]].tolist()
                best_state = state_losses.index(0.0)
                for state, state_loss in enumerate(state_losses):
                    if state != best_state and state_loss < inf:
                        total = round(loss + state_loss, 12)
                        heappush(queue, (total, (*states, state), nodes))
                states += (best_state,)
            for child in graph.children[v]:
                nodes[child] = int(edges[child][nodes[v], states[place]])
        rows.append(states)
        logs.append(best_log - loss)
    codes = np.empty((len(rows), len(order)), np.int16)
    codes[:, order] = rows
    return codes, np.array(logs)


def _losses_of_states(
    graph: DecisionGraph, edges: Sequence[NDArray[np.int32]]
) -> tuple[float, dict[int, NDArray[np.float64]]]:
    """Return the log-probability of the best row, and what a row loses by each state of a node.

    Parameters
    ----------
    graph
        The distribution.
    edges
        Nodes that the edges into each variable lead to (`DecisionGraph.edges_into`).

    Returns
    -------
    best_log
        Natural logarithm.
    losses
        For each variable, shape (nodes, states), relative to the best state of the node with all
        that is below; infinite for an impossible one.
    """
    best_log = 0.0
    best: dict[int, NDArray[np.float64]] = {}
    losses: dict[int, NDArray[np.float64]] = {}
    for v in graph.order[::-1].tolist():
        with np.errstate(divide="ignore"):
            logs = np.log(graph.parameters_of(v))
        for child in graph.children[v]:
            logs += best[child][edges[child]]
        best[v] = logs.max(axis=1)
        losses[v] = best[v][:, None] - logs
        if graph.forest[v] < 0:
            best_log += float(best[v][0])
    return best_log, losses
