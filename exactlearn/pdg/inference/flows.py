"""Inference in a decision graph by in-flow and out-flow (PDG-SEM, section 4.4; THESIS, 3.3.2).

One pass costs time linear in the graph's effective size (THESIS, 3.52). A graph given evidence is a
graph of the same structure, whose parameters are the relative expected counts of the evidence.

Complete rows are drawn from the root downwards. For the most probable ones each node has a list of
the k best configurations of its subtree, made from the lists of its successors, where the out-flow
sums (theorem *Best configurations*, docs/theory/decision_graphs.md).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.network import draw
from exactlearn.data.codes import row_place
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
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
    lists = _BestLists(graph, k)
    roots = [v for v in graph.order.tolist() if graph.forest[v] < 0]
    logs, ranks = np.full(k, -np.inf), np.zeros((k, 0), np.int64)
    logs[0] = 0.0
    for root in roots:
        logs, ranks = lists.joined(logs, ranks, lists.logs[root][0])
    logs = logs[np.isfinite(logs)]
    return lists.rows(dict(zip(roots, ranks[: len(logs)].T, strict=True))), logs


class _BestLists:
    """The k best configurations below each node, best first.

    Attributes
    ----------
    logs
        For each variable log-probabilities, ``-inf`` where there are fewer, shape (nodes, k).
    states
        States of the variable, shape (nodes, k).
    ranks
        Ranks taken from the lists of the successors, shape (nodes, k, children).
    """

    def __init__(self, graph: DecisionGraph, k: int) -> None:
        self._graph, self._k = graph, k
        # All pairs that can be among the k best, in lexicographic order.
        pairs = [(i, j) for i in range(k) for j in range(k // (i + 1))]
        self._first, self._second = np.array(pairs, np.int64).T
        self.logs: dict[int, NDArray[np.float64]] = {}
        self.states: dict[int, NDArray[np.int64]] = {}
        self.ranks: dict[int, NDArray[np.int64]] = {}
        for v in graph.order[::-1].tolist():
            theta, successors = graph.parameters_of(v), graph.successors_of(v)
            logs = np.full((*theta.shape, k), -np.inf)
            logs[..., 0] = np.log(theta, out=logs[..., 0].copy(), where=theta > 0)
            ranks = np.zeros((*logs.shape, 0), np.int64)
            for place, child in enumerate(graph.children[v]):
                below = self.logs[child][successors[:, :, place] - graph.first_nodes[child]]
                logs, ranks = self.joined(logs, ranks, below)
            merged = logs.reshape(len(theta), -1)
            chosen, flat = self._largest(merged), ranks.reshape(*merged.shape, ranks.shape[-1])
            self.logs[v] = np.take_along_axis(merged, chosen, 1)
            self.states[v] = chosen // k
            self.ranks[v] = np.take_along_axis(flat, chosen[..., None], 1)

    def joined(
        self, logs: NDArray[np.float64], ranks: NDArray[np.int64], below: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the k best sums of two sorted lists, and the ranks that they are made of."""
        chosen = self._largest(logs[..., self._first] + below[..., self._second])
        i, j = self._first[chosen], self._second[chosen]
        sums = np.take_along_axis(logs, i, -1) + np.take_along_axis(below, j, -1)
        before = np.take_along_axis(ranks, i[..., None], -2)
        return sums, np.concatenate((before, j[..., None]), axis=-1)

    def _largest(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return where the k largest values of the last axis are, the first of equal ones first."""
        if self._k == 1:
            return np.expand_dims(values.argmax(axis=-1), -1)
        return np.argsort(-values, axis=-1, kind="stable")[..., : self._k]

    def rows(self, rank: dict[int, NDArray[np.int64]]) -> NDArray[np.int16]:
        """Follow the ranks from the roots; ``rank`` holds each root's, shape (rows,)."""
        graph, count = self._graph, len(next(iter(rank.values())))
        codes = np.empty((count, graph.n_variables), np.int16)
        nodes = dict.fromkeys(rank, np.zeros(count, np.int64))
        for v in graph.order.tolist():
            node, own = nodes.pop(v), rank.pop(v)
            codes[:, v] = state = self.states[v][node, own]
            successors = graph.successors_of(v)[node, state]
            for place, child in enumerate(graph.children[v]):
                nodes[child] = successors[:, place] - graph.first_nodes[child]
                rank[child] = self.ranks[v][node, own, place]
        return codes
