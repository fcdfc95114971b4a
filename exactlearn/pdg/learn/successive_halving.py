"""Forests that compete for a decision graph, halved as lambda falls (THESIS, Algorithm 4.6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.dataset import Dataset
from exactlearn.pdg.learn.chow_liu import chow_liu_forest
from exactlearn.pdg.learn.forest_growth import grow_forest
from exactlearn.pdg.learn.learning import (
    MOST_SWEEPS,
    LearntGraph,
    best_improved,
    climb,
    first_structures,
    learnt,
)
from exactlearn.pdg.learn.network_starts import network_start
from exactlearn.pdg.learn.population import CompleteRows, Population, Successors, structure_of
from exactlearn.pdg.learn.redirecting import SubtreeRows
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.pdg.model.structure_score import Size, StructureScore, bic_lambda

SCREENING_SWEEPS = 2
"""Rounds of splits, merges and redirections that tell the better forests."""


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


@dataclass
class _Candidate:
    """A forest, what to search from, the last end of a search, and the score reached."""

    forest: NDArray[np.int32]
    structures: list[Successors]
    last: list[Successors] = field(default_factory=list)
    score: float = -inf


class ForestContest:
    """Forests, and the best graph at each lambda so far.

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

    Attributes
    ----------
    models
        The best graph at each lambda that its search is over or has begun for.
    screened
        The best graph of the short searches, for an interrupt before there are models.
    """

    def __init__(
        self,
        dataset: Dataset,
        rows: CompleteRows,
        size: Size,
        seed: int,
        on_progress: OnProgress | None,
    ) -> None:
        self._dataset, self._rows, self._on_progress = dataset, rows, on_progress
        self._seed, self._rng = seed, np.random.default_rng(seed)
        self._population: list[_Candidate] = []
        self._screening = StructureScore(bic_lambda(rows.total_weight), size)
        self.models: list[LearntGraph] = []
        self.screened: LearntGraph | None = None

    def grow(
        self,
        starts: Sequence[DecisionGraph],
        significances: Sequence[float],
        max_parents: int,
        scores: Sequence[StructureScore],
    ) -> None:
        """Make the population: different forests only."""
        for graph in starts:
            self._add(graph.forest, structure_of(graph))
        lambdas = sorted({scores[0].lambda_, scores[-1].lambda_}) if max_parents > 0 else []
        total = len(lambdas) + len(significances) + 1
        for k, lambda_ in enumerate(lambdas):
            graph = network_start(self._dataset, lambda_, max_parents=max_parents, seed=self._seed)
            self._add(graph.forest, structure_of(graph))
            self._tell("forest", k + 1, total)
        codes = np.ascontiguousarray(self._rows.columns.T.astype(np.int16))
        cardinalities = np.array([len(s) for s in self._rows.states], np.int64)
        rate = scores[0].rate if scores[0].rate < inf else None
        self._add(chow_liu_forest(codes, self._rows.weights, cardinalities, rate))
        self._tell("forest", len(lambdas) + 1, total)
        for k, significance in enumerate(significances, len(lambdas) + 2):
            self._add(grow_forest(self._rows, significance, scores[0], self._rng))
            self._tell("forest", k, total)

    def learn(self, score: StructureScore) -> None:
        """Learn a graph over each forest, and keep the better half of the forests."""
        for k, candidate in enumerate(self._population):
            starts = [*candidate.structures, *candidate.last]
            best = self._improved(candidate, starts, score, MOST_SWEEPS)
            subtrees = SubtreeRows(self._rows, candidate.forest)
            best = climb(best, self._rows, score, subtrees)
            candidate.last = [structure_of(best.graph)]
            candidate.score = score.of(best.graph, best.log_likelihood)
            model = learnt(best, score)
            if k == 0:
                self.models.append(model)
            elif model.score > self.models[-1].score:
                self.models[-1] = model
            self._tell("graph", k + 1, len(self._population), self.models[-1])
        if score.lambda_ <= self._screening.lambda_:
            self._halve()

    def screen(self) -> None:
        """Search shortly over each forest, and keep the better half."""
        score = self._screening
        for k, candidate in enumerate(self._population):
            starts = [*first_structures(self._rows, candidate.forest), *candidate.structures]
            best = self._improved(candidate, starts, score, SCREENING_SWEEPS)
            candidate.structures = [structure_of(best.graph)]
            model = learnt(best, score)
            candidate.score = model.score
            if self.screened is None or model.score > self.screened.score:
                self.screened = model
            self._tell("screening", k + 1, len(self._population), self.screened)
        self._halve()

    def _improved(
        self,
        candidate: _Candidate,
        starts: Sequence[Successors],
        score: StructureScore,
        sweeps: int,
    ) -> Population:
        subtrees = SubtreeRows(self._rows, candidate.forest)
        return best_improved(self._rows, candidate.forest, score, starts, subtrees, sweeps)

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

    def _tell(self, stage: str, done: int, total: int, model: LearntGraph | None = None) -> None:
        if self._on_progress is not None:
            score = -inf if model is None else model.score
            self._on_progress(ForestProgress(stage, done, total, score, model))
