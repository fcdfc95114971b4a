"""An experiment that is repeated: what is drawn, what is compared, and what was published."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from exactlearn.data import Dataset

Draw = Callable[[Path | None, np.random.Generator], tuple[Dataset, Dataset]]
"""Returns an incomplete table and its truth, from the folder of public data."""


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
    largest
        Most repetitions, where the paper made fewer than in its other experiments.
    note
        How the experiment differs from the paper's.
    """

    table: str
    name: str
    draw: Draw
    methods: tuple[str, ...]
    published: Mapping[str, float] = field(default_factory=dict)
    largest: int | None = None
    note: str = ""

    @property
    def key(self) -> str:
        """A name that no other experiment has."""
        return f"table {self.table}: {self.name}"
