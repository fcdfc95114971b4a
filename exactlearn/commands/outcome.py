"""Files of a learned network: each incumbent's and the answer's, by the suffix of the output."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import exactlearn as el
from exactlearn._runtime.control import Event, OnEvent
from exactlearn._runtime.files import atomic_write, read_text, suffix_of
from exactlearn.augmentation.solutions import Augmentation
from exactlearn.commands.output import (
    Answer,
    Output,
    ProgressDisplay,
    is_folder,
    require_suffix,
    write_json,
)
from exactlearn.errors import FormatError, InfeasibleError, TooLargeError
from exactlearn.formats.table import FORMATS as TABLES
from exactlearn.formats.table import require_names
from exactlearn.queries.model_graphs import Model, as_graph
from exactlearn.reporting.drawing import (
    Drawing,
    decision_graph_drawing,
    network_drawing,
)
from exactlearn.reporting.svg_picture import FIGURES, write_figure
from exactlearn.solvers.result import Result
from exactlearn.structure.equivalence_search import EquivalenceSearch

Learned = Result | Augmentation | EquivalenceSearch | Event
"""The result of a search, or its state while it runs."""

MAX_DRAWN = 120
"""Most variables of a figure in a folder: one of 150 would take two seconds."""


@dataclass(frozen=True, eq=False)
class Artifacts:
    """A learned network and all that its files need.

    Parameters
    ----------
    names
        Variable names.
    parents
        Parents of each variable; empty where there is no network, or several.
    record
        The JSON record.
    network
        Returns the network with its parameters, where there are data for them.
    tables
        The completed table, or several of them.
    """

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    record: Mapping[str, Any]
    network: Callable[[], el.BayesianNetwork | None] = lambda: None
    tables: Sequence[el.Dataset] = ()

    def write(self, output: Output) -> None:
        """Write the file of the output's suffix; into a folder, network, record and tables."""
        path = output.path
        assert path is not None
        self.write_incumbent(path)
        if is_folder(path):
            # Names of several tables have equally many digits, so that they sort by
            # number.
            width = len(str(len(self.tables)))
            for number, table in enumerate(self.tables, start=1):
                suffix = f"-{number:0{width}}" if len(self.tables) > 1 else ""
                el.write_dataset(table, path / f"completed{suffix}.csv")
            # Network and record are written by now: a figure that is too large costs
            # only itself.
            if self.parents and len(self.names) <= MAX_DRAWN:
                try:
                    write_figure(self._drawing(), path / "network.svg")
                except TooLargeError as error:
                    output.note(f"No figure network: {error}")
        output.wrote(path)

    def write_incumbent(self, path: Path) -> None:
        """Write a network that may be improved yet, without the files that can wait."""
        if is_folder(path):
            path.mkdir(parents=True, exist_ok=True)
            write_json(self.record, path / "result.json")
            if self.parents and (network := self.network()):
                el.write_model(network, path / "network.bif")
        else:
            _write(path, self.record, self.network, self._drawing, self.tables)

    def _drawing(self) -> Drawing:
        reversible = self.record.get("reversible", ())
        return network_drawing(self.names, self.parents, reversible)


def write_learned(model: Model, record: Mapping[str, Any], path: Path) -> None:
    """Write a model, its record or its figure, as the suffix says."""
    _write(path, record, lambda: model, lambda: decision_graph_drawing(as_graph(model)))


def _write(
    path: Path,
    record: Mapping[str, Any],
    model: Callable[[], Model | None],
    drawing: Callable[[], Drawing],
    tables: Sequence[el.Dataset] = (),
) -> None:
    """Write the record, the figure, the table or the model, as the suffix of the file says."""
    suffix = suffix_of(path)
    if suffix == ".json":
        write_json(record, path)
    elif suffix in FIGURES:
        write_figure(drawing(), path)
    elif suffix in TABLES:
        el.write_dataset(tables[0], path)
    else:
        written = model()
        assert written is not None  # refused by require_writable()
        el.write_model(written, path)


def require_writable(
    output: Output, formats: Sequence[str], completed: el.Dataset | None = None
) -> None:
    """Refuse, before the search, an output that cannot be written.

    Parameters
    ----------
    output
        The file or folder to write.
    formats
        Suffixes that stand for something else than a table.
    completed
        The table to be completed and written, which keeps its names.

    Raises
    ------
    OptionError
        When the suffix is unknown.
    DataError
        When the format cannot hold the names.
    """
    path = output.path
    if path is None:
        return
    tables = () if completed is None else tuple(TABLES)
    if not is_folder(path):
        require_suffix(path, (*formats, *tables))
    # A completed table keeps the names of the given one, which not every format can
    # hold.
    if completed is not None and output.folder is not None:
        require_names(completed, path / "completed.csv")
    elif completed is not None and suffix_of(path) in TABLES:
        require_names(completed, path)


def write_trace(trace: Sequence[tuple[float, float, float]], folder: Path) -> None:
    """Write the trace of a search into a folder, a row for each improvement."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [("seconds", "score", "bound"), *trace]
    lines = [f"{','.join(map(str, row))}\n" for row in rows]
    atomic_write(folder / "trace.csv", "".join(lines))


def read_trace(path: Path) -> list[tuple[float, float, float]]:
    """Return the trace of a search: seconds, score and bound of each improvement.

    Raises
    ------
    FormatError
        When it is no text, or a line does not have three numbers.
    """
    points = []
    for number, line in enumerate(read_text(path).splitlines()[1:], start=2):
        try:
            seconds, score, bound = map(float, line.split(","))
        except ValueError:
            raise FormatError(
                f"{path}, line {number}: expected three numbers (seconds, score, bound), found "
                f"{line!r}; remove the file, or run the command again"
            ) from None
        points.append((seconds, score, bound))
    return points


def keeping(
    display: ProgressDisplay, artifacts: Callable[[Event], Artifacts]
) -> OnEvent:
    """Return a listener that shows the events of a search, and writes each incumbent's files."""

    def on_event(event: Event) -> None:
        if event.parents is not None:
            display.keep(
                event.score, lambda path: artifacts(event).write_incumbent(path)
            )
        display(event)

    return on_event


def learned_answer(
    learned: Result | Augmentation | EquivalenceSearch,
    artifacts: Artifacts,
    output: Output,
    status: str,
    writers: Sequence[Callable[[], object]] = (),
) -> Answer:
    """Return the answer of a command that learned a network.

    Parameters
    ----------
    learned
        The result of the search.
    artifacts
        Its record and its files.
    output
        Where they are written.
    status
        How the whole command ended, of which the search was a part.
    writers
        What writes further files.

    Raises
    ------
    InfeasibleError
        When no network satisfies the constraints.
    """
    if learned.status == "infeasible":
        raise InfeasibleError(learned.message)
    writers = list(writers)
    remarks = []
    if output.folder is not None:
        writers.append(partial(write_trace, learned.trace, output.folder))
    # Files of a network, where one was found and a place is named.
    if learned.parents is None:
        remarks.append("No network was found.")
    elif output.path is not None:
        writers.append(partial(artifacts.write, output))
    is_proven = learned.status in ("optimal", "t-local")
    if learned.message and (output.verbose or not is_proven):
        remarks.append(learned.message)
    return Answer(
        record=artifacts.record, status=status, remarks=remarks, writers=writers
    )
