"""Studies: each run is done once, and kept in a file that a later call resumes.

The file is a JSON object: the record of each run, or why it failed, by the run's title.

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
"""The record of a run, as JSON knows it."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study, done or not.

    Parameters
    ----------
    title
        Which run, in a line of text that no other run of the study has.
    work
        The function that does it, within the control that runs in its thread; for several
        processes it must pickle.
    settings
        All that the result depends on beside the version; a run with other settings is done again.
    """

    title: str
    work: Callable[[], Found]
    settings: str = ""

    @property
    def learning(self) -> str:
        """The settings and the version, with which a stored run must have been done."""
        return f"{self.settings} exactlearn {exactlearn.__version__}".strip()


@dataclass
class Study:
    """Runs, each done once whatever the others give.

    Parameters
    ----------
    runs
        The runs: data sets, repetitions and methods.
    path
        The file that keeps the records; its folder is made. Without it nothing is kept.
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
    >>> [record["value"] for record in study.found()]
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
        """Read the records that an earlier study has kept."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        records = read_json(self.path) if self.path.exists() else {}
        is_study = isinstance(records, dict)
        if not is_study or not all(isinstance(x, dict) for x in records.values()):
            raise FormatError(
                f"{self.path}: no record of repetitions; name another folder"
            )
        # A record that was changed by hand would be taken for a result.
        for title, record in records.items():
            if record.pop("checksum", None) != _checksum(record):
                raise FormatError(
                    f"{self.path}, key '{title}': not as it was written when the run was "
                    "done; remove the key, and the run is done again"
                )
        self.done = records

    def run(self) -> None:
        """Do the runs that are not yet done.

        A run that fails is kept with its ``"error"``, and one that is cut short as
        ``"unfinished"``; a later study runs both again.
        """
        waiting = [planned for planned in self.runs if not self.is_done(planned)]
        if self.control.is_over:
            return
        with self.control.running():
            finished = self._finished(waiting)
            for planned, record in counted("run", finished, len(waiting)):
                learning = {"learning": planned.learning}
                self.done[planned.title] = strict(record) | learning
                self._keep()

    def _keep(self) -> None:
        """Write the records, each with its checksum."""
        if self.path is None:
            return
        kept = {
            title: {**record, "checksum": _checksum(record)}
            for title, record in self.done.items()
        }
        text = json.dumps(kept, allow_nan=False, sort_keys=True)
        atomic_write(self.path, text + "\n")

    def known(self, planned: PlannedRun) -> Found | None:
        """Return the record of a run, if it was done with the same settings."""
        record = self.done.get(planned.title, {})
        return record if record.get("learning") == planned.learning else None

    def is_done(self, planned: PlannedRun) -> bool:
        """Return whether a run has neither failed nor been cut short."""
        record = self.known(planned) or {"error": "not done"}
        return "error" not in record and not record.get("unfinished")

    def found(self) -> Iterator[Found]:
        """Yield the records of the runs, in their order, without those not done or failed."""
        records = filter(None, map(self.known, self.runs))
        return (record for record in records if "error" not in record)

    def failures(self) -> Iterator[tuple[PlannedRun, str]]:
        """Yield the runs that failed, and why."""
        for planned in self.runs:
            record = self.known(planned) or {}
            if "error" in record:
                yield planned, record["error"]

    def _finished(
        self, waiting: Sequence[PlannedRun]
    ) -> Iterator[tuple[PlannedRun, Found]]:
        """Do runs here, in processes or on a cluster; yield each with its record."""
        if self.cluster is None and self.jobs == 1:
            for k, planned in enumerate(waiting):
                if self.control.is_over:
                    return
                self.on_begin(planned.title)
                seconds = self.control.left / (len(waiting) - k)
                yield planned, _record_of(planned.work, seconds)
            return
        with executors.running(self.cluster) as client:
            # Runs side by side share the time: each has that of its round.
            workers = self.jobs if client is None else sum(client.nthreads().values())
            rounds = max(1, ceil(len(waiting) / max(1, workers)))
            tasks = [(planned.work, self.control.left / rounds) for planned in waiting]
            if client is None:
                finished = _finished_by_processes(tasks, self.jobs, self.control)
            else:
                finished = executors.finished(_record_of, tasks, client)
            for number, record in finished:
                self.on_begin(waiting[number].title)
                yield waiting[number], record


def _checksum(record: Found) -> int:
    """Return the checksum of the record of a run."""
    return crc32(json.dumps(record, sort_keys=True).encode())


def _finished_by_processes(
    tasks: Sequence[tuple[Any, ...]], jobs: int, control: SearchControl
) -> Iterator[tuple[int, Found]]:
    """Yield number and record of each task as it ends; a common event tells processes to stop."""
    context = get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(jobs, context, _watch, (stop,))
    try:
        with interrupts_ignored():  # the event stops these processes
            futures = {
                pool.submit(_record_of, *task): k for k, task in enumerate(tasks)
            }
        pending = set(futures)
        # Once the time is over, runs that have not begun are cancelled.
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


def _record_of(work: Callable[[], Found], seconds: float) -> Found:
    """Return the record of a run within a time, or why it failed."""
    with SearchControl.within(seconds).running() as control:
        _RUNNING[:] = [control]
        try:
            record = work()
            return record | ({"unfinished": True} if control.is_over else {})
        except ExactlearnError as error:
            return {"error": str(error)}
        except Exception as error:  # the other runs go on
            return {"error": f"{type(error).__name__}: {error}"}


_RUNNING: list[SearchControl] = []
"""The control of the run that this process does."""


def _watch(stop: Event) -> None:
    """Stop the run of this process once the event is set; end it when its parent is gone."""

    def watch() -> None:
        parent = parent_process()
        while parent is not None and parent.is_alive():
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
"""The key of a record that has the metric row by row, and its sign: 1 where more is better."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A table with hidden cells.

    Parameters
    ----------
    table, hidden
        Name of the table, and the mechanism that hides its cells.
    draw
        The function of a seed that returns the incomplete table and its truth; for several
        processes it must pickle.
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
        With different names of tables, or of the mechanisms that hide their cells.
    methods
        Functions that complete a table, by names.
    seeds
        The seed of each repetition; equal seeds hide the same cells.
    settings
        All that answers depend on beside the table and the seed; with others a run is done again.
    """

    conditions: Sequence[Condition]
    methods: Mapping[str, Complete]
    seeds: Sequence[int] = (0,)
    settings: str = ""

    def runs(self) -> list[PlannedRun]:
        """Return the runs of a :class:`~exactlearn.evaluation.study.Study`, repetition first."""
        return [
            run
            for seed in self.seeds
            for condition in self.conditions
            for run in self._repetition(condition, seed).values()
        ]

    def _repetition(self, condition: Condition, seed: int) -> dict[str, PlannedRun]:
        """Return the run of each method in a repetition of a condition."""
        words = [condition.table, condition.hidden, str(seed)]
        title = ", ".join(filter(None, words))
        settings = f"{self.settings} {condition.digest}"
        runs = {}
        for method, complete in self.methods.items():
            work = partial(completed, condition, complete, method, seed)
            runs[method] = PlannedRun(f"{title}: {method}", work, settings)
        return runs

    def repetitions(self, study: Study, condition: Condition) -> list[dict[str, Found]]:
        """Return for each repetition of a condition the records of all methods; only whole ones.

        A method that failed where others did not has no accuracy and no loss.
        """
        repetitions = []
        for seed in self.seeds:
            records: dict[str, Found] = {}
            failed: list[str] = []
            runs = self._repetition(condition, seed)
            for method, planned in runs.items():
                record = study.known(planned) or {}
                if study.is_done(planned):
                    records[method] = record
                elif "error" in record:
                    failed.append(method)
            # A repetition counts once every method is done or has failed.
            if records and len(records) + len(failed) == len(runs):
                cells = next(iter(records.values()))["cells"]
                failure = {"status": "failed", "cells": cells}
                repetitions.append({x: records.get(x, failure) for x in runs})
        return repetitions


def completed(
    condition: Condition, complete: Complete, method: str, seed: int
) -> Found:
    """Complete a table by a method, and compare the completion with the truth.

    Returns
    -------
    record
        The method and the status of its search; accuracy and log_loss, NaN where they are not
        known; score, bound and gap, NaN or infinite for a method without; seconds and cpu_seconds;
        the number of judged cells, by the weights of their rows; of each row the number of cells
        completed ``right``, and the loss; and the names and weights of the rows as ``units`` and
        ``weights`` (:meth:`ClusteredTest.of`).
    """
    # Complete the table, by the clocks of the wall and of the processor.
    incomplete, truth = condition.draw(seed)
    begun = time.monotonic()
    begun_cpu = time.process_time()
    completion = complete(incomplete, seed)
    record: Found = {
        "status": completion.status,
        "score": completion.score,
        "bound": completion.bound,
        "gap": completion.gap,
        "method": method,
        "accuracy": nan,
        "log_loss": nan,
        "cells": 0,
        "seconds": time.monotonic() - begun,
        "cpu_seconds": time.process_time() - begun_cpu,
    }
    values = completion.values
    if truth is None or values is None:
        return record
    # Judge the cells, and keep the sums of each row for the tests.
    cells = JudgedCells.of(incomplete, values, truth, completion.probabilities)
    sums_by_row = partial(np.bincount, cells.rows, minlength=incomplete.n_rows)
    losses = None
    if cells.losses is not None:
        losses = sums_by_row(cells.losses).round(6).tolist()
    n_cells = float(cells.weights.sum())
    # Rows that repetitions have in common are one unit of the tests.
    units: list[Any] = [*range(truth.n_rows)]
    if condition.is_redrawn:
        units = [f"{seed}: {row}" for row in units]
    elif truth.row_index is not None and truth.row_index.is_unique:
        units = truth.row_index.tolist()
    return record | {
        "accuracy": cells.accuracy,
        "log_loss": cells.log_loss,
        "cells": int(n_cells) if n_cells.is_integer() else n_cells,
        "right": sums_by_row(cells.right).tolist(),
        "losses": losses,
        "units": units,
        "weights": incomplete.row_weights.tolist(),
    }


def ahead(
    runs: Sequence[Mapping[str, Found]], first: str, second: str, metric: str
) -> ClusteredTest:
    """Return the test of a method against another: more accuracy, or less loss.

    Parameters
    ----------
    runs
        Repetitions of one condition.
    first, second
        Two methods.
    metric
        A metric of `METRICS`; without it in a run the difference is NaN.
    """
    key, sign = METRICS[metric]
    pairs = [(run[first], run[second]) for run in runs]
    if any(a.get(key) is None or b.get(key) is None for a, b in pairs):
        return ClusteredTest(nan, nan)
    return ClusteredTest.of(
        differences=[sign * np.subtract(a[key], b[key]) for a, b in pairs],
        cells=sum(a["cells"] for a, _ in pairs),
        units=[a["units"] for a, _ in pairs],
        weights=[np.asarray(a["weights"]) for a, _ in pairs],
    )


MEANS = ("accuracy", "log_loss", "score", "bound", "gap", "seconds", "cpu_seconds")
"""Keys of records whose means over the repetitions are reported."""


def method_rows(
    condition: Condition, runs: Sequence[Mapping[str, Found]]
) -> Iterator[dict[str, Any]]:
    """Yield one row for each method of a condition: means over repetitions, standard errors, tests.

    Each method is tested against the first one.

    Parameters
    ----------
    condition
        The condition.
    runs
        Its repetitions, at least one.
    """
    reference = next(iter(runs[0]))
    for method in runs[0]:
        records = [run[method] for run in runs]
        ends = [record["status"] for record in records]
        row: dict[str, Any] = {
            "table": condition.table,
            "hidden": condition.hidden,
            "method": method,
            "tables": len(runs),
            "cells": sum(record["cells"] for record in records),
            "proven": ends.count("optimal") + ends.count("t-local"),
            "limited": ends.count("feasible"),
            "reference": reference,
        }
        for key in MEANS:
            mean = Mean.of(record.get(key) for record in records)
            row |= {key: mean.value, f"{key}_error": mean.error}
        # Signs are turned back, so that a difference of losses is one of losses.
        for metric, prefix in (("accuracy", ""), ("log_loss", "loss_")):
            test = ahead(runs, method, reference, metric)
            row |= {
                f"{prefix}difference": METRICS[metric][1] * test.difference,
                f"{prefix}p_value": test.p_value,
                f"{prefix}significant": test.significant,
            }
        yield row
