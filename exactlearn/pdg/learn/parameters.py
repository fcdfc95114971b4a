r"""Parameters of a decision graph of given structure: relative counts, smoothed, and EM.

The counts of a graph's nodes take the place of a network's families
(:mod:`exactlearn.bayesnet.smoothing_choice`; THESIS, Algorithms 4.1 and 4.2). A row is an available
case at a node when its variable is observed and the row reaches this node of the variable whatever
its missing cells are (PDG-SEM, section 3).

On incomplete data parameters are refined by expectation maximisation. The E-step computes expected
counts by in-flow and out-flow (PDG-SEM, section 4.4, equation 22), the M-step sets each node's
distribution to its relative expected counts (section 3.1), raised by pseudo-counts :math:`a_j`.
That maximises the log-likelihood plus :math:`\sum_j a_j \log \theta_j`, which never falls; this is
monitored.

Smoothing means the same for a network and a decision graph: ``smoothing`` pseudo-counts for each
parameter. A conditional table is estimated without any earlier one, so each of its cells gets
``smoothing``. A graph that is refined has parameters :math:`\theta^0` to start from, as those of
the network that it was compiled from, in which a parameter may stand for several cells of
conditional tables, or for none. All pseudo-counts together, ``smoothing`` times the number of
parameters, are therefore rows of that start model: :math:`a_j` is how many of them reach the node
and have the state. So it does not matter how nodes are merged, a node that few rows reach stays
near its start, and a state of probability zero stays impossible. Without a start to trust
(``prior="uniform"``) each parameter gets ``smoothing``, as in THESIS, equation 4.15.

How many pseudo-counts there are is chosen by cross-validation unless given: with one for each
parameter, the refined graph predicts unseen rows worse than the network that it was compiled from.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import nan
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.hash_tables import weight_by
from exactlearn._runtime.kernel import kernel
from exactlearn._runtime.number_arguments import NUMBERS
from exactlearn._runtime.offsets import owners
from exactlearn.bayesnet.ascent import EMResult, EMState, fitted
from exactlearn.bayesnet.complete_data import check_smoothing
from exactlearn.bayesnet.smoothing_choice import (
    FOLDS,
    SmoothingChoice,
    as_good_as_best,
    divided,
    divisible_rows,
    maximised,
    validation_terms,
)
from exactlearn.data.alignment import aligned_codes
from exactlearn.data.counts import distinct_weighted
from exactlearn.data.dataset import (
    Dataset,
    DatasetLike,
    require_complete,
    require_weight,
)
from exactlearn.pdg.inference.flows import (
    expect_counts,
    expected_counts,
    node_probabilities,
    refuse_impossible,
)
from exactlearn.pdg.inference.row_blocks import (
    Layout,
    block_space,
    enter_evidence,
    reach,
)
from exactlearn.pdg.model.decision_graph import DecisionGraph

Prior = Literal["start", "uniform"]
"""How pseudo-counts are distributed: as the start model says, or equally."""

STRENGTHS = (np.inf, 256.0, 64.0, 16.0, 4.0, None)
"""Pseudo-rows of each node that validation chooses among; ``None`` for equal pseudo-counts."""


def pseudo_counts(graph: DecisionGraph, prior: Prior) -> NDArray[np.float64]:
    """Return the pseudo-count of each parameter where there is one for each in the mean."""
    size = len(graph.parameters)
    return (
        np.ones(size) if prior == "uniform" else node_probabilities(graph, float(size))
    )


def tuned_smoothing(
    graph: DecisionGraph,
    dataset: Dataset,
    *,
    smoothing: float | None = None,
    seed: int = 0,
) -> DecisionGraph:
    """Return a graph with smoothed relative counts of complete data.

    Parameters
    ----------
    graph
        The structure.
    dataset
        Complete data; matched to the graph by names.
    smoothing
        Pseudo-count of every parameter; left out, tuned, or 1 where there is one row only.
    seed
        Of the division into folds.

    Raises
    ------
    DataError
        If a cell is missing or the table does not fit the graph.
    OptionError
        If ``smoothing`` is negative or infinite.
    """
    check_smoothing(smoothing)
    instead = "refine the graph by EM instead"
    require_complete(dataset, "smoothing by counts needs", instead, graph.names)
    if smoothing is None:
        smoothing = choose_graph_smoothing(graph, dataset, seed=seed).smoothing
    return graph.with_counts(node_counts(graph, dataset) + smoothing)


def choose_graph_smoothing(
    graph: DecisionGraph,
    dataset: Dataset,
    *,
    prior: Prior = "uniform",
    seed: int = 0,
) -> SmoothingChoice:
    """Return the pseudo-count under which a graph predicts held-out rows best.

    Rows with missing cells count for the nodes that they are certain to reach (available cases).

    Parameters
    ----------
    graph
        The structure, and with the prior ``start`` the parameters that pseudo-counts follow.
    dataset
        Table with or without missing cells; matched to the graph by names.
    prior
        Of the pseudo-counts, as for `refine`.
    seed
        Of the division into folds.

    Raises
    ------
    DataError
        If the table does not fit the graph.

    Notes
    -----
    One pseudo-count is chosen where there is nothing to validate on: fewer than two rows, or none
    that is an available case anywhere.
    """
    weights = dataset.row_weights
    if divisible_rows(weights) < 2:
        return SmoothingChoice(1.0, nan, 0)
    folds = divided(weights, FOLDS, seed)
    units = pseudo_counts(graph, prior)
    parts = [folds.part(dataset, folds.fold == k) for k in range(folds.n)]
    counts = np.array([node_counts(graph, part) for part in parts])
    nodes = owners(graph.parameter_offsets)
    totals = weight_by(nodes, units, graph.n_nodes)
    score = validation_terms(counts, units, nodes, totals)
    if len(score.shifts) == 0:
        return SmoothingChoice(1.0, nan, folds.n)
    return maximised(score.at, folds.n)


def estimated(
    graph: DecisionGraph,
    dataset: Dataset,
    strength: float | None,
    seed: int = 0,
) -> DecisionGraph:
    r"""Return a graph with parameters estimated from complete data.

    Parameters
    ----------
    graph
        The structure, and the parameters :math:`m` that estimates are shrunk to.
    dataset
        Complete data; matched to the graph by names.
    strength
        Pseudo-rows :math:`s` of each node: a parameter is :math:`(n + s m) / (N + s)`, of the
        counts n of the state and N of the node. Infinite, the graph's own parameters. ``None``:
        `tuned_smoothing`, which does not look at the graph's parameters.
    seed
        Of the folds of `tuned_smoothing`.
    """
    if strength is None:
        return tuned_smoothing(graph, dataset, seed=seed)
    if strength == np.inf:
        return graph
    return graph.with_counts(node_counts(graph, dataset) + strength * graph.parameters)


class Validation(NamedTuple):
    """The choice by the likelihood of held-out rows.

    Attributes
    ----------
    strengths
        For each graph, one of `STRENGTHS`.
    smallest
        The smallest graph that predicts as well as the best one, up to a standard error.
    log_likelihoods
        Total of the held-out rows under each graph, with its strength; zeros without such rows.
    """

    strengths: tuple[float | None, ...]
    smallest: int
    log_likelihoods: tuple[float, ...]

    @classmethod
    def default(cls, graphs: int) -> "Validation":
        """Return the choice without held-out rows: the last graph, by relative counts."""
        return cls((None,) * graphs, graphs - 1, (0.0,) * graphs)

    def best_of_each(self, n_scores: int) -> list[int]:
        """Return the number of the best graph of each score.

        Parameters
        ----------
        n_scores
            Graphs stand one for each score, again and again.
        """
        numbers = range(len(self.strengths))
        scored = numbers[:n_scores]
        logs = self.log_likelihoods
        return [max(numbers[k::n_scores], key=logs.__getitem__) for k in scored]


def cross_validated(
    learn: Callable[[Dataset], Sequence[DecisionGraph]],
    dataset: Dataset,
    graphs: int,
    *,
    seed: int = 0,
    control: SearchControl = UNLIMITED,
) -> Validation:
    """Choose among graphs and their smoothing by cross-validation of all that is learned.

    Parameters
    ----------
    learn
        Learns the graphs from rows, each with the parameters that estimates are shrunk to.
    dataset
        Complete data.
    graphs
        Number of graphs that it learns.
    seed
        Of the division into folds.
    control
        Once it is over, `Validation.default` is returned.
    """
    if divisible_rows(dataset.row_weights) < 2:
        return Validation.default(graphs)
    folds = divided(dataset.row_weights, FOLDS, seed)
    # Log-likelihood of each held-out row under each graph and strength.
    held = np.empty((graphs, len(STRENGTHS), len(folds.rows)))
    sizes = np.zeros(graphs)
    for k in range(folds.n):
        is_held = folds.fold == k
        train = folds.part(dataset, ~is_held)
        test = folds.part(dataset, is_held)
        learned = learn(train)
        if len(learned) < graphs:
            return Validation.default(graphs)
        for g, graph in enumerate(learned):
            if control.is_over:
                return Validation.default(graphs)
            sizes[g] += graph.effective_size
            for j, strength in enumerate(STRENGTHS):
                model = estimated(graph, train, strength, seed)
                held[g, j, is_held] = model.log_likelihood_rows(test)
    # The best strength of each graph; then the smallest graph that predicts well enough.
    totals = held @ folds.weights
    best = totals.argmax(axis=1)
    is_good = as_good_as_best(held[np.arange(graphs), best], folds.weights)
    smallest = int(np.where(is_good, sizes, np.inf).argmin())
    strengths = tuple(STRENGTHS[j] for j in best)
    return Validation(strengths, smallest, tuple(totals.max(axis=1).tolist()))


def node_counts(graph: DecisionGraph, dataset: Dataset) -> NDArray[np.float64]:
    """Return the weight of the rows at each node and state, laid out as the graph's parameters."""
    codes = aligned_codes(dataset, graph.names, graph.states)
    weights = dataset.row_weights
    counts: NDArray[np.float64] = available_counts(graph.layout, codes, weights)
    return counts


@kernel
def available_counts(
    layout: Layout,
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weight of the rows that are certain to reach a node and have a state there.

    Parameters
    ----------
    layout
        The structure; parameters play no role.
    codes
        State numbers, shape (rows, variables); -1 for a missing cell.
    weights
        Of the rows, shape (rows,).

    Returns
    -------
    Counts laid out as the parameters.
    """
    counts = np.zeros(layout.parameter[-1])
    possible = np.ones(len(counts))
    block = block_space(layout, 1)
    node_of = np.empty(len(layout.order), np.int64)
    n_nodes = np.empty(len(layout.order), np.int64)
    none = np.zeros(len(layout.order), np.bool_)
    columns = np.ascontiguousarray(codes.T)
    for d in range(len(codes)):
        # The nodes that the row may reach, whatever its missing cells are.
        n_nodes[:] = 0
        enter_evidence(layout, columns, d, 1, 0.0, 1.0, none, block)
        for i in range(reach(layout, possible, d, True, block)):
            variable = np.int64(layout.variable[block.queue[i]])
            n_nodes[variable] += 1
            node_of[variable] = block.queue[i]
        # A row counts where it reaches one node for certain.
        for v in range(len(n_nodes)):
            if n_nodes[v] == 1 and codes[d, v] >= 0:
                counts[layout.parameter[node_of[v]] + codes[d, v]] += weights[d]
    return counts


class ParameterEM:
    """The EM problem: the E-step and the M-step of a graph's parameters.

    Parameters
    ----------
    graph
        Structure and first parameters.
    dataset
        Rows with missing cells; matched to the graph by names. Equal rows are merged.
    smoothing
        Pseudo-counts for each parameter; ``cv`` chooses them.
    prior
        Whether they are rows of the ``graph``, or one as much as the other.
    seed
        Of the folds of the choice.
    """

    def __init__(
        self,
        graph: DecisionGraph,
        dataset: Dataset,
        smoothing: float | Literal["cv"] = "cv",
        prior: Prior = "start",
        seed: int = 0,
    ) -> None:
        check_smoothing(None if smoothing == "cv" else smoothing)
        self.graph = graph
        self._layout: Layout = graph.layout
        codes = aligned_codes(dataset, graph.names, graph.states)
        self._codes, self._weights, self._first = distinct_weighted(
            codes, dataset.weights
        )
        self._lines = dataset.lines
        self.total_weight = require_weight(dataset, "refine on")
        if smoothing == "cv":
            smoothing = choose_graph_smoothing(
                graph,
                dataset,
                prior=prior,
                seed=seed,
            ).smoothing
        self.smoothing = smoothing
        self.pseudo_counts = smoothing * pseudo_counts(graph, prior)

    def model(self, parameters: NDArray[np.float64]) -> DecisionGraph:
        """Return the graph with these parameters."""
        return self.graph.with_parameters(parameters)

    def e_step(self, iteration: int, parameters: NDArray[np.float64]) -> EMState:
        """Return the state at some parameters, after so many iterations.

        Raises
        ------
        DataError
            If a row is impossible under them; names the row.
        """
        counts, rows = expect_counts(
            self._layout,
            parameters,
            self._codes,
            self._weights,
        )
        if np.isneginf(rows).any():
            spread = np.zeros(int(self._first.max()) + 1)
            spread[self._first] = rows
            refuse_impossible(spread, self._lines)
        log_likelihood = float(np.dot(self._weights, rows))
        penalty = float(xlogy(self.pseudo_counts, parameters).sum())
        return EMState(
            iteration,
            parameters,
            counts,
            log_likelihood,
            log_likelihood + penalty,
        )

    def m_step(self, state: EMState) -> NDArray[np.float64]:
        """Return relative counts; a node that no row reaches keeps its parameters."""
        return self.graph.relative(state.counts + self.pseudo_counts, state.parameters)

    def normalised(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return parameters in proportion to some, each distribution with the sum one."""
        return self.graph.relative(parameters, parameters)


def _starts(
    graph: DecisionGraph,
    starts: int,
    seed: int,
) -> Iterator[NDArray[np.float64]]:
    """Yield the graph's parameters, then random ones with the same zeros."""
    yield graph.parameters
    rng = np.random.default_rng(seed)
    possible = graph.parameters > 0
    for _ in range(starts - 1):
        yield graph.relative(
            rng.exponential(size=len(possible)) * possible, graph.parameters
        )


@checked_arguments(
    prior=one_of(get_args(Prior)), smoothing=NUMBERS["smoothing"].or_word("cv")
)
def refine(
    pdg: DecisionGraph,
    dataset: DatasetLike,
    *,
    iterations: int = 100,
    tolerance: float = 1e-6,
    smoothing: float | Literal["cv"] = "cv",
    prior: Prior = "start",
    starts: int = 1,
    seed: int = 0,
    on_iteration: Callable[[EMState], None] | None = None,
    time_limit: float | None = None,
) -> EMResult[DecisionGraph]:
    """Refine the parameters of a decision graph on data with missing cells.

    Parameters
    ----------
    pdg
        Structure and first parameters; states of probability zero stay so, unless ``smoothing`` > 0
        and the prior is uniform.
    dataset
        Rows, possibly weighted; variables and states are matched by name.
    iterations
        Most iterations to do from each start.
    tolerance
        EM ends when an iteration gains less than this per row (unit of weight).
    smoothing
        Pseudo-counts for each parameter; ``cv``: as many as predict held-out rows best, by
        cross-validation, which the result names. With 0 a node that no row reaches keeps its
        parameters, and what no row has may become impossible.
    prior
        ``start``: all pseudo-counts together are rows of ``pdg``, ``smoothing`` for each of its
        parameters. ``uniform``: each parameter gets ``smoothing``.
    starts
        Number of starts, of which that with the best objective is returned: the graph's own
        parameters, then random ones, which a graph needs whose nodes are equal in a variable that
        no row observes.
    seed
        Seed of the random starts, and of the folds of the cross-validation.
    on_iteration
        Called with the first state of each start and after each iteration.
    time_limit
        Seconds after which no other iteration begins.

    Raises
    ------
    OptionError
        If ``smoothing``, ``prior`` or ``starts`` is wrong.
    DataError
        If the table does not fit the graph, or a row is impossible under it.
    CheckError
        If what is maximised falls by more than rounding.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar")
    >>> fit = el.refine(el.compile_network(el.read_network("asia")), table)
    >>> fit.converged, bool(fit.log_likelihoods[-1] > fit.log_likelihoods[0])
    (True, True)
    """
    problem = ParameterEM(pdg, dataset, smoothing, prior, seed)
    result = fitted(
        problem,
        list(_starts(pdg, starts, seed)),
        iterations=iterations,
        tolerance=tolerance,
        on_iteration=on_iteration,
        control=SearchControl(time_limit),
    )
    return replace(result, smoothing=problem.smoothing)


def smoothed_by_em(
    graph: DecisionGraph,
    dataset: Dataset,
    smoothing: float,
    time_limit: float | None = None,
) -> DecisionGraph:
    """Return a graph refined with the uniform prior, by one step where there is time for none."""
    result = refine(
        graph,
        dataset,
        smoothing=smoothing,
        prior="uniform",
        time_limit=time_limit,
    )
    return (
        result.model if result.iterations else smoothed_once(graph, dataset, smoothing)
    )


def smoothed_once(
    graph: DecisionGraph,
    dataset: Dataset,
    smoothing: float,
) -> DecisionGraph:
    """Return a graph after one step of EM with the uniform prior."""
    codes = aligned_codes(dataset, graph.names, graph.states)
    return graph.with_counts(expected_counts(graph, codes, dataset.weights) + smoothing)
