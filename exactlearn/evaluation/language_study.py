"""Comparison of languages on tables: several divisions of each table, the models chosen, who wins.

Of each table, rows for the test and for the validation are drawn, a tenth each; where a test is
given, for the validation only. Models are learnt from the other rows, chosen by BIC, by AIC and by
the validation rows, and judged by the test, which THESIS also chooses by (section 5.1).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.evaluation.metrics import Mean, PairedTest
from exactlearn.evaluation.random_queries import (
    EVIDENCE_VARIABLES,
    QUERY_VARIABLES,
    RandomQueries,
    random_queries,
)
from exactlearn.evaluation.sl_curves import SLCurves, SLPoint, check_request, sl_curves
from exactlearn.evaluation.study import PlannedRun, Record

HELD_OUT, LEAST_ROWS = 0.1, 10
"""Share of the rows that a test and a validation have each (as THESIS, section 5.3), and the fewest
rows that are divided."""

CHOSEN_BY = ("BIC", "AIC", "validation")
"""Criteria that do not look at the test."""


@dataclass(frozen=True, eq=False)
class StudyTable:
    """A table to compare languages on.

    Parameters
    ----------
    name
        What it is called in results.
    rows
        Rows to learn and choose from, possibly with missing cells.
    test
        Rows to judge by, with the same variables and states; left out, drawn from the rows.
    """

    name: str
    rows: Dataset
    test: Dataset | None = None

    def divided(self, seed: int) -> tuple[Dataset, Dataset, Dataset]:
        """Return rows for training, validation and test.

        Raises
        ------
        DataError
            When there are too few rows.
        """
        used = np.flatnonzero(self.rows.row_weights > 0)
        if len(used) < LEAST_ROWS:
            raise DataError(
                f"{self.name}: {len(used)} rows are too few to learn from some and judge by "
                f"others; expected at least {LEAST_ROWS}"
            )
        drawn = np.random.default_rng(seed).permutation(used)
        held_out = max(1, round(HELD_OUT * len(used)))
        ends = [held_out] if self.test is not None else [held_out, 2 * held_out]
        validation, *test, train = (self.rows.part(own) for own in np.split(drawn, ends))
        return train, validation, test[0] if self.test is None else self.test

    @property
    def digest(self) -> str:
        """A hash of the contents, by which a changed table is recognised."""
        return self.rows.digest if self.test is None else f"{self.rows.digest} {self.test.digest}"


@dataclass(frozen=True, kw_only=True)
class LanguageStudy:
    """Tables, languages and repetitions.

    Parameters
    ----------
    tables
        With different names.
    languages
        Names in `exactlearn.evaluation.languages.LANGUAGES`.
    size_weights
        Weights of the size; those of `sl_curves` when not set.
    n_queries
        Number of random queries that each model answers.
    seeds
        One for each division of each table.
    keep
        Called with the curves of a language in the first repetition of a table, whose name comes
        first; for several processes it must pickle.
    on_model
        Called with each point; not for several processes.

    Raises
    ------
    OptionError
        When a language is unknown, or a size weight is wrong.
    """

    tables: Sequence[StudyTable]
    languages: Sequence[str]
    size_weights: Sequence[float] | None = None
    n_queries: int = 0
    seeds: Sequence[int] = (0,)
    keep: Callable[[str, SLCurves], None] | None = None
    on_model: Callable[[SLPoint], None] | None = None

    def __post_init__(self) -> None:
        """Check languages and weights."""
        check_request(self.languages, self.size_weights)

    def runs(self) -> Iterator[PlannedRun]:
        """Yield the runs of a :class:`~exactlearn.evaluation.study.Study`, repetition first."""
        for seed in self.seeds:
            for table in self.tables:
                yield from (self._run(table, seed, language) for language in self.languages)

    def curves(self, record: Record, table: StudyTable) -> Iterator[SLCurves]:
        """Yield the curves of each repetition of a table that is done for any language."""
        for seed in self.seeds:
            plan = (self._run(table, seed, language) for language in self.languages)
            found = [(c.method, record.known(c)) for c in plan]
            done = {key: run for key, run in found if run is not None and "error" not in run}
            if any(run["points"] for run in done.values()):
                yield SLCurves.of_records(done)

    def _run(self, table: StudyTable, seed: int, language: str) -> PlannedRun:
        weights = ", ".join(map(str, self.size_weights or ())) or "default"
        settings = f"rows {table.digest}, size_weights {weights}, {self.n_queries} queries"
        work = partial(self._learn, table, seed, language)
        return PlannedRun(table.name, str(seed), language, work, settings)

    def _learn(self, table: StudyTable, seed: int, language: str) -> dict[str, Any]:
        """Learn the sequence of one language from one division of a table; return its record."""
        train, validation, test = table.divided(seed)
        curves = sl_curves(
            train,
            test,
            validation=validation,
            languages=[language],
            size_weights=self.size_weights,
            queries=table_queries(test, self.n_queries, seed) if self.n_queries else None,
            seed=seed,
            on_model=self.on_model,
        )
        if self.keep is not None and seed == self.seeds[0]:
            self.keep(table.name, curves)
        return {
            "points": [vars(point) for point in curves.points],
            "rows": curves.n_rows,
            "train_bound": curves.train_bound,
            "test_bound": curves.test_bound,
        }


def table_queries(test: Dataset, n_queries: int, seed: int) -> RandomQueries:
    """Return random queries of 4 variables given 3; of fewer where rows observe fewer."""
    most = int((test.codes >= 0).sum(axis=1).max())
    evidence = min(EVIDENCE_VARIABLES, most // 2)
    asked = max(1, min(QUERY_VARIABLES, most - evidence))
    return random_queries(
        test, n_queries, query_variables=asked, evidence_variables=evidence, seed=seed
    )


def chosen_rows(table: str, repetitions: Sequence[SLCurves]) -> Iterator[dict[str, Any]]:
    """Yield one row for each language and criterion: means over repetitions, standard errors.

    Parameters
    ----------
    table
        Name of the table.
    repetitions
        The curves of its divisions, at least one.
    """
    for language in dict.fromkeys(key for curves in repetitions for key in curves.languages):
        own = [curves for curves in repetitions if language in curves.languages]
        for criterion in CHOSEN_BY:
            points = [curves.selected(language, criterion) for curves in own]
            row = {"data": table, "language": language, "chosen_by": criterion, "n": len(own)}
            for key in (
                "effective_size",
                "representational_size",
                "train",
                "test",
                "query_accuracy",
                "query_seconds",
            ):
                mean = Mean.of(getattr(point, key) for point in points)
                row |= {key: mean.value, f"{key}_error": mean.error}
            row["overfit"] = fmean(c.overfits(p) for c, p in zip(own, points, strict=True))
            row["models"] = fmean(len(curves.of(language)) for curves in own)
            row["seconds"] = fmean(sum(p.seconds for p in curves.of(language)) for curves in own)
            yield row


def verdict(table: str, repetitions: Sequence[SLCurves]) -> dict[str, Any] | None:
    """Return which language predicts the test best, chosen by validation, and who dominates whom.

    Nothing where no repetition has two languages.
    """
    languages = list(dict.fromkeys(key for curves in repetitions for key in curves.languages))
    full = [curves for curves in repetitions if len(curves.languages) == len(languages)]
    if not full or len(languages) < 2:
        return None
    chosen = {key: [c.selected(key, "validation") for c in full] for key in languages}
    test = {key: [point.test for point in points] for key, points in chosen.items()}
    size = {key: fmean(p.effective_size for p in points) for key, points in chosen.items()}
    first, second = sorted(languages, key=lambda key: -fmean(test[key]))[:2]
    ahead = PairedTest.of(test[first], test[second])
    times = Counter(
        (d.rows, d.first, d.second) for curves in full for d in curves.dominance() if d.consistent
    )
    always = [pair for pair, count in times.items() if count == len(full)]
    dominating = {
        rows: sorted([one, other] for where, one, other in always if where == rows)
        for rows in ("train", "test")
    }
    return {
        "data": table,
        "repetitions": len(full),
        "winner": first,
        "second": second,
        "ahead": ahead.difference,
        "p_value": ahead.p_value,
        "significant": ahead.significant,
        "smallest": min(languages, key=lambda key: size[key]),
        "dominates": dominating,
    }
