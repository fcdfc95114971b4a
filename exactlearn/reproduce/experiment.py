"""Experiments of imputation: declared, repeated, and summarised beside the published figures."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.evaluation.imputation_study import completed
from exactlearn.evaluation.metrics import Mean, PairedTest
from exactlearn.imputation.imputed import Imputed
from exactlearn.imputation.imputer import Imputer
from exactlearn.imputation.learning import Learning
from exactlearn.imputation.methods import METHODS
from exactlearn.reproduce.runner import Runs, Setup

Row = dict[str, Any]

Draw = Callable[[Path | None, np.random.Generator], tuple[Dataset, Dataset]]
"""Returns an incomplete table and its truth, from the folder of public data."""

GENERATING = "generating-network"
"""The method that completes by the network a table is drawn from, an upper reference."""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Experiments whose repetitions share one published figure.

    Parameters
    ----------
    name
        Name of the pool.
    published
        The figure of each method, in percent, where there is one.
    """

    name: str
    published: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One row of a table of a paper.

    Parameters
    ----------
    table, name
        The paper's table, and a name for the row.
    draw
        Draws the incomplete table of one repetition and its truth.
    methods
        Names in :data:`exactlearn.imputation.methods.METHODS`, or `GENERATING`; the first is the
        one under test.
    published
        The paper's figure of each method, in percent, where it has one.
    pool
        The pool it is a part of; the parts follow each other.
    network
        Returns the network that the table is drawn from, where one is known: the method
        `GENERATING` completes the table by it.
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
        """The name in the record, which no other experiment has."""
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
        Default number of repetitions of each.
    learning
        How networks are learned.
    notes
        Notes on each table.
    """

    experiments: tuple[Experiment, ...]
    repetitions: int
    learning: Learning
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def repeat(setup: Setup, experiments: Sequence[Experiment]) -> None:
    """Run what is not yet done: the first repetition of all experiments, then the second of all.

    Nothing is begun once the record's control is over.

    Runs of methods that learn a network are done again when the settings of learning differ.
    """
    for seed in setup.seeds:
        for experiment in experiments:
            # Drawn at the first run that is left to do.
            draw = cache(partial(experiment.draw, setup.data, np.random.default_rng(seed)))
            how = replace(setup.learning, seed=seed)
            for method in _methods(setup, experiment):
                complete = partial(_complete, experiment, method, how)
                run = partial(completed, partial(_drawn, draw), complete, method, seed)
                settings = _settings(method, setup.learning)
                setup.record.once(experiment.key, str(seed), method, run, settings)


def _methods(setup: Setup, experiment: Experiment) -> list[str]:
    """Return the methods of an experiment that are wanted."""
    return [m for m in experiment.methods if not setup.methods or m in setup.methods]


def _drawn(draw: Callable[[], tuple[Dataset, Dataset]], _: int) -> tuple[Dataset, Dataset]:
    return draw()


def _complete(
    experiment: Experiment, method: str, how: Learning, dataset: Dataset, _: int
) -> Imputed:
    return experiment.complete(method, dataset, how)


def _settings(method: str, how: Learning) -> str:
    """Return the settings that a method's answers depend on beside the table and the seed."""
    if method not in METHODS or not METHODS[method].learns_network:
        return ""
    return (
        f"{how.chosen}, {how.score}, {how.max_parents} parents, t {how.t}, {how.starts} starts, "
        f"smoothing {how.smoothing}, {how.networks} networks"
    )


def summary(setup: Setup, experiments: Sequence[Experiment]) -> list[Row]:
    """Return one row per experiment and method, and per pool of experiments and method.

    Each is tested against the first method of its experiment, on the repetitions of both.
    """
    rows: list[Row] = []
    parts: list[Sequence[Runs]] = []
    for k, experiment in enumerate(experiments):
        own = setup.record.done.get(experiment.key, {})
        parts.append([own[str(seed)] for seed in setup.seeds if str(seed) in own])
        rows += _rows(setup, experiment, parts[-1:])
        pool = experiment.pool
        if pool is not None and k + 1 < len(experiments) and experiments[k + 1].pool is pool:
            continue
        if pool is not None and len(parts) > 1:
            whole = replace(experiment, name=pool.name, published=pool.published)
            rows += _rows(setup, whole, parts)
        parts = []
    return rows


def _rows(setup: Setup, experiment: Experiment, parts: Sequence[Sequence[Runs]]) -> list[Row]:
    wanted = _methods(setup, experiment)
    methods = [m for m in wanted if all(any(m in run for run in runs) for runs in parts)]
    return [_row(experiment, methods[0], method, parts) for method in methods]


def _row(experiment: Experiment, first: str, method: str, parts: Sequence[Sequence[Runs]]) -> Row:
    """Return the row of a method in an experiment, or in a pool of equally weighted ones."""
    means = [Mean.of(_of(runs, method, "accuracy")) for runs in parts]
    error = sqrt(sum(mean.error**2 for mean in means)) / len(means)
    mean = Mean(sum(mean.value for mean in means) / len(means), error)
    runs = [run for part in parts for run in part]
    test = PairedTest.of(_of(runs, first, "accuracy"), _of(runs, method, "accuracy"))
    published = experiment.published.get(method)
    share = None if published is None else published / 100
    off = None if share is None or not mean.error > 0 else (mean.value - share) / mean.error
    return {
        "table": experiment.table,
        "experiment": experiment.name,
        "method": method,
        "reference": first,
        "repetitions": sum(method in run for run in runs),
        "cells": Mean.of(_of(runs, method, "cells")).value,
        "accuracy": mean.value,
        "accuracy_error": mean.error,
        "published": share,
        "errors_off": off,
        "ahead": None if method == first else test.difference,
        "significant": None if method == first else test.significant,
        "log_loss": Mean.of(_of(runs, method, "log_loss")).value,
        "seconds": Mean.of(_of(runs, method, "seconds")).value,
        "cpu_seconds": Mean.of(_of(runs, method, "cpu_seconds")).value,
    }


def _of(runs: Iterable[Runs], method: str, key: str) -> list[float]:
    """Return one figure of each repetition; NaN where the method or the figure is missing."""
    found = [run.get(method, {}).get(key) for run in runs]
    return [nan if value is None else float(value) for value in found]
