"""What learning commands write: one selection of parent sets in the format of a file's suffix."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exactlearn._runtime.files import suffix_of
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.commands.output import Output, is_folder, require_suffix, write_json
from exactlearn.data.dataset import Dataset
from exactlearn.errors import MissingExtraError, OptionError, TooLargeError
from exactlearn.formats.models import NETWORKS, write_model
from exactlearn.formats.scores import write_scores, written_suffixes
from exactlearn.formats.table import FORMATS as TABLES
from exactlearn.formats.table import require_names, write_dataset
from exactlearn.reporting.drawing import Drawing, network_drawing
from exactlearn.reporting.plot import FIGURES, write_figure
from exactlearn.reporting.trace import Traced, write_trace
from exactlearn.solvers import Problem


@dataclass(frozen=True, eq=False)
class Artifacts:
    """A selection of parent sets and all that its files need.

    Parameters
    ----------
    names
        Variable names.
    parents
        Parents of each variable.
    record
        The JSON record.
    data
        The complete or completed table; ``None`` when only scores were given.
    problem
        Returns the local scores behind the selection; ``None`` when they are not to be written.
    smoothing
        Pseudo-count of the network's parameters.
    """

    names: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    record: Mapping[str, Any]
    data: Dataset | None
    problem: Callable[[], Problem] | None
    smoothing: float

    @property
    def completes(self) -> bool:
        """Whether missing cells were completed, so that there is a table to write."""
        return "completion" in self.record


def require_table_names(output: Output, data: Dataset) -> None:
    """Refuse a table whose names its completed table could not keep, before the search."""
    if output.path is not None and is_folder(output.path):
        require_names(data, output.path / "completed.csv")
    elif output.path is not None and suffix_of(output.path) in TABLES:
        require_names(data, output.path)


def _write_network(found: Artifacts, path: Path) -> None:
    assert found.data is not None  # refused by writable()
    write_model(fit_complete(found.data, found.parents, alpha=found.smoothing), path)


def _write_table(found: Artifacts, path: Path) -> None:
    assert found.data is not None
    write_dataset(found.data, path)


def _write_record(found: Artifacts, path: Path) -> None:
    write_json(found.record, path)


def _write_figure(found: Artifacts, path: Path) -> None:
    write_figure(network_drawing(found.names, found.parents), path)


def _write_scores(found: Artifacts, path: Path) -> None:
    assert found.problem is not None
    write_scores(found.problem(), path)


Writer = Callable[[Artifacts, Path], None]


def writers(completes: bool) -> dict[str, Writer]:
    """Return the function that writes each suffix; ``.parquet`` is a table where there is one."""
    return {
        **dict.fromkeys(NETWORKS, _write_network),
        ".json": _write_record,
        **dict.fromkeys(written_suffixes(), _write_scores),
        **(dict.fromkeys(TABLES, _write_table) if completes else {}),
        **dict.fromkeys(FIGURES, _write_figure),
    }


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
            f"--output {output.path}: parameters need data, but only scores were given; "
            "write .json, .dot, .svg or .png, or give the table"
        )


def write_artifacts(found: Artifacts, output: Output, *, completed: bool) -> None:
    """Write the file of the output's suffix; into a folder, network, record, table and figure."""
    path = output.path
    assert path is not None
    if not is_folder(path):
        _write(found, path)
        output.wrote(path)
        return
    write_incumbent(found, path)
    if completed:
        _write_table(found, path / "completed.csv")


def write_figures(drawing: Drawing, paths: Sequence[Path], output: Output) -> None:
    """Write a drawing to files, or tell why there is none."""
    try:
        for path in paths:
            write_figure(drawing, path)
    except (MissingExtraError, TooLargeError) as error:
        output.note(f"No figure {paths[0].stem}: {error}")


def write_incumbent(found: Artifacts, path: Path) -> None:
    """Write a selection that may be improved yet; what does not depend on it is left for later."""
    if is_folder(path):
        path.mkdir(parents=True, exist_ok=True)
        _write_record(found, path / "result.json")
        if found.data is not None:
            _write_network(found, path / "network.bif")
    elif writers(found.completes)[suffix_of(path)] is not _write_scores:
        _write(found, path)


def _write(found: Artifacts, path: Path) -> None:
    writers(found.completes)[suffix_of(path)](found, path)


def write_trace_to(result: Traced, path: Path, output: Output) -> None:
    """Write the trace of a search, and say so."""
    write_trace(result, path)
    output.wrote(path)


def write_trace_in(result: Traced, folder: Path, output: Output) -> None:
    """Write the trace of a search into a folder: the table, and the figure where it can be made."""
    folder.mkdir(parents=True, exist_ok=True)
    write_trace(result, folder / "trace.csv")
    try:
        write_trace(result, folder / "trace.svg")
    except MissingExtraError as error:
        output.note(f"No figure trace: {error}")
