"""Structural EM for decision graphs (PDG-SEM, Algorithm 1).

An iteration fits the parameters by EM, takes the expected counts of all edges in one pass, and
improves the expected score

    Q = (1-lambda) E[L] - lambda size        (PDG-SEM, equation 8)

by splits from the roots down and merges from the leaves up (equations 13 and 15). Neither Q nor the
score of the observed cells falls (theorem *Splits and merges by counts*,
docs/theory/decision_graphs.md); both are monitored. The search ends when no split or merge gains.

The forest is that of Chow and Liu from the mutual information of pairs by EM (Algorithm 2), a
tree as in the paper or, by default, a forest that leaves out edges which do not pay for their
parameters. The first parameters are those of the pairs, where the paper draws them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn.bayesnet.complete_data import check_smoothing
from exactlearn.bayesnet.em_result import FALL, ascend
from exactlearn.data.counts import bic_size_weight, distinct_weighted
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import CheckError, DataError, OptionError
from exactlearn.pdg.inference.flows import log_likelihood_rows, refuse_impossible
from exactlearn.pdg.learn.chow_liu import chow_liu_forest, markov_forest
from exactlearn.pdg.learn.populated_graph import (
    EdgeCounts,
    EdgeTables,
    available_counts,
    available_edge_counts,
    expected_edge_counts,
)
from exactlearn.pdg.learn.refine import refine, smoothed_by_em, smoothed_once
from exactlearn.pdg.learn.splits_and_merges import improved_by_counts
from exactlearn.pdg.model.decision_graph import DecisionGraph, as_graph
from exactlearn.pdg.model.forest import checked_forest
from exactlearn.pdg.model.structure_score import Size, StructureScore

Cases = Literal["em", "available", "complete"]
CASES: tuple[Cases, ...] = ("em", "available", "complete")
"""What is counted: the expected completions of each row (EM), its available cases (ACA), or the
complete cases only, rows without missing cells (CCA)."""

ITERATIONS = 100
"""Most iterations (PDG-SEM, section 6)."""

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
    objective
        What no iteration lowers: the score, or the iteration where there is no score that all
        structures share.
    """

    iteration: int
    graph: DecisionGraph
    log_likelihood: float
    score: float
    expected_gain: float
    objective: float


OnGraph = Callable[[StructuralEMState, float, Callable[[], DecisionGraph]], None]
"""Takes a state, its lambda, and what returns the state's graph with smoothed parameters."""


@dataclass(frozen=True, eq=False, repr=False)
class StructuralEMGraph(ByValue, shown="graph size_weight size score converged finished"):
    """A decision graph learnt by structural EM.

    Parameters
    ----------
    graph
        The model, its parameters fitted a last time and smoothed.
    size_weight, size
        The score that it was learnt by.
    states
        The first state and that after each iteration.
    converged
        Whether no split or merge gained at the end.
    finished
        Whether neither limit nor interrupt cut the search short.
    """

    graph: DecisionGraph
    size_weight: float
    size: Size
    states: tuple[StructuralEMState, ...]
    converged: bool
    finished: bool

    @property
    def score(self) -> float:
        """S(lambda) of the observed cells before the last smoothing."""
        return self.states[-1].score


@checked_arguments(start=as_graph)
def structural_em_graph(
    dataset: DatasetLike,
    *,
    cases: Cases = "em",
    parameters: Cases = "em",
    forest: Literal["forest", "tree"] | ArrayLike = "forest",
    start: DecisionGraph | None = None,
    size_weight: float | None = None,
    size: Size = "effective",
    smoothing: float = 1.0,
    iterations: int = ITERATIONS,
    time_limit: float | None = None,
    on_iteration: Callable[[StructuralEMState], None] | None = None,
    on_graph: OnGraph | None = None,
) -> StructuralEMGraph:
    """Learn a decision graph from rows with missing cells (PDG-SEM, Algorithm 1).

    Parameters
    ----------
    dataset
        Rows, possibly with missing cells and weights.
    cases
        ``em``, ``available`` or ``complete``. With available cases there is no score that all
        structures share, so nothing is monitored.
    parameters
        With ``cases="em"``, what replaces EM in line 5 of the algorithm only: the parameters are
        those of the available or complete cases with ``smoothing``, while the structure
        changes by the expected counts under them. Then nothing is monitored.
    forest
        ``forest`` or ``tree`` of largest mutual information, or the parent of each variable, -1
        for a root.
    start
        The graph to start from in place of that of a forest, such as that of a learnt network,
        over the table's variables; every row must be possible under it.
    size_weight
        Weight of the size in the score; left out, that of BIC.
    size
        ``effective`` or ``representational``; the paper counts free parameters.
    smoothing
        Pseudo-count of every parameter of the result, as in the paper's experiments.
    iterations
        Most changes of the structure.
    time_limit
        Seconds after which no other one is made.
    on_iteration
        Called with the first state and after each iteration.
    on_graph
        Called at the same moments, with lambda and what smooths the state's graph besides.

    Returns
    -------
    StructuralEMGraph
        The last state, also after a limit or an interrupt.

    Raises
    ------
    DataError
        If there are no rows, none is complete with ``cases="complete"``, or the forest or the
        start does not fit the table.
    OptionError
        If an option is wrong.
    CheckError
        If a score falls by more than rounding.

    Examples
    --------
    >>> rows = np.array([[0, 0], [1, 1], [0, -1], [-1, 1]] * 20)
    >>> found = structural_em_graph(Dataset(rows, ("a", "b"), (("n", "y"),) * 2))
    >>> found.converged, found.graph.effective_size
    (True, 6)
    """
    for key, value in (("cases", cases), ("parameters", parameters)):
        if value not in CASES:
            raise OptionError(f"{key} {value!r}: give 'em', 'available' or 'complete'")
    if parameters != "em" and cases != "em":
        raise OptionError("parameters: only with cases='em', which other cases replace throughout")
    check_smoothing(smoothing)
    used = _complete_rows(dataset) if cases == "complete" else dataset
    weight = float(used.row_weights.sum())
    if weight <= 0:
        raise DataError("the table has no rows of positive weight: nothing to learn from")
    score = StructureScore(bic_size_weight(weight) if size_weight is None else size_weight, size)
    merged = _merged(used)
    codes, weights = merged.codes.astype(np.int16), np.ascontiguousarray(merged.row_weights)
    if start is None:
        parents = _forest(forest, codes, weights, used, score)
        start = markov_forest(used.names, used.states, parents, codes, weights)
    elif (start.names, start.states) != (used.names, used.states):
        raise DataError("the start has other variables or states than the table: align them")
    else:
        refuse_impossible(log_likelihood_rows(start, used.codes), used.lines)
    with SearchControl.within(time_limit).running() as control:
        counted = _ExpectedCases(merged, codes, weights, control)
        if cases == "available":
            counted = _AvailableCases(merged, codes, weights, control, merged, 0.0)
        elif parameters != "em":
            rows = _complete_rows(merged) if parameters == "complete" else merged
            counted = _CountedParameters(merged, codes, weights, control, rows, smoothing)
        states: list[StructuralEMState] = []

        def report(state: StructuralEMState) -> None:
            states.append(state)
            if on_iteration is not None:
                on_iteration(state)
            if on_graph is not None:
                on_graph(state, score.size_weight, lambda: counted.smoothed(state.graph, smoothing))

        problem = StructuralEM(counted, score)
        found, converged = ascend(
            problem.init(start),
            problem.step,
            iterations=iterations,
            on_iteration=report,
            control=control,
        )
        finished = converged or not control.is_over
        last = counted.smoothed(found.graph, smoothing, last=True)
    return StructuralEMGraph(
        last, score.size_weight, score.size, tuple(states), converged, finished
    )


@dataclass(frozen=True, eq=False)
class _ExpectedCases:
    """The completions of each row, by EM: all structures share one likelihood."""

    dataset: Dataset
    codes: NDArray[np.int16]
    weights: NDArray[np.float64]
    control: SearchControl
    shares_likelihood: ClassVar[bool] = True

    def fitted(self, graph: DecisionGraph) -> DecisionGraph:
        """Return a structure with fitted parameters (Algorithm 1, line 5)."""
        return refine(
            graph,
            self.dataset,
            iterations=EM_ITERATIONS,
            smoothing=0.0,
            starts=1,
            time_limit=self.control.remaining,
        ).model

    def counts(self, graph: DecisionGraph) -> EdgeCounts:
        """Return the counts of all edges, and the log-likelihood."""
        return expected_edge_counts(graph, self.codes, self.weights)

    def smoothed(
        self, graph: DecisionGraph, smoothing: float, *, last: bool = False
    ) -> DecisionGraph:
        """Return a structure with smoothed parameters, the last one fitted until they converge."""
        if not last:
            return smoothed_once(graph, self.dataset, smoothing)
        return smoothed_by_em(graph, self.dataset, smoothing, self.control.remaining)


@dataclass(frozen=True, eq=False)
class _CountedParameters(_ExpectedCases):
    """Expected completions for the structure; parameters from available or complete cases.

    Without pseudo-counts a row that is not counted may be impossible.
    """

    rows: Dataset
    smoothing: float
    shares_likelihood: ClassVar[bool] = False

    def fitted(self, graph: DecisionGraph) -> DecisionGraph:
        return self.smoothed(graph, self.smoothing)

    def smoothed(
        self, graph: DecisionGraph, smoothing: float, *, last: bool = False
    ) -> DecisionGraph:
        codes = self.rows.codes.astype(np.int16)
        counts = available_counts(graph.layout, codes, self.rows.row_weights)
        return graph.with_counts(counts + smoothing)


class _AvailableCases(_CountedParameters):
    """What is certain of each row; other structures have other available cases."""

    def counts(self, graph: DecisionGraph) -> EdgeCounts:
        return available_edge_counts(graph, self.codes, self.weights)


class StructuralEM:
    """The structural EM problem: ``init`` gives its first state, ``step`` the next one.

    The counts along the edges of the last state's graph, which lead to the next one, are kept.
    """

    def __init__(self, cases: _ExpectedCases, score: StructureScore) -> None:
        self._cases, self._score = cases, score
        self._tables: EdgeTables = {}

    def init(self, graph: DecisionGraph) -> StructuralEMState:
        """Return the state of a graph whose parameters are fitted."""
        return self._fit(0, graph, 0.0)

    def step(self, state: StructuralEMState) -> StructuralEMState | None:
        """Return the state after one change of the structure; nothing when none gains.

        Raises
        ------
        CheckError
            If the expected score falls by more than rounding.
        """
        found = improved_by_counts(state.graph, self._tables, self._score)
        fallen = found.gain < -FALL * max(1.0, abs(state.score))
        if self._cases.shares_likelihood and found.changed and fallen:
            raise CheckError(
                f"structural EM, iteration {state.iteration + 1}: the expected score rose by"
                f" {found.gain!r}: please report this with the data"
            )
        return self._fit(state.iteration + 1, found.graph, found.gain) if found.changed else None

    def _fit(self, iteration: int, graph: DecisionGraph, gain: float) -> StructuralEMState:
        fitted = self._cases.fitted(graph)
        self._tables, likelihood = self._cases.counts(fitted)
        value = self._score.of(fitted, likelihood)
        objective = value if self._cases.shares_likelihood else float(iteration)
        return StructuralEMState(iteration, fitted, likelihood, value, gain, objective)


def _complete_rows(dataset: Dataset) -> Dataset:
    if not dataset.complete_rows.any():
        raise DataError("no row is complete: use available cases or EM")
    return dataset.part(dataset.complete_rows)


def _merged(dataset: Dataset) -> Dataset:
    """Merge equal rows, once for all passes."""
    codes, weights, _ = distinct_weighted(dataset.codes.astype(np.int16), dataset.weights)
    return Dataset(codes, dataset.names, dataset.states, weights)


def _forest(
    forest: Literal["forest", "tree"] | ArrayLike,
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    dataset: Dataset,
    score: StructureScore,
) -> NDArray[np.int32]:
    if isinstance(forest, str):
        if forest not in ("forest", "tree"):
            raise OptionError(f"forest {forest!r}: give 'forest', 'tree' or parents")
        rate = score.rate if forest == "forest" and score.size_weight < 1 else None
        return chow_liu_forest(codes, weights, dataset.cardinalities, rate)
    return checked_forest(forest, dataset)
