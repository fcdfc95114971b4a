"""SL-curves: size against log-likelihood of the models that each language learns from a table.

THESIS, section 4.1.2. Each language (`exactlearn.evaluation.languages`) gives a sequence of models,
and each model a point: its effective size, and its log-likelihood per row of the rows learnt from
(D_A) and of others (D_B), in nats.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from math import inf, isnan, log, nan
from typing import Any, Literal

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.json_file import strict
from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import OptionError, TooLargeError, did_you_mean
from exactlearn.evaluation.languages import LANGUAGES, LearntModel, size_weights
from exactlearn.evaluation.models import log_likelihoods
from exactlearn.evaluation.random_queries import NO_QUERIES, RandomQueries

Rows = Literal["train", "test"]
"""Rows learnt from (D_A), and rows that nothing is learnt or chosen by (D_B)."""

SMALLEST = 1 / 3
"""Smallest default weight of the size: more than AIC lets networks of many rows predict best."""

MOST_QUERIED = 500_000
"""Effective size of the largest models that random queries are asked of."""

CRITERIA = ("BIC", "AIC", "validation", "test", "queries")
"""What a model of a sequence may be chosen by."""


@dataclass(frozen=True, kw_only=True)
class SLPoint:
    """A model of a language's sequence, as numbers.

    Parameters
    ----------
    language, size_weight
        The language, and the weight of the size that the model was learnt with, if any.
    effective_size, representational_size
        What belief updating costs (of a network, the size of its clique tree), and the number of
        free parameters.
    train, validation, test
        Log-likelihood per row in nats; minus infinity where a row is impossible.
    seconds
        CPU time of learning it, for each weight of the size that gave it.
    query_accuracy, query_error, query_seconds
        Of random queries: mean log P(q | e), its standard error, and CPU time of a belief update;
        NaN without queries.
    """

    language: str
    size_weight: float | None
    effective_size: int
    representational_size: int
    train: float
    validation: float
    test: float
    seconds: float
    query_accuracy: float
    query_error: float
    query_seconds: float

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "SLPoint":
        """Return the point that `strict` has written as JSON."""
        absent: dict[str, Any] = dict.fromkeys(("train", "validation", "test"), -inf)
        absent |= dict.fromkeys(("query_accuracy", "query_error", "query_seconds"), nan)
        absent["size_weight"] = None
        return cls(**{k: absent[k] if v is None else v for k, v in record.items()})


@dataclass(frozen=True, kw_only=True)
class Dominance:
    """How the curve of one language lies to that of another.

    At each size from which on both languages have a model, the best model of up to that size of one
    is compared with that of the other.

    Parameters
    ----------
    first, second, rows
        The languages, and the rows that count.
    share
        Share of the sizes of both languages' models at which the first is more likely.
    consistent
        Whether the first is more likely at some size and less likely at none: it consistently
        dominates the second, as in THESIS, Table 5.6.
    """

    first: str
    second: str
    rows: Rows
    share: float
    consistent: bool


@dataclass(frozen=True, eq=False, repr=False)
class SLCurves(ByValue, shown="languages points n_rows unfinished"):
    """The sequences of several languages.

    Parameters
    ----------
    points, models
        The models, language after language, as they were learnt: with smaller and smaller weights
        of the size. Of the same model for two weights there is one point.
    n_rows
        Weight of the rows learnt from.
    train_bound, test_bound
        Upper bounds of the log-likelihood per row of any model, see `empirical_log_likelihood`: the
        lines at -H of THESIS, section 5.2.
    unfinished
        Languages whose sequence the time limit or an interrupt has cut short.
    """

    points: tuple[SLPoint, ...]
    n_rows: float
    train_bound: float
    test_bound: float
    models: tuple[LearntModel, ...] = ()
    unfinished: tuple[str, ...] = ()

    @classmethod
    def of_records(cls, records: Mapping[str, Mapping[str, Any]]) -> "SLCurves":
        """Return the curves of recorded sequences, without their models.

        Parameters
        ----------
        records
            For each language, at least one: ``points`` as `SLPoint.of_record` takes them; ``rows``,
            ``train_bound`` and ``test_bound``, the same for all; ``unfinished`` where cut short.
        """
        first = next(iter(records.values()))
        return cls(
            points=tuple(SLPoint.of_record(p) for run in records.values() for p in run["points"]),
            n_rows=first["rows"],
            train_bound=first["train_bound"],
            test_bound=first["test_bound"],
            unfinished=tuple(key for key, run in records.items() if run.get("unfinished")),
        )

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that have a model."""
        return tuple(dict.fromkeys(point.language for point in self.points))

    def of(self, language: str) -> tuple[SLPoint, ...]:
        """Return the points of a language, in order of their sizes."""
        own = (point for point in self.points if point.language == language)
        return tuple(sorted(own, key=lambda point: point.effective_size))

    def selected(self, language: str, criterion: str) -> SLPoint:
        """Return the model of a language that a criterion chooses, see `selected`."""
        return selected(self.of(language), criterion, self.n_rows)

    def model(self, point: SLPoint) -> LearntModel:
        """Return the model of a point of these curves."""
        return self.models[self.points.index(point)]

    def overfits(self, point: SLPoint) -> bool:
        """Return whether a model overfits the rows learnt from (THESIS, Definition 4.1)."""
        return overfits(point, self.of(point.language))

    def dominance(self) -> Iterator[Dominance]:
        """Yield how the curves of each two languages lie to each other."""
        for first, second in permutations(self.languages, 2):
            for rows in ("train", "test"):
                yield dominance(self.of(first), self.of(second), rows)

    def consistent(self, rows: Rows) -> tuple[str | None, str | None]:
        """Return the language that consistently dominates all others, and the one dominated by all.

        THESIS, Table 5.6.
        """
        pairs = {(d.first, d.second) for d in self.dominance() if d.rows == rows and d.consistent}
        others = {one: [o for o in self.languages if o != one] for one in self.languages}
        over = [a for a, rest in others.items() if rest and all((a, b) in pairs for b in rest)]
        under = [a for a, rest in others.items() if rest and all((b, a) in pairs for b in rest)]
        return next(iter(over), None), next(iter(under), None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the models, for JSON."""
        first = front(self.points)
        return {
            "rows": self.n_rows,
            "train_bound": self.train_bound,
            "test_bound": self.test_bound,
            "unfinished": list(self.unfinished),
            "points": [
                {
                    **strict(asdict(point)),
                    "overfits": self.overfits(point),
                    "in_front_of_language": point in front(self.of(point.language)),
                    "in_front": point in first,
                }
                for point in self.points
            ],
            "selected": {
                language: {c: strict(asdict(self.selected(language, c))) for c in CRITERIA}
                for language in self.languages
            },
            "dominance": [asdict(one) for one in self.dominance()],
            "consistent": {rows: self.consistent(rows) for rows in ("train", "test")},
        }


@checked_arguments()
def sl_curves(
    train: DatasetLike,
    test: DatasetLike,
    *,
    validation: DatasetLike | None = None,
    languages: Sequence[str] = tuple(LANGUAGES),
    size_weights: Sequence[float] | None = None,
    queries: RandomQueries | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    on_model: Callable[[SLPoint], None] | None = None,
) -> SLCurves:
    """Learn the sequences of several languages.

    Parameters
    ----------
    train, test
        Rows learnt from, and rows that the models are judged by; cells may be missing.
    validation
        Rows that a model is chosen by; left out, those of the test.
    languages
        Names in `exactlearn.evaluation.languages.LANGUAGES`.
    size_weights
        Weights of the size in S = (1-lambda) L - lambda size (THESIS, 4.40), L the total
        log-likelihood; left out, those of :func:`exactlearn.evaluation.languages.size_weights`, and
        `SMALLEST`.
    queries
        Random queries that each model answers.
    seed
        Of the searches.
    time_limit
        Seconds, shared among the languages; after it and after an interrupt, the sequences end
        where they are.
    on_model
        Called with each point.

    Returns
    -------
    SLCurves
        One model of each language at least.

    Raises
    ------
    OptionError
        When a language is unknown, or a size weight is not from 0 to 1.
    DataError
        When a table has no rows.
    TooLargeError
        When rows with missing cells are too hard for the first model of a language; a later one
        ends its sequence.

    Examples
    --------
    >>> rows = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]] * 25)
    >>> table = Dataset(rows, ("a", "b", "c"), (("n", "y"),) * 3)
    >>> curves = sl_curves(table, table, languages=["bn"], size_weights=[0.9, 0.5])
    >>> [(p.effective_size, round(p.train, 2)) for p in curves.points]
    [(6, -1.39)]
    """
    check_request(languages, size_weights)
    weights = _weights(train, size_weights)
    points, models, unfinished = list[SLPoint](), list[LearntModel](), list[str]()
    parts = (train, test if validation is None else validation, test)
    with SearchControl.within(time_limit).running() as control:
        for k, language in enumerate(languages):
            share = None if control.remaining is None else control.left / (len(languages) - k)
            with SearchControl.within(share).running() as own:
                for learnt in LANGUAGES[language](train, weights, seed):
                    try:
                        point = sl_point(language, learnt, parts, queries)
                    except TooLargeError:  # larger ones are not easier
                        if not any(known.language == language for known in points):
                            raise
                        break
                    if points and _alike(points[-1], point):
                        seconds = points[-1].seconds + point.seconds
                        points[-1] = replace(points[-1], seconds=seconds)
                        continue
                    points.append(point)
                    models.append(learnt)
                    if on_model is not None:
                        on_model(point)
                if own.is_over:
                    unfinished.append(language)
    return SLCurves(
        points=tuple(points),
        n_rows=float(train.row_weights.sum()),
        train_bound=empirical_log_likelihood(train),
        test_bound=empirical_log_likelihood(test),
        models=tuple(models),
        unfinished=tuple(unfinished),
    )


def _alike(one: SLPoint, other: SLPoint) -> bool:
    """Return whether two weights of the size have given the same model."""
    keys = ("language", "effective_size", "representational_size", "train", "test")
    return all(getattr(one, key) == getattr(other, key) for key in keys)


def _weights(train: Dataset, given: Sequence[float] | None) -> list[float]:
    if given is None:
        return [*size_weights(float(train.row_weights.sum())), SMALLEST]
    return sorted(set(given), reverse=True)


def check_request(languages: Sequence[str], size_weights: Sequence[float] | None) -> None:
    """Refuse unknown languages and wrong weights of the size.

    Raises
    ------
    OptionError
        When a name is not in `LANGUAGES`, or a size weight is not between 0 and 1.
    """
    for weight in size_weights or ():
        if not 0 < weight < 1:
            raise OptionError(f"size_weight {weight}: expected a number between 0 and 1")
    for name in languages:
        if name not in LANGUAGES:
            raise OptionError(f"no language {name!r}{did_you_mean(name, LANGUAGES)}")


def sl_point(
    language: str,
    learnt: LearntModel,
    parts: tuple[Dataset, Dataset, Dataset],
    queries: RandomQueries | None = None,
) -> SLPoint:
    """Return the point of a model.

    Parameters
    ----------
    language
        Its language.
    learnt
        The model.
    parts
        Rows for training, for validation, and of the test.
    queries
        Random queries to be answered, by models of at most `MOST_QUERIED` cells.

    Raises
    ------
    TooLargeError
        When the missing cells of a row depend on each other too much under a network.
    """
    means: dict[int, float] = {}
    for part in parts:
        if id(part) not in means:
            logs = log_likelihoods(learnt.model, part)
            means[id(part)] = part.total(logs) / float(part.row_weights.sum())
    train, validation, test = (means[id(part)] for part in parts)
    small = learnt.effective_size <= MOST_QUERIED
    answers = queries.answered_by(learnt.model) if queries and small else NO_QUERIES
    return SLPoint(
        language=language,
        size_weight=learnt.size_weight,
        effective_size=learnt.effective_size,
        representational_size=learnt.model.representational_size,
        train=train,
        validation=validation,
        test=test,
        seconds=learnt.seconds,
        query_accuracy=answers.mean,
        query_error=answers.error,
        query_seconds=answers.seconds,
    )


def empirical_log_likelihood(dataset: Dataset) -> float:
    """Return the log-likelihood per row under the rows' own distribution: -H, THESIS (4.4), (4.6).

    No model has a higher one. With missing cells, rows that miss the same variables have a
    distribution of their own.

    Parameters
    ----------
    dataset
        Rows, possibly weighted and with missing cells; at least one of positive weight.

    Examples
    --------
    >>> table = Dataset(np.array([[0], [0], [1], [1]]), ("a",), (("n", "y"),))
    >>> round(empirical_log_likelihood(table), 4)
    -0.6931
    """
    weights = dataset.row_weights
    totals = []
    for parts in (dataset.codes, dataset.codes == MISSING):
        _, kind = np.unique(parts, axis=0, return_inverse=True)
        totals.append(np.bincount(kind.ravel(), weights)[kind.ravel()])
    used = weights > 0
    logs = np.log(totals[0][used] / totals[1][used])
    return float(weights[used] @ logs / weights.sum())


def front(points: Sequence[SLPoint], rows: Rows = "test") -> list[SLPoint]:
    """Return the points that no other one dominates, in order of their sizes.

    A point dominates another when it is not larger and not less likely, and differs in one of both
    (THESIS, section 5.1). Of equal points the first one is kept.
    """
    kept: list[SLPoint] = []
    for point in sorted(points, key=lambda p: (p.effective_size, -_on(p, rows))):
        if not kept or _on(point, rows) > _on(kept[-1], rows):
            kept.append(point)
    return kept


def overfits(point: SLPoint, others: Sequence[SLPoint]) -> bool:
    """Return whether a model is less likely on D_B than one less likely on D_A (Definition 4.1).

    Parameters
    ----------
    point, others
        The model, and the models of its language.
    """
    return any(point.train > other.train and point.test < other.test for other in others)


def selected(points: Sequence[SLPoint], criterion: str, n_rows: float) -> SLPoint:
    """Return the model that a criterion chooses, the first one at a tie.

    Parameters
    ----------
    points
        Models, at least one.
    criterion
        ``BIC`` and ``AIC`` are (4.8) of the thesis with the effective size, the total
        log-likelihood, and lambda = log N / (2 + log N) and 1/2; ``validation``, ``test`` and
        ``queries`` choose the most likely model by those.
    n_rows
        Weight of the rows learnt from, N.

    Raises
    ------
    OptionError
        When the criterion is unknown.
    """
    rates = {"BIC": log(n_rows) / 2, "AIC": 1.0}
    if criterion in rates:
        rate = rates[criterion]
        return max(points, key=lambda p: n_rows * p.train - rate * p.effective_size)
    if criterion not in CRITERIA:
        raise OptionError(f"no criterion {criterion!r}{did_you_mean(criterion, CRITERIA)}")
    key = "query_accuracy" if criterion == "queries" else criterion
    return max(points, key=lambda p: -inf if isnan(getattr(p, key)) else getattr(p, key))


def dominance(
    first: Sequence[SLPoint], second: Sequence[SLPoint], rows: Rows = "test"
) -> Dominance:
    """Return how the curve of one language lies to that of another.

    Parameters
    ----------
    first, second
        The models of each language, at least one each.
    rows
        The rows that count.
    """
    least = max(min(p.effective_size for p in points) for points in (first, second))
    sizes = sorted({p.effective_size for p in (*first, *second) if p.effective_size >= least})
    best = np.array(
        [
            [max(_on(p, rows) for p in points if p.effective_size <= size) for size in sizes]
            for points in (first, second)
        ]
    )
    ahead, behind = best[0] > best[1], best[0] < best[1]
    return Dominance(
        first=first[0].language,
        second=second[0].language,
        rows=rows,
        share=float(ahead.mean()),
        consistent=bool(ahead.any() and not behind.any()),
    )


def _on(point: SLPoint, rows: Rows) -> float:
    return point.train if rows == "train" else point.test
