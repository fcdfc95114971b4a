"""What a person sees of a running search, and what a kill of the process leaves on disk."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import inf
from time import monotonic
from typing import Self

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from exactlearn._runtime.control import HEAD, Event
from exactlearn.commands import LOG
from exactlearn.errors import OptionError, TooLargeError
from exactlearn.reporting.description import number, percent

WRITING_SHARE = 0.1
"""Share of the time that writing the incumbent may take."""

RETRY = 5.0
"""Seconds after which an incumbent that could not be written is tried again."""


class ProgressDisplay(AbstractContextManager["ProgressDisplay"]):
    """Show what goes on, and write each better answer as soon as it is found.

    It is shown on standard error: a live line on a terminal, else lines with ``-v``. A full disk or
    a folder that is gone does not end a search: it is reported once, and writing is tried later.

    Parameters
    ----------
    task
        What is going on, in a word or two.
    quiet, verbose
        Show nothing; show every improvement on a line of its own.
    """

    def __init__(self, task: str, *, quiet: bool = False, verbose: bool = False) -> None:
        self._task, self._state = task, ""
        self._quiet, self._verbose = quiet, verbose and not quiet
        self._warned, self._written, self._free_at = False, -inf, -inf
        console = Console(stderr=True, highlight=False, markup=False)
        self._live = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TextColumn("{task.fields[state]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )
        self._line = self._live.add_task(task, total=None, state="")

    def __enter__(self) -> Self:
        """Begin the live line."""
        self._live.start()
        return self

    def __exit__(self, *raised: object) -> None:
        """Remove the live line."""
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Show an event of a running search."""
        values = {
            "score": number(event.score),
            "bound": number(event.bound),
            "gap": percent(event.gap),
        }
        known = "  ".join(f"{name} {value}" for name, value in values.items() if value)
        if not known:
            return
        if not self._state:
            self._say(f"{HEAD}  {self._task}")
        where = f"{event.nodes} nodes" if event.nodes else "at the root"
        self.show(known, event.row, f"{known}  {where}")

    def stage(self, task: str) -> None:
        """Go on to another task, of which nothing is known yet."""
        self._task, self._state = task, ""
        self._live.reset(self._line, total=None, description=task, state="")
        LOG.info(task)
        if self._verbose:
            self._print(f"{task} ...")

    def show(self, state: str, row: str | None = None, live: str | None = None) -> None:
        """Show any other state, such as an iteration's likelihood.

        Where the state is new, a line of its own is the row that is given; the live line may have
        another text.
        """
        self._live.update(self._line, state=live or state)
        if state != self._state:
            self._say(row or f"{self._task}  {state}")
        self._state = state

    def keep(self, score: float, write: Callable[[], object]) -> None:
        """Write an answer if it is better than the one on disk and writing has its turn.

        It takes a small share of the time.

        Parameters
        ----------
        score
            How good it is.
        write
            Makes and writes it; must replace its files in one step each.
        """
        begun = monotonic()
        if score <= self._written or begun < self._free_at:
            return
        try:
            write()
        except (OSError, OptionError, TooLargeError) as error:
            self._free_at = begun + RETRY
            if not self._warned:
                self.warn(f"The best so far is not saved: {error}. The search goes on.")
            self._warned = True
            return
        self._written, ended = score, monotonic()
        self._free_at = ended + (ended - begun) * (1 / WRITING_SHARE - 1)

    def warn(self, text: str) -> None:
        """Print a line of its own, above the live line."""
        LOG.warning(text)
        if not self._quiet:
            self._print(text)

    def _say(self, line: str) -> None:
        LOG.debug("%s", line)
        if self._verbose:
            self._print(line)

    def _print(self, line: str) -> None:
        self._live.console.print(line, soft_wrap=True)
