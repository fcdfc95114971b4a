"""Structural EM for decision graphs (PDG-SEM, Algorithm 1).

An iteration fits the parameters by EM, takes the expected counts of all edges in one pass, and
improves the expected score

    Q = (1-lambda) E[L] - lambda size        (PDG-SEM, equation 8)

by splits from the roots down and merges from the leaves up (equations 13 and 15). Neither Q nor the
score of the observed cells falls (theorem *Splits and merges by counts*,
docs/theory/decision_graphs.md), which is monitored. The search ends when no split or merge gains.

The forest is that of Chow and Liu from the mutual information of pairs by EM (Algorithm 2), a
tree as in the paper or, by default, a forest that leaves out edges which do not pay for their
parameters. The first parameters are those of the pairs, where the paper draws them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn.bayesnet.complete_data import check_smoothing
from exactlearn.bayesnet.em_result import ascend
from exactlearn.bayesnet.network import draw
from exactlearn.data.counts import bic_size_weight
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.inference.flows import log_likelihood_rows, posteriors, refuse_impossible
from exactlearn.pdg.learn.edge_counts import (
    EdgeTables,
    Size,
    StructureScore,
    expected_edge_counts,
    improved_by_counts,
    merged_rows,
)
from exactlearn.pdg.learn.parameters import node_counts, refine, smoothed_by_em, smoothed_once
from exactlearn.pdg.learn.starts import chow_liu_forest, markov_forest, network_start
from exactlearn.pdg.model.decision_graph import DecisionGraph, as_graph
from exactlearn.pdg.model.forest import checked_forest

Estimator = Literal["em", "available", "complete"]
ESTIMATORS: tuple[Estimator, ...] = ("em", "available", "complete")
"""Parameters by EM, from available cases (ACA), or from complete cases only, rows without missing
cells (CCA)."""

ROUNDS = 3
"""Most networks that are learnt."""

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
        By how much the change of the structure raised the expected score in this iteration, 0 in
        the first state.
    objective
        What no iteration lowers: the score, or the iteration where parameters are not those of EM.
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
    parameters: Estimator = "em",
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
    parameters
        ``em``, or ``available`` or ``complete`` in its place in line 5 of the algorithm: the
        parameters are those of the available or complete cases with ``smoothing``, while the
        structure changes by the expected counts under them. Then nothing is monitored.
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
        If there are no rows, none is complete with ``parameters="complete"``, or the forest or the
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
    if parameters not in ESTIMATORS:
        raise OptionError(f"parameters {parameters!r}: give 'em', 'available' or 'complete'")
    check_smoothing(smoothing)
    weight = float(dataset.row_weights.sum())
    if weight <= 0:
        raise DataError("the table has no rows of positive weight: nothing to learn from")
    score = StructureScore(bic_size_weight(weight) if size_weight is None else size_weight, size)
    rows = merged_rows(dataset)
    if start is None:
        parents = _forest(forest, rows, score)
        start = markov_forest(rows, parents)
    elif (start.names, start.states) != (rows.names, rows.states):
        raise DataError("the start has other variables or states than the table: align them")
    else:
        refuse_impossible(log_likelihood_rows(start, dataset.codes), dataset.lines)
    counted = None if parameters == "em" else rows
    if parameters == "complete":
        if not rows.complete_rows.any():
            raise DataError("no row is complete: use available cases or EM")
        counted = rows.part(rows.complete_rows)
    with SearchControl.within(time_limit).running() as control:
        problem = StructuralEM(rows, score, smoothing, control, counted)
        states: list[StructuralEMState] = []

        def report(state: StructuralEMState) -> None:
            states.append(state)
            if on_iteration is not None:
                on_iteration(state)
            if on_graph is not None:
                on_graph(state, score.size_weight, lambda: problem.smoothed(state.graph))

        found, converged = ascend(
            problem.init(start),
            problem.step,
            iterations=iterations,
            on_iteration=report,
            control=control,
        )
        finished = converged or not control.is_over
        last = problem.fitted_last(found.graph)
    return StructuralEMGraph(
        last, score.size_weight, score.size, tuple(states), converged, finished
    )


class StructuralEM:
    """The structural EM problem: ``init`` gives its first state, ``step`` the next one.

    Parameters
    ----------
    rows
        Different rows, possibly with missing cells.
    score
        What the structure is to maximise.
    smoothing
        Pseudo-count of smoothed parameters.
    control
        Its remaining time is that of EM for parameters.
    counted
        Rows whose available cases give the parameters in place of EM. Without pseudo-counts a row
        that is not counted may be impossible.
    """

    def __init__(
        self,
        rows: Dataset,
        score: StructureScore,
        smoothing: float,
        control: SearchControl,
        counted: Dataset | None = None,
    ) -> None:
        self._rows, self._score, self._smoothing = rows, score, smoothing
        self._control, self._counted = control, counted
        self._tables: EdgeTables = {}  # of the last state's graph, which lead to the next one

    def init(self, graph: DecisionGraph) -> StructuralEMState:
        """Return the state of a graph whose parameters are fitted."""
        return self._fit(0, graph, 0.0)

    def step(self, state: StructuralEMState) -> StructuralEMState | None:
        """Return the state after one change of the structure; nothing when none gains."""
        found = improved_by_counts(state.graph, self._tables, self._score)
        return None if found is None else self._fit(state.iteration + 1, *found)

    def smoothed(self, graph: DecisionGraph) -> DecisionGraph:
        """Return a structure with smoothed parameters, by one step of EM."""
        if self._counted is not None:
            return graph.with_counts(node_counts(graph, self._counted) + self._smoothing)
        return smoothed_once(graph, self._rows, self._smoothing)

    def fitted_last(self, graph: DecisionGraph) -> DecisionGraph:
        """Return a structure with smoothed parameters, fitted until they converge."""
        if self._counted is not None:
            return self.smoothed(graph)
        return smoothed_by_em(graph, self._rows, self._smoothing, self._control.remaining)

    def _fit(self, iteration: int, graph: DecisionGraph, gain: float) -> StructuralEMState:
        """Fit parameters (Algorithm 1, line 5), and count."""
        if self._counted is not None:
            fitted = self.smoothed(graph)
        else:
            fitted = refine(
                graph,
                self._rows,
                iterations=EM_ITERATIONS,
                smoothing=0.0,
                time_limit=self._control.remaining,
            ).model
        self._tables, likelihood = expected_edge_counts(fitted, self._rows)
        value = self._score.of(fitted, likelihood)
        objective = value if self._counted is None else float(iteration)
        return StructuralEMState(iteration, fitted, likelihood, value, gain, objective)


def _forest(
    forest: Literal["forest", "tree"] | ArrayLike, rows: Dataset, score: StructureScore
) -> NDArray[np.int32]:
    if isinstance(forest, str):
        if forest not in ("forest", "tree"):
            raise OptionError(f"forest {forest!r}: give 'forest', 'tree' or parents")
        rate = score.rate if forest == "forest" and score.size_weight < 1 else None
        return chow_liu_forest(rows, rate)
    return checked_forest(forest, rows.n_variables)


def structural_em_rounds(
    dataset: Dataset,
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
    time_limit: float | None = None,
    **options: Any,
) -> StructuralEMGraph:
    """Return the best model of structural EM from a forest, a tree and networks.

    In a tree a variable depends on two others through chains of nodes only. So the missing cells
    are drawn from their posteriors under the model found; a network is learnt from that table; and
    structural EM starts again from the network's graph, on the incomplete table. Rounds end when
    the score no longer rises.

    Parameters
    ----------
    dataset
        As for `structural_em_graph`, and so are other ``options``.
    rounds
        Most networks that are learnt; 0 for none.
    seed
        Of the drawn cells, and of the searches for networks.
    time_limit
        Seconds for the whole search.

    Returns
    -------
    StructuralEMGraph
        The best model, also after a limit or an interrupt.

    Raises
    ------
    DataError, OptionError, CheckError
        As `structural_em_graph`.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar").part(slice(80))
    >>> structural_em_rounds(table, size_weight=0.2, rounds=1).graph
    DecisionGraph(variables=5, nodes=8, effective_size=16)
    """
    rng = np.random.default_rng(seed)
    with SearchControl.within(time_limit).running() as control:
        best = structural_em_graph(dataset, **options)
        # An edge that does not pay for all its parameters may pay once nodes are merged: a tree.
        if not control.is_over:
            best, _ = _better(best, structural_em_graph(dataset, forest="tree", **options))
        for _ in range(rounds):
            if control.is_over:
                break
            completed = drawn_completion(best.graph, dataset, rng)
            start = network_start(completed, best.size_weight, seed)
            best, risen = _better(best, structural_em_graph(dataset, start=start, **options))
            if not risen:
                break
        return replace(best, finished=best.finished and not control.is_over)


def _better(best: StructuralEMGraph, found: StructuralEMGraph) -> tuple[StructuralEMGraph, bool]:
    """Return the model of the higher score, finished if the last search is, and whether it rose."""
    risen = found.score > best.score
    return (found if risen else replace(best, finished=found.finished)), risen


def drawn_completion(graph: DecisionGraph, dataset: Dataset, rng: np.random.Generator) -> Dataset:
    """Return a table whose missing cells are drawn, each by its own posterior distribution."""
    shares = posteriors(graph, dataset.codes)
    codes, start = dataset.codes.astype(np.int16), 0
    for v, states in enumerate(dataset.states):
        rows = np.flatnonzero(codes[:, v] < 0)
        cumulative = np.ascontiguousarray(shares[rows, start : start + len(states)].cumsum(axis=1))
        drawn = np.empty(len(rows), np.int16)
        draw(cumulative, np.arange(len(rows)), rng.random(len(rows)), drawn)
        codes[rows, v] = drawn
        start += len(states)
    return Dataset(codes, dataset.names, dataset.states, dataset.weights)
