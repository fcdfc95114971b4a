"""A study of learning: what it is given, and the rows of its table."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exactlearn.reproduce.record import Record


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a study is given.

    Parameters
    ----------
    record
        What is done, and where more is kept.
    data
        Folder of the public data, if there is one.
    seed
        Of everything drawn.
    repetitions
        Of each setting.
    full
        Whether to leave out single rows where parts of the rows are left out otherwise.
    only
        Only experiments with this in their name.
    """

    record: Record
    data: Path | None = None
    seed: int = 0
    repetitions: int = 2
    full: bool = False
    only: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One figure beside the published one.

    Parameters
    ----------
    table, experiment, method
        What was learnt from, and how.
    repetitions
        How many tables, or rows left out.
    train_log_likelihood
        Per row of the data learnt from, in nats.
    log_likelihood, deviation
        Per row of data not learnt from: mean and standard deviation, in nats.
    size
        Of the model, as the table's note tells.
    published_train, published, published_size
        The paper's figures, where it has any.
    p_value, published_p
        One-sided Wilcoxon test that the table's note names.
    column
        Where an experiment is told for several settings side by side, which one this is.
    verdict
        What the table is to show, and whether it does.
    seconds
        CPU time.
    """

    table: str
    experiment: str
    method: str
    repetitions: int
    log_likelihood: float
    size: float
    seconds: float
    deviation: float | None = None
    train_log_likelihood: float | None = None
    published_train: float | None = None
    published: float | None = None
    published_size: float | None = None
    p_value: float | None = None
    published_p: float | None = None
    column: str = ""
    verdict: str = ""


Study = Callable[[Setup], Iterator[Row]]
"""Yields the rows of a table."""
