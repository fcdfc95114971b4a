"""Studies: each run is done once, and kept in a file that a later call resumes.

The file is a JSON object: what each run gave, or why it failed, by its title.

The study of imputers is the protocol of ``compare``: each condition is a table and a mechanism that
hides cells of it; all methods complete the same cells, in each repetition others. A method is
judged by its accuracy, its logarithmic loss and its CPU time, and tested against a reference by
:class:`~exactlearn.evaluation.metrics.ClusteredTest`. The record keeps of every run how many cells
of each row are right, and the loss of each row, which is what the tests need.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from math import ceil, nan
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

import exactlearn
from exactlearn._runtime import executors
from exactlearn._runtime.control import UNLIMITED, SearchControl, interrupts_ignored
from exactlearn._runtime.files import atomic_write, read_json, strict
from exactlearn._runtime.progress import counted
from exactlearn.data.dataset import Dataset
from exactlearn.errors import ExactlearnError, FormatError
from exactlearn.evaluation.metrics import ClusteredTest, JudgedCells, Mean

if TYPE_CHECKING:
    from exactlearn.imputation.learning import Imputed

Found = dict[str, Any]
"""What a run gave, as JSON knows it."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study, done or not.

    Parameters
    ----------
    title
        Which run, in a line of text that no other run of the study has.
    work
        Does it, within the control that runs in its thread; for several processes it must pickle.
    settings
        What the result depends on beside the version; a run with other settings is done again.
    """

    title: str
    work: Callable[[], Found]
    settings: str = ""

    @property
    def learning(self) -> str:
        """What a stored run must have been done with: the settings and the version."""
        return f"{self.settings} exactlearn {exactlearn.__version__}".strip()


@dataclass
class Study:
    """Runs, each done once whatever the others give.

    Parameters
    ----------
    runs
        What is done: data sets, repetitions and methods.
    path
        The file that keeps each run, and what it kept; its folder is made. Without it nothing is
        kept.
    jobs
        Number of processes; with one, all runs in this process. More import the script that they
        are started from, whose own work must stand below ``if __name__ == "__main__":``.
    cluster
        A Dask cluster that does the runs instead: ``"local"``, ``"local:2"``, the address of a
        scheduler, or a ``distributed.Client``.
    on_begin
        Called with the title of a run that begins, or is done by another process.
    control
        Once it is over no run begins.

    Raises
    ------
    FormatError
        When the file is not a record of runs.

    Examples
    --------
    >>> runs = [PlannedRun(str(k), lambda k=k: {"value": k * k}) for k in range(3)]
    >>> study = Study(runs)
    >>> study.run()
    >>> [found["value"] for found in study.found()]
    [0, 1, 4]
    """

    runs: Sequence[PlannedRun]
    path: Path | None = None
    jobs: int = 1
    cluster: Any = None
    on_begin: Callable[[str], None] = lambda title: None
    control: SearchControl = UNLIMITED
    done: dict[str, Found] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read what an earlier study has kept."""
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            found = read_json(self.path) if self.path.exists() else {}
            if not isinstance(found, dict) or not all(
                isinstance(x, dict) for x in found.values()
            ):
                raise FormatError(
                    f"{self.path}: no record of repetitions; name another folder"
                )
            for title, run in found.items():
                if run.pop("checksum", None) != _checksum(run):
                    raise FormatError(
                        f"{self.path}, key '{title}': not as it was written when the run was "
                        "done; remove the key, and the run is done again"
                    )
            self.done = found

    def run(self) -> None:
        """Do what is not yet done.

        What fails is kept with its ``"error"``, and what is cut short is kept as ``"unfinished"``;
        a later study runs both again.
        """
        waiting = [planned for planned in self.runs if not self.is_done(planned)]
        if self.control.is_over:
            return
        with self.control.running():
            for planned, found in counted("run", self._finished(waiting), len(waiting)):
                self.done[planned.title] = strict(found) | {
                    "learning": planned.learning
                }
                if self.path is not None:
                    kept = {
                        title: {**run, "checksum": _checksum(run)}
                        for title, run in self.done.items()
                    }
                    text = json.dumps(kept, allow_nan=False, sort_keys=True)
                    atomic_write(self.path, text + "\n")

    def known(self, planned: PlannedRun) -> Found | None:
        """Return what a run gave, if it was done with the same settings."""
        found = self.done.get(planned.title)
        return (
            found
            if found is not None and found.get("learning") == planned.learning
            else None
        )

    def is_done(self, planned: PlannedRun) -> bool:
        """Return whether a run has neither failed nor been cut short."""
        found = self.known(planned) or {"error": "not done"}
        return "error" not in found and not found.get("unfinished")

    def found(self) -> Iterator[Found]:
        """Yield what the runs gave, in their order, without those that are not done or failed."""
        known = filter(None, map(self.known, self.runs))
        return (found for found in known if "error" not in found)

    def failures(self) -> Iterator[tuple[PlannedRun, str]]:
        """Yield the runs that failed, and why."""
        for planned in self.runs:
            if "error" in (found := self.known(planned) or {}):
                yield planned, found["error"]

    def _finished(
        self, waiting: Sequence[PlannedRun]
    ) -> Iterator[tuple[PlannedRun, Found]]:
        """Do runs here, in processes or on a cluster; yield each with what it gave."""
        if self.cluster is None and self.jobs == 1:
            for k, planned in enumerate(waiting):
                if self.control.is_over:
                    return
                self.on_begin(planned.title)
                yield (
                    planned,
                    _result(planned.work, self.control.left / (len(waiting) - k)),
                )
            return
        with executors.running(self.cluster) as client:
            places = self.jobs if client is None else sum(client.nthreads().values())
            share = self.control.left / max(1, ceil(len(waiting) / max(1, places)))
            tasks = [(planned.work, share) for planned in waiting]
            if client is None:
                finished = _finished_by_processes(tasks, self.jobs, self.control)
            else:
                finished = executors.finished(_result, tasks, client)
            for number, found in finished:
                self.on_begin(waiting[number].title)
                yield waiting[number], found


def _checksum(run: Found) -> int:
    """Return the checksum of what a run gave."""
    return crc32(json.dumps(run, sort_keys=True).encode())


def _finished_by_processes(
    tasks: Sequence[tuple[Any, ...]], jobs: int, control: SearchControl
) -> Iterator[tuple[int, Found]]:
    """Yield number and result of each task as it ends; a common event tells processes to stop."""
    context = get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(jobs, context, _watch, (stop,))
    try:
        with interrupts_ignored():  # this process tells the others
            futures = {pool.submit(_result, *task): k for k, task in enumerate(tasks)}
        pending = set(futures)
        while pending:
            done, pending = wait(pending, executors.POLL_INTERVAL, FIRST_COMPLETED)
            if control.is_over:
                stop.set()
                pending = {future for future in pending if not future.cancel()}
            for future in done:
                yield futures[future], future.result()
    finally:
        stop.set()
        # their end takes seconds on a busy machine: an answer does not wait for it
        pool.shutdown(wait=not control.is_over, cancel_futures=True)


def _result(run: Callable[[], Found], seconds: float) -> Found:
    """Return what a run gives within a time, or why it fails."""
    with SearchControl.within(seconds).running() as control:
        _RUNNING[:] = [control]
        try:
            return run() | ({"unfinished": True} if control.is_over else {})
        except ExactlearnError as error:
            return {"error": str(error)}
        except Exception as error:  # of one run: the others go on
            return {"error": f"{type(error).__name__}: {error}"}


_RUNNING: list[SearchControl] = []
"""The control of the run that this process does."""


def _watch(stop: Event) -> None:
    """Stop what this process runs once the event is set; end it when its parent is gone."""

    def watch() -> None:
        above = parent_process()
        while above is not None and above.is_alive():
            if stop.wait(executors.POLL_INTERVAL):
                for control in _RUNNING:
                    control.stop()
                time.sleep(executors.POLL_INTERVAL)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


Pair = tuple[Dataset, Dataset | None]
"""An incomplete table, and its truth where that is known."""

Complete = Callable[[Dataset, int], "Imputed"]
"""Completes a table, with a seed; for several processes it must pickle."""

METRICS: Mapping[str, tuple[str, int]] = {
    "accuracy": ("right", 1),
    "log_loss": ("losses", -1),
}
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
        pairs = [
            (condition, seed) for seed in self.seeds for condition in self.conditions
        ]
        return [run for pair in pairs for run in self._repetition(*pair).values()]

    def _repetition(self, condition: Condition, seed: int) -> dict[str, PlannedRun]:
        words = [condition.table, condition.hidden, str(seed)]
        title = ", ".join(filter(None, words))
        settings = f"{self.settings} {condition.digest}"
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
            done = [
                run for method, run in runs.items() if study.is_done(planned[method])
            ]
            if done and all(run in done or "error" in run for run in runs.values()):
                failed = {"status": "failed", "cells": done[0]["cells"]}
                found.append(
                    {m: run if run in done else failed for m, run in runs.items()}
                )
        return found


def completed(
    condition: Condition, complete: Complete, method: str, seed: int
) -> Found:
    """Complete a table by a method, and compare the completion with the truth.

    Returns
    -------
    found
        The method and the status of its search; accuracy and log_loss, NaN where they are not
        known; score, bound and gap, NaN or infinite for a method without; seconds and cpu_seconds;
        how many cells are judged, by the weights of their rows; how many of each row are ``right``,
        the loss of each row, and the names and weights of the rows as ``units`` and ``weights``
        (:meth:`ClusteredTest.of`).
    """
    incomplete, truth = condition.draw(seed)
    begun = time.monotonic()
    begun_cpu = time.process_time()
    found = complete(incomplete, seed)
    cpu = time.process_time() - begun_cpu
    seconds = time.monotonic() - begun
    known = {key: getattr(found, key) for key in ("status", "score", "bound", "gap")}
    known |= {"method": method, "accuracy": nan, "log_loss": nan, "cells": 0}
    known |= {"seconds": seconds, "cpu_seconds": cpu}
    if truth is None or found.values is None:
        return known
    cells = JudgedCells.of(incomplete, found.values, truth, found.probabilities)
    rows = partial(np.bincount, cells.rows, minlength=incomplete.n_rows)
    n_cells = float(cells.weights.sum())
    units: list[Any] = [*range(truth.n_rows)]
    if condition.is_redrawn:
        units = [f"{seed}: {row}" for row in units]
    elif truth.row_index is not None and truth.row_index.is_unique:
        units = truth.row_index.tolist()
    return known | {
        "accuracy": cells.accuracy,
        "log_loss": cells.log_loss,
        "cells": int(n_cells) if n_cells.is_integer() else n_cells,
        "right": rows(cells.right).tolist(),
        "losses": None
        if cells.losses is None
        else rows(cells.losses).round(6).tolist(),
        "units": units,
        "weights": incomplete.row_weights.tolist(),
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
    weights = [np.asarray(r[first]["weights"]) for r in runs]
    cells = sum(r[first]["cells"] for r in runs)
    return ClusteredTest.of(differences, cells, units, weights)


def method_rows(
    condition: Condition, runs: Sequence[Mapping[str, Found]]
) -> Iterator[dict[str, Any]]:
    """Yield one row for each method of a condition: means over repetitions, standard errors, tests.

    Each method is tested against the first one.

    Parameters
    ----------
    condition
        What was run.
    runs
        Its repetitions, at least one.
    """
    reference = next(iter(runs[0]))
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
            "reference": reference,
        }
        for key in (
            "accuracy",
            "log_loss",
            "score",
            "bound",
            "gap",
            "seconds",
            "cpu_seconds",
        ):
            mean = Mean.of(found.get(key) for found in own)
            row |= {key: mean.value, f"{key}_error": mean.error}
        for metric, prefix in (("accuracy", ""), ("log_loss", "loss_")):
            test = ahead(runs, method, reference, metric)
            row |= {
                f"{prefix}difference": METRICS[metric][1] * test.difference,
                f"{prefix}p_value": test.p_value,
                f"{prefix}significant": test.significant,
            }
        yield row
