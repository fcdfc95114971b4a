"""What learning commands write: one selection of parent sets in the format of a file's suffix."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn.augmentation.result import Augmentation
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.commands.declarations import CountsName
from exactlearn.commands.output import Output, is_folder, require_suffix, write_json
from exactlearn.data.dataset import Dataset
from exactlearn.errors import MissingExtraError, OptionError, TooLargeError
from exactlearn.formats import written_suffixes
from exactlearn.formats.models import GRAPHS, NETWORKS, write_model
from exactlearn.formats.scores import FORMATS as SCORES
from exactlearn.formats.scores import write_scores
from exactlearn.formats.table import FORMATS as TABLES
from exactlearn.formats.table import require_names, write_dataset
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.reporting.drawing import Drawing, decision_graph_drawing, network_drawing
from exactlearn.reporting.svg_picture import FIGURES, write_figure
from exactlearn.solvers import Problem
from exactlearn.solvers.result import Result
from exactlearn.structure.equivalence_search import EquivalenceSearch
from exactlearn.structure.selection import fitted_network


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
    data
        The complete or completed table; ``None`` when only scores were given.
    problem
        Returns the local scores behind the selection; ``None`` when they are not to be written.
    smoothing
        Pseudo-count of the network's parameters, where they are estimated from the table.
    counts
        The counts of missing cells that the selection was learnt from.
    fitted
        The network, where its parameters are estimated otherwise.
    drawn
        Several completed tables in place of one.
    """

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    record: Mapping[str, Any]
    data: Dataset | None
    problem: Callable[[], Problem] | None
    smoothing: float
    counts: CountsName | None = None
    fitted: BayesianNetwork | None = None
    drawn: Sequence[Dataset] = ()

    @property
    def completes(self) -> bool:
        """Whether missing cells were completed, so that there is a table to write."""
        return "completion" in self.record

    @property
    def network(self) -> BayesianNetwork:
        """The network, if not fitted with smoothed frequencies, by EM where cells are missing."""
        if self.fitted is not None:
            return self.fitted
        assert self.data is not None  # refused by writable()
        return fitted_network(
            self.data, self.parents, smoothing=self.smoothing, counts=self.counts
        )[0]

    @property
    def drawing(self) -> Drawing:
        """The network, drawn."""
        return network_drawing(self.names, self.parents, self.record.get("reversible", ()))


def require_table_names(output: Output, data: Dataset) -> None:
    """Refuse a table whose names its completed table could not keep, before the search."""
    if output.path is not None and is_folder(output.path):
        require_names(data, output.path / "completed.csv")
    elif output.path is not None and suffix_of(output.path) in TABLES:
        require_names(data, output.path)


Writer = Callable[[Artifacts, Path], object]


def writers(completes: bool) -> dict[str, Writer]:
    """Return the function that writes each suffix; ``.parquet`` is a table where there is one."""
    return {
        **dict.fromkeys(NETWORKS, lambda found, path: write_model(found.network, path)),
        ".json": lambda found, path: write_json(found.record, path),
        **dict.fromkeys(written_suffixes(SCORES), _write_scores),
        **(dict.fromkeys(TABLES, _write_table) if completes else {}),
        **dict.fromkeys(FIGURES, lambda found, path: write_figure(found.drawing, path)),
    }


def _write_table(found: Artifacts, path: Path) -> None:
    assert found.data is not None
    write_dataset(found.data, path)


def _write_scores(found: Artifacts, path: Path) -> None:
    assert found.problem is not None
    write_scores(found.problem(), path)


def writable(output: Output, *, with_data: bool, completes: bool) -> None:
    """Refuse an output that this command cannot write, before any work is done.

    Raises
    ------
    OptionError
        When the suffix is unknown, or needs data that are not there.
    """
    if output.path is None or is_folder(output.path):
        return
    require_suffix(output.path, list(writers(completes)))
    if not with_data and suffix_of(output.path) in NETWORKS:
        raise OptionError(
            f"--output {output.path}: parameters need data, but only scores were given; write "
            ".json or .svg, and estimate the parameters with 'exactlearn fit RESULT.json DATA.csv'"
        )


def holds_scores(path: Path, *, completes: bool) -> bool:
    """Return whether a path that can be written is that of local scores."""
    return not is_folder(path) and writers(completes)[suffix_of(path)] is _write_scores


def write_artifacts(found: Artifacts, output: Output) -> None:
    """Write the file of the output's suffix; into a folder, network, record and table."""
    path = output.path
    assert path is not None
    if not is_folder(path):
        _write(found, path)
        output.wrote(path)
        return
    write_incumbent(found, path)
    if len(found.drawn) > 1:
        width = len(str(len(found.drawn)))
        for k, table in enumerate(found.drawn, start=1):
            write_dataset(table, path / f"completed-{k:0{width}}.csv")
    elif found.completes:
        _write_table(found, path / "completed.csv")


def write_incumbent(found: Artifacts, path: Path) -> None:
    """Write a selection that may be improved yet; what does not depend on it is left for later."""
    if is_folder(path):
        path.mkdir(parents=True, exist_ok=True)
        write_json(found.record, path / "result.json")
        if found.data is not None and found.parents:
            write_model(found.network, path / "network.bif")
    elif not holds_scores(path, completes=found.completes):
        _write(found, path)


def _write(found: Artifacts, path: Path) -> None:
    writers(found.completes)[suffix_of(path)](found, path)


def write_figures(drawing: Drawing, paths: Sequence[Path], output: Output) -> None:
    """Write a drawing to files, or say why there is none."""
    try:
        for path in paths:
            write_figure(drawing, path)
    except (MissingExtraError, TooLargeError) as error:
        output.note(f"No figure {paths[0].stem}: {error}")


def write_graph(graph: DecisionGraph, record: Mapping[str, Any], path: Path) -> None:
    """Write a decision graph, its record or its figure, as the suffix says."""
    if suffix_of(path) in GRAPHS:
        write_model(graph, path)
    elif suffix_of(path) == ".json":
        write_json(record, path)
    else:
        write_figure(decision_graph_drawing(graph), path)


Learned = Result | Augmentation | EquivalenceSearch
"""The result of a search."""


def traced(result: Learned, output: Output) -> list[Callable[[], None]]:
    """Return what writes the trace of a search into a folder, a row for each improvement."""
    folder = output.folder

    def write() -> None:
        assert folder is not None
        folder.mkdir(parents=True, exist_ok=True)
        text = StringIO()
        rows = [("seconds", "score", "bound"), *result.trace]
        csv.writer(text, lineterminator="\n").writerows(rows)
        atomic_write(folder / "trace.csv", text.getvalue())

    return [] if folder is None else [write]
