"""How the experiments of a paper are run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exactlearn.evaluation.study import Record, Runs
from exactlearn.imputation.learning import Learning

__all__ = ["Record", "Runs", "Setup"]


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
