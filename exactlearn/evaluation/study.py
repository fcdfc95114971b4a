"""Studies: each run is done once, and kept in a file that a later call resumes.

The file is a JSON object: what each run gave, or why it failed, by its title.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from math import ceil
from multiprocessing import get_context, parent_process
from multiprocessing.synchronize import Event
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import exactlearn
from exactlearn._runtime import cluster as clusters
from exactlearn._runtime.control import UNLIMITED, SearchControl, interrupts_ignored
from exactlearn._runtime.files import atomic_write, read_json, strict
from exactlearn.errors import ExactlearnError, FormatError

POLL_INTERVAL = 0.2
"""Seconds between two looks at the control of a study, and of a process at what it is to do."""

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
            if not isinstance(found, dict) or not all(isinstance(x, dict) for x in found.values()):
                raise FormatError(f"{self.path}: no record of repetitions; name another folder")
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
            for planned, found in self._finished(waiting):
                self.done[planned.title] = strict(found) | {"learning": planned.learning}
                if self.path is not None:
                    text = json.dumps(self.done, allow_nan=False, sort_keys=True)
                    atomic_write(self.path, text + "\n")

    def known(self, planned: PlannedRun) -> Found | None:
        """Return what a run gave, if it was done with the same settings."""
        found = self.done.get(planned.title)
        return found if found is not None and found.get("learning") == planned.learning else None

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

    def _finished(self, waiting: Sequence[PlannedRun]) -> Iterator[tuple[PlannedRun, Found]]:
        """Do runs here, in processes or on a cluster; yield each with what it gave."""
        if self.cluster is None and self.jobs == 1:
            for k, planned in enumerate(waiting):
                if self.control.is_over:
                    return
                self.on_begin(planned.title)
                yield planned, _result(planned.work, self.control.left / (len(waiting) - k))
            return
        with clusters.running(self.cluster) as client:
            places = self.jobs if client is None else sum(client.nthreads().values())
            share = self.control.left / max(1, ceil(len(waiting) / max(1, places)))
            tasks = [(planned.work, share) for planned in waiting]
            if client is None:
                finished = _finished_by_processes(tasks, self.jobs, self.control)
            else:
                finished = clusters.finished(_result, tasks, client)
            for number, found in finished:
                self.on_begin(waiting[number].title)
                yield waiting[number], found


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
            done, pending = wait(pending, POLL_INTERVAL, FIRST_COMPLETED)
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
            if stop.wait(POLL_INTERVAL):
                for control in _RUNNING:
                    control.stop()
                sleep(POLL_INTERVAL)
        os._exit(1)

    Thread(target=watch, daemon=True).start()
