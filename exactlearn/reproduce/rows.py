"""Studies of decision graphs: the rows of their tables, published figures, and which language wins.

Published figures are TOML files beside this module.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from exactlearn.reporting.curves import CurvesFigure


@cache
def published(paper: str) -> dict[str, Any]:
    """Return the published figures of a paper, and notes on its tables, as its file has them."""
    return tomllib.loads((files("exactlearn") / "reproduce" / f"{paper}.toml").read_text("utf-8"))


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a study's table: our figures beside the published ones.

    Parameters
    ----------
    table, experiment, method
        The data learnt from, and the method.
    repetitions
        How many tables, or rows left out.
    train_log_likelihood
        Per row of the data learnt from, in nats.
    log_likelihood, deviation
        Per row of data not learnt from: mean and standard deviation, in nats.
    size
        Size of the model, in the unit that the table's note names.
    published_train, published, published_size
        The paper's figures, where it has any.
    p_value, published_p
        One-sided Wilcoxon test that the table's note names.
    column
        Which of several settings that are printed side by side.
    verdict
        Whether the table shows what it is to show.
    seconds
        CPU time; NaN where it says nothing.
    microseconds, published_microseconds
        CPU time of a query.
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
    microseconds: float | None = None
    published_microseconds: float | None = None


class NamedFigure(NamedTuple):
    """A figure of a study, and the name of its file."""

    name: str
    figure: CurvesFigure


LANGUAGES = ("PDG", "BN", "NB")
"""Decision graphs (any method whose name begins so), networks, naive Bayes models."""


@dataclass(frozen=True)
class Match:
    """The best model of each language in one experiment.

    Parameters
    ----------
    table, experiment
        Table and experiment.
    best
        For each language the row that is most likely on rows not learnt from.
    """

    table: str
    experiment: str
    best: Mapping[str, Row]

    @property
    def winner(self) -> str:
        """The language most likely on rows not learnt from, the first of `LANGUAGES` at a tie."""
        return max(self.best, key=lambda language: self.best[language].log_likelihood)

    @property
    def ahead(self) -> float:
        """By how much the winner is more likely than the next one, in nats per row."""
        first, second = sorted((r.log_likelihood for r in self.best.values()), reverse=True)[:2]
        return first - second

    @property
    def smallest(self) -> str:
        """The language of the smallest of these models."""
        return min(self.best, key=lambda language: self.best[language].size)


def matches(rows: Sequence[Row]) -> Iterator[Match]:
    """Return the experiments in which decision graphs stand beside another language."""
    for table, experiment in dict.fromkeys((row.table, row.experiment) for row in rows):
        own = [row for row in rows if (row.table, row.experiment) == (table, experiment)]
        best = {}
        for language in LANGUAGES:
            known = [
                row
                for row in own
                if row.method.startswith(language) and row.log_likelihood == row.log_likelihood
            ]
            if known:
                best[language] = max(known, key=lambda row: row.log_likelihood)
        if "PDG" in best and len(best) > 1:
            yield Match(table, experiment, best)
