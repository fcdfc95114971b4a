"""An experiment that is repeated: what is drawn, what is compared, and what was published."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from exactlearn.data import Dataset
from exactlearn.imputation.learning import Learning

Draw = Callable[[Path | None, np.random.Generator], tuple[Dataset, Dataset]]
"""Returns an incomplete table and its truth, from the folder of public data."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Experiments whose repetitions one published figure is about.

    Parameters
    ----------
    name
        What they are about together.
    published
        The figure for each method, in percent, where there is one.
    """

    name: str
    published: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One row of a table of a paper.

    Parameters
    ----------
    table, name
        Where the paper has it, and what it is about.
    draw
        Makes the table of one repetition.
    methods
        Names in :data:`exactlearn.imputation.methods.METHODS`; the first is the one under test.
    published
        The paper's figure for each of them, in percent, where it has one.
    pool
        What it is a part of; the parts follow each other.
    largest
        Most repetitions, where the paper made fewer than in its other experiments.
    """

    table: str
    name: str
    draw: Draw
    methods: tuple[str, ...]
    published: Mapping[str, float] = field(default_factory=dict)
    pool: Pool | None = None
    largest: int | None = None

    @property
    def key(self) -> str:
        """A name that no other experiment has."""
        return f"table {self.table}: {self.name}"


@dataclass(frozen=True, kw_only=True)
class Paper:
    """The experiments of a paper.

    Parameters
    ----------
    experiments
        In the order of the paper.
    repetitions
        How often each is repeated, unless told otherwise.
    learning
        How networks are learned.
    notes
        For each table what a reader must know beside it.
    """

    experiments: tuple[Experiment, ...]
    repetitions: int
    learning: Learning
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
