"""Pieces of work, one after the other, on threads, or on the workers of a Dask cluster.

The results do not depend on which thread or worker computes them, nor when. Kernels release the
interpreter lock, so plain threads use all cores. Dask runs the tasks of a worker that is lost on
another one. A task runs under a :class:`~exactlearn._runtime.control.SearchControl` of its own,
which stops when the client stops it, cancels it or is gone.
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from itertools import islice, pairwise
from math import inf
from operator import methodcaller
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import Any, NamedTuple, TypeVar
from warnings import catch_warnings, filterwarnings

from exactlearn._runtime.argument_kinds import refusal
from exactlearn._runtime.control import SearchControl, interrupts_ignored
from exactlearn.errors import MissingExtraError, OptionError, SolverError

T = TypeVar("T")
Space = TypeVar("Space")
Outcome = TypeVar("Outcome")

CONNECTION_TIMEOUT = 30.0
"""Seconds in which the scheduler of a cluster must answer."""

POLL_INTERVAL = 0.2
"""Seconds between two looks at the control of the search while a cluster computes."""

STOP_TIME = 1.5
"""Seconds in which tasks that are stopped return what they have."""


def n_threads(threads: int | None) -> int:
    """Return the number of threads to use: all cores this process may use unless given."""
    if threads is not None:
        return threads
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    return _limit.get() or len(cores) or os.cpu_count() or 1


_limit: ContextVar[int | None] = ContextVar("threads", default=None)
"""Number of threads of a task that a worker of a cluster does in this thread."""


def in_order(
    work: Callable[[int, Space], Outcome],
    pieces: int,
    space: Callable[[], Space],
    threads: int,
) -> Generator[Outcome, None, None]:
    """Yield the results of ``work`` for the numbers 0 to ``pieces - 1``, in that order.

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
    threads = max(1, min(threads, pieces))
    # Each scratch space is in the hands of one thread at a time.
    free: SimpleQueue[Space] = SimpleQueue()
    for _ in range(threads):
        free.put(space())

    def run(piece: int) -> Outcome:
        scratch = free.get()
        try:
            return work(piece, scratch)
        finally:
            free.put(scratch)

    if threads == 1:
        yield from map(run, range(pieces))
        return
    pool = ThreadPoolExecutor(threads)
    futures = (pool.submit(run, piece) for piece in range(pieces))
    try:
        # Some pieces are handed out before a result is taken, so that no thread waits.
        running = deque(islice(futures, 8 * threads))
        while running:
            yield running.popleft().result()
            running.extend(islice(futures, 1))
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
    free: int | None = None
    # A group without a limit says "max".
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        free = 1024 * int(line.split()[1])
        limit = int((_GROUP / "memory.max").read_text())
        taken = int((_GROUP / "memory.current").read_text())
        free = max(1, min(free, limit - taken))
    return free


@contextmanager
def running(cluster: Any) -> Iterator[Any]:
    """Provide the client of a cluster, none without a cluster; what was started here is closed.

    Parameters
    ----------
    cluster
        ``"local"`` starts a process for each core, ``"local:N"`` N of them; an address names the
        scheduler of a running cluster; a ``distributed.Client`` is used as it is.

    Raises
    ------
    MissingExtraError
        When Dask is not installed.
    OptionError
        When there is no cluster at the address, or the text is neither.
    """
    if not isinstance(cluster, str):
        if cluster is not None and not hasattr(cluster, "scatter"):
            instead = "pass 'local', 'local:2', an address or a distributed.Client"
            raise refusal("cluster", "a cluster", cluster, instead)
        yield cluster
        return
    # A scheduler by its address.
    distributed = dask()
    kind, _, count = cluster.partition(":")
    if kind != "local":
        try:
            client = distributed.Client(cluster, timeout=CONNECTION_TIMEOUT)
        except (OSError, ValueError) as error:
            raise OptionError(
                f"cluster {cluster!r}: no scheduler answers ({error}); expected 'local', 'local:N' "
                "or an address such as tcp://10.0.0.1:8786, which 'dask scheduler' prints"
            ) from error
        with client:
            yield client
        return
    # Processes on this machine.
    if count and not (count.isdecimal() and int(count)):
        raise OptionError(
            f"cluster {cluster!r}: expected a number of workers, as in 'local:2'"
        )
    try:
        # The client looks at its control, and ends the processes, which hear no Ctrl-C.
        with interrupts_ignored():
            processes = distributed.LocalCluster(
                n_workers=int(count or os.cpu_count() or 1),
                threads_per_worker=1,
                dashboard_address=":0",
                # Failures are raised here, but for those of closing.
                silence_logs=logging.CRITICAL + 1,
            )
    except RuntimeError as error:
        raise SolverError(
            f"cluster {cluster!r}: a worker process did not start ({error}): run this again"
        ) from error
    with processes, distributed.Client(processes) as client:
        yield client


def dask() -> Any:
    """Return Dask's module of clusters and their clients, ``distributed``.

    Raises
    ------
    MissingExtraError
        When it is not installed.
    """
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingExtraError(
            "a cluster needs Dask: pip install 'exactlearn[scale]', or leave the cluster out"
        ) from None


def results(
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    client: Any = None,
    control: SearchControl | None = None,
    shared: Sequence[Any] = (),
) -> Iterator[T]:
    """Yield the result of a function for each task, in order, until the search is over.

    Parameters
    ----------
    function
        The function; for a cluster it is of a module that the workers can import.
    tasks
        Its arguments; one of them may be a delayed object of Dask.
    client
        The client of a cluster, if there is one.
    control
        Ends the search; without it, the control that runs in this thread.
    shared
        First arguments of all tasks, which each worker keeps once.
    """
    control = control or SearchControl.within()
    if client is None:
        for task in tasks:
            if control.is_over:
                return
            yield function(*shared, *map(computed, task))
        return
    # Results that came before those of earlier tasks.
    early: dict[int, T] = {}
    following = 0
    ended = finished(function, tasks, client, control, shared, stop_time=0.0)
    for number, result in ended:
        early[number] = result
        while following in early and not control.is_over:
            yield early.pop(following)
            following += 1


class Workers(NamedTuple):
    """The workers of a cluster that do parts of a search.

    Parameters
    ----------
    client
        The client of the cluster; without one, this process does the parts.
    control
        Ends the search.
    """

    client: Any
    control: SearchControl

    @property
    def number(self) -> int:
        """The number of tasks that are computed at once."""
        if self.client is None:
            return 1
        return sum(map(int, self.client.nthreads().values())) or 1

    def pieces(
        self,
        function: Callable[..., T],
        shared: Sequence[Any],
        n_pieces: int,
    ) -> Iterator[T]:
        """Yield the results of a function for the numbers 0 to ``n_pieces - 1``, in order.

        Once the search is over, nothing more is yielded.

        Parameters
        ----------
        function
            Called with the shared arguments and the number of the piece.
        shared
            Its first arguments, which each worker keeps once.
        n_pieces
            Number of pieces; several in a row are one task.
        """
        # Each worker gets some tasks, each of several pieces.
        n_tasks = min(n_pieces, 8 * self.number)
        ends = [n_pieces * k // max(1, n_tasks) for k in range(n_tasks + 1)]
        work = partial(_several, function)
        tasks = [*pairwise(ends)]
        for outcomes in results(work, tasks, self.client, self.control, shared):
            yield from outcomes


def held(client: Any, shared: Sequence[Any]) -> list[Any]:
    """Send objects to a cluster once, as tasks: what a lost worker held is made anew by another."""
    with catch_warnings():
        filterwarnings("ignore", "Sending large graph")  # once, not with each task
        return [client.submit(_same, value, pure=False) for value in shared]


def _same(value: T) -> T:
    """Return the argument: a task that can be computed again."""
    return value


def _several(function: Callable[..., T], *arguments: Any) -> list[T]:
    """Return the results of some pieces, of no further one once the search is over."""
    *shared, start, stop = arguments
    control = SearchControl.within()
    return [
        function(*shared, piece) for piece in range(start, stop) if not control.is_over
    ]


def finished(
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    client: Any,
    control: SearchControl | None = None,
    shared: Sequence[Any] = (),
    stop_time: float = STOP_TIME,
) -> Iterator[tuple[int, T]]:
    """Yield number and result of each task as it ends, and once the search is over of those begun.

    Each task runs under a control that is stopped once the search is over.

    Parameters
    ----------
    function, tasks
        As of :func:`results`.
    client
        The client of a cluster.
    control
        Ends the search; without it, the control that runs in this thread.
    shared
        First arguments of all tasks, which each worker keeps once.
    stop_time
        Seconds that tasks which are stopped have to return what they have.

    Raises
    ------
    SolverError
        When workers that ran a task were lost again and again, or the scheduler was.
    """
    control = control or SearchControl.within()
    distributed = dask()
    # The event tells the tasks that the search is over.
    stop = distributed.Event(client=client)
    kept = held(client, shared)
    repeated: set[int] = set()
    deadline = inf

    def submitted(number: int, first: Sequence[Any]) -> Any:
        arguments = map(partial(_sent, client), (*first, *tasks[number]))
        return client.submit(
            _unless_stopped,
            function,
            stop.name,
            *arguments,
            pure=False,
        )

    pending = {submitted(number, kept): number for number in range(len(tasks))}
    try:
        while pending and monotonic() < deadline:
            # Once the search is over, tasks have little time to return what they have.
            if control.is_over and deadline == inf:
                deadline = monotonic() + stop_time
                stop.set()
            # Each future says itself what has become of it.
            with suppress(TimeoutError, distributed.CancelledError):
                distributed.wait([*pending], POLL_INTERVAL, "FIRST_COMPLETED")
            for future in [*filter(methodcaller("done"), pending)]:
                number = pending.pop(future)
                is_lost = future.cancelled() and client.status == "running"
                if is_lost and number not in repeated:
                    # The shared arguments may have been lost with a worker, too.
                    repeated.add(number)
                    pending[submitted(number, shared)] = number
                    continue
                for result in _result(future):
                    yield number, result
    finally:
        client.cancel([*pending])


def _sent(client: Any, argument: Any) -> Any:
    """Return a delayed object as a task of a cluster, and anything else as it is."""
    return client.compute(argument) if _is_delayed(argument) else argument


def _result(future: Any) -> Any:
    """Return the result of a task that has ended; raise what it raised."""
    distributed = dask()
    try:
        return future.result()
    except (distributed.CancelledError, distributed.KilledWorker) as error:
        raise SolverError(
            "the scheduler of the cluster is gone, all workers at once, or several one after the "
            f"other ({error}): give them more memory or smaller blocks, and run this again"
        ) from error


def _unless_stopped(
    function: Callable[..., T],
    stop: str,
    *arguments: Any,
) -> tuple[T, ...]:
    """Return the result of a task in a tuple, which is empty where the search is over already.

    It is computed by a worker under a control that its client stops.
    """
    distributed = dask()
    # A task that begins after the end of the search does nothing.
    event = distributed.Event(stop, client=distributed.get_client())
    if event.is_set():
        return ()
    # The others are stopped by a thread that looks at the event, and at the worker's list of tasks.
    worker = distributed.get_worker()
    ended = Event()
    key = worker.get_current_task()

    def watch() -> None:
        while not ended.wait(POLL_INTERVAL):
            task = worker.state.tasks.get(key)
            if task is None or task.state != "executing" or event.is_set():
                control.stop()
                return

    _limit.set(worker.state.nthreads)
    with SearchControl().running() as control:
        Thread(target=watch, daemon=True).start()
        try:
            return (function(*arguments),)
        finally:
            ended.set()


def computed(argument: Any) -> Any:
    """Return the value of a delayed object, and anything else as it is."""
    if _is_delayed(argument):
        return argument.compute(scheduler="synchronous")
    return argument


def _is_delayed(argument: Any) -> bool:
    return hasattr(argument, "__dask_graph__")
