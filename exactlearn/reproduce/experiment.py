"""An experiment that is repeated: what is drawn, what is compared, and what was published."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.imputation.imputed import Imputed
from exactlearn.imputation.imputer import Imputer
from exactlearn.imputation.learning import Learning
from exactlearn.imputation.methods import METHODS

Draw = Callable[[Path | None, np.random.Generator], tuple[Dataset, Dataset]]
"""Returns an incomplete table and its truth, from the folder of public data."""

GENERATING = "generating-network"
"""The method that knows the network a table is drawn from: no other can expect to be better."""


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
        Names in :data:`exactlearn.imputation.methods.METHODS`, or `GENERATING`; the first is the
        one under test.
    published
        The paper's figure for each of them, in percent, where it has one.
    pool
        What it is a part of; the parts follow each other.
    network
        Returns the network that the table is drawn from, where one is known: what the method
        `GENERATING` completes by.
    """

    table: str
    name: str
    draw: Draw
    methods: tuple[str, ...]
    published: Mapping[str, float] = field(default_factory=dict)
    pool: Pool | None = None
    network: Callable[[], BayesianNetwork] | None = None

    @property
    def key(self) -> str:
        """A name that no other experiment has."""
        return f"table {self.table}: {self.name}"

    def complete(self, method: str, dataset: Dataset, how: Learning) -> Imputed:
        """Complete a table by one of the methods."""
        if method == GENERATING:
            assert self.network is not None
            return Imputer("posterior", how, self.network()).imputed(dataset)
        return METHODS[method](dataset, how)


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
