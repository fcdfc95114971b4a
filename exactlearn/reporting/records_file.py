"""Records for people and programs: one table, written as text or drawn."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from exactlearn._runtime.files import atomic_write, suffix_of
from exactlearn._runtime.json_file import strict
from exactlearn.errors import OptionError

RECORDS = (".csv", ".json", ".svg", ".png", ".pdf")
"""Suffixes of records that are written: a table, a list of records, and figures."""


def write_records(
    path: Path,
    columns: Sequence[str],
    records: Sequence[Mapping[str, Any]],
    figure: Callable[[str], bytes],
) -> None:
    """Write records in the format of the suffix, in one step.

    Parameters
    ----------
    path
        The file, its suffix one of ``RECORDS``.
    columns
        Keys of the records, in the order of the table.
    records
        One for each row.
    figure
        Draws the records in the format of a suffix.

    Raises
    ------
    OptionError
        When the suffix is another, or the file cannot be written.
    MissingExtraError
        When a figure is wanted and Matplotlib is not installed.
    """
    suffix = suffix_of(path)
    if suffix not in RECORDS:
        raise OptionError(
            f"{path}: expected a file name ending in {', '.join(RECORDS)}, found '{suffix}'"
        )
    if suffix == ".csv":
        atomic_write(path, csv_text(columns, records))
    elif suffix == ".json":
        text = json.dumps(strict(list(records)), ensure_ascii=False, allow_nan=False, indent=2)
        atomic_write(path, text + "\n")
    else:
        atomic_write(path, figure(suffix))


def csv_text(columns: Sequence[str], records: Sequence[Mapping[str, Any]]) -> str:
    """Return records as the text of a CSV file, a missing key as an empty cell."""
    text = io.StringIO()
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(records)
    return text.getvalue()
