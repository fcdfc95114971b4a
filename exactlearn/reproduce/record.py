"""What is done of repeated experiments, kept in a file: nothing is done twice."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from exactlearn._runtime.files import atomic_write
from exactlearn._runtime.interrupts import interruptible
from exactlearn.errors import FormatError
from exactlearn.formats.json_file import read_json
from exactlearn.reporting.report import strict

Runs = dict[str, dict[str, Any]]
"""Method to what one repetition gave: accuracy, log-loss, status, seconds ..."""

Done = dict[str, dict[str, Runs]]
"""Experiment and repetition to what its methods gave."""


def read_record(path: Path | None) -> Done:
    """Return what is done; nothing where there is no file.

    Raises
    ------
    FormatError
        When the file is not a record.
    """
    if path is None or not path.exists():
        return {}
    try:
        found = read_json(path)
    except FormatError as error:
        raise FormatError(f"{error}; this is no record of repetitions") from error
    if not isinstance(found, dict):
        raise FormatError(f"{path}: no record of repetitions; name another folder")
    return found


def write_record(path: Path | None, done: Done) -> None:
    """Write what is done, if there is a file for it."""
    if path is not None:
        atomic_write(path, json.dumps(done, allow_nan=False) + "\n")


class _Stoppable(Protocol):
    @property
    def finished(self) -> bool: ...


Search = TypeVar("Search", bound=_Stoppable)


def finished(found: Search) -> Search:
    """Return what a search found, unless it was interrupted: half a search is not to be kept.

    Raises
    ------
    KeyboardInterrupt
        When it was.
    """
    if not found.finished:
        raise KeyboardInterrupt
    return found


@dataclass
class Record:
    """What is done, and the file that each run is added to.

    Parameters
    ----------
    path
        The file; without it nothing is kept.
    tell
        Told what begins.
    done
        What is done.
    """

    path: Path | None
    tell: Callable[[str], None]
    done: Done = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path | None, tell: Callable[[str], None]) -> "Record":
        """Return a record with what its file holds."""
        return cls(path, tell, read_record(path))

    def once(
        self,
        experiment: str,
        repetition: str,
        method: str,
        run: Callable[[], dict[str, Any]],
        learning: str = "",
    ) -> dict[str, Any]:
        """Return what a run gave, now or when it was done before.

        Parameters
        ----------
        experiment, repetition, method
            Which run.
        run
            Does it.
        learning
            What the answer depends on beside these: what was done with another one is done again.
        """
        runs = self.done.setdefault(experiment, {}).setdefault(repetition, {})
        if method not in runs or runs[method].get("learning") != learning:
            self.tell(f"{experiment}, {repetition}: {method}")
            with interruptible():
                runs[method] = strict(run()) | {"learning": learning}
            write_record(self.path, self.done)
        return runs[method]
