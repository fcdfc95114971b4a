"""The climb of structural EM: parameters and structure in turn, by counts of one kind or another.

An iteration fits the parameters, takes the counts of all edges in one pass, and improves the
expected score by splits and merges of which each change is known from those counts. By expected
counts the score never falls; by available cases structures have no score that they share.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.ascent import FALL
from exactlearn.data.dataset import Dataset
from exactlearn.errors import CheckError
from exactlearn.pdg.learn.edge_counts import (
    EdgeTables,
    available_counts,
    by_variable,
    copied_by_edges,
    expected_edge_counts,
)
from exactlearn.pdg.learn.neighbourhood import improved_by_counts
from exactlearn.pdg.learn.refine import refine
from exactlearn.pdg.learn.smoothing import smoothed_graph
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.pdg.model.structure_score import StructureScore

EM_ITERATIONS = 10
"""Most iterations of EM for parameters in each iteration (PDG-SEM, section 6)."""


class StructuralEMState(NamedTuple):
    """Where structural EM stands.

    Attributes
    ----------
    iteration
        Changes of the structure so far.
    graph
        The model.
    log_likelihood, score
        Of the observed cells, total, natural logarithm; and S(lambda) with it.
    expected_gain
        By how much the expected score rose in this iteration, 0 in the first state.
    """

    iteration: int
    graph: DecisionGraph
    log_likelihood: float
    score: float
    expected_gain: float


class ExpectedCases:
    """Structural EM by expected counts."""

    def __init__(
        self,
        dataset: Dataset,
        codes: NDArray[np.int16],
        weights: NDArray[np.float64],
        score: StructureScore,
    ) -> None:
        self._dataset, self._codes, self._weights = dataset, codes, weights
        self._score = score
        self.states: list[StructuralEMState] = []

    def run(
        self,
        graph: DecisionGraph,
        iterations: int,
        on_iteration: Callable[[StructuralEMState], None],
    ) -> bool:
        """Alternate between parameters and structure; return whether nothing gains any more."""
        graph, gain = self.fitted(graph), 0.0
        while True:
            tables, likelihood = self.counts(graph)
            value, steps = self._score.of(graph, likelihood), len(self.states)
            self.states.append(StructuralEMState(steps, graph, likelihood, value, gain))
            self.monitor()
            on_iteration(self.states[-1])
            if steps == iterations:
                return False
            found = improved_by_counts(graph, tables, self._score)
            if not found.changed:
                return True
            graph, gain = self.fitted(found.graph), found.gain

    def fitted(self, graph: DecisionGraph) -> DecisionGraph:
        """Return a structure with its parameters by EM (Algorithm 1, line 5)."""
        return refine(graph, self._dataset, iterations=EM_ITERATIONS, alpha=0.0, starts=1).pdg

    def counts(self, graph: DecisionGraph) -> tuple[EdgeTables, float]:
        """Return the counts of all edges, and the log-likelihood."""
        return expected_edge_counts(graph, self._codes, self._weights)

    def monitor(self) -> None:
        """Raise when the expected or the observed score fell."""
        if len(self.states) < 2:
            return
        last = self.states[-1]
        before = self.states[-2].score
        slack = FALL * max(1.0, abs(before))
        if last.score < before - slack or last.expected_gain < -slack:
            raise CheckError(
                f"structural EM, iteration {last.iteration}: the score fell from {before!r} to"
                f" {last.score!r}, the expected one rose by {last.expected_gain!r}: please report"
                " this with the data"
            )


class AvailableCases(ExpectedCases):
    """The same search with the counts of available cases in place of EM."""

    def fitted(self, graph: DecisionGraph) -> DecisionGraph:
        """Return a structure with the relative counts of its available cases."""
        counts = available_counts(graph.layout, self._codes, self._weights)
        return smoothed_graph(graph, counts, 0.0)

    def counts(self, graph: DecisionGraph) -> tuple[EdgeTables, float]:
        """Return the available counts of all edges, and their log-likelihood."""
        copied = copied_by_edges(graph)
        counts = available_counts(copied.layout, self._codes, self._weights)
        own = available_counts(graph.layout, self._codes, self._weights)
        some = own > 0
        likelihood = float(own[some] @ np.log(graph.parameters[some]))
        return by_variable(copied, counts), likelihood

    def monitor(self) -> None:
        """Do nothing: other structures have other available cases."""
