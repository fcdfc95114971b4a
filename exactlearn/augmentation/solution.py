"""A DAG and a completion: what every augmentation method moves through."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn.data.dataset import Dataset
from exactlearn.scoring.scores import Score, score_family

IMPROVEMENT = 1e-7
"""Least improvement, relative to the score, that a step must bring: less is rounding."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A DAG and a completion with their score."""

    parents: tuple[tuple[int, ...], ...]
    values: NDArray[np.int64]
    score: float

    @property
    def target(self) -> float:
        """What a pair must score more than to count as better."""
        return self.score + IMPROVEMENT * max(1.0, abs(self.score))


def total_score(dataset: Dataset, parents: Sequence[Sequence[int]], score: Score) -> float:
    """Return the score of a DAG on complete data: the sum over its families."""
    return sum(score_family(dataset, child, tuple(ps), score) for child, ps in enumerate(parents))
