"""Local scores of parent sets as a Parquet table: one row per candidate.

The columns are ``variable`` (text), ``score`` (number, maximised) and ``parents`` (list of texts).
Variables stand in the order of their first rows; other columns are not read.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn.errors import FormatError
from exactlearn.formats.parquet import arrow, column_names, read_parquet, write_parquet
from exactlearn.formats.score_table import Fault, ScoreTable, writable_problem
from exactlearn.solvers.problem import Problem, offsets

COLUMNS = ("variable", "score", "parents")
"""What a table of local scores has."""

_EXPECTED = {
    "variable": "texts",
    "score": "numbers",
    "parents": "lists of texts",
}


def read_parquet_scores(path: str | os.PathLike[str]) -> Problem:
    """Read candidate parent sets with their scores.

    Parameters
    ----------
    path
        A Parquet file with the columns ``variable``, ``score`` and ``parents``.

    Returns
    -------
    Problem
        Variables in the order of their first rows, each one's candidates in the order of the file.

    Raises
    ------
    FormatError
        When it is no such file; names the file, and column or row (counted from 0).
    OptionError
        When the file cannot be read.
    MissingExtraError
        When PyArrow is not installed.
    """
    source = Path(path)
    columns = _columns(source)
    names, child = _labels(columns["variable"])
    if not len(child):
        raise FormatError(f"{source}: expected a row per candidate parent set, found no row")
    parent_names, parents = _labels(columns["parents"].flatten())
    index = {name: k for k, name in enumerate(names)}
    place = np.array([index.get(name, -1) for name in parent_names] or [-1], np.int64)
    sizes = columns["parents"].value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    scores = columns["score"].to_numpy(zero_copy_only=False)
    table = ScoreTable(names, child, scores, sizes, place[parents])
    faults = _own_faults(table, parent_names, parents) + table.faults()
    if faults:
        fault = min(faults)
        column = "parents" if fault.field else "score"
        raise FormatError(f"{source}, row {fault.row + 1}, column {column!r}: {fault.message}")
    return table.by_variable().problem()


def write_parquet_scores(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write the candidates that the problem's constraints allow, in one step.

    Raises
    ------
    OptionError
        When the format cannot hold the problem, or the file cannot be written.
    InfeasibleError
        When the constraints leave a variable without candidates.
    MissingExtraError
        When PyArrow is not installed.
    """
    pa = arrow()
    kept = writable_problem(problem)
    names = pa.array(kept.names, pa.string())
    members = pa.DictionaryArray.from_arrays(pa.array(kept.members), names).cast(pa.string())
    variable = pa.DictionaryArray.from_arrays(pa.array(kept.child), names)
    parents = pa.ListArray.from_arrays(pa.array(kept.member_first.astype(np.int32)), members)
    write_parquet(COLUMNS, [variable, pa.array(kept.scores), parents], Path(path))


def holds_scores(path: Path) -> bool:
    """Return whether a Parquet file is a table of local scores rather than one of data.

    Raises
    ------
    FormatError, OptionError, MissingExtraError
        When the file cannot be read.
    """
    return set(COLUMNS) <= set(column_names(path))


def _columns(source: Path) -> dict[str, Any]:
    """Return the three columns as arrays of one piece, of the expected types, without nulls."""
    pa, table = arrow(), read_parquet(source)
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise FormatError(
            f"{source}: expected the columns 'variable', 'score' and 'parents' of a table of local "
            f"scores, found no {missing[0]!r} among {', '.join(map(repr, table.column_names[:12]))}"
        )
    wanted = {"variable": pa.string(), "score": pa.float64(), "parents": pa.list_(pa.string())}
    columns = {}
    for name in COLUMNS:
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        fits = (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal)
        if name != "score" or any(fit(column.type) for fit in fits):
            column = _cast(column, wanted[name])
        if column is None or column.type != wanted[name]:
            raise FormatError(
                f"{source}, column {name!r}: expected {_EXPECTED[name]}, found the type "
                f"{table[name].type}; convert the column"
            )
        columns[name] = _whole(source, name, column)
    return columns


def _cast(column: Any, kind: Any) -> Any:
    """Return a column as another type, or nothing when it has values that are not of it."""
    pa = arrow()
    if kind == pa.string() and not (pa.types.is_string(column.type) or _is_large(column.type)):
        return None
    try:
        return column.cast(kind)
    except pa.ArrowException:
        return None


def _is_large(kind: Any) -> bool:
    types = arrow().types
    return bool(types.is_large_string(kind) or types.is_string_view(kind))


def _whole(source: Path, name: str, column: Any) -> Any:
    """Return a column in one piece; refuse one with empty cells."""
    whole = column.combine_chunks()
    inner = whole.flatten() if name == "parents" else whole
    if whole.null_count or inner.null_count:
        row = int(np.flatnonzero(whole.is_null().to_numpy(zero_copy_only=False))[:1].sum())
        where = f"row {row + 1}, column {name!r}" if whole.null_count else f"column {name!r}"
        none = "; write an empty list for no parents" if name == "parents" else "; fill it in"
        raise FormatError(f"{source}, {where}: expected {_EXPECTED[name]}, found null{none}")
    return whole


def _labels(column: Any) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the different texts of a column in the order they first stand there, and the codes."""
    coded = column.dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return tuple(coded.dictionary.to_pylist()), codes


def _own_faults(
    table: ScoreTable, texts: tuple[str, ...], parents: NDArray[np.int64]
) -> list[Fault]:
    """Return the first score that is not finite, and the first parent that is no variable."""
    faults = []
    for row in np.flatnonzero(~np.isfinite(table.scores))[:1].tolist():
        message = f"expected a finite score, found {table.scores[row]}; leave the candidate out"
        faults.append(Fault(row, 0, message))
    for at in np.flatnonzero(table.parents < 0)[:1].tolist():
        row = int(np.searchsorted(offsets(table.sizes), at, side="right")) - 1
        name = texts[parents[at]]
        message = (
            f"parent {name!r} is no variable here; each variable needs rows of its "
            "own, at least one"
        )
        faults.append(Fault(row, 2, message))
    return faults
