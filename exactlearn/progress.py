"""What a person sees of a running search, and what a kill of the process leaves on disk."""

from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import Self

import click
from rich.console import Console
from rich.status import Status

from exactlearn.report import number, percent
from exactlearn.solvers.result import Event

WRITING_SHARE = 0.1
"""Share of the time that writing the incumbent may take."""


class Incumbent:
    """Write each better selection as soon as it is reported, but not all the time.

    Parameters
    ----------
    write
        Writes one selection; must replace its files in one step each.
    """

    def __init__(self, write: Callable[[Event], None]) -> None:
        self._write = write
        self._written = -float("inf")
        self._free_at = -float("inf")

    def __call__(self, event: Event) -> None:
        """Write the selection if it is better than the one on disk and writing has its turn."""
        begun = monotonic()
        if event.parents is None or event.score <= self._written or begun < self._free_at:
            return
        self._write(event)
        self._written = event.score
        ended = monotonic()
        self._free_at = ended + (ended - begun) * (1 / WRITING_SHARE - 1)


class Narration:
    """Show score, bound and gap on standard error: a live line on a terminal, else with ``-v``.

    Parameters
    ----------
    task
        What is going on, in a word or two.
    quiet, verbose
        Show nothing; show every improvement on a line of its own.
    """

    def __init__(self, task: str, *, quiet: bool = False, verbose: bool = False) -> None:
        self._task = task
        self._verbose = verbose and not quiet
        self._told = ""
        console = Console(stderr=True, highlight=False, markup=False)
        self._status: Status | None = None
        if console.is_terminal and not quiet:
            self._status = console.status(f"{task} …")

    def __enter__(self) -> Self:
        """Begin the live line."""
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the live line."""
        if self._status is not None:
            self._status.stop()

    def __call__(self, event: Event) -> None:
        """Show an event of a running search."""
        told = {"score": number(event.score), "bound": number(event.bound)}
        if event.parents is not None:
            gap = max(0.0, event.bound - event.score) / max(abs(event.score), 1e-9)
            told["gap"] = percent(gap)
        known = "  ".join(f"{name} {value}" for name, value in told.items() if value)
        self.tell(known, f"{event.seconds:.1f} s  {event.nodes} nodes")

    def tell(self, told: str, clock: str = "") -> None:
        """Show any other state, such as an iteration's likelihood."""
        if self._status is not None:
            self._status.update(f"{self._task}  {told}  {clock}")
        if self._verbose and told != self._told:
            click.echo(f"{self._task}  {told}  {clock}", err=True)
        self._told = told
