"""Tasks run one after the other in this process, or on the workers of a Dask cluster.

The results of a cluster come back in the order of the tasks, so that they do not depend on it. Dask
runs the tasks of a worker that is lost on another one.
"""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TypeVar

from exactlearn._runtime.control import SearchControl, interrupts_ignored
from exactlearn.errors import MissingExtraError, OptionError

T = TypeVar("T")

GROUP_SIZE = 8
"""Results that a worker combines into one before it is sent."""

CONNECTION_TIMEOUT = 30.0
"""Seconds in which the scheduler of a cluster must answer."""

POLL_INTERVAL = 0.2
"""Seconds between two looks at the control of the search while a cluster computes."""


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
        yield cluster
        return
    distributed, (kind, _, count) = dask("distributed"), cluster.partition(":")
    if kind != "local":
        with _connected(distributed, cluster) as client:
            yield client
        return
    if count and not (count.isdecimal() and int(count)):
        raise OptionError(f"cluster {cluster!r}: expected a number of workers, as in 'local:2'")
    workers = int(count or os.cpu_count() or 1)
    with interrupts_ignored():  # the client looks at its control, and ends the processes
        processes = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        )
    with processes, distributed.Client(processes) as client:
        yield client


def _connected(distributed: Any, address: str) -> Any:
    """Return a client of the scheduler at an address."""
    try:
        return distributed.Client(address, timeout=CONNECTION_TIMEOUT)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"cluster {address!r}: no scheduler answers ({error}); expected 'local', 'local:N' or "
            "an address such as tcp://10.0.0.1:8786, which 'dask scheduler' prints"
        ) from error


def dask(name: str = "dask") -> Any:
    """Return a module of Dask.

    Raises
    ------
    MissingExtraError
        When it is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(
            "a cluster needs Dask: pip install 'exactlearn[scale]', or leave the cluster out"
        ) from None


def results(
    function: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    combine: Callable[[Sequence[T]], T],
    client: Any = None,
) -> Iterator[T]:
    """Yield what a function returns for each task, in order, until the search is over.

    Parameters
    ----------
    function
        What to compute; for a cluster it is of a module that the workers can import.
    tasks
        Its arguments; one of them may be a delayed object of Dask.
    combine
        Makes one result of several in a row, which a cluster does before it sends them.
    client
        The client of a cluster, if there is one.
    """
    control = SearchControl.within()
    if client is None:
        for task in tasks:
            if control.is_over:
                return
            yield function(*(computed(argument) for argument in task))
        return
    delayed, wait = dask().delayed, dask("distributed").wait
    singles = [delayed(function, pure=False)(*task) for task in tasks]
    starts = range(0, len(singles), GROUP_SIZE)
    groups = [delayed(combine, pure=False)(singles[k : k + GROUP_SIZE]) for k in starts]
    futures = client.compute(groups if len(tasks) > 2 * GROUP_SIZE else singles)
    try:
        while futures:
            while not futures[0].done():
                if control.is_over:
                    return
                with suppress(TimeoutError):
                    wait(futures[0], timeout=POLL_INTERVAL)
            yield futures.pop(0).result()
    finally:
        client.cancel(futures)


def computed(argument: Any) -> Any:
    """Return what a delayed object stands for, and anything else as it is."""
    is_delayed = hasattr(argument, "__dask_graph__")
    return argument.compute(scheduler="synchronous") if is_delayed else argument
