r"""Refinement of a decision graph's parameters by expectation maximisation on incomplete data.

The E-step computes expected counts by in-flow and out-flow (PDG-SEM, section 4.4, equation 22),
the M-step sets each node's distribution to its relative expected counts (section 3.1), raised by
pseudo-counts :math:`a_j`. That maximises the log-likelihood plus
:math:`\sum_j a_j \log \theta_j`, which never falls; this is monitored.

Smoothing means the same for a network and a decision graph: ``smoothing`` pseudo-counts for each
parameter. A conditional table is estimated without any earlier one, so each of its cells gets
``smoothing``. A graph that is refined has parameters :math:`\theta^0` to start from, as those of
the network that it was compiled from, in which a parameter may stand for several cells of
conditional tables, or for none. All pseudo-counts together, ``smoothing`` times the number of
parameters, are therefore rows of that start model: :math:`a_j` is how many of them reach the node
and have the state. So it does not matter how nodes are merged, a node that few rows reach stays
near its start, and a state of probability zero stays impossible. Without a start to trust
(``prior="uniform"``, and where the start is symmetric in an unobserved variable) each parameter
gets ``smoothing``, as in THESIS, equation 4.15.

How many pseudo-counts there are is chosen by cross-validation unless given
(:func:`~exactlearn.pdg.learn.smoothing.choose_graph_smoothing`): with one for each parameter, the
refined graph predicts unseen rows worse than the network that it was compiled from.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn._runtime.arguments import checked_arguments, number_or
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.hash_tables import index_rows
from exactlearn.bayesnet.complete_data import check_smoothing
from exactlearn.bayesnet.em_result import STARTS, EMResult, EMState, fitted
from exactlearn.data.counts import distinct_weighted
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_codes
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.compile.residuals import equal_values
from exactlearn.pdg.inference.block_flows import Layout
from exactlearn.pdg.inference.flows import expect_counts, refuse_impossible
from exactlearn.pdg.learn.smoothing import Prior, choose_graph_smoothing, pseudo_counts
from exactlearn.pdg.model.decision_graph import DecisionGraph


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
        self._codes, self._weights, self._first = distinct_weighted(codes, dataset.weights)
        self._lines = dataset.lines
        self.total_weight = float(self._weights.sum())
        if self.total_weight <= 0:
            raise DataError("the table has no rows of positive weight: nothing to refine on")
        unobserved = np.flatnonzero((self._codes < 0).all(axis=0)).tolist()
        self.symmetric = symmetric_variables(graph, unobserved)
        prior = "uniform" if self.symmetric else prior
        if smoothing == "cv":
            smoothing = choose_graph_smoothing(graph, dataset, prior=prior, seed=seed).smoothing
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
        counts, rows = expect_counts(self._layout, parameters, self._codes, self._weights)
        if np.isneginf(rows).any():
            spread = np.zeros(int(self._first.max()) + 1)
            spread[self._first] = rows
            refuse_impossible(spread, self._lines)
        log_likelihood = float(np.dot(self._weights, rows))
        penalty = float(xlogy(self.pseudo_counts, parameters).sum())
        return EMState(iteration, parameters, counts, log_likelihood, log_likelihood + penalty)

    def m_step(self, state: EMState) -> NDArray[np.float64]:
        """Return relative counts; a node that no row reaches keeps its parameters."""
        return self.graph.relative(state.counts + self.pseudo_counts, state.parameters)

    def normalised(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return parameters in proportion to some, each distribution with the sum one."""
        return self.graph.relative(parameters, parameters)


def _starts(graph: DecisionGraph, starts: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield the graph's parameters, then random ones with the same zeros."""
    yield graph.parameters
    rng, possible = np.random.default_rng(seed), graph.parameters > 0
    for _ in range(starts - 1):
        yield graph.relative(rng.exponential(size=len(possible)) * possible, graph.parameters)


@checked_arguments(smoothing=number_or("cv"))
def refine(
    pdg: DecisionGraph,
    dataset: DatasetLike,
    *,
    iterations: int = 100,
    tolerance: float = 1e-6,
    smoothing: float | Literal["cv"] = "cv",
    prior: Prior = "start",
    starts: int | None = None,
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
        parameters. ``uniform``: each parameter gets ``smoothing``, as it does where the graph is
        symmetric.
    starts
        Number of starts, of which that with the best objective is returned: the graph's own
        parameters, then random ones. Left out, one, or five when the graph is symmetric in the
        states of a variable that no row observes.
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
    if prior not in get_args(Prior) or (starts is not None and starts < 1):
        raise OptionError(
            f"prior {prior!r} and starts {starts}: expected 'start' or 'uniform', and at least 1"
        )
    problem = ParameterEM(pdg, dataset, smoothing, prior, seed)
    starts = starts or (STARTS if problem.symmetric else 1)
    found = fitted(
        problem,
        list(_starts(pdg, starts, seed)),
        problem.symmetric,
        iterations=iterations,
        tolerance=tolerance,
        on_iteration=on_iteration,
        control=SearchControl(time_limit),
    )
    return replace(found, smoothing=problem.smoothing)


def smoothed_by_em(
    graph: DecisionGraph, dataset: Dataset, smoothing: float, time_limit: float | None = None
) -> DecisionGraph:
    """Return a graph refined with the uniform prior, by one step where there is time for none."""
    found = refine(graph, dataset, smoothing=smoothing, prior="uniform", time_limit=time_limit)
    return found.model if found.iterations else smoothed_once(graph, dataset, smoothing)


def smoothed_once(graph: DecisionGraph, dataset: Dataset, smoothing: float) -> DecisionGraph:
    """Return a graph after one step of EM with the uniform prior."""
    problem = ParameterEM(graph, dataset, smoothing, "uniform")
    return problem.model(problem.m_step(problem.e_step(0, graph.parameters)))


def symmetric_variables(graph: DecisionGraph, variables: Iterable[int]) -> tuple[str, ...]:
    """Return those variables whose states lead to other nodes, but to equal distributions.

    EM leaves the distributions equal where no row observes the variable, although the structure
    could distinguish its states. Where the states lead to the same nodes it could not.

    Parameters
    ----------
    graph
        The graph.
    variables
        Numbers of the variables to look at.
    """
    chosen = set(variables)
    if not any(len(graph.children[v]) for v in chosen):
        return ()
    groups, found = np.empty(graph.n_nodes, np.int32), set()
    for v in reversed(graph.order.tolist()):
        heads = graph.successors_of(v)
        equal = groups[heads]
        if v in chosen and _same_for_all_states(equal) and not _same_for_all_states(heads):
            found.add(v)
        nodes = len(heads)
        keys = np.hstack([equal_values(graph.parameters_of(v)), equal.reshape(nodes, -1)])
        labels, _, _ = index_rows(np.ascontiguousarray(keys, np.int32))
        groups[graph.first_nodes[v] : graph.first_nodes[v] + nodes] = labels
    return tuple(graph.names[v] for v in sorted(found))


def _same_for_all_states(entries: NDArray[np.int32]) -> bool:
    """Return whether entries of shape (nodes, states, children) are the same for all states."""
    return bool((entries == entries[:, :1]).all())
