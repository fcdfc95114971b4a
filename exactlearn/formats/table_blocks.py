"""Tables of any length from files, folders of files or Dask frames, in blocks of rows."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

from exactlearn._runtime.argument_kinds import as_labels, as_names
from exactlearn._runtime.arguments import checked_arguments
from exactlearn.data import MISSING_SYMBOLS, STATES_SUFFIX
from exactlearn.data.blocks import BLOCK_BYTES, Blocks
from exactlearn.data.codes import LabelledRows
from exactlearn.data.coding import check_options
from exactlearn.data.frame_rows import frame_rows
from exactlearn.errors import OptionError
from exactlearn.formats.layout import TableLayout
from exactlearn.formats.states_file import missing_symbols
from exactlearn.formats.table import labelled_rows, read_table


@checked_arguments(names=as_names, variables=as_labels)
def read_blocks(
    source: Any,
    *,
    missing: Sequence[str] = MISSING_SYMBOLS,
    header: bool = True,
    separator: str | None = None,
    arities: bool | None = None,
    decimal: str = ".",
    states: Mapping[str, Sequence[str]] | None = None,
    drop: Iterable[str] = (),
    names: Sequence[str] | None = None,
    weights: str | None = None,
    variables: Sequence[str] | None = None,
    tidy: bool = False,
    block_bytes: int = BLOCK_BYTES,
) -> Blocks:
    """Name a table of any length, which is read in blocks when it is used.

    Iterate over the blocks, each a :class:`~exactlearn.Dataset`, or hand them to a function of a
    table, which merges their equal rows (:func:`~exactlearn.data.blocks.merge_rows`).
    Codes and errors are those of :func:`exactlearn.read_dataset`.

    Parameters
    ----------
    source
        A file as for :func:`exactlearn.read_dataset`, a folder of ``.parquet`` files, a pattern
        such as ``"parts/*.csv"``, a list of these, or a Dask data frame, whose partitions are the
        blocks. The files of a folder or a pattern are read in the order of their names, a list in
        its own order; their columns may stand in different orders. A pattern skips the files of
        states beside tables, ``*.states.json``.
    missing, header, separator, arities, decimal, names, drop, weights
        As for :func:`exactlearn.read_dataset`.
    states
        Declared states, in order, or ``"*"`` for every value; a number belongs to the bin, such as
        ``"<=2.5"``, that holds it.
        The states of other columns are found in a first pass over the whole table.
    variables
        The columns to read, in this order; all others are ignored. Without it: all columns of the
        first file.
    tidy
        Leave out columns that are constant, entirely missing, without a name or different in every
        row, and cut numbers into five bins of equal frequency, with one warning. Other bins are
        declared as ``states``.
    block_bytes
        Bytes of a file that are in memory at once; not for a Dask frame.

    Raises
    ------
    OptionError
        When there is no such file, the pattern matches none, or options contradict each other;
        what else :func:`exactlearn.read_dataset` raises, the iteration does.

    Examples
    --------
    >>> from exactlearn.instances import locate
    >>> from exactlearn import fit_deletion
    >>> from exactlearn.data.blocks import merge_rows
    >>> blocks = read_blocks(locate("cancer-mcar", ".csv"), block_bytes=1000)
    >>> sum(block.n_rows for block in blocks)
    300
    >>> table = merge_rows(blocks)
    >>> fit_deletion(table, [()] * table.n_variables, method="d-mcar").families[0].rows
    295.0
    """
    check_options(states or {}, missing, discretise={})
    sources: tuple[tuple[Any, ...], ...]
    read: Callable[..., Iterator[LabelledRows]]
    if hasattr(source, "to_delayed"):
        if separator is not None or arities is not None or not header:
            raise OptionError(
                "header, separator, arities: a Dask frame has columns; leave them out"
            )
        if block_bytes != BLOCK_BYTES:
            raise OptionError(
                "block_bytes: each partition of a Dask frame is a block; leave it out, and call "
                "frame.repartition for other blocks"
            )
        # Each partition of a Dask frame is a block.
        sources = tuple(enumerate(source.to_delayed()))
        read = _frame_rows
    else:
        # Each file yields blocks of whole lines.
        layout = TableLayout(header, separator, arities, missing, decimal, block_bytes)
        files = table_files(source)
        # A state that a file lists, such as NA, is no symbol of a missing cell.
        missing = missing_symbols(missing, files)
        sources = tuple((file, layout) for file in files)
        read = read_table
    return Blocks(
        partial(
            _labelled_blocks,
            read,
            names=names,
            drop=tuple(drop),
            weights=weights,
            decimal=decimal,
        ),
        sources,
        {str(name): labels for name, labels in (states or {}).items()},
        tuple(missing),
        None if variables is None else tuple(map(str, variables)),
        tidy,
        weights=weights,
    )


def table_files(source: Any) -> list[Path]:
    """Return the files of a path, a folder, a pattern, or a list of these.

    Files of states beside tables match no pattern.

    Raises
    ------
    OptionError
        When any of these names no file.
    """
    if not isinstance(source, str | os.PathLike):
        files = [file for entry in source for file in table_files(entry)]
    elif Path(source).is_dir():
        files = sorted(Path(source).glob("*.parquet"))
    elif Path(source).exists():
        files = [Path(source)]
    else:
        names = sorted(glob(os.fspath(source)))
        files = [Path(name) for name in names if not name.endswith(STATES_SUFFIX)]
    if not files:
        raise OptionError(
            f"{source} names no file; expected files, a folder of .parquet files, or a "
            "pattern of names such as 'parts/*.csv'"
        )
    return files


def _labelled_blocks(
    read: Callable[..., Iterator[LabelledRows]], *source: Any, **options: Any
) -> Iterator[LabelledRows]:
    """Yield the blocks of a source, with names, without the columns to drop, and with weights.

    Parameters
    ----------
    read, source
        The reader of a file or a partition, and its arguments.
    options
        Those of :func:`~exactlearn.formats.table.labelled_rows`.
    """
    for rows in read(*source):
        yield labelled_rows(rows, **options)


def _frame_rows(number: int, frame: Any) -> Iterator[LabelledRows]:
    """Yield the rows of a partition of a Dask frame."""
    if len(frame):
        yield replace(frame_rows(frame), source=Path(f"partition {number}"), index=None)
