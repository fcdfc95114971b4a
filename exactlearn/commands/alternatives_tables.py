"""What is printed of the k best pairs, and of the loss by other values."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from exactlearn.commands.imputing import shown
from exactlearn.reporting.report import number, plain_table


def alternatives_tables(record: Mapping[str, Any]) -> list[Any]:
    """Return what is printed of the lists."""
    tables: list[Any] = []
    if "best" in record:
        tables += ["", _ranking_table(record["best"])]
    tables += _claim("the best pairs", record.get("best_status"))
    if "profile" in record:
        cells, left = shown(sorted(record["profile"], key=_next_loss))
        tables += ["", _profile_table(cells), *left]
    return tables + _claim("the profile", record.get("profile_status"))


def _ranking_table(pairs: Sequence[Mapping[str, Any]]) -> Table:
    heads = ("rank", "score", "loss", "other values than the best")
    rows = (
        (str(rank), number(pair["score"]), number(pair["loss"]), _told(pair["differs"]))
        for rank, pair in enumerate(pairs, start=1)
    )
    return plain_table(heads, rows, right=heads[:3])


def _profile_table(cells: Sequence[Mapping[str, Any]]) -> Table:
    """Return the next best value of each cell, and what it loses."""
    heads = ("row", "variable", "value", "next", "loses", "at least")
    rows = (
        (
            str(cell["row"]),
            cell["variable"],
            cell["value"],
            cell["others"][0]["value"],
            number(cell["others"][0]["loss"]),
            number(cell["others"][0]["at_least"]),
        )
        for cell in cells
    )
    return plain_table(heads, rows, right=("row", "loses", "at least"))


def _claim(what: str, status: str | None) -> list[str]:
    proven = status in (None, "optimal")
    return [] if proven else [f"not proven: the search for {what} ended as '{status}'"]


def _told(cells: Sequence[Mapping[str, Any]]) -> str:
    told = [f"row {c['row']} {c['variable']} = {c['value']}" for c in cells[:3]]
    return ", ".join(told) + (f" and {len(cells) - 3} more" if len(cells) > 3 else "") or "-"


def _next_loss(cell: Mapping[str, Any]) -> float:
    return float(cell["others"][0]["loss"])
