"""Studies: each run is done once, and kept in a file that a later call resumes.

A record is a JSON file: experiment, then repetition, then method, each with what the run gave.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn._runtime.files import atomic_write
from exactlearn._runtime.json_file import read_json, strict
from exactlearn.errors import ExactlearnError, FormatError

Runs = dict[str, dict[str, Any]]
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
        Once it is over no run begins, and one that has begun is not kept.
    left
        Experiment, repetition and method of the runs that were asked for since then.
    """

    path: Path | None
    on_begin: Callable[[str], None]
    done: Done = field(default_factory=dict)
    control: SearchControl = UNLIMITED
    left: list[tuple[str, str, str]] = field(default_factory=list)

    @classmethod
    def open(
        cls,
        path: Path | None,
        on_begin: Callable[[str], None],
        control: SearchControl = UNLIMITED,
    ) -> "Record":
        """Return a record with the runs in its file, if there is one.

        Raises
        ------
        FormatError
            When the file is not a record.
        """
        if path is None or not path.exists():
            return cls(path, on_begin, control=control)
        try:
            found = read_json(path)
        except FormatError as error:
            raise FormatError(f"{error}; this is no record of repetitions") from error
        if not isinstance(found, dict):
            raise FormatError(f"{path}: no record of repetitions; name another folder")
        return cls(path, on_begin, found, control)

    def once(
        self,
        experiment: str,
        repetition: str,
        method: str,
        run: Callable[[], dict[str, Any]],
        learning: str = "",
    ) -> dict[str, Any] | None:
        """Return the result of a run, which is done now unless it was done before.

        Nothing is returned once the control is over: half a search is not kept. Studies go on
        asking for their other runs, so that all that is left is known.

        Parameters
        ----------
        experiment, repetition, method
            Which run.
        run
            Does it.
        learning
            Settings that the result depends on; a run with other settings is done again.
        """
        runs = self.done.get(experiment, {}).get(repetition, {})
        if method not in runs or runs[method].get("learning") != learning:
            found = None
            if not self.control.is_over:
                self.on_begin(f"{experiment}, {repetition}: {method}")
                try:
                    found = run()
                except ExactlearnError:  # perhaps no model in the time that was left
                    if not self.control.is_over:
                        raise
            if found is None or self.control.is_over:
                self.left.append((experiment, repetition, method))
                return None
            runs = self.done.setdefault(experiment, {}).setdefault(repetition, {})
            runs[method] = strict(found) | {"learning": learning}
            if self.path is not None:
                atomic_write(self.path, json.dumps(self.done, allow_nan=False) + "\n")
        return runs[method]
