"""Grids of runs: each run is done once, kept as a line of JSON, and found again by a later call.

A run that the budget cuts short goes on later from its finished parts (`Parts`). The next call
does the other runs first, so that a run larger than the budget does not keep them from being done.
Before a table has its first row, some runs of the first case get a few seconds each, until one is
done, so that a quick method is soon shown.
"""

import inspect
import json
import signal
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from multiprocessing import active_children, get_context
from pathlib import Path
from threading import Event, Thread, get_ident
from time import monotonic, process_time
from types import FrameType
from typing import Any

from experiments.record import NOTHING_KEPT, Parts, Record, Row

GRIDS = Path(__file__).parent / "grids"

FIRST_ATTEMPTS = 7
FIRST_SECONDS = 8.0
"""Runs that may be the first row of a table, and seconds of each: within a minute in all."""

INTERRUPT_INTERVAL = 1.0
"""Seconds between two interrupts of a run that is over."""


@dataclass(frozen=True)
class Run:
    """One repetition of a method in a case.

    Parameters
    ----------
    function
        Name of the function, as ``deletion.parameters``.
    arguments
        Its keyword arguments but ``data``; with the function they identify the run.
    case, pool
        Names of the case and of the pool that the case belongs to.
    data
        Folder of the public data.
    """

    function: str
    arguments: Mapping[str, Any]
    case: str
    pool: str
    data: str

    @property
    def key(self) -> str:
        """What a line of the record is found by."""
        return json.dumps([self.function, self.arguments], sort_keys=True)

    @property
    def title(self) -> str:
        """The case, the repetition's seed and the method."""
        return (
            f"{self.case}, {self.arguments['seed']}: {self.arguments['method']}".rstrip(
                ": "
            )
        )

    def do(self, parts: Parts = NOTHING_KEPT) -> list[Row]:
        """Do the run; return its rows, each with the CPU seconds of the whole unless it has own."""
        module, name = self.function.split(".")
        function: Callable[..., Any] = getattr(
            import_module(f"experiments.{module}"), name
        )
        arguments = {**self.arguments, "data": self.data}
        if "parts" in inspect.signature(function).parameters:
            arguments["parts"] = parts
        begun = process_time()
        result = function(**arguments)
        seconds = process_time() - begun + parts.seconds
        rows = [result] if isinstance(result, dict) else result
        return [{"seconds": seconds, **row} for row in rows]


@dataclass(frozen=True)
class Grid:
    """The runs of a table, and what they are printed beside.

    Parameters
    ----------
    name
        The table's name, as ``deletion-3``.
    content
        The file: ``shows`` (tables and figures), ``run`` (the function), ``repetitions``,
        ``methods``, ``cases`` (each the product of its lists), ``columns`` (with their digits), and
        where wanted ``settings``, ``quick``, ``published``, ``figures``, ``compare``, ``after`` and
        ``notes``.
    """

    name: str
    content: Mapping[str, Any]

    @classmethod
    def read(cls, name: str) -> "Grid":
        """Return the grid of a table."""
        return cls(name, tomllib.loads((GRIDS / f"{name}.toml").read_text("utf-8")))

    @property
    def module(self) -> str:
        """The paper's module."""
        return str(self.content["run"]).split(".")[0]

    def runs(
        self,
        data: str = "",
        *,
        seeds: Sequence[int] = (0,),
        only: str = "",
        methods: Sequence[str] = (),
        full: bool = True,
    ) -> Iterator[Run]:
        """Yield the runs: all of the first repetition, then all of the second.

        Parameters
        ----------
        data
            Folder of the public data.
        seeds
            One for each repetition.
        only
            Part of the names of the cases.
        methods
            Names of methods; all when empty.
        full
            Whether to take cases that take long, which ``quick`` leaves out.
        """
        settings = self.content.get("settings", {})
        quick = self.content.get("quick", {})
        for seed, case in product(seeds, self.content["cases"]):
            axes = {
                k: v for k, v in case.items() if k not in ("methods", "name", "pool")
            }
            kept = {
                k: quick[k] if k in quick and not full else v for k, v in axes.items()
            }
            lists = [v if isinstance(v, list) else [v] for v in kept.values()]
            for values in product(*lists):
                name = case.get("name") or ", ".join(map(str, values))
                for method in case.get("methods", self.content["methods"]):
                    if only in name and (not methods or method in methods):
                        own = dict(zip(kept, values, strict=True))
                        arguments = {**settings, **own, "method": method, "seed": seed}
                        run = self.content["run"]
                        pool = case.get("pool", "")
                        yield Run(run, arguments, name, pool, data)


def grids() -> list[Grid]:
    """Return all grids in the order of their names."""
    return [Grid.read(path.stem) for path in sorted(GRIDS.glob("*.toml"))]


def work(
    runs: Sequence[Run],
    record: Record,
    *,
    jobs: int = 1,
    seconds: float | None = None,
    on_done: Callable[[Run, list[Row]], None] = lambda run, rows: None,
) -> None:
    """Do the runs that are left, for some seconds at most; of a run cut short parts are kept.

    Parameters
    ----------
    runs, record
        What is wanted, and what is done.
    jobs
        Number of processes.
    seconds
        Limit of the whole.
    on_done
        Called with each run that is done, and its rows.

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C; what is done is kept.
    """
    deadline = None if seconds is None else monotonic() + seconds

    def keep(run: Run, result: list[Row] | float | None) -> None:
        """Keep the rows of a run, or after how many seconds it was cut short."""
        if isinstance(result, list):
            record.keep(run, result)
            on_done(run, result)
        elif result is not None:
            record.keep_cut(run, result)

    first = None
    if not any(run.key in record.done for run in runs):
        first = _do_first(record, runs, deadline, keep)
    left = [run for run in record.left(runs) if run != first]
    if jobs == 1:
        for run in left:
            keep(run, attempt(run, deadline, record.parts_path(run)))
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        futures = {
            pool.submit(attempt, run, deadline, record.parts_path(run)): run
            for run in left
        }
        try:
            for future in as_completed(futures):
                keep(futures[future], future.result())
        except KeyboardInterrupt:
            for child in active_children():
                child.terminate()
            raise


def _do_first(
    record: Record,
    runs: Sequence[Run],
    deadline: float | None,
    keep: Callable[[Run, list[Row] | float | None], None],
) -> Run | None:
    """Do a run of the first case in few seconds, for the first row of a table, and return it.

    Quick methods stand last, as those compared with, or else first: these are tried in turn.
    """
    left = record.left(runs)
    first_repetition = [
        run
        for run in left
        if (run.case, run.arguments["seed"])
        == (left[0].case, left[0].arguments["seed"])
    ]
    last = len(first_repetition) - 1
    from_both_ends = sorted(range(last + 1), key=lambda k: (min(k, last - k), -k))
    for k in from_both_ends[:FIRST_ATTEMPTS]:
        run = first_repetition[k]
        end = monotonic() + FIRST_SECONDS
        if deadline is not None:
            end = min(end, deadline)
        result = attempt(run, end, record.parts_path(run))
        keep(run, result)
        if isinstance(result, list):
            return run
    return None


def attempt(
    run: Run, deadline: float | None = None, path: Path | None = None
) -> list[Row] | float | None:
    """Return the rows of a run, or the error in place of them.

    A Ctrl-C raises at once, in searches of the package too, whose half results are no experiment.
    The clock of a machine is the same for all its processes.

    Parameters
    ----------
    run
        What is done.
    deadline
        When the run is cut short, by the monotonic clock.
    path
        The file of its finished parts.

    Returns
    -------
    rows
        For a run that is cut short the seconds that it had; ``None`` for one that begins past the
        deadline.
    """
    seconds = None if deadline is None else deadline - monotonic()
    if seconds is not None and seconds <= 0:
        return None
    with _interrupted_after(seconds):
        try:
            return run.do(Parts(path))
        except FileNotFoundError:  # of public data: no other run would find them
            raise
        except Exception as error:  # of one run: the others go on
            return [{"error": f"{type(error).__name__}: {error}"}]
        except KeyboardInterrupt:
            if deadline is None or monotonic() < deadline:
                raise
            return seconds


@contextmanager
def _interrupted_after(seconds: float | None) -> Iterator[None]:
    """Raise KeyboardInterrupt after some seconds, and again where that is not heard.

    In a callback from compiled code, as while a kernel compiles, Python ignores an exception.
    """
    has_ended = Event()
    main = get_ident()

    def stop(number: int, frame: FrameType | None) -> None:
        if not has_ended.is_set():
            raise KeyboardInterrupt

    def interrupt() -> None:
        is_over = has_ended.wait(seconds)
        while not is_over:
            signal.pthread_kill(main, signal.SIGINT)  # wakes a thread that waits
            is_over = has_ended.wait(INTERRUPT_INTERVAL)

    before = signal.signal(signal.SIGINT, stop)
    if seconds is not None:
        Thread(target=interrupt, daemon=True).start()
    try:
        yield
    finally:
        has_ended.set()
        signal.signal(signal.SIGINT, before)
