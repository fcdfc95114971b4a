"""Tables of the command line: read at once, or in blocks where they are large or several files."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import exactlearn as el
from exactlearn._runtime.control import SearchControl
from exactlearn.commands.output import Output
from exactlearn.commands.provenance import note_table
from exactlearn.commands.sections import Clustered, Reading
from exactlearn.data.alignment import aligned_table
from exactlearn.data.blocks import Blocks, merge_rows
from exactlearn.data.labels import MAX_LISTED
from exactlearn.errors import ColumnWarning, OptionError, warn_caller
from exactlearn.formats.table_blocks import table_files
from exactlearn.instances import locate
from exactlearn.queries.model_graphs import Model

LARGE = 2**26
"""Bytes of a text from which on it is read in blocks."""

LARGE_PACKED = 2**22
"""Bytes of a compressed file from which on it is read in blocks."""


def is_large(source: str) -> bool:
    """Return whether a table is a large file, or several files."""
    path = Path(source)
    if not path.is_file():  # a bundled table, a pattern or a folder
        return path.is_dir() or any(c in source for c in "*?[")
    is_packed = path.suffix.lower() in (".gz", ".parquet")
    return path.stat().st_size >= (LARGE_PACKED if is_packed else LARGE)


def place(source: str, *suffixes: str) -> Path:
    """Return the file of a source, or the folder or pattern of several files.

    Parameters
    ----------
    source
        The file, or the name of a bundled one with one of the suffixes.
    suffixes
        By default that of a table.

    Raises
    ------
    OptionError
        When there is no such file.
    """
    if is_large(source):
        return Path(source)
    return locate(source, *(suffixes or (".csv",)))


def load(
    source: str | Path, reading: Reading, model: Model | el.Dataset | None = None
) -> el.Dataset:
    """Read a table as declared: a file, or a bundled one by its name.

    With a model, or the table that one is learnt from, its variables are in the model's order, with
    the model's states; other columns are left out whatever they hold, with a warning.

    Raises
    ------
    DataError
        When a variable of the model is absent, or a row has a state that the model does not know.
    """
    path = locate(source, ".csv")
    data = el.read_dataset(path, **_keywords(reading, model))
    note_table(path, data.n_rows, data.n_variables)
    if model is None:
        return data
    _warn_of_columns(path, data.left_out)
    return aligned_table(data, model)


def _warn_of_columns(path: Path, columns: Collection[str]) -> None:
    """Warn once of the columns of a table that a model lacks."""
    if not columns:
        return
    names = ", ".join(map(repr, list(columns)[:MAX_LISTED]))
    if len(columns) > MAX_LISTED:
        names += f" and {len(columns) - MAX_LISTED} more"
    warn_caller(
        f"{path}: columns that are no variables of the model are left out: {names}",
        ColumnWarning,
    )


def load_merged(source: str, options: Clustered, cluster: Any = None) -> el.Dataset:
    """Read a table; of a large one, or several files, the distinct rows with their weights.

    A cluster alone changes nothing: how rows are divided into folds depends on which there are.

    Raises
    ------
    OptionError
        When numbers of several files are to be cut into bins.
    """
    if not is_large(source) or (
        (options.discretise or options.tidy) and Path(source).is_file()
    ):
        return load(source, options)
    return _merged(source, options, None, cluster)[0]


def blocks(source: str, options: Clustered, model: Model | None = None) -> Blocks:
    """Return the blocks of a table, read as declared, or with variables and states of a model.

    Raises
    ------
    OptionError
        When there is no such table, or numbers are to be cut into bins.
    """
    keywords = _keywords(options, model)
    if keywords.pop("discretise"):
        raise OptionError(
            f"{source}: a table that is read in blocks is read without --discretise; declare the "
            "bins with --states, as in --states 'age=<=30,>30'"
        )
    return el.read_blocks(place(source), **keywords)


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

    table: el.Dataset
    ended: str
    time_left: float | None
    record: Mapping[str, int]


def rows_for(
    source: str,
    options: Clustered,
    model: Model,
    output: Output,
    time_limit: float | None,
) -> Rows:
    """Read a table for a model; the time limit and Ctrl-C end the reading of blocks.

    Raises
    ------
    OptionError
        When the time limit left no time to read any row.
    """
    if options.cluster is None and not is_large(source):
        return Rows(load(source, options, model), "finished", time_limit, {})
    with (
        SearchControl(time_limit).running() as control,
        output.progress_display("Reading") as display,
    ):
        table, rows = _merged(source, options, model, options.cluster, display.show)
    # How the reading ended; without any row there is nothing to fit to.
    record = {"rows": rows, "distinct_rows": table.n_rows}
    if not control.is_over:
        return Rows(table, "finished", control.remaining, record)
    if not rows and control.is_stopped:
        raise KeyboardInterrupt
    if not rows:
        raise OptionError(
            f"--time-limit {time_limit:g}: no row was read; give it more time"
        )
    cause = "Interrupted" if control.is_stopped else "Time limit reached"
    output.note(f"{cause}: what follows is of the first {rows} rows")
    return Rows(table, control.status, 0.0, record)


def _merged(
    source: str,
    options: Clustered,
    model: Model | None,
    cluster: Any,
    show: Callable[[str], object] = lambda text: None,
) -> tuple[el.Dataset, int]:
    """Return the distinct rows of a table in blocks with their weights, and how many were read."""
    rows = 0

    def count(block_rows: int) -> None:
        nonlocal rows
        rows += block_rows
        show(f"{rows} rows")

    # Rows are merged block by block; what is read is counted for the display.
    table_blocks = blocks(source, options, model)
    table = merge_rows(replace(table_blocks, on_rows=count), cluster=cluster)
    # The columns and the files, for warnings and for the record.
    path = place(source)
    files = table_files(path)
    if model is not None:
        first_block = next(iter(table_blocks.read(*table_blocks.sources[0])))
        columns = [column.name for column in first_block.columns]
        _warn_of_columns(path, [name for name in columns if name not in model.names])
    note_table(files[0] if len(files) == 1 else path, rows, table.n_variables, files)
    return table, rows


def _keywords(reading: Reading, model: Model | el.Dataset | None) -> dict[str, Any]:
    """Return the keywords of a reader of tables; a model's states precede the declared ones."""
    if model is None:
        return {**reading.keywords, "variables": None}
    states = dict(zip(model.names, model.states, strict=True))
    states = {**reading.declared_states, **states}
    return {**reading.keywords, "states": states, "variables": model.names}
