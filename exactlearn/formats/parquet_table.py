"""Tables as Parquet files: one column per variable, its values read as labels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pandas import CategoricalDtype

from exactlearn.data.dataset import Dataset
from exactlearn.data.frame import labelled_column
from exactlearn.errors import FormatError
from exactlearn.formats.parquet import arrow, read_parquet, write_parquet
from exactlearn.formats.raw_table import RawTable


def read_parquet_table(path: Path) -> RawTable:
    """Read a table; an empty cell is a missing one, and rows count from 0.

    A dictionary column (a categorical one of pandas) lists its values, also those that no row has,
    in their order.

    Raises
    ------
    FormatError
        When it is no Parquet file, has no rows, or a column holds lists or the like.
    OptionError
        When the file cannot be read.
    MissingExtraError
        When PyArrow is not installed.
    """
    table = read_parquet(path)
    if not table.num_rows or not table.num_columns:
        raise FormatError(
            f"{path}: expected rows and columns, found {table.num_rows} rows of "
            f"{table.num_columns} columns"
        )
    nested = arrow().types.is_nested
    for field in table.schema:
        if nested(field.type):
            raise FormatError(
                f"{path}, column {field.name!r}: expected one value in a cell, found the type "
                f"{field.type}; drop the column from the file, or unfold it"
            )
    # Column by column, since a frame would not tell two columns of one name apart.
    series = [(f.name, c.to_pandas()) for f, c in zip(table.schema, table.columns, strict=True)]
    columns = tuple(labelled_column(name, own) for name, own in series)
    categories = {
        name: own.cat.categories.tolist()
        for name, own in series
        if isinstance(own.dtype, CategoricalDtype)
    }
    listed = {
        name: [text.strip() for text in texts]
        for name, texts in categories.items()
        if all(isinstance(text, str) for text in texts)
    }
    rows = np.arange(table.num_rows)
    return RawTable(path, tuple(table.column_names), columns, rows, "row", listed)


def write_parquet_table(dataset: Dataset, names: Sequence[str], path: Path) -> None:
    """Write a table, in one step: texts, missing cells empty, states kept in their order.

    Parameters
    ----------
    dataset
        What to write.
    names
        Names of the variables, and of the column of weights if there are weights.
    path
        The file.

    Raises
    ------
    OptionError
        When the file cannot be written.
    MissingExtraError
        When PyArrow is not installed.
    """
    pa = arrow()
    columns: list[Any] = [
        _texts(pa, codes, own) for codes, own in zip(dataset.codes.T, dataset.states, strict=True)
    ]
    if dataset.weights is not None:
        columns.append(pa.array(dataset.weights))
    write_parquet(names, columns, path)


def _texts(pa: Any, codes: NDArray[np.integer[Any]], states: Sequence[str]) -> Any:
    places = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(places, pa.array(states, pa.string()))
