"""Tables that are read in blocks: large files, several files, and the workers of a cluster."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from exactlearn._runtime.control import SearchControl
from exactlearn.commands.output import Output
from exactlearn.commands.pipeline import load, load_for
from exactlearn.commands.progress import ProgressDisplay
from exactlearn.commands.provenance import note_table
from exactlearn.commands.sections import Clustered
from exactlearn.data.blocks import Blocks, merge_rows
from exactlearn.data.coding import check_options
from exactlearn.data.dataset import Dataset
from exactlearn.errors import OptionError
from exactlearn.formats.table_blocks import read_blocks, table_files
from exactlearn.instances import locate
from exactlearn.queries.evidence import Model

LARGE = 2**26
"""Bytes of a text from which on it is read in blocks."""

_NO_BINS = (
    "a table that is read in blocks is read without --discretise; declare the bins with --states, "
    "as in --states 'age=<=30,>30'"
)

LARGE_PACKED = 2**22
"""The same for a compressed file."""


def is_large(source: str) -> bool:
    """Return whether a table is a large file, or several files."""
    path = Path(source)
    if not path.is_file():  # a bundled table, a pattern or a folder
        return path.is_dir() or any(c in source for c in "*?[")
    is_packed = path.suffix.lower() in (".gz", ".parquet")
    return path.stat().st_size >= (LARGE_PACKED if is_packed else LARGE)


def place(source: str) -> Path:
    """Return the file of a table or of scores, or the folder or pattern of several files.

    Raises
    ------
    OptionError
        When there is no such file.
    """
    return Path(source) if is_large(source) else locate(source, ".csv")


def load_merged(source: str, options: Clustered, cluster: Any = None) -> Dataset:
    """Read a table; of a large one, or several files, the distinct rows with their weights.

    A cluster alone changes nothing: how rows are divided into folds depends on which there are.

    Raises
    ------
    OptionError
        When numbers of several files are to be cut into bins.
    """
    path = place(source)
    if not is_large(source) or ((options.discretise or options.tidy) and path.is_file()):
        return load(path, options)
    counted = _Counted()
    table = merge_rows(replace(blocks_of(source, options), on_rows=counted), cluster=cluster)
    _note(path, counted.rows, table)
    return table


def blocks_for(source: str, options: Clustered, model: Model) -> Blocks:
    """Return the blocks of a table for a model, with its variables and states.

    Raises
    ------
    OptionError
        When there is no such table.
    """
    states = {**options.states, **dict(zip(model.names, model.states, strict=True))}
    check_options(states, options.missing, options.discretise)
    return _blocks(place(source), options, states=states, variables=model.names)


def blocks_of(source: str, options: Clustered) -> Blocks:
    """Return the blocks of a table, read as declared.

    Raises
    ------
    OptionError
        When there is no such table, or numbers are to be cut into bins.
    """
    if options.discretise:
        raise OptionError(f"{source}: {_NO_BINS}")
    return _blocks(place(source), options)


def _blocks(path: Path, options: Clustered, **more: Any) -> Blocks:
    """Return the blocks of a table, read as declared."""
    how = {key: value for key, value in options.keywords.items() if key != "discretise"}
    return read_blocks(path, **how | more)


class Rows(NamedTuple):
    """A table to fit a model to.

    Parameters
    ----------
    table
        Its distinct rows where it was read in blocks.
    ended
        ``interrupted`` or ``feasible`` where the reading was ended, by the time limit in the latter
        case: the table is then that of the first rows.
    time_left
        Seconds left of the time limit, if there is one.
    record
        The numbers of rows and of distinct rows of a table in blocks.
    """

    table: Dataset
    ended: str
    time_left: float | None
    record: Mapping[str, int]


def rows_for(
    source: str, options: Clustered, model: Model, output: Output, time_limit: float | None
) -> Rows:
    """Read a table for a model; the time limit and Ctrl-C end the reading of blocks.

    Raises
    ------
    OptionError
        When the time limit left no time to read any row.
    """
    if options.cluster is None and not is_large(source):
        table = load_for(source, options, model)
        return Rows(table, "finished", time_limit, {})
    with (
        SearchControl(time_limit).running() as control,
        output.progress_display("Reading") as display,
    ):
        counted = _Counted(display)
        blocks = replace(blocks_for(source, options, model), on_rows=counted)
        table = merge_rows(blocks, cluster=options.cluster)
    record = {"rows": counted.rows, "distinct_rows": table.n_rows}
    _note(place(source), counted.rows, model)
    if not control.is_over:
        return Rows(table, "finished", control.remaining, record)
    if not counted.rows and control.is_stopped:
        raise KeyboardInterrupt
    if not counted.rows:
        raise OptionError(f"--time-limit {time_limit:g}: no row was read; give it more time")
    cause = "Interrupted" if control.is_stopped else "Time limit reached"
    output.note(f"{cause}: what follows is of the first {counted.rows} rows")
    return Rows(table, control.status, 0.0, record)


class _Counted:
    """Counts and shows the rows read."""

    def __init__(self, display: ProgressDisplay | None = None) -> None:
        self.rows, self._display = 0, display

    def __call__(self, rows: int) -> None:
        self.rows += rows
        if self._display is not None:
            self._display.show(f"{self.rows} rows")


def _note(source: Path, rows: int, model: Model | Dataset) -> None:
    """Note a table in blocks in the records of the command."""
    files = table_files(source)
    note_table(files[0] if len(files) == 1 else source, rows, model.n_variables, files)
