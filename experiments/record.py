"""The record of a table: the rows of the runs that are done, and the parts of the others."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.runner import Run

Row = dict[str, Any]
"""What a run found: numbers by their names; a ``label`` tells several rows of a run apart."""


def whole_lines(path: Path) -> list[Any]:
    """Return the lines of a file of JSON; a last one that a kill cut short is removed."""
    if not path.exists():
        return []
    text = path.read_text("utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, "utf-8")
    return list(map(json.loads, whole.splitlines()))


def append_line(path: Path, content: Any) -> None:
    """Append a line of JSON to a file, whose folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(content, default=float) + "\n")


class Parts:
    """The finished parts of a run, each a value that JSON knows.

    Parameters
    ----------
    path
        The file that keeps them; without one a run begins anew each time.

    Attributes
    ----------
    seconds
        CPU seconds that earlier calls took for the parts that this one found finished.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.seconds = 0.0
        lines = [] if path is None else whole_lines(path)
        self._finished = {line["part"]: line for line in lines}

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        """Return the value of a part, which is done unless it is finished."""
        if name in self._finished:
            self.seconds += self._finished[name]["seconds"]
            return self._finished[name]["value"]
        begun = process_time()
        value = work()
        if self.path is not None:
            line = {"part": name, "seconds": process_time() - begun, "value": value}
            append_line(self.path, line)
        return value

    def remove(self) -> None:
        """Remove what is kept."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)
            shutil.rmtree(self.path.with_suffix(".checkpoint"), ignore_errors=True)

    @property
    def checkpoint(self) -> Path | None:
        """The folder of a search that keeps its own parts."""
        return None if self.path is None else self.path.with_suffix(".checkpoint")


NOTHING_KEPT = Parts()
"""Of a run outside a table, as in the tests."""


@dataclass
class Record:
    """The runs that are done, in a file of JSON lines where one is given.

    Attributes
    ----------
    done
        The rows of each run, by its key.
    cut
        Seconds after which a run that is not done was last cut short, by its key.
    """

    path: Path | None = None
    done: dict[str, list[Row]] = field(default_factory=dict)
    cut: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the file."""
        for line in [] if self.path is None else whole_lines(self.path):
            if "rows" in line:
                self.done[line["run"]] = line["rows"]
            else:
                self.cut[line["run"]] = line["cut"]

    def keep(self, run: "Run", rows: list[Row]) -> None:
        """Keep the rows of a run, and remove its parts."""
        self.done[run.key] = rows
        if self.path is not None:
            append_line(self.path, {"run": run.key, "rows": rows})
        Parts(self.parts_path(run)).remove()

    def keep_cut(self, run: "Run", seconds: float) -> None:
        """Keep after how many seconds a run was cut short."""
        self.cut[run.key] = seconds
        if self.path is not None:
            append_line(self.path, {"run": run.key, "cut": seconds})

    def parts_path(self, run: "Run") -> Path | None:
        """Return the file of the finished parts of a run."""
        if self.path is None:
            return None
        name = sha256(run.key.encode()).hexdigest()[:20]
        return self.path.with_suffix(".parts") / f"{name}.jsonl"

    def left(self, runs: Sequence["Run"]) -> list["Run"]:
        """Return the runs that are not done, or failed; at last those that were cut short."""
        missing = [{"error": "not done"}]
        left = [
            run
            for run in runs
            if any("error" in row for row in self.done.get(run.key, missing))
        ]
        return sorted(left, key=lambda run: self.cut.get(run.key, 0.0))
