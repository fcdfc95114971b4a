"""What repetitions come to: means beside the published figures, and who wins."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import nan, sqrt
from typing import Any

from exactlearn.evaluation.metrics import Mean, PairedTest
from exactlearn.reproduce.experiment import Experiment
from exactlearn.reproduce.record import Done, Runs
from exactlearn.reproduce.repetitions import Plan

Row = dict[str, Any]


def summary(plan: Plan, experiments: Sequence[Experiment], done: Done) -> list[Row]:
    """Return one row per experiment and method, and per pool of experiments and method.

    Each is tested against the first method of its experiment, on the repetitions of both.
    """
    rows: list[Row] = []
    parts: list[Sequence[Runs]] = []
    for k, experiment in enumerate(experiments):
        own = done.get(experiment.key, {})
        parts.append([own[str(seed)] for seed in plan.seeds if str(seed) in own])
        rows += _rows(plan, experiment, parts[-1:])
        pool = experiment.pool
        if pool is not None and k + 1 < len(experiments) and experiments[k + 1].pool is pool:
            continue
        if pool is not None and len(parts) > 1:
            whole = replace(experiment, name=pool.name, published=pool.published)
            rows += _rows(plan, whole, parts)
        parts = []
    return rows


def _rows(plan: Plan, experiment: Experiment, parts: Sequence[Sequence[Runs]]) -> list[Row]:
    wanted = plan.methods_of(experiment)
    methods = [m for m in wanted if all(any(m in run for run in runs) for runs in parts)]
    return [_row(experiment, methods[0], method, parts) for method in methods]


def _row(experiment: Experiment, first: str, method: str, parts: Sequence[Sequence[Runs]]) -> Row:
    """Return the row of an experiment, or of several that count alike."""
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
    """Return a number of each repetition; NaN where the method or the number is not there."""
    found = [run.get(method, {}).get(key) for run in runs]
    return [nan if value is None else float(value) for value in found]


def verdicts(rows: Sequence[Row], tested: str, rivals: Sequence[str]) -> list[Row]:
    """Return for each experiment whether a method is beaten by the best of its rivals.

    Parameters
    ----------
    rows
        What :func:`summary` returns.
    tested
        The method; experiments without it are left out.
    rivals
        Methods to be compared with; the best is that of the highest mean accuracy.

    Returns
    -------
    verdicts
        Experiment, best rival, on how many repetitions, how far the method is ahead of it, and
        whether it is ``won``: the best, or not significantly worse.
    """
    found = []
    for table, name in dict.fromkeys((row["table"], row["experiment"]) for row in rows):
        own = [row for row in rows if (row["table"], row["experiment"]) == (table, name)]
        against = [r for r in own if r["method"] in rivals and r["reference"] == tested]
        if not against:
            continue
        best = max(against, key=lambda row: row["accuracy"])
        found.append(
            {
                "table": table,
                "experiment": name,
                "rival": best["method"],
                "repetitions": best["repetitions"],
                "ahead": best["ahead"],
                "won": best["ahead"] >= 0 or not best["significant"],
            }
        )
    return found
