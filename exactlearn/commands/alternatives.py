"""What comes next to the best completion: the k best pairs, and the loss by other values."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.interrupts import interruptible
from exactlearn.augmentation.result import Augmentation
from exactlearn.commands.options import F, option_group
from exactlearn.commands.pipeline import incomplete_options, load
from exactlearn.commands.runs import Criterion, Reading, Search
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, OptionError
from exactlearn.reporting.report import completion_record, named_parents
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
        """Search for what is wanted; return what it adds to the answer's record.

        Ctrl-C, or SIGTERM, ends that: what is not found by then is left out.
        """
        options: dict[str, Any] = dict(incomplete_options(data, criterion, search))
        del options["starts"]
        options["on_event"] = on_event
        record: dict[str, Any] = {}
        try:
            with interruptible():
                if self.profile:
                    record["profile_status"] = "interrupted"
                    record |= _profiled(data, found, options)
                if self.k is not None and record.get("profile_status") != "interrupted":
                    record["best_status"] = "interrupted"
                    del options["t"]
                    record |= self._ranked(data, found, self.k, options)
        except KeyboardInterrupt:
            pass
        return record

    @property
    def k(self) -> int | None:
        """How many answers are wanted in order."""
        return self.best or self.best_completions

    def _ranked(
        self, data: Dataset, found: Augmentation, k: int, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        from exactlearn.augmentation.ranking import best_pairs

        ranking = best_pairs(
            data,
            k=k,
            distinct="pairs" if self.best else "completions",
            best=found if found.status == "optimal" else None,
            **options,
        )
        return {"best": _ranking_record(data, ranking), "best_status": ranking.status}


def worst_end(status: str, record: Mapping[str, Any]) -> str:
    """Return how the search for the best pair ended, or one that :class:`Alternatives` wanted."""
    ends = (status, record.get("profile_status"), record.get("best_status"))
    return next((end for end in ("interrupted", "feasible") if end in ends), status)


def _profiled(data: Dataset, found: Augmentation, options: Mapping[str, Any]) -> dict[str, Any]:
    from exactlearn.augmentation.profile import profile

    known = profile(data, best=found, **options)
    return {"profile": _profile_record(data, known), "profile_status": known.status}


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
    if not ranking.pairs:
        return []
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
