"""Progress of loops: which step of how many is done, and how long the others may take.

A loop counts its steps by :func:`counted`; loops may run within each other. Whoever shows progress
listens within :func:`listening`. Without a listener, a notebook shows one line that is renewed.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, isfinite
from threading import current_thread, main_thread
from typing import TypeVar

from exactlearn._runtime.compilation_notice import clock

T = TypeVar("T")

NOTEBOOK_DELAY = 2.0
"""Seconds before a notebook shows progress."""

NOTEBOOK_PAUSE = 0.5
"""Seconds between two lines of a notebook."""

MIN_SECONDS = 0.5
"""Fewest seconds to go that are told."""

LINE_WIDTH = 100
"""Letters of the line in a notebook."""


@dataclass(eq=False)
class Loop:
    """A loop that runs: what its steps are called, how many there are, and how many are done.

    Examples
    --------
    >>> str(Loop("sample", 20, done=2))
    'sample 3 of 20'
    """

    title: str
    total: int = 0
    done: int = 0
    begun: float = 0.0
    ended: float = 0.0

    def __str__(self) -> str:
        """Return the step that runs, counted from 1."""
        return f"{self.title} {min(self.done + 1, self.total):,} of {self.total:,}"

    @property
    def seconds_left(self) -> float:
        """Seconds that the steps which are left may take, by the mean of those before.

        Infinite before the first is done, and where the others have taken longer already.
        """
        if not self.done:
            return inf
        # The mean of the steps that are done stands for the others.
        mean = (self.ended - self.begun) / self.done
        seconds = mean * self.total - (clock() - self.begun)
        return seconds if seconds > MIN_SECONDS else inf

    def report(self, done: int, total: int) -> None:
        """Count the steps that are done."""
        self.done = done
        self.total = total
        self.ended = clock()
        if done < total:
            tell()


_LOOPS: list[Loop] = []
"""The loops that run in the main thread, the outermost first."""

_LISTENERS: list[Callable[[str], None]] = []
"""Those who show progress; the last one is told."""


def progress_text() -> str:
    """Return the steps of all loops that run, and the time to go; empty without a loop."""
    # The outermost loop that knows tells the time to go.
    loops = [loop for loop in _LOOPS if loop.total > 1]
    text = ", ".join(map(str, loops))
    estimates = [loop.seconds_left for loop in loops]
    seconds = next(filter(isfinite, estimates), inf)
    if seconds == inf:
        return text
    minutes, seconds = divmod(round(seconds), 60)
    return f"{text}, {minutes // 60}:{minutes % 60:02}:{seconds:02} to go"


@contextmanager
def counting(title: str) -> Iterator[Loop]:
    """Provide a loop whose steps are counted by its ``report``; nothing is told of other threads'.

    Parameters
    ----------
    title
        What a step is called.
    """
    loop = Loop(title, begun=clock())
    if current_thread() is not main_thread():
        yield loop
        return
    _LOOPS.append(loop)
    try:
        yield loop
    finally:
        _LOOPS.remove(loop)
        if not _LOOPS:
            NOTEBOOK.erase()


def counted(title: str, steps: Iterable[T], total: int) -> Iterator[T]:
    """Yield the steps of a loop, and count them.

    Parameters
    ----------
    title
        What a step is called.
    steps
        The steps; they may take their time before they are yielded, or after.
    total
        How many they are.

    Examples
    --------
    >>> with listening(print):
    ...     for sample in counted("sample", "ab", 2):
    ...         pass
    sample 1 of 2
    sample 2 of 2
    """
    with counting(title) as loop:
        loop.report(0, total)
        for step in steps:
            yield step
            loop.report(loop.done + 1, total)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Tell a function the progress of the loops in the block."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def tell(state: str = "") -> None:
    """Tell who listens that a loop goes on, or a notebook, which may have a state to show, too."""
    text = progress_text()
    if _LISTENERS and text and current_thread() is main_thread():
        _LISTENERS[-1](text)
    elif not _LISTENERS:
        NOTEBOOK.show("  ".join(filter(None, (text, state))))


@dataclass
class NotebookLine:
    """A line below a cell of a notebook, which is written over and over."""

    begun: float = inf
    shown: float = -inf

    def show(self, text: str) -> None:
        """Show a text, unless the computation has just begun or the last text is new."""
        if "ipykernel" not in sys.modules or current_thread() is not main_thread():
            return
        # A short computation shows nothing, and a long one not too often.
        now = clock()
        self.begun = min(self.begun, now)
        if now - self.begun >= NOTEBOOK_DELAY and now - self.shown >= NOTEBOOK_PAUSE:
            _print(f"\r{text[:LINE_WIDTH]:{LINE_WIDTH}}")
            self.shown = now

    def erase(self) -> None:
        """Remove the line, once the computation has ended."""
        if self.shown > self.begun:
            _print(f"\r{'':{LINE_WIDTH}}\r")
        self.begun = inf
        self.shown = -inf


def _print(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


NOTEBOOK = NotebookLine()
