"""What ``exactlearn query --data`` does: posteriors for each row of a table, and a class."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn.commands.answer import Answer
from exactlearn.commands.output import Output
from exactlearn.commands.pipeline import load
from exactlearn.commands.sections import Reading
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.formats.table import read_table
from exactlearn.instances import locate
from exactlearn.queries.evidence import Model
from exactlearn.queries.table_queries import classify, query_rows


def read_cases(source: Path, reading: Reading, model: Model, output: Output) -> Dataset:
    """Read a table with the states of the model; columns that are no variables are left out.

    Raises
    ------
    DataError
        When no column is a variable of the model, or a row has a state that it does not know.
    OptionError
        When the file cannot be read.
    """
    path = locate(source, ".csv")
    (text,) = read_table(path, reading.header, reading.separator)
    names = reading.names or [column.name for column in text.columns]
    kept = set(names) - {*reading.drop, *reading.discretise, reading.weights}
    states = {
        name: own for name, own in zip(model.names, model.states, strict=True) if name in kept
    }
    strange = sorted(kept - set(states), key=names.index)
    absent = [name for name in model.names if name not in names]
    if not states and not reading.discretise:
        raise DataError(
            f"{path}: none of its columns {', '.join(names[:5])} is a variable of the model, which"
            f" has {', '.join(model.names[:5])}; rename the columns"
        )
    if strange:
        output.note(f"Columns that are no variables of the model: {', '.join(strange)}")
    if absent:
        output.note(f"Variables that are no columns, missing in every row: {', '.join(absent)}")
    drop, declared = (*reading.drop, *strange), {**states, **reading.states}
    return load(path, replace(reading, drop=drop, states=declared))


def answer_rows(
    model: Model, table: Dataset, targets: Sequence[str] | None, output: Output
) -> Answer:
    """Answer the posterior of the targets for each row."""
    found = query_rows(model, table, targets)
    logs = found.log_probability_of_evidence
    columns: dict[str, Sequence[Any]] = {"log_probability_of_evidence": logs.tolist()}
    rows: list[dict[str, Any]] = [{} for _ in logs]
    for name, states, posterior in zip(found.names, found.states, found.posteriors, strict=True):
        columns |= _columns(name, states, posterior)
        for row, own in zip(rows, posterior.tolist(), strict=True):
            row[name] = dict(zip(states, own, strict=True))
    _note_impossible(np.isneginf(logs), table, "observed cells", output)
    answers = [
        {"posterior": row, "log_probability_of_evidence": log}
        for row, log in zip(rows, logs.tolist(), strict=True)
    ]
    return _answer({"log_likelihood": float(logs.sum())}, answers, columns, table, output)


def answer_classes(model: Model, table: Dataset, name: str, output: Output) -> Answer:
    """Answer the class of each row, and how well the labels of the table are met."""
    found = classify(model, table, name)
    predicted = [None if k < 0 else found.states[k] for k in found.predicted.tolist()]
    columns = {"predicted": predicted, **_columns(name, found.states, found.posterior)}
    _note_impossible(found.predicted < 0, table, "cells without the class", output)
    record = {
        "class": name,
        "labelled": int((found.labels >= 0).sum()),
        "accuracy": found.accuracy,
        "log_loss": found.log_loss,
    }
    answers = [
        {"predicted": state, "posterior": dict(zip(found.states, own, strict=True))}
        for state, own in zip(predicted, found.posterior.tolist(), strict=True)
    ]
    return _answer(record, answers, columns, table, output)


def _columns(
    name: str, states: Sequence[str], posterior: NDArray[np.float64]
) -> dict[str, Sequence[float]]:
    shares = posterior.T.tolist()
    return {f"{name}={state}": own for state, own in zip(states, shares, strict=True)}


def _note_impossible(
    impossible: NDArray[np.bool_], table: Dataset, cells: str, output: Output
) -> None:
    """Report rows that have no posterior."""
    rows = np.flatnonzero(impossible)
    if len(rows):
        place = table.row_place(int(rows[0])).capitalize()
        output.note(
            f"{place}, one of {len(rows)}: the {cells} have probability zero under the"
            " model, so there is no posterior; correct them, or use a model with smoothed"
            " parameters"
        )


def _answer(
    record: dict[str, Any],
    answers: Sequence[dict[str, Any]],
    columns: dict[str, Sequence[Any]],
    table: Dataset,
    output: Output,
) -> Answer:
    """Write the file that is wanted, JSON or a table of one line per row; return the answer."""
    lines = table.lines
    places = [
        {"row": i, **({} if lines is None else {"line": int(lines[i])})}
        for i in range(table.n_rows)
    ]
    record["rows"] = [{**at, **own} for at, own in zip(places, answers, strict=True)]
    if output.path is None or suffix_of(output.path) == ".json":
        output.save(record)
        return Answer(record=record)
    text = StringIO()
    separator = "\t" if suffix_of(output.path) == ".tsv" else ","
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_digits(x) for x in row] for row in zip(*columns.values(), strict=True))
    atomic_write(output.path, text.getvalue())
    output.wrote(output.path)
    return Answer(record=record)


def _digits(value: Any) -> str:
    """Return a number that reads back exactly; nothing where there is none."""
    if isinstance(value, float):
        return repr(value) if isfinite(value) else ""
    return value or ""
