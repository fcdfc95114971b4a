"""Studies: each run is done once, and kept in a file that a later call resumes.

A record is a JSON file: experiment, then repetition, then method, each with what the run gave. A
study does its runs in this process or in several, and keeps what each gave, or why it failed.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
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

Runs = dict[str, Found]
"""For each method what one repetition gave: accuracy, log-loss, status, seconds ..."""

Done = dict[str, dict[str, Runs]]
"""For each experiment and repetition the runs of its methods."""


@dataclass
class Record:
    """The runs that are done, and the file that each further run is added to.

    Parameters
    ----------
    path
        The file; without it nothing is kept.
    on_begin
        Called with a line of text when a run begins.
    done
        The runs.
    control
        Once it is over no run begins.
    """

    path: Path | None
    on_begin: Callable[[str], None]
    done: Done = field(default_factory=dict)
    control: SearchControl = UNLIMITED

    @classmethod
    def open(
        cls,
        folder: str | Path | None,
        name: str,
        on_begin: Callable[[str], None],
        control: SearchControl = UNLIMITED,
    ) -> "Record":
        """Return the record in a file of a folder, which is made; without one nothing is kept.

        Raises
        ------
        FormatError
            When the file is not a record.
        """
        if folder is None:
            return cls(None, on_begin, control=control)
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        found = read_json(path) if path.exists() else {}
        if not isinstance(found, dict):
            raise FormatError(f"{path}: no record of repetitions; name another folder")
        return cls(path, on_begin, found, control)

    def known(self, planned: "PlannedRun") -> Found | None:
        """Return what a run gave, if it was done before with the same settings."""
        found = (
            self.done.get(planned.experiment, {}).get(planned.repetition, {}).get(planned.method)
        )
        return found if found is not None and found.get("learning") == planned.learning else None

    def keep(self, planned: "PlannedRun", found: Found) -> Found:
        """Keep what a run gave, in the file, too; return it as the file has it."""
        runs = self.done.setdefault(planned.experiment, {}).setdefault(planned.repetition, {})
        runs[planned.method] = strict(found) | {"learning": planned.learning}
        if self.path is not None:
            atomic_write(self.path, json.dumps(self.done, allow_nan=False, sort_keys=True) + "\n")
        return runs[planned.method]


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study, done or not.

    Parameters
    ----------
    experiment, repetition, method
        Which run; no two of a study have all three alike.
    work
        Does it, within the control that runs in its thread; for several processes it must pickle.
    settings
        What the result depends on beside the version; a run with other settings is done again.
    """

    experiment: str
    repetition: str
    method: str
    work: Callable[[], Found]
    settings: str = ""

    @property
    def learning(self) -> str:
        """What a stored run must have been done with: the settings and the version."""
        return f"{self.settings} exactlearn {exactlearn.__version__}".strip()

    @property
    def title(self) -> str:
        """The run in a line of text."""
        return f"{self.experiment}, {self.repetition}: {self.method}"


@dataclass(frozen=True)
class Study:
    """Runs, each done once whatever the others give.

    Parameters
    ----------
    runs
        What is done: data sets, repetitions and methods.
    record
        What is done, and where it is kept; its control ends the study.
    jobs
        Number of processes; with one, all runs in this process. More import the script that they
        are started from, whose own work must stand below ``if __name__ == "__main__":``.
    cluster
        A Dask cluster that does the runs instead: ``"local"``, ``"local:2"``, the address of a
        scheduler, or a ``distributed.Client``.

    Examples
    --------
    >>> runs = [PlannedRun("t", str(k), "square", lambda k=k: {"value": k * k}) for k in range(3)]
    >>> study = Study(runs, Record(None, lambda title: None))
    >>> study.run()
    >>> [found["value"] for found in study.found()]
    [0, 1, 4]
    """

    runs: Sequence[PlannedRun]
    record: Record
    jobs: int = 1
    cluster: Any = None

    def run(self) -> None:
        """Do what is not yet done.

        What fails is kept with its ``"error"``, and what is cut short is kept as ``"unfinished"``;
        a later study runs both again.
        """
        waiting = [planned for planned in self.runs if not self.is_done(planned)]
        if self.record.control.is_over:
            return
        if self.cluster is not None:
            do = self._on_cluster
        else:
            do = self._here if self.jobs == 1 else self._elsewhere
        with self.record.control.running():
            for planned, found in do(waiting):
                self.record.keep(planned, found)

    def is_done(self, planned: PlannedRun) -> bool:
        """Return whether a run has neither failed nor been cut short."""
        found = self.record.known(planned)
        return found is not None and "error" not in found and not found.get("unfinished")

    def found(self) -> Iterator[Found]:
        """Yield what the runs gave, in their order, without those that are not done or failed."""
        for planned in self.runs:
            found = self.record.known(planned)
            if found is not None and "error" not in found:
                yield found

    def failures(self) -> Iterator[tuple[PlannedRun, str]]:
        """Yield the runs that failed, and why."""
        for planned in self.runs:
            found = self.record.known(planned)
            if found is not None and "error" in found:
                yield planned, found["error"]

    def _share(self, parts: int) -> float | None:
        control = self.record.control
        return None if control.remaining is None else control.left / parts

    def _here(self, waiting: Sequence[PlannedRun]) -> Iterator[tuple[PlannedRun, Found]]:
        control = self.record.control
        for k, planned in enumerate(waiting):
            if control.is_over:
                return
            self.record.on_begin(planned.title)
            yield planned, _result(planned.work, self._share(len(waiting) - k))

    def _elsewhere(self, waiting: Sequence[PlannedRun]) -> Iterator[tuple[PlannedRun, Found]]:
        """Do runs in processes, which a common event tells to stop."""
        context, control = get_context("spawn"), self.record.control
        stop = context.Event()
        share = self._share(-(-len(waiting) // self.jobs) or 1)
        pool = ProcessPoolExecutor(self.jobs, context, _watch, (stop,))
        try:
            with interrupts_ignored():  # this process tells the others
                futures = {pool.submit(_result, c.work, share): c for c in waiting}
            pending = set(futures)
            while pending:
                done, pending = wait(pending, POLL_INTERVAL, FIRST_COMPLETED)
                if control.is_over:
                    stop.set()
                    pending = {future for future in pending if not future.cancel()}
                for future in done:
                    self.record.on_begin(futures[future].title)
                    yield futures[future], future.result()
        finally:
            stop.set()
            # their end takes seconds on a busy machine: an answer does not wait for it
            pool.shutdown(wait=not control.is_over, cancel_futures=True)

    def _on_cluster(self, waiting: Sequence[PlannedRun]) -> Iterator[tuple[PlannedRun, Found]]:
        """Do runs on the workers of a cluster."""
        with clusters.running(self.cluster) as client:
            share = self._share(-(-len(waiting) // max(1, sum(client.nthreads().values()))) or 1)
            tasks = [(planned.work, share) for planned in waiting]
            for number, found in clusters.finished(_result, tasks, client):
                self.record.on_begin(waiting[number].title)
                yield waiting[number], found


def _result(run: Callable[[], Found], seconds: float | None) -> Found:
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
