"""Where an answer goes: one JSON object or its description on standard output, notes beside it.

While a search runs, standard error shows its state, and each better answer is written.
"""

import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar, Self

import click

from exactlearn._runtime.control import HEAD, Event, SearchControl
from exactlearn._runtime.files import atomic_write, json_text, suffix_of
from exactlearn.commands import LOG
from exactlearn.commands.declare import Declared, option
from exactlearn.commands.provenance import signed
from exactlearn.errors import (
    ExactlearnError,
    ExitStatus,
    OptionError,
    TooLargeError,
    printable,
    shortened,
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of a command, which neither prints, nor writes it, nor exits by itself.

    Parameters
    ----------
    record
        What ``--json`` prints; empty where there is nothing to print.
    shown
        The part of the record, or the text, that is described to people in place of it.
    writers
        Write the files of the answer; each is called, also where another one fails.
    status
        How the search ended.
    remarks
        Lines for standard error, after the answer.
    exit_status
        In place of the one that follows from the status.
    failure
        An error to report once the answer is printed: that of the first file that was not written,
        or a finding of the command.
    """

    record: Mapping[str, Any]
    shown: Mapping[str, Any] | str | None = None
    writers: Sequence[Callable[[], object]] = ()
    status: str = "done"
    remarks: Sequence[str] = ()
    exit_status: int = -1
    failure: Exception | None = None

    def __post_init__(self) -> None:
        """Let the exit status follow from the status unless it is given."""
        if self.exit_status < 0:
            object.__setattr__(self, "exit_status", ExitStatus.of(self.status))


def worst(*statuses: str) -> str:
    """Return the status of several searches together: interrupted, feasible or else the first."""
    return next(
        (end for end in ("interrupted", "feasible") if end in statuses), statuses[0]
    )


class Output(Declared):
    """The form and the place of an answer.

    Parameters
    ----------
    path
        File or folder to write; the suffix decides the format.
    as_json
        Print exactly one JSON object.
    quiet
        Print results only.
    verbose
        Report every improvement; twice, the rounds of the engine, too.
    debug
        Show the traceback of an error.
    overwrite
        Let a file that is written replace one that is read.
    """

    groups: ClassVar = {"Output": "*"}

    path: Path | None = option(None, flags=("--output", "-o"))
    as_json: bool = option(False, flags=("--json",))
    quiet: bool = option(False, flags=("--quiet", "-q"))
    verbose: int = option(0, flags=("--verbose", "-v"), counted=True)
    debug: bool = option(False, hidden=True)
    overwrite: bool = option(False, hidden=True)

    def written(self, answer: Answer) -> Answer:
        """Return an answer once its files are written, with the first error of that, if any.

        Ctrl-C loses none of them: the command ends as interrupted when they are written.
        """
        failures: list[Exception] = []
        with SearchControl().running() as control:
            for write in answer.writers:
                try:
                    write()
                except (ExactlearnError, OSError) as error:
                    failures.append(error)
        if control.is_stopped:
            answer = replace(answer, exit_status=ExitStatus.INTERRUPTED)
        return replace(answer, writers=(), failure=next(iter(failures), answer.failure))

    def answer(self, answer: Answer) -> int:
        """Print an answer, as JSON or described; return the exit status.

        Raises
        ------
        ExactlearnError, OSError
            The failure of the answer, once it is printed.
        """
        if self.as_json and answer.record:
            click.echo(json_text(signed(answer.record)))
        if not self.as_json:
            self.show(answer.record if answer.shown is None else answer.shown)
        for remark in answer.remarks:
            self.note(remark)
        if answer.failure is not None:
            raise answer.failure
        return answer.exit_status

    def show(self, content: Mapping[str, Any] | str) -> None:
        """Print a text, or the description of a record."""
        if isinstance(content, str):
            click.echo(printable(content), nl=bool(content))
        else:
            from exactlearn.reporting.terminal import show

            show(content)

    def note(self, text: str, level: int = logging.INFO) -> None:
        """Print a line on standard error, unless quiet; details only when verbose."""
        LOG.log(level, "%s", text)
        if not self.quiet and (self.verbose or level > logging.DEBUG):
            # Not by click, which writes past a live line.
            sys.stderr.write(f"{printable(shortened(text))}\n")

    def detail(self, text: str) -> None:
        """Print a line on standard error when verbose."""
        self.note(text, logging.DEBUG)

    def progress_display(self, task: str) -> "ProgressDisplay":
        """Return the display of a task, as quiet or verbose as this."""
        return ProgressDisplay(task, self)

    def wrote(self, path: Path) -> None:
        """Print where a result lies."""
        self.note(f"Wrote {path}")

    def wrote_table(self, path: Path, beside: Path | None) -> None:
        """Print where a table lies, and the file beside it that lists its states."""
        states = (
            "" if beside is None else f", and its states to {beside.name} beside it"
        )
        self.note(f"Wrote {path}{states}")

    @property
    def folder(self) -> Path | None:
        """The folder to write into, if one is wanted."""
        return self.path if self.path is not None and is_folder(self.path) else None

    def save(
        self,
        record: Mapping[str, Any],
        name: str = "result.json",
        write: Callable[[Path], object] | None = None,
        **answer: Any,
    ) -> Answer:
        """Return the answer that writes its record, into a folder by a name.

        Parameters
        ----------
        record
            The record.
        name
            Its name in a folder.
        write
            Writes another form of the answer in place of the record.
        answer
            Other fields of the answer.
        """
        path = self.path
        if path is None:
            return Answer(record=record, **answer)
        file = path if self.folder is None else path / name

        def write_file() -> None:
            if write is None:
                write_json(record, file)
            else:
                write(file)
            self.wrote(path)

        return Answer(record=record, writers=[write_file], **answer)


WRITING_SHARE = 0.1
"""Share of the time that writing the incumbent may take."""

LATE = 1.0
"""Seconds after the time limit in which EM for what is written may still end."""

COUNT_PAUSE = 1.0
"""Seconds between two lines that say which step of a loop runs."""

RETRY = 5.0
"""Seconds after which an incumbent that could not be written is tried again."""


class _Loops:
    """The loops that run: as text, they are those of the moment."""

    def __str__(self) -> str:
        """Return the step, the number of steps and the time to go."""
        from exactlearn._runtime.progress import progress_text

        return progress_text()


class ProgressDisplay(AbstractContextManager["ProgressDisplay"]):
    """The display of a running task, which writes each better answer as soon as it is found.

    It is shown on standard error: a live line on a terminal, else lines with ``-v``. Of a loop,
    such as over bootstrap samples, it shows the step, the number of steps and the time to go. A
    full disk or a folder that is gone does not end a search: it is reported once, and writing is
    tried later.

    Parameters
    ----------
    task
        The task in a word or two.
    output
        How much is shown, and the file to write.
    """

    def __init__(self, task: str, output: Output) -> None:
        from rich.console import Console  # takes long to import
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.table import Column

        from exactlearn._runtime.progress import listening

        self._task = task
        self._state = ""
        self._output = output
        self._warned = False
        self._written = -inf
        self._free_at = -inf
        self._listening = listening(self._count)
        self._counted_at = monotonic()
        # One line: task, steps of loops, state and time; gone when the task is done.
        console = Console(stderr=True, highlight=False, markup=False)
        self._live = Progress(
            SpinnerColumn(),
            *(
                # a narrow terminal wraps them
                TextColumn(
                    f"{{task.{text}}}",
                    markup=False,
                    table_column=Column(overflow="fold"),
                )
                for text in ("description", "fields[loops]", "fields[state]")
            ),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=output.quiet or not console.is_terminal,
        )
        self._line = self._live.add_task(task, total=None, state="", loops=_Loops())

    def __enter__(self) -> Self:
        """Begin the live line."""
        self._live.start()
        self._listening.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        """Remove the live line."""
        self._listening.__exit__(None, None, None)
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Show an event of a running search."""
        figures = event.figures
        if not figures:
            return
        if not self._state:
            self._output.detail(f"{HEAD}  {self._task}")
        place = f"{event.nodes} nodes" if event.nodes else "at the root"
        self.show(figures, event.row, f"{figures}  {place}")

    def stage(self, task: str) -> None:
        """Go on to another task, of which nothing is known yet."""
        self._task = task
        self._state = ""
        self._live.reset(
            self._line, total=None, description=task, state="", loops=_Loops()
        )
        self._output.detail(f"{task} ...")

    def show(self, state: str, row: str | None = None, live: str | None = None) -> None:
        """Show any other state, such as an iteration's likelihood.

        Where the state is new, a line of its own is the row that is given; the live line may have
        another text.
        """
        self._live.update(self._line, state=live or state)
        if state != self._state:
            self._output.detail(row or f"{self._task}  {state}")
        self._state = state

    def _count(self, loops: str) -> None:
        """Print the steps of loops now and then, where verbose; the live line has them always."""
        if monotonic() >= self._counted_at + COUNT_PAUSE:
            self._output.detail(f"{self._task}  {loops}")
            self._counted_at = monotonic()

    def keep(self, score: float, write: Callable[[Path], object]) -> None:
        """Write an answer, where one is wanted that is better than the one on disk.

        It takes a small share of the time.

        Parameters
        ----------
        score
            How good it is.
        write
            Makes and writes it; must replace its files in one step each.
        """
        # Nothing to write, or not yet: writing takes its share of the time.
        begun = monotonic()
        path = self._output.path
        if path is None or score <= self._written or begun < self._free_at:
            return
        try:
            write(path)
        except (OSError, OptionError, TooLargeError) as error:
            self._free_at = begun + RETRY
            if not self._warned:
                self.warn(f"The best so far is not saved: {error}. The search goes on.")
            self._warned = True
            return
        # A second of writing is paid for by nine of search.
        self._written = score
        ended = monotonic()
        self._free_at = ended + (ended - begun) * (1 / WRITING_SHARE - 1)

    def warn(self, text: str) -> None:
        """Print a line of its own, above the live line."""
        self._output.note(text, logging.WARNING)


def is_folder(path: Path) -> bool:
    """Return whether a path means a folder: it is one, or has no suffix."""
    return path.is_dir() or (suffix_of(path) == "" and not path.exists())


def require_suffix(
    path: Path | None, suffixes: Sequence[str], option: str = "--output"
) -> None:
    """Refuse, before any work is done, a file whose suffix says no known format."""
    if path is None:
        return
    if suffix_of(path) in suffixes:
        require_parent(path, option)
        return
    raise OptionError(
        f"{option} {path}: expected a file name ending in {', '.join(suffixes)} "
        f"(.gz may follow), found '{suffix_of(path)}'"
    )


def require_parent(path: Path, option: str = "--output") -> None:
    """Refuse, before any work is done, a file that is a folder, or in one that does not exist."""
    require_file(path, option)
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise OptionError(
            f"{option} {path}: there is no folder {folder}; make it first"
        )


def require_file(path: Path, option: str = "--output") -> None:
    """Refuse a folder in the place of a file."""
    if path.is_dir():
        raise OptionError(
            f"{option} {path}: expected a file, found a folder; name a file in it"
        )


def write_json(record: Mapping[str, Any], path: Path) -> None:
    """Write a record as one JSON object, with what it was made by."""
    atomic_write(path, json_text(signed(record), indent=2) + "\n")
