"""Learning of decision graphs from complete data: successive halving of a population of forests.

THESIS, Algorithm 4.6. The population holds forests grown by tests at several significance levels,
the forest of largest mutual information, and those of networks learnt from the rows, which the
tests of single pairs do not find. A short search over each forest ranks them by BIC, and the better
half stays. For each lambda, the largest first, a graph is learnt over each forest, starting from
that of the previous lambda, and the best graph is kept. The worse half of the forests is dropped
after each lambda up to that of BIC: larger ones rank forests without edges first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.display import Displayed
from exactlearn.bayesnet.complete_data import check_smoothing
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.data.trade_off import bic_size_weight
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.learn.chow_liu import chow_liu_forest
from exactlearn.pdg.learn.forest_growth import grow_forest
from exactlearn.pdg.learn.network_starts import MAX_PARENTS, network_start
from exactlearn.pdg.learn.populated_graph import (
    CompleteRows,
    PopulatedGraph,
    Successors,
    structure_of,
)
from exactlearn.pdg.learn.redirecting import SubtreeRows
from exactlearn.pdg.learn.smoothing import tuned_smoothing
from exactlearn.pdg.learn.structure_search import (
    DEFAULTS,
    LearntGraph,
    StructureSearchParameters,
    best_improved,
    first_structures,
    improve_further,
    learnt_graph,
)
from exactlearn.pdg.model.decision_graph import DecisionGraph, as_graphs
from exactlearn.pdg.model.structure_score import Size, StructureScore

SIGNIFICANCES = (0.001, 0.01, 0.1, 0.3, 1.0)
"""Levels of the tests that forests are grown by; with the last one every tree is a chain."""


@dataclass(frozen=True, repr=False)
class LearntGraphs(Displayed, shown="models finished"):
    """The best graph found for each lambda.

    Parameters
    ----------
    models
        One for each lambda, in falling order.
    finished
        Whether neither limit nor interrupt cut the search short.
    """

    models: tuple[LearntGraph, ...]
    finished: bool


class ForestProgress(NamedTuple):
    """Where the search stands.

    Attributes
    ----------
    stage
        ``forest`` while forests are grown, ``screening`` while they are compared, else ``graph``.
    done, total
        Forests dealt with, and how many there are in this round.
    score
        The best so far at this lambda, ``-inf`` before the first.
    model
        The graph that has it.
    """

    stage: str
    done: int
    total: int
    score: float
    model: LearntGraph | None = None


OnProgress = Callable[[ForestProgress], None]


@checked_arguments(starts=as_graphs)
def learn_direct(
    dataset: DatasetLike,
    *,
    size_weights: Sequence[float] | None = None,
    size: Size = "effective",
    significances: Sequence[float] = SIGNIFICANCES,
    max_parents: int = MAX_PARENTS,
    starts: Sequence[DecisionGraph] = (),
    smoothing: float | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    on_progress: OnProgress | None = None,
    parameters: StructureSearchParameters = DEFAULTS,
) -> LearntGraphs:
    """Learn decision graphs with their forests from complete data (THESIS, Algorithm 4.6).

    Parameters
    ----------
    dataset
        Complete data, possibly weighted.
    size_weights
        Weights of the size in the score, from 0 to 1; left out, that of BIC.
    size
        ``effective`` or ``representational``.
    significances
        Levels of the tests, a forest for each; a level may stand several times.
    max_parents
        Of the networks that are learnt with the largest and the smallest lambda, whose graphs
        join the ``starts``; 0 for none.
    starts
        Decision graphs over the table's variables, such as that of a learnt network: their
        forests join the population, and their structures are searched from too.
    smoothing
        Pseudo-count of every parameter; left out, tuned by cross-validation.
    seed
        Of the draws of the variables that branches begin with, and of the folds.
    time_limit
        Seconds for the search.
    on_progress
        Called after each forest.
    parameters
        Tuning constants of the search.

    Returns
    -------
    LearntGraphs
        One graph at least; a limit or an interrupt ends the search with what there is.

    Raises
    ------
    DataError
        If a cell is missing, there are no rows, or a start has other variables or states.
    OptionError
        If a size weight, a significance, the size or ``smoothing`` is wrong.

    Examples
    --------
    >>> import exactlearn as el
    >>> found = el.learn_direct(el.read_dataset("cancer-mcar-complete"), size_weights=[0.1])
    >>> found.models[0].graph
    DecisionGraph(variables=5, nodes=13, effective_size=26)
    """
    rows = CompleteRows.of(dataset)
    given = [bic_size_weight(rows.total_weight)] if size_weights is None else size_weights
    scores = [StructureScore(x, size) for x in sorted(given, reverse=True)]
    if not scores:
        raise OptionError("no size_weight was given: give one at least, or leave them out for BIC")
    if not all(0 <= t <= 1 for t in significances):
        raise OptionError(f"significances {list(significances)} must be from 0 to 1")
    check_smoothing(smoothing)
    for graph in starts:
        if (graph.names, graph.states) != (dataset.names, dataset.states):
            raise DataError("a start has other variables or states than the table: align them")
    with SearchControl.within(time_limit).running() as control:
        search = SuccessiveHalving(dataset, rows, size, seed, on_progress, parameters, control)
        search.grow(starts, significances, max_parents, scores)
        screened = search.screen()
        for score in scores:
            search.learn(score)
        finished = not control.is_over
        learnt = search.models or [screened]
        return LearntGraphs(tuple(_smoothed(m, dataset, smoothing, seed) for m in learnt), finished)


def _smoothed(
    model: LearntGraph, dataset: Dataset, smoothing: float | None, seed: int
) -> LearntGraph:
    tuned = tuned_smoothing(model.graph, dataset, smoothing=smoothing, seed=seed)
    return replace(model, graph=tuned.graph)


@dataclass
class _Candidate:
    """A forest, the structures to start from, the last structure found, and its score."""

    forest: NDArray[np.int32]
    structures: list[Successors]
    last: list[Successors] = field(default_factory=list)
    score: float = -inf


class SuccessiveHalving:
    """A population of forests, and the best graph at each lambda so far.

    Parameters
    ----------
    dataset, rows
        Complete rows, and the distinct ones of them.
    size
        ``effective`` or ``representational``.
    seed
        Of the draws of the variables that branches begin with, and of searches for networks.
    on_progress
        Called after each forest.
    parameters
        Tuning constants of the searches over forests.
    control
        Looked at between forests, and sweeps over one.

    Attributes
    ----------
    models
        The best graph at each lambda that its search is over or has begun for.
    """

    def __init__(
        self,
        dataset: Dataset,
        rows: CompleteRows,
        size: Size,
        seed: int,
        on_progress: OnProgress | None,
        parameters: StructureSearchParameters,
        control: SearchControl,
    ) -> None:
        self._dataset, self._rows = dataset, rows
        self._on_progress, self._parameters, self._control = on_progress, parameters, control
        self._seed, self._rng = seed, np.random.default_rng(seed)
        self._population: list[_Candidate] = []
        self._screening = StructureScore(bic_size_weight(rows.total_weight), size)
        self.models: list[LearntGraph] = []

    def grow(
        self,
        starts: Sequence[DecisionGraph],
        significances: Sequence[float],
        max_parents: int,
        scores: Sequence[StructureScore],
    ) -> None:
        """Make the population: different forests only, one at least."""
        for graph in starts:
            self._add(graph.forest, structure_of(graph))
        size_weights = (
            sorted({scores[0].size_weight, scores[-1].size_weight}) if max_parents > 0 else []
        )
        total = len(size_weights) + len(significances) + 1
        for k, size_weight in enumerate(size_weights):
            if self._control.is_over:
                break
            graph = network_start(
                self._dataset, size_weight, max_parents=max_parents, seed=self._seed
            )
            self._add(graph.forest, structure_of(graph))
            self._report("forest", k + 1, total)
        if self._control.is_over and self._population:
            return
        codes = np.ascontiguousarray(self._rows.columns.T.astype(np.int16))
        cardinalities = np.array([len(s) for s in self._rows.states], np.int64)
        rate = scores[0].rate if scores[0].rate < inf else None
        self._add(chow_liu_forest(codes, self._rows.weights, cardinalities, rate))
        self._report("forest", len(size_weights) + 1, total)
        for k, significance in enumerate(significances, len(size_weights) + 2):
            if self._control.is_over:
                break
            options = (self._rng, self._parameters, self._control)
            self._add(grow_forest(self._rows, significance, scores[0], *options))
            self._report("forest", k, total)

    def learn(self, score: StructureScore) -> None:
        """Learn a graph over each forest, and keep the better half of the forests."""
        for k, candidate in enumerate(self._population):
            if self._control.is_over:
                return
            starts = [*candidate.structures, *candidate.last]
            best = self._improved(candidate, starts, score, self._parameters.sweeps)
            subtrees = SubtreeRows(self._rows, candidate.forest)
            best = improve_further(
                best, self._rows, score, subtrees, self._parameters, self._control
            )
            candidate.last = [structure_of(best.graph)]
            candidate.score = score.of(best.graph, best.log_likelihood)
            model = learnt_graph(best, score)
            if k == 0:
                self.models.append(model)
            elif model.score > self.models[-1].score:
                self.models[-1] = model
            self._report("graph", k + 1, len(self._population), self.models[-1])
        if score.size_weight <= self._screening.size_weight:
            self._halve()

    def screen(self) -> LearntGraph:
        """Search shortly over each forest; keep the better half, and return the best graph."""
        score, best_so_far = self._screening, None
        for k, candidate in enumerate(self._population):
            if best_so_far is not None and self._control.is_over:
                break
            first = first_structures(self._rows, candidate.forest, self._parameters)
            starts, sweeps = [*first, *candidate.structures], self._parameters.screening_sweeps
            best = self._improved(candidate, starts, score, sweeps)
            candidate.structures = [structure_of(best.graph)]
            model = learnt_graph(best, score)
            candidate.score = model.score
            if best_so_far is None or model.score > best_so_far.score:
                best_so_far = model
            self._report("screening", k + 1, len(self._population), best_so_far)
        self._halve()
        assert best_so_far is not None, "there is a forest at least"
        return best_so_far

    def _improved(
        self,
        candidate: _Candidate,
        starts: Sequence[Successors],
        score: StructureScore,
        sweeps: int,
    ) -> PopulatedGraph:
        subtrees = SubtreeRows(self._rows, candidate.forest)
        return best_improved(
            self._rows, candidate.forest, score, starts, subtrees, sweeps, self._control
        )

    def _halve(self) -> None:
        ranked = sorted(self._population, key=lambda c: -c.score)
        better = {id(c) for c in ranked[: (len(ranked) + 1) // 2]}
        self._population = [c for c in self._population if id(c) in better]

    def _add(self, forest: NDArray[np.int32], *structures: Successors) -> None:
        for candidate in self._population:
            if (forest == candidate.forest).all():
                candidate.structures += structures
                return
        self._population.append(_Candidate(forest, list(structures)))

    def _report(self, stage: str, done: int, total: int, model: LearntGraph | None = None) -> None:
        if self._on_progress is not None:
            score = -inf if model is None else model.score
            self._on_progress(ForestProgress(stage, done, total, score, model))
