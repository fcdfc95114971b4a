"""The message while kernels are compiled: a first call may take minutes for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar


@dataclass
class Compilations:
    """Count the kernels that this process compiles.

    Attributes
    ----------
    started
        Kernels whose compilation has begun so far; those read from the disk do not count.
    listener
        Called whenever a compilation begins or ends.
    """

    TEXT: ClassVar = "compiling kernels (first use on this machine)"

    started: int = 0
    listener: Callable[[], None] | None = None
    _running: int = 0

    @property
    def text(self) -> str:
        """What is going on; nothing when no kernel is being compiled."""
        return f"{self.TEXT}: {self.started}" if self._running else ""

    def begin(self) -> None:
        """Count a compilation, inside of that of the kernel that calls this one, if any."""
        self.started += 1
        self._running += 1
        self._report()

    def end(self) -> None:
        """End the compilation that began last."""
        self._running -= 1
        self._report()

    def _report(self) -> None:
        if self.listener is not None:
            self.listener()


COMPILATIONS = Compilations()
