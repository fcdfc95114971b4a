"""The message while kernels are compiled, which takes a first call up to a minute, and a clock.

The clock stands still while kernels are compiled, so that no time limit is spent on that.
"""

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

LOG = logging.getLogger("exactlearn.compilation")


NOTE = "Compiling the numerical kernels that this needs, once per environment: up to a minute"


def announce(note: str) -> None:
    """Say it in the log, or to who watches a terminal or notebook.

    ``logging.getLogger("exactlearn").setLevel("ERROR")`` silences it.
    """
    if LOG.isEnabledFor(logging.INFO):
        LOG.info(note)
    elif LOG.isEnabledFor(logging.WARNING) and _is_watched():
        print(note, file=sys.stderr)


@dataclass
class Compilations:
    """Count the kernels that this process compiles.

    Attributes
    ----------
    started
        Kernels whose compilation has begun so far; those read from the disk do not count.
    announce
        Called with :data:`NOTE` when the first compilation begins.
    running
        Compilations that have begun and not ended, one inside the other.
    remark
        The end of the message: where compiled kernels cannot be kept.
    """

    started: int = 0
    announce: Callable[[str], None] = announce
    running: int = 0
    remark: str = ""
    _since: float = 0.0
    _seconds: float = 0.0

    def begin(self) -> None:
        """Count a compilation, inside of that of the kernel that calls this one, if any."""
        self.started += 1
        if not self.running:
            self._since = monotonic()
        self.running += 1
        if self.started == 1:
            self.announce(NOTE + self.remark)

    def end(self) -> None:
        """End the compilation that began last."""
        # Only the outermost compilation counts, in which the others lie.
        if self.running == 1:
            self._seconds += (
                monotonic() - self._since
            )  # before the clock goes on, in any thread
        self.running -= 1

    def clock(self) -> float:
        """Return the seconds of a monotonic clock that stands still while kernels are compiled."""
        return (self._since if self.running else monotonic()) - self._seconds


def _is_watched() -> bool:
    """Return whether a person sees standard error; processes of a pool leave it to the first."""
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    from multiprocessing import (
        parent_process,
    )  # the help of a command imports next to nothing

    return parent_process() is None and (on_terminal or "ipykernel" in sys.modules)


COMPILATIONS = Compilations()

clock = COMPILATIONS.clock
