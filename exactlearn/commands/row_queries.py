"""What ``exactlearn query --data`` does: posteriors for each row of a table, and a class."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn.commands.answer import Answer
from exactlearn.commands.output import Output, write_json
from exactlearn.commands.pipeline import load
from exactlearn.commands.sections import Reading
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError
from exactlearn.formats.table import read_table
from exactlearn.instances import locate
from exactlearn.queries.evidence import Model
from exactlearn.queries.table_queries import Classification, classify, query_rows


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
    head = ["log_probability_of_evidence", *_columns(found.names, found.states)]
    values = np.column_stack((logs, *found.posteriors))
    rows = [[_digits(x) for x in row] for row in values.tolist()]
    _note_impossible(np.isneginf(logs), table, "observed cells", output)
    record = {
        "log_likelihood": float(logs.sum()),
        "rows": list(_records(table, found.names, found.states, found.posteriors, logs)),
    }
    _hand_over(head, rows, record, output)
    return Answer(record=record)


def answer_classes(model: Model, table: Dataset, name: str, output: Output) -> Answer:
    """Answer the class of each row, and how well the labels of the table are met."""
    found = classify(model, table, name)
    predicted = ["" if k < 0 else found.states[k] for k in found.predicted.tolist()]
    head = ["predicted", *_columns([name], [found.states])]
    shares = found.posterior.tolist()
    rows = [[k, *map(_digits, row)] for k, row in zip(predicted, shares, strict=True)]
    _note_impossible(found.predicted < 0, table, "cells without the class", output)
    record = _class_record(table, found, predicted)
    _hand_over(head, rows, record, output)
    return Answer(record=record)


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


def _class_record(table: Dataset, found: Classification, predicted: list[str]) -> dict[str, Any]:
    return {
        "class": found.name,
        "labelled": int((found.labels >= 0).sum()),
        "accuracy": found.accuracy,
        "log_loss": found.log_loss,
        "rows": [
            {
                **_place(table, i),
                "predicted": predicted[i] or None,
                "posterior": dict(zip(found.states, row, strict=True)),
            }
            for i, row in enumerate(found.posterior.tolist())
        ],
    }


def _place(table: Dataset, row: int) -> dict[str, int]:
    return {"row": row, **({} if table.lines is None else {"line": int(table.lines[row])})}


def _records(
    table: Dataset,
    names: Sequence[str],
    states: Sequence[Sequence[str]],
    posteriors: Sequence[NDArray[np.float64]],
    logs: NDArray[np.float64],
) -> Iterator[dict[str, Any]]:
    for i, log in enumerate(logs.tolist()):
        yield {
            **_place(table, i),
            "posterior": {
                name: dict(zip(own, posterior[i].tolist(), strict=True))
                for name, own, posterior in zip(names, states, posteriors, strict=True)
            },
            "log_probability_of_evidence": log,
        }


def _hand_over(
    head: Sequence[str], rows: Sequence[Sequence[str]], record: dict[str, Any], output: Output
) -> None:
    """Write the file that is wanted: JSON, or a table of one line per row."""
    if output.path is None:
        return
    if suffix_of(output.path) == ".json":
        write_json(record, output.path)
    else:
        _write_table(head, rows, output.path)
    output.wrote(output.path)


def _write_table(head: Sequence[str], rows: Sequence[Sequence[str]], path: Path) -> None:
    text = StringIO()
    writer = csv.writer(
        text, delimiter="\t" if suffix_of(path) == ".tsv" else ",", lineterminator="\n"
    )
    writer.writerow(head)
    writer.writerows(rows)
    atomic_write(path, text.getvalue())


def _columns(names: Sequence[str], states: Sequence[Sequence[str]]) -> list[str]:
    return [f"{name}={s}" for name, own in zip(names, states, strict=True) for s in own]


def _digits(value: float) -> str:
    """Return a number that reads back exactly; nothing where there is none."""
    return repr(value) if isfinite(value) else ""
