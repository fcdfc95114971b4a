"""A search of parent sets: its incumbents and its answer, in the format of a file's suffix."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
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
from exactlearn.queries.posteriors import Model, as_graph
from exactlearn.reporting.drawing import (
    Drawing,
    decision_graph_drawing,
    network_drawing,
)
from exactlearn.reporting.records import learning_record
from exactlearn.reporting.svg_picture import FIGURES, write_figure
from exactlearn.solvers.result import Result
from exactlearn.structure.equivalence_search import EquivalenceSearch

Learned = Result | Augmentation | EquivalenceSearch
"""The result of a search."""


@dataclass(frozen=True, eq=False)
class Artifacts:
    """A selection of parent sets and all that its files need.

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
        path, several = output.path, len(self.tables) > 1
        assert path is not None
        self.write_incumbent(path)
        if is_folder(path):
            width = len(str(len(self.tables)))
            for k, table in enumerate(self.tables, start=1):
                number = f"-{k:0{width}}" if several else ""
                el.write_dataset(table, path / f"completed{number}.csv")
            if self.parents and len(self.names) <= 120:  # 150 would take two seconds
                try:
                    write_figure(self._drawing(), path / "network.svg")
                except TooLargeError as error:
                    output.note(f"No figure network: {error}")
        output.wrote(path)

    def write_incumbent(self, path: Path) -> None:
        """Write a selection that may be improved yet; what does not depend on it waits."""
        if is_folder(path):
            path.mkdir(parents=True, exist_ok=True)
            write_json(self.record, path / "result.json")
            if self.parents and (network := self.network()):
                el.write_model(network, path / "network.bif")
        else:
            _write(path, self.record, self.network, self._drawing, self.tables)

    def _drawing(self) -> Drawing:
        return network_drawing(
            self.names, self.parents, self.record.get("reversible", ())
        )


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
    """Write what the suffix of a file says."""
    suffix = suffix_of(path)
    if suffix == ".json":
        write_json(record, path)
    elif suffix in FIGURES:
        write_figure(drawing(), path)
    elif suffix in TABLES:
        el.write_dataset(tables[0], path)
    else:
        found = model()
        assert found is not None  # refused by require_writable()
        el.write_model(found, path)


def require_writable(
    output: Output, formats: Sequence[str], completed: el.Dataset | None = None
) -> None:
    """Refuse, before the search, an output that cannot be written.

    Parameters
    ----------
    output
        What is wanted.
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
    if path is not None and not is_folder(path):
        require_suffix(path, (*formats, *(() if completed is None else TABLES)))
    if (
        path is not None
        and completed is not None
        and (output.folder or suffix_of(path) in TABLES)
    ):
        require_names(completed, path / "completed.csv" if output.folder else path)


def write_trace(result: Learned, folder: Path) -> None:
    """Write the trace of a search into a folder, a row for each improvement."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [("seconds", "score", "bound"), *result.trace]
    atomic_write(
        folder / "trace.csv", "".join(f"{','.join(map(str, row))}\n" for row in rows)
    )


def read_trace(path: Path) -> list[tuple[float, float, float]]:
    """Return the trace of a search: seconds, score and bound of each improvement.

    Raises
    ------
    FormatError
        When it is no text, or a line does not have three numbers.
    """
    points = []
    for number, line in enumerate(read_text(path).splitlines()[1:], start=2):
        fields = line.split(",")
        try:
            seconds, score, bound = map(float, fields)
        except ValueError:
            raise FormatError(
                f"{path}, line {number}: expected three numbers (seconds, score, bound), found "
                f"{line!r}; remove the file, or run the command again"
            ) from None
        points.append((seconds, score, bound))
    return points


def keeping(
    display: ProgressDisplay, artifacts: Callable[[Learned], Artifacts]
) -> OnEvent:
    """Return what shows the events of a search, and writes each incumbent's artifacts."""

    def on_event(event: Event) -> None:
        if event.parents is not None:
            # what a search has found so far, as if it ended now
            found: Any = SimpleNamespace(
                **event._asdict(), gap=event.gap, status="feasible"
            )
            display.keep(
                event.score, lambda path: artifacts(found).write_incumbent(path)
            )
        display(event)

    return on_event


def concluded(
    output: Output,
    names: Sequence[str],
    learned: Learned,
    artifacts: Callable[[Learned], Artifacts],
    *,
    also: Sequence[Callable[[], None]] = (),
    ended: str | None = None,
) -> Answer:
    """Write what was learned; return the answer, also where something could not be written.

    Parameters
    ----------
    output
        Where to.
    names
        Variable names.
    learned
        The answer.
    artifacts
        What is written of it.
    also
        Further files to write.
    ended
        How the whole command ended, where that is more than the one answer.

    Raises
    ------
    InfeasibleError
        When no network satisfies the constraints.
    """
    if learned.status == "infeasible":
        raise InfeasibleError(learned.message)
    record, writing, folder = learning_record(names, learned), list(also), output.folder
    if folder is not None:
        writing.append(lambda: write_trace(learned, folder))
    if learned.parents is None:
        output.note("No network was found.")
    else:
        found = artifacts(learned)
        record = dict(found.record)
        if output.path is not None:
            writing.append(lambda: found.write(output))
    failures: list[Exception] = []
    for write in writing:
        try:
            write()
        except (el.ExactlearnError, OSError) as error:
            failures.append(error)
    is_proven = learned.status in ("optimal", "t-local")
    is_told = learned.message and (output.verbose or not is_proven)
    return Answer(
        record=record,
        status=ended or learned.status,
        remarks=[learned.message] if is_told else [],
        failure=failures[0] if failures else None,
    )
