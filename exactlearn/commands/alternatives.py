"""What comes next to the best completion: the k best pairs, and the loss by other values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from exactlearn.augmentation.result import Augmentation
from exactlearn.commands.imputing import shown
from exactlearn.commands.options import F, option_group
from exactlearn.data import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.pipeline import incomplete_options, load
from exactlearn.report import completion_record, named_parents, number, plain_table
from exactlearn.runs import Criterion, Reading, Search
from exactlearn.solvers.result import OnEvent

if TYPE_CHECKING:
    from exactlearn.augmentation.profile import Profile
    from exactlearn.augmentation.ranking import Ranking


@dataclass(frozen=True)
class Alternatives:
    """What is wanted beside the best pair.

    Parameters
    ----------
    best, best_completions
        How many of the best pairs, or of the best completions, or neither.
    profile
        Whether the loss by each other value is.
    start
        File of a completed table that the search begins with.
    """

    best: int | None
    best_completions: int | None
    profile: bool
    start: Path | None

    def __post_init__(self) -> None:
        """Refuse both lists at once."""
        if self.best is not None and self.best_completions is not None:
            raise OptionError("--best and --best-completions exclude each other; give one of them")

    def starting_values(self, data: Dataset, reading: Reading) -> NDArray[np.int64] | None:
        """Read the start.

        Raises
        ------
        DataError
            When it is not a completion of the table.
        """
        if self.start is None:
            return None
        states = dict(zip(data.names, data.states, strict=True))
        table = load(self.start, Reading(header=reading.header, states=states))
        if table.names != data.names or table.codes.shape != data.codes.shape:
            raise DataError(
                f"--start {self.start}: {table.n_rows} rows of {table.n_variables} columns, but "
                f"the table has {data.n_rows} rows of {data.n_variables}; give the same table, "
                "completed"
            )
        other = np.argwhere((table.codes != data.codes) & (data.codes >= 0) | (table.codes < 0))
        if len(other):
            row, variable = other[0]
            raise DataError(
                f"--start {self.start}, row {row}, column {data.names[variable]!r}: the cell is "
                "missing, or differs from the table's own; give the same table, completed"
            )
        rows, variables = data.missing_cells.T
        values: NDArray[np.int64] = table.codes[rows, variables].astype(np.int64)
        return values

    def record(
        self,
        data: Dataset,
        criterion: Criterion,
        search: Search,
        found: Augmentation,
        on_event: OnEvent,
    ) -> dict[str, Any]:
        """Search for what is wanted; return what it adds to the answer's record."""
        options: dict[str, Any] = dict(incomplete_options(data, criterion, search))
        del options["starts"]
        record: dict[str, Any] = {}
        if self.profile:
            from exactlearn.augmentation.profile import profile

            known = profile(data, best=found, on_event=on_event, **options)
            record["profile"] = _profile_record(data, known)
            record["profile_status"] = known.status
        k = self.best or self.best_completions
        if k is not None:
            from exactlearn.augmentation.ranking import best_pairs

            del options["t"]
            ranking = best_pairs(
                data,
                k=k,
                distinct="pairs" if self.best else "completions",
                on_event=on_event,
                **options,
            )
            record["best"] = _ranking_record(data, ranking)
            record["best_status"] = ranking.status
        return record


def alternatives_options(command: F) -> F:
    """Add what is wanted beside the best pair: hands over ``alternatives``."""

    def build(
        best: int | None, best_completions: int | None, profile: bool, start: Path | None
    ) -> Alternatives:
        return Alternatives(best, best_completions, profile, start)

    return option_group(
        command,
        "alternatives",
        build,
        click.option(
            "--best",
            type=click.IntRange(1),
            metavar="K",
            help="List the K best pairs of network and completion, proven by branching.",
        ),
        click.option(
            "--best-completions",
            type=click.IntRange(1),
            metavar="K",
            help="List the K best completions, each with its best network.",
        ),
        click.option(
            "--profile",
            is_flag=True,
            help="Tell for each missing cell what the score loses by each other value. Each of "
            "these lists takes up to --time-limit again.",
        ),
        click.option(
            "--start",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            metavar="FILE",
            help="The same table, completed: what the search begins with.",
        ),
    )


def alternatives_tables(record: Mapping[str, Any]) -> list[Any]:
    """Return what is printed of the lists."""
    tables: list[Any] = []
    if "best" in record:
        tables += ["", _ranking_table(record["best"]), *_claim(record["best_status"])]
    if "profile" in record:
        cells, left = shown(sorted(record["profile"], key=_next_loss))
        tables += ["", _profile_table(cells), *left, *_claim(record["profile_status"])]
    return tables


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


def _claim(status: str) -> list[str]:
    return [] if status == "optimal" else [f"not proven: the search ended as '{status}'"]


def _told(cells: Sequence[Mapping[str, Any]]) -> str:
    told = [f"row {c['row']} {c['variable']} = {c['value']}" for c in cells[:3]]
    return ", ".join(told) + (f" and {len(cells) - 3} more" if len(cells) > 3 else "") or "-"


def _next_loss(cell: Mapping[str, Any]) -> float:
    return float(cell["others"][0]["loss"])


def _profile_record(data: Dataset, known: "Profile") -> list[dict[str, Any]]:
    """Return the other values of each cell, those that lose least first."""
    cells = completion_record(data, known.best.values.tolist())
    for cell, own, loss, least in zip(
        cells, known.best.values, known.loss, known.least_loss, strict=True
    ):
        names = data.states[data.names.index(cell["variable"])]
        others = sorted((s for s in range(len(names)) if s != own), key=lambda s: loss[s])
        cell["others"] = [
            {"value": names[s], "loss": float(loss[s]), "at_least": float(least[s])} for s in others
        ]
    return cells


def _ranking_record(data: Dataset, ranking: "Ranking") -> list[dict[str, Any]]:
    """Return the pairs, and where their completions differ from that of the first."""
    best = ranking.pairs[0]
    return [
        {
            "score": pair.score,
            "loss": best.score - pair.score,
            "parents": named_parents(data.names, pair.parents),
            "differs": [
                cell
                for cell, same in zip(
                    completion_record(data, pair.values.tolist()),
                    pair.values == best.values,
                    strict=True,
                )
                if not same
            ],
        }
        for pair in ranking.pairs
    ]
