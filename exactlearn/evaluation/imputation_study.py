"""Comparison of imputers on cells hidden on purpose: the protocol of ``compare``.

Each condition is a table and a mechanism that hides cells of it; all methods complete the same
cells, in each repetition others. A method is judged by its accuracy, its logarithmic loss and its
CPU time, and tested against a reference by
:class:`~exactlearn.evaluation.metrics.ClusteredTest`.

The record keeps of every run how many cells of each row are right, and the loss of each row, which
is what the tests need.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import nan
from typing import Any

import numpy as np

from exactlearn.data.dataset import Dataset
from exactlearn.evaluation.metrics import ClusteredTest, JudgedCells, Mean
from exactlearn.evaluation.study import Found, PlannedRun, Study
from exactlearn.imputation.imputed import Imputed

Pair = tuple[Dataset, Dataset | None]
"""An incomplete table, and its truth where that is known."""

Complete = Callable[[Dataset, int], Imputed]
"""Completes a table, with a seed; for several processes it must pickle."""

METRICS: Mapping[str, tuple[str, int]] = {"accuracy": ("right", 1), "log_loss": ("losses", -1)}
"""The key of a run that has it row by row, and whether more of it is better."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A table with hidden cells.

    Parameters
    ----------
    table, hidden
        Name of the table, and what hides its cells.
    draw
        Returns the incomplete table and its truth by a seed; for several processes it must pickle.
    digest
        Digest of the table's contents: a run on another table of the same name is done again.
    is_redrawn
        Whether each seed draws new rows, as from a network; else a row that seeds have in common
        has the same position, or the same unique index.
    """

    table: str
    hidden: str
    draw: Callable[[int], Pair]
    digest: str = ""
    is_redrawn: bool = False


@dataclass(frozen=True, kw_only=True)
class ImputationStudy:
    """Conditions, methods and repetitions.

    Parameters
    ----------
    conditions
        With different names of tables, or of what hides their cells.
    methods
        What completes a table, by names.
    seeds
        One for each repetition; the same hide the same cells.
    settings
        What answers depend on beside the table and the seed; with others a run is done again.
    """

    conditions: Sequence[Condition]
    methods: Mapping[str, Complete]
    seeds: Sequence[int] = (0,)
    settings: str = ""

    def runs(self) -> list[PlannedRun]:
        """Return the runs of a :class:`~exactlearn.evaluation.study.Study`, repetition first."""
        pairs = [(condition, seed) for seed in self.seeds for condition in self.conditions]
        return [run for pair in pairs for run in self._repetition(*pair).values()]

    def _repetition(self, condition: Condition, seed: int) -> dict[str, PlannedRun]:
        words = [condition.table, condition.hidden, str(seed)]
        title, settings = ", ".join(filter(None, words)), f"{self.settings} {condition.digest}"
        return {
            method: PlannedRun(
                f"{title}: {method}",
                partial(completed, condition, complete, method, seed),
                settings,
            )
            for method, complete in self.methods.items()
        }

    def repetitions(self, study: Study, condition: Condition) -> list[dict[str, Found]]:
        """Return for each repetition of a condition what all methods gave; only whole ones.

        A method that failed where others did not has no accuracy and no loss.
        """
        found = []
        for seed in self.seeds:
            planned = self._repetition(condition, seed)
            runs = {method: study.known(run) or {} for method, run in planned.items()}
            done = [run for method, run in runs.items() if study.is_done(planned[method])]
            if done and all(run in done or "error" in run for run in runs.values()):
                failed = {"status": "failed", "cells": done[0]["cells"]}
                found.append({m: run if run in done else failed for m, run in runs.items()})
        return found


def completed(condition: Condition, complete: Complete, method: str, seed: int) -> Found:
    """Complete a table by a method, and compare the completion with the truth.

    Returns
    -------
    found
        The method and the status of its search; accuracy and log_loss, NaN where they are not
        known; score, bound and gap, NaN or infinite for a method without; seconds and cpu_seconds;
        how many cells are judged; how many of each row are ``right``, the loss of each row, and the
        names of the rows as ``units`` (:meth:`ClusteredTest.of`).
    """
    incomplete, truth = condition.draw(seed)
    begun, begun_cpu = time.monotonic(), time.process_time()
    found = complete(incomplete, seed)
    cpu, seconds = time.process_time() - begun_cpu, time.monotonic() - begun
    known = {key: getattr(found, key) for key in ("status", "score", "bound", "gap")}
    known |= {"method": method, "accuracy": nan, "log_loss": nan, "cells": 0}
    known |= {"seconds": seconds, "cpu_seconds": cpu}
    if truth is None or found.values is None:
        return known
    cells = JudgedCells.of(incomplete, found.values, truth, found.probabilities)
    rows = partial(np.bincount, cells.rows, minlength=incomplete.n_rows)
    units: list[Any] = [*range(truth.n_rows)]
    if condition.is_redrawn:
        units = [f"{seed}: {row}" for row in units]
    elif truth.row_index is not None and truth.row_index.is_unique:
        units = truth.row_index.tolist()
    return known | {
        "accuracy": cells.accuracy,
        "log_loss": cells.log_loss,
        "cells": len(cells.rows),
        "right": rows(cells.right).tolist(),
        "losses": None if cells.losses is None else rows(cells.losses).round(6).tolist(),
        "units": units,
    }


def ahead(
    runs: Sequence[Mapping[str, Found]], first: str, second: str, metric: str
) -> ClusteredTest:
    """Return how far a method is ahead of another: more accuracy, or less loss.

    Parameters
    ----------
    runs
        Repetitions of one condition.
    first, second
        Two methods.
    metric
        What they are judged by; without it in a run the difference is NaN.
    """
    key, sign = METRICS[metric]
    if any(run[m].get(key) is None for run in runs for m in (first, second)):
        return ClusteredTest(nan, nan)
    differences = [sign * np.subtract(r[first][key], r[second][key]) for r in runs]
    units = [r[first]["units"] for r in runs]
    return ClusteredTest.of(differences, sum(r[first]["cells"] for r in runs), units)


def method_rows(
    condition: Condition, runs: Sequence[Mapping[str, Found]], reference: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield one row for each method of a condition: means over repetitions, standard errors, tests.

    Parameters
    ----------
    condition
        What was run.
    runs
        Its repetitions, at least one.
    reference
        The method that the others are tested against.
    """
    for method in runs[0]:
        own = [run[method] for run in runs]
        row: dict[str, Any] = {
            "table": condition.table,
            "hidden": condition.hidden,
            "method": method,
            "tables": len(runs),
            "cells": sum(found["cells"] for found in own),
            "proven": sum(found["status"] in ("optimal", "t-local") for found in own),
            "limited": sum(found["status"] == "feasible" for found in own),
        }
        for key in ("accuracy", "log_loss", "score", "bound", "gap", "seconds", "cpu_seconds"):
            mean = Mean.of(found.get(key) for found in own)
            row |= {key: mean.value, f"{key}_error": mean.error}
        if reference is not None:
            row["reference"] = reference
            for metric, prefix in (("accuracy", ""), ("log_loss", "loss_")):
                test = ahead(runs, method, reference, metric)
                row |= {
                    f"{prefix}difference": METRICS[metric][1] * test.difference,
                    f"{prefix}p_value": test.p_value,
                    f"{prefix}significant": test.significant,
                }
        yield row
