"""Grids of runs: each run is done once, kept as a line of JSON, and found again by a later call."""

import json
import signal
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import product
from multiprocessing import active_children, get_context
from pathlib import Path
from threading import TIMEOUT_MAX, Timer, get_ident
from time import monotonic, process_time
from types import FrameType
from typing import Any

GRIDS = Path(__file__).parent / "grids"

Row = dict[str, Any]
"""What a run found: numbers by their names; a ``label`` tells several rows of a run apart."""


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

    def do(self) -> list[Row]:
        """Do the run; return its rows, each with the CPU seconds of the whole unless it has own."""
        module, name = self.function.split(".")
        function: Callable[..., Any] = getattr(import_module(f"experiments.{module}"), name)
        begun = process_time()
        found = function(**self.arguments, data=self.data)
        seconds = process_time() - begun
        return [
            {"seconds": seconds, **row} for row in ([found] if isinstance(found, dict) else found)
        ]


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
        settings, quick = self.content.get("settings", {}), self.content.get("quick", {})
        for seed, case in product(seeds, self.content["cases"]):
            axes = {k: v for k, v in case.items() if k not in ("methods", "name", "pool")}
            kept = {k: quick[k] if k in quick and not full else v for k, v in axes.items()}
            lists = [v if isinstance(v, list) else [v] for v in kept.values()]
            for values in product(*lists):
                name = case.get("name") or ", ".join(map(str, values))
                for method in case.get("methods", self.content["methods"]):
                    if only in name and (not methods or method in methods):
                        own = dict(zip(kept, values, strict=True))
                        arguments = {**settings, **own, "method": method, "seed": seed}
                        run, pool = self.content["run"], case.get("pool", "")
                        yield Run(run, arguments, name, pool, data)


def grids() -> list[Grid]:
    """Return all grids in the order of their names."""
    return [Grid.read(path.stem) for path in sorted(GRIDS.glob("*.toml"))]


@dataclass
class Record:
    """The runs that are done, in a file of JSON lines where one is given."""

    path: Path | None = None
    done: dict[str, list[Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the file; a line that a kill cut short is removed."""
        if self.path is not None and self.path.exists():
            text = self.path.read_text("utf-8")
            whole = text[: text.rfind("\n") + 1]
            if whole != text:
                self.path.write_text(whole, "utf-8")
            for line in map(json.loads, whole.splitlines()):
                self.done[line["run"]] = line["rows"]

    def keep(self, run: Run, rows: list[Row]) -> None:
        """Keep the rows of a run."""
        self.done[run.key] = rows
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"run": run.key, "rows": rows}, default=float) + "\n")

    def left(self, runs: Sequence[Run]) -> list[Run]:
        """Return the runs that are not done, or failed."""
        return [
            run
            for run in runs
            if any("error" in r for r in self.done.get(run.key, [{"error": ""}]))
        ]


def work(
    runs: Sequence[Run],
    record: Record,
    *,
    jobs: int = 1,
    seconds: float | None = None,
    on_done: Callable[[Run], None] = lambda run: None,
) -> None:
    """Do the runs that are left, for some seconds at most; a run cut short is not kept.

    Parameters
    ----------
    runs, record
        What is wanted, and what is done.
    jobs
        Number of processes.
    seconds
        Limit of the whole.
    on_done
        Called with each run that is done.

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C; what is done is kept.
    """
    deadline = None if seconds is None else monotonic() + seconds
    left = record.left(runs)
    if jobs == 1:
        for run in left:
            rows = attempt(run, deadline)
            if rows is None:
                return
            record.keep(run, rows)
            on_done(run)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        futures = {pool.submit(attempt, run, deadline): run for run in left}
        try:
            for future in as_completed(futures):
                if (rows := future.result()) is not None:
                    record.keep(futures[future], rows)
                    on_done(futures[future])
        except KeyboardInterrupt:
            for child in active_children():
                child.terminate()
            raise


def attempt(run: Run, deadline: float | None = None) -> list[Row] | None:
    """Return the rows of a run, or the error in place of them; nothing past the deadline.

    A Ctrl-C raises at once, in searches of the package too, whose half results are no experiment.
    The clock of a machine is the same for all its processes.
    """
    seconds = None if deadline is None else deadline - monotonic()
    if seconds is not None and seconds <= 0:
        return None
    with _interrupted_after(seconds):
        try:
            return run.do()
        except FileNotFoundError:  # of public data: no other run would find them
            raise
        except Exception as error:  # of one run: the others go on
            return [{"error": f"{type(error).__name__}: {error}"}]
        except KeyboardInterrupt:
            if deadline is None or monotonic() < deadline:
                raise
            return None


@contextmanager
def _interrupted_after(seconds: float | None) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    interrupt = partial(
        signal.pthread_kill, get_ident(), signal.SIGINT
    )  # wakes a thread that waits
    timer = Timer(TIMEOUT_MAX if seconds is None else seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
