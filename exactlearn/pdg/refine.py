"""Refinement of a decision graph's parameters by expectation maximisation on incomplete data.

The E-step computes expected counts by in-flow and out-flow (PDG-SEM, section 4.4, equation 22),
the M-step sets each node's distribution to its relative expected counts (section 3.1). With
``alpha`` the step maximises the log-likelihood plus ``alpha`` times the sum of all log parameters
instead, which adds ``alpha`` to every count. What is maximised never falls; this is monitored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.alignment import aligned_codes
from exactlearn.data import Dataset
from exactlearn.errors import DataError
from exactlearn.parameters.ascent import ascend
from exactlearn.pdg.decision_graph import DecisionGraph
from exactlearn.pdg.flows import expect_counts, refuse_impossible
from exactlearn.pdg.key_table import group_rows
from exactlearn.pdg.layout import Layout
from exactlearn.pdg.smoothing import check_alpha


class RefinementState(NamedTuple):
    """Where EM stands: parameters and what the E-step found under them.

    Attributes
    ----------
    iteration
        M-steps done so far.
    parameters, counts
        Laid out as `DecisionGraph.parameters`.
    log_likelihood
        Log-likelihood of the data under ``parameters``, natural logarithm, total over rows.
    objective
        What never falls: ``log_likelihood`` plus the penalty of ``alpha``.
    """

    iteration: int
    parameters: NDArray[np.float64]
    counts: NDArray[np.float64]
    log_likelihood: float
    objective: float


@dataclass(frozen=True, eq=False)
class Refinement:
    """A refined decision graph and how EM got there.

    Parameters
    ----------
    pdg
        The graph with the last parameters.
    log_likelihoods, objectives
        Before the first iteration and after each: the total log-likelihood, and what EM
        maximised (the same without ``alpha``).
    converged
        Whether the gain fell below the tolerance before the iterations ran out.
    """

    pdg: DecisionGraph
    log_likelihoods: tuple[float, ...]
    objectives: tuple[float, ...]
    converged: bool

    @property
    def iterations(self) -> int:
        """Number of iterations done."""
        return len(self.log_likelihoods) - 1


class ParameterEM:
    """The EM problem: ``init`` gives its first state, ``step`` the next one.

    Parameters
    ----------
    graph
        Structure and first parameters.
    dataset
        Rows with missing cells; matched to the graph by names. Equal rows are merged.
    alpha
        Pseudo-count of every state of every node.
    """

    def __init__(self, graph: DecisionGraph, dataset: Dataset, alpha: float = 0.0) -> None:
        check_alpha(alpha)
        self.graph = graph
        self.alpha = alpha
        self._layout: Layout = graph.layout
        codes = aligned_codes(dataset, graph.names, graph.states)
        self._codes, self._weights, self._first = distinct_weighted(codes, dataset.weights)
        self.total_weight = float(self._weights.sum())
        if self.total_weight <= 0:
            raise DataError("the table has no rows of positive weight: nothing to refine on")

    def init(self) -> RefinementState:
        """Return the state at the graph's own parameters.

        Raises
        ------
        DataError
            If a row is impossible under them; names the row.
        """
        return self._expect(0, self.graph.parameters)

    def step(self, state: RefinementState) -> RefinementState:
        """Return the state after one M-step and the E-step under its parameters."""
        return self._expect(state.iteration + 1, self._maximise(state))

    def _maximise(self, state: RefinementState) -> NDArray[np.float64]:
        """Return relative counts; a node that no row reaches keeps its parameters."""
        counts = state.counts + self.alpha
        offsets = self.graph.parameter_offsets
        sizes = np.diff(offsets)
        totals = np.repeat(np.add.reduceat(counts, offsets[:-1]), sizes)
        parameters = state.parameters.copy()
        np.divide(counts, totals, out=parameters, where=totals > 0)
        return parameters

    def _expect(self, iteration: int, parameters: NDArray[np.float64]) -> RefinementState:
        counts, rows = expect_counts(self._layout, parameters, self._codes, self._weights)
        if np.isneginf(rows).any():
            spread = np.zeros(int(self._first.max()) + 1)
            spread[self._first] = rows
            refuse_impossible(spread)
        log_likelihood = float(np.dot(self._weights, rows))
        with np.errstate(divide="ignore"):
            penalty = self.alpha * np.log(parameters).sum() if self.alpha else 0.0
        return RefinementState(
            iteration, parameters, counts, log_likelihood, log_likelihood + float(penalty)
        )


def refine(
    pdg: DecisionGraph,
    dataset: Dataset,
    *,
    iterations: int = 100,
    tolerance: float = 1e-6,
    alpha: float = 0.0,
    on_iteration: Callable[[RefinementState], None] | None = None,
) -> Refinement:
    """Refine the parameters of a decision graph on data with missing cells.

    Parameters
    ----------
    pdg
        Structure and first parameters; states of probability zero stay so unless ``alpha`` > 0.
    dataset
        Rows, possibly weighted; variables and states are matched by name.
    iterations
        Most iterations to do.
    tolerance
        EM ends when an iteration gains less than this per row (unit of weight).
    alpha
        Pseudo-count of every state of every node. Without it a node that no row reaches keeps
        its parameters.
    on_iteration
        Called with the first state and after each iteration.

    Raises
    ------
    DataError
        If the table does not fit the graph, or a row is impossible under it.
    CheckError
        If what is maximised falls by more than rounding.
    """
    problem = ParameterEM(pdg, dataset, alpha)
    trace, converged = ascend(
        problem.init(),
        problem.step,
        iterations=iterations,
        least_gain=tolerance * problem.total_weight,
        on_iteration=on_iteration,
    )
    return Refinement(
        pdg.with_parameters(trace[-1].parameters),
        tuple(s.log_likelihood for s in trace),
        tuple(s.objective for s in trace),
        converged,
    )


def distinct_weighted(
    codes: NDArray[np.int16], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.int16], NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct rows of positive weight, their total weights, and where each is first."""
    w = np.ones(len(codes)) if weights is None else np.asarray(weights, np.float64)
    used = np.flatnonzero(w > 0)
    labels, first = group_rows(codes[used].astype(np.int32))
    totals = np.bincount(labels, w[used], len(first)).astype(np.float64)
    return codes[used[first]], totals, used[first].astype(np.int64)
