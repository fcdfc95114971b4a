"""Learning of decision graphs from complete data: a population of forests, pruned along lambda.

THESIS, Algorithm 4.6. Forests are grown by tests at several significance levels; to these comes
the forest of largest mutual information, which the tests of single pairs do not find. For each
lambda, the largest first, a graph is learnt over each forest and the best one is kept; after each
lambda the worse half of the forests goes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.data import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.pdg.chow_liu import chow_liu_forest
from exactlearn.pdg.decision_graph import DecisionGraph
from exactlearn.pdg.forest_growth import grow_forest
from exactlearn.pdg.learning import LearntGraph, best_structure, learnt
from exactlearn.pdg.population import CompleteRows, Successors, structure_of
from exactlearn.pdg.smoothing import tuned_smoothing
from exactlearn.pdg.structure_score import Size, StructureScore, bic_lambda

SIGNIFICANCES = (0.001, 0.01, 0.1, 0.3, 1.0)
"""Levels of the tests that forests are grown by; with the last one every tree is a chain."""


class ForestProgress(NamedTuple):
    """Where the search stands.

    Attributes
    ----------
    stage
        ``forest`` while forests are grown, else ``graph``.
    done, total
        Forests dealt with, and how many there are in this round.
    score
        The best so far at this lambda, ``-inf`` before the first.
    """

    stage: str
    done: int
    total: int
    score: float


OnProgress = Callable[[ForestProgress], None]


@dataclass(frozen=True)
class LearntGraphs:
    """The best graph found for each lambda.

    Parameters
    ----------
    models
        One for each lambda, in falling order.
    finished
        Whether an interrupt did not cut the search short.
    """

    models: tuple[LearntGraph, ...]
    finished: bool


def learn_pdg(
    dataset: Dataset,
    *,
    lambdas: Sequence[float] | None = None,
    size: Size = "effective",
    significances: Sequence[float] = SIGNIFICANCES,
    starts: Sequence[DecisionGraph] = (),
    alpha: float | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> LearntGraphs:
    """Learn decision graphs with their forests from complete data (THESIS, Algorithm 4.6).

    Parameters
    ----------
    dataset
        Complete data, possibly weighted.
    lambdas
        Weights of the size in the score, from 0 to 1; left out, that of BIC.
    size
        ``effective`` or ``representational``.
    significances
        Levels of the tests, a forest for each; a level may stand several times.
    starts
        Decision graphs over the table's variables, such as that of a learnt network: their
        forests join the population, and their structures are searched from too.
    alpha
        Pseudo-count of every parameter; left out, tuned by cross-validation.
    seed
        Of the draws of the variables that branches begin with, and of the folds.
    on_progress
        Called after each forest.

    Returns
    -------
    LearntGraphs
        An interrupt after the first graph ends the search with what there is.

    Raises
    ------
    DataError
        If a cell is missing, there are no rows, or a start has other variables or states.
    OptionError
        If a lambda, a significance, the size or ``alpha`` is wrong.
    """
    rows = CompleteRows.of(dataset)
    given = [bic_lambda(rows.total_weight)] if lambdas is None else lambdas
    scores = [StructureScore(x, size) for x in sorted(given, reverse=True)]
    if not scores:
        raise OptionError("no lambda was given: give one at least, or leave them out for BIC")
    if not all(0 <= t <= 1 for t in significances):
        raise OptionError(f"significances {list(significances)} must be from 0 to 1")
    if alpha is not None and alpha < 0:
        raise OptionError(f"alpha must be 0 or more, got {alpha}")
    for graph in starts:
        if (graph.names, graph.states) != (dataset.names, dataset.states):
            raise DataError("a start has other variables or states than the table: align them")
    search = _Search(rows, seed, on_progress)
    finished = True
    try:
        search.grow(starts, significances, scores[0])
        for score in scores:
            search.learn(score)
    except KeyboardInterrupt:
        if not search.models:
            raise
        finished = False
    models = tuple(_smoothed(m, dataset, alpha, seed) for m in search.models)
    return LearntGraphs(models, finished)


def _smoothed(model: LearntGraph, dataset: Dataset, alpha: float | None, seed: int) -> LearntGraph:
    tuned = tuned_smoothing(model.graph, dataset, alpha=alpha, seed=seed)
    return replace(model, graph=tuned.graph)


class _Search:
    """Forests, and the best graph at each lambda so far."""

    def __init__(self, rows: CompleteRows, seed: int, on_progress: OnProgress | None) -> None:
        self._rows, self._on_progress = rows, on_progress
        self._rng = np.random.default_rng(seed)
        self._forests: list[tuple[NDArray[np.int32], tuple[Successors, ...]]] = []
        self.models: list[LearntGraph] = []

    def grow(
        self,
        starts: Sequence[DecisionGraph],
        significances: Sequence[float],
        score: StructureScore,
    ) -> None:
        """Make the population: different forests only."""
        for graph in starts:
            self._add(graph.forest, structure_of(graph))
        total = len(significances) + 1
        codes = np.ascontiguousarray(self._rows.columns.T.astype(np.int16))
        cardinalities = np.array([len(s) for s in self._rows.states], np.int64)
        rate = score.rate if score.rate < inf else None
        self._add(chow_liu_forest(codes, self._rows.weights, cardinalities, rate))
        self._tell("forest", 1, total, -inf)
        for k, significance in enumerate(significances):
            self._add(grow_forest(self._rows, significance, score, self._rng))
            self._tell("forest", k + 2, total, -inf)

    def learn(self, score: StructureScore) -> None:
        """Learn a graph over each forest, and keep the better half of the forests."""
        found: list[tuple[float, int]] = []
        total = len(self._forests)
        for k, (forest, starts) in enumerate(self._forests):
            model = learnt(best_structure(self._rows, forest, score, starts), score)
            if not found:
                self.models.append(model)
            elif model.score > self.models[-1].score:
                self.models[-1] = model
            found.append((-model.score, k))
            self._tell("graph", k + 1, total, self.models[-1].score)
        kept = sorted(k for _, k in sorted(found)[: (total + 1) // 2])
        self._forests = [self._forests[k] for k in kept]

    def _add(self, forest: NDArray[np.int32], *starts: Successors) -> None:
        if not any((forest == other).all() for other, _ in self._forests):
            self._forests.append((forest, starts))

    def _tell(self, stage: str, done: int, total: int, score: float) -> None:
        if self._on_progress is not None:
            self._on_progress(ForestProgress(stage, done, total, score))
