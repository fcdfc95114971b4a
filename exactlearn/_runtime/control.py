"""The control of a running search: its clock, the wish to stop it, and what it reports.

Every long computation looks at :attr:`SearchControl.is_over` between two blocks of work, and
returns what it has when the search is over. While a control runs, Ctrl-C sets its wish to stop, and
SIGTERM does, too; a second Ctrl-C raises :class:`KeyboardInterrupt`. In a command, whatever does
not hear a second signal, such as a kernel, is ended by :func:`ended_by_signal`. No other module
touches signals.
"""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from math import inf, isfinite
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any, Literal, NamedTuple, Self

from exactlearn._runtime.compilation_notice import COMPILATIONS, clock
from exactlearn.errors import ExitStatus

LOG = logging.getLogger("exactlearn.search")
"""Says which stages of long computations begin and end (INFO), and what improves (DEBUG).

Stages of a search within another one are at most at DEBUG; its improvements, and those of a search
with a listener, are left to that. Nothing is printed unless the caller configures :mod:`logging`.
"""
logging.getLogger("exactlearn").addHandler(logging.NullHandler())

ENGINE = logging.getLogger("exactlearn.engine")
"""The rounds of the relaxation and the sweeps of the order graph, at DEBUG (``-v -v``)."""

STEADY = 0.4
"""Seconds between two reports of a search that does not improve."""

UNFINISHED: set[Path] = set()
"""Files that are being written, which a process that ends at once removes."""

GRACE = 0.7
"""Seconds that a process has to end by itself after the signal that ends it."""

REPEATED = 0.5
"""Seconds within which several SIGTERM are one: ``timeout`` sends it to a process and its group."""

ROW = "{:>9} {:>10} {:>8} {:>16} {:>16} {:>12}"

HEAD = ROW.format("seconds", "nodes", "open", "incumbent", "bound", "gap")
"""The line above the rows of events."""


class Event(NamedTuple):
    """The state of a running search, reported at each improvement and at a steady rate.

    Attributes
    ----------
    seconds
        Wall time since the start, without that in which kernels were compiled.
    score, bound
        The best score found and the best bound proven so far.
    nodes
        Nodes of the search tree processed so far.
    parents, values
        The best selection so far (``None`` before the first) and its choices.
    open_nodes
        Nodes or states that are still to be processed; 0 where the search has none.

    Examples
    --------
    >>> print(HEAD)
      seconds      nodes     open        incumbent            bound          gap
    >>> print(Event(1.5, -200.0, -199.0, 7, None).row)
          1.5          7        -        -200.0000        -199.0000       1.0000
    """

    seconds: float
    score: float
    bound: float
    nodes: int
    parents: tuple[tuple[int, ...], ...] | None
    values: tuple[int, ...] = ()
    open_nodes: int = 0

    @property
    def gap(self) -> float:
        """Difference of bound and score in nats; infinite while one of them is not known."""
        # The help of a command reports none.
        from exactlearn._runtime.tolerance import gap_between

        return gap_between(self.score, self.bound)

    @property
    def status(self) -> str:
        """The status of the result if the search ended now."""
        return "feasible"

    @property
    def figures(self) -> str:
        """Score, bound and gap in words, as far as they are known."""
        values = {"score": self.score, "bound": self.bound, "gap": self.gap}
        return "  ".join(f"{name} {x:.4f}" for name, x in values.items() if isfinite(x))

    @property
    def row(self) -> str:
        """The event as a row of a table, under :data:`HEAD`."""
        values = map(_shown, (self.score, self.bound, self.gap))
        return ROW.format(
            f"{self.seconds:.1f}",
            self.nodes,
            self.open_nodes or "-",
            *values,
        )


def _shown(value: float) -> str:
    return f"{value:.4f}" if isfinite(value) else "-"


OnEvent = Callable[[Event], None]

Handler = Callable[[int, FrameType | None], Any] | int | None
"""What is done with a signal."""


class SearchControl:
    """The clock, the wish to stop and the reports of a long computation.

    Once a search is over, it stays over. Several threads may look at one control.

    Parameters
    ----------
    time_limit
        Seconds from now, not counting those in which kernels are compiled, or ``None``.
    on_event
        Called with an :class:`Event` at each improvement and at a steady rate; without it, the
        control that this one stands under reports.
    outer
        The control of the search that this one is a part of: it ends no later. A control that runs
        while another one does is stopped with that one.
    checkpoint
        The folder where the states of searches are kept; without it, where the control keeps them
        that this one stands under or runs within.

    Attributes
    ----------
    begun, deadline
        Start and end, by :data:`~exactlearn._runtime.compilation_notice.clock`.
    state
        Returns the state of the search, to be reported.
    trace
        Improvements over time as ``(seconds, score, bound)``.

    Examples
    --------
    >>> control = SearchControl(time_limit=60.0)
    >>> control.is_over
    False
    >>> control.stop()
    >>> control.is_over, control.status
    (True, 'interrupted')
    """

    def __init__(
        self,
        time_limit: float | None = None,
        on_event: OnEvent | None = None,
        *,
        outer: "SearchControl | None" = None,
        checkpoint: Path | None = None,
    ) -> None:
        self.begun = clock()
        self.deadline = inf if time_limit is None else self.begun + time_limit
        if outer is not None:
            self.deadline = min(self.deadline, outer.deadline)
        self.on_event = on_event
        self.outer = outer
        self._checkpoint = checkpoint
        self.state: Callable[[], Event] = lambda: Event(
            self.seconds,
            -inf,
            inf,
            0,
            None,
        )
        self.trace: list[tuple[float, float, float]] = []
        self._reported_at = self.begun
        self._is_stopped = False
        self._has_incumbent = False
        self._enclosing: SearchControl | None = None

    @classmethod
    def within(cls, time_limit: float | None = None) -> Self:
        """Return the control of a part of the search that runs in this thread, if one does."""
        return cls(time_limit, outer=_running.get())

    @property
    def seconds(self) -> float:
        """Wall time since the start, without that in which kernels were compiled."""
        return clock() - self.begun

    @property
    def left(self) -> float:
        """Seconds until the time limit, never negative; infinite without one."""
        return max(0.0, self.deadline - clock())

    @property
    def remaining(self) -> float | None:
        """Seconds until the time limit, never negative; ``None`` without one."""
        return None if self.deadline == inf else self.left

    @property
    def is_stopped(self) -> bool:
        """Whether the search is to stop before its time is up."""
        above = (self.outer, self._enclosing)
        return self._is_stopped or any(c is not None and c.is_stopped for c in above)

    @property
    def is_over(self) -> bool:
        """Whether the search is to end now: the time is up, or it was stopped."""
        return self.is_stopped or clock() >= self.deadline

    @property
    def checkpoint(self) -> Path | None:
        """The folder where the states of searches are kept, if anywhere."""
        above = self.outer or self._enclosing
        return self._checkpoint or (None if above is None else above.checkpoint)

    @property
    def outermost(self) -> "SearchControl":
        """The control of the whole search that this one is a part of, or runs within."""
        above = self.outer or self._enclosing
        return self if above is None else above.outermost

    @property
    def status(self) -> Literal["feasible", "interrupted"]:
        """Status of a search that is over before its proof: ``interrupted`` when it was stopped."""
        return "interrupted" if self.is_stopped else "feasible"

    def stop(self) -> None:
        """Stop the search, in all threads, at their next look at the clock."""
        self._is_stopped = True

    def expire(self) -> None:
        """End the search as its time limit does: where a proof fails that it cannot do without."""
        self.deadline = min(self.deadline, clock())

    def part(self, fraction: float) -> "SearchControl":
        """Return the control of a part of the search, limited to a fraction of the time left."""
        return SearchControl(fraction * self.left, outer=self)

    def aside(self) -> "SearchControl":
        """Return the control of a part of the search in another thread, which reports nothing."""
        return SearchControl(on_event=lambda event: None, outer=self)

    def is_due(self, pause: float) -> bool:
        """Return whether the last report is older than some seconds."""
        return clock() - self._reported_at >= pause

    def record(self) -> None:
        """Report the state, and keep it in the trace if it is new."""
        # Only an improvement is new.
        event = self.state()
        if event.score > -inf and (not self.trace or self.trace[-1][1:] != event[1:3]):
            self.trace.append(event[:3])
            # A listener logs by itself.
            if self.outermost is self and self.on_event is None:
                head = "" if len(self.trace) > 1 else f"{HEAD}\n"
                LOG.debug("%s%s", head, event.row)
        self._report(event)

    def report(self) -> None:
        """Report the state."""
        self._report(self.state())

    def stage(self, text: str, *details: object) -> None:
        """Log that a stage begins or ends.

        Parameters
        ----------
        text, details
            As for :meth:`logging.Logger.info`.
        """
        level = logging.INFO if self.outermost is self else logging.DEBUG
        LOG.log(level, text, *details)

    def look(self) -> None:
        """Report the state if a report is due; called between blocks of work."""
        if self.on_event is None and self.outer is not None:
            self.outer.look()
        elif self.is_due(STEADY):
            self.report()

    def goes_on(self) -> bool:
        """Report if due, and return whether the search goes on; called between blocks of work."""
        self.look()
        return not self.is_over

    def _report(self, event: Event) -> None:
        """Hand an event to the listener: that of this control, or else of one above it."""
        self._reported_at = clock()
        if event.parents is not None:
            self.outermost._has_incumbent = True
        if self.on_event is not None:
            self.on_event(event)
        elif self.outer is not None:
            self.outer._report(event)
        elif self._enclosing is None:
            # The help of a command needs none.
            from exactlearn._runtime.progress import tell

            tell(event.figures)

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Let Ctrl-C stop the search in the block instead of raising; a second one raises.

        Where another handler than Python's own is set, and in other threads than the main one, no
        handler is set.
        """
        # The control that runs already, which may be this one.
        enclosing = _running.get()
        if enclosing is not self:
            self._enclosing = None if enclosing is self.outer else enclosing
        # Within another control, its handler stays: it stops this one as well.
        token = _running.set(self)
        replaced = (signal.default_int_handler,) if enclosing is None else ()
        try:
            with _handling(signal.SIGINT, self._take_interrupt, replaced):
                yield self
        finally:
            _running.reset(token)
            # At the end of the whole search, nothing of it is left to be seen or raised.
            if enclosing is None and _is_main_thread():
                from exactlearn._runtime.progress import NOTEBOOK

                NOTEBOOK.erase()
                _deferred.clear()

    def _take_interrupt(self, number: int, frame: FrameType | None) -> None:
        """Stop the search at the first signal, and raise at the second."""
        if self.is_stopped:
            raise KeyboardInterrupt
        self.stop()
        # Without an incumbent nothing is lost, and the other kernels may take a minute to compile.
        if COMPILATIONS.running and not self.outermost._has_incumbent:
            _defer(number, frame)


_running: ContextVar[SearchControl | None] = ContextVar("running", default=None)
"""The control that runs in this thread."""


def is_interrupted() -> bool:
    """Return whether the search that runs in this thread is to stop."""
    running = _running.get()
    return running is not None and running.is_stopped


UNLIMITED = SearchControl()
"""The control of a computation that nothing ends."""


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def _handling(
    number: int,
    handler: Handler,
    replaced: Collection[Handler],
) -> Iterator[bool]:
    """Handle a signal in the block, and provide whether, where one of some handlers is set.

    In other threads than the main one, nothing changes.
    """
    # Only the main thread may set handlers, and no handler of others is replaced.
    before = signal.getsignal(number)
    if not _is_main_thread() or before not in replaced:
        yield False
        return
    signal.signal(number, handler)
    try:
        yield True
    finally:
        signal.signal(number, before)


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does, so that the incumbent is kept; the second ends the process.

    Where another handler, or none at all, is wanted, and in other threads than the main one,
    nothing changes.
    """
    latest = -inf

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal latest
        is_repeated = monotonic() - latest < REPEATED
        latest = monotonic()
        if is_repeated:
            return
        # What Ctrl-C does here: stop the search, or raise.
        on_interrupt = signal.getsignal(signal.SIGINT)
        control = _running.get()
        if callable(on_interrupt):
            on_interrupt(signal.SIGINT, frame)
        elif control is not None:  # a background job, which ignores Ctrl-C
            control.outermost._take_interrupt(number, frame)
        else:
            raise KeyboardInterrupt

    with (
        _handling(signal.SIGTERM, interrupt, (signal.SIG_DFL,)) as is_taken,
        ended_by_signal(2) if is_taken else nullcontext(),
    ):
        yield


def interrupts_ignored() -> AbstractContextManager[bool]:
    """Ignore Ctrl-C in a block, and for good in the processes that are started in it.

    Outside the main thread, nothing changes.
    """
    return _handling(signal.SIGINT, signal.SIG_IGN, (signal.getsignal(signal.SIGINT),))


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Raise what Ctrl-C would raise in the block, in which kernels compile, once it has ended.

    Python prints an exception that is raised in a callback of a C library, and goes on. Blocks may
    be nested: the innermost one raises. While a control runs, the first Ctrl-C raises here as well,
    in whichever thread compiles, unless there is an incumbent to return.
    """
    try:
        with _handling(signal.SIGINT, _defer, (signal.default_int_handler, _defer)):
            yield
    finally:
        if _deferred:
            if _is_main_thread():  # which hears of it also where another one raises
                _deferred.clear()
            raise KeyboardInterrupt


_deferred: list[int] = []
"""The signals that came in a block that defers them."""


def _defer(number: int, frame: FrameType | None) -> None:
    _deferred.append(number)


@contextmanager
def ended_by_signal(count: int = 1) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the process within a second, with the status of an interrupt.

    Python handles a signal only after a compiled kernel or a call of a library has returned, which
    may take much longer. A second thread receives it at once, and ends the process unless that
    happens otherwise. Outside the main thread, nothing changes.

    Parameters
    ----------
    count
        Which signal ends the process: the first where there is no result to keep.
    """
    if not _is_main_thread():
        yield
        return
    # Python writes the number of each signal into the socket, from which the thread reads.
    ended = threading.Event()
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    watcher = threading.Thread(
        target=_end_after_signal,
        args=(reader, ended, count),
        daemon=True,
    )
    watcher.start()
    try:
        yield
    finally:
        # A closed socket ends the thread.
        ended.set()
        signal.set_wakeup_fd(before)
        writer.close()
        watcher.join()
        reader.close()


def _end_after_signal(
    reader: socket.socket,
    ended: threading.Event,
    count: int,
) -> None:
    """Wait for signals; then end the process unless it ends by itself within the grace period."""
    latest = -inf
    while number := reader.recv(1):
        if number[0] not in (signal.SIGINT, signal.SIGTERM):
            continue
        # Several SIGTERM at once count as one.
        since = monotonic() - latest
        latest = monotonic()
        count -= number[0] == signal.SIGINT or since >= REPEATED
        if count <= 0 and not ended.wait(GRACE):
            # Nothing that would be tidied up at the end of Python is, but for half files.
            for file in list(UNFINISHED):
                file.unlink(missing_ok=True)
            os.write(2, b"Interrupted.\n")
            os._exit(ExitStatus.INTERRUPTED)
