"""THESIS, Tables 5.4 and 5.6 to 5.9, Figures 5.1 to 5.9 and A.1 to A.15: three languages compared.

Each language gives a sequence of models: graphs and networks for several weights of the size, naive
Bayes with more and more components. Of each sequence the model most likely on other rows, the best
by BIC and the best by AIC are printed, which language dominates, and how random queries are
answered; SL-curves are drawn.

- ``languages`` (5.6 to 5.9): seven public tables.
- ``languages-synthetic`` (5.4): rows of known models.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import cache, partial
from math import isfinite, nan, sqrt
from typing import Any

import numpy as np

from exactlearn._runtime.json_file import strict
from exactlearn.evaluation.languages import LANGUAGES, LearntModel, size_weights
from exactlearn.evaluation.random_queries import random_queries
from exactlearn.evaluation.sl_curves import (
    SLCurves,
    SLPoint,
    empirical_log_likelihood,
    sl_point,
)
from exactlearn.queries.evidence import Model
from exactlearn.reporting.curves import CurvesFigure
from exactlearn.reproduce.rows import NamedFigure, Row, published
from exactlearn.reproduce.runner import Setup
from exactlearn.reproduce.sources import UCI, Split, uci_split
from exactlearn.reproduce.thesis import beside, drawn

SELECTIONS = {"best on other rows": "test", "BIC": "BIC", "AIC": "AIC"}
"""What a model of a sequence is chosen by."""

QUERIED = "with random queries"

Found = dict[str, Any]
"""What is recorded of a language's sequence."""


def languages(setup: Setup) -> Iterator[Row | NamedFigure]:
    """Repeat THESIS, Tables 5.6 to 5.9 and Figures 5.5 to 5.9 and A.6 to A.15."""

    def source(name: str) -> tuple[None, Split]:
        return None, uci_split(setup.data, name, setup.seed)

    return _compared(setup, "languages", source)


def languages_synthetic(setup: Setup) -> Iterator[Row | NamedFigure]:
    """Repeat THESIS, Table 5.4 and Figures 5.1 to 5.4 and A.1 to A.5."""
    return _compared(setup, "languages-synthetic", partial(drawn, setup))


def _compared(
    setup: Setup, table: str, source: Callable[[str], tuple[Model | None, Split]]
) -> Iterator[Row | NamedFigure]:
    for name, points in published("thesis")["languages"].items():
        if setup.only not in name or (name in UCI) != (table == "languages"):
            continue
        split, found = cache(partial(source, name)), {}
        for label in points:
            run = partial(_sequence, label.lower(), split, setup.seed)
            key = f"table {table}: {name}"
            done = setup.record.once(key, str(setup.seed), label, run, QUERIED)
            if done is not None:
                found[label] = done
        if found:
            curves = SLCurves.of_records(found)
            for label, done in found.items():
                yield from _selected(table, name, label, curves, done)
            yield from _dominance(name, curves)
            yield from _queried(name, curves)
            yield from _figures(name, curves, found)


def _sequence(language: str, source: Callable[[], tuple[Model | None, Split]], seed: int) -> Found:
    """Learn the models of a language; return their points, and that of the generating model."""
    truth, split = source()
    queries = random_queries(split.test, seed=seed) if truth is None else None
    parts, points, seconds = (split.train, split.test, split.test), [], 0.0
    for learnt in LANGUAGES[language](split.train, size_weights(split.train.n_rows), seed):
        seconds += learnt.seconds
        points.append(asdict(sl_point(language, learnt, parts, queries)))
    known = None if truth is None else sl_point("", LearntModel(truth, None, 0.0), parts)
    return {
        "points": [strict(point) for point in points],
        "rows": split.train.n_rows,
        "train_bound": empirical_log_likelihood(split.train),
        "test_bound": empirical_log_likelihood(split.test),
        "truth": known and strict(asdict(known)),
        "seconds": seconds,
    }


def _selected(table: str, name: str, label: str, curves: SLCurves, found: Found) -> Iterator[Row]:
    """Return the models of a language that the criteria choose."""
    points = published("thesis")["languages"][name][label]
    times = published("thesis")["queries"].get(name, {}).get(label, [None] * 4)
    for (selection, criterion), point in zip(SELECTIONS.items(), points, strict=True):
        best = curves.selected(label.lower(), criterion)
        ours = {"size": best.effective_size, "train": best.train, "test": best.test}
        yield beside(
            (table, f"{name}, {selection}", label),
            ours | {"seconds": found["seconds"]},
            point,
            microseconds=_microseconds(best),
            published_microseconds=_thousandfold(times[3]) if criterion == "test" else None,
        )


def _dominance(name: str, curves: SLCurves) -> Iterator[Row]:
    """Return which language consistently dominates the others, and which is dominated by all."""
    theirs = published("thesis")["dominance"].get(name, {})
    for rows in theirs if len(curves.languages) == 3 else ():
        ours = "/".join((language or "-").upper() for language in curves.consistent(rows))
        yield _text_row("dominance", name, rows, f"{ours} (thesis: {theirs[rows]})")


def _queried(name: str, curves: SLCurves) -> Iterator[Row]:
    """Return the models that answer random queries best, and the time that a cell of size takes."""
    thesis = published("thesis")
    for label, figures in thesis["queries"].get(name, {}).items():
        size, accuracy, milliseconds, _ = figures
        asked = [p for p in curves.of(label.lower()) if isfinite(p.query_seconds)]
        if not asked:
            continue
        best = curves.selected(label.lower(), "queries")
        yield Row(
            table="queries",
            experiment=name,
            method=label,
            repetitions=1,
            log_likelihood=best.query_accuracy,
            deviation=best.query_error,
            size=best.effective_size,
            seconds=nan,
            published=accuracy,
            published_size=size,
            microseconds=_microseconds(best),
            published_microseconds=_thousandfold(milliseconds),
        )
        slope = thesis["slopes"][name][label]
        yield _text_row("times", name, label, f"{_slope(asked)} (thesis: {slope:g})")


def _slope(points: list[SLPoint]) -> str:
    """Return the microseconds that a cell of effective size adds to a belief update, in words."""
    if len(points) < 3:
        return "too few models"
    sizes = np.array([point.effective_size for point in points], np.float64)
    times = np.array([1e6 * point.query_seconds for point in points])
    centred = sizes - sizes.mean()
    slope = centred @ times / (centred @ centred)
    left = times - times.mean() - slope * centred
    error = sqrt(left @ left / (len(points) - 2) / (centred @ centred))
    return f"{slope:.4f} ± {error:.4f}"


def _text_row(table: str, experiment: str, method: str, text: str) -> Row:
    return Row(
        table=table,
        experiment=experiment,
        method=method,
        repetitions=1,
        log_likelihood=nan,
        size=nan,
        seconds=nan,
        verdict=text,
    )


def _microseconds(point: SLPoint) -> float | None:
    """Return the time of a query, where any was asked."""
    return 1e6 * point.query_seconds if isfinite(point.query_seconds) else None


def _thousandfold(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else 1000 * milliseconds


def _figures(name: str, curves: SLCurves, found: Mapping[str, Found]) -> Iterator[NamedFigure]:
    """Return the SL-curves, and what else the thesis draws of a table."""
    truth = next(iter(found.values()))["truth"]
    for kind, number in published("thesis")["figures"][name].items():
        up, bound = _AXES[kind]
        points = {
            label: [(p.effective_size, getattr(p, up)) for p in curves.of(label.lower())]
            for label in found
        }
        marks = {} if truth is None else {"generating model": (truth["effective_size"], truth[up])}
        figure = CurvesFigure(
            curves=points,
            across="size",
            up=_LABELS.get(kind, kind),
            marks=marks,
            levels={"-H of the rows": getattr(curves, bound)} if bound else {},
            is_cut=kind in ("train", "test", "queries"),
        )
        yield NamedFigure(f"figure-{number}", figure)


_AXES = {
    "train": ("train", "train_bound"),
    "test": ("test", ""),
    "queries": ("query_accuracy", ""),
    "times": ("query_seconds", ""),
    "sizes": ("representational_size", ""),
}
"""What of a point each kind of figure shows against its size, and the line above all models."""

_LABELS = {
    "test": "log_likelihood",
    "queries": "log P(Q | E), nats",
    "times": "CPU seconds of a query",
    "sizes": "free parameters",
}
