"""How the experiments of a paper are run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from exactlearn.errors import OptionError, did_you_mean
from exactlearn.evaluation.study import Record, Runs
from exactlearn.imputation.learning import Learning
from exactlearn.reporting.curves import CurvesFigure

__all__ = ["Record", "Runs", "Setup", "Shown", "Tables", "check_names"]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How experiments are run.

    Parameters
    ----------
    record
        The runs that are done, to which more are added.
    data
        Folder of the public data, if there is one.
    seed
        Of everything drawn; of repetitions the first seed.
    repetitions
        Of each experiment or setting.
    only
        Only experiments of decision graphs with this in their name.
    full
        Whether to leave out single rows where parts of the rows are left out otherwise.
    learning
        How networks are learned for imputation.
    methods
        Of each experiment's methods of imputation only these; all when empty.
    """

    record: Record
    data: Path | None = None
    seed: int = 0
    repetitions: int = 2
    only: str = ""
    full: bool = False
    learning: Learning = field(default_factory=Learning)
    methods: Sequence[str] = ()

    @property
    def seeds(self) -> range:
        """The seeds of the repetitions."""
        return range(self.seed, self.seed + self.repetitions)


def check_names(option: str, kind: str, wanted: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are unknown.

    Parameters
    ----------
    option, kind
        The option that has them, and what they name, for the message.
    wanted, known
        The names, and those that there are.

    Raises
    ------
    OptionError
        With near names.
    """
    known = list(known)
    for name in wanted:
        if name not in known:
            raise OptionError(f"{option}: no {kind} {name!r}{did_you_mean(name, known)}")


class Shown(NamedTuple):
    """What is shown of the runs that are done.

    Attributes
    ----------
    record
        Our figures beside the published ones, for JSON.
    tables
        The same to print: texts, and rich's tables.
    figures
        Drawings by the names of their files.
    listings
        Rows of equal columns, by the names of their files.
    """

    record: dict[str, Any]
    tables: list[Any]
    figures: Mapping[str, CurvesFigure] = {}
    listings: Mapping[str, Sequence[Mapping[str, Any]]] = {}


class Tables(NamedTuple):
    """The chosen tables of a paper.

    Attributes
    ----------
    repeat
        Does the runs that are left; asks its record for all of them, also once that is over.
    shown
        Returns what is shown of the runs that are done.
    """

    repeat: Callable[[], None]
    shown: Callable[[], Shown]
