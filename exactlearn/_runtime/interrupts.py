"""Ctrl-C and SIGTERM, wherever they arrive."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from exactlearn.errors import ExitStatus

UNFINISHED: set[Path] = set()
"""Files that are being written, which a process that ends at once removes."""

GRACE = 0.7
"""Seconds that a command without anything to keep gets to end by itself after a signal."""


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Let SIGTERM, once, do what Ctrl-C does, so that the incumbent is kept.

    A second one ends the process. Where another handler, or none at all, is wanted, and in other
    threads than the main one, nothing changes.
    """
    usual = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        on_interrupt = signal.getsignal(signal.SIGINT)
        if callable(on_interrupt):
            on_interrupt(signal.SIGINT, frame)
        else:  # a background job of a script, which Ctrl-C is not for
            raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def stopped_by_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` at Ctrl-C instead of raising: foreign code cannot be left by an exception.

    Where another handler than Python's own is set, and in other threads than the main one, nothing
    changes.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        stop()

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the process within a second, with the status of an interrupt.

    Python hears a signal only when a compiled kernel has returned, which may take much longer. A
    thread of its own hears it at once, and ends the process where nothing else does. Only for what
    has no result to keep; in other threads than the main one, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ended = threading.Event()
    hear, tell = socket.socketpair()
    tell.setblocking(False)
    before = signal.set_wakeup_fd(tell.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(target=_end_after_signal, args=(hear, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        tell.close()
        watcher.join()
        hear.close()


def _end_after_signal(hear: socket.socket, ended: threading.Event) -> None:
    """Wait for a signal's number; then end the process unless that happens by itself."""
    while number := hear.recv(1):
        if number[0] in (signal.SIGINT, signal.SIGTERM) and not ended.wait(GRACE):
            for file in list(UNFINISHED):
                file.unlink(missing_ok=True)
            os.write(2, b"Interrupted.\n")
            os._exit(ExitStatus.INTERRUPTED)
