"""Threads and memory that a computation may use; pieces of work on threads, results in order.

Kernels release the interpreter lock, so plain threads use all cores. What comes out does not depend
on the number of threads.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from exactlearn.errors import OptionError

Space = TypeVar("Space")
Outcome = TypeVar("Outcome")

AHEAD = 8
"""Pieces for each thread that are handed out before the first one's result is taken."""


def n_threads(threads: int | None) -> int:
    """Return the number of threads to use: all cores this process may use unless given.

    Raises
    ------
    OptionError
        When the number is less than 1.
    """
    if threads is None:
        if limit := _limit.get():
            return limit
        available = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
        return len(available) or os.cpu_count() or 1
    if threads < 1:
        raise OptionError(f"threads must be at least 1, found {threads}")
    return threads


@contextmanager
def threads_limited(threads: int) -> Iterator[None]:
    """Let functions called in the block, in its thread, use so many threads unless given."""
    token = _limit.set(threads)
    try:
        yield
    finally:
        _limit.reset(token)


_limit: ContextVar[int | None] = ContextVar("threads", default=None)


def in_order(
    work: Callable[[int, Space], Outcome],
    pieces: int,
    space: Callable[[], Space],
    threads: int,
) -> Generator[Outcome, None, None]:
    """Yield what ``work`` returns for the numbers 0 to ``pieces - 1``, in that order.

    Parameters
    ----------
    work
        Called with the number of a piece and a scratch space that no other thread uses meanwhile.
    pieces
        Number of pieces.
    space
        Makes a scratch space; called at most ``threads`` times.
    threads
        Number of threads; with one, everything runs in the caller's.
    """
    threads = min(threads, pieces)
    if threads <= 1:
        own = space()
        for piece in range(pieces):
            yield work(piece, own)
        return
    free: SimpleQueue[Space] = SimpleQueue()
    for _ in range(threads):
        free.put(space())

    def run(piece: int) -> Outcome:
        own = free.get()
        try:
            return work(piece, own)
        finally:
            free.put(own)

    pool = ThreadPoolExecutor(threads)
    running: deque[Future[Outcome]] = deque()
    try:
        for piece in range(pieces):
            running.append(pool.submit(run, piece))
            if len(running) > AHEAD * threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


_GROUP = Path("/sys/fs/cgroup")
"""Where Linux says what a control group, as of a container, may take."""


def available_memory() -> int | None:
    """Return the bytes of memory that are free, where the system tells.

    Examples
    --------
    >>> free = available_memory()
    >>> free is None or free > 0
    True
    """
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None
    try:
        limit, taken = (int((_GROUP / f"memory.{x}").read_text()) for x in ("max", "current"))
    except (OSError, ValueError):  # no group, or one without a limit: "max"
        return free
    return max(1, min(free, limit - taken))
